//! `proctor attest`: tells other people, signed, which runs prove a commit, in a git note that they can verify.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::cli::commands::anchor::from_git_error;
use crate::cli::commands::gate::{self, Missing};
use crate::cli::commands::run::RunOutput;
use crate::cli::commands::{accept_changes, share};
use crate::cli::gate_arguments::AttestOptions;
use crate::cli::{environment, render, screen};
use proctor_app::gate::{AskedFor, GateAnswer, GateQuestion, open_repository, signers, trusted};
use proctor_app::project::{opening, setup};
use proctor_app::share::{Share, put};
use proctor_app::{CommandError, Environment};
use proctor_evidence::report::OutgoingRedactor;
use proctor_evidence::{
    ATTESTATIONS, Attestor, ClaimedEnvironment, ClaimedFlip, CommitClaim, EvidenceError, FETCHED_ATTESTATIONS, FileOperation,
    GitAnchorError, NoteChange, ProvedChange, PublicKey, Store, VerificationSummary, add_attestations, attestation_bundle,
    remove_attestation_bundle, write_attestation_bundle, write_for_signing,
};
use proctor_git::ObjectId;
use proctor_model::{
    Blocking, ClaimOrigin, ClaimedCheck, CommandExit, Digest, FlakyTests, GateClaim, GatePolicy, ProofAsked, RunId, TreePath,
    WeakenedChanges, World,
};
use proctor_plan::verdict::GateState;
use proctor_project::{ProjectRepository, ProvingRun};
use proctor_sandbox::process::clock;

/// The revision that is meant where none is named.
const CHECKED_OUT: &str = "HEAD";
/// How long another program may hold the lock of the notes.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two attempts to take the lock of the notes.
const TRY_AGAIN: Duration = Duration::from_millis(20);

pub(crate) fn execute(options: &AttestOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    if options.fetch {
        share::fetch(environment, &root)?;
        return Ok(CommandExit::Proceed);
    }
    let shared = if options.dry_run { Share::default() } else { share::approved(environment, &root)? };
    // What cannot be pushed is found out before anything is signed.
    let remote = if options.push { Some(share::remote(&shared)?.to_owned()) } else { None };
    let bundle = options.bundle.as_ref().map(|bundle| environment.absolute(bundle));
    if let Some(path) = bundle.as_ref().filter(|path| path.symlink_metadata().is_ok()) {
        return Err(CommandError::new(CommandExit::Usage, format!("`{}` is there already", path.display()))
            .hint("name a new file: --bundle FILE"));
    }
    let repository = open_repository(&root)?;
    let revision = options.revision.as_deref().unwrap_or(CHECKED_OUT);
    let question = GateQuestion {
        revision,
        asked_for: AskedFor::Branch(revision),
        policy_from: options.policy_from.as_deref(),
        notes: None,
    };
    let mut answer = gate::answer(&question, Missing::Left, environment, &repository, RunOutput::Nothing)?;
    let mut acceptance = Vec::new();
    if options.accept_changes && answer.tree.is_ok() {
        acceptance = accept_changes::accept(&answer, &root, &repository, &question, environment)?;
        answer = gate::answer(&question, Missing::Left, environment, &repository, RunOutput::Nothing)?;
    }
    let tree = match (answer.state, &answer.tree) {
        (GateState::Proved | GateState::Red, Ok(tree)) => tree,
        _ => {
            screen::gate_lines(&answer, environment::style(environment)).iter().for_each(render::line);
            if let Some(path) = bundle.as_ref().filter(|_| !acceptance.is_empty()) {
                write_attestation_bundle(path, &acceptance).map_err(|error| from_bundle_error(&error))?;
            }
            render::note(match acceptance[..] {
                [] => "nothing was attested, because the commit is neither proved nor red",
                _ => "nothing else was attested, because the commit is neither proved nor red",
            });
            return Ok(answer.state.exit());
        }
    };
    let is_proved = answer.state == GateState::Proved;
    let deciding: Vec<&RunId> = answer.judgements.iter().flat_map(|judged| &judged.runs).collect();
    let runs = opening::open_archive(environment)?.proving_runs(&root, *tree, &deciding)?;
    let store = Store::open(environment.state_root())?;
    let attestor = Attestor::open(&store, clock::now())?;
    let redactor = environment.outgoing_redactor();
    let commit = options.revision.as_ref().map(|_| answer.commit);
    let claim = |run: &ProvingRun| to_commit_claim(run, &answer, &repository.below, commit, attestor.key(), &redactor);
    let claims: Vec<CommitClaim> = runs.iter().filter_map(|run| claim(run).transpose()).collect::<Result<_, _>>()?;
    let summary = VerificationSummary { claims: &claims, policy: digest_of(&answer.policy), verified: clock::now() };
    let summary = summary.to_statement().ok_or_else(|| {
        CommandError::new(CommandExit::NoFreshVerdict, "the runs that decide about the commit cannot be told to others")
            .hint("`proctor run` makes a run of this version of proctor, which can")
    })?;
    // A summary says that the policy accepted the content.
    let summary = is_proved.then_some(summary);
    let proof = own_proof(&answer, repository.below.clone(), attestor.key(), &redactor);
    let statements: Vec<Vec<u8>> = claims.iter().map(CommitClaim::to_statement).chain(proof).collect();
    if options.dry_run {
        let shown = statements.iter().chain(&summary).filter_map(|statement| serde_json::from_slice(statement).ok());
        render::document(&shown.collect::<Vec<Value>>());
        return Ok(answer.state.exit());
    }
    if let (Some(directory), Some(summary)) = (&options.in_toto, &summary) {
        let commit = [("git-commit", answer.commit), ("git-tree", answer.git_tree)];
        let directory = environment.absolute(directory);
        write_in_toto(&directory, commit, summary).map_err(|error| from_bundle_error(&error))?;
    }
    let lines: Vec<Vec<u8>> = statements.iter().map(|statement| attestor.sign(statement)).collect();
    let summary = summary.map(|summary| attestor.sign(&summary));
    // A bundle that cannot be written leaves no note behind, and the other way round.
    if let Some(path) = &bundle {
        let lines: Vec<Vec<u8>> = acceptance.iter().chain(&lines).chain(&summary).cloned().collect();
        write_attestation_bundle(path, &lines).map_err(|error| from_bundle_error(&error))?;
    }
    let add = || add_patiently(&root, answer.git_tree, (&lines, summary.as_deref()));
    let change = add().map_err(|error| {
        bundle.iter().for_each(|path| remove_attestation_bundle(path));
        from_git_error(&error)
    })?;
    if !is_proved {
        screen::gate_lines(&answer, environment::style(environment)).iter().for_each(render::line);
    }
    let said = said(change, answer.git_tree, &claims);
    // Where git is asked to push, nobody has to type it.
    said.iter().take(if remote.is_some() { 1 } else { said.len() }).for_each(|line| render::line(line.as_str()));
    if let Some(remote) = &remote {
        share::push(environment, &root, remote, &mut || add().map(drop).map_err(|error| from_git_error(&error)))?;
    }
    if let Some(directory) = &shared.directory {
        let lines: Vec<Vec<u8>> = acceptance.iter().chain(&lines).chain(&summary).cloned().collect();
        put(directory, *tree, attestation_bundle(&lines)).map_err(|error| share::from_directory_error(&error))?;
        render::line(&format!("  shared in `{}`", directory.path().display()));
    }
    if let Some(note) = unknown_to_others(&attestor, &answer, &question, environment, &root, &repository)? {
        render::note(&note);
    }
    if !is_proved {
        render::note("the failure was attested: whoever fetches the notes sees that the commit is red");
    }
    Ok(answer.state.exit())
}

/// Writes the verification summary for programs that sign statements about files: a file that says which commit it is, and the predicate.
fn write_in_toto(directory: &Path, commit: [(&str, ObjectId); 2], summary: &[u8]) -> Result<(), EvidenceError> {
    let subject: String = commit.iter().map(|(name, object)| format!("{name} {}\n", object.hex())).collect();
    let statement: Value = serde_json::from_slice(summary).unwrap_or_default();
    write_for_signing(
        directory,
        &[("commit.txt", subject.as_bytes()), ("predicate.json", statement["predicate"].to_string().as_bytes())],
    )
}

/// Returns the statement that the tests of the commit's change fail without it, where this store has seen it and the policy asks for it.
fn own_proof(answer: &GateAnswer, below: TreePath, key: Digest, redactor: &OutgoingRedactor) -> Option<Vec<u8>> {
    let mut record = answer.proof.as_ref().filter(|proof| proof.is_own)?.record.clone();
    let tests = record.tests.iter_mut().map(|proof| &mut proof.test);
    let paths = record.toolchains.iter_mut().map(|toolchain| &mut toolchain.path);
    tests.chain(paths).chain(&mut record.unnamed).for_each(|text| *text = redactor.redact(text));
    Some(ProvedChange { git_tree: answer.git_tree, below, record, key, signed: clock::now() }.to_statement())
}

/// Returns what is said where no list of signers that the trusted commit has names this store's key: nobody else counts what it signs.
fn unknown_to_others(
    attestor: &Attestor,
    answer: &GateAnswer,
    question: &GateQuestion<'_>,
    environment: &Environment,
    root: &Path,
    repository: &ProjectRepository,
) -> Result<Option<String>, CommandError> {
    let trusted = trusted(repository, (question.asked_for, answer.commit), question.policy_from, (environment, root))?;
    let listed = signers(repository, &trusted, &answer.policy)?;
    if listed.keys.iter().any(|signer| PublicKey::parse(&signer.key).is_ok_and(|key| key.id() == attestor.key())) {
        return Ok(None);
    }
    let list = match &answer.policy.signers {
        Some(file) => format!("`{file}` of the trusted commit"),
        None => "the file that `signers` of the trusted commit's `[gate]` has to name".to_owned(),
    };
    Ok(Some(format!(
        "no trusted list of signers has this key, so nobody else counts what it says: add what `proctor key export --ssh` prints to {list}"
    )))
}

/// Adds lines to the note of a tree. Somebody else may attest at the same time: what they write is read before this is added to it.
pub(super) fn add_patiently(
    root: &Path,
    git_tree: ObjectId,
    added: (&[Vec<u8>], Option<&[u8]>),
) -> Result<NoteChange, GitAnchorError> {
    let begun = clock::monotonic();
    loop {
        match add_attestations(root, git_tree, added, clock::now()) {
            Err(GitAnchorError::Locked { .. }) if clock::monotonic().since(begun) < PATIENCE => thread::sleep(TRY_AGAIN),
            other => return other,
        }
    }
}

/// Converts an error about a bundle into a command error. Where the file cannot be made, the person named a wrong one.
fn from_bundle_error(error: &EvidenceError) -> CommandError {
    if let EvidenceError::File { operation: FileOperation::Create, .. } = error {
        return CommandError::of(CommandExit::Usage, error)
            .hint("name a new file, in a directory that you may write: --bundle FILE");
    }
    CommandError::from(error)
}

fn said(change: NoteChange, tree: ObjectId, claims: &[CommitClaim]) -> [String; 3] {
    let word = match change {
        NoteChange::Added => "attested",
        NoteChange::Merged => "attested before, and united with the notes that were fetched",
        NoteChange::Nothing => "attested before",
    };
    let runs: Vec<&str> = claims.iter().map(|claim| claim.claim.run.as_str()).collect();
    [
        format!("{word} · {ATTESTATIONS} · tree {} · {}", &tree.hex()[..12], runs.join(", ")),
        format!("  push:  git push origin {ATTESTATIONS}"),
        format!("  fetch: git fetch origin +{ATTESTATIONS}:{FETCHED_ATTESTATIONS}"),
    ]
}

/// Returns what is told of a run; `None` if it has no verdict, or does not name its checks.
///
/// # Errors
/// When checks could not be told apart by the names that are told.
fn to_commit_claim(
    run: &ProvingRun,
    answer: &GateAnswer,
    below: &TreePath,
    commit: Option<ObjectId>,
    key: Digest,
    redactor: &OutgoingRedactor,
) -> Result<Option<CommitClaim>, CommandError> {
    let (Some(records), Some(checks)) = (&run.record.results, &run.claim.checks) else { return Ok(None) };
    let (Some(tree), Some(result)) = (run.record.tree_digest, run.claim.verdict) else { return Ok(None) };
    refuse_merged_names(checks, &run.claim.run, redactor)?;
    let [mut passed, mut warned, mut failed] = [const { Vec::new() }; 3];
    for (record, check) in records.iter().zip(checks) {
        let Some(result) = &check.result else { continue };
        let name = format!("{} {}", record.id, record.name);
        let list = match result.blocking {
            Blocking::Blocks => &mut failed,
            Blocking::Allowed if run.tests.is_warned(&name) => &mut warned,
            Blocking::Allowed => &mut passed,
        };
        let told = redactor.redact(&record.name);
        let told = format!("{} {told}", record.id);
        list.push(told.clone());
        let tests = run.tests.of_check(&name);
        for (list, tests) in [&mut passed, &mut warned, &mut failed].into_iter().zip(tests) {
            list.extend(tests.iter().map(|test| format!("{told}: {}", redactor.redact(test))));
        }
    }
    let of_task = answer.flipped.iter().filter(|flipped| flipped.task == run.claim.task);
    let flipped = of_task.map(|flipped| ClaimedFlip {
        check: redactor.redact(&flipped.check).to_string(),
        failed_runs: flipped.flip.reds,
        passed_runs: flipped.flip.greens,
    });
    Ok(Some(CommitClaim {
        flipped: flipped.collect(),
        git_tree: answer.git_tree,
        commit,
        below: below.clone(),
        tree,
        tree_format: run.record.tree_format,
        report: run.record.report_hash,
        key,
        result,
        claim: without_places(run.claim.clone(), redactor),
        environment: run.environment.clone().filter(|told| is_told(told, redactor)),
        passed,
        warned,
        failed,
    }))
}

/// Returns whether nothing of an environment would have to be called otherwise for others: by another name, nothing could be compared.
fn is_told(told: &ClaimedEnvironment, redactor: &OutgoingRedactor) -> bool {
    told.installed.keys().all(|name| redactor.redact(name) == *name)
}

/// Refuses a run of which two checks would have one name: a failed one could pass for the other.
fn refuse_merged_names(checks: &[ClaimedCheck], run: &RunId, redactor: &OutgoingRedactor) -> Result<(), CommandError> {
    let mut told: BTreeMap<String, &str> = BTreeMap::new();
    for check in checks {
        let name = redactor.redact(&check.name);
        if let Some(other) = told.insert(name.clone(), &check.name) {
            let message = format!("the checks `{other}` and `{}` of {run} would both be called `{name}` for others", check.name);
            return Err(CommandError::new(CommandExit::NoFreshVerdict, message)
                .hint("rename one of them so that the names differ without paths, secrets and names of people and machines"));
        }
    }
    Ok(())
}

/// Redacts the texts of a claim: the names of checks. Paths of ignored files that would have to be changed are counted in place of being
/// named, because a policy could not judge them by another name.
fn without_places(mut claim: GateClaim, redactor: &OutgoingRedactor) -> GateClaim {
    let of_origin = |origin: &mut ClaimOrigin| {
        let Some(conditions) = &mut origin.conditions else { return };
        if let Some(ignored) = &mut conditions.ignored {
            ignored.unname(|path| redactor.redact(path) == path);
        }
        // By another name, nobody could compute the digest.
        conditions.inputs = conditions.inputs.take().filter(|names| names.iter().all(|name| redactor.redact(name) == *name));
        // A run with such files has no verdict.
        conditions.left_in_environment.clear();
        // Both are about this store's own past.
        (conditions.head, conditions.fewer_tests) = (None, None);
        conditions
            .rewritten
            .iter_mut()
            .chain(&mut conditions.restored)
            .chain(&mut conditions.unnamed)
            .chain(&mut conditions.other_programs)
            .chain(&mut conditions.tests_not_run)
            .chain(conditions.toolchains.iter_mut().map(|toolchain| &mut toolchain.path))
            .for_each(|path| *path = redactor.redact(path));
    };
    of_origin(&mut claim.origin);
    for check in claim.checks.iter_mut().flatten() {
        check.name = redactor.redact(&check.name);
        check.result.iter_mut().filter_map(|result| result.origin.as_mut()).for_each(of_origin);
    }
    claim
}

/// Returns the digest of a policy, for comparison with the policy of another summary.
fn digest_of(policy: &GatePolicy) -> Digest {
    let age = policy.max_age.map(|age| age.as_secs());
    let mut document = serde_json::json!({
        "tasks": policy.tasks,
        "checks": policy.checks,
        "isolation": policy.isolation.word(),
        "maxAgeSeconds": age,
        "platforms": policy.platforms,
        "freshCaches": policy.fresh_caches,
        "ignoredInputs": policy.ignored_inputs,
    });
    // The default adds nothing, so that digests of earlier versions stay valid.
    if policy.world == World::Open {
        document["world"] = "open".into();
    }
    if policy.weakened != WeakenedChanges::Ask {
        document["weakened"] = policy.weakened.word().into();
    }
    if policy.flaky != FlakyTests::Refuse {
        document["flaky"] = policy.flaky.word().into();
    }
    if policy.prove != ProofAsked::Off {
        document["prove"] = policy.prove.word().into();
    }
    Digest::of(document.to_string().as_bytes())
}
