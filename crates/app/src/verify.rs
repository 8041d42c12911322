//! Verifies evidence against its hashes and signatures, and names every fault. Nothing is changed: ledgers and the index are opened only for
//! reading.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use proctor_wire::wire;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::environment::{Environment, processors};
use crate::error::CommandError;
use crate::project::{opening, setup};
use proctor_evidence::{
    AcceptedKeys, Anchor, EvidenceError, EvidenceFault, FaultKind, KeyRing, LedgerLog, MANIFEST_NAME, Store, UnfinishedKind,
    VerificationResult, VerificationScope, VerifiedKeys, check_anchor, check_store_entries, find_registered_project,
    find_replaced_link, is_archive_name, known_runs, ledger_file, line_from_the_future, list_projects, name_links, names_a_key,
    projects_with_evidence, read_anchor, read_key_ring, read_regular_text, sort_by_cause, verify_copy, verify_keys,
    verify_project, verify_steadily,
};
use proctor_index::{IndexDifference, IndexError, IndexReader, RowDifference};
use proctor_model::{ApprovingLine, CommandExit, Digest, LedgerLine, ProjectId, RunId, TaskId};
use proctor_project::{approval_counts, approval_faults};
use proctor_sandbox::process::clock;

/// The longest file with a public key that is read, in bytes.
const LONGEST_KEY: u64 = 64 * 1024;
/// The file of the index, as faults name it.
const INDEX: &str = "state.db";

/// What is to be verified, and with what. All paths are absolute or relative to the working directory of the [`Environment`].
pub struct VerifyQuestion<'a> {
    /// The directory of the project.
    pub project: &'a Path,
    /// Whether every project of the store is verified.
    pub all: bool,
    /// A run by its id or number, a task, or the path of a copied run; everything if `None`.
    pub what: Option<&'a str>,
    /// The file with the keys of whoever made it; the user's own if `None`.
    pub key: Option<&'a Path>,
    /// The files with checkpoints from which the ledgers must go on.
    pub anchors: &'a [PathBuf],
}

/// What was verified and found: `proctor verify --json`, `GET /v1/projects/{id}/runs/{run}/verification`.
#[derive(Debug, Default)]
pub struct Verification {
    pub projects: Vec<ProjectId>,
    /// The sum over all projects. The ledger lines themselves are not collected: `found.lines` stays empty, and the field
    /// `lines` has only their number.
    pub found: VerificationResult,
    pub lines: u64,
    /// The anchors that hold.
    pub held: Vec<HeldAnchorV1>,
    /// The ledgers to compare with anchors; empty if there are no anchors.
    logs: Vec<LedgerLog>,
}

/// An anchor is a checkpoint (a signed head of the ledger) that is kept outside of the store. Its lines are still the first lines of the
/// ledger.
#[wire(open, written)]
pub struct HeldAnchorV1 {
    pub place: String,
    pub project: ProjectId,
    pub lines: u64,
    pub root: Digest,
}

/// Answers `proctor verify`.
///
/// # Errors
/// When the question is wrong, or something cannot be read. What is wrong with the evidence is in the result.
pub fn verify(environment: &Environment, question: &VerifyQuestion<'_>) -> Result<Verification, CommandError> {
    let named = question.what.map(|what| environment.absolute(Path::new(what)));
    let mut total = match named {
        Some(path) if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) => {
            let what = format!("`{}` is a pipe, a socket or a device, and none of them is read", path.display());
            return Err(
                CommandError::new(CommandExit::Usage, what).hint("save what comes out of it as a file, and name the file")
            );
        }
        Some(path) if is_run(&path) => verify_copied(&path, question, environment)?,
        Some(_) | None => {
            let root = environment.state_root();
            let once = || verify_store(question, environment);
            let mut total = verify_steadily(root, once, |total: &mut Verification| &mut total.found.faults)?;
            name_links(root, &mut total.found.faults);
            total
        }
    };
    sort_by_cause(&mut total.found.faults);
    Ok(total)
}

/// Verifies the evidence of a run, named by its id or number: its files, its signatures and its lines in the ledger. Returns `None` if there
/// is no such run.
///
/// # Errors
/// When the store cannot be read. What is wrong with the evidence is in the result.
pub fn verify_run(store: &Store, project: &ProjectId, wanted: &str) -> Result<Option<Verification>, EvidenceError> {
    let Some(run_id) = find_run(&known_runs(store, project)?, wanted) else { return Ok(None) };
    let scope = VerificationScope::Run(run_id);
    let once = || {
        let (mut total, keys, index) = Verification::begin(store, &|_| ())?;
        total.projects.push(project.clone());
        total.add(verify_one(store, project, &keys, index.as_ref(), (&scope, 1))?);
        Ok(total)
    };
    let mut total = verify_steadily(store.root(), once, |total: &mut Verification| &mut total.found.faults)?;
    sort_by_cause(&mut total.found.faults);
    Ok(Some(total))
}

/// Returns whether a path is a run or an exported run: a directory or an archive file.
fn is_run(path: &Path) -> bool {
    path.join(MANIFEST_NAME).is_file() || path.join("run").is_dir() || (is_archive_name(path) && path.is_file())
}

fn verify_copied(
    directory: &Path,
    question: &VerifyQuestion<'_>,
    environment: &Environment,
) -> Result<Verification, CommandError> {
    let keys = match question.key {
        Some(file) => read_keys(&environment.absolute(file))?,
        None => own_keys(directory, environment)?,
    };
    let mut total = Verification::default();
    let anchors = read_anchors(question, environment, &mut total.found.faults)?;
    total.add(verify_copy(directory, &keys, &anchors)?);
    if total.found.faults.is_empty() {
        total.held = anchors.iter().filter_map(HeldAnchorV1::of).collect();
    }
    Ok(total)
}

fn read_keys(path: &Path) -> Result<AcceptedKeys, CommandError> {
    const HINT: &str = "name the file with the public keys of whoever made the run: `proctor key export` prints them there";
    let text = read_regular_text(path, LONGEST_KEY).map_err(|error| {
        CommandError::caused(CommandExit::Usage, format!("`{}` cannot be read", path.display()), &error).hint(HINT)
    })?;
    AcceptedKeys::parse(&text)
        .map_err(|error| CommandError::caused(CommandExit::Usage, format!("`{}` is no key", path.display()), &error).hint(HINT))
}

/// Returns the keys of this user. It is an error if there are none.
fn own_keys(directory: &Path, environment: &Environment) -> Result<AcceptedKeys, CommandError> {
    let ring = read_key_ring(&Store::open_to_read(environment.state_root()))?;
    if ring.keys().is_empty() || !names_a_key(directory, &ring)? {
        let what = format!("`{}` is not signed by a key of yours", directory.display());
        return Err(CommandError::new(CommandExit::Usage, what).hint("name the public key of whoever made it: `--key FILE`"));
    }
    Ok(AcceptedKeys::History(ring))
}

/// Verifies what is in the store once. Other processes may write to it meanwhile.
fn verify_store(question: &VerifyQuestion<'_>, environment: &Environment) -> Result<Verification, CommandError> {
    let store = Store::open_to_read(environment.state_root());
    let (mut total, keys, index) = Verification::begin(&store, &|line| environment.note(line))?;
    if question.what.is_none() {
        total.found.faults.splice(0..0, check_store_entries(&store));
    }
    total.projects = if question.all {
        every_project(&store, index.as_ref(), &keys)?
    } else {
        vec![find_project(&store, index.as_ref(), question, environment)?]
    };
    let named = question.key.map(|file| read_keys(&environment.absolute(file))).transpose()?;
    let anchors = read_anchors(question, environment, &mut total.found.faults)?;
    for project in total.projects.clone() {
        let scope = question.what.map_or(Ok(VerificationScope::Everything), |what| scope_of(&store, &project, what))?;
        let checked = verify_one(&store, &project, &keys, index.as_ref(), (&scope, processors() as usize))?;
        if question.what.is_none() {
            total.found.faults.extend(replaced_link(environment, &store, &project, &checked, &keys));
        }
        if !anchors.is_empty() {
            total.logs.push(LedgerLog::from_hashes(project, checked.line_hashes.clone()));
        }
        total.add(checked);
    }
    // With a named key, those of the store count as far as they follow from it.
    let accepted = match named {
        None => AcceptedKeys::History(keys),
        Some(named) => named.with_history(&keys).unwrap_or(named),
    };
    total.compare_anchors(&anchors, &accepted);
    Ok(total)
}

/// Verifies what the store has of a project, and compares the index with its ledger. `threads` is how many threads hash files.
fn verify_one(
    store: &Store,
    project: &ProjectId,
    keys: &KeyRing,
    index: Option<&IndexReader>,
    (scope, threads): (&VerificationScope, usize),
) -> Result<VerificationResult, EvidenceError> {
    let mut checked = verify_project(store, project, keys, scope, threads)?;
    let ledger = ledger_file(store, project);
    let mut faults: Vec<_> = line_from_the_future(&ledger, &checked.lines, clock::now()).into_iter().collect();
    faults.extend(approval_faults(project, &ledger, &checked.lines));
    faults.append(&mut checked.faults);
    match index.map(|index| index.compare(project, &checked.lines)) {
        Some(Ok(differences)) => faults.extend(differences.iter().map(fault_from_difference)),
        Some(Err(error)) => faults.push(fault_from_index_error(&error)),
        None => {}
    }
    checked.faults = faults;
    Ok(checked)
}

fn fault_from_difference(difference: &IndexDifference) -> EvidenceFault {
    match difference {
        IndexDifference::Ahead { knows } => {
            EvidenceFault::new(FaultKind::IndexAhead, INDEX, format!("it knows line {}", knows.0))
        }
        IndexDifference::Row { table, kind, row } => {
            let why = match kind {
                RowDifference::Unfounded => "does not follow from the ledger",
                RowDifference::Missing => "follows from the ledger and is not there",
            };
            EvidenceFault::new(FaultKind::IndexDiffers, INDEX, format!("table `{table}`: {row}: {why}"))
        }
    }
}

fn fault_from_index_error(error: &IndexError) -> EvidenceFault {
    EvidenceFault::new(FaultKind::IndexDamaged, INDEX, error.to_string())
}

/// Reports what is in the place of a project's link to its evidence, and looks like evidence. A project whose directory or settings cannot
/// be read now has no link to compare.
fn replaced_link(
    environment: &Environment,
    store: &Store,
    project: &ProjectId,
    checked: &VerificationResult,
    keys: &KeyRing,
) -> Option<EvidenceFault> {
    let registered = |line: &LedgerLine| match line.body.approving() {
        Some(ApprovingLine::Registered(record)) => Some(PathBuf::from(&record.path)),
        Some(ApprovingLine::Approved(_)) | None => None,
    };
    let root = checked.lines.iter().rev().find_map(|(_, line)| registered(line))?;
    let (configuration, _) = setup::configuration(environment, &root).ok()?;
    let name = Some(configuration.evidence.link).filter(|name| !name.is_empty())?;
    let detail = find_replaced_link(&root, &name, (&store.project_directory(project), &checked.line_hashes), keys)?;
    Some(EvidenceFault::new(FaultKind::LinkReplaced, root.join(name), detail))
}

/// Returns every project that has a ledger, evidence, or rows in the index, or that a key record knows.
fn every_project(store: &Store, index: Option<&IndexReader>, keys: &KeyRing) -> Result<Vec<ProjectId>, EvidenceError> {
    let mut projects = list_projects(store)?;
    projects.extend(projects_with_evidence(store)?);
    let indexed = index.and_then(|index| index.projects().ok()).unwrap_or_default();
    projects.extend(indexed.into_iter().filter_map(|project| ProjectId::try_from(project).ok()));
    projects.extend(keys.known_projects());
    projects.sort();
    projects.dedup();
    Ok(projects)
}

fn find_project(
    store: &Store,
    index: Option<&IndexReader>,
    question: &VerifyQuestion<'_>,
    environment: &Environment,
) -> Result<ProjectId, CommandError> {
    let root = setup::project_root(environment, question.project)?;
    // A missing or unreadable ledger does not name its project, but the index may.
    let by_index = || index.and_then(|index| index.project_at(&root.to_string_lossy()).ok().flatten());
    let found = match find_registered_project(store, &root) {
        Ok(by_ledger) => by_ledger.or_else(by_index),
        Err(error) => Some(by_index().ok_or(error)?),
    };
    found.ok_or_else(|| opening::not_registered(environment, &root, "`proctor verify --all` verifies everything there is"))
}

fn find_run(known: &[(RunId, TaskId)], wanted: &str) -> Option<RunId> {
    let number = wanted.parse::<u64>().ok();
    let is_wanted = |run_id: &&RunId| run_id.as_str() == wanted || number == Some(run_id.number());
    known.iter().map(|(run_id, _)| run_id).find(is_wanted).cloned()
}

/// Returns what a word names: a run by its id or number, or else a task.
fn scope_of(store: &Store, project: &ProjectId, what: &str) -> Result<VerificationScope, CommandError> {
    let known = known_runs(store, project)?;
    if let Some(run_id) = find_run(&known, what) {
        return Ok(VerificationScope::Run(run_id));
    }
    match TaskId::try_from(what) {
        Ok(task) if known.iter().any(|(_, of)| *of == task) => Ok(VerificationScope::Task(task)),
        _ => Err(CommandError::new(CommandExit::Usage, format!("there is no run, task or copied run `{what}`"))
            .hint("`proctor log` lists the runs; a directory must have a `SHA256SUMS` in it")),
    }
}

/// Reads the named anchor files. A missing file is a fault: the file existed when the anchor was made, so somebody may have removed it.
fn read_anchors(
    question: &VerifyQuestion<'_>,
    environment: &Environment,
    faults: &mut Vec<EvidenceFault>,
) -> Result<Vec<Anchor>, EvidenceError> {
    let mut anchors = Vec::new();
    for file in question.anchors {
        match read_anchor(&environment.absolute(file))? {
            Some(anchor) => anchors.push(Anchor { place: file.clone(), ..anchor }),
            None => faults.push(EvidenceFault::new(FaultKind::AnchorMissing, file, "there is no such file")),
        }
    }
    Ok(anchors)
}

impl HeldAnchorV1 {
    /// Describes an anchor for the output; `None` if the anchor is not a readable checkpoint.
    fn of(anchor: &Anchor) -> Option<Self> {
        let checkpoint = anchor.found.as_ref().ok()?.checkpoint();
        let place = anchor.place.to_string_lossy().into_owned();
        Some(Self { place, project: checkpoint.project.clone(), lines: checkpoint.size, root: checkpoint.root })
    }
}

impl Verification {
    /// Verifies the keys of the store, and opens its index. The index is made from the ledgers. It is opened before any ledger is read, so
    /// every line that it has applied must be in the ledgers.
    fn begin(store: &Store, note: &dyn Fn(&str)) -> Result<(Self, KeyRing, Option<IndexReader>), EvidenceError> {
        let VerifiedKeys { ring, faults, unfinished } = verify_keys(store)?;
        let mut total = Self::default();
        total.found.faults = faults;
        total.found.unfinished = unfinished;
        let index = match IndexReader::open(&store.index_path(), approval_counts) {
            Ok(index) => index,
            // Even for reading, SQLite has to write beside the index. It is no evidence, and the ledgers say the same.
            Err(_) if access(store.root(), AccessFlags::W_OK).is_err() => {
                note("note: nothing may be written in the store, so the index was not compared with the ledgers");
                None
            }
            Err(error) => {
                total.found.faults.push(fault_from_index_error(&error));
                None
            }
        };
        Ok((total, ring, index))
    }

    fn add(&mut self, checked: VerificationResult) {
        self.lines += checked.lines.len() as u64;
        self.found.runs += checked.runs;
        self.found.files += checked.files;
        self.found.bytes += checked.bytes;
        self.found.unsigned.extend(checked.unsigned);
        self.found.archived += checked.archived;
        self.found.pruned += checked.pruned;
        self.found.purged += checked.purged;
        self.found.unfinished.extend(checked.unfinished);
        self.found.faults.extend(checked.faults);
    }

    /// Compares each anchor with the ledger of its project, and keeps those that hold.
    fn compare_anchors(&mut self, anchors: &[Anchor], keys: &AcceptedKeys) {
        for anchor in anchors {
            let project = anchor.found.as_ref().ok().map(|signed| &signed.checkpoint().project);
            let of_project = self.logs.iter().find(|log| Some(log.project()) == project);
            // An unreadable anchor, or an anchor of a project that was not verified, has no ledger here. It is compared
            // with the first ledger, because the comparison reports either fault.
            let found = match of_project.or(self.logs.first()) {
                Some(log) => check_anchor(anchor, log, keys),
                None => vec![EvidenceFault::new(FaultKind::AnchorAhead, &anchor.place, "there is no ledger")],
            };
            self.held.extend(found.is_empty().then(|| HeldAnchorV1::of(anchor)).flatten());
            self.found.faults.extend(found);
        }
    }
}

impl Serialize for Verification {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { projects, found, lines, held, .. } = self;
        let faults = found.faults.iter().map(|fault| FaultV1(fault, [fault.kind.word(), fault.kind.what(), fault.kind.next()]));
        let words = |kind: UnfinishedKind| [kind.word(), kind.what(), kind.next()];
        let unfinished = found.unfinished.iter().map(|work| FaultV1(work, words(work.kind)));
        let mut fields = serializer.serialize_struct("VerificationV1", 14)?;
        fields.serialize_field("schema", "proctor-verify-v1")?;
        fields.serialize_field("verified", &found.faults.is_empty())?;
        fields.serialize_field("projects", projects)?;
        fields.serialize_field("runs", &found.runs)?;
        fields.serialize_field("files", &found.files)?;
        fields.serialize_field("bytes", &found.bytes)?;
        fields.serialize_field("lines", lines)?;
        fields.serialize_field("unsigned", &found.unsigned)?;
        fields.serialize_field("archived", &found.archived)?;
        fields.serialize_field("pruned", &found.pruned)?;
        fields.serialize_field("purged", &found.purged)?;
        fields.serialize_field("anchors", held)?;
        fields.serialize_field("unfinished", &unfinished.collect::<Vec<_>>())?;
        fields.serialize_field("faults", &faults.collect::<Vec<_>>())?;
        fields.end()
    }
}

/// A fault, or work that a dead process left unfinished, as an object of the document, with the word for its kind, a text that says what is
/// wrong, and a text that says what to do next.
#[derive(Debug)]
struct FaultV1<'a, K>(&'a EvidenceFault<K>, [&'static str; 3]);

impl<K> Serialize for FaultV1<'_, K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(EvidenceFault { file, detail, .. }, [kind, what, next]) = self;
        let mut fields = serializer.serialize_struct("FaultV1", 5)?;
        fields.serialize_field("kind", kind)?;
        // File names need not be UTF-8, but JSON must be.
        fields.serialize_field("file", &file.to_string_lossy())?;
        fields.serialize_field("what", what)?;
        fields.serialize_field("detail", detail)?;
        fields.serialize_field("next", next)?;
        fields.end()
    }
}
