//! Finds settings that nobody approved, for commands that carry out no plan of the project and still rely on its settings, and the
//! rules of a plan that nobody approved, for answers about a plan that is not carried out now (S7). Nothing is locked, written or run.

use std::path::Path;

use crate::approval::{CONFIGURATION_FILE, asks_for, unapproved_in};
use crate::checked_index::catch_up;
use crate::error::ProjectError;
use crate::settings_approval::decide_settings;
use crate::store_reader::StoreReader;
use crate::workspace::Workspace;
use proctor_index::StoreIndex;
use proctor_model::{ApprovalWay, Plan, PlanSettings, ProjectId, RuleDifference, TaskId, UnapprovedPlan};
use proctor_plan::spec::plan_digest;

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
    let held = index.approved_settings(project).map_err(ProjectError::Index)?;
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
