//! Finds where the settings of a project are weaker than the approved ones (S7): less isolation, more that is visible or
//! writable, more variables, a smaller tree. Pure.
//!
//! The table `crates/plan/src/config/keys.rs` says for each setting which change weakens. `weaker_settings` applies that table and
//! knows no setting by name.

use globset::GlobBuilder;

use crate::config::{ENV_FILE, ENV_FILE_CONTENT, WeakerWhen, default_of, missing, opens_the_machine, weaker_when, written_value};
use crate::spec::weakening::stricter;
use proctor_model::{JudgedSettings, SettingValue};

/// A setting that is weaker than the approved value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeakerSetting {
    /// The setting, such as `sandbox.mode`.
    pub key: String,
    /// What differs, in words for people.
    pub text: String,
}

/// Returns the settings in which `now` is weaker than `before`. What `allowed` holds is never weaker: these are the
/// values that the user's own configuration allows.
pub fn weaker_settings(before: &JudgedSettings, now: &JudgedSettings, allowed: &JudgedSettings) -> Vec<WeakerSetting> {
    let values = &now.values;
    let compared = values.iter().filter_map(|(key, now)| {
        let when = weaker_when(key)?;
        // An approval of an earlier version of proctor does not have the settings that were added later.
        let before = before.values.get(key).or_else(|| default_of(key))?;
        // Who allows a file always, allows whatever is in it.
        if key == ENV_FILE_CONTENT && allowed.values.get(ENV_FILE).is_some_and(|file| Some(file) == values.get(ENV_FILE)) {
            return None;
        }
        let text = weakening((key, when), before, now, allowed.values.get(key))?;
        Some(WeakerSetting { key: key.clone(), text: format!("{key}: {text}") })
    });
    compared.collect()
}

/// Returns the question about the content of the file that `env_file` names, if the approval of an earlier version of proctor
/// holds the name of the file and nothing about its content. Nobody can say then whether the file still sets what was approved.
pub fn unrecorded_env_file(before: &JudgedSettings, now: &JudgedSettings, allowed: &JudgedSettings) -> Option<WeakerSetting> {
    let file = now.values.get(ENV_FILE)?;
    let is_approved_by_name = before.values.get(ENV_FILE) == Some(file) && !before.values.contains_key(ENV_FILE_CONTENT);
    let is_allowed = allowed.values.get(ENV_FILE) == Some(file);
    (now.values.contains_key(ENV_FILE_CONTENT) && is_approved_by_name && !is_allowed).then(|| WeakerSetting {
        key: ENV_FILE_CONTENT.to_owned(),
        text: format!("{ENV_FILE_CONTENT}: an earlier version of proctor did not record what the approved file sets"),
    })
}

/// Returns the settings in which `now` is stricter than `before`, in words for people.
pub fn stricter_settings(before: &JudgedSettings, now: &JudgedSettings) -> Vec<String> {
    // A setting of which any change is weaker is so in both directions.
    let is_both = |one: &WeakerSetting| weaker_when(&one.key).is_some_and(|when| when.is_symmetric());
    let weaker = weaker_settings(now, before, &JudgedSettings::default()).into_iter().filter(|one| !is_both(one));
    let text = |setting: WeakerSetting| {
        let way_back = setting.text.strip_prefix(&format!("{}: ", setting.key)).unwrap_or(&setting.text);
        format!("{}: {}", setting.key, stricter(way_back))
    };
    weaker.map(text).collect()
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

/// Returns in words how a setting is weaker; `None` if it is not, or if the user's own configuration allows it.
fn weakening(
    (key, when): (&str, WeakerWhen),
    before: &SettingValue,
    now: &SettingValue,
    allowed: Option<&SettingValue>,
) -> Option<String> {
    if !when.is_weaker(before, now) {
        return None;
    }
    if when == WeakerWhen::Added {
        let more: Vec<&str> = missing(now, before).into_iter().filter(|entry| !is_allowed(entry, allowed)).collect();
        return (!more.is_empty()).then(|| format!("asks for more: {}", SettingValue::List(owned(&more))));
    }
    if allowed.is_some_and(|allowed| !when.is_weaker(allowed, now)) {
        return None;
    }
    Some(match when {
        WeakerWhen::Removed => format!("has no longer: {}", SettingValue::List(owned(&missing(before, now)))),
        // The values are digests, which say nothing to a person.
        WeakerWhen::OtherContent => "the file sets other variables or values than the approved ones".to_owned(),
        WeakerWhen::Lower | WeakerWhen::Higher | WeakerWhen::Added | WeakerWhen::Changed | WeakerWhen::Later(_) => {
            format!("{} instead of {}", written_value(key, now), written_value(key, before))
        }
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

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[cfg(test)]
mod tests;
