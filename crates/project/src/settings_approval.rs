//! Whether the settings of a project are approved (S7). Pure functions.
//!
//! The settings belong to the project, not to a task: the newest approval of any task holds the approved settings.
//! What the user's own configuration allows needs no approval, and no approval records it.

use proctor_model::{AsksFor, Digest, JudgedSettings, PlanSettings};
use proctor_plan::config::{ENV_FILE_CONTENT, opens_the_machine};
use proctor_plan::spec::{
    WeakerSetting, first_settings, settings_by_rule, stricter_settings, unrecorded_env_file, weaker_settings,
};

/// How the present settings compare with the approved ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingsDecision {
    /// Where the present settings are weaker, one sentence each. A person must approve them before anything runs.
    pub(crate) weakened: Vec<String>,
    /// The settings that `weakened` is about, such as `sandbox.mode`.
    pub(crate) names: Vec<String>,
    /// Where the present settings are stricter, one sentence each.
    pub(crate) strengthened: Vec<String>,
    pub(crate) asks_for: AsksFor,
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
        let by_rule = held.cloned();
        return SettingsDecision {
            weakened: Vec::new(),
            names: Vec::new(),
            strengthened: Vec::new(),
            asks_for: AsksFor::Less,
            by_rule,
            is_recorded: true,
        };
    }
    let first;
    let before = match held {
        Some(held) => held,
        None => {
            first = first_settings(now);
            &first
        }
    };
    let mut by_rule = settings_by_rule(before, now);
    let mut weaker = weaker_settings(before, now, allowed);
    if let Some(unrecorded) = unrecorded_env_file(before, now, allowed).filter(|_| held.is_some()) {
        weaker.push(unrecorded);
        by_rule.values.remove(ENV_FILE_CONTENT);
    }
    let opens = |setting: &WeakerSetting| now.values.get(&setting.key).is_some_and(|now| opens_the_machine(&setting.key, now));
    SettingsDecision {
        asks_for: match (!weaker.is_empty() && weaker.iter().all(opens), held) {
            (false, _) => AsksFor::Less,
            (true, Some(_)) => AsksFor::More,
            (true, None) => AsksFor::MoreAtFirst,
        },
        names: weaker.iter().map(|setting| setting.key.clone()).collect(),
        weakened: weaker.into_iter().map(|setting| setting.text).collect(),
        strengthened: if held.is_some() { stricter_settings(before, now) } else { Vec::new() },
        is_recorded: held == Some(&by_rule),
        by_rule: Some(by_rule),
    }
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
    use proctor_plan::config::{Configuration, ENV_FILE, judged_settings};

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
            assert_eq!(decision.names == [ENV_FILE_CONTENT], is_asked, "{held:?}: {:?}", decision.weakened);
            assert_eq!(decision.weakened.is_empty(), !is_asked, "{held:?}: {:?}", decision.weakened);
            let recorded = decision.by_rule.and_then(|by_rule| by_rule.values.get(ENV_FILE_CONTENT).cloned());
            let before = held.and_then(|held| held.values.get(ENV_FILE_CONTENT).cloned());
            assert!(!is_asked || recorded == before, "no question is answered by a rule: {recorded:?}");
        }
    }
}
