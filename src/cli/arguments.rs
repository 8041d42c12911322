//! The arguments of every command. The doc comments are the help texts (house style H1).

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::cli::evidence_arguments::{ExportOptions, KeyOptions, PruneOptions, VerifyOptions};
use crate::cli::gate_arguments::{AttestOptions, GateOptions, ProveOptions};
use crate::cli::generate_arguments::{GenerateOptions, GenerateVerb};
use crate::cli::help::{self, group_commands};
use crate::cli::history_arguments::{HistoryOptions, LogOptions};
use crate::cli::hook_arguments::HookOptions;
use crate::cli::project_place::{ProjectPlace, ValueOptions};
use crate::cli::review_arguments::{GOVERN, GovernOptions, ReviewOptions};
use crate::cli::screen::FailuresShown;
use crate::cli::service_arguments::{
    LspOptions, McpOptions, OpenOptions, RequestOptions, ServiceOptions, StatusOptions, WaitOptions,
};
use crate::cli::specification_arguments::{ApproveOptions, CheckOptions, PlanOptions};
use crate::cli::{environment, render};
use proctor_model::{NextNode, Phase};
use proctor_project::IdentityAnswer;

/// Run a project's checks on save, with a verdict bound to the exact tree and hashed evidence for it
///
/// Exit codes: 0 proceed, 1 the code needs work, 2 usage, 3 a person is needed, 4 the configuration is wrong,
/// 5 no fresh verdict, 6 evidence does not verify, 70 proctor's own fault, 130 and 143 interrupted.
#[derive(Debug, Parser)]
#[command(name = "proctor", version, max_term_width = 120, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Makes the enum of the commands, and a function that makes the arguments of one command alone.
macro_rules! commands {
    ($($name:ident($options:ident)),+ $(,)?) => {
        /// The commands; `help.rs` says in which group each is listed.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($name($options),)+
            /// What the program does under its other name, [`GOVERN`].
            #[command(skip)]
            Govern(GovernOptions),
        }

        impl Command {
            /// Returns the program with this one command.
            fn alone(name: &'static str) -> Option<clap::Command> {
                let of = |augment: fn(clap::Command) -> clap::Command| {
                    clap::Command::new("proctor").subcommand(augment(clap::Command::new(name)))
                };
                $(if stringify!($name).eq_ignore_ascii_case(name) {
                    return Some(of(<$options as Args>::augment_args));
                })+
                None
            }
        }
    };
}

commands!(
    Run(RunOptions),
    Watch(WatchOptions),
    Init(InitOptions),
    Log(LogOptions),
    History(HistoryOptions),
    Show(ShowOptions),
    Open(OpenOptions),
    Verify(VerifyOptions),
    Export(ExportOptions),
    Key(KeyOptions),
    Prune(PruneOptions),
    Tdd(TddOptions),
    Request(RequestOptions),
    Mcp(McpOptions),
    Lsp(LspOptions),
    Hook(HookOptions),
    Status(StatusOptions),
    Wait(WaitOptions),
    Service(ServiceOptions),
    Doctor(DoctorOptions),
    Why(WhyOptions),
    Check(CheckOptions),
    Plan(PlanOptions),
    Approve(ApproveOptions),
    Review(ReviewOptions),
    Gate(GateOptions),
    Prove(ProveOptions),
    Attest(AttestOptions),
    Generate(GenerateOptions),
);

/// Run the checks once and seal the evidence
///
/// Prerequisites run first, then every check, then always the clean-up. Without a `proctor.toml` the checks are found from the
/// project's own files. The first run registers the project and approves its plan.
///
/// `--task '*'` runs every task of every test specification, in the order of their dependencies. The exit code is 1 if any task is red,
/// else 4, 3 or 5 if any has that code, and 0 only if every task passed.
///
/// Examples:
///   proctor run
///   proctor run fixtures/projects/quotes --check pytest --json
///   proctor run --task T117
///   proctor run --task T117 --set BASE_URL=http://127.0.0.1:3000
///   proctor run --task '*'
///   proctor run --github
///   proctor run --format errorformat
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// Run this task of a test specification instead of the project's checks; `*` is every task
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) values: ValueOptions,
    /// Run only this check; may be given several times. Steps of a task are also known by their ids
    #[arg(long = "check", value_name = "NAME")]
    pub(crate) checks: Vec<String>,
    /// Run every check, also those with `when = "ask"`
    #[arg(long, conflicts_with = "checks")]
    pub(crate) all: bool,
    /// Say how this run would be routed in this TDD phase; advice, unless it is the phase of the started cycle
    #[arg(long, value_parser = one_of(&Phase::WORDS), ignore_case = true)]
    pub(crate) phase: Option<Phase>,
    /// Start every check without tools' caches of earlier runs, and keep none
    #[arg(long)]
    pub(crate) fresh_caches: bool,
    /// Take the verdict of a run that judged just these files, also in another worktree, and run nothing then; of one that others
    /// attested, `--json` prints what `wait --json` does
    #[arg(long, conflicts_with_all = ["checks", "phase", "fresh_caches"])]
    pub(crate) known: bool,
    /// How much is shown of what failed
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(crate) failures: FailuresShown,
    /// Print the report, and nothing else, on standard output; with `--task '*'`, what each task came to
    #[arg(long)]
    pub(crate) json: bool,
    /// In GitHub Actions: annotate each failure and finding, and add a summary to the file that GITHUB_STEP_SUMMARY names
    #[arg(long, conflicts_with = "json")]
    pub(crate) github: bool,
    /// Print one line for each failure and finding, and nothing else, on standard output
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "github"])]
    pub(crate) format: Option<RunFormat>,
    /// Whether a directory that was moved or replaced is the project it resembles; asked on a terminal
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(crate) identity: Option<IdentityArgument>,
}

/// A form of one line for each failure and finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// `path:line:column: error: message`, as Vim's quickfix list and the tasks of VS Code read it
    Errorformat,
}

/// Run the checks on every save
///
/// A save during a run stops the checks and starts them again on the new tree (`on_change` in `proctor init --print`). Keys on a
/// terminal: r or Enter runs again, f what failed, o opens the page at this run, d shows what changed since green, l the log of what
/// failed, ? lists the keys, q quits.
///
/// Examples:
///   proctor watch
///   proctor watch fixtures/projects/quotes
///   proctor watch --task T117
///   proctor watch . -- python3 -m pytest -x
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct WatchOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// Run this task of a test specification instead of what `tasks` in `[watch]` says
    #[arg(long, value_name = "TASK", conflicts_with = "command")]
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) values: ValueOptions,
    /// How much is shown of what failed
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(crate) failures: FailuresShown,
    /// Run this command instead of the project's checks
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Whether a directory that was moved or replaced is the project it resembles; asked on a terminal
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(crate) identity: Option<IdentityArgument>,
}

/// Write a proctor.toml with the checks found in the project
///
/// Policies are taken from the project's own scripts, with the reason beside them. An existing file is never overwritten.
///
/// `--agents` shows a section of ten lines for AGENTS.md or CLAUDE.md: how an agent asks proctor, and what it leaves to a person. It is
/// written between two marking lines after a yes (3 without an answer).
///
/// `--tasks` keeps a list for people and agents to read: between marking lines it has every task with its box, and the debt, by the last
/// sealed verdicts. Changes by hand between these lines are put back and recorded; the rest of the file is yours.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct InitOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// Print the commented file of all settings and their defaults instead
    #[arg(long, conflicts_with = "agents")]
    pub(crate) print: bool,
    /// Write the section about proctor for agents into AGENTS.md or CLAUDE.md instead
    #[arg(long)]
    pub(crate) agents: bool,
    /// Write it without asking
    #[arg(long, requires = "agents")]
    pub(crate) yes: bool,
    /// Keep a list of tasks in the project instead: name its file in proctor.toml, and write the blocks into it
    #[arg(long, conflicts_with_all = ["agents", "print"])]
    pub(crate) tasks: bool,
    /// The Markdown file of `--tasks`, relative to the project; where proctor.toml names one already, that one is meant
    #[arg(long, default_value = "tasks.md", value_name = "FILE", requires = "tasks")]
    pub(crate) file: String,
}

/// Show a run: its checks, what they found, and where the evidence lies
///
/// RUN is a run id or its number; without it the newest sealed run is shown.
///
/// Examples:
///   proctor show
///   proctor show 42 --log STEP.2
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ShowOptions {
    /// The run, by id or number; or the project's directory, for its newest run
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// How much is shown of what failed
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(crate) failures: FailuresShown,
    /// Print the bytes an action wrote instead. To a file or a pipe they go as they were; on a terminal, characters that
    /// it would obey or not show are escaped
    #[arg(long, value_name = "ACTION", conflicts_with = "json")]
    pub(crate) log: Option<String>,
    /// With --log: print the bytes as they were on a terminal too, whatever it makes of them
    #[arg(long, requires = "log")]
    pub(crate) raw: bool,
    /// Print the report instead, as it is
    #[arg(long)]
    pub(crate) json: bool,
}

/// Guide a red, green, refactor cycle
///
/// In a started cycle every run is routed by the tests' exit code. Limits end loops; then a person decides. The state is in the ledger.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TddOptions {
    #[command(subcommand)]
    pub(crate) verb: TddVerb,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR", global = true)]
    pub(crate) project: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TddVerb {
    /// Start a cycle, in RED unless another phase is given
    Start {
        /// The task
        #[arg(default_value = "default", value_name = "TASK")]
        task: String,
        /// The phase to begin in
        #[arg(long, value_parser = one_of(&Phase::WORDS), ignore_case = true, default_value = "RED")]
        phase: Phase,
    },
    /// Set the phase of a started cycle
    Phase {
        /// The phase
        #[arg(value_parser = one_of(&Phase::WORDS), ignore_case = true)]
        phase: Phase,
        /// The task
        #[arg(default_value = "default", value_name = "TASK")]
        task: String,
    },
    /// Show phase, attempts, and every decision so far
    Show {
        /// The task
        #[arg(default_value = "default", value_name = "TASK")]
        task: String,
        /// Print the state as JSON
        #[arg(long)]
        json: bool,
    },
    /// End the cycle and forget its history
    Reset {
        /// The task
        #[arg(default_value = "default", value_name = "TASK")]
        task: String,
    },
    /// Decide where a task goes on that waits for a person; needs a terminal
    Resolve {
        /// The task
        #[arg(default_value = "default", value_name = "TASK")]
        task: String,
        /// The node to go to
        #[arg(long, value_parser = one_of(NODES), ignore_case = true)]
        to: NextNode,
        /// Why, in your words; it is kept in the ledger
        #[arg(long)]
        reason: String,
    },
}

/// Test isolation, limits, disks and tools here, and say how to mend what is wrong
///
/// Every level of isolation is tried by starting a command at it. For every registered project the file system, watches, times of files
/// and tools are looked at; beside that the kernel's limits, the evidence and the service. Nothing is recorded.
///
/// Exit codes: 0 if commands are kept apart by namespaces, or `sandbox.mode` is "off"; 1 if only by something weaker.
///
/// Examples:
///   proctor doctor
///   proctor doctor --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DoctorOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// Print the findings as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the AppArmor profile that lets this program make user namespaces instead
    #[arg(long, conflicts_with = "json")]
    pub(crate) apparmor_profile: bool,
}

/// Say which rule decides whether a path belongs to the tree, and so whether a save of it starts a run
///
/// The path need not exist. Where the service watches the project, it also says what it heard of the path last and what came of that.
///
/// Examples:
///   proctor why src/app.py
///   proctor why build/schema.json --json
///   proctor why --known
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct WhyOptions {
    /// The path
    #[arg(value_name = "PATH", required_unless_present = "known")]
    pub(crate) path: Option<PathBuf>,
    /// Say which run judged just the files as they are, or why no run on them counts here
    #[arg(long, conflicts_with_all = ["path", "json"])]
    pub(crate) known: bool,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// Print the explanation as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// The nodes to which a person may send a task that waits at HUMAN_REVIEW. HUMAN_REVIEW itself is no choice.
const NODES: &[(&str, NextNode)] =
    &[("N2", NextNode::N2), ("N3", NextNode::N3), ("N4", NextNode::N4), ("NEXT_PHASE", NextNode::NextPhase)];

/// Returns what reads one of these words, in upper or lower case, into its value. The values belong to other crates, so clap's
/// own trait cannot be implemented for them.
fn one_of<Value: Copy + Send + Sync>(words: &'static [(&'static str, Value)]) -> impl TypedValueParser<Value = Value> {
    PossibleValuesParser::new(words.iter().map(|(word, _)| *word)).try_map(|given| {
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(&given));
        found.map(|(_, value)| *value).ok_or_else(|| format!("`{given}` is not one of the words"))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IdentityArgument {
    /// It is the same project: its history goes on
    Same,
    /// It is another project: it gets a history of its own
    New,
}

impl From<IdentityArgument> for IdentityAnswer {
    fn from(argument: IdentityArgument) -> Self {
        match argument {
            IdentityArgument::Same => Self::Same,
            IdentityArgument::New => Self::New,
        }
    }
}

/// Whether a person or a program reads a command's error. It decides the error's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorAudience {
    /// A person: lines on standard error.
    Person,
    /// A program that asked for `--json`: one document on standard output (G6).
    Program,
}

impl Command {
    /// Returns whether an error of the command must not stop who started it: an agent takes the exit code 2 of a hook as a block.
    pub(crate) fn fails_open(&self) -> bool {
        matches!(self, Self::Hook(options) if options.is_run())
    }

    /// Returns whether a person or a program reads the command's error.
    pub(crate) fn audience_of_errors(&self) -> ErrorAudience {
        let is_json = match self {
            Self::Run(options) => options.json,
            Self::Show(options) => options.json,
            Self::Log(options) => options.json,
            Self::History(options) => options.is_json(),
            Self::Verify(options) => options.json,
            Self::Doctor(options) => options.json,
            Self::Generate(options) => matches!(&options.verb, GenerateVerb::Tree(options) if options.json),
            Self::Why(options) => options.json,
            Self::Request(options) => options.json,
            Self::Tdd(options) => matches!(options.verb, TddVerb::Show { json: true, .. }),
            Self::Status(options) => options.json,
            Self::Wait(options) => options.json,
            Self::Service(options) => options.verb.is_json(),
            Self::Check(options) => options.json,
            Self::Plan(options) => options.json,
            Self::Review(options) => options.json,
            Self::Govern(options) => options.json,
            Self::Gate(options) => options.json,
            Self::Prove(options) => options.json,
            Self::Watch(_)
            | Self::Init(_)
            | Self::Export(_)
            | Self::Key(_)
            | Self::Attest(_)
            | Self::Prune(_)
            | Self::Open(_)
            | Self::Approve(_)
            | Self::Mcp(_)
            | Self::Lsp(_) => false,
            Self::Hook(options) => options.is_json(),
        };
        if is_json { ErrorAudience::Program } else { ErrorAudience::Person }
    }
}

impl Arguments {
    /// Parses the arguments with which this process was started.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        if environment::is_called(GOVERN) {
            return Ok(Self { command: Command::Govern(GovernOptions::try_parse()?) });
        }
        Self::parse(std::env::args_os().collect(), render::note)
    }

    /// Parses arguments. A command that has moved below another one is found by its old name too, as `proctor diff` is
    /// `proctor history diff`; that is said by `note`.
    fn parse(mut words: Vec<OsString>, note: impl FnOnce(&str)) -> Result<Self, clap::Error> {
        // The arguments of the other commands are only needed for what is said of wrong ones.
        let alone = words.get(1).and_then(|word| Command::alone(help::name_of(word.to_str()?)?));
        if let Some(matches) = alone.and_then(|program| program.try_get_matches_from(&words).ok()) {
            return Self::from_arg_matches(&matches);
        }
        let read = |words: &[OsString]| group_commands(Self::command()).try_get_matches_from(words);
        let first = words.get(1).map(|word| format!("'{}'", word.display())).unwrap_or_default();
        let matches = match read(&words) {
            Err(error) if !error.to_string().contains(&first) => Err(error),
            Err(error) => match help::places_of_unknown(&error).as_slice() {
                [(parent, command)] if ONCE_AT_THE_TOP.contains(&command.as_str()) => {
                    note(&format!("note: `proctor {command}` is `proctor {parent} {command}`"));
                    words.insert(1, parent.into());
                    read(&words)
                }
                _ => Err(help::name_nested_command(error)),
            },
            read => read,
        };
        Self::from_arg_matches(&matches?)
    }
}

/// Commands that have moved below another command.
const ONCE_AT_THE_TOP: &[&str] = &["add", "remove", "list", "daemon", "diff", "anchor"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_has_moved_is_found_by_its_old_name_and_another_one_below_is_named() {
        let answer = |words: &[&str]| {
            let words = std::iter::once("proctor").chain(words.iter().copied()).map(OsString::from).collect();
            let mut said = String::new();
            let read = Arguments::parse(words, |note| said = note.to_owned());
            said + &read.err().map(|error| error.to_string()).unwrap_or_default()
        };
        for (words, place) in [
            (&["flaky"][..], "`proctor history flaky`"),
            (&["slow", "--json"], "`proctor history slow`"),
            (&["tree", "--list"], "`proctor generate tree`"),
            (&["api"], "`proctor generate api`"),
            (&["man", "pages"], "`proctor generate man`"),
            (&["completions", "bash"], "`proctor generate completions`"),
            (&["schema"], "`proctor generate schema`"),
            (&["checkpoint", "--proof", "42"], "`proctor key checkpoint`"),
            (&["archive", "--days", "30"], "`proctor prune` removes"),
            (&["tasks", "init"], "write `proctor init --tasks`"),
            (&["govern", "--list"], "write `proctor-govern`"),
            (&["daemon"], "`proctor service daemon`"),
            (&["install"], "write `proctor hook install` or `proctor service install`"),
            (&["add", "shop"], "`proctor service add`"),
            (&["remove", "--purge"], "`proctor service remove`"),
            (&["list", "--json"], "`proctor service list`"),
            (&["diff", "41", "42"], "`proctor history diff`"),
            (&["anchor", "--file", "kept"], "`proctor key anchor`"),
        ] {
            assert!(answer(words).contains(place), "{}", answer(words));
        }
        assert!(answer(&["rotate"]).contains("write `proctor key rotate`"), "{}", answer(&["rotate"]));
        assert_eq!(answer(&["diff", "41", "42"]), "note: `proctor diff` is `proctor history diff`");
        assert!(!answer(&["nothing"]).contains("write"), "{}", answer(&["nothing"]));
        assert!(answer(&["key", "list"]).starts_with("error: unrecognized subcommand 'list'"), "{}", answer(&["key", "list"]));
    }

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
        GovernOptions::command().debug_assert();
    }
}
