//! Answers for a project without a fresh verdict by runs that trusted keys attested, where `proctor gate` takes them as a proof of the
//! commit that is checked out, and nothing else lies in the directory.

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::error::CommandError;
use crate::fetched_notes::fetched_notes;
use crate::gate::{AskedFor, AttestedWhere, GateAnswer, GateQuestion, NotesQuestion, look};
use crate::share::{self, Share, approved_share};
use proctor_evidence::read_attestation_notes;
use proctor_git::ObjectId;
use proctor_model::{
    AttestedBy, CheckCoverage, ClaimSigner, CommandExit, Freshness, IsolationLevel, KnownFrom, LastVerdict, OverallResult,
    OverallStatus, ProjectStatus, RunId, Sequence, TreeDigest, TreeFormat, VerdictStatus,
};
use proctor_plan::verdict::{GateState, GateSubject};
use proctor_project::{DescribedProject, OtherStoresRun, ProjectRepository, StoreReader};

/// The commit that is meant.
const CHECKED_OUT: &str = "HEAD";
/// The most reasons that are named why attested runs do not count.
const MOST_REASONS: usize = 5;

/// Takes attested runs for the task of the project's own checks, if nothing else is known of the present files. What cannot be read is no
/// answer, and never keeps a project from being shown.
pub(crate) fn add_attested(
    environment: &Environment,
    archive: &mut StoreReader,
    (root, described): (&Path, &DescribedProject<'_>),
    status: &mut ProjectStatus,
) {
    let task = &described.plan.task;
    // Where something was looked for and nothing is known, it is said why.
    let may_be_known = |one: &&VerdictStatus| one.task == *task && one.known.is_none() && !one.not_known.is_empty();
    let Some(tree) = status.tasks.iter().find(may_be_known).and_then(|one| one.tree) else { return };
    let found = find(environment, archive, (root, tree), described, status).unwrap_or_else(|error| {
        tracing::warn!("what is attested of the present files is not used: {}", error.lines().join("; "));
        Err(Vec::new())
    });
    let Some(standing) = status.tasks.iter_mut().find(|one| one.task == *task) else { return };
    match found {
        Ok(Some((verdict, from))) => {
            standing.freshness = Freshness::Fresh { result: OverallResult::Passed, exit: CommandExit::Proceed };
            (standing.verdict, standing.known) = (Some(verdict), Some(from));
            standing.checks.clear();
            standing.not_known.clear();
        }
        Ok(None) => {}
        Err(why) => {
            standing.not_known.extend(why.into_iter().map(|why| format!("what others attested does not count: {why}")));
        }
    }
}

/// Why attested runs do not count, or what they say; `None` if there are none.
type Found = Result<Option<(LastVerdict, KnownFrom)>, Vec<String>>;

fn find(
    environment: &Environment,
    archive: &mut StoreReader,
    (root, tree): (&Path, TreeDigest),
    described: &DescribedProject<'_>,
    status: &ProjectStatus,
) -> Result<Found, CommandError> {
    let Some(project) = &status.project else { return Ok(Ok(None)) };
    let Ok(Some(repository)) = ProjectRepository::open(root) else { return Ok(Ok(None)) };
    let commit = repository.storage.resolve(CHECKED_OUT).ok();
    let Some(git_tree) = commit.and_then(|commit| repository.storage.tree_of(commit).ok()) else { return Ok(Ok(None)) };
    let share = approved_share(environment, archive, root)?;
    if !is_attested(environment, &repository, git_tree, &share, tree) {
        return Ok(Ok(None));
    }
    let source = AttestedWhere::NotesAndBundles;
    let notes = NotesQuestion { source, bundles: &[], signers: None, shared: share.directory.as_ref() };
    let question =
        GateQuestion { revision: CHECKED_OUT, asked_for: AskedFor::Branch(CHECKED_OUT), policy_from: None, notes: Some(notes) };
    let answer = look(&question, environment, &repository)?;
    let runs = match deciding_runs(&answer, tree, described) {
        Ok(runs) => runs,
        Err(why) => return Ok(Err(why)),
    };
    let (settings, gate) = (described.settings, &answer.policy);
    let compared = archive.compare_attested((project, root, tree), (described.plan, settings, gate), &runs);
    let condition = match compared? {
        Ok(condition) => condition,
        Err(why) => return Ok(Err(vec![why])),
    };
    let Some(newest) = runs.iter().max_by_key(|run| run.claim.origin.ended) else { return Ok(Ok(None)) };
    let ClaimSigner::Allowed { name } = &newest.claim.origin.signer else { return Ok(Ok(None)) };
    let origin = &newest.claim.origin;
    let attested = Some(AttestedBy { name: name.clone(), ended: origin.ended });
    let from = KnownFrom { run: newest.claim.run.clone(), root: None, condition: Some(condition), attested };
    Ok(Ok(Some((verdict_of(newest, tree), from))))
}

/// Returns whether what others attested may say something of the commit that is checked out in `root`.
pub(crate) fn may_be_attested(environment: &Environment, archive: &mut StoreReader, root: &Path) -> bool {
    let Ok(Some(repository)) = ProjectRepository::open(root) else { return false };
    let commit = repository.storage.resolve(CHECKED_OUT).ok();
    let Some(git_tree) = commit.and_then(|commit| repository.storage.tree_of(commit).ok()) else { return false };
    let mut has_directory = || approved_share(environment, archive, root).is_ok_and(|share| share.directory.is_some());
    has_note(environment, &repository, git_tree) || has_directory()
}

fn has_note(environment: &Environment, repository: &ProjectRepository, git_tree: ObjectId) -> bool {
    let mut is_there = false;
    // What cannot be read says nothing.
    let _read = read_attestation_notes(&repository.storage, git_tree, &mut |_| is_there = true);
    if let Some(fetched) = fetched_notes(environment, repository).filter(|_| !is_there) {
        let _read = read_attestation_notes(&fetched, git_tree, &mut |_| is_there = true);
    }
    is_there
}

/// Returns whether anybody attested something of the commit or of the tree.
fn is_attested(
    environment: &Environment,
    repository: &ProjectRepository,
    git_tree: ObjectId,
    share: &Share,
    tree: TreeDigest,
) -> bool {
    let in_directory = || {
        let listed = share
            .directory
            .as_ref()
            .and_then(|directory| share::read_or_say(environment, directory, move |directory| directory.list_by_tree(tree)));
        listed.is_some_and(|listed| !listed.is_empty())
    };
    has_note(environment, repository, git_tree) || in_directory()
}

/// Returns the attested runs on which the gate's answer rests, if it rests on such alone and is about the present tree.
fn deciding_runs<'a>(
    answer: &'a GateAnswer,
    tree: TreeDigest,
    described: &DescribedProject<'_>,
) -> Result<Vec<&'a OtherStoresRun>, Vec<String>> {
    let why = |text: &str| Err(vec![text.to_owned()]);
    if answer.tree.as_ref().ok() != Some(&tree) {
        return why("files differ from the commit that is checked out");
    }
    // Whoever writes `.git` chooses which commit is trusted, and with it the keys. So a person has to have named the branch.
    if answer.trusted.is_none() || answer.followed.as_ref().map(|followed| followed.commit) != answer.trusted {
        return why("no person said that the branch which names the signers is followed (`follow` in `[gate]`)");
    }
    let subject = GateSubject::Task(described.plan.task.clone());
    let judged = answer.judgements.iter().find(|judged| judged.subject == subject);
    let Some(judged) = judged.filter(|_| answer.state == GateState::Proved) else {
        let reasons: Vec<String> = answer.judgements.iter().flat_map(|judged| &judged.reasons).map(ToString::to_string).collect();
        let refused = answer.refused_attestations.iter().map(|one| one.message.clone());
        // The judgement says the same of a run that a trusted key attested.
        let refused = refused.filter(|message| !reasons.iter().any(|reason| message.ends_with(reason)));
        let lowered = answer.lowered.iter().map(|what| format!("the commit asks for less than the trusted one: {what}"));
        let all = lowered.chain(refused).chain(reasons.clone());
        return Err(all.take(MOST_REASONS).collect());
    };
    let attested = |run: &RunId| answer.attested.iter().find(|one| one.claim.run == *run);
    match judged.runs.iter().map(attested).collect::<Option<Vec<_>>>() {
        Some(runs) if !runs.is_empty() && judged.unnamed.is_empty() => Ok(runs),
        Some(_) | None => why("the commit is proved by runs of this store"),
    }
}

/// Returns the verdict as that of a run. This store has no report of it.
fn verdict_of(run: &OtherStoresRun, tree: TreeDigest) -> LastVerdict {
    let OtherStoresRun { claim, .. } = run;
    LastVerdict {
        run_id: claim.run.clone(),
        sequence: Sequence(0),
        coverage: Some(CheckCoverage::Whole),
        tree: Some(tree),
        tree_format: TreeFormat::V2,
        tested: None,
        plan: claim.plan,
        status: OverallStatus::Success,
        result: Some(OverallResult::Passed),
        blocking: 0,
        ended: Some(claim.origin.ended),
        isolation: Some(claim.origin.level).filter(|level| *level != IsolationLevel::Namespace),
        exit: CommandExit::Proceed,
        report: PathBuf::new(),
    }
}
