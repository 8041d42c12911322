//! Whether what a task asks for is approved (S7): its plan is compared with the one that was approved last. The first plan of a task, and
//! one that weakens nothing, approve themselves, by a line of the ledger; a weakening waits for a person. The first plan of the project's
//! own checks is approved by the registration of the project. A command that was given on the command line approves itself by that.

use crate::evidence::Ledger;
use crate::model::{
    ApprovalReason, ApprovalRecord, Digest, FOUND_IN_PROJECT, LedgerBody, LedgerLine, Plan, PlanOrigin, PlanTerms, ProjectId,
    Sequence, TaskId, Unapproved, plan_subject,
};
use crate::run::cycle::Attendance;
use crate::run::error::RunError;
use crate::run::progress::Progress;
use crate::run::request::{RunRequest, Scope, Settings};
use crate::run::workspace::Workspace;
use crate::spec::{plan_digest, plan_terms, renamings, strengthenings, weakenings};
use crate::store;

/// The plan of a task that was approved last.
type Known = Option<(Digest, PlanTerms)>;

/// The file of the project's own checks.
const CONFIGURATION_FILE: &str = "proctor.toml";

/// A plan that is known to be approved, so that the next run on it asks the index nothing.
///
/// It holds while the ledger has no line that this process did not write: another one may have approved something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownApproval {
    project: ProjectId,
    task: TaskId,
    plan: Digest,
    /// The line that follows the last one this was seen to hold for.
    next: Sequence,
}

/// What is known of the plans that are approved: the one of each task that ran last.
#[derive(Debug, Default)]
pub(crate) struct KnownApprovals(Vec<KnownApproval>);

impl KnownApprovals {
    fn holds(&self, project: &ProjectId, task: &TaskId, plan: Digest, next: Sequence) -> bool {
        let is_it = |known: &&KnownApproval| known.project == *project && known.task == *task;
        self.0.iter().find(is_it).is_some_and(|known| known.plan == plan && known.next == next)
    }

    fn learn(&mut self, known: KnownApproval) {
        self.0.retain(|other| (&other.project, &other.task) != (&known.project, &known.task));
        self.0.push(known);
    }

    /// Takes notice of a line that this process wrote.
    pub(crate) fn wrote(&mut self, project: &ProjectId, line: &LedgerLine) {
        match &line.body {
            LedgerBody::Approval(_) | LedgerBody::Registered(_) => self.0.retain(|known| known.project != *project),
            LedgerBody::Run(_)
            | LedgerBody::Superseded(_)
            | LedgerBody::Phase(_)
            | LedgerBody::Override(_)
            | LedgerBody::Serving(_)
            | LedgerBody::Retest(_)
            | LedgerBody::TaskList(_)
            | LedgerBody::Violation(_)
            | LedgerBody::Pruned(_)
            | LedgerBody::Governance(_) => {
                for known in self.0.iter_mut().filter(|known| known.project == *project && known.next == line.sequence) {
                    known.next = Sequence(line.sequence.0 + 1);
                }
            }
        }
    }
}

/// How a plan stands to the one that was approved last.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Decision {
    /// It is that one.
    Approved,
    /// Nobody has ever approved a plan of the task.
    New,
    /// It asks for as much, or more.
    WeakensNothing,
    /// It weakens something.
    Weakens(Difference),
}

/// What differs between two plans, by meaning, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Difference {
    weakened: Vec<String>,
    strengthened: Vec<String>,
    neutral: Vec<String>,
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
        let Some(file) = file_of(plan) else { return Ok(None) };
        if self.approvals.holds(&scope.project, &plan.task, digest, ledger.next_sequence()) {
            return Ok(None);
        }
        let known = self.index.approval(&scope.project, &plan.task).map_err(RunError::Index)?;
        let reason = match decide(&known, plan, digest) {
            Decision::Approved => None,
            Decision::Weakens(difference) => return Ok(Some(unapproved(&plan.task, file, difference))),
            Decision::New => Some(ApprovalReason::NewTask),
            Decision::WeakensNothing => Some(ApprovalReason::WeakensNothing),
        };
        if let Some(reason) = reason {
            let record = record(plan, file, digest, reason, Vec::new());
            self.append(ledger, scope, LedgerBody::Approval(Box::new(record)))?;
            let why = match reason {
                ApprovalReason::NewTask => "is new here; its plan is approved by this run",
                ApprovalReason::WeakensNothing | ApprovalReason::Person => {
                    "asks for nothing less than before; its plan is approved by that"
                }
            };
            show(Progress::Note(format!("{} {why} ({}…)", plan_subject(&plan.task, file), digest.short())));
        }
        let (project, task, next) = (scope.project.clone(), plan.task.clone(), ledger.next_sequence());
        self.approvals.learn(KnownApproval { project, task, plan: digest, next });
        Ok(None)
    }

    /// Approves the plan of a task as a person says.
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
        let Some(file) = file_of(plan) else { return Ok(()) };
        let lock = self.lock(scope, settings.lock_wait, &|| None, &mut |_| {})?;
        let mut ledger = self.recovered_ledger(&lock, scope, &mut |_| {})?;
        self.catch_up(&scope.project)?;
        let digest = plan_digest(plan);
        let known = self.index.approval(&scope.project, &plan.task).map_err(RunError::Index)?;
        match decide(&known, plan, digest) {
            Decision::Weakens(difference) if difference.weakened != shown.weakened => {
                Err(RunError::ApprovedMeanwhile { task: plan.task.clone() })
            }
            Decision::Weakens(difference) => {
                let record = record(plan, file, digest, ApprovalReason::Person, difference.weakened);
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
    let Some(file) = file_of(plan) else { return Ok(None) };
    let known = index.approval(project, &plan.task).map_err(RunError::Index)?;
    Ok(match decide(&known, plan, digest) {
        Decision::Weakens(difference) => Some(unapproved(&plan.task, file, difference)),
        Decision::Approved | Decision::New | Decision::WeakensNothing => None,
    })
}

/// Returns the terms that registering a project with a plan approves; none where the plan is not that of its own checks, or weakens what
/// was approved of these before: being registered again, at another place, approves nothing of that.
pub(crate) fn terms_of_registration(
    index: &store::Index,
    project: &ProjectId,
    plan: &Plan,
    digest: Digest,
) -> Result<Option<Box<PlanTerms>>, RunError> {
    let is_own = match plan.origin {
        PlanOrigin::Configured | PlanOrigin::Discovered => true,
        PlanOrigin::CommandLine | PlanOrigin::Specification => false,
    };
    if !is_own || unapproved_in(index, project, plan, digest)?.is_some() {
        return Ok(None);
    }
    Ok(Some(Box::new(plan_terms(plan))))
}

/// Returns the file that a plan comes from, as an approval names it; none for one that whoever typed it has approved by that.
fn file_of(plan: &Plan) -> Option<&str> {
    match plan.origin {
        PlanOrigin::Configured => Some(CONFIGURATION_FILE),
        PlanOrigin::Discovered => Some(FOUND_IN_PROJECT),
        PlanOrigin::CommandLine => None,
        PlanOrigin::Specification => plan.specification.as_ref().map(|source| source.file.as_str()),
    }
}

fn decide(known: &Known, plan: &Plan, digest: Digest) -> Decision {
    match known {
        None => Decision::New,
        Some((approved, _)) if *approved == digest => Decision::Approved,
        Some((_, before)) => {
            let now = plan_terms(plan);
            match weakenings(before, &now) {
                weakened if weakened.is_empty() => Decision::WeakensNothing,
                weakened => Decision::Weakens(Difference {
                    weakened,
                    strengthened: strengthenings(before, &now),
                    neutral: renamings(before, &now),
                }),
            }
        }
    }
}

fn record(plan: &Plan, file: &str, plan_digest: Digest, reason: ApprovalReason, weakened: Vec<String>) -> ApprovalRecord {
    let (task, file) = (plan.task.clone(), file.to_owned());
    ApprovalRecord { task, file, plan_digest, reason, weakened, terms: plan_terms(plan) }
}

fn unapproved(task: &TaskId, file: &str, difference: Difference) -> Unapproved {
    let Difference { weakened, strengthened, neutral } = difference;
    Unapproved { task: task.clone(), file: file.to_owned(), weakened, strengthened, neutral }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Asker, LEDGER_SCHEMA, Serving, ServingRecord, Timestamp};

    fn line(sequence: u64, body: LedgerBody) -> LedgerLine {
        LedgerLine {
            schema: LEDGER_SCHEMA.to_owned(),
            sequence: Sequence(sequence),
            previous: Digest::of(b""),
            time: Timestamp::from_millis(0),
            asker: Asker { pid: 1, uid: 0, executable: None, terminal: None },
            body,
            signature: None,
        }
    }

    fn serving(sequence: u64) -> LedgerLine {
        line(sequence, LedgerBody::Serving(ServingRecord { serving: Serving::Served }))
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
