//! The differences between proctor's documents and the examples in the design document seed 004, each with the decision
//! that justifies it.

/// How proctor's document differs from an example of seed 004.
pub(super) enum Change {
    /// The example has a key that proctor's document never has.
    Absent,
    /// proctor's value has another form than the example's. The text is a value of this form, as JSON.
    Form(&'static str),
    /// proctor's document always has a key that the example lacks. The text is one possible value of the key, as JSON.
    Added(&'static str),
    /// The example has a key that proctor's document may have, but for which the run in [`runs`](super::runs) gives no
    /// value.
    NotSeen,
}

/// One difference between proctor's document and an example.
pub(super) struct Departure {
    /// The name of the example, or the common beginning of several names.
    pub(super) example: &'static str,
    /// The path of the key that differs: keys from the top, joined by dots, with `[]` for every entry of a list.
    pub(super) path: &'static str,
    pub(super) change: Change,
    /// The reason for the difference, with the decision that justifies it.
    pub(super) why: &'static str,
}

const fn absent(example: &'static str, path: &'static str, why: &'static str) -> Departure {
    Departure { example, path, change: Change::Absent, why }
}

const fn form(example: &'static str, path: &'static str, value: &'static str, why: &'static str) -> Departure {
    Departure { example, path, change: Change::Form(value), why }
}

const fn added(example: &'static str, path: &'static str, value: &'static str) -> Departure {
    Departure { example, path, change: Change::Added(value), why: "an addition to the report (E15): readers may leave it out" }
}

const fn not_seen(example: &'static str, path: &'static str, why: &'static str) -> Departure {
    Departure { example, path, change: Change::NotSeen, why }
}

const DIGEST: &str = "\"00000000000000000000000000000000000000000000000000000000000000aa\"";
const NO_HASH: &str = "hashes are SHA-256 in 64 hexadecimal digits (G3), and the example abbreviates its own";
const TEXTS: &str = "what was expected and received are texts: the tools print them (the item of the debt file, C50)";
const SELF_CLAIM: &str = "a file cannot attest to its own later state (E13)";
const ONE_SHAPE: &str = "one shape for the findings of all tools (C69)";
const ERROR_OBJECT: &str = "the detailed example 2 has the error as an object with this key, and so has ours (C69)";
const POLICY_SOURCE: &str = "{\"kind\": \"default\"}";
const SHOWN: &str = "{\"totalBytes\": 0, \"ranges\": []}";

/// All differences. Rows for several examples come first, and then the rows for single examples, grouped by example.
pub(super) const DEPARTURES: &[Departure] = &[
    // The differences in every example of an action's result.
    added("example-", "name", "\"compile\""),
    added("example-", "type", "\"TERMINAL_COMMAND\""),
    added("example-", "tool", "\"generic\""),
    added("example-", "disposition", "\"EXECUTED\""),
    added("example-", "description", "\"runs `compile`\""),
    added("example-", "command", "\"compile\""),
    added("example-1", "classification.code", "\"TESTS_FAILED\""),
    added("example-2", "classification.code", "\"NO_ANSWER\""),
    added("example-3", "classification.code", "\"FINDINGS\""),
    added("example-4", "classification.code", "\"PORT_HELD\""),
    added("example-5", "classification.code", "\"TIMED_OUT\""),
    added("example-6", "classification.code", "\"SPECIFICATION_INVALID\""),
    added("example-3", "classification.policyApplied.policySource", POLICY_SOURCE),
    // The differences in example 1, the result of a test run.
    added("example-1", "result.testResults.skipped", "0"),
    form("example-1", "result.testResults.failures[].expected", "\"200\"", TEXTS),
    form("example-1", "result.testResults.failures[].received", "\"404\"", TEXTS),
    // The differences in example 3A, the result of a type check.
    absent("example-3a", "result.diagnostics[].category", ONE_SHAPE),
    added("example-3a", "result.diagnostics[].severity", "\"error\""),
    absent("example-3a", "result.diagnostics[].relatedInformation", "a list is there where the tool gives some (E16)"),
    not_seen("example-3a", "result.diagnostics[].length", "the compiler prints no length (E16)"),
    not_seen("example-3a", "result.diagnostics[].fix", "the compiler prints no suggestion for this error (E16)"),
    // The differences in example 4, the result of a service.
    added("example-4", "result.diagnostics.portCheck.process.user", "\"dev\""),
    not_seen("example-4", "result.serverOutput", "a service whose port is held is not started (C08)"),
    not_seen("example-4", "result.healthCheck.duration", "a service whose port is held is not waited for (C08)"),
    // The differences in example 6, the result of an action with a wrong specification.
    added("example-6", "result.schemaValidation.errors[].code", "\"SCHEMA\""),
    added("example-6", "result.schemaValidation.errors[].file", "\"T117-test-specification.json\""),
    added("example-6", "result.schemaValidation.errors[].line", "1"),
    added("example-6", "result.schemaValidation.errors[].column", "1"),
    // The differences in the evidence files of a command.
    added("evidence-", "schema", "\"proctor-v1\""),
    added("evidence-", "runId", "\"exec-20250930T143000.000Z-000001\""),
    added("evidence-terminal", "name", "\"compile\""),
    added("evidence-terminal", "argv", "[\"npx\", \"tsc\"]"),
    added("evidence-terminal", "shell", "false"),
    added("evidence-terminal", "output.log", "\"STEP.3-typescript-compilation.log\""),
    added("evidence-terminal", "output.logBytes", "0"),
    added("evidence-terminal", "output.logSha256", DIGEST),
    added("evidence-terminal", "output.frames", "\"STEP.3-typescript-compilation.frames\""),
    added("evidence-terminal", "output.framesBytes", "0"),
    added("evidence-terminal", "output.framesSha256", DIGEST),
    added("evidence-terminal", "output.pipesLeftOpen", "false"),
    added("evidence-terminal", "output.stdoutShown", SHOWN),
    added("evidence-terminal", "output.stderrShown", SHOWN),
    absent("evidence-terminal", "output.combined", "the log has both streams in order of arrival (E16)"),
    form(
        "evidence-terminal",
        "environment",
        "{\"names\": [\"NODE_ENV\", \"PATH\", \"PWD\"], \"values\": {\"NODE_ENV\": \"test\"}}",
        "names, the values of an allow-list, and a digest of the rest (C77, E12)",
    ),
    form("evidence-terminal", "authenticity.outputHash", DIGEST, NO_HASH),
    // The differences in the evidence file with the results of tests.
    added("evidence-test-results", "execution.signal", "null"),
    added("evidence-test-results", "execution.killed", "false"),
    added("evidence-test-results", "authenticity.timestamp", "\"2025-09-30T14:33:02.100Z\""),
    absent("evidence-test-results", "results.numTodoTests", "what is still to be written counts as pending, as skips do (E5)"),
    absent("evidence-test-results", "results.testResults[].location.column", "reports of tests name a line and no column (E5)"),
    absent("evidence-test-results", "authenticity.jestVersion", "the record of the action has the program and its version (E15)"),
    form("evidence-test-results", "authenticity.outputHash", DIGEST, NO_HASH),
    // The differences in the evidence file of a request.
    added("evidence-http", "name", "\"quotes\""),
    added("evidence-http", "diagnostics.serverHealthCheck.attempted", "true"),
    added("evidence-http", "judgement", "{\"code\": \"NO_ANSWER\", \"reason\": \"refused\"}"),
    not_seen("evidence-http", "request.headers.Content-Type", "a request has the headers its specification gives it (E8)"),
    not_seen("evidence-http", "request.headers.Accept", "a request has the headers its specification gives it (E8)"),
    // The differences in a debt item. The example has only the keys that seed 004 adds to the original item.
    added("debt-item", "fingerprint", DIGEST),
    added("debt-item", "actionId", "\"STEP.4\""),
    added("debt-item", "tool", "\"jest\""),
    added("debt-item", "title", "\"1 of 5 tests fails\""),
    added("debt-item", "description", "\"a test failed\""),
    added(
        "debt-item",
        "classification",
        "{\"category\": \"BUSINESS_LOGIC_ERROR\", \"severity\": \"HIGH\", \"priority\": 2, \"workType\": \"BUG_FIX\", \"origin\": \"code\", \"blocking\": true}",
    ),
    added(
        "debt-item",
        "routing",
        "{\"destination\": \"SPRINT_TASKS\", \"reason\": \"it decides the verdict\", \"inventoryCorrelationId\": \"DEBT-INV-T030-001\", \"status\": \"IN_SPRINT\", \"overCapacity\": false}",
    ),
    added("debt-item", "testFailure", "null"),
    added("debt-item", "evidence", "{\"files\": [], \"earlierRun\": null}"),
    added(
        "debt-item",
        "implementationGuidance",
        "{\"files\": [], \"steps\": [], \"dependencies\": [], \"acceptanceCriteria\": []}",
    ),
    added("debt-item", "agentInstructions", "{\"markdownFormat\": \"\"}"),
    form("debt-item", "errorDetails.originalError.expected", "\"200\"", TEXTS),
    form("debt-item", "errorDetails.originalError.received", "\"404\"", TEXTS),
    // The differences in the master report, which is the report of a whole run.
    added("execution-report", "project", "{\"id\": \"web-0a1b2c3d\"}"),
    added("execution-report", "custody", "\"same-user\""),
    added("execution-report", "evidenceFiles", "[]"),
    added("execution-report", "executionSummary.testResults.skipped", "0"),
    added("execution-report", "prerequisiteExecution.results[].name", "\"quotes\""),
    added("execution-report", "prerequisiteExecution.results[].tool", "\"generic\""),
    added("execution-report", "prerequisiteExecution.results[].disposition", "\"EXECUTED\""),
    added("execution-report", "prerequisiteExecution.results[].command", "\"quotes\""),
    added("execution-report", "stepExecution.results[].name", "\"quotes\""),
    added("execution-report", "stepExecution.results[].tool", "\"generic\""),
    added("execution-report", "stepExecution.results[].disposition", "\"EXECUTED\""),
    added("execution-report", "stepExecution.results[].command", "\"quotes\""),
    added("execution-report", "stepExecution.results[].classification.code", "\"FINDINGS\""),
    added("execution-report", "stepExecution.results[].result.testResults.skipped", "0"),
    added("execution-report", "cleanupExecution.results[].name", "\"quotes\""),
    added("execution-report", "cleanupExecution.results[].tool", "\"generic\""),
    added("execution-report", "cleanupExecution.results[].disposition", "\"EXECUTED\""),
    added("execution-report", "cleanupExecution.results[].command", "\"quotes\""),
    added("execution-report", "authenticity.engineVersion", "\"0.1.0\""),
    absent("execution-report", "agentInvolved", SELF_CLAIM),
    absent("execution-report", "authenticity.tamperDetection", SELF_CLAIM),
    absent("execution-report", "authenticity.agentModificationDetected", SELF_CLAIM),
    absent("execution-report", "authenticity.nodeVersion", "engineVersion stands in for it (E1)"),
    absent("execution-report", "stepExecution.results[].result.eslintResults", ONE_SHAPE),
    form(
        "execution-report",
        "stepExecution.results[].result.error",
        "{\"code\": \"ECONNREFUSED\", \"message\": \"connect ECONNREFUSED 127.0.0.1:3000\"}",
        ERROR_OBJECT,
    ),
    absent("execution-report", "stepExecution.results[].result.errorCode", ERROR_OBJECT),
    absent("execution-report", "stepExecution.results[].result.message", ERROR_OBJECT),
    absent("execution-report", "stepExecution.results[].result.errno", ERROR_OBJECT),
    absent("execution-report", "stepExecution.results[].result.syscall", ERROR_OBJECT),
    absent("execution-report", "stepExecution.results[].result.address", ERROR_OBJECT),
    absent("execution-report", "stepExecution.results[].result.port", ERROR_OBJECT),
    not_seen(
        "execution-report",
        "authenticity.signatureAlgorithm",
        "the signature lies beside the report (`execution-report.json.sig`, DSSE), and a hash is no signature (E13)",
    ),
    form("execution-report", "authenticity.reportHash", DIGEST, NO_HASH),
    form(
        "execution-report",
        "authenticity.executionId",
        "\"exec-20250930T143000.000Z-000001\"",
        "a run's id has its time to the millisecond and its number (S2)",
    ),
];
