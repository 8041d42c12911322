//! Whether what a task asks for is approved (S7): the plan of a task of a test specification is compared with the one that was approved
//! last. The first plan of a task, and one that weakens nothing, approve themselves, by a line of the ledger; a weakening waits for a
//! person. Plans of `proctor.toml` and of discovery are approved by the registration of their project.

use crate::evidence::Ledger;
use crate::model::{
    ApprovalReason, ApprovalRecord, Digest, LedgerBody, Plan, PlanTerms, ProjectId, SpecificationSource, TaskId, Unapproved,
};
use crate::run::cycle::Attendance;
use crate::run::error::RunError;
use crate::run::progress::Progress;
use crate::run::request::{RunRequest, Scope, Settings};
use crate::run::workspace::Workspace;
use crate::spec::{plan_digest, plan_terms, weakenings};
use crate::store;

/// The plan of a task that was approved last.
type Known = Option<(Digest, PlanTerms)>;

/// How a plan stands to the one that was approved last.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Decision {
    /// It is that one.
    Approved,
    /// Nobody has ever approved a plan of the task.
    New,
    /// It asks for as much, or more.
    WeakensNothing,
    /// It weakens this, in words.
    Weakens(Vec<String>),
}

impl Workspace {
    /// Has a plan approved by rule before its run; what weakens is returned, and nothing is run then.
    pub(crate) fn approve_by_rule(
        &mut self,
        request: &RunRequest<'_>,
        digest: Digest,
        ledger: &mut Ledger,
        show: &mut dyn FnMut(Progress),
    ) -> Result<Option<Unapproved>, RunError> {
        let (plan, scope) = (request.plan, request.scope);
        let Some(source) = &plan.specification else { return Ok(None) };
        let known = self.index.approval(&scope.project, &plan.task).map_err(RunError::Index)?;
        let reason = match decide(&known, plan, digest) {
            Decision::Approved => return Ok(None),
            Decision::Weakens(weakened) => return Ok(Some(unapproved(&plan.task, source, weakened))),
            Decision::New => ApprovalReason::NewTask,
            Decision::WeakensNothing => ApprovalReason::WeakensNothing,
        };
        let record = record(plan, source, digest, reason, Vec::new());
        self.append(ledger, scope, LedgerBody::Approval(Box::new(record)))?;
        let why = match reason {
            ApprovalReason::NewTask => "is new here; its plan is approved by this run",
            ApprovalReason::WeakensNothing | ApprovalReason::Person => {
                "asks for nothing less than before; its plan is approved by that"
            }
        };
        show(Progress::Note(format!("task `{}` of `{}` {why} ({}…)", plan.task, source.file, digest.short())));
        Ok(None)
    }

    /// Approves the plan of a task as a person says; returns what it weakens of the one before, in words.
    ///
    /// # Errors
    /// When no person is there, when the plan is another than the person was shown, or when the ledger cannot be written.
    pub fn approve(
        &mut self,
        scope: &Scope,
        settings: &Settings,
        plan: &Plan,
        shown: &Unapproved,
        attendance: Attendance,
    ) -> Result<(), RunError> {
        if attendance == Attendance::Nobody {
            return Err(RunError::ApprovalNeedsPerson { task: plan.task.clone() });
        }
        let Some(source) = &plan.specification else { return Ok(()) };
        let lock = self.lock(scope, settings.lock_wait, &|| None, &mut |_| {})?;
        let mut ledger = self.recovered_ledger(&lock, scope, &mut |_| {})?;
        self.catch_up(&scope.project)?;
        let digest = plan_digest(plan);
        let known = self.index.approval(&scope.project, &plan.task).map_err(RunError::Index)?;
        match decide(&known, plan, digest) {
            Decision::Weakens(weakened) if weakened != shown.weakened => {
                Err(RunError::ApprovedMeanwhile { task: plan.task.clone() })
            }
            Decision::Weakens(weakened) => {
                let record = record(plan, source, digest, ApprovalReason::Person, weakened);
                self.append(&mut ledger, scope, LedgerBody::Approval(Box::new(record)))
            }
            // Somebody else was faster, or it was mended: a run approves the rest by rule.
            Decision::Approved | Decision::New | Decision::WeakensNothing => Ok(()),
        }
    }

    /// Returns what keeps a plan from being approved; none: nothing does.
    ///
    /// # Errors
    /// When the ledger or the index cannot be read.
    pub fn unapproved(&mut self, project: &ProjectId, plan: &Plan) -> Result<Option<Unapproved>, RunError> {
        self.catch_up(project)?;
        unapproved_in(&self.index, project, plan, plan_digest(plan))
    }
}

/// Returns what keeps a plan from being approved, as far as the index knows; none: nothing does.
pub(crate) fn unapproved_in(
    index: &store::Index,
    project: &ProjectId,
    plan: &Plan,
    digest: Digest,
) -> Result<Option<Unapproved>, RunError> {
    let Some(source) = &plan.specification else { return Ok(None) };
    let known = index.approval(project, &plan.task).map_err(RunError::Index)?;
    Ok(match decide(&known, plan, digest) {
        Decision::Weakens(weakened) => Some(unapproved(&plan.task, source, weakened)),
        Decision::Approved | Decision::New | Decision::WeakensNothing => None,
    })
}

fn decide(known: &Known, plan: &Plan, digest: Digest) -> Decision {
    match known {
        None => Decision::New,
        Some((approved, _)) if *approved == digest => Decision::Approved,
        Some((_, terms)) => match weakenings(terms, &plan_terms(plan)) {
            weakened if weakened.is_empty() => Decision::WeakensNothing,
            weakened => Decision::Weakens(weakened),
        },
    }
}

fn record(
    plan: &Plan,
    source: &SpecificationSource,
    plan_digest: Digest,
    reason: ApprovalReason,
    weakened: Vec<String>,
) -> ApprovalRecord {
    let (task, file) = (plan.task.clone(), source.file.clone());
    ApprovalRecord { task, file, plan_digest, reason, weakened, terms: plan_terms(plan) }
}

fn unapproved(task: &TaskId, source: &SpecificationSource, weakened: Vec<String>) -> Unapproved {
    Unapproved { task: task.clone(), file: source.file.clone(), weakened }
}
