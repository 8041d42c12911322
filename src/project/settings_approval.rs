//! Whether the settings of a project are approved (S7). Pure functions.
//!
//! The settings belong to the project, not to a task: the newest approval of any task holds the approved settings.
//! What the user's own configuration allows needs no approval, and no approval records it.

use crate::config::opens_the_machine;
use crate::model::{Digest, JudgedSettings, PlanSettings};
use crate::spec::{WeakerSetting, first_settings, settings_by_rule, stricter_settings, weaker_settings};

/// How the present settings compare with the approved ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingsDecision {
    /// Where the present settings are weaker, one sentence each. A person must approve them before anything runs.
    pub(super) weakened: Vec<String>,
    /// The settings that `weakened` is about, such as `sandbox.mode`.
    pub(super) names: Vec<String>,
    /// Where the present settings are stricter, one sentence each.
    pub(super) strengthened: Vec<String>,
    /// Whether everything in `weakened` opens more of the machine to actions.
    pub(super) opens_more: bool,
    /// The settings that an approval without a person records; `None` if there are no present settings and none were
    /// approved.
    pub(super) by_rule: Option<JudgedSettings>,
    /// Whether an approval holds `by_rule` already.
    pub(super) is_recorded: bool,
}

/// Compares the present settings with the approved ones.
///
/// Without approved settings, in a new project and in one that an earlier version of proctor registered, the default
/// settings count as approved: a person is asked about settings that open more of the machine, and all other settings
/// become the approved ones.
pub(super) fn decide_settings(held: Option<&JudgedSettings>, settings: &PlanSettings) -> SettingsDecision {
    let PlanSettings { now, allowed } = settings;
    if now.values.is_empty() {
        let by_rule = held.cloned();
        return SettingsDecision {
            weakened: Vec::new(),
            names: Vec::new(),
            strengthened: Vec::new(),
            opens_more: false,
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
    let by_rule = settings_by_rule(before, now);
    let weaker = weaker_settings(before, now, allowed);
    let opens = |setting: &WeakerSetting| now.values.get(&setting.key).is_some_and(|now| opens_the_machine(&setting.key, now));
    SettingsDecision {
        opens_more: !weaker.is_empty() && weaker.iter().all(opens),
        names: weaker.iter().map(|setting| setting.key.clone()).collect(),
        weakened: weaker.into_iter().map(|setting| setting.text).collect(),
        strengthened: if held.is_some() { stricter_settings(before, now) } else { Vec::new() },
        is_recorded: held == Some(&by_rule),
        by_rule: Some(by_rule),
    }
}

/// Returns one digest of a plan and of the settings that are approved together with it.
pub(super) fn digest_with_settings(plan: Digest, settings: &PlanSettings) -> Digest {
    let bytes = serde_json_canonicalizer::to_vec(&(plan, &settings.now, &settings.allowed));
    Digest::of(&bytes.expect("settings hold nothing that JSON cannot"))
}
