//! Verifying a project of a store: inspecting everything, and collecting all faults.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::keys::{KeyRing, is_temporary_key_file, key_files, keys_directory, read_key_ring, retired_private_halves};
use crate::names::ARCHIVE_SUFFIX;
use crate::verification::check_keys::{check_key_lines, check_keys, check_takeover_lines};
use crate::verification::check_ledger::{ParsedLedger, RunsInLedger, check_ledger, put_segments_in};
use crate::verification::check_pruned::{PrunedRemainder, check_pruned};
use crate::verification::check_run::{CheckedRun, RunSigner, check_access, check_file, check_run, check_task};
use crate::verification::check_store::{check_guarded, name_links, owner, relative};
use crate::verification::inspect::{
    InspectedDirectory, InspectedEntry, InspectionDepth, inspect_directory, inspect_entries, inspect_entry, needs_content,
};
use crate::verification::steadily::in_parallel;
use crate::verification::{EvidenceFault, FaultKind, UnfinishedKind, UnfinishedWork, sort_by_cause};
use crate::{EvidenceError, OpenRun, Store, StoredRun, list_runs, read_lines};
use proctor_model::{Digest, LedgerLine, ProjectId, RunId, TaskId};

pub(super) const LEDGER_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;
const GONE: &str = "its directory should be gone";

/// The runs of a project that are verified. The ledger is always verified as a whole, because a part of it proves
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerificationScope {
    Everything,
    Task(TaskId),
    Run(RunId),
}

/// The result of a verification, with every fault that was found.
#[derive(Debug, Default)]
pub struct VerificationResult {
    /// All faults, sorted by file.
    pub faults: Vec<EvidenceFault>,
    /// How many runs were hashed.
    pub runs: u64,
    /// How many files the hashed runs have.
    pub files: u64,
    /// How many bytes the files of the hashed runs have.
    pub bytes: u64,
    /// The runs that are older than the store's first key, and therefore not signed.
    pub unsigned: Vec<RunId>,
    /// How many runs an earlier version packed into files, which are not read.
    pub archived: u64,
    /// How many runs the ledger calls pruned.
    pub pruned: u64,
    /// How many of these were removed with the whole project.
    pub purged: u64,
    /// Work that a dead process left unfinished and that the next process will finish.
    pub unfinished: Vec<UnfinishedWork>,
    /// The lines of the ledger that could be parsed, each with the byte offset in the file at which the line ends.
    pub lines: Vec<(u64, LedgerLine)>,
    /// The hash of each whole line in the order of the file, to be compared with an anchor.
    pub line_hashes: Vec<Digest>,
}

/// The result of verifying the keys of a store.
#[derive(Debug, Default)]
pub struct VerifiedKeys {
    /// The keys with which everything else is verified. Empty if a key record cannot be read.
    pub ring: KeyRing,
    /// What is wrong with the keys.
    pub faults: Vec<EvidenceFault>,
    /// Private halves of replaced keys that a dead process did not destroy.
    pub unfinished: Vec<UnfinishedWork>,
}

/// Verifies the keys of a store, and that no link is in the place of a directory with evidence.
pub fn verify_keys(store: &Store) -> Result<VerifiedKeys, EvidenceError> {
    let mut found = verify_key_files(store)?;
    found.faults.extend(check_guarded(store.root()));
    Ok(found)
}

fn verify_key_files(store: &Store) -> Result<VerifiedKeys, EvidenceError> {
    let base = Path::new("keys");
    let found = inspect_directory(&keys_directory(store), |name| name.ends_with(".pem") || is_temporary_key_file(name));
    match read_key_ring(store) {
        Ok(ring) => {
            let faults = check_keys(base, &found, &ring, owner(store));
            let still_there = |path: PathBuf| {
                let detail = "a replaced key signs nothing any more".to_owned();
                UnfinishedWork::new(UnfinishedKind::RetiredKey, relative(store, &path), detail)
            };
            let unfinished = retired_private_halves(store, &ring)?.into_iter().map(still_there).collect();
            Ok(VerifiedKeys { ring, faults, unfinished })
        }
        // A link or another thing that is no file stands in the place of a record.
        Err(EvidenceError::File { path, source, .. }) if path.starts_with(keys_directory(store)) => {
            let faults = vec![EvidenceFault::new(FaultKind::KeyUnreadable, relative(store, &path), source.to_string())];
            Ok(VerifiedKeys { faults, ..VerifiedKeys::default() })
        }
        Err(EvidenceError::Key { path, problem }) => {
            let kind = if key_files(store)?.first().is_none_or(|(number, _)| *number == 1) {
                FaultKind::KeyUnreadable
            } else {
                FaultKind::KeyMissing
            };
            let file = path.file_name().map_or_else(|| base.to_owned(), |name| base.join(name));
            let faults = vec![EvidenceFault::new(kind, file, problem.to_string())];
            Ok(VerifiedKeys { faults, ..VerifiedKeys::default() })
        }
        Err(error) => Err(error),
    }
}

/// Verifies a project without taking a lock. A run that is in progress is skipped.
pub fn verify_project(
    store: &Store,
    project: &ProjectId,
    keys: &KeyRing,
    scope: &VerificationScope,
    threads: usize,
) -> Result<VerificationResult, EvidenceError> {
    let mut result = VerificationResult::default();
    // These reads must stay in this order. Every run directory that is listed here existed before the ledger was read,
    // so its run is in the ledger or still under way.
    let open_before = store.unfinished_run(project)?;
    let stored = list_runs(store, project, None)?;
    let read = read_ledger(store, project, keys, threads, stored.is_empty(), &mut result.faults)?;
    let is_busy = store.lock_holder(project)?.is_some();
    let open = [open_before, store.unfinished_run(project)?];
    let ledger = RunsInLedger::from_ledger(&read);
    let ledger_path = relative(store, &store.ledger_path(project));
    let (wrong, key_line) = check_key_lines(keys, project, &ledger_path, &read.lines);
    result.faults.extend(wrong);
    if !is_busy {
        result.unfinished.extend(key_line);
        result.unfinished.extend(unfinished_run_and_line(store, project, open[1].as_ref(), &read));
    }
    let is_wanted = |task: &TaskId, run_id: &RunId| match scope {
        VerificationScope::Everything => true,
        VerificationScope::Task(wanted) => task == wanted,
        VerificationScope::Run(wanted) => run_id == wanted,
    };
    let owner = owner(store);
    let tasks: BTreeSet<&TaskId> = ledger.runs.values().map(|(_, record)| &record.task).collect();
    let latest: BTreeSet<&RunId> = tasks.into_iter().filter_map(|task| ledger.latest(task)).collect();
    // Only the content of the latest runs is kept after they are verified. All runs together would not fit into memory.
    let verify = |run: &StoredRun| {
        let verification = verify_run(store, project, keys, &ledger, &open, owner, run)?;
        let directory = if latest.contains(&run.run_id) { verification.directory } else { InspectedDirectory::default() };
        Some(RunVerification { directory, ..verification })
    };
    let wanted: Vec<StoredRun> = stored.into_iter().filter(|run| is_wanted(&run.task, &run.run_id)).collect();
    let verification = in_parallel(&wanted, threads, verify);
    let mut directories = BTreeMap::new();
    for (run, verification) in wanted.iter().zip(verification) {
        let Some(verification) = verification else { continue };
        let verification = RunVerification { unfinished: verification.unfinished.filter(|_| !is_busy), ..verification };
        directories.insert(run.run_id.clone(), result.add(&run.run_id, verification));
    }
    for record in ledger.runs.values().filter(|(_, record)| is_wanted(&record.task, &record.run_id)).map(|(_, record)| record) {
        let directory = store.run_directory(project, &record.task, &record.run_id);
        if !ledger.pruned.contains(&record.run_id) && !store.has_directory(&directory) {
            result.faults.push(EvidenceFault::new(
                FaultKind::RunMissing,
                relative(store, &directory),
                "the ledger has a line about it",
            ));
        }
    }
    if *scope == VerificationScope::Everything && !is_busy {
        result.faults.extend(check_other_entries(store, project, &ledger, &directories, &open, owner));
    }
    drop_faults_of_removed_runs(store, project, read.lines.last().map_or(0, |(offset, _)| *offset), &mut result.faults);
    // A run that the ledger calls pruned may have been removed after this verification saw its files. So a `RunPruned`
    // fault is kept only if its path still exists.
    result.faults.retain(|fault| fault.kind != FaultKind::RunPruned || store.root().join(&fault.file).exists());
    name_links(store.root(), &mut result.faults);
    sort_by_cause(&mut result.faults);
    result.unfinished.sort();
    result.unsigned.sort();
    result.archived = ledger.packed.len() as u64;
    result.pruned = ledger.pruned.len() as u64 - result.archived;
    result.note_purge(store, project, &read, is_busy);
    result.lines = read.lines;
    result.line_hashes = read.all_hashes;
    Ok(result)
}

impl VerificationResult {
    /// Adds a run's faults and counts to this result, and returns the run's inspected directory.
    fn add(&mut self, run_id: &RunId, verification: RunVerification) -> InspectedDirectory {
        self.faults.extend(verification.faults);
        self.unfinished.extend(verification.unfinished);
        self.runs += 1;
        self.files += verification.files;
        self.bytes += verification.bytes;
        self.unsigned.extend(verification.is_unsigned.then(|| run_id.clone()));
        verification.directory
    }
}

/// Returns two kinds of unfinished work: the run that the lock file still names as open, and a ledger line that was cut
/// short. The caller has made sure that no process holds the lock, so no process works on either.
fn unfinished_run_and_line(
    store: &Store,
    project: &ProjectId,
    open: Option<&OpenRun>,
    read: &ParsedLedger,
) -> Vec<UnfinishedWork> {
    let run = open.map(|open| {
        let directory = relative(store, &store.run_directory(project, &open.task, &open.run_id));
        UnfinishedWork::new(UnfinishedKind::Run, directory, format!("run {}", open.run_id.number()))
    });
    let line = read.cut_short.map(|bytes| {
        UnfinishedWork::new(UnfinishedKind::Line, relative(store, &store.ledger_path(project)), format!("{bytes} bytes"))
    });
    run.into_iter().chain(line).collect()
}

#[derive(Default)]
pub(super) struct RunVerification {
    pub(super) faults: Vec<EvidenceFault>,
    unfinished: Option<UnfinishedWork>,
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) is_unsigned: bool,
    directory: InspectedDirectory,
}

impl RunVerification {
    /// Returns the result for a run whose directory should not exist.
    fn refused(kind: FaultKind, base: PathBuf, detail: &str) -> Self {
        Self { faults: vec![EvidenceFault::new(kind, base, detail)], ..Self::default() }
    }
}

/// Verifies one run that has a directory. Returns `None` if the run is under way.
fn verify_run(
    store: &Store,
    project: &ProjectId,
    keys: &KeyRing,
    ledger: &RunsInLedger<'_>,
    open: &[Option<OpenRun>],
    owner: u32,
    run: &StoredRun,
) -> Option<RunVerification> {
    let base = relative(store, &run.directory);
    if ledger.pruned.contains(&run.run_id) {
        let last = ledger.pruned_last.iter().find(|pruned| pruned.run_id == run.run_id && pruned.task == run.task);
        let found = inspect_directory(&run.directory, needs_content);
        return Some(match check_pruned(&found, &base, owner, last) {
            PrunedRemainder::Fault(fault) => RunVerification { faults: vec![fault], ..RunVerification::default() },
            PrunedRemainder::Unfinished(unfinished) => {
                RunVerification { unfinished: Some(unfinished), ..RunVerification::default() }
            }
        });
    }
    let Some((sequence, record)) = ledger.runs.get(&run.run_id).copied() else {
        if open.iter().flatten().any(|open| open.run_id == run.run_id) {
            return None;
        }
        let (kind, detail) = if ledger.superseded.contains_key(&run.run_id) {
            (FaultKind::RunSuperseded, GONE)
        } else {
            (FaultKind::RunUnnamed, "there is a directory, but no ledger line")
        };
        return Some(RunVerification::refused(kind, base, detail));
    };
    let found = inspect_directory(&run.directory, needs_content);
    let key = keys.key_for_line(project, proctor_model::Sequence(sequence));
    let signed = key.map_or(RunSigner::Nobody, |key| RunSigner::Key(key.public()));
    let context = CheckedRun { base: &base, owner: Some(owner), project: Some(project), record: Some(record), signed };
    let mut faults = check_run(&found, &context);
    if record.task != run.task {
        faults.push(EvidenceFault::new(
            FaultKind::RunMisplaced,
            &base,
            format!("the ledger lists it under task `{}`", record.task),
        ));
    }
    let (files, bytes) = file_count_and_size(&found);
    Some(RunVerification {
        faults,
        unfinished: None,
        files,
        bytes,
        is_unsigned: matches!(signed, RunSigner::Nobody),
        directory: found,
    })
}

/// Returns how many regular files the directory contains, and the sum of their sizes in bytes.
pub(super) fn file_count_and_size(found: &InspectedDirectory) -> (u64, u64) {
    let sizes = found.entries.values().filter_map(|entry| match entry {
        InspectedEntry::File(file) => Some(file.hashed.bytes),
        InspectedEntry::SymbolicLink(_)
        | InspectedEntry::Directory(_)
        | InspectedEntry::Other
        | InspectedEntry::Unreadable(_) => None,
    });
    sizes.fold((0, 0), |(files, bytes), size| (files + 1, bytes + size))
}

fn read_ledger(
    store: &Store,
    project: &ProjectId,
    keys: &KeyRing,
    threads: usize,
    is_bare: bool,
    faults: &mut Vec<EvidenceFault>,
) -> Result<ParsedLedger, EvidenceError> {
    let path = store.ledger_path(project);
    let shown = relative(store, &path);
    let read = match inspect_entry(&path, InspectionDepth::Content) {
        InspectedEntry::File(file) => {
            faults.extend(check_file(&shown, &file, LEDGER_MODE, Some(owner(store))));
            let mut content = file.content.unwrap_or_default();
            put_segments_in(store, &path, &mut content, faults)?;
            let mut read = check_ledger(&content, &shown, project, keys, threads, faults);
            if is_bare && read.all_hashes.is_empty() {
                // The process died while it registered the project. The next registration makes another id, so no
                // process will ever finish this ledger.
                read.cut_short = None;
            }
            read
        }
        InspectedEntry::Unreadable(_) if is_bare && !path.exists() => {
            if let Some((key, line)) = keys.knows_lines_of(project) {
                let detail =
                    format!("key {} took over after line {line} of it: the project was removed by hand", key.id().short());
                faults.push(EvidenceFault::new(FaultKind::LedgerMissing, &shown, detail));
            }
            return Ok(ParsedLedger::default());
        }
        InspectedEntry::Unreadable(why) => {
            faults.push(EvidenceFault::new(FaultKind::LedgerMissing, &shown, why));
            ParsedLedger::default()
        }
        InspectedEntry::SymbolicLink(_) | InspectedEntry::Directory(_) | InspectedEntry::Other => {
            faults.push(EvidenceFault::new(FaultKind::NotAFile, &shown, "a ledger is a file"));
            ParsedLedger::default()
        }
    };
    faults.extend(check_takeover_lines(keys, project, &shown, |sequence| read.hashes.get(&sequence).copied()));
    Ok(read)
}

/// Checks everything around the runs: entries that proctor did not create, and the links beside the runs.
fn check_other_entries(
    store: &Store,
    project: &ProjectId,
    ledger: &RunsInLedger<'_>,
    directories: &BTreeMap<RunId, InspectedDirectory>,
    open: &[Option<OpenRun>],
    owner: u32,
) -> Vec<EvidenceFault> {
    let mut faults = Vec::new();
    let project_directory = store.project_directory(project);
    if project_directory.is_symlink() {
        // The link is reported with the entries of the store, and nothing behind it belongs to the project.
        return faults;
    }
    for (name, entry) in inspect_entries(&project_directory) {
        let path = relative(store, &project_directory.join(&name));
        let (InspectedEntry::Directory(access), Ok(task)) = (&entry, TaskId::try_from(name)) else {
            faults.push(EvidenceFault::new(FaultKind::Foreign, path, "only directories of tasks belong there"));
            continue;
        };
        let runs = store.runs_directory(project, &task);
        let is_of_open_run = open.iter().flatten().any(|open| open.task == task);
        if !ledger.has_task(&task) && !is_of_open_run && inspect_entries(&runs).is_empty() {
            faults.push(EvidenceFault::new(FaultKind::Foreign, path, "no run is in it, and no line of the ledger has the task"));
            continue;
        }
        faults.extend(check_access(&path, *access, DIRECTORY_MODE, owner));
        let latest = ledger.latest(&task).and_then(|run_id| directories.get(run_id).map(|directory| (run_id, directory)));
        // If the run's process died after it wrote the ledger line, some or all links may still point to the run
        // before. Recovery sets them, so they are not checked here.
        let is_to_be_linked = latest.is_some_and(|(run_id, _)| open.iter().flatten().any(|open| open.run_id == *run_id));
        if !is_to_be_linked {
            faults.extend(check_task(&path, &inspect_entries(&store.task_directory(project, &task)), latest));
        }
        match inspect_entry(&runs, InspectionDepth::Metadata) {
            InspectedEntry::Directory(access) => {
                faults.extend(check_access(&relative(store, &runs), access, DIRECTORY_MODE, owner));
            }
            InspectedEntry::SymbolicLink(target) => {
                let detail = format!("a link to `{}`, which is not followed", target.display());
                faults.push(EvidenceFault::new(FaultKind::NotAFile, relative(store, &runs), detail));
                continue;
            }
            InspectedEntry::File(_) | InspectedEntry::Other | InspectedEntry::Unreadable(_) => {}
        }
        for (name, entry) in inspect_entries(&runs) {
            let is_run = matches!(entry, InspectedEntry::Directory(_)) && RunId::try_from(name.as_str()).is_ok();
            let packed = name.strip_suffix(ARCHIVE_SUFFIX).and_then(|name| RunId::try_from(name).ok());
            if !is_run && !packed.is_some_and(|run_id| ledger.packed.contains(&run_id)) {
                let path = relative(store, &runs.join(&name));
                faults.push(EvidenceFault::new(FaultKind::Foreign, path, "only directories of runs belong there"));
            }
        }
    }
    faults
}

/// Drops faults about runs that were pruned during the verification, that is, after the ledger line that
/// ends at `end`.
fn drop_faults_of_removed_runs(store: &Store, project: &ProjectId, end: u64, faults: &mut Vec<EvidenceFault>) {
    if faults.is_empty() {
        return;
    }
    let removed = paths_removed_since(store, project, end);
    faults.retain(|fault| !removed.iter().any(|place| fault.file.starts_with(place)));
}

/// Returns the paths of runs that were pruned after the ledger was read. What verification found at these
/// paths may be half removed.
fn paths_removed_since(store: &Store, project: &ProjectId, offset: u64) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for (_, line) in read_lines(store, project, offset).into_iter().flatten().flatten() {
        let pruned = line.body.pruned_runs();
        places.extend(pruned.iter().map(|run| store.run_directory(project, &run.task, &run.run_id)));
    }
    places.iter().map(|place| relative(store, place)).collect()
}
