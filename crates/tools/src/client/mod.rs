//! Judges what a client program (of a database, a container engine or a browser) did for an action, and says how a missing
//! client is installed.

mod browser;
mod query;

pub use browser::{BROWSER_DRIVER, SCREENSHOT};
pub use query::SQLITE_NOT_OPENED;

use crate::interpret::Exited;
use crate::signals;
use proctor_model::{ActionKind, CategoryCode, ClientCall, Database, Interpretation, ToolReport};

/// How a missing program is installed.
struct Installation {
    program: &'static str,
    advice: &'static str,
}

/// The programs that client commands need.
const INSTALLATIONS: &[Installation] = &[
    Installation { program: "psql", advice: "`apt-get install postgresql-client`" },
    Installation { program: "docker", advice: "`apt-get install docker.io`, or `apt-get install podman`" },
    Installation { program: "node", advice: "`apt-get install nodejs npm`, then `npm install --save-dev playwright`" },
];

/// Returns how a missing client of an action is installed; `None` if the action needs no client, or if that is not known.
pub(super) fn installation_of(kind: &ActionKind, program: &str) -> Option<&'static str> {
    let ActionKind::ClientCommand(_) = kind else { return None };
    INSTALLATIONS.iter().find(|row| row.program == program).map(|row| row.advice)
}

/// Judges a client that ended by itself. `report` is the file that it was asked to leave.
pub(super) fn interpret(exited: &Exited<'_>, call: &ClientCall, report: &ToolReport) -> Interpretation {
    match call {
        ClientCall::Query(wanted) => match wanted.database {
            Database::Postgresql { .. } => query::interpret_postgresql(exited, wanted),
            Database::Sqlite { .. } | Database::SqliteInMemory => query::interpret_sqlite(exited, wanted),
        },
        ClientCall::Container(_) => interpret_container(exited),
        ClientCall::Browser(session) => browser::interpret(exited, session, report),
    }
}

fn interpret_container(exited: &Exited<'_>) -> Interpretation {
    if exited.code == 0 {
        return Interpretation::plain(CategoryCode::ResultValid, "The container engine did what was asked for".to_owned());
    }
    failed(exited, "The container engine")
}

/// Returns the result of a client that could not do what was asked for: `who` ended, and the first line of its errors says why.
fn failed(exited: &Exited<'_>, who: &str) -> Interpretation {
    let why = first_line(&exited.stderr).map(|line| format!(": {line}")).unwrap_or_default();
    let signal = signals::of_exit_code(exited.code).map(|signal| format!(" ({})", signals::describe(signal))).unwrap_or_default();
    let reason = format!("{who} ended with exit code {}{signal}{why}; see the end of its log", exited.code);
    Interpretation::plain(CategoryCode::ClientFailed, reason)
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}
