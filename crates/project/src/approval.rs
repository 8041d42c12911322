//! Whether a task's plan is approved (S7). Its rules are compared with those of the last approved plan of the task. The first plan
//! of a task, and a plan whose rules do not differ, are approved automatically by a line of the ledger. A plan that opens more of the
//! machine waits for a person; one that differs in anything else is carried out, and its run proves nothing until a person approves it.
//! Registering a project approves the first plan of its own checks. A plan for a command that was typed on the command line needs no
//! approval.

use crate::approval_request::approval_request;
use crate::error::ProjectError;
use crate::evidence::Evidence;
use crate::followed_branch::FollowedCommit;
use crate::gate::ProjectRepository;
use crate::progress::Progress;
use crate::protected::{approvable, approved_by_rule, change_texts, protected_files};
use crate::request::{ProjectScope, ProjectSettings, RunRequest};
use crate::runner::Runner;
use crate::same_program::ProgramSearch;
use crate::settings_approval::{KnownApproval, SettingsDecision, decide_settings, digest_with_settings, rules_digest};
use crate::trees::Trees;
use crate::workspace::Workspace;
use proctor_evidence::{Ledger, approving_signer};
use proctor_index::StoreIndex;
use proctor_model::{
    AllowedSigner, ApprovalReason, ApprovalRecord, ApprovalWay, AsksFor, ChangedRules, CurrentApproval, Digest, FOUND_IN_PROJECT,
    JudgedSettings, LedgerBody, Plan, PlanOrigin, PlanTerms, ProjectId, ProtectedFiles, RuleChange, RuleDifference, Sequence,
    TaskId, UnapprovedPlan, plan_subject,
};
use proctor_plan::config::is_asked_first;
use proctor_plan::spec::{compare_terms, plan_digest, plan_terms, terms_by_rule};
use proctor_tree::{self as tree, TreeHints};

/// The file that configures the project's own checks, relative to the project's root.
pub const CONFIGURATION_FILE: &str = "proctor.toml";

/// How a plan compares with the last approved plan of its task.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Decision {
    /// The plan is equal to the last approved plan.
    Approved,
    /// No plan of the task was ever approved.
    New,
    /// The rules of the last approved plan were compared with those of this one. The difference may be empty.
    Compared(RuleDifference),
}

/// Whether a plan may be carried out, and what its run proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanApproval {
    Approved,
    /// The plan may be carried out. Its run proves nothing until a person approves these rules.
    ChangedRules(ChangedRules),
    /// A person must approve the plan before it is carried out.
    Refused(UnapprovedPlan),
}

/// What a person has to approve, and the bytes to sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalQuestion {
    /// The plan that is not approved.
    pub unapproved: UnapprovedPlan,
    /// The bytes to sign for an approval.
    pub request: Vec<u8>,
    /// Whether the plan can be approved only by a signature; if false, an answer at a terminal is enough.
    pub require_signature: bool,
    /// The keys whose signatures count as an approval. If the list is empty, the plan cannot be approved by a
    /// signature.
    pub signers: Vec<AllowedSigner>,
}

/// How a person approves a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovedBy {
    /// By an answer. Whoever asks has seen that a person sits at the terminal.
    Answer,
    /// By a signature, as `ssh-keygen -Y sign` writes it.
    Signature(String),
}

impl Workspace {
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
            ApprovedBy::Answer if shown.require_signature => {
                return Err(ProjectError::ApprovalNeedsSignature { task: task() });
            }
            ApprovedBy::Answer => None,
            ApprovedBy::Signature(signature) => {
                let signer = approving_signer(&shown.request, &signature, &shown.signers);
                signer.ok_or_else(|| ProjectError::ApprovalSignature { task: task() })?;
                Some(signature)
            }
        };
        let lock = self.evidence.lock(scope, settings.lock_wait, &|| None, &mut |_| {})?;
        // What a person decides can be recorded on a full disk too.
        let _reserve = self.evidence.store.use_reserve()?;
        let mut ledger = self.evidence.recovered_ledger(&lock, scope, &mut |_| {})?;
        let Some((question, record, tree)) = weighed(&mut self.evidence, &mut self.trees, &self.runner, scope, settings, plan)?
        else {
            // No person is needed any more: somebody else approved the plan, or it was corrected. If the corrected plan
            // has no approval yet, its next run approves it automatically.
            return Ok(());
        };
        if question.request != shown.request {
            return Err(ProjectError::ApprovedMeanwhile { task: task() });
        }
        let record = ApprovalRecord { signature, ..record };
        self.evidence.append(&mut ledger, scope, LedgerBody::Approval(Box::new(record)))?;
        self.evidence.approved_trees.keep_approved_tree(&self.evidence.store, scope, &tree);
        Ok(())
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
        Ok(weighed(&mut self.evidence, &mut self.trees, &self.runner, scope, settings, plan)?.map(|(question, ..)| question))
    }
}

/// Approves a plan automatically before its run if the rules allow that, and returns whether the plan may be carried out.
pub fn approve_by_rule(
    evidence: &mut Evidence,
    programs: ProgramSearch<'_>,
    request: &RunRequest<'_>,
    digest: Digest,
    tree: &tree::TreeIndex,
    ledger: &mut Ledger,
    show: &mut dyn FnMut(Progress),
) -> Result<PlanApproval, ProjectError> {
    let (plan, scope) = (request.plan, request.scope);
    let combined = digest_with_settings(digest, &plan.settings);
    let left = evidence.approved_trees.files_that_left(&evidence.store, scope, request.settings, tree);
    if left.is_empty() && evidence.approvals.holds(&scope.project, &plan.task, combined, ledger.next_sequence()) {
        return Ok(PlanApproval::Approved);
    }
    let lacks_files = !left.is_empty();
    let judgement = ApprovalJudgement { left, ..ApprovalJudgement::read(&evidence.index, &scope.project, plan, digest)? };
    let difference = judgement.difference();
    if !difference.opens.is_empty() {
        return Ok(PlanApproval::Refused(judgement.to_unapproved(plan, difference)));
    }
    let followed =
        if difference.is_empty() { None } else { followed_with_rules((&judgement, &difference), request, lacks_files) };
    if !difference.is_empty() && followed.is_none() {
        let changed = RuleChange::in_short(&difference.changed);
        let rules = rules_digest(digest, &plan.settings.now);
        return Ok(PlanApproval::ChangedRules(ChangedRules { rules, changed, lacks_files }));
    }
    let settings_now = judgement.settings_by_word(plan);
    let ApprovalJudgement { known, decision, settings, .. } = judgement;
    let Some(file) = file_of(plan) else { return Ok(PlanApproval::Approved) };
    let is_looked_at = plan.approval.protect.is_empty() || known.as_ref().is_some_and(|held| held.protected.is_some());
    let reason_by_rule = match decision {
        Decision::Approved if is_looked_at && settings.is_recorded => None,
        Decision::New => Some(ApprovalReason::NewTask),
        Decision::Compared(_) | Decision::Approved => Some(ApprovalReason::WeakensNothing),
    };
    let reason = followed.as_ref().map(|_| ApprovalReason::FollowedBranch).or(reason_by_rule);
    if let Some(reason) = reason {
        let globs = &plan.approval.protect;
        let now = (!globs.is_empty()).then(|| protected_files(tree, globs));
        let protected = now.map(|now| approvable(approved_by_rule(known.as_ref(), now, globs))).transpose()?;
        let said = match &followed {
            Some(followed) => {
                format!("{} has the rules of {}, which is followed", plan_subject(&plan.task, file), followed.words())
            }
            None => said_by_rule(plan, file, reason, protected.as_ref().filter(|_| !is_looked_at)),
        };
        let by_rule = if followed.is_some() { settings_now } else { settings.by_rule };
        let mut record = ApprovalRecord { protected, ..record(plan, programs, file, digest, reason, by_rule) };
        if let Some(followed) = followed {
            record.weakened = difference.texts();
            record.weakened.push(format!("as {} has it", followed.words()));
        }
        if let Some(known) = &known {
            record.terms = terms_by_rule(&known.terms, record.terms);
        }
        evidence.append(ledger, scope, LedgerBody::Approval(Box::new(record)))?;
        show(Progress::Note(said));
    }
    let (project, task, next) = (scope.project.clone(), plan.task.clone(), ledger.next_sequence());
    evidence.approvals.learn(KnownApproval { project, task, plan: combined, next });
    Ok(PlanApproval::Approved)
}

/// Returns the followed commit if it has the rules of a plan, and if nothing but such a commit has to say so: no signature is required, by
/// what was approved or by the plan itself, and no file left the tree.
fn followed_with_rules(
    (judgement, difference): (&ApprovalJudgement, &RuleDifference),
    request: &RunRequest<'_>,
    lacks_files: bool,
) -> Option<FollowedCommit> {
    let held = judgement.known.as_ref().or(judgement.held_settings.as_ref())?;
    if lacks_files || held.terms.approval.require_signature {
        return None;
    }
    let root = &request.scope.root;
    let repository = ProjectRepository::open(root).ok().flatten()?;
    let approved = judgement.held_settings.as_ref().and_then(|held| held.terms.settings.as_ref());
    let followed = FollowedCommit::find(&repository, approved, &request.plan.settings.allowed)?;
    followed.approves(&repository, request.plan, difference).then_some(followed)
}

/// Returns the question that a person must answer about a plan, and the ledger record of an approval, still without
/// its signature, and the tree that the question is about. Returns `None` if nothing has to be approved.
fn weighed(
    evidence: &mut Evidence,
    trees: &mut Trees,
    runner: &Runner,
    scope: &ProjectScope,
    settings: &ProjectSettings,
    plan: &Plan,
) -> Result<Option<(ApprovalQuestion, ApprovalRecord, tree::TreeIndex)>, ProjectError> {
    evidence.catch_up(&scope.project)?;
    let digest = plan_digest(plan);
    let tree = trees.known.scan(&evidence.store, settings, scope, &TreeHints::Everything)?;
    let left = evidence.approved_trees.files_that_left(&evidence.store, scope, settings, &tree);
    let Some(weighed) = weigh_plan(&evidence.index, &scope.project, plan, &tree, left, runner.program_search(scope, settings))?
    else {
        return Ok(None);
    };
    let WeighedPlan { unapproved, held, protected, file, .. } = weighed;
    let of_files = unapproved.protected.iter().map(|text| format!("protected: {text}"));
    let weakened = unapproved.difference.texts().into_iter().chain(of_files).collect();
    let programs = runner.program_search(scope, settings);
    let now = Some(plan.settings.now.clone());
    let record = ApprovalRecord { weakened, protected, ..record(plan, programs, &file, digest, ApprovalReason::Person, now) };
    let rules = &held.terms.approval;
    let question = ApprovalQuestion {
        unapproved,
        request: approval_request(&scope.project, &held, &record),
        require_signature: rules.require_signature,
        signers: rules.signers.clone(),
    };
    Ok(Some((question, record, tree)))
}

/// A plan that a person has to approve, with everything that an approval of it needs.
pub(crate) struct WeighedPlan {
    pub(crate) unapproved: UnapprovedPlan,
    /// Whether something of the task itself waits: its plan or its protected files. If not, only the project's settings or
    /// files that left the tree wait, and these are approved for all tasks together.
    pub(crate) concerns_task: bool,
    /// The approval that an approval by a person replaces.
    held: CurrentApproval,
    /// The protected files as they are now; `None` if the plan protects none.
    protected: Option<ProtectedFiles>,
    /// The file that the approval names.
    file: String,
}

/// Compares a plan, the project's settings and the protected files with what was approved. `left` has the files that left
/// the tree. Returns `None` if no person is needed. The index must be up to date.
pub(crate) fn weigh_plan(
    index: &StoreIndex,
    project: &ProjectId,
    plan: &Plan,
    tree: &tree::TreeIndex,
    left: Vec<RuleChange>,
    programs: ProgramSearch<'_>,
) -> Result<Option<WeighedPlan>, ProjectError> {
    let digest = plan_digest(plan);
    let judgement = ApprovalJudgement { left, ..ApprovalJudgement::read(index, project, plan, digest)? };
    let Some(file) = file_of(plan) else { return Ok(None) };
    let held = judgement.held_or_first(plan, digest);
    let is_other_plan = judgement.is_other_plan();
    let mut difference = judgement.difference();
    let others = programs.found_by_another_way(plan, &held.terms).into_iter();
    difference.changed.extend(others.map(|text| change("search path", "program", text)));
    let mut unapproved = judgement.to_unapproved(plan, difference);
    let globs = &plan.approval.protect;
    let mut protected = None;
    if !globs.is_empty() {
        let now = protected_files(tree, globs);
        if held.protected.is_some() {
            // A file that this plan protects for the first time was in no earlier approval, so it does not count as
            // changed.
            let approved = approved_by_rule(Some(&held), now.clone(), globs);
            unapproved.protected = change_texts(&approved.changes_to(&now));
        }
        protected = Some(approvable(now)?);
    }
    if unapproved.difference.is_empty() && unapproved.protected.is_empty() {
        return Ok(None);
    }
    let concerns_task = is_other_plan || !unapproved.protected.is_empty();
    Ok(Some(WeighedPlan { unapproved, concerns_task, held, protected, file: file.to_owned() }))
}

/// Returns the message for people about an automatic approval. `looked_at` has the protected files if this approval
/// records them for the first time.
fn said_by_rule(plan: &Plan, file: &str, reason: ApprovalReason, looked_at: Option<&ProtectedFiles>) -> String {
    let (state, alone) = match reason {
        ApprovalReason::NewTask => ("is new here", "its plan is approved by this run"),
        ApprovalReason::WeakensNothing | ApprovalReason::Person | ApprovalReason::FollowedBranch => {
            ("has the rules that were approved", "there is nothing to approve")
        }
    };
    let files = looked_at.map(|looked| format!("its plan and {} protected file(s) are approved by this run", looked.files.len()));
    format!("{} {state}; {}", plan_subject(&plan.task, file), files.as_deref().unwrap_or(alone))
}

/// Returns what a person has to approve of a plan, by what the index has; `None` if no person is needed.
pub(crate) fn unapproved_in(
    index: &StoreIndex,
    project: &ProjectId,
    plan: &Plan,
    digest: Digest,
) -> Result<Option<UnapprovedPlan>, ProjectError> {
    let judgement = ApprovalJudgement::read(index, project, plan, digest)?;
    let difference = judgement.difference();
    Ok((!difference.is_empty()).then(|| judgement.to_unapproved(plan, difference)))
}

/// Returns the terms that registering a project with this plan approves. Returns `None` if the plan is not for the
/// project's own checks, or if its rules are not those that were approved: registering the project again cannot
/// approve other rules. Settings that open more than the default are left out of the terms.
pub(crate) fn terms_of_registration(
    index: &StoreIndex,
    project: &ProjectId,
    plan: &Plan,
    digest: Digest,
    programs: ProgramSearch<'_>,
) -> Result<Option<Box<PlanTerms>>, ProjectError> {
    let is_own = match plan.origin {
        PlanOrigin::Configured | PlanOrigin::Discovered => true,
        PlanOrigin::CommandLine | PlanOrigin::Specification => false,
    };
    let judgement = ApprovalJudgement::read(index, project, plan, digest)?;
    if !is_own || judgement.is_other_plan() || !judgement.settings.difference.changed.is_empty() {
        return Ok(None);
    }
    let terms =
        PlanTerms { settings: judgement.settings.by_rule, ..programs.record(plan, plan_terms(plan), ApprovalReason::NewTask) };
    Ok(Some(Box::new(match &judgement.known {
        Some(known) => terms_by_rule(&known.terms, terms),
        None => terms,
    })))
}

/// Returns what an approval of this plan names as the plan's file; `None` if there is nothing to name, as for a typed
/// command, which needs no approval.
pub(crate) fn file_of(plan: &Plan) -> Option<&str> {
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
        Some(held) => Decision::Compared(compare_terms(&held.terms, &plan_terms(plan))),
    }
}

/// Returns what a plan asks for that is not approved. `is_first` says whether no settings of the project were approved yet.
pub(crate) fn asks_for(difference: &RuleDifference, is_first: bool) -> AsksFor {
    match (difference.opens.is_empty(), is_first) {
        (true, _) => AsksFor::OtherRules,
        (false, false) => AsksFor::More,
        (false, true) => AsksFor::MoreAtFirst,
    }
}

fn change(name: &str, field: &str, difference: String) -> RuleChange {
    RuleChange { name: name.to_owned(), field: field.to_owned(), difference }
}

fn record(
    plan: &Plan,
    programs: ProgramSearch<'_>,
    file: &str,
    plan_digest: Digest,
    reason: ApprovalReason,
    settings: Option<JudgedSettings>,
) -> ApprovalRecord {
    ApprovalRecord {
        task: plan.task.clone(),
        file: file.to_owned(),
        plan_digest,
        reason,
        weakened: Vec::new(),
        terms: PlanTerms { settings, ..programs.record(plan, plan_terms(plan), reason) },
        protected: None,
        signature: None,
    }
}

/// How a plan and the project's settings compare with what was approved.
struct ApprovalJudgement {
    /// The task's current approval; `None` if no plan of the task was approved.
    known: Option<CurrentApproval>,
    /// The newest approval that holds settings of the project; `None` if no settings were approved.
    held_settings: Option<CurrentApproval>,
    decision: Decision,
    settings: SettingsDecision,
    /// The files that have left the tree. Only a caller that has read the tree fills it.
    left: Vec<RuleChange>,
}

impl ApprovalJudgement {
    fn read(index: &StoreIndex, project: &ProjectId, plan: &Plan, digest: Digest) -> Result<Self, ProjectError> {
        let held_settings = index.approved_settings(project)?;
        let settings = decide_settings(held_settings.as_ref().and_then(|held| held.terms.settings.as_ref()), &plan.settings);
        // A typed command has no plan that could be approved, but it runs under the settings of the project.
        let (known, decision) = match file_of(plan) {
            Some(_) => {
                let known = index.approval(project, &plan.task)?;
                let decision = decide(known.as_ref(), plan, digest);
                (known, decision)
            }
            None => (None, Decision::Approved),
        };
        Ok(Self { known, held_settings, decision, settings, left: Vec::new() })
    }

    /// Returns the settings that an approval records which somebody else gave: the present ones, but for what opens the machine.
    fn settings_by_word(&self, plan: &Plan) -> Option<JudgedSettings> {
        let mut settings = self.settings.by_rule.clone()?;
        for (key, value) in &mut settings.values {
            if let Some(now) = plan.settings.now.values.get(key).filter(|now| !is_asked_first(key, now)) {
                value.clone_from(now);
            }
        }
        Some(settings)
    }

    /// Returns whether the rules of the plan itself differ from the approved ones.
    fn is_other_plan(&self) -> bool {
        matches!(&self.decision, Decision::Compared(difference) if !difference.is_empty())
    }

    /// Returns where the rules differ: those of the settings, of the tree and of the plan.
    fn difference(&self) -> RuleDifference {
        let mut difference = self.settings.difference.clone();
        difference.changed.extend(self.left.iter().cloned());
        if let Decision::Compared(of_plan) = &self.decision {
            difference.extend(of_plan.clone());
        }
        difference
    }

    /// Returns the approval that an approval by a person replaces. For the first plan of a task this is the approval
    /// that holds the project's settings, so that its rules about signatures apply. If no settings were approved
    /// either, a first approval is made from the plan, with the sequence number 0.
    fn held_or_first(&self, plan: &Plan, plan_digest: Digest) -> CurrentApproval {
        let first = || CurrentApproval { sequence: Sequence(0), plan_digest, terms: plan_terms(plan), protected: None };
        let settings = || Some(CurrentApproval { protected: None, ..self.held_settings.clone()? });
        self.known.clone().or_else(settings).unwrap_or_else(first)
    }

    fn to_unapproved(&self, plan: &Plan, difference: RuleDifference) -> UnapprovedPlan {
        let held = self.known.as_ref().or(self.held_settings.as_ref());
        let needs_signature = held.is_some_and(|held| held.terms.approval.require_signature);
        let is_typed = plan.origin == PlanOrigin::CommandLine;
        UnapprovedPlan {
            // A typed command runs under the settings of the project's own checks, so the question names their task.
            task: if is_typed { TaskId::default_task() } else { plan.task.clone() },
            file: file_of(plan).unwrap_or(CONFIGURATION_FILE).to_owned(),
            asks_for: asks_for(&difference, self.held_settings.is_none()),
            difference,
            protected: Vec::new(),
            way: if needs_signature { ApprovalWay::Signature } else { ApprovalWay::Answer },
        }
    }
}
