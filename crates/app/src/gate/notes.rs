//! What others attested of a commit in git notes and bundles (`proctor attest`), for `proctor gate --from-notes` and `--from-bundle`.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::fetched_notes::fetched_notes;
use crate::gate::answer::GateAnswer;
use crate::gate::errors::from_git_read_error;
use crate::gate::policy::is_in_own_repository;
use crate::gate::{AskedFor, GateQuestion, judge, open_repository};
use crate::project::opening;
use crate::share::{self, Share, approved_share};
use proctor_evidence::{
    ATTESTATIONS, AcceptedChanges, AcceptedOf, AttestationNote, AttestationReader, AttestationRefusal, ClaimedEnvironment,
    CommitClaim, FETCHED_ATTESTATIONS, ReadAttestation, SharedDirectory, is_ahead, parse_attestation_bundle,
    read_attestation_notes, read_regular_file,
};
use proctor_git::{ObjectId, find_git_location};
use proctor_model::{ClaimSigner, CommandExit, GateClaim, ProofRecord, RunId, Timestamp, TreeDigest, TreePath};
use proctor_plan::spec::{self, StatementSigners};
use proctor_plan::verdict::{GateReason, GateRules, judge_gate};
use proctor_project::{GateSigners, OtherStoresRun, ProjectRepository};

/// The most bytes of bundles in a shared directory that are read for one commit.
const MOST_SHARED_BYTES: usize = 32 << 20;

/// The largest file of signers, in bytes.
const LONGEST_FILE: u64 = 1 << 20;
/// The largest bundle, in bytes.
const LONGEST_BUNDLE: u64 = 16 << 20;
/// The most refused attestations that are named.
const NAMED: usize = 20;

/// Whether the notes of the repository are read, or only bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttestedWhere {
    NotesAndBundles,
    BundlesAlone,
    /// Notes and shared bundles, where this store's runs decide nothing and a person named the branch that says who signs. What keys sign
    /// that it does not name says nothing, and neither does what cannot be read.
    Unasked,
}

/// That attestations in git notes or in bundles are asked for.
pub struct NotesQuestion<'a> {
    pub source: AttestedWhere,
    /// The files with further attestations.
    pub bundles: &'a [PathBuf],
    /// The file whose keys are trusted in place of those that the policy names; `None` if the policy says.
    pub signers: Option<&'a Path>,
    /// The directory whose bundles about the commit's content are read too.
    pub shared: Option<&'a SharedDirectory>,
}

/// What the notes of a commit's tree hold.
#[derive(Debug, Default)]
pub(super) struct Attested {
    /// The changes of how the commit is judged that were accepted, each acceptance with the name of whose key signed it.
    pub(super) accepted: Vec<(String, AcceptedChanges)>,
    /// What trusted keys claim of the commit's content.
    pub(super) claims: Vec<GateClaim>,
    /// What trusted keys say of the tests of the commit's change.
    pub(super) proofs: Vec<ProofRecord>,
    /// What runs were made with, of those that say it.
    pub(super) environments: BTreeMap<RunId, ClaimedEnvironment>,
    /// The names of inputs that claims of the content recorded which name another tree digest.
    pub(super) other_inputs: Vec<Vec<String>>,
    /// Whether there is any note or bundle.
    pub(super) is_there: bool,
    /// Why other attestations do not count, each reason once.
    pub(super) refused: Vec<RefusedAttestation>,
    /// Whether a statement of somebody about the content is among what does not count.
    pub(super) has_refused_statement: bool,
}

/// Why an attestation does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedAttestation {
    pub word: &'static str,
    pub message: String,
}

/// What was asked of git notes and bundles, and whether there are any.
#[derive(Debug, Clone, Copy)]
pub struct NotesAsked {
    /// Whether there is a note about the commit's content, or a bundle.
    pub are_there: bool,
    /// Whether the policy or the command line names other trusted keys than those of this store.
    pub names_signers: bool,
}

/// Returns the gate's answer about a commit of a project, by the policy of the commit that is trusted where nobody names another.
///
/// # Errors
/// When the commit, the policy or the store cannot be read.
pub fn judge_commit(environment: &Environment, root: &Path, revision: &str) -> Result<GateAnswer, CommandError> {
    let repository = open_repository(root)?;
    let share = approved_share(environment, &mut opening::open_archive(environment)?, root)?;
    let notes = Some(NotesQuestion::unasked(&share));
    let question = GateQuestion { revision, asked_for: AskedFor::Branch(revision), policy_from: None, notes };
    judge(&question, environment, &repository)
}

impl<'a> NotesQuestion<'a> {
    /// Returns the question of whoever asks for nothing of what others attested.
    pub fn unasked(share: &'a Share) -> Self {
        Self { source: AttestedWhere::Unasked, bundles: &[], signers: None, shared: share.directory.as_ref() }
    }

    /// Returns whether attestations were asked for.
    pub(super) fn is_asked(&self) -> bool {
        self.source != AttestedWhere::Unasked
    }
}

impl NotesAsked {
    /// Returns what to do next where notes did not prove a commit.
    pub(super) fn commands(self, refused: &[RefusedAttestation]) -> Vec<String> {
        let is_untrusted = |one: &RefusedAttestation| ["foreign", "retired"].contains(&one.word);
        let mut commands = Vec::new();
        if !self.are_there {
            commands.push(format!(
                "`git fetch origin +{ATTESTATIONS}:{FETCHED_ATTESTATIONS} || true` fetches what others attested (`proctor attest`); until \
                 somebody has, it fetches nothing"
            ));
        }
        if !self.names_signers || refused.iter().any(is_untrusted) {
            commands.push(
                "trust the key of whoever attests: `proctor key export --ssh` prints its line there, for the file that `signers` of the \
                 trusted `[gate]` names, or for --signers FILE"
                    .to_owned(),
            );
        }
        commands
    }
}

/// Returns the attestations of the bundles that are asked for, each as a note has them.
pub(super) fn bundles(environment: &Environment, asked: Option<&NotesQuestion<'_>>) -> Result<Vec<Vec<u8>>, CommandError> {
    let bundle = |named: &PathBuf| {
        const HINT: &str = "name a file that `proctor attest --bundle FILE` wrote: --from-bundle FILE";
        let bytes = read_regular_file(&environment.absolute(named), LONGEST_BUNDLE).map_err(|error| {
            CommandError::caused(CommandExit::Usage, format!("`{}` cannot be read", named.display()), &error).hint(HINT)
        })?;
        parse_attestation_bundle(&bytes).map_err(|error| {
            let message = format!("`{}` is not what `proctor attest --bundle` writes", named.display());
            CommandError::caused(CommandExit::SpecificationWrong, message, &error).hint(HINT)
        })
    };
    asked.iter().flat_map(|asked| asked.bundles).map(bundle).collect()
}

/// Returns the attestations of the shared directory about a tree, each as a note has them, and adds why a bundle does not count. A directory
/// that cannot be read is named once, and nothing is taken from it.
pub(super) fn shared_bundles(
    environment: &Environment,
    asked: Option<&NotesQuestion<'_>>,
    tree: TreeDigest,
    refused: &mut Vec<RefusedAttestation>,
) -> Vec<Vec<u8>> {
    let Some(shared) = asked.and_then(|asked| asked.shared) else { return Vec::new() };
    let listed = share::read_or_say(environment, shared, move |shared| shared.list_by_tree(tree)).unwrap_or_default();
    let (mut found, mut left) = (Vec::new(), MOST_SHARED_BYTES);
    for bundle in listed {
        let mut refuse = |word, why: &str| {
            let message = format!("`{}/sha256/{}` {why}", shared.path().display(), bundle.hex());
            add(refused, RefusedAttestation { word, message });
        };
        // One bundle that cannot be read, whoever put it there, takes nothing from the others.
        match share::read_or_say(environment, shared, move |shared| Ok(shared.get(bundle).ok().flatten())).flatten() {
            Some(bytes) => match parse_attestation_bundle(&bytes) {
                Ok(_) if bytes.len() > left => {
                    refuse("damaged", "is more than is read of a shared directory for one commit");
                    break;
                }
                Ok(lines) => {
                    left -= bytes.len();
                    found.push(lines);
                }
                Err(_) => refuse("unknown-format", "is no bundle that this version reads"),
            },
            None => refuse("damaged", "cannot be read, or has another content than its name says"),
        }
    }
    found
}

/// Reads the attestations about the content of a commit, and checks their signatures. `files` are the objects of changed files, to which
/// acceptances of their changes belong.
pub(super) fn read(
    (environment, repository): (&Environment, &ProjectRepository),
    signers: &GateSigners,
    (git_tree, tree, files): (ObjectId, TreeDigest, &BTreeSet<ObjectId>),
    (source, bundles): (AttestedWhere, &[Vec<u8>]),
    now: Timestamp,
) -> Result<Attested, CommandError> {
    let storage = &repository.storage;
    let (mut found, mut reader) = (Attested::default(), AttestationReader::default());
    // A note on a tree also has what was attested of other projects in it, which says nothing of this one.
    let is_of_sibling = |of_tree: ObjectId, below: &TreePath| of_tree == git_tree && *below != repository.below;
    let is_about = |of: &AcceptedOf| match of {
        AcceptedOf::Commit { git_tree: accepted, .. } => *accepted == git_tree,
        // Which change of the file it is decides whoever has the changes.
        AcceptedOf::File { .. } => true,
    };
    let refusal = |claim: &CommitClaim, signer: &ClaimSigner| {
        if claim.git_tree != git_tree || claim.tree != tree {
            Some(AttestationRefusal::AnotherTree)
        } else if is_ahead(claim.latest_end(), now) {
            Some(AttestationRefusal::FutureDated)
        } else {
            // The key was found, so it is one that was replaced.
            matches!(signer, ClaimSigner::NotAllowed { .. }).then_some(AttestationRefusal::Retired { key: claim.key })
        }
    };
    // Each note is judged before the next one is read, so that they are not all in memory at the same time.
    let mut judge = |lines: Vec<ReadAttestation>| {
        found.is_there = true;
        for line in lines {
            match line {
                ReadAttestation::Summary => {}
                ReadAttestation::Refused(refusal) => found.refuse(&refusal),
                ReadAttestation::Accepted(accepted) => match signers.named_signer(accepted.key, now) {
                    _ if is_of_sibling(git_tree, &accepted.below) => {}
                    _ if !is_about(&accepted.of) => found.refuse(&AttestationRefusal::AnotherTree),
                    _ if is_ahead(accepted.accepted, now) => found.refuse(&AttestationRefusal::FutureDated),
                    Some(name) => found.accepted.push((name, *accepted)),
                    None => found.refuse(&AttestationRefusal::Foreign { key: accepted.key }),
                },
                ReadAttestation::Proof(proof) => match signers.named_signer(proof.key, now) {
                    _ if is_of_sibling(proof.git_tree, &proof.below) => {}
                    _ if proof.git_tree != git_tree || proof.record.tree_digest != tree => {
                        found.refuse(&AttestationRefusal::AnotherTree);
                    }
                    _ if is_ahead(proof.signed, now) => found.refuse(&AttestationRefusal::FutureDated),
                    Some(_) => found.proofs.push(proof.record),
                    None => found.refuse(&AttestationRefusal::Foreign { key: proof.key }),
                },
                ReadAttestation::Claim(claim) if is_of_sibling(claim.git_tree, &claim.below) => {}
                ReadAttestation::Claim(claim) => {
                    let signer = signers.signer(claim.key, claim.latest_end());
                    if claim.git_tree == git_tree && claim.tree != tree && found.other_inputs.len() < NAMED {
                        let conditions = claim.claim.origin.conditions.as_ref();
                        found.other_inputs.extend(conditions.and_then(|conditions| conditions.inputs.clone()));
                    }
                    match refusal(&claim, &signer) {
                        Some(refusal) => found.refuse(&refusal),
                        None => {
                            let environment = claim.environment.clone();
                            found.environments.extend(environment.map(|environment| (claim.claim.run.clone(), environment)));
                            found.claims.push(claim.into_claim_of(&signer));
                        }
                    }
                }
            }
        }
    };
    let by_key = |id| signers.key(id);
    for bundle in bundles {
        judge(reader.read(bundle, &by_key));
    }
    if source != AttestedWhere::BundlesAlone {
        let mut judge_note = |note: AttestationNote| {
            judge(match note {
                AttestationNote::Content(content) => reader.read(&content, &by_key),
                AttestationNote::TooLarge => vec![ReadAttestation::Refused(AttestationRefusal::TooLarge)],
                AttestationNote::Damaged => vec![ReadAttestation::Refused(AttestationRefusal::Damaged)],
            });
        };
        for object in iter::once(&git_tree).chain(files) {
            read_attestation_notes(storage, *object, &mut judge_note).map_err(|error| from_git_read_error(storage, &error))?;
        }
        // proctor's own repository only adds: what cannot be read there is fetched again.
        if let Some(fetched) = fetched_notes(environment, repository) {
            let _read = read_attestation_notes(&fetched, git_tree, &mut judge_note);
        }
    }
    Ok(found)
}

/// Returns why the policy does not accept what the notes claim, where they prove nothing.
pub(super) fn unaccepted(rules: &GateRules<'_>, claims: &[GateClaim]) -> Vec<RefusedAttestation> {
    let mut refused = Vec::new();
    for claim in claims {
        for judged in judge_gate(rules, std::slice::from_ref(claim)) {
            for reason in &judged.reasons {
                let found = reason.on_any_platform();
                if matches!(found, GateReason::NotRun | GateReason::Failed { .. }) {
                    continue;
                }
                let is_partial = matches!(found, GateReason::ChecksNotRun(_) | GateReason::UnnamedChecks { .. });
                let word = if is_partial { "partial" } else { found.word() };
                add(&mut refused, RefusedAttestation { word, message: format!("{}: {reason}", claim.run) });
            }
        }
    }
    refused
}

/// Returns the keys of a file that a person named.
pub(super) fn signers_of_file(environment: &Environment, root: &Path, named: &Path) -> Result<StatementSigners, CommandError> {
    let path = environment.absolute(named);
    let wrong = |exit, message: String| {
        CommandError::new(exit, format!("`{}` {message}", named.display()))
            .hint("a line of it is what `proctor key export --ssh` prints for the store that attests")
    };
    // Whoever makes the commit must not choose who is trusted. A link is followed, because the person chose it.
    let real = |path: &Path| path.canonicalize().ok();
    let work_tree = find_git_location(root).and_then(|location| real(&location.work_tree));
    let is_in_work_tree = work_tree.zip(real(&path)).is_some_and(|(work_tree, path)| path.starts_with(work_tree));
    if is_in_work_tree || is_in_own_repository(&path, root) {
        let message = "lies in the working tree, where a commit decides what it says".to_owned();
        return Err(
            wrong(CommandExit::Usage, message).hint("put it elsewhere, or name it by `signers` of the trusted commit's `[gate]`")
        );
    }
    let bytes =
        read_regular_file(&path, LONGEST_FILE).map_err(|error| wrong(CommandExit::Usage, format!("cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong(CommandExit::SpecificationWrong, "is not UTF-8".to_owned()))?;
    spec::statement_signers(&text)
        .map_err(|(line, why)| wrong(CommandExit::SpecificationWrong, format!("is wrong in line {line}: {why}")))
}

impl GateAnswer {
    /// Returns the owner of the key that signed a run of another store; `None` for a run of this one.
    pub fn signer_of(&self, run: &RunId) -> Option<&str> {
        match &self.attested.iter().find(|one| one.claim.run == *run)?.claim.origin.signer {
            ClaimSigner::Allowed { name } => Some(name),
            ClaimSigner::OwnStore | ClaimSigner::NotAllowed { .. } => None,
        }
    }
}

impl Attested {
    /// Returns the claims of other stores, with what each says of its environment.
    pub(super) fn of_others(&self) -> Vec<OtherStoresRun> {
        let others = self.claims.iter().filter(|claim| matches!(claim.origin.signer, ClaimSigner::Allowed { .. }));
        others
            .map(|claim| OtherStoresRun { claim: claim.clone(), environment: self.environments.get(&claim.run).cloned() })
            .collect()
    }

    /// Returns what keys signed that the policy names, and nothing of what does not count.
    pub(super) fn of_named_keys(mut self) -> Self {
        self.claims.retain(|claim| matches!(claim.origin.signer, ClaimSigner::Allowed { .. }));
        Self { refused: Vec::new(), has_refused_statement: false, ..self }
    }

    fn refuse(&mut self, refusal: &AttestationRefusal) {
        self.has_refused_statement |= refusal.is_of_an_envelope();
        add(&mut self.refused, RefusedAttestation { word: refusal.word(), message: refusal.to_string() });
    }
}

fn add(refused: &mut Vec<RefusedAttestation>, new: RefusedAttestation) {
    if refused.len() < NAMED && !refused.contains(&new) {
        refused.push(new);
    }
}
