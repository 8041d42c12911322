//! Finds settings that nobody approved, for commands that carry out no plan of the project and still rely on its settings
//! (S7). Nothing is locked, written or run.

use crate::approval::{CONFIGURATION_FILE, asks_for};
use crate::checked_index::catch_up;
use crate::error::ProjectError;
use crate::settings_approval::decide_settings;
use crate::store_reader::StoreReader;
use crate::workspace::Workspace;
use proctor_index::StoreIndex;
use proctor_model::{ApprovalWay, PlanSettings, ProjectId, TaskId, UnapprovedPlan};

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
