//! The values of the detailed examples 1 to 6 of the design document seed 004 that a run like the example's does not have, each with
//! the reason and the decision behind it.

/// A value of an example that differs from what a run writes.
pub(super) struct Unequal {
    /// The name of the example.
    pub(super) example: &'static str,
    /// The path of the value: keys from the top, joined by dots, with `[]` for every entry of a list.
    pub(super) path: &'static str,
    pub(super) why: &'static str,
}

const fn row(example: &'static str, path: &'static str, why: &'static str) -> Unequal {
    Unequal { example, path, why }
}

const SEEN: &str = "the reason says what was seen, with names and numbers, so that nobody has to open a log";
const RUNNER: &str = "a failing test of a runner is business logic; what a number in its message means is not guessed (C42)";
const POLICY: &str = "the words of the seed's own `classifyValidationFailure`, which its examples do not use";
const OWN_WORDS: &str = "the words of the tool, with its full stop (E16)";
const JSON: &str = "the command asks for JSON, which has paths of this machine (E6)";
const HELD: &str = "a service whose port is held is not started and not waited for (C08)";
const HOLDER: &str = "the process that holds the port in the test is the test itself";
const SHORT: &str = "the limit of the test is one second, that of the example ten";

pub(super) const UNEQUAL: &[Unequal] = &[
    row("example-1-test-failure", "classification.reason", SEEN),
    row(
        "example-1-test-failure",
        "result.testResults.failures[].testName",
        "names of tests are those that the tool itself shows, with the file (E20)",
    ),
    row(
        "example-1-test-failure",
        "result.testResults.failures[].error",
        "the first line is that of Jest, with what it expected and received (E20)",
    ),
    row(
        "example-1-test-failure",
        "result.testResults.failures[].stack",
        "the whole text of the failure, with paths of this machine (E11)",
    ),
    row("example-1-test-failure", "debtGeneration.category", RUNNER),
    row("example-1-test-failure", "debtGeneration.severity", RUNNER),
    row("example-1-test-failure", "debtGeneration.title", RUNNER),
    row("example-1-test-failure", "debtGeneration.reason", RUNNER),
    row("example-2-execution-error", "classification.reason", SEEN),
    row(
        "example-2-execution-error",
        "classification.recoverableAction",
        "a request may ask any server, not only the dev server of the example (E8)",
    ),
    row("example-2-execution-error", "result.error.errno", "the number of the error on Linux; that of the example is of Windows"),
    row("example-2-execution-error", "debtGeneration.title", "a request may ask any server, so the title names the request (E8)"),
    row(
        "example-2-execution-error",
        "debtGeneration.suggestedFix",
        "it says what was seen: the address, and that nothing listens there",
    ),
    row("example-3a-type-error", "classification.policyApplied.reason", POLICY),
    row("example-3a-type-error", "result.stderr", "tsc prints on standard output (C70)"),
    row(
        "example-3a-type-error",
        "result.diagnostics[].column",
        "the argument stands at column 31 of the example's own line of source; its column does not fit the line",
    ),
    row("example-3a-type-error", "result.diagnostics[].message", OWN_WORDS),
    row(
        "example-3a-type-error",
        "debtGeneration.suggestedFix",
        "no fix is guessed: the code and the words of tsc are named (E16)",
    ),
    row("example-3b-lint-errors", "classification.policyApplied.reason", POLICY),
    row("example-3b-lint-errors", "result.stdout", JSON),
    row("example-3b-lint-errors", "result.diagnostics[].message", OWN_WORDS),
    row("example-3b-lint-errors", "result.diagnostics[].fixable", "ESLint cannot mend an unused variable with --fix (E16)"),
    row("example-3c-lint-warnings", "classification.policyApplied.reason", POLICY),
    row("example-3c-lint-warnings", "result.stdout", JSON),
    row("example-4-prerequisite-failure", "classification.reason", HELD),
    row("example-4-prerequisite-failure", "result.actualDuration", HELD),
    row("example-4-prerequisite-failure", "result.healthCheck.attempted", HELD),
    row("example-4-prerequisite-failure", "result.healthCheck.result", HELD),
    row("example-4-prerequisite-failure", "result.diagnostics.portCheck.process.pid", HOLDER),
    row("example-4-prerequisite-failure", "result.diagnostics.portCheck.process.name", HOLDER),
    row("example-4-prerequisite-failure", "result.diagnostics.portCheck.process.command", HOLDER),
    row("example-4-prerequisite-failure", "impact.reason", "any service may be needed, so the reason names this one (C08)"),
    row(
        "example-4-prerequisite-failure",
        "debtGeneration.title",
        "the name of the action takes the place of the example's server (C08)",
    ),
    row("example-4-prerequisite-failure", "debtGeneration.suggestedFix", HOLDER),
    row("example-5-timeout", "classification.reason", SEEN),
    row("example-5-timeout", "classification.timeoutValue", SHORT),
    row("example-5-timeout", "classification.actualDuration", SHORT),
    row("example-5-timeout", "result.lastUpdate", "the time of this run, not that of the example"),
    row("example-5-timeout", "debtGeneration.title", SHORT),
    row("example-6-specification-error", "classification.reason", "an action may be wrong outside of its parameters too (C10)"),
    row("example-6-specification-error", "classification.validationErrors[]", "the nearest allowed word is added"),
];
