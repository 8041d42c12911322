//! Tells other people, signed, which runs prove a commit, in a git note that they can verify.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::gate::{GateAnswer, GateQuestion, signers, trusted};
use crate::project::opening;
use proctor_evidence::report::OutgoingRedactor;
use proctor_evidence::{
    Attestor, ClaimedEnvironment, ClaimedFlip, CommitClaim, EvidenceError, FileOperation, GitAnchorError, NoteChange,
    ProvedChange, PublicKey, Store, VerificationSummary, add_attestations, write_attestation_bundle, write_for_signing,
};
use proctor_git::{GitReadError, ObjectId};
use proctor_model::{
    Blocking, ClaimOrigin, ClaimedCheck, CommandExit, Digest, FlakyTests, GateClaim, GatePolicy, ProofAsked, RunId, TreeDigest,
    TreePath, WeakenedChanges, World,
};
use proctor_plan::verdict::GateState;
use proctor_project::{ProjectRepository, ProvingRun};
use proctor_sandbox::process::clock;

/// How long another program may hold the lock of the notes.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two attempts to take the lock of the notes.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// What is told of a commit, before it is signed.
pub struct Attestation {
    attestor: Attestor,
    pub claims: Vec<CommitClaim>,
    /// Of each claim, and of the proof that this store has seen.
    statements: Vec<Vec<u8>>,
    /// That the policy accepted the content; `None` for a red commit.
    summary: Option<Vec<u8>>,
}

/// The signed statements about a commit, one line each.
pub struct SignedAttestation {
    pub lines: Vec<Vec<u8>>,
    pub summary: Option<Vec<u8>>,
}

impl Attestation {
    /// Collects what the runs came to that decide about the commit of `answer`. `tree` is the digest of the commit's files. With `commit`, its
    /// id, the statements name the commit too.
    ///
    /// # Errors
    /// When a run cannot be told to others, or the store cannot be read.
    pub fn of(
        environment: &Environment,
        (root, below): (&Path, &TreePath),
        answer: &GateAnswer,
        tree: TreeDigest,
        commit: Option<ObjectId>,
    ) -> Result<Self, CommandError> {
        let deciding: Vec<&RunId> = answer.judgements.iter().flat_map(|judged| &judged.runs).collect();
        let runs = opening::open_archive(environment)?.proving_runs(root, tree, &deciding)?;
        let attestor = open_attestor(environment)?;
        let redactor = environment.outgoing_redactor();
        let claim = |run: &ProvingRun| to_commit_claim(run, answer, below, commit, attestor.key(), &redactor);
        let claims: Vec<CommitClaim> = runs.iter().filter_map(|run| claim(run).transpose()).collect::<Result<_, _>>()?;
        let summary = VerificationSummary { claims: &claims, policy: digest_of(&answer.policy), verified: clock::now() };
        let summary = summary.to_statement().ok_or_else(|| {
            CommandError::new(CommandExit::NoFreshVerdict, "the runs that decide about the commit cannot be told to others")
                .hint("`proctor run` makes a run of this version of proctor, which can")
        })?;
        let proof = own_proof(answer, below.clone(), attestor.key(), &redactor);
        let statements = claims.iter().map(CommitClaim::to_statement).chain(proof).collect();
        Ok(Self { attestor, claims, statements, summary: (answer.state == GateState::Proved).then_some(summary) })
    }

    /// Returns every statement as it is signed.
    pub fn documents(&self) -> Vec<Value> {
        self.statements.iter().chain(&self.summary).filter_map(|statement| serde_json::from_slice(statement).ok()).collect()
    }

    pub fn sign(&self) -> SignedAttestation {
        SignedAttestation {
            lines: self.statements.iter().map(|statement| self.attestor.sign(statement)).collect(),
            summary: self.summary.as_ref().map(|summary| self.attestor.sign(summary)),
        }
    }

    /// Writes the verification summary for programs that sign statements about files: a file that says which commit it is, and the
    /// predicate. Of a red commit, which has no summary, nothing is written.
    ///
    /// # Errors
    /// When the directory is there already, or cannot be written.
    pub fn write_in_toto(&self, directory: &Path, answer: &GateAnswer) -> Result<(), CommandError> {
        let Some(summary) = &self.summary else { return Ok(()) };
        let commit = [("git-commit", answer.commit), ("git-tree", answer.git_tree)];
        let subject: String = commit.iter().map(|(name, object)| format!("{name} {}\n", object.hex())).collect();
        let statement: Value = serde_json::from_slice(summary).unwrap_or_default();
        let predicate = statement["predicate"].to_string();
        let files = [("commit.txt", subject.as_bytes()), ("predicate.json", predicate.as_bytes())];
        write_for_signing(directory, &files).map_err(|error| from_bundle_error(&error))
    }

    /// Returns a warning if the trusted commit's list of signers lacks this store's key: then nobody else counts what the key signs.
    ///
    /// # Errors
    /// When the trusted commit or its list cannot be read.
    pub fn unknown_to_others(
        &self,
        answer: &GateAnswer,
        question: &GateQuestion<'_>,
        environment: &Environment,
        root: &Path,
        repository: &ProjectRepository,
    ) -> Result<Option<String>, CommandError> {
        let trusted = trusted(repository, (question.asked_for, answer.commit), question.policy_from, (environment, root))?;
        let listed = signers(repository, &trusted, &answer.policy)?;
        if listed.keys.iter().any(|signer| PublicKey::parse(&signer.key).is_ok_and(|key| key.id() == self.attestor.key())) {
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
}

impl SignedAttestation {
    /// Returns all lines of a bundle, after those of an acceptance.
    pub fn after(&self, acceptance: &[Vec<u8>]) -> Vec<Vec<u8>> {
        acceptance.iter().chain(&self.lines).chain(&self.summary).cloned().collect()
    }

    /// Adds the lines to the note of a tree.
    ///
    /// # Errors
    /// When the note cannot be written.
    pub fn add(&self, root: &Path, git_tree: ObjectId) -> Result<NoteChange, CommandError> {
        add_patiently(root, git_tree, (&self.lines, self.summary.as_deref()))
    }
}

/// Reads the store's key, with which others are told something; makes it if there is none.
///
/// # Errors
/// When the key cannot be read or made.
pub fn open_attestor(environment: &Environment) -> Result<Attestor, CommandError> {
    Ok(Attestor::open(&Store::open(environment.state_root())?, clock::now())?)
}

/// Writes signed lines into a new file.
///
/// # Errors
/// When the file is there already, or cannot be written.
pub fn write_bundle(path: &Path, lines: &[Vec<u8>]) -> Result<(), CommandError> {
    write_attestation_bundle(path, lines).map_err(|error| from_bundle_error(&error))
}

/// Returns the statement that tests of the commit's change fail without the change. `None` if the policy does not ask for that, or no run of
/// this store has shown it.
fn own_proof(answer: &GateAnswer, below: TreePath, key: Digest, redactor: &OutgoingRedactor) -> Option<Vec<u8>> {
    let mut record = answer.proof.as_ref().filter(|proof| proof.is_own)?.record.clone();
    let tests = record.tests.iter_mut().map(|proof| &mut proof.test);
    let paths = record.toolchains.iter_mut().map(|toolchain| &mut toolchain.path);
    tests.chain(paths).chain(&mut record.unnamed).for_each(|text| *text = redactor.redact(text));
    Some(ProvedChange { git_tree: answer.git_tree, below, record, key, signed: clock::now() }.to_statement())
}

/// Adds lines to the note of a tree. Somebody else may attest at the same time: what they write is read before this is added to it.
///
/// # Errors
/// When the note cannot be written, or another program holds its lock for too long.
pub fn add_patiently(root: &Path, git_tree: ObjectId, added: (&[Vec<u8>], Option<&[u8]>)) -> Result<NoteChange, CommandError> {
    let begun = clock::monotonic();
    loop {
        match add_attestations(root, git_tree, added, clock::now()) {
            Err(GitAnchorError::Locked { .. }) if clock::monotonic().since(begun) < PATIENCE => thread::sleep(TRY_AGAIN),
            other => return other.map_err(|error| from_git_error(&error)),
        }
    }
}

/// Converts an error of the git repository into a command error.
fn from_git_error(error: &GitAnchorError) -> CommandError {
    let exit = match error {
        GitAnchorError::Evidence(error) => return CommandError::from(error),
        GitAnchorError::Read(GitReadError::Object { .. }) => CommandExit::EvidenceWrong,
        GitAnchorError::Read(GitReadError::Unreadable { .. }) => CommandExit::OwnFault,
        GitAnchorError::Read(
            GitReadError::NoObjects { .. }
            | GitReadError::Format { .. }
            | GitReadError::Name(_)
            | GitReadError::Linked { .. }
            | GitReadError::NotAFile { .. }
            | GitReadError::TooLong { .. },
        )
        | GitAnchorError::NoRepository { .. }
        | GitAnchorError::TooManyNotes
        | GitAnchorError::NoteInTheWay { .. }
        | GitAnchorError::Locked { .. } => CommandExit::Usage,
    };
    CommandError::of(exit, error).hint(error.hint())
}

/// Converts an error about a bundle into a command error. A file that cannot be made was named wrongly, which is exit code 2.
fn from_bundle_error(error: &EvidenceError) -> CommandError {
    if let EvidenceError::File { operation: FileOperation::Create, .. } = error {
        return CommandError::of(CommandExit::Usage, error)
            .hint("name a new file, in a directory that you may write: --bundle FILE");
    }
    CommandError::from(error)
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
        // Whoever computes the digest needs the names as they are: if one would have to be redacted, none is told.
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
