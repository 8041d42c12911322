//! The gate: says whether a commit is proved by the runs that there are. A checkout can make those that are missing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::path::Path;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::gate::beside::{ChangesBeside, ToolchainsNow};
use crate::gate::errors::{from_git_read_error, from_opening_error, from_revision_error};
use crate::gate::inputs::{name_inputs_outside, name_variables, of_commit, other_inputs};
use crate::gate::notes::Attested;
use crate::gate::policy::{Trusted, TrustedBecause};
use crate::project::{opening, setup};
use proctor_evidence::{AcceptedChanges, AcceptedOf, Store, evidence_directory};
use proctor_git::ObjectId;
use proctor_model::{
    ClaimOrigin, CommandExit, GateClaim, GatePolicy, ProjectId, ProofAsked, RunId, TaskId, TreeDigest, TreePath,
};
use proctor_plan::changes::with_recorded_tests;
use proctor_plan::verdict::{GateJudgement, GateRules, GateState, RequiredPlan, judge_gate, overall_state};
use proctor_project::{
    AcceptedCommit, GateSigners, ProjectRepository, StoreReader, accepted_commits, committed_digests, keep_accepted_commit,
    keep_trusted_tip, plans_of_commit, replaced_tip,
};
use proctor_sandbox::process::clock;
use proctor_tree::ignore::{IgnoreVerdict, Matcher, MatcherSettings};
use proctor_tree::with_other_inputs;

mod answer;
mod beside;
mod checkout;
mod errors;
mod flips;
mod inputs;
mod notes;
mod plans;
mod policy;
mod proof;

pub use answer::{AcceptedBy, CommitGateV1, GateAnswer, NotRun, with_causes};
pub use checkout::{MissingRun, RunOfCommit, has_check_on_request, is_checkout, missing_runs, run_missing};
pub use errors::no_repository;
pub use flips::FlippedCheck;
pub use notes::{AttestedWhere, NotesAsked, NotesQuestion, RefusedAttestation, judge_commit};
pub use policy::{AskedFor, signers, trusted};
use proof::AnswersBy;
pub use proof::GateProof;

/// The name of a file that no pattern is likely to mean, to ask whether a pattern means all files of a directory.
const ANY_FILE: &[u8] = b"\x01proctor\x01";

/// Said where the commit that a judged one has to be compared with is gone.
const LOST: &str = "nothing was compared: the repository does not have the commit that was accepted last in this store any more:";

/// How many of the newest lines of a ledger are searched for an answer of `proctor prove`.
const MOST_LINES_FOR_PROOFS: usize = 20_000;

/// The most changed files whose notes are read for acceptances of what changed in them.
const MOST_FILES_WITH_NOTES: usize = 200;

/// Which commit is asked about, and by which policy.
pub struct GateQuestion<'a> {
    pub revision: &'a str,
    pub asked_for: AskedFor<'a>,
    pub policy_from: Option<&'a str>,
    /// Asked if what others attested counts too.
    pub notes: Option<NotesQuestion<'a>>,
}

/// Opens the git repository in which a project lies.
///
/// # Errors
/// When it is in none, or git's files cannot be read.
pub fn open_repository(root: &Path) -> Result<ProjectRepository, CommandError> {
    ProjectRepository::open(root).map_err(|error| from_opening_error(&error))?.ok_or_else(|| no_repository(root))
}

/// Answers a question by the runs that there are. Nothing is run. An accepted commit is remembered: later ones are compared with it.
///
/// # Errors
/// When the commit, the policy or the store cannot be read.
pub fn judge(
    question: &GateQuestion<'_>,
    environment: &Environment,
    repository: &ProjectRepository,
) -> Result<GateAnswer, CommandError> {
    let answer = look(question, environment, repository)?;
    let store = Store::open_to_read(environment.state_root());
    if let Some(accepted) = answer.newly_accepted.clone() {
        keep_accepted_commit(&store, &repository.root, accepted);
    }
    if let Some(tip) =
        answer.tip.clone().filter(|_| !answer.is_replaced && (!answer.is_accepted_here || answer.state == GateState::Proved))
    {
        keep_trusted_tip(&store, &repository.root, tip);
    }
    Ok(answer)
}

/// Answers as [`judge`] does, and remembers nothing.
pub(crate) fn look(
    question: &GateQuestion<'_>,
    environment: &Environment,
    repository: &ProjectRepository,
) -> Result<GateAnswer, CommandError> {
    let storage = &repository.storage;
    let commit = storage.resolve(question.revision).map_err(|error| from_revision_error(storage, &error))?;
    let git_tree = storage.tree_of(commit).map_err(|error| from_git_read_error(storage, &error))?;
    let trusted =
        policy::trusted(repository, (question.asked_for, commit), question.policy_from, (environment, &repository.root))?;
    let mut compared = policy::compare(repository, commit, &trusted)?;
    let store = Store::open_to_read(environment.state_root());
    // Where nothing trusted stands beside the commit, the last one does that was accepted here.
    let user = setup::allowed_by_user(environment, &repository.root);
    let mut archive = opening::open_archive(environment)?;
    let followed = archive.followed_commit(repository, &user)?;
    let is_followed = trusted.is_followed(followed.as_ref());
    let tip = trusted.fetched_tip(storage);
    let replaced = tip
        .as_ref()
        .filter(|_| !is_followed)
        .and_then(|tip| Some((tip, replaced_tip(&store, (&repository.root, storage), tip)?)));
    let says_nothing = !is_followed && (replaced.is_some() || trusted.says_nothing_of(commit, storage));
    let certain = replaced.filter(|(_, replaced)| replaced.is_certain);
    compared.lowered.extend(certain.as_ref().map(|(tip, replaced)| replaced.words(tip)));
    let branch = match (question.revision, storage.is_branch(question.revision)) {
        (named, Ok(true)) => named.to_owned(),
        (_, Ok(false) | Err(_)) => storage.checked_out_branch().ok().flatten().unwrap_or_default(),
    };
    let known = if says_nothing { accepted_commits(&store, repository, commit) } else { Vec::new() };
    let last = policy::accepted_beside(repository, &known, (commit, &branch)).unwrap_or_else(|lost| {
        compared.lowered.push(format!("{LOST} {lost}"));
        None
    });
    let mut policy_from = trusted.words(commit);
    if let Some(last) = &last {
        // Where no commit is trusted, the approved rules are what a run's rules are compared with.
        if trusted.commit().is_some() {
            compared.lowered.extend(policy::compare(repository, commit, last)?.lowered);
        }
        policy_from.push_str(&last.beside_words());
    } else if trusted.commit() == Some(commit) {
        policy_from.push_str(", beside which only the approved plan stands");
    }
    let own = policy::configuration_of(repository, commit)?;
    let beside = last.as_ref().unwrap_or(&trusted).commit().filter(|beside| *beside != commit);
    let base = match beside {
        // What only the trusted branch has since the two parted is nothing that the commit takes away. What a push replaces is gone there.
        Some(base) if !says_nothing && !trusted.is_because(TrustedBecause::Target) => {
            let parted = storage.merge_base(base, commit).unwrap_or(base);
            if parted != base {
                policy_from.push_str(&format!("; compared with {}, where the commit left it", &parted.hex()[..12]));
            }
            Some(parted)
        }
        base => base,
    };
    // An old configuration that nobody can read any more starts nothing.
    let base = base.map(|base| (base, policy::configuration_of(repository, base).unwrap_or_default()));
    let base = base.as_ref().map(|(base, configuration)| (*base, configuration));
    let mut changed = match base {
        Some(base) => beside::changes_beside(repository, [base, (commit, &own)])?,
        None => ChangesBeside::default(),
    };
    // Keys and bundles that cannot be read are an error also where nothing needs them.
    let allowed = policy::signers_beside(repository, (&trusted, last.as_ref()), &compared.policy)?;
    let bundles = notes::bundles(environment, question.notes.as_ref())?;
    let settings = opening::matcher_settings_with_inputs(environment, &repository.root, &compared.rules)?;
    let settings = of_commit((environment, repository), commit, settings)?;
    let matcher = opening::matcher_of(&settings)?;
    let odd = policy::odd_configuration(repository, commit, &trusted)?;
    let tree = committed_digests(&store, (storage, git_tree, &repository.below), (&matcher, &settings));
    let mut tree = tree.and_then(|tree| odd.map_or(Ok(tree), Err));
    let (mut judged, mut attested) = (JudgedRuns::default(), Attested::default());
    let is_asked = question.notes.as_ref().is_some_and(NotesQuestion::is_asked);
    let (mut accepted, mut flipped, mut proved) = (Vec::new(), Vec::new(), None);
    if let Ok(tree) = &mut tree {
        let plans = plans::required_plans(repository, commit, &own, &compared.policy.tasks)?;
        let by = JudgedBy::new(&compared.policy, &trusted, plans)?;
        let of_notes = |source, tree: TreeDigest, files: &BTreeSet<ObjectId>| {
            let mut refused = Vec::new();
            let shared = notes::shared_bundles(environment, question.notes.as_ref(), tree, &mut refused);
            let bundles: Vec<Vec<u8>> = bundles.iter().cloned().chain(shared).collect();
            let signers = match question.notes.as_ref().and_then(|notes| notes.signers) {
                Some(file) => GateSigners::only(notes::signers_of_file(environment, &repository.root, file)?),
                None => opening::open_archive(environment)?.gate_signers(allowed.clone())?,
            };
            let read =
                notes::read((environment, repository), &signers, (git_tree, tree, files), (source, &bundles), clock::now());
            read.map(|read| Attested { refused: [read.refused, refused].concat(), ..read })
        };
        let claimed = |digest| match &question.notes {
            Some(notes) if notes.is_asked() => of_notes(notes.source, digest, &BTreeSet::new()),
            // Whoever writes `.git` chooses which commit is trusted, and with it the keys. So a person has to have named the branch.
            Some(notes) if is_followed || trusted.is_named() => {
                Ok(of_notes(notes.source, digest, &BTreeSet::new()).map(Attested::of_named_keys).unwrap_or_default())
            }
            Some(_) | None => Ok(Attested::default()),
        };
        // Of what nobody asked for, nothing is read where the own runs decide.
        let judge_on = |archive: &mut StoreReader, digest| {
            let mut judge = |attested: Attested| {
                let judged = judge_runs((environment, archive), repository, &by, (digest, &attested.claims))?;
                Ok::<_, CommandError>((judged, attested))
            };
            let first = judge(if is_asked { claimed(digest)? } else { Attested::default() })?;
            if is_asked || first.0.is_decided() { Ok(first) } else { judge(claimed(digest)?) }
        };
        (judged, attested) = judge_on(&mut archive, tree.digest)?;
        let mut inputs = matcher;
        if !judged.is_decided() {
            // What a project's files lead to depends on what is installed: a run had the inputs that it recorded.
            for matcher in other_inputs((environment, &mut archive), (repository, commit), &settings, &attested.other_inputs)? {
                let Ok(digest) = with_other_inputs(storage, git_tree, &repository.below, (tree.own, &matcher)) else { continue };
                let (other, claimed) = judge_on(&mut archive, digest)?;
                if other.is_decided() {
                    (judged, tree.digest, inputs, attested) = (other, digest, matcher, claimed);
                    break;
                }
            }
        }
        if let Some(base) = base.filter(|_| overall_state(&judged.judgements) == GateState::Proved) {
            let digest_of = |commit: ObjectId| {
                let git_tree = storage.tree_of(commit).ok()?;
                let digests = committed_digests(&store, (storage, git_tree, &repository.below), (&inputs, &settings));
                digests.ok().map(|digests| digests.digest)
            };
            let runs: Vec<&RunId> = judged.judgements.iter().flat_map(|judged| &judged.runs).collect();
            let now = archive.tests_of_runs(&repository.root, tree.digest, &runs)?;
            let before = beside::trusted_tests(&mut archive, repository, base, &compared.policy, &digest_of)?.zip(now);
            if let Some((before, now)) = before {
                changed.changes = with_recorded_tests(changed.changes, &before, &now);
            }
        }
        let plans_of = |task: &TaskId| {
            let plans = plans_of_commit(repository, commit, &own, std::slice::from_ref(task));
            plans.map(|mut plans| plans.remove(task).unwrap_or_default()).map_err(|error| from_git_read_error(storage, &error))
        };
        let by_policy = (&compared.policy, judged.judgements.as_slice());
        flipped = flips::flipped_checks(&mut archive, (&repository.root, tree.digest), by_policy, &plans_of)?;
        let asked = changed.changes.iter().filter(|change| change.kind.asks(compared.policy.weakened));
        compared.lowered.extend(asked.clone().map(ToString::to_string));
        if !compared.lowered.is_empty() || !flipped.is_empty() {
            // Whether a change was accepted is asked for in any case. What cannot be read accepts nothing.
            let files = asked.filter_map(|change| changed.accepted_by(change)?.noted_at()).take(MOST_FILES_WITH_NOTES).collect();
            let read = of_notes(AttestedWhere::NotesAndBundles, tree.digest, &files);
            attested.accepted = read.map(|read| read.accepted).unwrap_or_default();
        }
        accepted = take_accepted(&mut compared.lowered, &attested.accepted, (trusted.commit(), &changed));
        let of_trusted: Vec<_> = attested.accepted.iter().filter(|(_, of)| of.is_beside(trusted.commit())).collect();
        let unaccepted = flips::take_accepted_flips(&flipped, &of_trusted, &mut accepted);
        flips::refuse_flips(&mut judged.judgements, &unaccepted, &compared.policy);
        name_inputs_outside(&mut judged.judgements, &inputs, &repository.below);
        name_variables(&mut judged.judgements, (environment, &repository.root, &mut archive), tree.digest)?;
        if is_asked && !judged.is_decided() {
            let unaccepted = by.with_rules(repository, |rules| notes::unaccepted(rules, &attested.claims));
            attested.has_refused_statement |= !unaccepted.is_empty();
            attested.refused.extend(unaccepted);
        }
        if compared.policy.prove == ProofAsked::Tests {
            let project = archive.find_project(&repository.root)?;
            let own = project.map(|project| archive.proofs_on_tree(&project, tree.digest, MOST_LINES_FOR_PROOFS));
            let own = own.transpose()?.unwrap_or_default();
            let own = own.into_iter().map(|(_, record)| GateProof { record, is_own: true });
            let others = attested.proofs.drain(..).map(|record| GateProof { record, is_own: false });
            let change = (commit, base.map(|(base, _)| base));
            let toolchains = ToolchainsNow::new(environment, &mut archive, &repository.root, &BTreeMap::new())?;
            let by = AnswersBy { policy: &compared.policy, plans: &by.plans, changed: &|proof| toolchains.changed_since(proof) };
            let change = proof::judge_change(own.chain(others).collect(), storage, change, &by).unzip();
            judged.judgements.extend(change.0);
            proved = change.1.flatten();
        }
    }
    if tree.is_err() {
        let asked = changed.changes.iter().filter(|change| change.kind.asks(compared.policy.weakened));
        compared.lowered.extend(asked.map(ToString::to_string));
    }
    let tree = tree.map(|tree| tree.digest);
    let JudgedRuns { judgements, elsewhere, has_other_format } = judged;
    let state = match (overall_state(&judgements), &tree) {
        (_, Err(_)) => GateState::NotAccepted,
        (GateState::Red, Ok(_)) => GateState::Red,
        (_, Ok(_)) if !compared.lowered.is_empty() => GateState::NotAccepted,
        // Somebody has said something of this content, and it does not count.
        (GateState::NotTested, Ok(_)) if attested.has_refused_statement => GateState::NotAccepted,
        (state, Ok(_)) => state,
    };
    // Whoever asks names a commit or a file for one answer. Any other proved commit was compared with what was accepted before it.
    let is_accepted_here = says_nothing && !compared.lowered.iter().any(|one| one == policy::WEAKER_THAN_DEFAULTS);
    let newly_accepted = match &trusted {
        _ if trusted.is_because(TrustedBecause::Named) => None,
        Trusted::Commit { .. } | Trusted::Defaults if state == GateState::Proved => {
            Some(AcceptedCommit { commit, branch: branch.clone() })
        }
        Trusted::Commit { commit: base, .. } if !says_nothing && tip.is_some() => {
            Some(AcceptedCommit { commit: *base, branch: String::new() })
        }
        Trusted::Commit { .. } | Trusted::Defaults | Trusted::File { .. } => None,
    };
    let notes = question.notes.as_ref().filter(|_| is_asked).map(|notes| NotesAsked {
        are_there: attested.is_there,
        names_signers: notes.signers.is_some() || compared.policy.signers.is_some(),
    });
    Ok(GateAnswer {
        state,
        notes,
        revision: question.revision.to_owned(),
        commit,
        git_tree,
        tree,
        policy: compared.policy,
        policy_from,
        lowered: compared.lowered,
        proof: proved,
        flipped,
        accepted_files: changed.by_text(),
        changes: changed.changes,
        accepted,
        trusted: trusted.commit(),
        beside,
        is_accepted_here,
        is_replaced: certain.is_some(),
        tip: tip.clone(),
        branch,
        followed,
        judgements,
        elsewhere: elsewhere
            .into_iter()
            .map(|(run, project)| (run, evidence_directory(environment.state_root()).join(project.as_str())))
            .collect(),
        has_other_format,
        is_head: storage.head().ok().flatten() == Some(commit),
        converts_line_endings: storage.converts_line_endings(),
        not_run: None,
        was_run: false,
        attested: attested.of_others(),
        newly_accepted,
        refused_attestations: attested.refused,
    })
}

/// Takes the changes out of `lowered` that somebody accepted, beside the same trusted commit or for the same contents of their file, and
/// returns them with who did.
fn take_accepted(
    lowered: &mut Vec<String>,
    accepted: &[(String, AcceptedChanges)],
    (trusted, beside): (Option<ObjectId>, &ChangesBeside),
) -> Vec<AcceptedBy> {
    let (files, mut taken) = (beside.by_text(), Vec::new());
    for (name, acceptance) in accepted {
        let is_about = |change: &String| match acceptance.of {
            AcceptedOf::Commit { .. } => acceptance.is_beside(trusted),
            AcceptedOf::File { .. } => files.get(change) == Some(&acceptance.of),
        };
        let is_accepted = |change: &String| acceptance.changes.contains(change) && is_about(change);
        let (changes, left) = mem::take(lowered).into_iter().partition(is_accepted);
        *lowered = left;
        taken.push(AcceptedBy { name: name.clone(), key: acceptance.key, changes });
    }
    taken.retain(|by| !by.changes.is_empty());
    taken
}

/// By what the runs on a commit's tree are judged.
struct JudgedBy<'a> {
    policy: &'a GatePolicy,
    trusted: &'a Trusted,
    /// What the commit's own plans ask for.
    plans: BTreeMap<TaskId, RequiredPlan>,
    /// Its patterns mean the ignored files that the policy accepts.
    accepted: Matcher,
}

impl<'a> JudgedBy<'a> {
    fn new(policy: &'a GatePolicy, trusted: &'a Trusted, plans: BTreeMap<TaskId, RequiredPlan>) -> Result<Self, CommandError> {
        let settings = MatcherSettings { ignore: policy.ignored_inputs.clone(), ..MatcherSettings::default() };
        let accepted = Matcher::new(&settings).map_err(|problems| {
            let wrong: Vec<String> = problems.iter().map(|one| format!("`{}`: {}", one.pattern, one.problem)).collect();
            let message = format!("`ignored_inputs` of `[gate]`: {}", wrong.join("; "));
            CommandError::new(CommandExit::SpecificationWrong, message).hint("write patterns as in `.gitignore`")
        })?;
        Ok(Self { policy, trusted, plans, accepted })
    }

    fn judge(&self, repository: &ProjectRepository, toolchains: &ToolchainsNow, claims: &[GateClaim]) -> Vec<GateJudgement> {
        let changed = |origin: &ClaimOrigin| toolchains.changed(origin);
        self.with_rules(repository, |rules| judge_gate(&GateRules { changed_toolchains: &changed, ..*rules }, claims))
    }

    /// Passes the rules on, which name functions that live as long as this call.
    fn with_rules<T>(&self, repository: &ProjectRepository, judge: impl FnOnce(&GateRules<'_>) -> T) -> T {
        let is_tracked = |path: &str| match self.trusted.commit() {
            Some(commit) => repository.may_have(commit, path),
            None => false,
        };
        let rules = GateRules {
            policy: self.policy,
            plans: &self.plans,
            now: clock::now(),
            is_accepted_input: &|path| self.accepts(path),
            is_tracked_by_trusted: &is_tracked,
            changed_toolchains: &|_| Vec::new(),
        };
        judge(&rules)
    }

    /// Returns whether the policy accepts that checks read an ignored file. A directory ends with a slash.
    fn accepts(&self, path: &str) -> bool {
        let (path, is_directory) = path.strip_suffix('/').map_or((path, false), |path| (path, true));
        let Ok(path) = TreePath::try_from(path) else { return false };
        let is_meant = |path: &TreePath, is_directory| self.accepted.decide(path, is_directory).verdict == IgnoreVerdict::Out;
        is_meant(&path, is_directory) || (is_directory && is_meant(&path.join(ANY_FILE), false))
    }
}

/// What the runs on a commit's tree came to.
#[derive(Default)]
struct JudgedRuns {
    judgements: Vec<GateJudgement>,
    /// The projects of the runs that are not of the project itself.
    elsewhere: BTreeMap<RunId, ProjectId>,
    /// Whether the project's last run has a tree digest in an earlier format.
    has_other_format: bool,
}

impl JudgedRuns {
    fn is_decided(&self) -> bool {
        matches!(overall_state(&self.judgements), GateState::Proved | GateState::Red)
    }
}

/// Judges the runs on a tree, and what others attested of it: the runs of this project, and if they leave something unproved, also
/// those of the same directory in the repository's other worktrees.
fn judge_runs(
    (environment, archive): (&Environment, &mut StoreReader),
    repository: &ProjectRepository,
    by: &JudgedBy<'_>,
    (tree, attested): (TreeDigest, &[GateClaim]),
) -> Result<JudgedRuns, CommandError> {
    let own: Option<ProjectId> = archive.find_project(&repository.root)?;
    let runs = archive.claims_on_tree(own.as_ref(), (&[], &repository.root), tree)?;
    let toolchains = ToolchainsNow::new(environment, archive, &repository.root, &runs.elsewhere)?;
    let judgements = by.judge(repository, &toolchains, &together(runs.claims, attested));
    let judged = JudgedRuns { judgements, elsewhere: BTreeMap::new(), has_other_format: runs.has_other_format };
    if judged.is_decided() {
        return Ok(judged);
    }
    let others = archive.projects_with_content(&repository.root, tree)?;
    let all = archive.claims_on_tree(own.as_ref(), (&others, &repository.root), tree)?;
    let toolchains = ToolchainsNow::new(environment, archive, &repository.root, &all.elsewhere)?;
    let judgements = by.judge(repository, &toolchains, &together(all.claims, attested));
    Ok(JudgedRuns { judgements, elsewhere: all.elsewhere, has_other_format: all.has_other_format })
}

/// Returns the claims of this store and of others, newest first. An own run that was attested too is there twice, which changes nothing.
fn together(mut claims: Vec<GateClaim>, attested: &[GateClaim]) -> Vec<GateClaim> {
    claims.extend_from_slice(attested);
    claims.sort_by_key(|claim| Reverse(claim.origin.ended));
    claims
}
