//! The settings that belong to the project as a whole and decide how it is judged, or what its actions may reach, in a form
//! that approvals record and compare (S7). The settings of actions and policies are part of the plan, which is compared
//! separately.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use crate::config::read::COLLECTION_ERROR;
use crate::config::sandbox::{CACHES, LIMITS, PACKAGE_CREDENTIALS, SYSTEM_CALL_FILTER};
use crate::config::settings::Configuration;
use crate::config::values::{duration_text, word_of};
use crate::config::weaker_when::NO_LIMIT;
use crate::config::weaker_when::WeakerWhen::{self, Added, Changed, Higher, Later, Lower, Removed};
use proctor_model::{ByteSize, JudgedSettings, SettingValue, has_word};

/// The setting that names the branch whose rules are approved.
pub const FOLLOW: &str = "gate.follow";

/// The setting that names the remote repository with which notes are shared.
pub const SHARE_GIT: &str = "share.git";

/// The setting that names the directory in which bundles are shared.
pub const SHARE_DIRECTORY: &str = "share.directory";

/// The key under which an approval holds the digest of the variables in the file of `env_file`. It is no setting.
pub const ENV_FILE_CONTENT: &str = "environment.env_file.content";

/// The setting that names the file whose digest stands under [`ENV_FILE_CONTENT`].
pub const ENV_FILE: &str = "environment.env_file";

/// The settings whose numbers are bytes.
const SIZES: &[&str] = &["evidence.max_bytes", "sandbox.max_snapshot_bytes", "sandbox.max_written", "sandbox.memory"];

/// A setting that a person may be asked about (S7).
struct SettingRow {
    key: &'static str,
    /// The change that opens more of the machine, or that may make a commit easier to prove.
    when: WeakerWhen,
    asked: Asked,
    /// Reads the value that an approval records.
    value: fn(&Configuration) -> SettingValue,
}

/// When a person is asked about a change of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Never before a run. The run is judged by changed rules, and proves nothing until a person approves them.
    After,
    /// Before a run: later runs use what it changes, or it cannot be taken back.
    Before,
    /// Before a run, and about more than the default even at a project's first run, because the setting opens files or variables of
    /// the user that have nothing to do with the project.
    AtFirst,
}

const fn rule(key: &'static str, when: WeakerWhen, value: fn(&Configuration) -> SettingValue) -> SettingRow {
    SettingRow { key, when, asked: Asked::After, value }
}

const fn first(key: &'static str, when: WeakerWhen, value: fn(&Configuration) -> SettingValue) -> SettingRow {
    SettingRow { asked: Asked::Before, ..rule(key, when, value) }
}

const fn wide(key: &'static str, when: WeakerWhen, value: fn(&Configuration) -> SettingValue) -> SettingRow {
    SettingRow { asked: Asked::AtFirst, ..rule(key, when, value) }
}

const NETWORK: WeakerWhen = Later(&["off", "loopback", "open"]);

/// The settings of actions that are asked for before a run, which the plan holds.
const OF_PLAN: &[(&str, WeakerWhen)] = &[
    ("check.writes", Added),
    ("check.snapshot", Later(&["auto", "off"])),
    ("check.network prerequisite.network", NETWORK),
    (
        "prerequisite.command prerequisite.shell prerequisite.directory prerequisite.environment prerequisite.when_changed \
         prerequisite.creates prerequisite.service prerequisite.ready.url prerequisite.ready.port prerequisite.ready.command \
         prerequisite.ready.timeout prerequisite.ready.interval prerequisite.ready.attempt_timeout cleanup.command cleanup.shell \
         cleanup.directory cleanup.environment approval.allowed_signers",
        Changed,
    ),
];

/// Every setting of the project as a whole that can open the machine or weaken a verdict.
const ROWS: &[SettingRow] = &[
    wide("project.inputs", Added, |all| list(&all.inputs.outside())),
    rule("project.tests.none", Added, |all| list(all.no_tests.as_slice())),
    rule("watch.ignore", Added, |all| list(&all.watch.ignore)),
    rule("watch.include", Removed, |all| list(&all.watch.include)),
    first("evidence.keep_runs", Lower, |all| limit(all.evidence.limits.runs.map(u64::from))),
    first("evidence.keep_days", Lower, |all| limit(all.evidence.limits.days.map(u64::from))),
    first("evidence.max_bytes", Lower, |all| limit(all.evidence.limits.bytes.map(|size| size.0))),
    wide("environment.pass_environment", Added, |all| list(&all.environment.pass_environment)),
    rule(ENV_FILE, Changed, |all| text(&without_dots(all.environment.env_file.as_deref().unwrap_or_default()))),
    wide("sandbox.mode", Later(&["require", "auto", "off"]), |all| text(all.sandbox.mode.word())),
    wide("sandbox.writable", Added, |all| list(&all.sandbox.writable)),
    wide("sandbox.sockets", Added, |all| list(&all.sandbox.sockets)),
    wide("sandbox.visible", Added, |all| list(&all.sandbox.visible)),
    wide("sandbox.home", Later(&["read-only", "overlay"]), |all| text(all.sandbox.home.word())),
    wide("sandbox.world", Later(&["closed", "open"]), |all| text(all.sandbox.world.word())),
    rule("sandbox.memory", Higher, |all| limit(all.sandbox.memory.map(|size| size.0))),
    rule("sandbox.processes", Higher, |all| limit(all.sandbox.processes.map(u64::from))),
    rule("sandbox.max_written", Higher, |all| limit(all.sandbox.max_written.map(|size| size.0))),
    rule("sandbox.limits", Later(&["require", "auto"]), |all| text(word_of(LIMITS, &all.sandbox.limits))),
    wide("sandbox.system_call_filter", Later(&["require", "auto", "off"]), |all| {
        text(word_of(SYSTEM_CALL_FILTER, &all.sandbox.system_call_filter))
    }),
    wide("sandbox.package_credentials", Later(&["hidden", "prerequisites"]), |all| {
        text(word_of(PACKAGE_CREDENTIALS, &all.sandbox.package_credentials))
    }),
    first("sandbox.snapshot", Later(&["require", "auto", "off"]), |all| text(all.sandbox.snapshot.word())),
    rule("service.started", Higher, |all| SettingValue::Number(all.service.started.into())),
    rule("sandbox.max_snapshot_bytes", Lower, |all| SettingValue::Number(all.sandbox.max_snapshot_bytes.0)),
    rule("sandbox.caches", Later(&["fresh", "kept"]), |all| text(word_of(CACHES, &all.sandbox.caches))),
    wide("remote.endpoint", Changed, |all| text(&all.remote.server.value.endpoint)),
    wide("remote.instance", Changed, |all| text(&all.remote.server.value.instance)),
    wide("remote.headers_from", Changed, |all| text(all.remote.server.value.headers_from.as_deref().unwrap_or_default())),
    wide("remote.ca", Changed, |all| text(all.remote.server.value.certificates.ca.as_deref().unwrap_or_default())),
    wide("remote.certificate", Changed, |all| {
        text(all.remote.server.value.certificates.certificate.as_deref().unwrap_or_default())
    }),
    wide("remote.key", Changed, |all| text(all.remote.server.value.certificates.key.as_deref().unwrap_or_default())),
    rule("remote.platform", Changed, |all| {
        let property = |(name, value): (&String, &String)| format!("{name}={value}");
        SettingValue::List(all.remote.server.value.platform.iter().map(property).collect())
    }),
    rule("tdd.max_scaffold_retries", Higher, |all| SettingValue::Number(all.routing.max_scaffold_retries.into())),
    rule("tdd.max_attempts", Higher, |all| SettingValue::Number(all.routing.max_attempts.into())),
    rule("tdd.max_retests", Higher, |all| SettingValue::Number(all.routing.max_retests.into())),
    rule("tdd.expected_missing", Added, |all| list(&all.routing.expected_missing)),
    rule("tdd.expected_failing", Added, |all| list(&all.routing.expected_failing.tests)),
    rule("routing.collection_error", Later(&["human-review", "re-scaffold", "red-if-missing"]), |all| {
        text(word_of(COLLECTION_ERROR, &all.routing.collection_error))
    }),
    wide("specification.from_environment", Added, |all| list(&all.specification.from_environment)),
    rule("gate.tasks", Removed, |all| SettingValue::List(all.gate.tasks.iter().map(|task| task.as_str().to_owned()).collect())),
    rule("gate.checks", Changed, |all| list(&all.gate.checks)),
    rule("gate.isolation", Later(&["namespace", "cgroup", "landlock", "process-group", "remote"]), |all| {
        text(all.gate.isolation.word())
    }),
    rule("gate.world", Later(&["closed", "open"]), |all| text(all.gate.world.word())),
    rule("gate.max_age", Higher, |all| limit(all.gate.max_age.map(|age| age.as_secs()))),
    rule("gate.platforms", Removed, |all| list(&all.gate.platforms)),
    rule("gate.fresh_caches", Later(&["true", "false"]), |all| text(if all.gate.fresh_caches { "true" } else { "false" })),
    rule("gate.ignored_inputs", Added, |all| list(&all.gate.ignored_inputs)),
    rule("gate.weakened", Later(&["ask-all", "ask", "say"]), |all| text(all.gate.weakened.word())),
    rule("gate.flaky", Later(&["refuse", "say"]), |all| text(all.gate.flaky.word())),
    rule("gate.prove", Later(&["tests", "off"]), |all| text(all.gate.prove.word())),
    rule("gate.signers", Changed, |all| text(all.gate.signers.as_deref().unwrap_or_default())),
    rule("prove.tests", Added, |all| list(&all.prove_tests)),
    wide(FOLLOW, Changed, |all| text(all.gate.follow.as_deref().unwrap_or_default())),
    wide(SHARE_GIT, Changed, |all| text(&all.share.git)),
    wide(SHARE_DIRECTORY, Changed, |all| text(&all.share.directory)),
    rule("govern.editor", Changed, |all| list(&all.govern.editor)),
    rule("govern.tracker", Changed, |all| list(&all.govern.tracker)),
    rule("govern.repo", Changed, |all| text(all.govern.repo.as_deref().unwrap_or_default())),
    rule("govern.max_iterations", Higher, |all| SettingValue::Number(all.govern.max_iterations.into())),
    rule("govern.max_attempts", Higher, |all| SettingValue::Number(all.govern.max_attempts.into())),
    rule("govern.drafter.command", Changed, |all| list(all.govern.drafter.command.as_deref().unwrap_or_default())),
    wide("govern.drafter.pass_environment", Added, |all| list(&all.govern.drafter.pass_environment)),
    wide("govern.drafter.visible", Added, |all| list(&all.govern.drafter.visible)),
    wide("govern.drafter.writable", Added, |all| list(&all.govern.drafter.writable)),
    rule("govern.reviewer.command", Changed, |all| list(all.govern.reviewer.command.as_deref().unwrap_or_default())),
    wide("govern.reviewer.pass_environment", Added, |all| list(&all.govern.reviewer.pass_environment)),
    wide("govern.reviewer.visible", Added, |all| list(&all.govern.reviewer.visible)),
    wide("govern.reviewer.writable", Added, |all| list(&all.govern.reviewer.writable)),
];

/// Returns which change of the setting at a dotted path, such as `sandbox.mode`, is asked about and when; `None` if no person is asked
/// about it before a run and no
/// approval records it.
pub(crate) fn row_of(key: &str) -> Option<(WeakerWhen, Asked)> {
    let of_plan = OF_PLAN.iter().find(|(keys, _)| has_word(keys, key)).map(|(_, when)| (*when, Asked::Before));
    of_plan.or_else(|| ROWS.iter().find(|row| row.key == key).map(|row| (row.when, row.asked)))
}

/// Returns the values of all settings that belong to the project as a whole and that an approval records.
pub fn judged_settings(configuration: &Configuration) -> JudgedSettings {
    let mut values: BTreeMap<String, SettingValue> =
        ROWS.iter().map(|row| (row.key.to_owned(), (row.value)(configuration))).collect();
    if let Some(variables) = &configuration.environment.file_variables {
        values.insert(ENV_FILE_CONTENT.to_owned(), text(&variables.digest().hex()));
    }
    JudgedSettings { values }
}

/// Returns which change of a setting opens more or weakens a verdict; `None` if no row has the setting.
pub fn weaker_when(key: &str) -> Option<WeakerWhen> {
    if key == ENV_FILE_CONTENT {
        return Some(WeakerWhen::OtherContent);
    }
    row_of(key).map(|(when, _)| when)
}

/// Returns whether a setting opens files or variables of the user that have nothing to do with the project. A person
/// must agree to more than the default of such a setting, even at the first run.
pub fn opens_the_machine(key: &str, value: &SettingValue) -> bool {
    row_of(key).is_some_and(|(_, asked)| asked == Asked::AtFirst) || names_a_place_outside(key, value)
}

/// Returns whether a person is asked about a setting before anything runs, if it changes in the direction that its row names.
pub fn is_asked_first(key: &str, value: &SettingValue) -> bool {
    row_of(key).is_some_and(|(_, asked)| asked == Asked::Before) || opens_the_machine(key, value)
}

/// Returns whether the setting `env_file` names a file outside of the project.
fn names_a_place_outside(key: &str, value: &SettingValue) -> bool {
    let leads_out = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
    key == ENV_FILE && matches!(value, SettingValue::Text(path) if leads_out(path))
}

/// Returns the default of a setting that an approval records.
pub fn default_of(key: &str) -> Option<&'static SettingValue> {
    static DEFAULTS: LazyLock<JudgedSettings> = LazyLock::new(|| judged_settings(&Configuration::default()));
    DEFAULTS.values.get(key)
}

/// Returns a value of a setting as a person writes it in `proctor.toml`.
pub fn written_value(key: &str, value: &SettingValue) -> String {
    match value {
        SettingValue::Number(bytes) if SIZES.contains(&key) => SettingValue::Text(ByteSize(*bytes).to_string()).to_string(),
        SettingValue::Number(seconds) if key == "gate.max_age" => {
            SettingValue::Text(duration_text(Duration::from_secs(*seconds))).to_string()
        }
        SettingValue::Number(_) | SettingValue::Text(_) | SettingValue::List(_) => value.to_string(),
    }
}

/// Returns a path without parts that mean nothing, so that `./.env` is the same as `.env`.
fn without_dots(path: &str) -> String {
    let root = if path.starts_with('/') { "/" } else { "" };
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    format!("{root}{}", parts.join("/"))
}

fn list(entries: &[String]) -> SettingValue {
    SettingValue::List(entries.to_vec())
}

fn text(word: &str) -> SettingValue {
    SettingValue::Text(word.to_owned())
}

fn limit(limit: Option<u64>) -> SettingValue {
    limit.map_or_else(|| text(NO_LIMIT), SettingValue::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::{TABLES, keys_of_rules};

    /// The tables whose settings the plan holds, and which are compared with the plan.
    const OF_THE_PLAN: &[&str] = &["check", "prerequisite", "cleanup", "defaults", "run", "policy", "approval"];

    #[test]
    fn every_setting_of_the_project_that_can_weaken_is_recorded_and_no_other() {
        let mut expected = keys_of_rules();
        expected.retain(|path| !OF_THE_PLAN.contains(&path.split('.').next().unwrap_or_default()));
        let mut recorded: Vec<&str> = ROWS.iter().map(|row| row.key).collect();
        expected.sort();
        recorded.sort_unstable();
        assert_eq!(recorded, expected);
        let rules = keys_of_rules();
        let unknown: Vec<&str> = ROWS
            .iter()
            .map(|row| row.key)
            .chain(OF_PLAN.iter().flat_map(|(keys, _)| keys.split(' ')))
            .filter(|key| !rules.iter().any(|rule| rule == key))
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn the_words_of_a_setting_are_those_that_its_row_puts_in_order() {
        for (key, default) in judged_settings(&Configuration::default()).values {
            if let Some(WeakerWhen::Later(words)) = weaker_when(&key) {
                assert!(matches!(&default, SettingValue::Text(word) if words.contains(&word.as_str())), "{key}: {default}");
            }
        }
        assert_eq!(default_of("sandbox.mode"), Some(&text("auto")));
    }

    #[test]
    fn one_file_of_variables_has_one_name() {
        assert_eq!(["./.env", ".env", ".//./.env"].map(without_dots), [".env", ".env", ".env"]);
        assert_eq!(["", "../.env", "/a/./b", "a/../.env"].map(without_dots), ["", "../.env", "/a/b", "a/../.env"]);
    }

    #[test]
    fn a_file_of_variables_opens_the_machine_where_it_lies_outside_of_the_project() {
        let opens = |path: &str| opens_the_machine("environment.env_file", &text(path));
        assert_eq!(
            [opens(".env.test"), opens("/home/me/.netrc"), opens("../other/.env"), opens("a..b")],
            [false, true, true, false]
        );
    }

    #[test]
    fn what_is_called_harmless_is_a_key_of_its_table() {
        for known in TABLES.iter() {
            assert!(known.harmless.iter().all(|key| known.keys.contains(key)), "{}", known.name);
        }
    }
}
