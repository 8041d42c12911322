//! Builds the records beside the report: for one action, and for a run that begins.

use std::collections::BTreeMap;

use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::report::build::{GENERATED_BY, test_specification};
use crate::report::build_action::finite;
use crate::report::{
    ActionFiles, ActionRecordFacts, ActionRecordV1, DiagnosticsRecordV1, ExecutionV1, OutputV1, ProjectV2, RecordAuthenticityV1,
    RunStartDetailsV1, RunStartFacts, TestLocationV1, TestRecordV1, TestResultsRecordV1, TestRunV1, environment_record, excerpt,
};
use proctor_model::{
    Action, ActionEnd, Diagnostic, DiagnosticSummary, EndedAction, Interpretation, RunId, SpawnFailure, SystemFault, TestCase,
    TestFailure, errno_name,
};

/// The `schema` of `run.json`: the name and version of its format.
pub const RUN_SCHEMA: &str = "proctor-run-v1";
/// The `schema` of an [`ActionRecordV1`]: the name and version of its format.
pub const ACTION_SCHEMA: &str = "proctor-action-v1";
/// The `schema` of a [`TestResultsRecordV1`]: the name and version of its format.
pub const TEST_RESULTS_SCHEMA: &str = "proctor-test-results-v1";
/// The `schema` of a [`DiagnosticsRecordV1`]: the name and version of its format.
pub const DIAGNOSTICS_SCHEMA: &str = "proctor-diagnostics-v1";

/// Returns the start record of a run without the keys that the run directory adds: `schema`, `runId`, `task`.
pub fn run_start_details(facts: RunStartFacts<'_>) -> RunStartDetailsV1 {
    RunStartDetailsV1 {
        generated_by: GENERATED_BY.to_owned(),
        project: ProjectV2 { id: facts.project_id, name: Some(facts.plan.project_name.clone()) },
        test_specification: test_specification(facts.plan, facts.plan_digest, facts.specification_file),
        tree_digest: facts.tree_digest,
        tree_format: facts.tree_format,
        trigger: facts.trigger,
        started: facts.started,
        process_id: facts.process_id,
    }
}

/// Returns the record of an action that was carried out. It shows no environment variable that looks like a secret.
pub fn action_record(facts: ActionRecordFacts<'_>) -> ActionRecordV1 {
    let action = facts.action;
    ActionRecordV1 {
        schema: ACTION_SCHEMA.to_owned(),
        run_id: facts.run_id.clone(),
        action_id: action.id.clone(),
        action_type: action.kind.action_type(),
        name: action.name.clone(),
        command: action.command.display.clone(),
        argv: action.command.argv.clone(),
        shell: action.command.shell,
        working_directory: facts.working_directory,
        program: facts.program,
        execution: execution(facts.ended),
        output: output(action, facts.attempt, facts.ended),
        environment: environment_record(facts.environment, &action.environment),
        usage: facts.ended.usage,
        survivors: facts.ended.survivors.clone(),
        authenticity: authenticity(facts.ended),
    }
}

/// Returns the record of all tests of an action; `None` if no test report was read.
pub fn test_results_record(
    run_id: &RunId,
    action: &Action,
    ended: &EndedAction,
    interpretation: &Interpretation,
) -> Option<TestResultsRecordV1> {
    let results = interpretation.test_results.as_ref()?;
    let mut failures: BTreeMap<&str, Vec<&TestFailure>> = BTreeMap::new();
    for failure in &results.failures {
        failures.entry(&failure.test_name).or_default().push(failure);
    }
    let only_file = only_file(&interpretation.cases);
    Some(TestResultsRecordV1 {
        schema: TEST_RESULTS_SCHEMA.to_owned(),
        run_id: run_id.clone(),
        action_id: action.id.clone(),
        action_type: action.kind.action_type(),
        test_framework: action.tool_name().to_owned(),
        test_file: only_file.clone(),
        execution: execution(ended),
        results: TestRunV1 {
            num_total_tests: results.total,
            num_passed_tests: results.counts.passed,
            num_failed_tests: results.counts.failed,
            num_pending_tests: results.counts.skipped,
            test_results: interpretation.cases.iter().map(|case| test_record(case, &failures, only_file.as_ref())).collect(),
        },
        coverage: finite(interpretation.coverage),
        report_channel: interpretation.report_channel.map(str::to_owned),
        authenticity: authenticity(ended),
    })
}

/// Returns the record of all findings of an action, after the policy was applied.
pub fn diagnostics_record(
    run_id: &RunId,
    action: &Action,
    ended: &EndedAction,
    diagnostics: &[Diagnostic],
    summary: DiagnosticSummary,
) -> DiagnosticsRecordV1 {
    DiagnosticsRecordV1 {
        schema: DIAGNOSTICS_SCHEMA.to_owned(),
        run_id: run_id.clone(),
        action_id: action.id.clone(),
        action_type: action.kind.action_type(),
        tool: action.tool_name().to_owned(),
        execution: execution(ended),
        findings: diagnostics.to_vec(),
        summary,
        authenticity: authenticity(ended),
    }
}

fn output(action: &Action, attempt: u32, ended: &EndedAction) -> OutputV1 {
    let files = ActionFiles::for_attempt(action, attempt);
    let captured = &ended.captured;
    let stdout = excerpt(&captured.stdout);
    let stderr = excerpt(&captured.stderr);
    OutputV1 {
        log: files.log.name,
        log_bytes: captured.log_bytes,
        log_sha256: captured.log_digest,
        frames: files.frames.name,
        frames_bytes: captured.frames_bytes,
        frames_sha256: captured.frames_digest,
        last_output: captured.last_output,
        pipes_left_open: captured.pipes_left_open,
        stdout: stdout.text,
        stdout_shown: stdout.shown,
        stderr: stderr.text,
        stderr_shown: stderr.shown,
    }
}

fn authenticity(ended: &EndedAction) -> RecordAuthenticityV1 {
    RecordAuthenticityV1 { captured_by: GENERATED_BY.to_owned(), timestamp: ended.ended, output_hash: ended.captured.log_digest }
}

/// Returns the file of the tests, if every test names a file and all name the same one.
fn only_file(cases: &[TestCase]) -> Option<String> {
    let first = cases.first()?.test_file.as_ref()?;
    cases.iter().all(|case| case.test_file.as_ref() == Some(first)).then(|| first.clone())
}

fn test_record(case: &TestCase, failures: &BTreeMap<&str, Vec<&TestFailure>>, only_file: Option<&String>) -> TestRecordV1 {
    // Tests in two files may have the same name. If a test names its file, the file must match too.
    let is_of_case = |failure: &&&TestFailure| case.test_file.is_none() || failure.test_file == case.test_file;
    let failure = failures.get(case.full_name.as_str()).and_then(|named| named.iter().find(is_of_case));
    let location = failure
        .and_then(|failure| failure.test_file.as_ref().map(|file| TestLocationV1 { file: file.clone(), line: failure.line }));
    TestRecordV1 {
        ancestor_titles: case.ancestor_titles.clone(),
        full_name: case.full_name.clone(),
        report_name: case.report_name.clone(),
        status: case.status,
        expected_to_fail: case.expected_to_fail,
        title: case.title.clone(),
        duration: case.duration_us.map(|duration| duration.saturating_add(500) / 1000),
        duration_us: case.duration_us.filter(|duration| duration % 1000 != 0),
        failure_messages: case.failure_messages.clone(),
        location,
        body: case.body,
        test_file: case
            .test_file
            .clone()
            .filter(|file| only_file != Some(file) && !case.full_name.starts_with(&format!("{file}::"))),
    }
}

// Converts the end of a command to its wire form.

/// Returns when and how a command ended, in its wire form.
pub(super) fn execution(ended: &EndedAction) -> ExecutionV1 {
    let plain = ExecutionV1 {
        start_time: ended.started,
        end_time: ended.ended,
        duration: ended.duration,
        exit_code: None,
        signal: None,
        killed: false,
        exit_code_after_stop: None,
        stop_signal: None,
        limit: None,
        error: None,
    };
    match &ended.end {
        ActionEnd::Exited { code } => ExecutionV1 { exit_code: Some(*code), ..plain },
        ActionEnd::Signalled { signal } => ExecutionV1 { signal: Some(signal_name(*signal)), ..plain },
        ActionEnd::TimedOut { limit, stage, code, signal } => ExecutionV1 {
            signal: Some(signal.map_or_else(|| stage.word().to_owned(), signal_name)),
            killed: true,
            exit_code_after_stop: *code,
            stop_signal: Some(stage.word().to_owned()),
            limit: Some(*limit),
            ..plain
        },
        ActionEnd::Stopped { reason: _, stage } => ExecutionV1 {
            signal: Some(stage.word().to_owned()),
            killed: true,
            stop_signal: Some(stage.word().to_owned()),
            ..plain
        },
        ActionEnd::NotStarted(failure) => ExecutionV1 { error: Some(spawn_error(failure)), ..plain },
        ActionEnd::Lost { why } => ExecutionV1 { error: Some(SystemFault::plain("STATUS_LOST", None, why.clone())), ..plain },
    }
}

/// Returns a signal's name, or its number if it has no name (real-time signals).
fn signal_name(signal: i32) -> String {
    Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned())
}

fn spawn_error(failure: &SpawnFailure) -> SystemFault {
    let of_system = |errno: i32| (errno_name(errno), Some(errno));
    let (code, errno) = match failure {
        SpawnFailure::ProgramNotFound { .. }
        | SpawnFailure::InterpreterNotFound { .. }
        | SpawnFailure::DirectoryNotFound { .. } => of_system(Errno::ENOENT as i32),
        SpawnFailure::NotExecutable { .. } => of_system(Errno::EACCES as i32),
        SpawnFailure::PortHeld { .. } => of_system(Errno::EADDRINUSE as i32),
        SpawnFailure::Refused { errno, .. } => of_system(*errno),
        SpawnFailure::ClientNotReady { .. } => ("CLIENT_NOT_READY", None),
        SpawnFailure::NoServer { .. } => ("NO_SERVER_RESULT", None),
        SpawnFailure::PromptUnreadable { .. } => ("PROMPT_UNREADABLE", None),
        SpawnFailure::NotIsolated { .. } => ("NOT_ISOLATED", None),
    };
    SystemFault::plain(code, errno, failure.to_string())
}

#[cfg(test)]
mod ending_tests {
    use super::execution;
    use crate::report::ExecutionV1;
    use crate::report::samples::ended;
    use proctor_model::{ActionEnd, LimitKind, SpawnFailure, StopReason, StopStage};

    fn of(end: ActionEnd) -> ExecutionV1 {
        execution(&ended(end, "", ""))
    }

    #[test]
    fn a_process_that_exits_after_we_stopped_it_has_no_exit_code() {
        let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigint, code: Some(0), signal: None };
        let ending = of(end);
        assert_eq!((ending.exit_code, ending.exit_code_after_stop), (None, Some(0)));
        assert_eq!((ending.signal.as_deref(), ending.killed), (Some("SIGINT"), true));
        let stopped = of(ActionEnd::Stopped { reason: StopReason::Superseded, stage: StopStage::Sigkill });
        assert_eq!((stopped.exit_code, stopped.stop_signal.as_deref()), (None, Some("SIGKILL")));
    }

    #[test]
    fn signals_and_errors_have_the_systems_names() {
        assert_eq!(of(ActionEnd::Signalled { signal: 11 }).signal.as_deref(), Some("SIGSEGV"));
        assert_eq!(of(ActionEnd::Signalled { signal: 40 }).signal.as_deref(), Some("signal 40"));
        let missing = SpawnFailure::ProgramNotFound { program: "pytest".to_owned(), searched: vec!["/usr/bin".to_owned()] };
        let error = of(ActionEnd::NotStarted(missing)).error.expect("it was not started");
        assert_eq!((error.code.as_str(), error.errno), ("ENOENT", Some(2)));
        assert_eq!(error.message, "there is no program `pytest` in /usr/bin");
        let refused = SpawnFailure::Refused { program: "x".to_owned(), errno: 8, message: "Exec format error".to_owned() };
        assert_eq!(of(ActionEnd::NotStarted(refused)).error.expect("it was not started").code, "ENOEXEC");
    }
}
