//! All keys that `proctor.toml` may have. Tests check that the reader uses exactly these keys, and that the default
//! text documents each of them.

use std::cmp::Reverse;
use std::sync::LazyLock;

use crate::config::values::WrongValue;
use crate::config::weaker_when::WeakerWhen::{self, Added, Changed, Higher, Later, Lower, Removed};
use proctor_model::{PolicyCategory, PolicyOptions, Tool};

/// A table of `proctor.toml` and its allowed keys.
pub(super) struct KnownTable {
    /// The table's name with dots and without positions in lists: `check.coverage`.
    pub(super) name: String,
    /// The allowed keys, including the names of sub-tables.
    pub(super) keys: Vec<&'static str>,
    /// The rows of the allowed keys, in the same order.
    pub(super) rows: Vec<KeyRow>,
}

/// A key of a table, and to which change of the key's value a person must agree before anything runs (S7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyRow {
    pub(super) key: &'static str,
    pub(super) kind: KeyKind,
}

/// What a key holds, and whether a change of its value can weaken the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// A table, whose keys have rows of their own.
    Table,
    /// A setting that decides how the project is judged, or that opens more of the machine to actions.
    Rule {
        /// The change that opens more, or that may make a commit easier to prove.
        when: WeakerWhen,
        asked: Asked,
    },
    /// A setting that can neither make the project's verdicts easier to reach nor open more of the machine to actions.
    /// The text is the reason.
    Never(&'static str),
}

/// When a person is asked about a change of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Never before a run. The run is judged by changed rules, and proves nothing until a person approves them.
    After,
    /// Before a run: what it changes, later runs use, or nobody can take back.
    Before,
    /// Before a run, and about more than the default even at a project's first run, because the setting opens files or variables of
    /// the user that have nothing to do with the project.
    AtFirst,
}

impl KnownTable {
    fn of(name: impl Into<String>, rows: Vec<KeyRow>) -> Self {
        Self { name: name.into(), keys: rows.iter().map(|row| row.key).collect(), rows }
    }
}

const fn key(key: &'static str, when: WeakerWhen) -> KeyRow {
    KeyRow { key, kind: KeyKind::Rule { when, asked: Asked::After } }
}

const fn wide(key: &'static str, when: WeakerWhen) -> KeyRow {
    KeyRow { key, kind: KeyKind::Rule { when, asked: Asked::AtFirst } }
}

const fn first(key: &'static str, when: WeakerWhen) -> KeyRow {
    KeyRow { key, kind: KeyKind::Rule { when, asked: Asked::Before } }
}

const fn never(key: &'static str, reason: &'static str) -> KeyRow {
    KeyRow { key, kind: KeyKind::Never(reason) }
}

const fn table(key: &'static str) -> KeyRow {
    KeyRow { key, kind: KeyKind::Table }
}

/// An unknown key that people often write, with an explanation that helps more than the message "unknown key".
struct UnknownKey {
    table: &'static str,
    key: &'static str,
    /// What is wrong with the key; `None` for the general message "unknown key".
    message: Option<&'static str>,
    nearest: Option<&'static str>,
    /// What the person can change in `proctor.toml` to correct the error.
    hint: Option<&'static str>,
}

/// All tables that `proctor.toml` may have, with their allowed keys. The reader reports any other key as unknown.
pub(super) static TABLES: LazyLock<Vec<KnownTable>> = LazyLock::new(|| {
    let mut judged: Vec<Tool> = Tool::ALL.into_iter().filter(|tool| tool.findings().is_some()).collect();
    let categories = PolicyCategory::ALL.iter().map(|category| key(category.key(), BLOCK_ON));
    let policy = categories.chain(judged.iter().map(|tool| table(tool.word()))).collect();
    // An error message that says in which tables a key belongs names them in this order. So the tools with the most
    // policy keys come first.
    judged.sort_by_key(|tool| Reverse(policy_keys(*tool).len()));
    let of_tools = judged.into_iter().map(|tool| KnownTable::of(format!("policy.{}", tool.word()), policy_keys(tool).to_vec()));
    let fixed = FIXED_TABLES.iter().map(|(name, rows)| KnownTable::of(*name, rows.to_vec()));
    let policy = KnownTable::of("policy", policy);
    fixed.chain([policy]).chain(of_tools).collect()
});

/// All tables except `[policy]` and the `[policy.TOOL]` tables, each with its keys.
const FIXED_TABLES: &[(&str, &[KeyRow])] = &[
    (
        "",
        &[
            table("project"),
            table("check"),
            table("prerequisite"),
            table("cleanup"),
            table("defaults"),
            table("run"),
            table("watch"),
            table("evidence"),
            table("tasks"),
            table("queue"),
            table("environment"),
            table("sandbox"),
            table("tdd"),
            table("routing"),
            table("policy"),
            table("approval"),
            table("gate"),
            table("govern"),
            table("specification"),
        ],
    ),
    ("project", &[never("name", "it is shown to people and judges nothing"), wide("inputs", Added), table("tests")]),
    ("project.tests", &[key("none", Added)]),
    (
        "check",
        &[
            never("name", "it names the check to people, and another name is another check"),
            key("tool", Changed),
            key("command", Changed),
            key("shell", Changed),
            key("directory", Changed),
            key("environment", Changed),
            key("timeout", Higher),
            key("idle_timeout", Higher),
            key("max_output", Higher),
            never("grace", AFTER_THE_RESULT),
            key("paths", Removed),
            first("writes", Added),
            never("after", "it decides the order of the checks; what a check must reach stays the same"),
            key("retries", Higher),
            key("reuse", REUSE),
            key("prompt", Changed),
            key("accept_split_emphasis", Changed),
            table("coverage"),
            table("report"),
            key("expected_exit_codes", Added),
            key("on_survivors", ON_SURVIVORS),
            key("control", Later(&["true", "false"])),
            first("snapshot", Later(&["auto", "off"])),
            first("network", NETWORK),
            table("policy"),
        ],
    ),
    ("check.coverage", &[key("minimum", Lower), key("report", Changed)]),
    ("check.report", &[key("file", Changed), key("format", Changed)]),
    ("check.policy", POLICY_KEYS),
    (
        "prerequisite",
        &[
            never("name", "it names the check to people, and another name is another check"),
            first("command", Changed),
            first("shell", Changed),
            first("directory", Changed),
            first("environment", Changed),
            key("timeout", Higher),
            key("idle_timeout", Higher),
            key("max_output", Higher),
            never("grace", AFTER_THE_RESULT),
            key("expected_exit_codes", Added),
            key("on_survivors", ON_SURVIVORS),
            first("when_changed", Changed),
            first("creates", Changed),
            first("service", Changed),
            first("network", NETWORK),
            table("ready"),
        ],
    ),
    (
        "prerequisite.ready",
        &[
            first("url", Changed),
            first("port", Changed),
            first("command", Changed),
            first("timeout", Changed),
            first("interval", Changed),
            first("attempt_timeout", Changed),
        ],
    ),
    (
        "cleanup",
        &[
            never("name", "it names the check to people, and another name is another check"),
            first("command", Changed),
            first("shell", Changed),
            first("directory", Changed),
            first("environment", Changed),
            key("timeout", Higher),
            key("idle_timeout", Higher),
            key("max_output", Higher),
            never("grace", AFTER_THE_RESULT),
            key("expected_exit_codes", Added),
            key("on_survivors", ON_SURVIVORS),
        ],
    ),
    (
        "defaults",
        &[
            key("timeout", Higher),
            key("idle_timeout", Higher),
            key("max_output", Higher),
            never("grace", AFTER_THE_RESULT),
            key("on_survivors", ON_SURVIVORS),
        ],
    ),
    (
        "run",
        &[
            never("order", "it decides the order of the checks; what a check must reach stays the same"),
            never("parallel", "checks that disturb each other fail; none of them passes because of it"),
            key("reuse", REUSE),
        ],
    ),
    (
        "watch",
        &[
            key("ignore", Added),
            key("include", Removed),
            never("quiet", WHEN_A_RUN_STARTS),
            never("longest_burst", WHEN_A_RUN_STARTS),
            never("git_wait", WHEN_A_RUN_STARTS),
            never("poll", WHEN_A_RUN_STARTS),
            never("sweep", WHEN_A_RUN_STARTS),
            never("tasks", "a task that no save runs gets no fresh verdict by that"),
            never("on_change", WHEN_A_RUN_STARTS),
            never("max_restarts", WHEN_A_RUN_STARTS),
            never("clear", "it changes the screen and judges nothing"),
            never("bell", "it changes what a person hears and judges nothing"),
            never("notify", "it changes what a person sees and judges nothing"),
            never("hook_wait", "it decides how long a hook of an agent waits for a verdict, and not how a run is judged"),
        ],
    ),
    (
        "evidence",
        &[
            never("link", "the evidence stays where it is, with or without a link to it"),
            never("lock_wait", WHEN_A_RUN_STARTS),
            first("keep_runs", Lower),
            first("keep_days", Lower),
            first("max_bytes", Lower),
            never("also", "the files are made from the report, and nothing is judged by them"),
        ],
    ),
    ("tasks", &[never("file", "a file that leaves the tree is named, whichever setting takes it out")]),
    ("queue", &[never("max_parallel", WHEN_A_RUN_STARTS), never("wait", WHEN_A_RUN_STARTS)]),
    ("environment", &[wide("pass_environment", Added), key("env_file", Changed)]),
    (
        "sandbox",
        &[
            wide("mode", Later(&["require", "auto", "off"])),
            wide("writable", Added),
            wide("sockets", Added),
            wide("visible", Added),
            wide("home", Later(&["read-only", "overlay"])),
            wide("world", Later(&["closed", "open"])),
            never("network", "the plan has the network of each action, and a wider one is asked for there"),
            key("memory", Higher),
            key("processes", Higher),
            key("limits", Later(&["require", "auto"])),
            wide("system_call_filter", Later(&["require", "auto", "off"])),
            wide("package_credentials", Later(&["hidden", "prerequisites"])),
            first("snapshot", Later(&["require", "auto", "off"])),
            key("max_snapshot_bytes", Lower),
            key("caches", Later(&["fresh", "kept"])),
        ],
    ),
    (
        "tdd",
        &[
            key("max_scaffold_retries", Higher),
            key("max_attempts", Higher),
            key("max_retests", Higher),
            key("expected_missing", Added),
            key("expected_failing", Added),
        ],
    ),
    ("routing", &[key("collection_error", Later(&["human-review", "re-scaffold", "red-if-missing"]))]),
    (
        "approval",
        &[
            key("protect", Removed),
            key("on_protected_change", Later(&["human-review", "show"])),
            key("require_signature", Later(&["true", "false"])),
            first("allowed_signers", Changed),
        ],
    ),
    (
        "gate",
        &[
            key("tasks", Removed),
            key("checks", Changed),
            key("isolation", Later(&["namespace", "cgroup", "landlock", "process-group"])),
            key("max_age", Higher),
            key("platforms", Removed),
            key("fresh_caches", Later(&["true", "false"])),
            key("ignored_inputs", Added),
            key("world", Later(&["closed", "open"])),
            key("signers", Changed),
            first("follow", Changed),
            key("weakened", Later(&["ask-all", "ask", "say"])),
            key("flaky", Later(&["refuse", "say"])),
        ],
    ),
    (
        "govern",
        &[
            key("editor", Changed),
            key("tracker", Changed),
            key("repo", Changed),
            never("trail", "it names the place of records and judges nothing"),
            key("max_iterations", Higher),
            key("max_attempts", Higher),
            never("tool_timeout", "an answer that comes too late is no answer"),
            table("drafter"),
            table("reviewer"),
        ],
    ),
    (
        "specification",
        &[
            never("values", "what they fill is part of each task's plan, and a plan that differs is named"),
            wide("from_environment", Added),
        ],
    ),
    ("govern.drafter", MODEL_KEYS),
    ("govern.reviewer", MODEL_KEYS),
];

const REUSE: WeakerWhen = Later(&["off", "watch", "always"]);
const NETWORK: WeakerWhen = Later(&["off", "loopback", "open"]);
const ON_SURVIVORS: WeakerWhen = Later(&["fail", "report"]);
const AFTER_THE_RESULT: &str = "it limits how long stopping an action takes, after the action has failed";
const WHEN_A_RUN_STARTS: &str = "it decides when a run starts, and not how the run is judged";

/// The policy keys of a tool that reports warnings and has rules by name. Other tools have only `PLAIN_POLICY_KEYS`.
const POLICY_KEYS: &[KeyRow] = &[
    key("enabled", Later(&["true", "false"])),
    key("block_on", BLOCK_ON),
    key("treat_warnings_as_errors", Later(&["true", "false"])),
    key("max_warnings", Higher),
    key("ignored_rules", Added),
    key("error_on_rules", Removed),
];
const PLAIN_POLICY_KEYS: &[KeyRow] = &[key("enabled", Later(&["true", "false"])), key("block_on", BLOCK_ON)];

const BLOCK_ON: WeakerWhen = Later(&["errors-and-warnings", "errors-always", "errors-only", "warn-only", "never"]);

const MODEL_KEYS: &[KeyRow] = &[
    never("name", "it is shown to people and judges nothing"),
    key("command", Changed),
    wide("pass_environment", Added),
    wide("visible", Added),
    wide("writable", Added),
    never("timeout", "an answer that comes too late is no answer"),
];

const NO_CATCH_ALL: Option<&str> = Some("is not known to this kind of action: its exit code alone decides");
const USE_CHECK: Option<&str> = Some("make it a `[[check]]` if its output should be judged");

/// Unknown keys that people often write, with their explanations. `strange_key` explains further unknown keys of
/// `[policy]`.
const STRANGERS: &[UnknownKey] = &[
    UnknownKey { table: "prerequisite", key: "tool", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    UnknownKey { table: "prerequisite", key: "policy", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    UnknownKey { table: "prerequisite", key: "coverage", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    UnknownKey { table: "prerequisite", key: "health", message: None, nearest: Some("ready"), hint: None },
    UnknownKey { table: "cleanup", key: "tool", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    UnknownKey { table: "cleanup", key: "policy", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    UnknownKey { table: "cleanup", key: "coverage", message: NO_CATCH_ALL, nearest: None, hint: USE_CHECK },
    UnknownKey { table: "environment", key: "pass", message: None, nearest: Some("pass_environment"), hint: None },
    UnknownKey { table: "environment", key: "file", message: None, nearest: Some("env_file"), hint: None },
    UnknownKey { table: "", key: "specifications", message: None, nearest: Some("specification"), hint: None },
    UnknownKey { table: "specification", key: "set", message: None, nearest: Some("values"), hint: None },
    UnknownKey { table: "", key: "isolation", message: None, nearest: Some("sandbox"), hint: None },
    UnknownKey { table: "sandbox", key: "write", message: None, nearest: Some("writable"), hint: None },
    UnknownKey { table: "sandbox", key: "pids", message: None, nearest: Some("processes"), hint: None },
];

/// Returns the keys that the table `[policy.TOOL]` of a tool may have.
fn policy_keys(tool: Tool) -> &'static [KeyRow] {
    match tool.findings().map(|findings| findings.options) {
        Some(PolicyOptions::WarningsAndRules) => POLICY_KEYS,
        Some(PolicyOptions::None) => PLAIN_POLICY_KEYS,
        None => &[],
    }
}

/// Returns whether earlier versions had a key that has no effect any more. Commits keep it, and have to stay readable.
pub(super) fn is_of_earlier_version(table: &str, key: &str) -> bool {
    (table, key) == ("evidence", "archive_days")
}

/// Returns the explanation of an unknown key that people often write; `None` for any other unknown key.
pub(super) fn strange_key(table: &str, key: &str) -> Option<WrongValue> {
    let unknown = || WrongValue::new(format!("unknown key `{key}`"));
    if let Some(row) = STRANGERS.iter().find(|row| row.table == table && row.key == key) {
        let wrong = row.message.map_or_else(unknown, |message| WrongValue::new(format!("`{key}` {message}")));
        return Some(row.hint.into_iter().fold(wrong.nearest(row.nearest), WrongValue::hint));
    }
    let mut judged = Tool::ALL.into_iter().filter(|tool| tool.findings().is_some());
    if table == "policy" {
        let meant = judged.find(|tool| tool.report_name() == key)?;
        return Some(unknown().nearest(Some(meant.word())));
    }
    let word = judged.map(Tool::word).find(|word| table.strip_prefix("policy.") == Some(word))?;
    POLICY_KEYS.iter().any(|row| row.key == key).then(|| {
        let wrong =
            WrongValue::new(format!("`{key}` is a setting of linters: {word} reports errors only and has no rules by name"));
        wrong.hint(format!("write it under a linter, for example `[policy.eslint]`, or choose a `block_on` for {word}"))
    })
}

pub(super) fn keys_of(table: &str) -> &'static [&'static str] {
    let known = TABLES.iter().find(|known| known.name == table);
    known.map(|known| known.keys.as_slice()).expect("the reader opens listed tables only")
}

/// Returns the headers of the tables that have a key, such as `[watch]` and `[[check]]`.
pub(super) fn tables_with_key(key: &str) -> Vec<String> {
    let homes = TABLES.iter().filter(|known| !known.name.is_empty() && known.keys.contains(&key));
    homes.map(|known| header(&known.name)).collect()
}

/// Returns a table's header: `[watch]`, or `[[check]]` for a table that may occur several times.
pub(super) fn header(table: &str) -> String {
    match table {
        "check" | "prerequisite" | "cleanup" => format!("[[{table}]]"),
        _ => format!("[{table}]"),
    }
}

/// Returns the dotted paths of all keys that are rules, and when a person is asked about each.
#[cfg(test)]
pub(crate) fn keys_of_rules() -> Vec<(String, Asked)> {
    let rows = TABLES.iter().flat_map(|known| known.rows.iter().map(move |row| (known, row)));
    let rule = |(known, row): (&KnownTable, &KeyRow)| match row.kind {
        KeyKind::Rule { asked, .. } => Some((format!("{}.{}", known.name, row.key), asked)),
        KeyKind::Table | KeyKind::Never(_) => None,
    };
    rows.filter_map(rule).collect()
}

/// Returns what the key at a dotted path holds, such as `sandbox.mode`; `None` if there is no such key.
pub(super) fn kind_of(path: &str) -> Option<KeyKind> {
    let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
    let known = TABLES.iter().find(|known| known.name == table)?;
    known.rows.iter().find(|row| row.key == key).map(|row| row.kind)
}
