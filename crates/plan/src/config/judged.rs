//! The settings that belong to the project as a whole and decide how it is judged, or what its actions may reach, in a form
//! that approvals record and compare (S7). The settings of actions and policies are part of the plan, which is compared
//! separately.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use crate::config::duration::duration_text;
use crate::config::keys::{Asked, KeyKind, kind_of};
use crate::config::settings::Configuration;
use crate::config::weaker_when::{NO_LIMIT, WeakerWhen};
use proctor_model::{
    ByteSize, CachesMode, CollectionErrorPolicy, HomeAccess, JudgedSettings, LimitEnforcement, PackageCredentials,
    ProtectionMode, SettingValue, SystemCallFilter,
};

/// The setting that names the branch whose rules are approved.
pub const FOLLOW: &str = "gate.follow";

/// The key under which an approval holds the digest of the variables in the file of `env_file`. It is no setting.
pub const ENV_FILE_CONTENT: &str = "environment.env_file.content";

/// The setting that names the file whose digest stands under [`ENV_FILE_CONTENT`].
pub const ENV_FILE: &str = "environment.env_file";

/// The settings whose numbers are bytes.
const SIZES: &[&str] = &["evidence.max_bytes", "sandbox.max_snapshot_bytes", "sandbox.memory"];

/// A setting and the function that reads its value from the configuration.
type Row = (&'static str, fn(&Configuration) -> SettingValue);

const ROWS: &[Row] = &[
    ("project.inputs", |all| list(&all.inputs.outside())),
    ("project.tests.none", |all| list(all.no_tests.as_slice())),
    ("watch.ignore", |all| list(&all.watch.ignore)),
    ("watch.include", |all| list(&all.watch.include)),
    ("evidence.keep_runs", |all| limit(all.evidence.limits.runs.map(u64::from))),
    ("evidence.keep_days", |all| limit(all.evidence.limits.days.map(u64::from))),
    ("evidence.max_bytes", |all| limit(all.evidence.limits.bytes.map(|size| size.0))),
    ("environment.pass_environment", |all| list(&all.environment.pass_environment)),
    (ENV_FILE, |all| text(&without_dots(all.environment.env_file.as_deref().unwrap_or_default()))),
    ("sandbox.mode", |all| text(mode_word(all.sandbox.mode))),
    ("sandbox.writable", |all| list(&all.sandbox.writable)),
    ("sandbox.sockets", |all| list(&all.sandbox.sockets)),
    ("sandbox.visible", |all| list(&all.sandbox.visible)),
    ("sandbox.home", |all| text(home_word(all.sandbox.home))),
    ("sandbox.world", |all| text(all.sandbox.world.word())),
    ("sandbox.memory", |all| limit(all.sandbox.memory.map(|size| size.0))),
    ("sandbox.processes", |all| limit(all.sandbox.processes.map(u64::from))),
    ("sandbox.limits", |all| text(limits_word(all.sandbox.limits))),
    ("sandbox.system_call_filter", |all| text(filter_word(all.sandbox.system_call_filter))),
    ("sandbox.package_credentials", |all| text(credentials_word(all.sandbox.package_credentials))),
    ("sandbox.snapshot", |all| text(mode_word(all.sandbox.snapshot))),
    ("sandbox.max_snapshot_bytes", |all| SettingValue::Number(all.sandbox.max_snapshot_bytes.0)),
    ("sandbox.caches", |all| text(caches_word(all.sandbox.caches))),
    ("tdd.max_scaffold_retries", |all| SettingValue::Number(all.routing.max_scaffold_retries.into())),
    ("tdd.max_attempts", |all| SettingValue::Number(all.routing.max_attempts.into())),
    ("tdd.max_retests", |all| SettingValue::Number(all.routing.max_retests.into())),
    ("tdd.expected_missing", |all| list(&all.routing.expected_missing)),
    ("tdd.expected_failing", |all| list(&all.routing.expected_failing.tests)),
    ("routing.collection_error", |all| text(collection_error_word(all.routing.collection_error))),
    ("specification.from_environment", |all| list(&all.specification.from_environment)),
    ("gate.tasks", |all| SettingValue::List(all.gate.tasks.iter().map(|task| task.as_str().to_owned()).collect())),
    ("gate.checks", |all| list(&all.gate.checks)),
    ("gate.isolation", |all| text(all.gate.isolation.word())),
    ("gate.world", |all| text(all.gate.world.word())),
    ("gate.max_age", |all| limit(all.gate.max_age.map(|age| age.as_secs()))),
    ("gate.platforms", |all| list(&all.gate.platforms)),
    ("gate.fresh_caches", |all| text(if all.gate.fresh_caches { "true" } else { "false" })),
    ("gate.ignored_inputs", |all| list(&all.gate.ignored_inputs)),
    ("gate.weakened", |all| text(all.gate.weakened.word())),
    ("gate.flaky", |all| text(all.gate.flaky.word())),
    ("gate.signers", |all| text(all.gate.signers.as_deref().unwrap_or_default())),
    (FOLLOW, |all| text(all.gate.follow.as_deref().unwrap_or_default())),
    ("govern.editor", |all| list(&all.govern.editor)),
    ("govern.tracker", |all| list(&all.govern.tracker)),
    ("govern.repo", |all| text(all.govern.repo.as_deref().unwrap_or_default())),
    ("govern.max_iterations", |all| SettingValue::Number(all.govern.max_iterations.into())),
    ("govern.max_attempts", |all| SettingValue::Number(all.govern.max_attempts.into())),
    ("govern.drafter.command", |all| list(all.govern.drafter.command.as_deref().unwrap_or_default())),
    ("govern.drafter.pass_environment", |all| list(&all.govern.drafter.pass_environment)),
    ("govern.drafter.visible", |all| list(&all.govern.drafter.visible)),
    ("govern.drafter.writable", |all| list(&all.govern.drafter.writable)),
    ("govern.reviewer.command", |all| list(all.govern.reviewer.command.as_deref().unwrap_or_default())),
    ("govern.reviewer.pass_environment", |all| list(&all.govern.reviewer.pass_environment)),
    ("govern.reviewer.visible", |all| list(&all.govern.reviewer.visible)),
    ("govern.reviewer.writable", |all| list(&all.govern.reviewer.writable)),
];

/// Returns the values of all settings that belong to the project as a whole and that an approval records.
pub fn judged_settings(configuration: &Configuration) -> JudgedSettings {
    let mut values: BTreeMap<String, SettingValue> =
        ROWS.iter().map(|(key, value)| ((*key).to_owned(), value(configuration))).collect();
    if let Some(variables) = &configuration.environment.file_variables {
        values.insert(ENV_FILE_CONTENT.to_owned(), text(&variables.digest().hex()));
    }
    JudgedSettings { values }
}

/// Returns to which change of a setting a person must agree before anything runs; `None` for a table, for a setting
/// whose change weakens nothing, and for an unknown key.
pub fn weaker_when(key: &str) -> Option<WeakerWhen> {
    if key == ENV_FILE_CONTENT {
        return Some(WeakerWhen::OtherContent);
    }
    match kind_of(key)? {
        KeyKind::Rule { when, .. } => Some(when),
        KeyKind::Table | KeyKind::Never(_) => None,
    }
}

/// Returns whether a setting opens files or variables of the user that have nothing to do with the project. A person
/// must agree to more than the default of such a setting, even at the first run.
pub fn opens_the_machine(key: &str, value: &SettingValue) -> bool {
    match kind_of(key) {
        Some(KeyKind::Rule { asked, .. }) => asked == Asked::AtFirst || names_a_place_outside(key, value),
        Some(KeyKind::Table | KeyKind::Never(_)) | None => false,
    }
}

/// Returns whether a person is asked about a setting before anything runs, if it changes in the direction that its row names.
pub fn is_asked_first(key: &str, value: &SettingValue) -> bool {
    let asked = matches!(kind_of(key), Some(KeyKind::Rule { asked: Asked::Before | Asked::AtFirst, .. }));
    asked || opens_the_machine(key, value)
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

fn mode_word(mode: ProtectionMode) -> &'static str {
    match mode {
        ProtectionMode::Auto => "auto",
        ProtectionMode::Require => "require",
        ProtectionMode::Off => "off",
    }
}

fn limits_word(limits: LimitEnforcement) -> &'static str {
    match limits {
        LimitEnforcement::WherePossible => "auto",
        LimitEnforcement::Required => "require",
    }
}

fn filter_word(filter: SystemCallFilter) -> &'static str {
    match filter {
        SystemCallFilter::WherePossible => "auto",
        SystemCallFilter::Required => "require",
        SystemCallFilter::Off => "off",
    }
}

fn credentials_word(credentials: PackageCredentials) -> &'static str {
    match credentials {
        PackageCredentials::Hidden => "hidden",
        PackageCredentials::ForPrerequisites => "prerequisites",
    }
}

fn home_word(home: HomeAccess) -> &'static str {
    match home {
        HomeAccess::ReadOnly => "read-only",
        HomeAccess::Overlay => "overlay",
    }
}

fn caches_word(caches: CachesMode) -> &'static str {
    match caches {
        CachesMode::Kept => "kept",
        CachesMode::Fresh => "fresh",
    }
}

fn collection_error_word(policy: CollectionErrorPolicy) -> &'static str {
    match policy {
        CollectionErrorPolicy::HumanReview => "human-review",
        CollectionErrorPolicy::ReScaffold => "re-scaffold",
        CollectionErrorPolicy::RedIfMissing => "red-if-missing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::TABLES;
    use crate::config::weaker_when::WeakerWhen;

    /// The tables whose settings the plan holds, and which are compared with the plan.
    const OF_THE_PLAN: &[&str] = &["check", "prerequisite", "cleanup", "defaults", "run", "policy", "approval"];

    #[test]
    fn every_setting_of_the_project_that_can_weaken_is_recorded_and_no_other() {
        let mut expected: Vec<String> = Vec::new();
        for known in TABLES.iter().filter(|known| !OF_THE_PLAN.contains(&known.name.split('.').next().unwrap_or_default())) {
            for row in &known.rows {
                let path = if known.name.is_empty() { row.key.to_owned() } else { format!("{}.{}", known.name, row.key) };
                if let KeyKind::Rule { .. } = row.kind {
                    expected.push(path);
                }
            }
        }
        let mut recorded: Vec<String> = ROWS.iter().map(|(key, _)| (*key).to_owned()).collect();
        expected.sort();
        recorded.sort();
        assert_eq!(recorded, expected);
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

    /// Every key says which change of its value is a weakening, or why no change is a weakening.
    #[test]
    fn every_key_says_which_change_weakens_or_why_none_does() {
        for known in TABLES.iter() {
            for row in &known.rows {
                let path = if known.name.is_empty() { row.key.to_owned() } else { format!("{}.{}", known.name, row.key) };
                match row.kind {
                    KeyKind::Table => assert!(TABLES.iter().any(|table| table.name == path), "{path} is no table"),
                    KeyKind::Never(reason) => assert!(reason.len() > 20, "{path}: {reason}"),
                    KeyKind::Rule { when: WeakerWhen::Later(words), .. } => assert!(words.len() > 1, "{path}"),
                    KeyKind::Rule { .. } => {}
                }
            }
        }
    }
}
