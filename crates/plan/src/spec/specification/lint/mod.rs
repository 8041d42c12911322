//! The lint: rules about the meaning of a specification that a JSON Schema cannot express. Each rule is a row of a
//! table.
//!
//! A fault by a hard rule prevents the run. A fault by a soft rule is noted in the report, and the specification runs.
//! A rule is a pure function of the specification and the project's root path; it may not open files.

mod clients;
mod commands;
mod completion;
mod conditions;
mod engine;
mod operands;
mod order;
mod paths;
mod placeholders;
mod policy;
mod reviews;
mod servers;
mod services;
mod subject;
mod writes;

pub(in crate::spec) use completion::SUITE_TIMEOUT;
pub(in crate::spec) use operands::checked_kind;
pub(in crate::spec) use paths::{ROOT_WORD, below};
use proctor_model::{Gravity, Problem};
pub(in crate::spec) use servers::server_prerequisite;

pub(super) use subject::Subject;

/// A rule of the lint with its name, weight and reason; [`LINTS`] lists all rules.
#[derive(Debug, Clone, Copy)]
pub struct LintRow {
    /// The name by which faults refer to the rule, such as `TASK_CYCLE`.
    pub code: &'static str,
    /// Whether a fault by this rule prevents the run.
    pub gravity: Gravity,
    /// What the rule finds, as a text for people.
    pub what: &'static str,
    /// The decision or requirement behind the rule.
    pub source: &'static str,
    look: Look,
}

type Look = fn(&Subject<'_>) -> Vec<Problem>;

const fn hard(code: &'static str, look: Look, what: &'static str, source: &'static str) -> LintRow {
    LintRow { code, gravity: Gravity::Hard, what, source, look }
}

const fn soft(code: &'static str, look: Look, what: &'static str, source: &'static str) -> LintRow {
    LintRow { code, gravity: Gravity::Soft, what, source, look }
}

/// The code of the rule whose findings are later compared with the project's files, in
/// [`crate::spec::compare_with_project`].
pub(in crate::spec) const STRICTNESS_UNCHECKED: &str = "STRICTNESS_UNCHECKED";

/// The `source` of rules about errors that the JSON Schema does not find.
const LET_THROUGH: &str = "what the schema lets through";

/// All rules of the lint, in the order in which they are applied.
pub const LINTS: &[LintRow] = &[
    hard("DUPLICATE_ACTION_ID", order::duplicate_ids, "two actions of a task have the same id", LET_THROUGH),
    hard("ID_TOO_LONG", order::long_ids, "an id is too long for the name of a file", "N5"),
    hard("TASK_ID_DIFFERS", order::differing_task_ids, "a task's id is not its key", LET_THROUGH),
    hard("TASK_CYCLE", order::task_cycles, "tasks wait for each other", LET_THROUGH),
    soft("TASK_UNKNOWN", order::unknown_tasks, "a task depends on one of another file", "files hold one task each"),
    hard("ORDER_UNKNOWN_ID", order::unknown_in_order, "`executionOrder` names no action of the task", LET_THROUGH),
    hard("ORDER_REPEATED_ID", order::repeated_in_order, "`executionOrder` names an action twice", LET_THROUGH),
    hard("ORDER_ACROSS_PHASES", order::order_across_phases, "`executionOrder` leaves the order of the phases", "E7"),
    soft("ORDER_INCOMPLETE", order::missing_in_order, "`executionOrder` leaves actions out", LET_THROUGH),
    hard("AFTER_UNKNOWN_ID", order::unknown_after, "`after` names no step of the task", "additions 1.0.0"),
    hard("AFTER_CYCLE", order::after_cycles, "steps wait for each other", "additions 1.0.0"),
    hard("TYPE_NOT_AVAILABLE", engine::unavailable_types, "an action's type is not in `availableActionTypes`", LET_THROUGH),
    hard("BROWSER_VALIDATION", engine::browser_validation, "`mcpValidation` is enabled", "E8"),
    soft("EXECUTOR_KEY", engine::misplaced_settings, "settings of an executor stand under a wrong key", "generated files"),
    soft("EXECUTOR_IDLE", engine::idle_settings, "settings of clients that have no effect", "E8"),
    soft("BROWSER_STEPS_IDLE", engine::idle_browser_steps, "steps in a browser that are switched off", "E8"),
    soft("DEFAULT_SHELL", engine::default_shell, "a default shell is set", "E9"),
    hard("INTERPRETER_NOT_ALLOWED", engine::interpreters, "a script's interpreter is not in `allowedInterpreters`", LET_THROUGH),
    hard("COMMAND_NEEDS_SHELL", commands::needs_shell, "a command needs a shell and names none", "E9"),
    hard("COMMAND_HIDES_FAILURE", commands::hides_failure, "a script hides a failure", "E9"),
    hard("COMMAND_UNCLOSED_QUOTE", commands::unclosed_quote, "a command has no words", "E9"),
    hard("SHELL_UNSUPPORTED", commands::unsupported_shell, "a command names a shell that Linux has not", "G1"),
    hard("SERVER_IN_FOREGROUND", servers::in_foreground, "a server is started as if it ended", "can only time out"),
    soft(
        "DEV_SERVER_AS_PREREQUISITE",
        servers::as_prerequisite,
        "a prerequisite starts the development server",
        "generated files",
    ),
    hard("DEV_SERVER_CONFLICT", servers::conflicts, "a variable of the development server has two values", "generated files"),
    soft("COMMAND_PROVES_NOTHING", commands::proves_nothing, "a step can only succeed", LET_THROUGH),
    soft("EXIT_CODES_WIDENED", commands::widened_exit_codes, "more exit codes than 0 count as success", LET_THROUGH),
    hard(
        "EXIT_CODES_IMPOSSIBLE",
        commands::impossible_exit_codes,
        "no exit code is expected, or one that cannot be",
        LET_THROUGH,
    ),
    hard(
        "ARGV_WITHOUT_COMMAND",
        commands::argv_elsewhere,
        "`argv` or `tool` stands on an action that runs no command",
        "additions",
    ),
    hard("ENVIRONMENT_NAME", commands::environment_names, "a variable's name is none", LET_THROUGH),
    hard("WRITES_ELSEWHERE", writes::misplaced, "`writes` stands on an action that is no step with a command", "additions"),
    hard("WRITES_PATTERN", writes::patterns, "`writes` names no path inside of the project", "additions"),
    soft("WORKSPACE_ELSEWHERE", paths::workspace_elsewhere, "`workspaceRoot` is not this project", "files are moved"),
    hard("PATH_LEAVES_ROOT", paths::leaving_paths, "a path leaves the project", LET_THROUGH),
    hard("PATH_NOT_ALLOWED", paths::not_allowed, "a path is outside of what the executor's settings allow", LET_THROUGH),
    hard("EVIDENCE_LEAVES_ROOT", paths::evidence_leaves, "`evidenceDirectory` leaves the project", LET_THROUGH),
    soft("EVIDENCE_ELSEWHERE", paths::evidence_elsewhere, "`evidenceDirectory` is not where evidence is shown", "S1"),
    hard("FILE_OPERAND_MISSING", operands::missing, "a look at a file lacks what it is compared with", LET_THROUGH),
    soft("FILE_OPERAND_NONE", operands::presence, "a look at a file compares it with nothing", "generated files"),
    hard("FILE_OPERAND_IMPOSSIBLE", operands::impossible, "a file is compared with what it can never be", LET_THROUGH),
    soft("FILE_OPERAND_IDLE", operands::idle, "a look at a file names what it does not use", LET_THROUGH),
    hard("PATTERN_INVALID", operands::patterns, "a regular expression cannot be used", LET_THROUGH),
    hard("SCHEMA_INVALID", operands::schemas, "a JSON Schema cannot be used", LET_THROUGH),
    hard("URL_SCHEME", operands::urls, "a request goes neither to `http` nor to `https`", "E8"),
    hard("CONNECTION", clients::connections, "a connection string names no database, or holds a password", "E8"),
    hard("QUERY_ROWS", clients::rows_of_changes, "rows are compared of a statement that returns none", "E8"),
    hard("BROWSER_OPERAND", clients::browser_operands, "an action of a browser lacks what it needs", LET_THROUGH),
    hard("BROWSER_PAGE", clients::browsers_without_page, "an action of a browser has no page", LET_THROUGH),
    hard("BROWSER_URL", clients::browser_urls, "a page is opened neither by `http` nor by `https`", "E8"),
    hard("CONTAINER_OPERAND", clients::container_operands, "a command of a container engine lacks what it needs", LET_THROUGH),
    soft("PLACEHOLDER_IN_TEXT", placeholders::in_texts, "a placeholder stands in a text for people", "generated files"),
    hard("CONDITION_UNREADABLE", conditions::unreadable, "a condition cannot be read", "the grammar of conditions"),
    hard("CONDITION_WRONG", conditions::faults, "a condition names what is not there, or decides nothing", LET_THROUGH),
    hard("CONDITION_NEVER_KNOWN", conditions::of_services, "a condition asks a service how it ended", "a service goes on"),
    soft("CONDITION_NOT_SEEN", conditions::of_unread_files, "a condition asks what a look at a file does not see", LET_THROUGH),
    soft("CONDITION_ACCEPTS_FAILURE", conditions::accept_failure, "a success condition is met though tests fail", LET_THROUGH),
    soft("PASS_RATE", completion::pass_rate, "failing steps are let through", LET_THROUGH),
    soft("EVIDENCE_NEVER", completion::evidence_that_never_is, "required evidence that no action gives", LET_THROUGH),
    soft("CAPTURE_NEVER", completion::captures_that_never_are, "pictures of a browser are wanted", "E8"),
    soft("CAPTURE_ALWAYS", completion::captures_that_always_are, "the verdict's own ground is not wanted", "E3"),
    hard("FAILING_TESTS_OF_PASS", completion::failing_of_pass, "`expectedFailingTests` where tests are to pass", "C06"),
    soft("RED_WITHOUT_TESTS", completion::red_without_tests, "FAIL is expected of no test by name", "C06, R6"),
    soft("SUITE_TIMEOUT", completion::suite_timeout, "the whole has less time than one of its actions", LET_THROUGH),
    soft("POLICY_STRATEGY_DIFFERS", policy::strategies, "a tool's `blockOn` is not its category's strategy", "C23"),
    soft("POLICY_LIMIT_IDLE", policy::limits, "`maxWarnings` where it changes nothing", "C25"),
    soft(STRICTNESS_UNCHECKED, policy::strictness, "what a type checker is set to is not compared", "C24"),
    soft("DEV_SERVER_PORT_IDLE", services::idle_port, "another port is named than the one that is asked", LET_THROUGH),
    soft("WORKFLOW_UNCHECKED", services::unchecked, "a prerequisite of the workflow has no command that checks it", LET_THROUGH),
    soft("SERVICE_FIELD_IDLE", services::idle_fields, "a service has fields of an action that ends", "additions 1.0.0"),
    hard(
        "DEV_SERVER_INCOMPLETE",
        services::incomplete_dev_server,
        "nobody knows how the server starts or is ready",
        "services need a ready",
    ),
    hard("SERVICE_READY", services::ready, "a service's `ready` is not exactly one look that can be taken", "additions 1.0.0"),
    hard("SERVICE_ELSEWHERE", services::misplaced, "a service is no prerequisite that runs a command", "additions 1.0.0"),
    hard("REVIEW_ELSEWHERE", reviews::misplaced, "a review is no step that runs a command", "E8"),
    hard("REVIEW_OTHERWISE", reviews::unusable, "a review has retries, exit codes or a tool of its own", "C9"),
];

/// Applies every rule to a specification, in the order of the table.
pub(super) fn lint(subject: &Subject<'_>) -> Vec<(&'static LintRow, Problem)> {
    LINTS.iter().flat_map(|row| (row.look)(subject).into_iter().map(move |finding| (row, finding))).collect()
}
