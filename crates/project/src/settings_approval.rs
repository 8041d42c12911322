//! Whether the settings of a project are approved (S7).
//!
//! The settings belong to the project, not to a task: the newest approval of any task holds the approved settings.
//! What the user's own configuration allows needs no approval, and no approval records it.

use std::path::Path;

use crate::approval::{CONFIGURATION_FILE, asks_for, unapproved_in};
use crate::checked_index::catch_up;
use crate::error::ProjectError;
use crate::store_reader::StoreReader;
use crate::workspace::Workspace;
use proctor_index::StoreIndex;
use proctor_model::{
    ApprovalWay, Digest, JudgedSettings, LedgerLine, Plan, PlanSettings, ProjectId, RuleDifference, Sequence, TaskId,
    UnapprovedPlan,
};
use proctor_plan::spec::{compare_settings, first_settings, plan_digest, settings_by_rule};

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
pub fn rules_digest(plan: Digest, settings: &JudgedSettings) -> Digest {
    let bytes = serde_json_canonicalizer::to_vec(&(plan, settings));
    Digest::of(&bytes.expect("settings hold nothing that JSON cannot"))
}

/// Returns one digest of a plan and of the settings that are approved together with it.
pub(crate) fn digest_with_settings(plan: Digest, settings: &PlanSettings) -> Digest {
    let bytes = serde_json_canonicalizer::to_vec(&(plan, &settings.now, &settings.allowed));
    Digest::of(&bytes.expect("settings hold nothing that JSON cannot"))
}

// The approved plans that this process remembers. For the next run of a remembered plan, the index need not be read.

/// A plan that is known to be approved.
///
/// This knowledge is valid only while all new lines of the ledger come from this process: another process may have
/// approved another plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownApproval {
    pub(crate) project: ProjectId,
    pub(crate) task: TaskId,
    pub(crate) plan: Digest,
    /// The sequence number of the ledger's next line when the approval was last known to be valid. A greater number in
    /// the ledger means that another process wrote a line.
    pub(crate) next: Sequence,
}

/// The known approvals: for each task, the plan that ran last.
#[derive(Debug, Default)]
pub(crate) struct KnownApprovals(Vec<KnownApproval>);

impl KnownApprovals {
    pub(crate) fn holds(&self, project: &ProjectId, task: &TaskId, plan: Digest, next: Sequence) -> bool {
        let is_it = |known: &&KnownApproval| known.project == *project && known.task == *task;
        self.0.iter().find(is_it).is_some_and(|known| known.plan == plan && known.next == next)
    }

    pub(crate) fn learn(&mut self, known: KnownApproval) {
        self.0.retain(|other| (&other.project, &other.task) != (&known.project, &known.task));
        self.0.push(known);
    }

    /// Updates the known approvals after this process wrote a ledger line. A line that approves something removes the
    /// project's known approvals; any other line keeps them valid.
    pub(crate) fn wrote(&mut self, project: &ProjectId, line: &LedgerLine) {
        if line.body.approving().is_some() {
            self.0.retain(|known| known.project != *project);
            return;
        }
        for known in self.0.iter_mut().filter(|known| known.project == *project && known.next == line.sequence) {
            known.next = Sequence(line.sequence.0 + 1);
        }
    }
}

// Finds settings that nobody approved, for commands that carry out no plan of the project and still rely on its settings, and the rules of a
// plan that nobody approved, for answers about a plan that is not carried out now (S7). Nothing is locked, written or run.

impl StoreReader {
    /// Returns the settings that a person must approve first, as far as the names of their tables begin with `prefix`; `None` if there are
    /// none.
    ///
    /// # Errors
    ///
    /// When the ledger or the index cannot be read.
    pub fn unapproved_settings(
        &mut self,
        project: &ProjectId,
        settings: &PlanSettings,
        prefix: &str,
    ) -> Result<Option<UnapprovedPlan>, ProjectError> {
        catch_up(&self.store, &mut self.index, project)?;
        find_unapproved(&self.index, project, settings, prefix)
    }

    /// Returns where the rules of a plan and its settings differ from what was approved at a directory. Where nothing was, a run approves
    /// the plan, and asks only for settings that open more than the default.
    ///
    /// # Errors
    ///
    /// When the directory, the ledger or the index cannot be read.
    pub fn rule_difference(&mut self, root: &Path, plan: &Plan) -> Result<RuleDifference, ProjectError> {
        match self.find_approved(root)?.0 {
            Some(project) => rule_difference(&self.index, &project, plan),
            None => Ok(decide_settings(None, &plan.settings).difference),
        }
    }
}

impl Workspace {
    /// Returns the settings that a person must approve first; `None` if there are none.
    ///
    /// # Errors
    ///
    /// When the ledger or the index cannot be read.
    pub fn unapproved_settings(
        &mut self,
        project: &ProjectId,
        settings: &PlanSettings,
    ) -> Result<Option<UnapprovedPlan>, ProjectError> {
        self.evidence.catch_up(project)?;
        find_unapproved(&self.evidence.index, project, settings, "")
    }

    /// Returns where the rules of a plan and its settings differ from what was approved for the project.
    ///
    /// # Errors
    ///
    /// When the ledger or the index cannot be read.
    pub fn rule_difference(&mut self, project: &ProjectId, plan: &Plan) -> Result<RuleDifference, ProjectError> {
        self.evidence.catch_up(project)?;
        rule_difference(&self.evidence.index, project, plan)
    }
}

/// Returns where the rules of a plan and its settings differ from the approved ones, by what the index has.
pub(crate) fn rule_difference(index: &StoreIndex, project: &ProjectId, plan: &Plan) -> Result<RuleDifference, ProjectError> {
    let unapproved = unapproved_in(index, project, plan, plan_digest(plan))?;
    Ok(unapproved.map(|unapproved| unapproved.difference).unwrap_or_default())
}

fn find_unapproved(
    index: &StoreIndex,
    project: &ProjectId,
    settings: &PlanSettings,
    prefix: &str,
) -> Result<Option<UnapprovedPlan>, ProjectError> {
    let held = index.approved_settings(project)?;
    let mut difference = decide_settings(held.as_ref().and_then(|held| held.terms.settings.as_ref()), settings).difference;
    for list in [&mut difference.opens, &mut difference.changed] {
        list.retain(|change| change.name.starts_with(prefix));
    }
    if difference.is_empty() {
        return Ok(None);
    }
    let needs_signature = held.as_ref().is_some_and(|held| held.terms.approval.require_signature);
    Ok(Some(UnapprovedPlan {
        task: TaskId::default_task(),
        file: CONFIGURATION_FILE.to_owned(),
        asks_for: asks_for(&difference, held.is_none()),
        difference,
        protected: Vec::new(),
        way: if needs_signature { ApprovalWay::Signature } else { ApprovalWay::Answer },
    }))
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

#[cfg(test)]
mod known_approvals_tests {
    use super::*;
    use proctor_model::testing::ledger_line;
    use proctor_model::{LedgerBody, Serving, ServingRecord};

    fn serving(sequence: u64) -> LedgerLine {
        ledger_line(sequence, LedgerBody::Serving(ServingRecord { serving: Serving::Served }))
    }

    #[test]
    fn what_is_known_to_be_approved_holds_while_every_line_since_is_our_own() {
        let (project, task, plan) = (ProjectId::mint("shop", 1), TaskId::default_task(), Digest::of(b"plan"));
        let mut known = KnownApprovals::default();
        known.learn(KnownApproval { project: project.clone(), task: task.clone(), plan, next: Sequence(3) });
        let holds = |known: &KnownApprovals, plan: &[u8], next| known.holds(&project, &task, Digest::of(plan), Sequence(next));
        assert!(holds(&known, b"plan", 3));
        assert!(!holds(&known, b"another plan", 3));
        assert!(!holds(&known, b"plan", 4), "somebody else wrote a line");
        known.wrote(&ProjectId::mint("other", 2), &serving(3));
        assert!(holds(&known, b"plan", 3), "that was another project's");
        known.wrote(&project, &serving(3));
        assert!(holds(&known, b"plan", 4) && !holds(&known, b"plan", 3));
        known.wrote(&project, &serving(6));
        assert!(!holds(&known, b"plan", 7), "lines in between are not ours");
    }
}
