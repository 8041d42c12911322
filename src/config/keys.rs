//! All keys that `proctor.toml` may have. A test checks that the reader uses exactly these and that `default.toml` documents
//! each.

/// A table of the file and its allowed keys.
pub(super) struct KnownTable {
    /// The table's name with dots and without positions in lists: `check.coverage`.
    pub(super) name: &'static str,
    /// Its keys, including the names of sub-tables.
    pub(super) keys: &'static [&'static str],
}

/// An unknown key that people write often, with a better explanation than the general one.
pub(super) struct Stranger {
    pub(super) table: &'static str,
    pub(super) key: &'static str,
    /// What is wrong with the key. `None`: the message is "unknown key".
    pub(super) message: Option<&'static str>,
    pub(super) nearest: Option<&'static str>,
    /// What the person can do about it.
    pub(super) hint: Option<&'static str>,
}

pub(super) const TABLES: &[KnownTable] = &[
    KnownTable {
        name: "",
        keys: &[
            "project",
            "check",
            "prerequisite",
            "cleanup",
            "defaults",
            "run",
            "watch",
            "evidence",
            "tasks",
            "queue",
            "environment",
            "sandbox",
            "tdd",
            "routing",
            "policy",
            "approval",
            "govern",
        ],
    },
    KnownTable { name: "project", keys: &["name"] },
    KnownTable {
        name: "check",
        keys: &[
            "name",
            "tool",
            "command",
            "shell",
            "directory",
            "environment",
            "timeout",
            "idle_timeout",
            "max_output",
            "grace",
            "paths",
            "after",
            "retries",
            "reuse",
            "prompt",
            "accept_split_emphasis",
            "coverage",
            "expected_exit_codes",
            "on_survivors",
            "control",
            "policy",
        ],
    },
    KnownTable { name: "check.coverage", keys: &["minimum", "report"] },
    KnownTable { name: "check.policy", keys: POLICY_KEYS },
    KnownTable {
        name: "prerequisite",
        keys: &[
            "name",
            "command",
            "shell",
            "directory",
            "environment",
            "timeout",
            "idle_timeout",
            "max_output",
            "grace",
            "expected_exit_codes",
            "on_survivors",
            "when_changed",
            "creates",
            "service",
            "ready",
        ],
    },
    KnownTable { name: "prerequisite.ready", keys: &["url", "port", "command", "timeout", "interval", "attempt_timeout"] },
    KnownTable {
        name: "cleanup",
        keys: &[
            "name",
            "command",
            "shell",
            "directory",
            "environment",
            "timeout",
            "idle_timeout",
            "max_output",
            "grace",
            "expected_exit_codes",
            "on_survivors",
        ],
    },
    KnownTable { name: "defaults", keys: &["timeout", "idle_timeout", "max_output", "grace", "on_survivors"] },
    KnownTable { name: "run", keys: &["order", "parallel", "reuse"] },
    KnownTable {
        name: "watch",
        keys: &[
            "ignore",
            "include",
            "quiet",
            "longest_burst",
            "git_wait",
            "poll",
            "sweep",
            "tasks",
            "on_change",
            "max_restarts",
            "clear",
            "bell",
            "notify",
        ],
    },
    KnownTable { name: "evidence", keys: &["link", "lock_wait", "keep_runs", "keep_days", "max_bytes", "archive_days"] },
    KnownTable { name: "tasks", keys: &["file"] },
    KnownTable { name: "queue", keys: &["max_parallel", "wait"] },
    KnownTable { name: "environment", keys: &["pass_environment", "env_file"] },
    KnownTable { name: "sandbox", keys: &["mode", "writable", "sockets", "visible", "home", "memory", "processes"] },
    KnownTable { name: "tdd", keys: &["max_scaffold_retries", "max_attempts", "max_retests", "expected_missing"] },
    KnownTable { name: "routing", keys: &["collection_error"] },
    KnownTable { name: "approval", keys: &["protect", "on_protected_change", "require_signature", "allowed_signers"] },
    KnownTable { name: "policy", keys: POLICY_TABLES },
    KnownTable { name: "policy.mypy", keys: POLICY_KEYS },
    KnownTable { name: "policy.eslint", keys: POLICY_KEYS },
    KnownTable { name: "policy.ruff", keys: POLICY_KEYS },
    KnownTable { name: "policy.flake8", keys: POLICY_KEYS },
    KnownTable { name: "policy.pylint", keys: POLICY_KEYS },
    KnownTable { name: "policy.prettier", keys: POLICY_KEYS },
    KnownTable { name: "policy.compile", keys: POLICY_KEYS },
    KnownTable { name: "policy.tsc", keys: &["enabled", "block_on"] },
    KnownTable {
        name: "govern",
        keys: &["editor", "tracker", "repo", "trail", "max_iterations", "max_attempts", "tool_timeout", "drafter", "reviewer"],
    },
    KnownTable { name: "govern.drafter", keys: MODEL_KEYS },
    KnownTable { name: "govern.reviewer", keys: MODEL_KEYS },
];

const POLICY_TABLES: &[&str] =
    &["linting", "type_checking", "compilation", "tsc", "mypy", "eslint", "ruff", "flake8", "pylint", "prettier", "compile"];

const POLICY_KEYS: &[&str] =
    &["enabled", "block_on", "treat_warnings_as_errors", "max_warnings", "ignored_rules", "error_on_rules"];

const MODEL_KEYS: &[&str] = &["name", "command", "pass_environment", "visible", "writable", "timeout"];

const LINTERS_ONLY: Option<&str> = Some("is a setting of linters: tsc reports errors only and has no rules by name");
const USE_BLOCK_ON: Option<&str> = Some("write it under a linter, for example `[policy.eslint]`, or choose a `block_on` for tsc");
const NO_CATCH_ALL: Option<&str> = Some("is not known to this kind of action: its exit code alone decides");
const USE_CHECK: Option<&str> = Some("make it a `[[check]]` if its output should be judged");

/// Unknown keys that people often write.
pub(super) const STRANGERS: &[Stranger] = &[
    Stranger { table: "policy.tsc", key: "treat_warnings_as_errors", message: LINTERS_ONLY, nearest: None, hint: USE_BLOCK_ON },
    Stranger { table: "policy.tsc", key: "max_warnings", message: LINTERS_ONLY, nearest: None, hint: USE_BLOCK_ON },
    Stranger { table: "policy.tsc", key: "ignored_rules", message: LINTERS_ONLY, nearest: None, hint: USE_BLOCK_ON },
    Stranger { table: "policy.tsc", key: "error_on_rules", message: LINTERS_ONLY, nearest: None, hint: USE_BLOCK_ON },
    Stranger { table: "policy", key: "typescript", message: None, nearest: Some("tsc"), hint: None },
    Stranger { table: "prerequisite", key: "tool", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    Stranger { table: "prerequisite", key: "policy", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    Stranger { table: "prerequisite", key: "coverage", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    Stranger { table: "prerequisite", key: "health", message: None, nearest: Some("ready"), hint: None },
    Stranger { table: "cleanup", key: "tool", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    Stranger { table: "cleanup", key: "policy", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    Stranger { table: "cleanup", key: "coverage", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    Stranger { table: "environment", key: "pass", message: None, nearest: Some("pass_environment"), hint: None },
    Stranger { table: "environment", key: "file", message: None, nearest: Some("env_file"), hint: None },
    Stranger { table: "", key: "isolation", message: None, nearest: Some("sandbox"), hint: None },
    Stranger { table: "sandbox", key: "write", message: None, nearest: Some("writable"), hint: None },
    Stranger { table: "sandbox", key: "pids", message: None, nearest: Some("processes"), hint: None },
];

pub(super) fn keys_of(table: &str) -> &'static [&'static str] {
    TABLES.iter().find(|known| known.name == table).map(|known| known.keys).expect("the reader opens listed tables only")
}

/// Returns the headers of the tables that have a key, such as `[watch]` and `[[check]]`.
pub(super) fn homes_of(key: &str) -> Vec<String> {
    let homes = TABLES.iter().filter(|known| !known.name.is_empty() && known.keys.contains(&key));
    homes.map(|known| header(known.name)).collect()
}

/// Returns a table's header with its brackets.
pub(super) fn header(table: &str) -> String {
    match table {
        "check" | "prerequisite" | "cleanup" => format!("[[{table}]]"),
        _ => format!("[{table}]"),
    }
}
