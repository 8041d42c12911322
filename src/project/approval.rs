//! Whether a task's plan is approved (S7). The plan is compared with the last approved one. The first plan of a task,
//! and a plan that weakens nothing, are approved automatically by a line of the ledger. A plan that weakens something
//! waits for a person. Registering a project approves the first plan of its own checks. A plan for a command that was
//! typed on the command line needs no approval.

use crate::evidence::{Ledger, approving_signer};
use crate::model::{
    AllowedSigner, ApprovalReason, ApprovalRecord, ApprovalWay, CurrentApproval, Digest, FOUND_IN_PROJECT, LedgerBody, Plan,
    PlanOrigin, PlanTerms, ProjectId, ProtectedFiles, UnapprovedPlan, plan_subject,
};
use crate::project::approval_request::approval_request;
use crate::project::cycle::PersonPresence;
use crate::project::error::ProjectError;
use crate::project::known_approvals::KnownApproval;
use crate::project::progress::Progress;
use crate::project::protected::{approvable, approved_by_rule, change_texts, protected_files};
use crate::project::request::{ProjectScope, ProjectSettings, RunRequest};
use crate::project::workspace::Workspace;
use crate::spec::{plan_digest, plan_terms, renamings, strengthenings, weakenings};
use crate::store;
use crate::tree::{self, TreeHints};

/// The file of the project's own checks.
pub(super) const CONFIGURATION_FILE: &str = "proctor.toml";

/// How a plan compares with the last approved plan of its task.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Decision {
    /// The plan is the approved one.
    Approved,
    /// No plan of the task was ever approved.
    New,
    /// The plan differs, and asks for at least as much as the approved one.
    WeakensNothing,
    /// The plan asks for less than the approved one somewhere; the difference says where.
    Weakens(Difference),
}

/// The differences between two plans, in words for people, sorted by their effect.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Difference {
    weakened: Vec<String>,
    strengthened: Vec<String>,
    neutral: Vec<String>,
}

/// What a person has to approve, and the bytes to sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalQuestion {
    /// The plan that is not approved.
    pub unapproved: UnapprovedPlan,
    /// The bytes to sign for an approval.
    pub request: Vec<u8>,
    /// Whether only a signature approves.
    pub require_signature: bool,
    /// The keys whose signatures approve. If the list is empty, no signature approves.
    pub signers: Vec<AllowedSigner>,
}

/// How a person approves a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovedBy {
    /// By an answer, which requires a person at a terminal.
    Answer(PersonPresence),
    /// By a signature, as `ssh-keygen -Y sign` writes it.
    Signature(String),
}

impl Workspace {
    /// Approves a plan automatically before its run if the rules allow that. Otherwise returns what the plan weakens;
    /// the caller must not run it then.
    pub(crate) fn approve_by_rule(
        &mut self,
        request: &RunRequest<'_>,
        digest: Digest,
        tree: &tree::TreeIndex,
        ledger: &mut Ledger,
        show: &mut dyn FnMut(Progress),
    ) -> Result<Option<UnapprovedPlan>, ProjectError> {
        let (plan, scope) = (request.plan, request.scope);
        let Some(file) = file_of(plan) else { return Ok(None) };
        if self.approvals.holds(&scope.project, &plan.task, digest, ledger.next_sequence()) {
            return Ok(None);
        }
        let known = self.index.approval(&scope.project, &plan.task).map_err(ProjectError::Index)?;
        let is_looked_at = plan.approval.protect.is_empty() || known.as_ref().is_some_and(|held| held.protected.is_some());
        let reason = match decide(known.as_ref(), plan, digest) {
            Decision::Approved if is_looked_at => None,
            Decision::Weakens(difference) => return Ok(Some(unapproved(plan, file, difference, known.as_ref()))),
            Decision::New => Some(ApprovalReason::NewTask),
            Decision::WeakensNothing | Decision::Approved => Some(ApprovalReason::WeakensNothing),
        };
        if let Some(reason) = reason {
            let globs = &plan.approval.protect;
            let now = (!globs.is_empty()).then(|| protected_files(tree, globs));
            let protected = now.map(|now| approvable(approved_by_rule(known.as_ref(), now, globs))).transpose()?;
            let said = said_by_rule(plan, file, digest, reason, protected.as_ref().filter(|_| !is_looked_at));
            let record = ApprovalRecord { protected, ..record(plan, file, digest, reason) };
            self.append(ledger, scope, LedgerBody::Approval(Box::new(record)))?;
            show(Progress::Note(said));
        }
        let (project, task, next) = (scope.project.clone(), plan.task.clone(), ledger.next_sequence());
        self.approvals.learn(KnownApproval { project, task, plan: digest, next });
        Ok(None)
    }

    /// Approves a task's plan on behalf of a person.
    ///
    /// # Errors
    ///
    /// When the person did not approve in the required way, when the plan, the protected files or the approved plan
    /// changed since the question was shown, or when the ledger cannot be written.
    pub fn approve(
        &mut self,
        scope: &ProjectScope,
        settings: &ProjectSettings,
        plan: &Plan,
        shown: &ApprovalQuestion,
        by: ApprovedBy,
    ) -> Result<(), ProjectError> {
        let task = || plan.task.clone();
        let signature = match by {
            ApprovedBy::Answer(_) if shown.require_signature => {
                return Err(ProjectError::ApprovalNeedsSignature { task: task() });
            }
            ApprovedBy::Answer(PersonPresence::Nobody) => return Err(ProjectError::ApprovalNeedsPerson { task: task() }),
            ApprovedBy::Answer(PersonPresence::Person) => None,
            ApprovedBy::Signature(signature) => {
                let signer = approving_signer(&shown.request, &signature, &shown.signers);
                signer.ok_or_else(|| ProjectError::ApprovalSignature { task: task() })?;
                Some(signature)
            }
        };
        let lock = self.lock(scope, settings.lock_wait, &|| None, &mut |_| {})?;
        let mut ledger = self.recovered_ledger(&lock, scope, &mut |_| {})?;
        let Some((question, record)) = self.weighed(scope, settings, plan)? else {
            // No person is needed any more: somebody else approved the plan, or it was corrected. If the corrected plan
            // has no approval yet, its next run approves it automatically.
            return Ok(());
        };
        if question.request != shown.request {
            return Err(ProjectError::ApprovedMeanwhile { task: task() });
        }
        let record = ApprovalRecord { signature, ..record };
        self.append(&mut ledger, scope, LedgerBody::Approval(Box::new(record)))
    }

    /// Returns what a person would have to approve for a task; `None` if nothing has to be approved.
    ///
    /// # Errors
    ///
    /// When the tree, the ledger or the index cannot be read.
    pub fn approval_question(
        &mut self,
        scope: &ProjectScope,
        settings: &ProjectSettings,
        plan: &Plan,
    ) -> Result<Option<ApprovalQuestion>, ProjectError> {
        Ok(self.weighed(scope, settings, plan)?.map(|(question, _)| question))
    }

    /// Returns the question for a person, and the record of an approval without its signature.
    fn weighed(
        &mut self,
        scope: &ProjectScope,
        settings: &ProjectSettings,
        plan: &Plan,
    ) -> Result<Option<(ApprovalQuestion, ApprovalRecord)>, ProjectError> {
        self.catch_up(&scope.project)?;
        let known = self.index.approval(&scope.project, &plan.task).map_err(ProjectError::Index)?;
        let (Some(file), Some(held)) = (file_of(plan), known) else { return Ok(None) };
        let digest = plan_digest(plan);
        let mut unapproved = match decide(Some(&held), plan, digest) {
            Decision::Weakens(difference) => unapproved(plan, file, difference, Some(&held)),
            Decision::Approved | Decision::New | Decision::WeakensNothing => {
                let none = Difference { weakened: Vec::new(), strengthened: Vec::new(), neutral: Vec::new() };
                unapproved(plan, file, none, Some(&held))
            }
        };
        let globs = &plan.approval.protect;
        let mut protected = None;
        if !globs.is_empty() {
            let now = protected_files(&self.trees.scan(&self.store, settings, scope, &TreeHints::Everything)?, globs);
            if held.protected.is_some() {
                // A file that became protected just now was in no earlier approval, so its current content is accepted.
                let approved = approved_by_rule(Some(&held), now.clone(), globs);
                unapproved.protected = change_texts(&approved.changes_to(&now));
            }
            protected = Some(approvable(now)?);
        }
        if unapproved.weakened.is_empty() && unapproved.protected.is_empty() {
            return Ok(None);
        }
        let of_files = unapproved.protected.iter().map(|text| format!("protected: {text}"));
        let weakened = unapproved.weakened.iter().cloned().chain(of_files).collect();
        let record = ApprovalRecord { weakened, protected, ..record(plan, file, digest, ApprovalReason::Person) };
        let rules = &held.terms.approval;
        let question = ApprovalQuestion {
            unapproved,
            request: approval_request(&scope.project, &held, &record),
            require_signature: rules.require_signature,
            signers: rules.signers.clone(),
        };
        Ok(Some((question, record)))
    }
}

/// Returns the message about an automatic approval. `looked_at` holds the protected files if they are recorded for the
/// first time.
fn said_by_rule(plan: &Plan, file: &str, digest: Digest, reason: ApprovalReason, looked_at: Option<&ProtectedFiles>) -> String {
    let subject = plan_subject(&plan.task, file);
    let files = looked_at.map(|protected| protected.files.len());
    let why = match (reason, files) {
        (ApprovalReason::NewTask, None) => "is new here; its plan is approved by this run".to_owned(),
        (ApprovalReason::NewTask, Some(files)) => {
            format!("is new here; its plan and {files} protected file(s) are approved by this run")
        }
        (ApprovalReason::WeakensNothing | ApprovalReason::Person, None) => {
            "asks for nothing less than before; its plan is approved by that".to_owned()
        }
        (ApprovalReason::WeakensNothing | ApprovalReason::Person, Some(files)) => {
            format!("asks for nothing less than before; its plan and {files} protected file(s) are approved by this run")
        }
    };
    format!("{subject} {why} ({}…)", digest.short())
}

/// Returns what a person has to approve before the plan may run, according to the index; `None` if no person is needed.
pub(crate) fn unapproved_in(
    index: &store::StoreIndex,
    project: &ProjectId,
    plan: &Plan,
    digest: Digest,
) -> Result<Option<UnapprovedPlan>, ProjectError> {
    let Some(file) = file_of(plan) else { return Ok(None) };
    let known = index.approval(project, &plan.task).map_err(ProjectError::Index)?;
    Ok(match decide(known.as_ref(), plan, digest) {
        Decision::Weakens(difference) => Some(unapproved(plan, file, difference, known.as_ref())),
        Decision::Approved | Decision::New | Decision::WeakensNothing => None,
    })
}

/// Returns the terms that registering a project with this plan approves. Returns `None` if the plan is not for the
/// project's own checks, or if it weakens their approved plan: registering the project again cannot approve a
/// weakening.
pub(crate) fn terms_of_registration(
    index: &store::StoreIndex,
    project: &ProjectId,
    plan: &Plan,
    digest: Digest,
) -> Result<Option<Box<PlanTerms>>, ProjectError> {
    let is_own = match plan.origin {
        PlanOrigin::Configured | PlanOrigin::Discovered => true,
        PlanOrigin::CommandLine | PlanOrigin::Specification => false,
    };
    if !is_own || unapproved_in(index, project, plan, digest)?.is_some() {
        return Ok(None);
    }
    Ok(Some(Box::new(plan_terms(plan))))
}

/// Returns the file that an approval of this plan names; `None` for a typed command, which needs no approval.
fn file_of(plan: &Plan) -> Option<&str> {
    match plan.origin {
        PlanOrigin::Configured => Some(CONFIGURATION_FILE),
        PlanOrigin::Discovered => Some(FOUND_IN_PROJECT),
        PlanOrigin::CommandLine => None,
        PlanOrigin::Specification => plan.specification.as_ref().map(|source| source.file.as_str()),
    }
}

fn decide(known: Option<&CurrentApproval>, plan: &Plan, digest: Digest) -> Decision {
    match known {
        None => Decision::New,
        Some(held) if held.plan_digest == digest => Decision::Approved,
        Some(held) => {
            let (before, now) = (&held.terms, plan_terms(plan));
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

fn record(plan: &Plan, file: &str, plan_digest: Digest, reason: ApprovalReason) -> ApprovalRecord {
    ApprovalRecord {
        task: plan.task.clone(),
        file: file.to_owned(),
        plan_digest,
        reason,
        weakened: Vec::new(),
        terms: plan_terms(plan),
        protected: None,
        signature: None,
    }
}

fn unapproved(plan: &Plan, file: &str, difference: Difference, known: Option<&CurrentApproval>) -> UnapprovedPlan {
    let Difference { weakened, strengthened, neutral } = difference;
    let needs_signature = known.is_some_and(|held| held.terms.approval.require_signature);
    let way = if needs_signature { ApprovalWay::Signature } else { ApprovalWay::Answer };
    UnapprovedPlan { task: plan.task.clone(), file: file.to_owned(), weakened, protected: Vec::new(), strengthened, neutral, way }
}
