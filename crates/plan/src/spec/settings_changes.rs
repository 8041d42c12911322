//! Names where the settings of a project are not the approved ones (S7), and which of these differences open more of the machine. Pure.
//!
//! The table `crates/plan/src/config/judged.rs` says of each setting which change is asked for before anything runs. `compare_settings`
//! applies that table and knows no setting by name.

use globset::GlobBuilder;

use crate::config::{
    ENV_FILE, ENV_FILE_CONTENT, WeakerWhen, default_of, is_asked_first, missing, opens_the_machine, weaker_when, written_value,
};
use proctor_model::{JudgedSettings, RuleChange, RuleDifference, SettingValue};

/// Returns where the settings `now` differ from the approved ones. What `allowed` holds is free: these are the values that the user's own
/// configuration allows.
pub fn compare_settings(before: &JudgedSettings, now: &JudgedSettings, allowed: &JudgedSettings) -> RuleDifference {
    let mut found = RuleDifference::default();
    let values = &now.values;
    for (key, now) in values {
        let (Some(when), Some(default)) = (weaker_when(key), value_before(key, before, values)) else { continue };
        // Who allows a file always, allows whatever is in it.
        let is_content = key == ENV_FILE_CONTENT;
        if is_content && allowed.values.get(ENV_FILE).is_some_and(|file| Some(file) == values.get(ENV_FILE)) {
            continue;
        }
        let Some(difference) = difference((key, when), default, now, allowed.values.get(key)) else { continue };
        // What a file of variables holds opens as much as the file's own name.
        let opens = match values.get(ENV_FILE).filter(|_| is_content) {
            Some(file) => opens_the_machine(ENV_FILE, file),
            None => is_asked_first(key, now) && when.is_weaker(default, now),
        };
        let (name, field) = key.split_once('.').unwrap_or(("settings", key));
        // The gate compares its own section with that of the trusted commit. It decides nothing of a run.
        if name == "gate" && !opens {
            continue;
        }
        let change = RuleChange { name: name.to_owned(), field: field.to_owned(), difference };
        if opens { found.opens.push(change) } else { found.changed.push(change) }
    }
    found
}

/// Returns the value of a setting that counts as approved; `None` if it is compared with nothing. An approval of an earlier version of
/// proctor does not have the settings that were added later: what opens the machine has its default then, and the rest is free.
fn value_before<'a>(
    key: &str,
    before: &'a JudgedSettings,
    now: &'a std::collections::BTreeMap<String, SettingValue>,
) -> Option<&'a SettingValue> {
    static UNKNOWN: SettingValue = SettingValue::Text(String::new());
    if let Some(held) = before.values.get(key) {
        return Some(held);
    }
    if key == ENV_FILE_CONTENT {
        // Nobody can say whether a file that was approved by its name alone still sets what was approved.
        let is_by_name = now.get(ENV_FILE).is_some_and(|file| before.values.get(ENV_FILE) == Some(file));
        return is_by_name.then_some(&UNKNOWN);
    }
    default_of(key).filter(|_| now.get(key).is_some_and(|now| is_asked_first(key, now)))
}

/// Returns the settings with which a project is compared that has no approved settings: the present ones, except that a
/// setting that opens files or variables of the user has its default. So a project's own files cannot open the machine
/// without an approval.
pub fn first_settings(now: &JudgedSettings) -> JudgedSettings {
    let value = |key: &String, value: &SettingValue| match default_of(key) {
        Some(default) if opens_the_machine(key, value) => default.clone(),
        Some(_) | None => value.clone(),
    };
    JudgedSettings { values: now.values.iter().map(|(key, now)| (key.clone(), value(key, now))).collect() }
}

/// Returns the settings that an approval without a person records: where the present value is weaker than the approved one, the
/// approved value; everywhere else the present value. What only the user's own configuration allows is not recorded.
pub fn settings_by_rule(before: &JudgedSettings, now: &JudgedSettings) -> JudgedSettings {
    let value = |key: &String, now: &SettingValue| {
        let held = before.values.get(key).or_else(|| default_of(key));
        match (weaker_when(key), held) {
            (Some(WeakerWhen::Added), Some(SettingValue::List(held))) => match now {
                SettingValue::List(now) => SettingValue::List(now.iter().filter(|one| held.contains(one)).cloned().collect()),
                SettingValue::Number(_) | SettingValue::Text(_) => SettingValue::List(held.clone()),
            },
            (Some(when), Some(held)) if when.is_weaker(held, now) => held.clone(),
            (Some(_) | None, _) => now.clone(),
        }
    };
    JudgedSettings { values: now.values.iter().map(|(key, now)| (key.clone(), value(key, now))).collect() }
}

/// Returns in words how a setting differs; `None` if it does not, or if the user's own configuration allows what it is now.
fn difference(
    (key, when): (&str, WeakerWhen),
    before: &SettingValue,
    now: &SettingValue,
    allowed: Option<&SettingValue>,
) -> Option<String> {
    if before == now {
        return None;
    }
    if when == WeakerWhen::Added {
        let more: Vec<&str> = missing(now, before).into_iter().filter(|entry| !is_allowed(entry, allowed)).collect();
        if more.is_empty() && allowed.is_some() {
            return None;
        }
    } else if allowed.is_some_and(|allowed| !when.is_weaker(allowed, now)) {
        return None;
    }
    Some(match when {
        // The values are digests, which say nothing to a person.
        WeakerWhen::OtherContent => "the file sets other variables or values than the approved ones".to_owned(),
        WeakerWhen::Lower
        | WeakerWhen::Higher
        | WeakerWhen::Added
        | WeakerWhen::Removed
        | WeakerWhen::Changed
        | WeakerWhen::Later(_) => format!("{} instead of {}", written_value(key, now), written_value(key, before)),
    })
}

/// Returns whether an entry of a list is one of those that the user's own configuration allows, or matches one as a pattern. `*` alone
/// allows every entry. No other pattern matches a path with a part that leads elsewhere than it reads: `..`, `.`, or none as in
/// `~/.cache/`.
fn is_allowed(entry: &str, allowed: Option<&SettingValue>) -> bool {
    let Some(SettingValue::List(patterns)) = allowed else { return false };
    let below = entry.strip_prefix('/').unwrap_or(entry);
    let is_plain = !below.split('/').any(|part| matches!(part, "" | "." | ".."));
    let matches = |pattern: &String| {
        let glob = || GlobBuilder::new(pattern).literal_separator(true).build();
        matches!(pattern.as_str(), "*" | "**")
            || pattern == entry
            || (is_plain && glob().is_ok_and(|glob| glob.compile_matcher().is_match(entry)))
    };
    patterns.iter().any(matches)
}

#[cfg(test)]
mod tests;
