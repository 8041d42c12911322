//! Whether the settings of a project are approved (S7). Pure functions.
//!
//! The settings belong to the project, not to a task: the newest approval of any task holds the approved settings.
//! What the user's own configuration allows needs no approval, and no approval records it.

use proctor_model::{Digest, JudgedSettings, PlanSettings, RuleDifference};
use proctor_plan::spec::{compare_settings, first_settings, settings_by_rule};

/// How the present settings compare with the approved ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingsDecision {
    pub(crate) difference: RuleDifference,
    /// The settings that an approval without a person records; `None` if there are no present settings and none were
    /// approved.
    pub(crate) by_rule: Option<JudgedSettings>,
    /// Whether an approval holds `by_rule` already.
    pub(crate) is_recorded: bool,
}

/// Compares the present settings with the approved ones.
///
/// Without approved settings, in a new project and in one that an earlier version of proctor registered, the default
/// settings count as approved: a person is asked about settings that open more of the machine, and all other settings
/// become the approved ones.
pub(crate) fn decide_settings(held: Option<&JudgedSettings>, settings: &PlanSettings) -> SettingsDecision {
    let PlanSettings { now, allowed } = settings;
    if now.values.is_empty() {
        return SettingsDecision { difference: RuleDifference::default(), by_rule: held.cloned(), is_recorded: true };
    }
    let first;
    let before = match held {
        Some(held) => held,
        None => {
            first = first_settings(now);
            &first
        }
    };
    let by_rule = settings_by_rule(before, now);
    let difference = compare_settings(before, now, allowed);
    SettingsDecision { difference, is_recorded: held == Some(&by_rule), by_rule: Some(by_rule) }
}

/// Returns the digest of rules: of a plan and of the project's settings.
pub(crate) fn rules_digest(plan: Digest, settings: &JudgedSettings) -> Digest {
    let bytes = serde_json_canonicalizer::to_vec(&(plan, settings));
    Digest::of(&bytes.expect("settings hold nothing that JSON cannot"))
}

/// Returns one digest of a plan and of the settings that are approved together with it.
pub(crate) fn digest_with_settings(plan: Digest, settings: &PlanSettings) -> Digest {
    let bytes = serde_json_canonicalizer::to_vec(&(plan, &settings.now, &settings.allowed));
    Digest::of(&bytes.expect("settings hold nothing that JSON cannot"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::SettingValue;
    use proctor_plan::config::{Configuration, ENV_FILE, ENV_FILE_CONTENT, judged_settings};

    fn settings(file: &str, content: Option<&str>) -> JudgedSettings {
        let mut settings = judged_settings(&Configuration::default());
        let text = |text: &str| SettingValue::Text(text.to_owned());
        settings.values.insert(ENV_FILE.to_owned(), text(file));
        settings.values.extend(content.map(|content| (ENV_FILE_CONTENT.to_owned(), text(content))));
        settings
    }

    #[test]
    fn a_content_that_an_earlier_version_did_not_record_is_asked_for_once() {
        let allowed = JudgedSettings { values: [(ENV_FILE.to_owned(), SettingValue::Text(".env".to_owned()))].into() };
        let nothing = JudgedSettings::default();
        let now = settings(".env", Some("digest"));
        let rows = [
            (Some(settings(".env", None)), &now, &nothing, true),
            (Some(settings(".env", None)), &now, &allowed, false),
            (Some(settings(".env", Some("digest"))), &now, &nothing, false),
            (Some(settings(".env", Some("other"))), &now, &nothing, true),
            // No file is named, now or before, or the file cannot be read.
            (Some(settings("", None)), &settings("", None), &nothing, false),
            (Some(settings(".env", None)), &settings(".env", None), &nothing, false),
            (None, &now, &nothing, false),
        ];
        for (held, now, allowed, is_asked) in rows {
            let settings = PlanSettings { now: now.clone(), allowed: allowed.clone() };
            let decision = decide_settings(held.as_ref(), &settings);
            let named: Vec<&str> = decision.difference.changed.iter().map(|change| change.field.as_str()).collect();
            assert_eq!(named == ["env_file.content"], is_asked, "{held:?}: {:?}", decision.difference);
            assert_eq!(decision.difference.is_empty(), !is_asked, "{held:?}: {:?}", decision.difference);
        }
    }
}
