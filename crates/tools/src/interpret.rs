//! Judges the result of an action. How the process ended is decided first: proctor stopped it, it reached a limit, it
//! failed to start, or a signal ended it. In these cases exit code, output and report are ignored, because the
//! leftovers of a stopped tool prove nothing.

use std::path::Path;

use crate::advise::advise_held_port;
use crate::ansi::plain_text;
use crate::places::Place;
use crate::server_signs::server_that_goes_on;
use crate::table::{program_like, row_of};
use crate::{client, no_work, service, signals};
use proctor_model::{
    Action, ActionEnd, ActionKind, Advice, CategoryCode, ClientCall, Interpretation, JudgedBy, LimitKind, LimitValue,
    OnSurvivors, ReportFileHistory, SpawnFailure, StopReason, StopStage, StreamExcerpt, Timestamp, ToolReport,
};

/// The limit for a reason, in characters. proctor's own sentences are far shorter; only quoted text can reach this
/// length.
const LONGEST_REASON: usize = 2000;

/// Where a project keeps the programs that it installs for itself.
const ENVIRONMENTS: &[&str] = &[".venv/", "venv/", "node_modules/"];

/// Everything that is known about an action after its end.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub action: &'a Action,
    /// How the action's process ended.
    pub end: &'a ActionEnd,
    /// The beginning and end of standard output.
    pub stdout: &'a StreamExcerpt,
    /// The beginning and end of standard error.
    pub stderr: &'a StreamExcerpt,
    /// The report that [`prepare`](crate::prepare) asked for.
    pub report: &'a ToolReport,
    /// The coverage report, if the check requires one.
    pub coverage: &'a ToolReport,
    /// The way in which the report was requested: [`ReportRequest::channel`](crate::ReportRequest::channel).
    pub report_channel: Option<&'static str>,
    /// What is known of the report's file apart from its content.
    pub report_file: ReportFileHistory,
    /// When the last byte of output was read; `None` if there was none, or if the clock was set while the action ran.
    pub last_output: Option<Timestamp>,
    /// The project's root, absolute, as the tool saw it.
    pub project_root: &'a Path,
    /// Returns the names in a directory of the project; empty if it is no directory.
    pub names_in: fn(&Path) -> Vec<String>,
    /// Returns the text of a file of the project, by the project's root and the path relative to it; `None` if it cannot be read.
    pub source: fn(&Path, &Path) -> Option<String>,
    /// The number of child processes that were still alive when the main process had ended.
    pub survivors: usize,
    /// The most processes that the action may have at a time; `None` without a limit.
    pub processes: Option<u32>,
    /// Whether it is a prerequisite and the next one asks a server of this machine, which may be the one that it starts.
    pub is_asked_behind: bool,
}

/// The words by which reasons send to the log. Where the log is empty, the reason says that instead.
const SEE_THE_LOG: &[&str] = &["see the end of its log", "see the end of the log", "see its log", "see the log"];

/// A process that ended by itself, with its output converted to text.
#[derive(Debug, Clone)]
pub(super) struct Exited<'a> {
    pub(super) code: i32,
    pub(super) action: &'a Action,
    /// Standard output as text, without control sequences.
    pub(super) stdout: String,
    /// Standard error as text, without control sequences.
    pub(super) stderr: String,
    /// Whether all of standard output is in `stdout`.
    pub(super) stdout_is_complete: bool,
    /// Whether all of standard error is in `stderr`.
    pub(super) stderr_is_complete: bool,
    /// The directories to which the tool's relative paths refer.
    pub(super) place: Place<'a>,
    /// Returns the names in a directory; empty if it is no directory.
    pub(super) names_in: fn(&Path) -> Vec<String>,
}

/// An action that was stopped because it reached a limit: what is left to find out what hung.
pub(super) struct Stopped<'a> {
    /// Standard output as text, without control sequences.
    pub(super) stdout: String,
    /// Standard error as text, without control sequences.
    pub(super) stderr: String,
    /// The report, if the tool wrote one before it ended.
    pub(super) report: &'a ToolReport,
    pub(super) place: Place<'a>,
    /// Returns the text of a file of the project.
    pub(super) source: &'a dyn Fn(&Path) -> Option<String>,
    /// Returns the names in a directory of the project; empty if it is no directory.
    pub(super) names_in: fn(&Path) -> Vec<String>,
    /// The words of the action's command.
    pub(super) argv: &'a [String],
}

/// Adds to the result of an action that reached a limit what had not ended when it was stopped. `source` returns the text
/// of a file, by its path relative to the project.
pub fn name_what_hung(
    input: &Input<'_>,
    interpretation: Interpretation,
    source: &dyn Fn(&Path) -> Option<String>,
) -> Interpretation {
    let ActionEnd::TimedOut { .. } = input.end else { return interpretation };
    let place = Place { root: input.project_root, directory: &input.action.directory };
    let (stdout, stderr) = (plain_text(&input.stdout.shortened()), plain_text(&input.stderr.shortened()));
    let stopped = Stopped {
        stdout,
        stderr,
        report: input.report,
        place,
        source,
        names_in: input.names_in,
        argv: &input.action.command.argv,
    };
    let hung = (row_of(input.action.tool).hung)(&stopped);
    Interpretation { hung: hung.map(|hung| one_line(&hung)), ..interpretation }
}

/// Judges an action after its end. Every input has a result, and only what was proved is a success (E3).
pub fn interpret(input: &Input<'_>) -> Interpretation {
    let mut interpretation = match input.end {
        ActionEnd::Exited { code } => of_exit(input, *code),
        ActionEnd::Signalled { signal } => signalled(*signal),
        ActionEnd::TimedOut { limit, stage, .. } => timed_out(input, *limit, *stage),
        ActionEnd::Stopped { reason, stage } => stopped(*reason, *stage),
        ActionEnd::NotStarted(failure) => not_started(failure, input.action),
        ActionEnd::Lost { why } => {
            Interpretation::plain(CategoryCode::StatusLost, format!("How the command ended is not known: {why}"))
        }
    };
    interpretation.report_channel = input.report_channel;
    if input.stdout.total + input.stderr.total == 0 {
        interpretation.reason =
            SEE_THE_LOG.iter().fold(interpretation.reason, |reason, words| reason.replace(words, "it printed nothing"));
    }
    let interpretation = with_survivors(input, interpretation);
    Interpretation { reason: one_line(&interpretation.reason), ..interpretation }
}

/// Makes a reason a single line of limited length. A reason quotes a tool's text, which may contain line ends, terminal
/// control characters and megabytes of data.
fn one_line(reason: &str) -> String {
    let line =
        |text: &str| text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect::<String>();
    match reason.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => line(&reason[..end]) + "…",
        None => line(reason),
    }
}

fn of_exit(input: &Input<'_>, code: i32) -> Interpretation {
    let asked = match &input.action.kind {
        ActionKind::ClientCommand(call) => Some(call),
        ActionKind::Command
        | ActionKind::CustomScript(_)
        | ActionKind::FileValidation(_)
        | ActionKind::HttpRequest(_)
        | ActionKind::Review(_) => None,
    };
    let readable = |stream: &StreamExcerpt| match input.action.tool.judged_by() {
        // The output of a client is compared as a whole.
        JudgedBy::ExitCode if asked.is_some() => plain_text(stream),
        JudgedBy::Output => plain_text(stream),
        // The exit code or the grammar decides here, so a shortened text is enough. Converting megabytes would need
        // several times their memory.
        JudgedBy::ExitCode | JudgedBy::Grammar => plain_text(&stream.shortened()),
    };
    let exited = Exited {
        code,
        action: input.action,
        stdout: readable(input.stdout),
        stderr: readable(input.stderr),
        stdout_is_complete: input.stdout.is_complete(),
        stderr_is_complete: input.stderr.is_complete(),
        place: Place { root: input.project_root, directory: &input.action.directory },
        names_in: input.names_in,
    };
    if let Some(call) = asked {
        return client::interpret(&exited, call, input.report);
    }
    let source = |path: &Path| (input.source)(input.project_root, path);
    no_work::or_usage_error(&exited, (row_of(input.action.tool).interpret)(&exited, input), &source)
}

/// Returns the result for an exit code by which a wrapper reports that a signal ended the tool.
pub(super) fn signal_through_wrapper(code: i32, signal: i32) -> Interpretation {
    let name = signals::describe(signal);
    Interpretation::plain(
        CategoryCode::Signalled,
        format!(
            "The command ended with exit code {code}, by which a shell or wrapper says that {name} ended the tool; see the end of its log"
        ),
    )
}

fn signalled(signal: i32) -> Interpretation {
    let name = signals::describe(signal);
    Interpretation::plain(
        CategoryCode::Signalled,
        format!("{name} ended the command, and proctor did not send it; see the end of its log"),
    )
}

fn timed_out(input: &Input<'_>, limit: LimitKind, stage: StopStage) -> Interpretation {
    if let Some(server) = server_that_goes_on(input, limit) {
        return server.interpretation(input.action, stage.word());
    }
    let reason = limit_reason(input, limit, stage.word());
    // Tests that ran before the stop help to find its cause, but they prove nothing. So they are only a warning.
    let before = (row_of(input.action.tool).before_the_stop)(input.report);
    Interpretation { warnings: before.into_iter().collect(), ..Interpretation::plain(CategoryCode::TimedOut, reason) }
}

/// Says which limit was reached, its value, and the setting that changes it.
fn limit_reason(input: &Input<'_>, limit: LimitKind, signal: &str) -> String {
    let action = input.action;
    match (limit, action.limit_value(limit)) {
        (LimitKind::Idle, Some(LimitValue::Time(time))) => format!(
            "The command printed nothing for {} s and was stopped ({signal}); find out what it waits for, make it print while it works, or raise `idle_timeout`",
            time.as_secs_f64()
        ),
        (LimitKind::Output, Some(LimitValue::Size(size))) => format!(
            "The command printed more than {size} and was stopped ({signal}); make it print less or raise `max_output`. Its log ends at that limit"
        ),
        (_, Some(LimitValue::Time(time))) if is_query(action) => format!(
            "The query was still running after {} s and was stopped ({signal}); make it faster, or raise its `timeout` or the `queryTimeout` \
             of `executorConfigurations.DATABASE_QUERY`",
            time.as_secs_f64()
        ),
        (_, Some(LimitValue::Time(time))) => format!(
            "The command was still running after {} s and was stopped ({signal}); make it faster or raise `timeout`",
            time.as_secs_f64()
        ),
        (LimitKind::Memory, _) => format!(
            "The command took more memory than it may and was stopped ({signal}); make it take less or raise `memory` in `[sandbox]`"
        ),
        (LimitKind::Pids, _) => {
            let most = input.processes.map(|most| format!(" ({most})")).unwrap_or_default();
            format!(
                "The limit of processes{most} was reached, and the kernel starts no more; make the command start fewer or raise \
                 `processes` in `[sandbox]`"
            )
        }
        (LimitKind::Written, _) => format!(
            "The command wrote more than it may to its copy of the project, its private /tmp and /dev/shm, and was stopped ({signal}); \
             make it write less or raise `max_written` in `[sandbox]`"
        ),
        (_, Some(LimitValue::Size(_)) | None) => format!("The command hit one of its limits and was stopped ({signal})"),
    }
}

fn is_query(action: &Action) -> bool {
    matches!(&action.kind, ActionKind::ClientCommand(call) if matches!(**call, ClientCall::Query(_)))
}

fn stopped(reason: StopReason, stage: StopStage) -> Interpretation {
    let why = reason.why();
    Interpretation::plain(CategoryCode::Stopped, format!("The command was stopped because {why} ({})", stage.word()))
}

fn not_started(failure: &SpawnFailure, action: &Action) -> Interpretation {
    match failure {
        SpawnFailure::ProgramNotFound { program, searched } => {
            let place = match &searched[..] {
                [] => String::new(),
                [directory] => format!(" in {directory}"),
                // All of them would be a screen full; the error that is recorded beside this reason has them.
                several => format!(" in the {} directories of the search path", several.len()),
            };
            let advice = match client::installation_of(&action.kind, program) {
                Some(advice) => format!("; install it: {advice}"),
                None if program == "taskkill" => {
                    "; it is a command of Windows: on Linux write `pkill -f NAME`, or leave it out, because proctor ends what a run started"
                        .to_owned()
                }
                None if ENVIRONMENTS.iter().any(|directory| program.starts_with(directory)) => {
                    "; make the environment that it belongs to (`uv sync`, `python3 -m venv .venv`, `npm ci`), or correct the check's command"
                        .to_owned()
                }
                None if program.starts_with('~') => {
                    "; `~` is your home only in a shell: write the whole path, or the command as one string with `shell = true`"
                        .to_owned()
                }
                None => match program_like(program) {
                    Some(meant) => format!("; did you mean `{meant}`? If not, install it"),
                    None => "; install it or correct the check's command".to_owned(),
                },
            };
            Interpretation::plain(CategoryCode::ToolNotFound, format!("There is no program `{program}`{place}{advice}"))
        }
        SpawnFailure::InterpreterNotFound { program, interpreter } if interpreter.ends_with('\r') => Interpretation::plain(
            CategoryCode::NotStarted,
            format!(
                "`{program}` has line ends of Windows, with which no interpreter is found; save it with those of Linux (`dos2unix`)"
            ),
        ),
        SpawnFailure::InterpreterNotFound { program, interpreter } => Interpretation::plain(
            CategoryCode::ToolNotFound,
            format!(
                "`{program}` is there, but `{interpreter}`, which its first line names, is not; install it or, where a virtual environment was moved or removed, create that anew"
            ),
        ),
        SpawnFailure::NotExecutable { program } => Interpretation::plain(
            CategoryCode::NotStarted,
            format!("`{program}` is there and may not be executed; run `chmod +x` on it or start it through its interpreter"),
        ),
        SpawnFailure::ClientNotReady { why } => {
            let advice = Advice::to_do(format!("Let the client be started: {why}"));
            let reason = format!("The client was not started: {why}");
            Interpretation { advice, ..Interpretation::plain(CategoryCode::NotStarted, reason) }
        }
        SpawnFailure::NoServer { why } => {
            let reason = format!("There is no result of the server {why}; `proctor doctor` asks it");
            Interpretation::plain(CategoryCode::NotStarted, reason)
        }
        SpawnFailure::PromptUnreadable { prompt, why } => Interpretation::plain(
            CategoryCode::NotStarted,
            format!("The prompt `{prompt}` cannot be given to the reviewer: {why}; correct `prompt`"),
        ),
        SpawnFailure::DirectoryNotFound { directory } => Interpretation::plain(
            CategoryCode::NotStarted,
            format!("The check's directory `{directory}` does not exist; create it or correct `directory`"),
        ),
        SpawnFailure::PortHeld { port, holders } => {
            let reason =
                format!("{}; end it, or let the service use another port", service::port_holders_sentence(*port, holders));
            let advice = advise_held_port(*port, holders);
            Interpretation { advice, ..Interpretation::plain(CategoryCode::PortHeld, reason) }
        }
        SpawnFailure::NotIsolated { why } => Interpretation::plain(
            CategoryCode::NotStarted,
            format!("The command could not be kept apart, so it was not started: {why}; `proctor doctor` says more"),
        ),
        SpawnFailure::Refused { program, errno, message } => Interpretation::plain(
            CategoryCode::NotStarted,
            format!("`{program}` could not be started: {message} (error {errno}); this is the machine's state, not the code's"),
        ),
    }
}

// Surviving processes change only a result that could count as a success. A failure keeps its own reason (E14).
fn with_survivors(input: &Input<'_>, interpretation: Interpretation) -> Interpretation {
    let may_succeed = matches!(
        interpretation.category,
        CategoryCode::TestsPassed | CategoryCode::Clean | CategoryCode::Findings | CategoryCode::ExpectedExit
    );
    if input.action.on_survivors != OnSurvivors::Fail || input.survivors == 0 || !may_succeed {
        return interpretation;
    }
    let reason = format!(
        "{} process(es) were still running when the command had ended, and `on_survivors = \"fail\"`: stop what the command starts. Apart from that: {}",
        input.survivors, interpretation.reason
    );
    Interpretation { category: CategoryCode::SurvivorsLeft, reason, ..interpretation }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Returned;

    const GREEN: &str =
        r#"<testsuites><testsuite tests="1"><testcase classname="test_a" name="test_ok" time="0.1"/></testsuite></testsuites>"#;

    #[test]
    fn a_stop_we_asked_for_is_never_judged_by_what_came_back() {
        for (end, expected) in [
            (
                ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigint, code: Some(0), signal: None },
                CategoryCode::TimedOut,
            ),
            (ActionEnd::Stopped { reason: StopReason::Superseded, stage: StopStage::Sigint }, CategoryCode::Stopped),
            (ActionEnd::Signalled { signal: 11 }, CategoryCode::Signalled),
            (ActionEnd::Lost { why: "the launcher died".to_owned() }, CategoryCode::StatusLost),
        ] {
            let returned = Returned { end, ..Returned::pytest(0, GREEN) };
            assert_eq!(returned.interpret().category, expected);
        }
        let control = Returned::pytest(0, GREEN);
        assert_eq!(control.interpret().category, CategoryCode::TestsPassed);
        let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigint, code: Some(2), signal: None };
        let late = Returned { end, ..control }.interpret();
        assert_eq!(late.warnings, ["Before the stop 1 test(s) passed, 0 failed and 0 were skipped"]);
        assert!(late.test_results.is_none(), "what a stopped run leaves is shown, never counted");
    }

    #[test]
    fn the_sentence_for_a_limit_names_its_value_and_its_setting() {
        let mut returned = Returned::pytest(0, GREEN);
        returned.action.idle_timeout = Some(std::time::Duration::from_millis(1500));
        returned.action.max_output = Some(proctor_model::ByteSize(4 << 30));
        for (limit, value, setting) in [
            (LimitKind::Wall, "after 60 s", "raise `timeout`"),
            (LimitKind::Idle, "nothing for 1.5 s", "raise `idle_timeout`"),
            (LimitKind::Output, "more than 4GiB", "raise `max_output`"),
            (LimitKind::Memory, "more memory than it may", "raise `memory`"),
            (LimitKind::Pids, "limit of processes (512) was reached", "raise `processes`"),
            (LimitKind::Written, "wrote more than it may", "raise `max_written`"),
        ] {
            returned.end = ActionEnd::TimedOut { limit, stage: StopStage::Sigint, code: Some(0), signal: None };
            let told = returned.interpret();
            assert_eq!(told.category, CategoryCode::TimedOut);
            assert!(told.reason.contains(value) && told.reason.contains(setting), "{}", told.reason);
        }
    }

    #[test]
    fn a_command_that_could_not_be_started_says_what_is_missing() {
        let program = "/project/.venv/bin/pytest".to_owned();
        for (failure, category, part) in [
            (
                SpawnFailure::ProgramNotFound { program: program.clone(), searched: vec!["/usr/bin".to_owned()] },
                CategoryCode::ToolNotFound,
                "in /usr/bin; install",
            ),
            (
                SpawnFailure::ProgramNotFound { program: ".venv/bin/python".to_owned(), searched: Vec::new() },
                CategoryCode::ToolNotFound,
                "make the environment that it belongs to",
            ),
            (
                SpawnFailure::ProgramNotFound { program: "pytset".to_owned(), searched: Vec::new() },
                CategoryCode::ToolNotFound,
                "`pytset`; did you mean `pytest`?",
            ),
            (
                SpawnFailure::ProgramNotFound { program: "pytest".to_owned(), searched: Vec::new() },
                CategoryCode::ToolNotFound,
                "`pytest`; install it",
            ),
            (
                SpawnFailure::InterpreterNotFound { program: program.clone(), interpreter: "/old/bin/python".to_owned() },
                CategoryCode::ToolNotFound,
                "virtual environment was moved or removed, create that anew",
            ),
            (
                SpawnFailure::InterpreterNotFound { program: program.clone(), interpreter: "/bin/sh\r".to_owned() },
                CategoryCode::NotStarted,
                "line ends of Windows",
            ),
            (
                SpawnFailure::ProgramNotFound { program: "~/bin/lint".to_owned(), searched: Vec::new() },
                CategoryCode::ToolNotFound,
                "write the whole path",
            ),
            (SpawnFailure::NotExecutable { program: program.clone() }, CategoryCode::NotStarted, "chmod +x"),
            (SpawnFailure::DirectoryNotFound { directory: "web".to_owned() }, CategoryCode::NotStarted, "`web` does not exist"),
            (SpawnFailure::Refused { program, errno: 11, message: "try again".to_owned() }, CategoryCode::NotStarted, "error 11"),
        ] {
            let returned = Returned { end: ActionEnd::NotStarted(failure), ..Returned::pytest(0, GREEN) };
            let interpretation = returned.interpret();
            assert_eq!(interpretation.category, category);
            assert!(interpretation.reason.contains(part), "{}", interpretation.reason);
        }
    }

    #[test]
    fn survivors_fail_what_would_have_passed_only_where_the_check_says_so() {
        let mut returned = Returned { survivors: 2, ..Returned::pytest(0, GREEN) };
        assert_eq!(returned.interpret().category, CategoryCode::TestsPassed);
        returned.action.on_survivors = OnSurvivors::Fail;
        let interpretation = returned.interpret();
        assert_eq!(interpretation.category, CategoryCode::SurvivorsLeft);
        assert!(interpretation.test_results.is_some(), "what was read stays visible");
        returned.end = ActionEnd::Exited { code: 3 };
        assert_eq!(returned.interpret().category, CategoryCode::InternalError, "a failure keeps its own reason");
    }

    #[test]
    fn a_reason_is_one_line_of_bounded_length_whatever_it_quotes() {
        let torn = Returned::pytest(0, "<testsuites><testsuite tests=\"1\"></a\nb\u{1b}[31mc></testsuites>").interpret().reason;
        assert!(torn.contains("`</a b [31mc>`"), "{torn}");
        let endless = Returned::pytest(0, &format!("<testsuites></{}>", "x".repeat(1 << 20))).interpret().reason;
        assert!(endless.chars().count() == LONGEST_REASON + 1 && endless.ends_with("x…"), "{}", endless.len());
    }

    #[test]
    fn a_command_that_printed_nothing_sends_nobody_to_its_log() {
        let silent = Returned::exited(proctor_model::Tool::Generic, "make check", 1);
        let expected = "The command ended with exit code 1; expected is 0; it printed nothing";
        assert_eq!(silent.interpret().reason, expected);
        assert!(silent.saying("x\n", "").interpret().reason.ends_with("see the end of its log"));
    }

    #[test]
    fn the_report_channel_is_passed_on() {
        assert_eq!(Returned::pytest(0, GREEN).interpret().report_channel, Some("argument"));
    }
}
