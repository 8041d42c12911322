//! The arguments of the commands about freshness and about the service. The doc comments are the help texts (house style H1).

use std::path::PathBuf;
use std::time::Duration;

use crate::cli::project_place::{ProjectPlace, ValueOptions};
use clap::{Args, Subcommand, ValueEnum};

use crate::cli::arguments::IdentityArgument;
use proctor_model::CompletionStatus;
use proctor_plan::config::parse_duration;

/// Say how the last verdict stands to the tree as it is now
///
/// `fresh PASS` and `fresh FAIL` are verdicts for what is on disk at this moment. Any other state (stale, running, queued, moved, unstable,
/// needs human, not approved, root missing, configuration wrong, specification error, no verdict) says why there is none. Nothing is run.
///
/// Examples:
///   proctor status
///   proctor status --task T117
///   proctor status --all --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StatusOptions {
    #[command(flatten)]
    pub(crate) scope: StatusScope,
    #[command(flatten)]
    pub(crate) values: ValueOptions,
    /// Print one JSON document, as `GET /v1/status` of the control socket answers, with what failed
    #[arg(long)]
    pub(crate) json: bool,
}

// The projects and the task whose state `proctor status` shows. This is no doc comment, because clap would use it as
// the command's help.
#[derive(Debug, Args)]
pub(crate) struct StatusScope {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// Only this task: `default` is the project's own checks, other tasks are those of test specifications
    #[arg(long, value_name = "TASK", conflicts_with = "all")]
    pub(crate) task: Option<String>,
    /// Every registered project
    #[arg(long, conflicts_with_all = ["directory", "named_project"])]
    pub(crate) all: bool,
}

/// Wait until there is a verdict for the tree as it is now
///
/// A run is started if none is under way. Every save before the call is in the tree that the answer names. A project that is not
/// registered is never run by this. Of a failed verdict the first failures are shown.
///
/// Exit codes: 0 passed or a valid RED, 1 failed, 3 a person is needed, 4 configuration or specification is wrong, 5 no fresh verdict in time, moved or
/// unstable. For several tasks: 1 if any failed, else 4, 3 or 5 if any has that code, 0 only if all passed.
///
/// Examples:
///   proctor wait
///   proctor wait --task T117
///   proctor wait --timeout 0 --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct WaitOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    #[command(flatten)]
    pub(crate) verdict: AwaitedVerdict,
    #[command(flatten)]
    pub(crate) values: ValueOptions,
    /// How long to wait, 1h at most; then a run that this command started is stopped. With 0 nothing is run or waited for
    #[arg(long, default_value = "60s", value_name = "DURATION", value_parser = read_timeout)]
    pub(crate) timeout: Duration,
    /// Print one JSON document, as `GET /v1/projects/{id}/verdict` of the control socket answers
    #[arg(long)]
    pub(crate) json: bool,
}

// The verdict that `proctor wait` waits for. This is no doc comment, because clap would use it as the command's help.
#[derive(Debug, Args)]
pub(crate) struct AwaitedVerdict {
    /// Accepted for scripts that say it: a fresh verdict is what is waited for
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Of this task of a test specification instead of the project's own checks; `*` is every task
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
}

/// Watch all added projects, and answer on the control socket
///
/// Stays in the foreground and says what it does on standard error, and to systemd where that started it. SIGTERM stops what runs,
/// seals it as INTERRUPTED and ends with 0; a second one kills what is left. SIGHUP reads the list of projects anew and runs
/// everything once more. `proctor generate api` describes the socket.
#[derive(Debug, Args)]
pub(crate) struct DaemonOptions {}

/// Have the service watch a project from here on
///
/// A new project is registered, which approves its plan. Takes effect at once where the service runs, else at its next start.
#[derive(Debug, Args)]
pub(crate) struct AddOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// Whether a directory that was moved or replaced is the project it resembles; asked on a terminal
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(crate) identity: Option<IdentityArgument>,
}

/// Have the service leave a project alone from here on
///
/// Its evidence, id and approvals stay; adding it again goes on with them. `--purge`, only at a terminal and after its name was typed,
/// removes its runs too. The ledger and the keys always stay.
#[derive(Debug, Args)]
pub(crate) struct RemoveOptions {
    /// The project's directory, or its id as `proctor service list` shows it
    #[arg(default_value = ".", value_name = "DIR|ID")]
    pub(crate) project: PathBuf,
    /// The same as the argument
    #[arg(long = "project", id = "named_project", value_name = "DIR|ID", conflicts_with = "project")]
    pub(crate) named: Option<PathBuf>,
    /// Remove the project's evidence as well: every run with its report, logs and signatures
    #[arg(long)]
    pub(crate) purge: bool,
}

/// List every registered project: whether the service watches it and how, what goes on, the last verdict
///
/// No tree is looked at: whether a verdict is for the files as they are now, `proctor status --all` says.
#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Print one JSON document, as `GET /v1/projects` of the control socket answers
    #[arg(long)]
    pub(crate) json: bool,
}

/// Open the page in a browser: what runs, past runs, tests, trends
///
/// The service serves the page; where none runs, this command does, until Ctrl-C. The page is on loopback and needs a ticket, which a file
/// that only you can read gives to the browser.
///
/// Examples:
///   proctor open
///   proctor open --run 42
///   proctor open --no-browser
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct OpenOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// The run to show, by id or number
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Start no browser, and print the path of the file that opens the page
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Serve the page until standard input ends, for the program that started this one
    #[arg(long, hide = true)]
    pub(crate) beside: bool,
}

/// Choose the projects that the service watches, and have systemd run it from login to logout or longer
///
/// `install` writes unit files. They go into `~/.config/systemd/user` with PATH, the language and the place of the evidence as they are in this shell.
///
/// Exit codes of `install`, `uninstall` and `status`: 0 if the service is installed and runs, or was uninstalled; 1 if it does not run.
///
/// Examples:
///   proctor service add
///   proctor service install
///   proctor service status --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ServiceOptions {
    #[command(subcommand)]
    pub(crate) verb: ServiceVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceVerb {
    /// Write the unit files, enable the service and start it
    Install {
        /// Replace unit files that were edited, or that somebody else wrote
        #[arg(long)]
        force: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Stop and disable the service, and remove what `install` wrote
    Uninstall {
        /// Remove unit files that were edited, too
        #[arg(long)]
        force: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Say whether the service is installed and runs, and what to do if something is missing
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    Add(AddOptions),
    Remove(RemoveOptions),
    List(ListOptions),
    Daemon(DaemonOptions),
}

impl ServiceVerb {
    /// Returns whether one JSON document is asked for.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Self::Install { json, .. } | Self::Uninstall { json, .. } | Self::Status { json } => *json,
            Self::List(options) => options.json,
            Self::Add(_) | Self::Remove(_) | Self::Daemon(_) => false,
        }
    }
}

/// Ask as an agent does: what the task amounts to, another run, whether the configuration is right now
///
/// What is answered is computed; what is claimed is only logged. A retest is refused while nothing changed since the last verdict, and after
/// `max_retests` (`[tdd]`, 5) since the task last passed.
///
/// Exit codes: of `status` 0 if the task has the status that was asked for; of `retest` those of `proctor run`, 1 if nothing has
/// changed, 3 if the budget is spent; of `fix` 0 if it is right, 4 if not, 3 if a person has to approve it first.
///
/// Examples:
///   proctor request status COMPLETE
///   proctor request retest
///   proctor request fix --task T117 --proposal fixed.json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RequestOptions {
    #[command(subcommand)]
    pub(crate) verb: RequestVerb,
    #[command(flatten)]
    pub(crate) asked: AskedTask,
    /// Print one JSON document, as `POST /v1/projects/{id}/requests` answers; of a retest its report
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

// The task that a request is about. This is no doc comment, because clap would use it as the command's help.
#[derive(Debug, Clone, Args)]
pub(crate) struct AskedTask {
    /// The task
    #[arg(long, default_value = "default", value_name = "TASK", global = true)]
    pub(crate) task: String,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR", global = true)]
    pub(crate) project: PathBuf,
    #[command(flatten)]
    pub(crate) values: ValueOptions,
}

/// Serve agents over the Model Context Protocol, on standard input and output
///
/// The tools are verdict, failures, output, history, compare, retest, request_fix, why, plan and gate; the resource is
/// proctor://report/last. No tool approves, resolves, resets or registers. What tests and tools say is redacted and marked as data.
///
/// Examples:
///   proctor mcp
///   proctor mcp --project fixtures/projects/quotes
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct McpOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
}

/// Serve an editor over the Language Server Protocol, on standard input and output
///
/// The editor shows what failed in the last verdict, at the lines where it is now, and at each test how it ended. Nothing is run here: the
/// service is asked, and without one the store is read.
///
/// Examples:
///   proctor lsp
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LspOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum RequestVerb {
    /// REQUEST_STATUS_UPDATE: ask for the task's status, by the sealed report of the last run, for the tree as it is now
    ///
    /// COMPLETE is not shown for results on a snapshot that tools' caches of earlier runs may have decided: the checks run once more without
    /// such caches first.
    Status {
        /// What is claimed
        #[arg(value_enum, ignore_case = true, default_value = "COMPLETE", value_name = "STATUS")]
        status: StatusArgument,
    },
    /// REQUEST_RETEST: run the checks once more, within the task's budget
    Retest,
    /// FIX_SPECIFICATION: read the configuration, or the task's specification, again and say what is still wrong
    Fix {
        /// A proposed specification: answer as if it were in place of the one there is. Nothing is written
        #[arg(long, value_name = "FILE")]
        proposal: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
pub(crate) enum StatusArgument {
    Complete,
    Incomplete,
}

impl From<StatusArgument> for CompletionStatus {
    fn from(argument: StatusArgument) -> Self {
        match argument {
            StatusArgument::Complete => Self::Complete,
            StatusArgument::Incomplete => Self::Incomplete,
        }
    }
}

const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);

pub(crate) fn read_timeout(text: &str) -> Result<Duration, String> {
    // `timeout = 10` in proctor.toml means seconds, so a number means seconds here too.
    let seconds = || text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok().map(Duration::from_secs)).flatten();
    let duration = parse_duration(text).or_else(seconds);
    duration
        .filter(|duration| *duration <= LONGEST_TIMEOUT)
        .ok_or_else(|| "write a duration such as 500ms, 30s, 30 (seconds) or 2m, at most 1h; or 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_unit_means_seconds_as_in_the_file() {
        for (text, millis) in [
            ("0", Some(0)),
            ("10", Some(10_000)),
            ("500ms", Some(500)),
            ("1h", Some(3_600_000)),
            ("3601", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(read_timeout(text).ok(), millis.map(Duration::from_millis), "{text}");
        }
    }
}
