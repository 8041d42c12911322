//! Makes the command of an action that a client program carries out: the client's words, and the variables with what must not
//! stand in them, such as a password.

use std::ffi::OsStr;
use std::path::Path;

use crate::connection_variables::{KnownVariables, connection_variables};
use proctor_model::{ClientCall, Database, DatabaseQuery, QueryKind};
use proctor_sandbox::process::resolve_program;
use proctor_tools::{BROWSER_DRIVER, ReportRequest, SCREENSHOT};

/// The hidden first argument by which proctor starts itself to query a database of SQLite.
pub const SQLITE_ARGUMENT: &str = "__sqlite";

/// The path that stands for SQLite's database in memory.
pub(crate) const IN_MEMORY: &str = ":memory:";

/// The clients of container engines, in the order in which they are tried.
const CONTAINER_CLIENTS: [&str; 2] = ["docker", PODMAN];

/// The client that is tried first where the socket is podman's. Another client may take an exit code wrongly from this engine: docker 28
/// says 0 for each container that an engine of podman 4.3 ran.
const PODMAN: &str = "podman";

/// Why a command of a container engine is not carried out without the user's word.
const NOT_ALLOWED: &str = "whoever reaches a container engine reaches the whole machine, so your own configuration has to allow it; add \
     `engine_socket = \"/run/docker.sock\"` to an `[[allow]]` entry with this project among its `projects` in \
     ~/.config/proctor/config.toml";

/// Why a command of a container engine is not carried out where the settings demand isolation.
const NOT_ISOLATED: &str = "`[sandbox] mode` is \"require\", and an action with an open engine socket counts as `process-group`; take the \
     action out, or set the mode to \"auto\"";

/// A client that is ready to be started.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ClientStart {
    pub(crate) argv: Vec<String>,
    /// Variables that the client gets in addition. They may hold secrets, so they are never shown.
    pub(crate) variables: Vec<(String, String)>,
    /// What is read from the action's output directory when the client has ended.
    pub(crate) report: ReportRequest,
}

/// Where a client is started.
pub(crate) struct ClientPlace<'a> {
    /// The file of this program.
    pub(crate) executable: &'a Path,
    /// The directory in which the client is started.
    pub(crate) directory: &'a Path,
    /// The action's output directory.
    pub(crate) output: &'a Path,
    /// The directories in which programs are searched, as in `PATH`.
    pub(crate) searched: &'a OsStr,
    /// The socket of the container engine that the user's own configuration allows.
    pub(crate) engine_socket: Option<&'a str>,
    /// Whether the settings demand the strongest isolation, which an open socket of an engine is not.
    pub(crate) requires_isolation: bool,
}

/// Makes the start of a client. The error says why it cannot be started, and what to do.
pub(crate) fn client_start(
    call: &ClientCall,
    place: &ClientPlace<'_>,
    known: &KnownVariables<'_>,
) -> Result<ClientStart, String> {
    let plain = |argv| ClientStart { argv, variables: Vec::new(), report: ReportRequest::None };
    match call {
        ClientCall::Query(query) => match &query.database {
            Database::Sqlite { path } => Ok(plain(sqlite(place.executable, query, path))),
            Database::SqliteInMemory => Ok(plain(sqlite(place.executable, query, IN_MEMORY))),
            Database::Postgresql { connection } => {
                let variables = connection_variables(connection, query.connection_timeout_ms, known)?;
                Ok(ClientStart { variables, ..plain(psql(query)) })
            }
        },
        ClientCall::Container(command) => {
            let socket = place.engine_socket.ok_or(NOT_ALLOWED)?;
            if place.requires_isolation {
                return Err(NOT_ISOLATED.to_owned());
            }
            let is_there = |client: &&str| resolve_program(client, place.directory, place.searched).is_ok();
            let mut clients = CONTAINER_CLIENTS;
            clients.sort_by_key(|client| *client != PODMAN || !is_of_podman(socket));
            let client = clients.into_iter().find(is_there).unwrap_or(clients[0]);
            let argv = [client.to_owned()].into_iter().chain(command.arguments.iter().cloned()).collect();
            let address = format!("unix://{socket}");
            let variables = ["DOCKER_HOST", "CONTAINER_HOST"].map(|name| (name.to_owned(), address.clone())).to_vec();
            Ok(ClientStart { variables, ..plain(argv) })
        }
        ClientCall::Browser(session) => {
            let steps = serde_json::to_string(session).expect("a session holds nothing that JSON cannot");
            let report = if session.takes_screenshot {
                ReportRequest::Ours { path: place.output.join(SCREENSHOT), channel: "argument" }
            } else {
                ReportRequest::None
            };
            let argv = ["node", "-e", BROWSER_DRIVER, "--", &steps].map(str::to_owned).to_vec();
            Ok(ClientStart { report, ..plain(argv) })
        }
    }
}

/// Returns whether a socket, or what it is a link to, is named after podman, whose packages name it so.
fn is_of_podman(socket: &str) -> bool {
    let target = Path::new(socket).canonicalize().unwrap_or_default();
    socket.contains(PODMAN) || target.to_string_lossy().contains(PODMAN)
}

fn sqlite(executable: &Path, query: &DatabaseQuery, path: &str) -> Vec<String> {
    let kind = match query.kind {
        QueryKind::Reads => SQLITE_READS,
        QueryKind::Changes => SQLITE_CHANGES,
    };
    [&*executable.to_string_lossy(), SQLITE_ARGUMENT, kind, path, &query.query].map(str::to_owned).to_vec()
}

/// The argument for a query that only reads.
pub(crate) const SQLITE_READS: &str = "reads";
/// The argument for a statement that changes something.
const SQLITE_CHANGES: &str = "changes";

/// Returns the call of `psql`. Rows come as one JSON object on each line; a statement that changes rows is followed by how many.
fn psql(query: &DatabaseQuery) -> Vec<String> {
    let text = match query.kind {
        QueryKind::Reads => {
            format!("SELECT to_jsonb(proctor_row) FROM ({}\n) AS proctor_row", without_end(&query.query))
        }
        QueryKind::Changes => query.query.clone(),
    };
    let options = ["psql", "--no-psqlrc", "--no-password", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--command"];
    options.into_iter().map(str::to_owned).chain([text]).collect()
}

/// Returns a query of PostgreSQL without the semicolons, comments and white space at its end, where a semicolon would end the query
/// around it. What is quoted is no end. A query that is not read rightly here is refused by the server.
fn without_end(query: &str) -> &str {
    let (mut at, mut end) = (0, 0);
    while let Some(character) = query[at..].chars().next() {
        let rest = &query[at..];
        let is_word = |before: char| before.is_alphanumeric() || before == '_';
        let before = &query[..at];
        let length = if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            length_of_comment(rest)
        } else if character == ';' || character.is_whitespace() {
            character.len_utf8()
        } else {
            let mut words = before.chars().rev();
            let is_escaped =
                words.next().is_some_and(|last| last.eq_ignore_ascii_case(&'e')) && !words.next().is_some_and(is_word);
            let length = match character {
                '\'' | '"' => length_of_quoted(rest, character, is_escaped),
                '$' if !before.chars().next_back().is_some_and(is_word) => length_of_dollar_quoted(rest),
                _ => character.len_utf8(),
            };
            end = at + length;
            length
        };
        at += length;
    }
    query[..end].trim_start()
}

/// Returns the length of the comment with which a text begins. Comments may stand in each other.
fn length_of_comment(text: &str) -> usize {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 {
        let Some(next) = text[at..].find(['/', '*']) else { return text.len() };
        at += next;
        match &text.as_bytes()[at..] {
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            _ => at += 1,
        }
    }
    at
}

/// Returns the length of the quoted part with which a text begins.
fn length_of_quoted(text: &str, quote: char, is_escaped: bool) -> usize {
    let mut is_plain = true;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '\\' if is_escaped && is_plain => is_plain = false,
            _ if character == quote && is_plain => return at + 1,
            _ => is_plain = true,
        }
    }
    text.len()
}

/// Returns the length of what stands between `$tag$` and `$tag$`, both included, at the beginning of a text; 1 if there is no such tag.
fn length_of_dollar_quoted(text: &str) -> usize {
    let Some(tag) = text[1..].find('$').map(|end| &text[..end + 2]) else { return 1 };
    if !tag[1..tag.len() - 1].chars().all(|character| character.is_alphanumeric() || character == '_') {
        return 1;
    }
    text[tag.len()..].find(tag).map_or(text.len(), |end| end + 2 * tag.len())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proctor_model::{BrowserSession, ContainerCommand};
    use proctor_sandbox::Secrets;

    #[test]
    fn only_what_ends_a_query_is_taken_off() {
        for (query, expected) in [
            (" select 1 ; -- all of them", "select 1"),
            ("select 1; /* a /* b */ ; c */ ;\n", "select 1"),
            ("select 1 -- one ;\n ; ", "select 1"),
            ("select ';' -- ';'", "select ';'"),
            ("select 'it''s; -- no end';", "select 'it''s; -- no end'"),
            ("select E'\\'; -- ' ;", "select E'\\'; -- '"),
            ("select \"a;--\" from t;", "select \"a;--\" from t"),
            ("select $$;--$$, $q$ $$; $q$ ;", "select $$;--$$, $q$ $$; $q$"),
            ("select $1 ; ", "select $1"),
            ("select 'open ;", "select 'open ;"),
            ("select 2 /* open", "select 2"),
            ("-- only", ""),
            ("select 1 as ä ; -- ü", "select 1 as ä"),
        ] {
            assert_eq!(without_end(query), expected, "{query}");
        }
    }

    fn start_at(call: &ClientCall, place: &ClientPlace<'_>) -> Result<ClientStart, String> {
        client_start(call, place, &KnownVariables { environment: &BTreeMap::new(), secrets: &Secrets::default() })
    }

    fn start(call: &ClientCall) -> ClientStart {
        let place = ClientPlace {
            executable: Path::new("/usr/bin/proctor"),
            directory: Path::new("/"),
            output: Path::new("/out"),
            searched: OsStr::new("/nowhere"),
            engine_socket: Some("/run/engine.sock"),
            requires_isolation: false,
        };
        start_at(call, &place).expect("it can be started")
    }

    #[test]
    fn a_query_is_put_into_the_words_of_its_client() {
        let query = |kind, database, text: &str| {
            ClientCall::Query(DatabaseQuery {
                database,
                query: text.to_owned(),
                kind,
                expected_rows: None,
                row_schema: None,
                contains_values: None,
                connection_timeout_ms: 5000,
            })
        };
        let server = || Database::Postgresql { connection: "postgres://app@db/app".to_owned() };
        let last = |call: &ClientCall| start(call).argv.last().cloned().unwrap_or_default();
        assert_eq!(
            last(&query(QueryKind::Reads, server(), "select 1 -- one ;\n ; ")),
            "SELECT to_jsonb(proctor_row) FROM (select 1\n) AS proctor_row"
        );
        assert_eq!(last(&query(QueryKind::Changes, server(), "delete from a;")), "delete from a;");
        let file = Database::Sqlite { path: "data/app.db".to_owned() };
        let words = ["/usr/bin/proctor", "__sqlite", "reads", "data/app.db", "select 1"];
        assert_eq!(start(&query(QueryKind::Reads, file, "select 1")).argv, words);
        assert_eq!(start(&query(QueryKind::Changes, Database::SqliteInMemory, "x")).argv[2..4], ["changes", ":memory:"]);
    }

    #[test]
    fn a_missing_engine_is_asked_for_by_the_name_of_the_first_client() {
        let call = ClientCall::Container(ContainerCommand { arguments: vec!["ps".to_owned()] });
        assert_eq!(start(&call).argv, ["docker", "ps"]);
        let host = ("DOCKER_HOST".to_owned(), "unix:///run/engine.sock".to_owned());
        assert!(start(&call).variables.contains(&host));
        let refused = |engine_socket, requires_isolation| {
            let searched = OsStr::new("/nowhere");
            let [executable, directory, output] = ["/usr/bin/proctor", "/", "/out"].map(Path::new);
            let place = ClientPlace { executable, directory, output, searched, engine_socket, requires_isolation };
            start_at(&call, &place).err().unwrap_or_default()
        };
        assert!(is_of_podman("/run/podman/podman.sock") && !is_of_podman("/run/engine.sock"));
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("podman.sock");
        drop(std::os::unix::net::UnixListener::bind(&target).unwrap());
        let link = directory.path().join("engine.sock");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(is_of_podman(&link.to_string_lossy()), "a link to podman's socket is its socket");
        assert!(refused(None, false).contains("~/.config/proctor/config.toml"));
        assert!(refused(Some("/run/engine.sock"), true).contains("process-group"));
    }

    #[test]
    fn a_picture_is_read_from_the_output_directory_where_one_is_wanted() {
        let browser = |takes_screenshot| ClientCall::Browser(BrowserSession { steps: Vec::new(), takes_screenshot });
        assert_eq!(start(&browser(false)).report, ReportRequest::None);
        assert_eq!(start(&browser(true)).report.path(), Some(Path::new("/out/screenshot.png")));
    }
}
