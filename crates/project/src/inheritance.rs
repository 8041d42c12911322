//! What a new identity of a place inherits (S7): what was approved for the project that the place was before. It is written into the new
//! ledger as a registration and approvals without a person, so nothing in it opens more of the machine than a first run may.

use crate::approval::CONFIGURATION_FILE;
use crate::error::ProjectError;
use crate::former_identity::{FormerIdentity, Likeness, former_identities};
use crate::registration::RootDirectory;
use proctor_evidence::{LedgerLookup, Store};
use proctor_index::{self as index, StoreIndex};
use proctor_model::{
    ApprovalReason, ApprovalRecord, ApprovalTerms, ApprovingLine, CurrentApproval, JudgedSettings, PlanTerms, ProjectId, TaskId,
};
use proctor_plan::spec::{first_settings, settings_by_rule};

/// What was approved for a former identity, as a new one records it.
#[derive(Debug)]
pub(crate) struct Inheritance {
    pub(crate) former: FormerIdentity,
    /// The approvals of the tasks, also of the project's own checks.
    pub(crate) approvals: Vec<ApprovalRecord>,
}

impl Inheritance {
    /// Returns what a new identity of a directory inherits; `None` if nothing was approved for what the directory was before. The
    /// index must be up to date.
    ///
    /// # Errors
    /// When the index, or the ledger of a project that the directory may have been, cannot be read.
    pub(crate) fn of(store: &Store, index: &StoreIndex, directory: &RootDirectory) -> Result<Option<Self>, ProjectError> {
        for former in former_identities(store, index, directory)? {
            let tasks = index.approved_tasks(&former.project).map_err(ProjectError::Index)?;
            if !tasks.is_empty() {
                return Self::from(store, index, former, tasks).map(Some);
            }
        }
        Ok(None)
    }

    fn from(store: &Store, index: &StoreIndex, former: FormerIdentity, tasks: Vec<TaskId>) -> Result<Self, ProjectError> {
        let held = index.approved_settings(&former.project).map_err(ProjectError::Index)?;
        let settings = held.and_then(|held| held.terms.settings).map(|settings| without_openings(&settings));
        let ledger = LedgerLookup::open(store, &former.project).map_err(ProjectError::Evidence)?;
        let mut approvals = Vec::new();
        for task in tasks {
            let Some(held) = index.approval(&former.project, &task).map_err(ProjectError::Index)? else { continue };
            let CurrentApproval { sequence, plan_digest, terms, protected } = held;
            let mut terms = PlanTerms { settings: settings.clone(), ..terms };
            if former.likeness == Likeness::SharedCommits {
                // Who may approve for another repository may not approve for this one.
                terms.approval = ApprovalTerms { require_signature: false, signers: Vec::new(), ..terms.approval };
            }
            // The tests of another working tree may rightly be others: its first run approves them.
            let protected = protected.filter(|_| former.likeness.is_same_place());
            let line = ledger.find(sequence).map_err(ProjectError::Evidence)?;
            let file = match line.as_ref().and_then(|line| line.body.approving()) {
                Some(ApprovingLine::Approved(record)) => record.file.clone(),
                Some(ApprovingLine::Registered(_)) | None => CONFIGURATION_FILE.to_owned(),
            };
            let is_own = task == TaskId::default_task();
            let reason = if is_own { ApprovalReason::WeakensNothing } else { ApprovalReason::NewTask };
            let (weakened, signature) = (Vec::new(), None);
            approvals.push(ApprovalRecord { task, file, plan_digest, reason, weakened, terms, protected, signature });
        }
        Ok(Self { former, approvals })
    }

    /// Gives the new identity the approved tree of the former one, so that files cannot leave the tree by a change of identity.
    pub(crate) fn copy_tree(&self, store: &Store, project: &ProjectId) {
        if !self.former.likeness.is_same_place() {
            return;
        }
        let Some(tree) = index::read_tree_index(&store.approved_tree_path(&self.former.project)) else { return };
        if let Err(error) = index::write_tree_index(&store.approved_tree_path(project), &tree) {
            tracing::warn!("the approved tree of the former identity was not saved: {error}");
        }
    }
}

/// Returns the settings without what opens more of the machine than a first run may. A person is asked about that again: a ledger that
/// has no person's approval of it cannot say that there was one.
fn without_openings(settings: &JudgedSettings) -> JudgedSettings {
    settings_by_rule(&first_settings(settings), settings)
}
