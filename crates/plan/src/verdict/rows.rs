//! The consequences of each category code, one row each (E3, E4, C07, C11–C17; table J4).
//!
//! `FINDINGS` has a row too, but its result depends on the policy: see `policy.rs`.

use crate::verdict::category_row::{CategoryRow, READY, SummaryWords, ToolWork};
use crate::verdict::looking_rows::{FILE_NOT_IN_TREE, FILES_CHANGED, NOTHING_CHECKED};
use crate::verdict::wording::AgentWord;
use proctor_model::{CategoryCode, DebtCategory, ResultType, Severity};

const INTEGRATION: Result<(DebtCategory, Severity), &str> = Ok((DebtCategory::IntegrationFailure, Severity::High));
pub(in crate::verdict) const UNTESTED: Result<(DebtCategory, Severity), &str> =
    Ok((DebtCategory::ValidationMissing, Severity::High));

pub(in crate::verdict) const SUCCESS: CategoryRow = CategoryRow {
    code: CategoryCode::Clean,
    result: ResultType::Success,
    work: ToolWork::Succeeded,
    tests_ran: false,
    error_type: None,
    debt: Err("Nothing to mend"),
    title: "Success",
    fix: "",
    agent: AgentWord::Continue,
    message: "Nothing to do.",
    causes: &[],
    recoverable: None,
    summary: SummaryWords::CodeName,
    shows_output: false,
    is_determined_by_inputs: false,
};

const TEST_FAILURE: CategoryRow = CategoryRow {
    result: ResultType::TestFailure,
    debt: UNTESTED,
    fix: "{reason}",
    agent: AgentWord::AddTests,
    message: "No test has shown anything yet. Make tests run.",
    ..SUCCESS
};

const EXECUTION_ERROR: CategoryRow = CategoryRow {
    result: ResultType::ExecutionError,
    work: ToolWork::Failed,
    debt: INTEGRATION,
    fix: "{reason}",
    agent: AgentWord::AskHuman,
    message: "The tool could not do its work. A person should look at the log.",
    ..SUCCESS
};

const UNPROVEN: CategoryRow = CategoryRow {
    title: "Test Report Cannot Be Trusted",
    fix: "Run the command by hand and remove what cuts its report short or changes it: {reason}",
    shows_output: true,
    recoverable: Some("Run the command by hand and look whether it writes its whole report"),
    causes: &[
        "The run was cut short",
        "A plugin or option changes or suppresses the report",
        "The tests end the process themselves",
    ],
    ..EXECUTION_ERROR
};

pub(in crate::verdict) const FILE_FAILURE: CategoryRow = CategoryRow {
    result: ResultType::ValidationFailure,
    debt: UNTESTED,
    fix: "Make the file as it must be: {reason}",
    agent: AgentWord::FixCode,
    ..SUCCESS
};

/// A request that was answered wrongly (C16, C42).
const ANSWER_FAILURE: CategoryRow =
    CategoryRow { fix: "Make the server answer as it must: {reason}", agent: AgentWord::ImplementFix, ..TEST_FAILURE };

/// One row per code, in the order of [`CategoryCode`]. The check below keeps any other order from compiling.
pub(in crate::verdict) const ROWS: [CategoryRow; 53] = [
    CategoryRow { code: CategoryCode::TestsPassed, tests_ran: true, is_determined_by_inputs: true, ..SUCCESS },
    CategoryRow {
        code: CategoryCode::TestsFailed,
        tests_ran: true,
        debt: Ok((DebtCategory::BusinessLogicError, Severity::High)),
        title: "Test Failure",
        agent: AgentWord::ImplementFix,
        message: "Tests fail. Change the implementation until they pass.",
        is_determined_by_inputs: true,
        ..TEST_FAILURE
    },
    CategoryRow {
        code: CategoryCode::CollectionError,
        title: "Tests Cannot Be Collected",
        fix: "Mend the error that keeps the tests from being collected: {reason}",
        agent: AgentWord::FixCode,
        message: "Tests could not be collected. Mend the import or syntax error the reason names.",
        recoverable: Some("Mend the import or syntax error the reason names"),
        shows_output: true,
        ..TEST_FAILURE
    },
    CategoryRow {
        code: CategoryCode::ConftestError,
        error_type: Some("CONFTEST_ERROR"),
        title: "conftest Cannot Be Imported",
        fix: "Mend the conftest.py so that it can be imported: {reason}",
        agent: AgentWord::FixCode,
        message: "A conftest.py could not be imported, so no test ran. Mend it.",
        recoverable: Some("Mend the conftest.py the reason names"),
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::CoverageBelowTarget,
        tests_ran: true,
        debt: Ok((DebtCategory::ValidationMissing, Severity::Medium)),
        title: "Coverage Below Target",
        fix: "Add tests for the lines that none runs: {reason}",
        message: "All tests pass, coverage is below its target. Add tests; the implementation is not at fault.",
        is_determined_by_inputs: true,
        ..TEST_FAILURE
    },
    CategoryRow {
        code: CategoryCode::NoTestsCollected,
        title: "No Tests Collected",
        fix: "Correct the paths and names in the command so that it finds tests, or add tests: {reason}",
        is_determined_by_inputs: true,
        ..TEST_FAILURE
    },
    CategoryRow {
        code: CategoryCode::NoTestsExecuted,
        title: "No Tests Executed",
        fix: "Remove the skips and selections that leave every test out: {reason}",
        is_determined_by_inputs: true,
        ..TEST_FAILURE
    },
    CategoryRow {
        code: CategoryCode::MaxWarnings,
        tests_ran: true,
        debt: Ok((DebtCategory::Refactor, Severity::Medium)),
        title: "Too Many Warnings",
        fix: "Mend what warns: {reason}",
        agent: AgentWord::FixCode,
        message: "All tests pass with more warnings than the run allows. Mend what warns.",
        is_determined_by_inputs: true,
        ..TEST_FAILURE
    },
    CategoryRow {
        code: CategoryCode::Interrupted,
        error_type: Some("INTERRUPTED"),
        title: "Test Run Interrupted",
        fix: "Run the command by hand and remove what interrupts it: {reason}",
        causes: &["A test or plugin raised KeyboardInterrupt or ended the session", "Something outside interrupted the run"],
        recoverable: Some("Run the command by hand and see what interrupts it"),
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::InternalError,
        error_type: Some("INTERNAL_ERROR"),
        title: "Tool Failed Inside Itself",
        fix: "Read the traceback in the log; try without plugins, or another version of the tool: {reason}",
        causes: &["A plugin is broken or does not fit the tool's version", "The tool has a defect"],
        recoverable: Some("Look at the traceback in the log; try without plugins"),
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::UsageError,
        error_type: Some("USAGE_ERROR"),
        debt: Err("This is an error in the command or its configuration, not in the code"),
        title: "Usage Error",
        agent: AgentWord::FixSpecification,
        message: "The tool refused its command line or configuration. Correct the command.",
        recoverable: Some("Correct the option, path or configuration the reason names"),
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::ToolNotFound,
        error_type: Some("TOOL_NOT_FOUND"),
        title: "Tool Not Found",
        fix: "Install what is missing or correct the command: {reason}",
        agent: AgentWord::InstallTool,
        message: "The program is not there. Install it, or correct the command that names it.",
        causes: &["It is not installed", "It is installed outside the search path or in another environment"],
        recoverable: Some("Install the program, or name it by its path"),
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::NotStarted,
        error_type: Some("NOT_STARTED"),
        title: "Command Could Not Be Started",
        fix: "Make the program executable, and see that its interpreter and its directory exist: {reason}",
        message: "The program could not be started. A person should look at permissions, interpreter and directory.",
        causes: &["It may not be executed", "The interpreter its first line names is gone", "Its working directory is gone"],
        recoverable: Some("Check permissions, interpreter and working directory"),
        ..EXECUTION_ERROR
    },
    CategoryRow { code: CategoryCode::ReportMissing, error_type: Some("REPORT_MISSING"), ..UNPROVEN },
    CategoryRow { code: CategoryCode::ReportUnreadable, error_type: Some("REPORT_UNREADABLE"), ..UNPROVEN },
    CategoryRow { code: CategoryCode::ReportIncomplete, error_type: Some("REPORT_INCOMPLETE"), ..UNPROVEN },
    CategoryRow { code: CategoryCode::Inconsistent, error_type: Some("INCONSISTENT"), title: "Contradictory Result", ..UNPROVEN },
    CategoryRow {
        code: CategoryCode::FailedOutsideTests,
        tests_ran: true,
        error_type: Some("FAILED_OUTSIDE_TESTS"),
        title: "Failure Outside the Tests",
        fix: "Mend the hook, plugin or session option that fails the run: {reason}",
        agent: AgentWord::FixCode,
        message: "No test failed and the run did. Mend the hook, plugin or session option that failed it.",
        causes: &["A hook of a plugin or conftest.py raised", "A session limit was reached"],
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::UnknownExit,
        error_type: Some("UNKNOWN_EXIT"),
        title: "Unknown Exit Code",
        fix: "Find what ends the process with this code, such as a plugin, `os._exit` or a wrapper, and remove it: {reason}",
        causes: &["A plugin or a test ended the process with a code of its own", "A wrapper replaced the tool's code"],
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::Signalled,
        error_type: Some("SIGNALLED"),
        title: "Ended by a Signal",
        fix: "Run the command by hand and look for a crash of native code, or for too little memory: {reason}",
        causes: &["Native code crashed", "The system ran out of memory", "Something outside ended it"],
        summary: SummaryWords::SignalName,
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::TimedOut,
        result: ResultType::Timeout,
        work: ToolWork::Unknown,
        debt: Ok((DebtCategory::PerformanceIssue, Severity::Medium)),
        title: "Operation Timeout",
        fix: "Optimize operation or increase timeout value",
        agent: AgentWord::OptimizeOrRaiseTimeout,
        message: "The action hit its limit and was stopped. Make it faster or allow it more time.",
        summary: SummaryWords::Limit,
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::Stopped,
        work: ToolWork::Unknown,
        error_type: Some("STOPPED"),
        debt: Err("It was stopped before it could show anything"),
        title: "Stopped",
        agent: AgentWord::Continue,
        message: "The run was stopped; the next one will tell.",
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::StatusLost,
        work: ToolWork::Unknown,
        error_type: Some("STATUS_LOST"),
        debt: Err("A helper process of proctor ended, which shows nothing of the code"),
        title: "Exit Status Lost",
        message: "A helper process of proctor ended, so the run is carried out once more. Ask a person if that happens again.",
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::Findings,
        result: ResultType::ValidationFailure,
        debt: Ok((DebtCategory::ValidationMissing, Severity::High)),
        title: "Validation Issues",
        agent: AgentWord::FixCode,
        message: "The tool found issues. Mend them.",
        shows_output: true,
        is_determined_by_inputs: true,
        ..SUCCESS
    },
    CategoryRow { code: CategoryCode::Clean, summary: SummaryWords::Fixed("clean"), is_determined_by_inputs: true, ..SUCCESS },
    CategoryRow {
        code: CategoryCode::ExpectedExit,
        summary: SummaryWords::Fixed("done"),
        is_determined_by_inputs: true,
        ..SUCCESS
    },
    CategoryRow {
        code: CategoryCode::UnexpectedExit,
        error_type: Some("UNEXPECTED_EXIT"),
        title: "Unexpected Exit Code",
        fix: "Run the command by hand and mend what it complains about: {reason}",
        agent: AgentWord::FixCode,
        message: "The command failed. Its output in the log says why.",
        recoverable: Some("Read the command's output in the log"),
        summary: SummaryWords::ExitCode { before: "exit", without: "failed" },
        shows_output: true,
        is_determined_by_inputs: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::OutputTooLarge,
        error_type: Some("OUTPUT_TOO_LARGE"),
        title: "Output Too Large",
        fix: "Narrow the command to fewer files, or mend the findings in parts: {reason}",
        message: "The tool printed more than is interpreted. A person should narrow the command.",
        recoverable: Some("Narrow the command to fewer files, or fix the findings in parts"),
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::SurvivorsLeft,
        error_type: Some("SURVIVORS_LEFT"),
        title: "Processes Left Behind",
        fix: "End every process before the command ends: {reason}",
        agent: AgentWord::FixCode,
        message: "The action left processes behind. End them before it ends.",
        causes: &["A server or worker was started and not stopped"],
        ..EXECUTION_ERROR
    },
    CategoryRow { code: CategoryCode::Served, summary: SummaryWords::Fixed(READY), ..SUCCESS },
    CategoryRow {
        code: CategoryCode::ServiceEnded,
        error_type: Some("SERVICE_ENDED"),
        title: "Service Ended Early",
        fix: "Read the service's log and mend why it ends: {reason}",
        agent: AgentWord::FixCode,
        message: "A service the checks need ended by itself. Its log says why.",
        causes: &["It crashed", "Its port is held by another process", "Its command starts something in the background and ends"],
        recoverable: Some("Read the service's log"),
        summary: SummaryWords::ExitCode { before: "ended with exit", without: "ended" },
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::ServiceNotReady,
        result: ResultType::Timeout,
        debt: Ok((DebtCategory::PerformanceIssue, Severity::Medium)),
        title: "Service Not Ready in Time",
        fix: "Read the service's log, then correct `ready` or raise its `timeout`: {reason}",
        agent: AgentWord::FixCode,
        message: "A service the checks need was not ready in time. Its log and the reason say how far it came.",
        causes: &["It needs longer to start", "It listens elsewhere than `ready` looks", "It waits for something"],
        recoverable: Some("Read the service's log; correct `ready` or raise its `timeout`"),
        summary: SummaryWords::Fixed("not ready in time"),
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::PortHeld,
        error_type: Some("PORT_HELD"),
        title: "Port Held by Another Process",
        fix: "End the process that holds the port, or use another port: {reason}",
        message: "Another process holds the port of a service. A person should end it or choose another port.",
        causes: &["The service was started by hand and still runs", "Another project uses the same port"],
        recoverable: Some("End the process the reason names, or let the service use another port"),
        ..EXECUTION_ERROR
    },
    CategoryRow { code: CategoryCode::FileValid, summary: SummaryWords::Fixed("as it must be"), ..SUCCESS },
    CategoryRow {
        code: CategoryCode::FileMissing,
        title: "File Missing",
        message: "The file is not there. Make it.",
        ..FILE_FAILURE
    },
    CategoryRow {
        code: CategoryCode::FileInvalid,
        title: "File Not as Expected",
        message: "The file is not what it must be. The reason says in what.",
        ..FILE_FAILURE
    },
    CategoryRow {
        code: CategoryCode::FileOutside,
        title: "File Outside of the Project",
        fix: "Name a file inside of the project: {reason}",
        agent: AgentWord::FixSpecification,
        message: "A link in the path leads out of the project, so nobody looked further. Name a file inside of the project.",
        ..FILE_FAILURE
    },
    CategoryRow { code: CategoryCode::AnswerValid, summary: SummaryWords::AnswerStatus, ..SUCCESS },
    CategoryRow {
        code: CategoryCode::AnswerInvalid,
        debt: Ok((DebtCategory::BusinessLogicError, Severity::High)),
        title: "Unexpected Answer",
        message: "The server answered, and not as it must. Change the implementation.",
        summary: SummaryWords::AnswerStatus,
        ..ANSWER_FAILURE
    },
    CategoryRow {
        code: CategoryCode::EndpointMissing,
        debt: Ok((DebtCategory::ApiEndpointMissing, Severity::Critical)),
        title: "API Endpoint Missing",
        message: "The server answers with 404. Implement the endpoint.",
        summary: SummaryWords::AnswerStatus,
        ..ANSWER_FAILURE
    },
    CategoryRow {
        code: CategoryCode::ServerError,
        debt: Ok((DebtCategory::BusinessLogicError, Severity::Critical)),
        title: "Server Error",
        message: "The server failed to answer the request properly. Its log says why.",
        summary: SummaryWords::AnswerStatus,
        ..ANSWER_FAILURE
    },
    CategoryRow {
        code: CategoryCode::NoAnswer,
        error_type: Some("NO_ANSWER"),
        title: "No Answer",
        fix: "Start the server that is asked, or correct the address: {reason}",
        agent: AgentWord::StartServer,
        message: "The server did not answer. See that it runs and listens where the request goes.",
        recoverable: Some("Verify that the server runs"),
        summary: SummaryWords::ErrorType("no answer"),
        ..EXECUTION_ERROR
    },
    CategoryRow { code: CategoryCode::ResultValid, summary: SummaryWords::Fixed("as it must be"), ..SUCCESS },
    CategoryRow {
        code: CategoryCode::ResultInvalid,
        debt: Ok((DebtCategory::BusinessLogicError, Severity::High)),
        title: "Unexpected Result",
        fix: "Change the implementation so that the result is as it must be: {reason}",
        message: "What was asked for was done, and the result is not as it must be. Change the implementation.",
        shows_output: true,
        ..ANSWER_FAILURE
    },
    CategoryRow {
        code: CategoryCode::ClientFailed,
        error_type: Some("CLIENT_FAILED"),
        title: "Client Failed",
        fix: "Run the query or command by hand and mend what it complains about: {reason}",
        agent: AgentWord::FixCode,
        message: "The client of a database, a container engine or a browser could not do what was asked. The reason and the log say why.",
        recoverable: Some("Read the client's output in the log"),
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow { code: CategoryCode::ReviewApproved, summary: SummaryWords::Fixed("approved"), ..SUCCESS },
    CategoryRow {
        code: CategoryCode::ReviewRejected,
        result: ResultType::ValidationFailure,
        debt: Err("What a review names is in its text, and no debt is made of free text"),
        title: "Review Rejected",
        agent: AgentWord::FixCode,
        message: "The review rejects. Mend what it names, then ask for a new review.",
        summary: SummaryWords::Fixed("rejected"),
        shows_output: true,
        ..SUCCESS
    },
    CategoryRow {
        code: CategoryCode::NoVerdict,
        error_type: Some("NO_VERDICT"),
        debt: Err("A review without a verdict says nothing about the code"),
        title: "Review Without a Verdict",
        message: "The review has no verdict. A person should read both outputs; mend nothing on the strength of them.",
        causes: &["Review agent may not be following template - check code-reviewer skill"],
        recoverable: Some("Look at the reviewer's output and run the review again by hand"),
        summary: SummaryWords::Fixed("no verdict"),
        shows_output: true,
        ..EXECUTION_ERROR
    },
    CategoryRow {
        code: CategoryCode::TestsMissing,
        title: "Tests Are Missing",
        fix: "Bring back the tests that are gone: {reason}",
        message: "Tests that passed before are not there any more. Bring them back; a command without them is for a person to approve.",
        recoverable: Some("Bring back the tests the reason names"),
        ..TEST_FAILURE
    },
    CategoryRow {
        code: CategoryCode::SpecificationInvalid,
        result: ResultType::SpecificationError,
        work: ToolWork::Unknown,
        debt: Err("This is a specification bug, not a code issue"),
        title: "Specification Error",
        agent: AgentWord::FixSpecification,
        message: "Test specification has errors. Fix and regenerate.",
        ..SUCCESS
    },
    NOTHING_CHECKED,
    FILES_CHANGED,
    FILE_NOT_IN_TREE,
];

/// Checks at compile time that the rows have the order of the enum, because [`row_of`] uses the variant as index.
const _: () = {
    assert!(ROWS.len() == CategoryCode::FileNotInTree as usize + 1);
    let mut place = 0;
    while place < ROWS.len() {
        assert!(ROWS[place].code as usize == place);
        place += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::category_row::row_of;

    #[test]
    fn every_code_has_a_row_with_words_that_fit_its_result() {
        for row in &ROWS {
            let code = row.code;
            assert!(!row.title.is_empty() && row.message.ends_with('.'), "{code:?}");
            match row.result {
                ResultType::Success => {
                    assert_eq!((row.agent, row.error_type), (AgentWord::Continue, None), "{code:?}");
                    assert!(row.debt.is_err(), "{code:?}");
                }
                ResultType::TestFailure | ResultType::ValidationFailure | ResultType::Timeout => {
                    let excused = code == CategoryCode::ReviewRejected;
                    assert!(row.debt.is_err() == excused && row.agent != AgentWord::Continue, "{code:?}");
                }
                ResultType::ExecutionError => {
                    let spelled = serde_json::to_value(code).expect("a plain word");
                    assert_eq!(row.error_type, spelled.as_str(), "{code:?}");
                    let shows_nothing = matches!(code, CategoryCode::Stopped | CategoryCode::StatusLost);
                    let excused = shows_nothing || matches!(code, CategoryCode::UsageError | CategoryCode::NoVerdict);
                    assert_eq!(row.debt.is_err(), excused, "{code:?}");
                }
                ResultType::SpecificationError => {
                    assert_eq!((row.agent, row.error_type), (AgentWord::FixSpecification, None), "{code:?}");
                    assert!(row.debt.is_err(), "{code:?}: a wrong specification is nobody's debt");
                }
                ResultType::PrerequisiteFailure => panic!("{code:?}: no code alone means that"),
            }
        }
    }

    /// Returns the last code. A new code at the end of the enum does not compile until it is added here, and then fails
    /// the test below.
    fn last_code(code: CategoryCode) -> CategoryCode {
        use CategoryCode as C;
        match code {
            C::TestsPassed | C::TestsFailed | C::CollectionError | C::ConftestError | C::CoverageBelowTarget => {}
            C::NoTestsCollected | C::NoTestsExecuted | C::MaxWarnings | C::Interrupted | C::InternalError => {}
            C::UsageError | C::ToolNotFound | C::NotStarted | C::ReportMissing | C::ReportUnreadable => {}
            C::ReportIncomplete | C::Inconsistent | C::FailedOutsideTests | C::UnknownExit | C::Signalled => {}
            C::TimedOut | C::Stopped | C::StatusLost | C::Findings | C::Clean | C::ExpectedExit => {}
            C::UnexpectedExit | C::OutputTooLarge | C::SurvivorsLeft => {}
            C::Served | C::ServiceEnded | C::ServiceNotReady | C::PortHeld => {}
            C::FileValid | C::FileMissing | C::FileInvalid | C::FileOutside => {}
            C::AnswerValid | C::AnswerInvalid | C::EndpointMissing | C::ServerError | C::NoAnswer => {}
            C::ResultValid | C::ResultInvalid | C::ClientFailed => {}
            C::ReviewApproved | C::ReviewRejected | C::NoVerdict | C::TestsMissing | C::SpecificationInvalid => {}
            C::NothingChecked | C::FilesChanged | C::FileNotInTree => {}
        }
        C::FileNotInTree
    }

    #[test]
    fn the_table_ends_with_the_last_code() {
        assert_eq!(ROWS.last().map(|row| row.code), Some(last_code(CategoryCode::Clean)));
    }

    #[test]
    fn c43_what_could_not_do_its_work_is_an_integration_failure_or_no_debt() {
        for row in ROWS.iter().filter(|row| row.result == ResultType::ExecutionError) {
            assert!(row.debt.is_err() || row.debt == INTEGRATION, "{:?}", row.code);
        }
    }

    #[test]
    fn c42_tests_that_fail_are_business_logic_and_an_endpoint_that_is_not_there_is_that() {
        let debt = |code| row_of(code).debt.ok();
        assert_eq!(debt(CategoryCode::TestsFailed), Some((DebtCategory::BusinessLogicError, Severity::High)));
        assert_eq!(debt(CategoryCode::EndpointMissing), Some((DebtCategory::ApiEndpointMissing, Severity::Critical)));
        assert_eq!(debt(CategoryCode::ServerError), Some((DebtCategory::BusinessLogicError, Severity::Critical)));
    }

    #[test]
    fn j4_the_debt_rows_are_those_of_e4() {
        let debt = |code| row_of(code).debt.ok();
        let untested = Some((DebtCategory::ValidationMissing, Severity::High));
        assert_eq!(debt(CategoryCode::NoTestsCollected), untested);
        assert_eq!(debt(CategoryCode::NoTestsExecuted), untested);
        assert_eq!(debt(CategoryCode::TestsMissing), untested);
        assert_eq!(debt(CategoryCode::CollectionError), untested);
        assert_eq!(debt(CategoryCode::CoverageBelowTarget), Some((DebtCategory::ValidationMissing, Severity::Medium)));
        assert_eq!(debt(CategoryCode::TestsFailed), Some((DebtCategory::BusinessLogicError, Severity::High)));
        assert_eq!(debt(CategoryCode::ConftestError), Some((DebtCategory::IntegrationFailure, Severity::High)));
        assert_eq!(debt(CategoryCode::TimedOut), Some((DebtCategory::PerformanceIssue, Severity::Medium)));
        assert_eq!(debt(CategoryCode::UsageError), None);
    }
}
