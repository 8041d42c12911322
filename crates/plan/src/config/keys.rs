//! All keys that `proctor.toml` may have. Tests check that the reader uses exactly these keys, and that the default
//! text documents each of them.

use std::cmp::Reverse;
use std::sync::LazyLock;

use crate::config::values::WrongValue;
use proctor_model::{PolicyCategory, PolicyOptions, Tool};

/// A table of `proctor.toml` and its allowed keys.
pub(super) struct KnownTable {
    /// The table's name with dots and without positions in lists: `check.coverage`.
    pub(super) name: String,
    /// The allowed keys, including the names of sub-tables, in the order in which messages name them.
    pub(super) keys: Vec<&'static str>,
    /// The keys whose value can neither make the project's verdicts easier to reach nor open more of the machine to actions. A change of
    /// any other key has to be noticed (S7): `judged.rs` has the rows of the project's own settings, and the plan has the rest.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests try a change of every other key"))]
    pub(super) harmless: Vec<&'static str>,
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

impl KnownTable {
    fn of(name: impl Into<String>, keys: &'static str, harmless: &'static str) -> Self {
        let words = |text: &'static str| text.split_whitespace().collect();
        Self { name: name.into(), keys: words(keys), harmless: words(harmless) }
    }
}

/// All tables that `proctor.toml` may have, with their allowed keys. The reader reports any other key as unknown.
pub(super) static TABLES: LazyLock<Vec<KnownTable>> = LazyLock::new(|| {
    let mut judged: Vec<Tool> = Tool::ALL.into_iter().filter(|tool| tool.findings().is_some()).collect();
    let categories = PolicyCategory::ALL.iter().map(|category| category.key());
    let keys = categories.chain(judged.iter().map(|tool| tool.word())).collect();
    let policy = KnownTable { name: "policy".to_owned(), keys, harmless: Vec::new() };
    // An error message that says in which tables a key belongs names them in this order. So the tools with the most
    // policy keys come first.
    judged.sort_by_key(|tool| Reverse(policy_keys(*tool).len()));
    let of_tools = judged.into_iter().map(|tool| KnownTable::of(format!("policy.{}", tool.word()), policy_keys(tool), ""));
    let fixed = FIXED_TABLES.iter().map(|(name, keys, harmless)| KnownTable::of(*name, keys, harmless));
    fixed.chain([policy]).chain(of_tools).collect()
});

/// All tables except `[policy]` and the `[policy.TOOL]` tables: the name, the keys, and which of them are harmless.
const FIXED_TABLES: &[(&str, &str, &str)] = &[
    (
        "",
        "project check prerequisite cleanup defaults run watch evidence tasks queue service environment sandbox remote tdd routing policy approval gate \
         prove share govern specification",
        "",
    ),
    ("project", "name inputs tests", "name"),
    ("project.tests", "none", ""),
    (
        "check",
        "name tool command shell directory environment timeout idle_timeout max_output grace paths writes after retries reuse when prompt \
         accept_split_emphasis coverage report expected_exit_codes on_survivors control shards snapshot network run policy",
        // Another name is another check. `grace` limits how long stopping an action takes, after it has failed. With another order of the
        // checks, what each of them must reach stays the same. After a save that `paths` does not name, the verdict is stale.
        "name grace after paths",
    ),
    ("check.coverage", "minimum report", ""),
    ("check.report", "file format", ""),
    ("check.policy", POLICY_KEYS, ""),
    (
        "prerequisite",
        "name command shell directory environment timeout idle_timeout max_output grace expected_exit_codes on_survivors when_changed \
         creates service network ready",
        "name grace",
    ),
    ("prerequisite.ready", "url port command timeout interval attempt_timeout", ""),
    (
        "cleanup",
        "name command shell directory environment timeout idle_timeout max_output grace expected_exit_codes on_survivors",
        "name grace",
    ),
    ("defaults", "timeout idle_timeout max_output grace on_survivors", "grace"),
    // Checks that disturb each other fail; none of them passes because of it.
    ("run", "order parallel reuse", "order parallel"),
    (
        "watch",
        "ignore include quiet longest_burst git_wait poll sweep tasks on_change max_restarts clear bell notify hook_wait",
        // These keys decide when a run starts and what a person or an agent notices of it, and not how the run is judged.
        "quiet longest_burst git_wait poll sweep tasks on_change max_restarts clear bell notify hook_wait",
    ),
    // The evidence stays where it is, with or without a link to it, and other files are made from the report.
    ("evidence", "link lock_wait keep_runs keep_days max_bytes also", "link lock_wait also"),
    // A file that leaves the tree is named, whichever setting takes it out.
    ("tasks", "file", "file"),
    ("queue", "max_parallel wait", "max_parallel wait"),
    // The priority changes when a check is done.
    ("service", "nice started", "nice"),
    ("environment", "pass_environment env_file", ""),
    (
        "sandbox",
        "mode writable sockets visible home world network memory processes max_written limits system_call_filter package_credentials \
         snapshot max_snapshot_bytes caches",
        // The plan has the network of each action, and a wider one is asked for there.
        "network",
    ),
    ("remote", "endpoint instance headers_from ca certificate key platform environment", "environment"),
    ("tdd", "max_scaffold_retries max_attempts max_retests expected_missing expected_failing", ""),
    ("routing", "collection_error", ""),
    ("approval", "protect on_protected_change require_signature allowed_signers", ""),
    (
        "gate",
        "tasks checks isolation max_age platforms fresh_caches ignored_inputs world signers follow weakened flaky prove",
        "",
    ),
    ("prove", "tests", ""),
    ("share", "git directory", ""),
    // `trail` names the place of records, and an answer that comes too late is no answer.
    ("govern", "editor tracker repo trail max_iterations max_attempts tool_timeout drafter reviewer", "trail tool_timeout"),
    // What the values fill is part of each task's plan, and a plan that differs is named.
    ("specification", "values from_environment", "values"),
    ("govern.drafter", MODEL_KEYS, "name timeout"),
    ("govern.reviewer", MODEL_KEYS, "name timeout"),
];

/// The policy keys of a tool that reports warnings and has rules by name. Other tools have only `PLAIN_POLICY_KEYS`.
const POLICY_KEYS: &str = "enabled block_on treat_warnings_as_errors max_warnings ignored_rules error_on_rules";
const PLAIN_POLICY_KEYS: &str = "enabled block_on";
const MODEL_KEYS: &str = "name command pass_environment visible writable timeout";

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
fn policy_keys(tool: Tool) -> &'static str {
    match tool.findings().map(|findings| findings.options) {
        Some(PolicyOptions::WarningsAndRules) => POLICY_KEYS,
        Some(PolicyOptions::None) => PLAIN_POLICY_KEYS,
        None => "",
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
    POLICY_KEYS.split(' ').any(|known| known == key).then(|| {
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

/// Returns the dotted paths of all settings whose change has to be noticed.
#[cfg(test)]
pub(crate) fn keys_of_rules() -> Vec<String> {
    let is_table = |path: &str| TABLES.iter().any(|known| known.name == path);
    let path =
        |known: &KnownTable, key: &str| if known.name.is_empty() { key.to_owned() } else { format!("{}.{key}", known.name) };
    let rules = TABLES.iter().flat_map(|known| {
        let rules = known.keys.iter().filter(|key| !known.harmless.contains(key));
        rules.map(move |key| path(known, key))
    });
    rules.filter(|path| !is_table(path)).collect()
}
