//! Compares the table of category codes, as people read it, with a stored copy, so that every changed word is noticed.

use insta::assert_snapshot;

use crate::verdict::category_row::{CategoryRow, every_row};
use crate::verdict::wording::words_for;

fn told(row: &CategoryRow) -> String {
    let word = |value: serde_json::Value| value.as_str().map(str::to_owned).unwrap_or_default();
    let debt = match row.debt {
        Ok((category, severity)) => format!("debt {category:?}, {severity:?}"),
        Err(why) => format!("no debt: {why}"),
    };
    let code = word(serde_json::to_value(row.code).expect("a plain word"));
    let fix = if row.fix.is_empty() { String::new() } else { format!(": {}", row.fix) };
    let ran = if row.tests_ran { ", tests ran" } else { "" };
    let mut lines = vec![
        format!("{code}: {:?}, tool {:?}{ran}; {debt}", row.result, row.work),
        format!("  {}{fix}", row.title),
        format!("  {:?}: {}", row.agent, row.message),
    ];
    lines.extend(row.causes.iter().map(|cause| format!("  perhaps: {cause}")));
    lines.extend(row.recoverable.map(|how| format!("  recover: {how}")));
    lines.join("\n")
}

#[test]
fn j4_every_code_has_its_result_its_debt_and_its_words() {
    let rows: Vec<String> = every_row().iter().map(told).collect();
    assert_snapshot!(rows.join("\n"), @"
    TESTS_PASSED: Success, tool Succeeded, tests ran; no debt: Nothing to mend
      Success
      Continue: Nothing to do.
    TESTS_FAILED: TestFailure, tool Succeeded, tests ran; debt BusinessLogicError, High
      Test Failure: {reason}
      ImplementFix: Tests fail. Change the implementation until they pass.
    COLLECTION_ERROR: TestFailure, tool Succeeded; debt ValidationMissing, High
      Tests Cannot Be Collected: Mend the error that keeps the tests from being collected: {reason}
      FixCode: Tests could not be collected. Mend the import or syntax error the reason names.
      recover: Mend the import or syntax error the reason names
    CONFTEST_ERROR: ExecutionError, tool Failed; debt IntegrationFailure, High
      conftest Cannot Be Imported: Mend the conftest.py so that it can be imported: {reason}
      FixCode: A conftest.py could not be imported, so no test ran. Mend it.
      recover: Mend the conftest.py the reason names
    COVERAGE_BELOW_TARGET: TestFailure, tool Succeeded, tests ran; debt ValidationMissing, Medium
      Coverage Below Target: Add tests for the lines that none runs: {reason}
      AddTests: All tests pass, coverage is below its target. Add tests; the implementation is not at fault.
    NO_TESTS_COLLECTED: TestFailure, tool Succeeded; debt ValidationMissing, High
      No Tests Collected: Correct the paths and names in the command so that it finds tests, or add tests: {reason}
      AddTests: No test has shown anything yet. Make tests run.
    NO_TESTS_EXECUTED: TestFailure, tool Succeeded; debt ValidationMissing, High
      No Tests Executed: Remove the skips and selections that leave every test out: {reason}
      AddTests: No test has shown anything yet. Make tests run.
    MAX_WARNINGS: TestFailure, tool Succeeded, tests ran; debt Refactor, Medium
      Too Many Warnings: Mend what warns: {reason}
      FixCode: All tests pass with more warnings than the run allows. Mend what warns.
    INTERRUPTED: ExecutionError, tool Failed; debt IntegrationFailure, High
      Test Run Interrupted: Run the command by hand and remove what interrupts it: {reason}
      AskHuman: The tool could not do its work. A person should look at the log.
      perhaps: A test or plugin raised KeyboardInterrupt or ended the session
      perhaps: Something outside interrupted the run
      recover: Run the command by hand and see what interrupts it
    INTERNAL_ERROR: ExecutionError, tool Failed; debt IntegrationFailure, High
      Tool Failed Inside Itself: Read the traceback in the log; try without plugins, or another version of the tool: {reason}
      AskHuman: The tool could not do its work. A person should look at the log.
      perhaps: A plugin is broken or does not fit the tool's version
      perhaps: The tool has a defect
      recover: Look at the traceback in the log; try without plugins
    USAGE_ERROR: ExecutionError, tool Failed; no debt: This is an error in the command or its configuration, not in the code
      Usage Error: {reason}
      FixSpecification: The tool refused its command line or configuration. Correct the command.
      recover: Correct the option, path or configuration the reason names
    TOOL_NOT_FOUND: ExecutionError, tool Failed; debt IntegrationFailure, High
      Tool Not Found: Install what is missing or correct the command: {reason}
      InstallTool: The program is not there. Install it, or correct the command that names it.
      perhaps: It is not installed
      perhaps: It is installed outside the search path or in another environment
      recover: Install the program, or name it by its path
    NOT_STARTED: ExecutionError, tool Failed; debt IntegrationFailure, High
      Command Could Not Be Started: Make the program executable, and see that its interpreter and its directory exist: {reason}
      AskHuman: The program could not be started. A person should look at permissions, interpreter and directory.
      perhaps: It may not be executed
      perhaps: The interpreter its first line names is gone
      perhaps: Its working directory is gone
      recover: Check permissions, interpreter and working directory
    REPORT_MISSING: ExecutionError, tool Failed; debt IntegrationFailure, High
      Test Report Cannot Be Trusted: Run the command by hand and remove what cuts its report short or changes it: {reason}
      AskHuman: The tool could not do its work. A person should look at the log.
      perhaps: The run was cut short
      perhaps: A plugin or option changes or suppresses the report
      perhaps: The tests end the process themselves
      recover: Run the command by hand and look whether it writes its whole report
    REPORT_UNREADABLE: ExecutionError, tool Failed; debt IntegrationFailure, High
      Test Report Cannot Be Trusted: Run the command by hand and remove what cuts its report short or changes it: {reason}
      AskHuman: The tool could not do its work. A person should look at the log.
      perhaps: The run was cut short
      perhaps: A plugin or option changes or suppresses the report
      perhaps: The tests end the process themselves
      recover: Run the command by hand and look whether it writes its whole report
    REPORT_INCOMPLETE: ExecutionError, tool Failed; debt IntegrationFailure, High
      Test Report Cannot Be Trusted: Run the command by hand and remove what cuts its report short or changes it: {reason}
      AskHuman: The tool could not do its work. A person should look at the log.
      perhaps: The run was cut short
      perhaps: A plugin or option changes or suppresses the report
      perhaps: The tests end the process themselves
      recover: Run the command by hand and look whether it writes its whole report
    INCONSISTENT: ExecutionError, tool Failed; debt IntegrationFailure, High
      Contradictory Result: Run the command by hand and remove what cuts its report short or changes it: {reason}
      AskHuman: The tool could not do its work. A person should look at the log.
      perhaps: The run was cut short
      perhaps: A plugin or option changes or suppresses the report
      perhaps: The tests end the process themselves
      recover: Run the command by hand and look whether it writes its whole report
    FAILED_OUTSIDE_TESTS: ExecutionError, tool Failed, tests ran; debt IntegrationFailure, High
      Failure Outside the Tests: Mend the hook, plugin or session option that fails the run: {reason}
      FixCode: No test failed and the run did. Mend the hook, plugin or session option that failed it.
      perhaps: A hook of a plugin or conftest.py raised
      perhaps: A session limit was reached
    UNKNOWN_EXIT: ExecutionError, tool Failed; debt IntegrationFailure, High
      Unknown Exit Code: Find what ends the process with this code, such as a plugin, `os._exit` or a wrapper, and remove it: {reason}
      AskHuman: The tool could not do its work. A person should look at the log.
      perhaps: A plugin or a test ended the process with a code of its own
      perhaps: A wrapper replaced the tool's code
    SIGNALLED: ExecutionError, tool Failed; debt IntegrationFailure, High
      Ended by a Signal: Run the command by hand and look for a crash of native code, or for too little memory: {reason}
      AskHuman: The tool could not do its work. A person should look at the log.
      perhaps: Native code crashed
      perhaps: The system ran out of memory
      perhaps: Something outside ended it
    TIMED_OUT: Timeout, tool Unknown; debt PerformanceIssue, Medium
      Operation Timeout: Optimize operation or increase timeout value
      OptimizeOrRaiseTimeout: The action hit its limit and was stopped. Make it faster or allow it more time.
    STOPPED: ExecutionError, tool Unknown; no debt: It was stopped before it could show anything
      Stopped: {reason}
      Continue: The run was stopped; the next one will tell.
    STATUS_LOST: ExecutionError, tool Unknown; no debt: A helper process of proctor ended, which shows nothing of the code
      Exit Status Lost: {reason}
      AskHuman: A helper process of proctor ended, so the run is carried out once more. Ask a person if that happens again.
    FINDINGS: ValidationFailure, tool Succeeded; debt ValidationMissing, High
      Validation Issues
      FixCode: The tool found issues. Mend them.
    CLEAN: Success, tool Succeeded; no debt: Nothing to mend
      Success
      Continue: Nothing to do.
    EXPECTED_EXIT: Success, tool Succeeded; no debt: Nothing to mend
      Success
      Continue: Nothing to do.
    UNEXPECTED_EXIT: ExecutionError, tool Failed; debt IntegrationFailure, High
      Unexpected Exit Code: Run the command by hand and mend what it complains about: {reason}
      FixCode: The command failed. Its output in the log says why.
      recover: Read the command's output in the log
    OUTPUT_TOO_LARGE: ExecutionError, tool Failed; debt IntegrationFailure, High
      Output Too Large: Narrow the command to fewer files, or mend the findings in parts: {reason}
      AskHuman: The tool printed more than is interpreted. A person should narrow the command.
      recover: Narrow the command to fewer files, or fix the findings in parts
    SURVIVORS_LEFT: ExecutionError, tool Failed; debt IntegrationFailure, High
      Processes Left Behind: End every process before the command ends: {reason}
      FixCode: The action left processes behind. End them before it ends.
      perhaps: A server or worker was started and not stopped
    SERVED: Success, tool Succeeded; no debt: Nothing to mend
      Success
      Continue: Nothing to do.
    SERVICE_ENDED: ExecutionError, tool Failed; debt IntegrationFailure, High
      Service Ended Early: Read the service's log and mend why it ends: {reason}
      FixCode: A service the checks need ended by itself. Its log says why.
      perhaps: It crashed
      perhaps: Its port is held by another process
      perhaps: Its command starts something in the background and ends
      recover: Read the service's log
    SERVICE_NOT_READY: Timeout, tool Failed; debt PerformanceIssue, Medium
      Service Not Ready in Time: Read the service's log, then correct `ready` or raise its `timeout`: {reason}
      FixCode: A service the checks need was not ready in time. Its log and the reason say how far it came.
      perhaps: It needs longer to start
      perhaps: It listens elsewhere than `ready` looks
      perhaps: It waits for something
      recover: Read the service's log; correct `ready` or raise its `timeout`
    PORT_HELD: ExecutionError, tool Failed; debt IntegrationFailure, High
      Port Held by Another Process: End the process that holds the port, or use another port: {reason}
      AskHuman: Another process holds the port of a service. A person should end it or choose another port.
      perhaps: The service was started by hand and still runs
      perhaps: Another project uses the same port
      recover: End the process the reason names, or let the service use another port
    FILE_VALID: Success, tool Succeeded; no debt: Nothing to mend
      Success
      Continue: Nothing to do.
    FILE_MISSING: ValidationFailure, tool Succeeded; debt ValidationMissing, High
      File Missing: Make the file as it must be: {reason}
      FixCode: The file is not there. Make it.
    FILE_INVALID: ValidationFailure, tool Succeeded; debt ValidationMissing, High
      File Not as Expected: Make the file as it must be: {reason}
      FixCode: The file is not what it must be. The reason says in what.
    FILE_OUTSIDE: ValidationFailure, tool Succeeded; debt ValidationMissing, High
      File Outside of the Project: Name a file inside of the project: {reason}
      FixSpecification: A link in the path leads out of the project, so nobody looked further. Name a file inside of the project.
    ANSWER_VALID: Success, tool Succeeded; no debt: Nothing to mend
      Success
      Continue: Nothing to do.
    ANSWER_INVALID: TestFailure, tool Succeeded; debt BusinessLogicError, High
      Unexpected Answer: Make the server answer as it must: {reason}
      ImplementFix: The server answered, and not as it must. Change the implementation.
    ENDPOINT_MISSING: TestFailure, tool Succeeded; debt ApiEndpointMissing, Critical
      API Endpoint Missing: Make the server answer as it must: {reason}
      ImplementFix: The server answers with 404. Implement the endpoint.
    SERVER_ERROR: TestFailure, tool Succeeded; debt BusinessLogicError, Critical
      Server Error: Make the server answer as it must: {reason}
      ImplementFix: The server failed to answer the request properly. Its log says why.
    NO_ANSWER: ExecutionError, tool Failed; debt IntegrationFailure, High
      No Answer: Start the server that is asked, or correct the address: {reason}
      StartServer: The server did not answer. See that it runs and listens where the request goes.
      recover: Verify that the server runs
    RESULT_VALID: Success, tool Succeeded; no debt: Nothing to mend
      Success
      Continue: Nothing to do.
    RESULT_INVALID: TestFailure, tool Succeeded; debt BusinessLogicError, High
      Unexpected Result: Change the implementation so that the result is as it must be: {reason}
      ImplementFix: What was asked for was done, and the result is not as it must be. Change the implementation.
    CLIENT_FAILED: ExecutionError, tool Failed; debt IntegrationFailure, High
      Client Failed: Run the query or command by hand and mend what it complains about: {reason}
      FixCode: The client of a database, a container engine or a browser could not do what was asked. The reason and the log say why.
      recover: Read the client's output in the log
    REVIEW_APPROVED: Success, tool Succeeded; no debt: Nothing to mend
      Success
      Continue: Nothing to do.
    REVIEW_REJECTED: ValidationFailure, tool Succeeded; no debt: What a review names is in its text, and no debt is made of free text
      Review Rejected
      FixCode: The review rejects. Mend what it names, then ask for a new review.
    NO_VERDICT: ExecutionError, tool Failed; no debt: A review without a verdict says nothing about the code
      Review Without a Verdict: {reason}
      AskHuman: The review has no verdict. A person should read both outputs; mend nothing on the strength of them.
      perhaps: Review agent may not be following template - check code-reviewer skill
      recover: Look at the reviewer's output and run the review again by hand
    TESTS_MISSING: TestFailure, tool Succeeded; debt ValidationMissing, High
      Tests Are Missing: Bring back the tests that are gone: {reason}
      AddTests: Tests that passed before are not there any more. Bring them back; a command without them is for a person to approve.
      recover: Bring back the tests the reason names
    SPECIFICATION_INVALID: SpecificationError, tool Unknown; no debt: This is a specification bug, not a code issue
      Specification Error
      FixSpecification: Test specification has errors. Fix and regenerate.
    NOTHING_CHECKED: ValidationFailure, tool Succeeded; debt ValidationMissing, High
      Nothing Was Checked: Correct the paths of the command, or what the tool's configuration leaves out: {reason}
      FixSpecification: The tool had nothing to check, so it proves nothing. Correct its paths or configuration.
      perhaps: The paths of the command match nothing
      perhaps: The tool's configuration excludes every file
      perhaps: Every test is skipped
      recover: Correct the paths of the command, or what the tool's configuration leaves out
    FILES_CHANGED: ValidationFailure, tool Succeeded; debt ValidationMissing, High
      Files Changed by the Check: Run the command by hand, so that the project's own files are mended, or let it only look (`--check`, without `--fix`, `--write` or `-w`): {reason}
      FixCode: The tool mended its own copy, not the project. Run its command by hand.
      perhaps: The command mends in place of only looking
      perhaps: The tool's configuration switches mending on
      recover: Run the command by hand in the project
    FILE_NOT_IN_TREE: ValidationFailure, tool Succeeded; debt ValidationMissing, High
      File Not in the Judged Tree: Let a step of the task make the file, or add its path to `watch.include` of proctor.toml: {reason}
      FixSpecification: The file is on disk, and not in the tree that is judged. Let a step make it, or include its path.
      perhaps: The file is ignored, such as what a build makes
      perhaps: The directory has no file in it
      recover: Ask `proctor why PATH` which rule leaves the file out
    ");
}

#[test]
fn c40_every_validation_tool_has_its_words() {
    let tools = ["typescript", "mypy", "eslint", "ruff", "flake8", "pylint", "prettier", "compilation", "another"];
    let told = tools.map(|tool| {
        let words = words_for(tool);
        let issues = format!("{}, {}", words.error_issue, words.warning_issue);
        let does = (words.debt, words.agent, words.fix_option, words.warnings_exit, words.blocks_compilation);
        format!("{tool}: {}: {}, {}; {issues}; {does:?}", words.display, words.error, words.errors)
    });
    assert_snapshot!(told.join("\n"), @r#"
    typescript: TypeScript: Type Error, type errors; TYPE_ERROR, TYPE_WARNING; (ValidationMissing, FixTypes, None, Refuses, true)
    mypy: mypy: Type Error, type errors; TYPE_ERROR, TYPE_WARNING; (ValidationMissing, FixTypes, None, Refuses, false)
    eslint: ESLint: Error, errors; LINT_ERROR, LINT_WARNING; (Refactor, FixCode, Some("--fix"), Refuses, false)
    ruff: Ruff: Error, errors; LINT_ERROR, LINT_WARNING; (Refactor, FixCode, Some("--fix"), Refuses, false)
    flake8: Flake8: Error, errors; LINT_ERROR, LINT_WARNING; (Refactor, FixCode, None, Refuses, false)
    pylint: Pylint: Error, errors; LINT_ERROR, LINT_WARNING; (Refactor, FixCode, None, Tells, false)
    prettier: Prettier: Formatting Issue, formatting issues; FORMAT_ERROR, FORMAT_WARNING; (Refactor, FixCode, Some("--write"), Refuses, false)
    compilation: Compilation: Compilation Error, errors; COMPILATION_ERROR, COMPILATION_WARNING; (ValidationMissing, FixCode, None, Refuses, true)
    another: Validation: Error, errors; VALIDATION_ERROR, VALIDATION_WARNING; (ValidationMissing, FixCode, None, Refuses, false)
    "#);
}
