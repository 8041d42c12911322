//! A store, or a part of it: looking at everything, and putting together what is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::evidence::files::hash_file;
use crate::evidence::keys::{KeyRing, is_unfinished, key_files, keys_directory, read_key_ring};
use crate::evidence::names::run_of_archive;
use crate::evidence::verification::check_keys::{check_keys, check_positions};
use crate::evidence::verification::check_ledger::{ReadLedger, check_ledger};
use crate::evidence::verification::check_pruned::{Remainder, check_pruned};
use crate::evidence::verification::check_run::{RunContext, SignedBy, check_access, check_file, check_run};
use crate::evidence::verification::check_task::check_task;
use crate::evidence::verification::judge_archive::judge_archive;
use crate::evidence::verification::look::{
    FoundDirectory, FoundEntry, Keep, is_read_of_a_run, look_at_entry, look_at_files, look_at_names,
};
use crate::evidence::verification::parallel::in_parallel;
use crate::evidence::verification::{Fault, FaultKind, Unfinished, UnfinishedKind};
use crate::evidence::{EvidenceError, OpenRun, Store, StoredRun, list_runs, read_lines};
use crate::model::{Digest, LedgerBody, LedgerLine, PackedRun, ProjectId, PrunedRun, RunId, RunRecord, TaskId};

const LEDGER_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;
const GONE: &str = "its directory should be gone";

/// What of a project is verified. Its ledger always is, as a whole: nothing of it says anything alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// All of it.
    Everything,
    /// The runs of a task.
    Task(TaskId),
    /// One run.
    Run(RunId),
}

/// What was verified, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Checked {
    /// Every fault, in the order of files.
    pub faults: Vec<Fault>,
    /// How many runs were hashed.
    pub runs: u64,
    /// How many files of them.
    pub files: u64,
    /// How many bytes those have.
    pub bytes: u64,
    /// The runs that are not signed because they were made before there was a key.
    pub unsigned: Vec<RunId>,
    /// How many of the runs are kept as archives.
    pub archived: u64,
    /// How many runs of the ledger are pruned.
    pub pruned: u64,
    /// What a process that died has left, and the next one of the project brings to its end.
    pub unfinished: Vec<Unfinished>,
    /// The lines of the ledger that can be read, each with the offset after it.
    pub lines: Vec<(u64, LedgerLine)>,
    /// The hash of every line of the ledger in the order of the file, to be compared with an anchor.
    pub line_hashes: Vec<Digest>,
}

/// Verifies the keys of a store; with what can be read of them everything else is verified.
pub fn verify_keys(store: &Store) -> Result<(KeyRing, Vec<Fault>), EvidenceError> {
    let base = Path::new("keys");
    let found = look_at_files(&keys_directory(store), |name| name.ends_with(".pem") || is_unfinished(name));
    match read_key_ring(store) {
        Ok(ring) => {
            let faults = check_keys(base, &found, &ring, owner(store));
            Ok((ring, faults))
        }
        Err(EvidenceError::Key { path, problem }) => {
            let kind = if key_files(store)?.first().is_none_or(|(number, _)| *number == 1) {
                FaultKind::KeyUnreadable
            } else {
                FaultKind::KeyMissing
            };
            let file = path.file_name().map_or_else(|| base.to_owned(), |name| base.join(name));
            Ok((KeyRing::default(), vec![Fault::of(kind, file, problem.to_string())]))
        }
        Err(error) => Err(error),
    }
}

/// Verifies a project. Nothing is locked: a run that goes on meanwhile is left out.
pub fn verify_project(
    store: &Store,
    project: &ProjectId,
    keys: &KeyRing,
    subject: &Subject,
    threads: usize,
) -> Result<Checked, EvidenceError> {
    let mut checked = Checked::default();
    // In this order: what was there before the ledger was read must be in it, or be the run that is under way.
    let open_before = store.unfinished_run(project)?;
    let stored = list_runs(store, project, None)?;
    let read = read_ledger(store, project, keys, threads, stored.is_empty(), &mut checked.faults)?;
    let is_busy = store.holder(project)?.is_some();
    let open = [open_before, store.unfinished_run(project)?];
    let ledger = Named::of(&read);
    if !is_busy {
        checked.unfinished.extend(begun(store, project, open[1].as_ref(), &read));
    }
    let is_wanted = |task: &TaskId, run_id: &RunId| match subject {
        Subject::Everything => true,
        Subject::Task(wanted) => task == wanted,
        Subject::Run(wanted) => run_id == wanted,
    };
    let owner = owner(store);
    let tasks: BTreeSet<&TaskId> = ledger.runs.values().map(|(_, record)| &record.task).collect();
    let latest: BTreeSet<&RunId> = tasks.into_iter().filter_map(|task| ledger.latest(task)).collect();
    // What lies in the others is let go as soon as it is judged: all of it together would not fit into memory.
    let judge = |run: &StoredRun| {
        if ledger.archived.contains_key(&run.run_id) && (is_busy || !run.directory.is_dir()) {
            // Whoever archives it is about to remove it, or has since it was listed.
            return None;
        }
        let judged = judge_run(store, project, keys, &ledger, &open, owner, run)?;
        let found = if latest.contains(&run.run_id) { judged.found } else { FoundDirectory::default() };
        Some(JudgedRun { found, ..judged })
    };
    let wanted: Vec<StoredRun> = stored.into_iter().filter(|run| is_wanted(&run.task, &run.run_id)).collect();
    let judged = in_parallel(&wanted, threads, judge);
    let mut found = BTreeMap::new();
    for (run, judged) in wanted.iter().zip(judged) {
        let Some(judged) = judged else { continue };
        let judged = JudgedRun { unfinished: judged.unfinished.filter(|_| !is_busy), ..judged };
        found.insert(run.run_id.clone(), checked.add(&run.run_id, judged));
    }
    let mut archived = ledger.kept_as_archives();
    archived.retain(|(packed, _)| is_wanted(&packed.task, &packed.run_id));
    checked.archived = archived.len() as u64;
    let judge =
        |(packed, of_run): &(&PackedRun, (u64, &RunRecord))| judge_archive((store, project), keys, owner, packed, *of_run);
    for ((packed, _), judged) in archived.iter().zip(in_parallel(&archived, threads, judge)) {
        checked.add(&packed.run_id, judged);
    }
    for record in ledger.runs.values().filter(|(_, record)| is_wanted(&record.task, &record.run_id)).map(|(_, record)| record) {
        let directory = store.run_directory(project, &record.task, &record.run_id);
        let is_put_away = ledger.pruned.contains(&record.run_id) || ledger.archived.contains_key(&record.run_id);
        if !is_put_away && !directory.is_dir() {
            checked.faults.push(Fault::of(FaultKind::RunMissing, relative(store, &directory), "the ledger has a line about it"));
        }
    }
    if *subject == Subject::Everything && !is_busy {
        checked.faults.extend(check_places(store, project, &ledger, &found, &open, owner));
    }
    forget_put_away(store, project, read.lines.last().map_or(0, |(offset, _)| *offset), &mut checked.faults)?;
    // Of a pruning that went on meanwhile there may have been anything.
    checked.faults.retain(|fault| fault.kind != FaultKind::RunPruned || store.root().join(&fault.file).exists());
    if !is_busy {
        checked.set_unfinished_apart(store, project, &ledger);
    }
    checked.faults.sort();
    checked.unfinished.sort();
    checked.unsigned.sort();
    checked.pruned = ledger.pruned.len() as u64;
    checked.lines = read.lines;
    checked.line_hashes = read.in_order;
    Ok(checked)
}

impl Checked {
    /// Takes over what is wrong with a run, and counts it; returns what was found of it.
    fn add(&mut self, run_id: &RunId, judged: JudgedRun) -> FoundDirectory {
        self.faults.extend(judged.faults);
        self.unfinished.extend(judged.unfinished);
        self.runs += 1;
        self.files += judged.files;
        self.bytes += judged.bytes;
        self.unsigned.extend(judged.is_unsigned.then(|| run_id.clone()));
        judged.found
    }

    /// Takes what a process that died has left out of the faults: the next one that writes ends it, or takes it back.
    fn set_unfinished_apart(&mut self, store: &Store, project: &ProjectId, ledger: &Named<'_>) {
        let is_archiving = store.archiving_directory(project).is_dir();
        let root = store.root();
        let begun = |fault: &Fault| {
            let archive_of = fault.file.file_name().and_then(|name| run_of_archive(name.to_str()?));
            match (fault.kind, archive_of) {
                (FaultKind::RunArchived, None) if is_archiving => Some(UnfinishedKind::Archiving),
                (FaultKind::ArchiveUnnamed, Some(run_id)) if is_archiving => {
                    let directory = root.join(&fault.file).with_file_name(run_id.as_str());
                    directory.is_dir().then_some(UnfinishedKind::Archiving)
                }
                (FaultKind::RunPruned, Some(run_id)) => {
                    let is_last = ledger.pruned_last.iter().any(|run| run.run_id == run_id);
                    let hashed = hash_file(&root.join(&fault.file)).ok();
                    let named = ledger.archived.get(&run_id).map(|packed| (packed.archive_bytes, packed.archive_hash));
                    (is_last && hashed.is_some() && hashed == named).then_some(UnfinishedKind::Pruning)
                }
                _ => None,
            }
        };
        let (unfinished, faults) = std::mem::take(&mut self.faults).into_iter().partition(|fault| begun(fault).is_some());
        self.faults = faults;
        let named: Vec<Fault> = unfinished;
        self.unfinished
            .extend(named.into_iter().filter_map(|fault| Some(Unfinished::of(begun(&fault)?, fault.file, fault.detail))));
    }
}

/// Returns what nobody is at work on: the run that the lock file has as open, and the line that was begun.
fn begun(store: &Store, project: &ProjectId, open: Option<&OpenRun>, read: &ReadLedger) -> Vec<Unfinished> {
    let run = open.map(|open| {
        let directory = relative(store, &store.run_directory(project, &open.task, &open.run_id));
        Unfinished::of(UnfinishedKind::Run, directory, format!("run {}", open.run_id.number()))
    });
    let line = read.begun.map(|bytes| {
        Unfinished::of(UnfinishedKind::Line, relative(store, &store.ledger_path(project)), format!("{bytes} bytes"))
    });
    run.into_iter().chain(line).collect()
}

/// What the ledger says of runs.
#[derive(Default)]
struct Named<'a> {
    /// The runs it has, each with the sequence of its line.
    runs: BTreeMap<&'a RunId, (u64, &'a RunRecord)>,
    superseded: BTreeSet<&'a RunId>,
    pruned: BTreeSet<&'a RunId>,
    archived: BTreeMap<&'a RunId, &'a PackedRun>,
    /// Those that the last line prunes.
    pruned_last: &'a [PrunedRun],
}

impl<'a> Named<'a> {
    fn of(read: &'a ReadLedger) -> Self {
        let last = read.last().map(|line| &line.body);
        let pruned_last = if let Some(LedgerBody::Pruned(record)) = last { record.runs.as_slice() } else { &[] };
        let mut named = Self { pruned_last, ..Self::default() };
        for (_, line) in &read.lines {
            match &line.body {
                LedgerBody::Run(record) => drop(named.runs.insert(&record.run_id, (line.sequence.0, record))),
                LedgerBody::Superseded(record) => drop(named.superseded.insert(&record.run_id)),
                LedgerBody::Pruned(record) => named.pruned.extend(record.runs.iter().map(|run| &run.run_id)),
                LedgerBody::Archived(record) => named.archived.extend(record.runs.iter().map(|run| (&run.run_id, run))),
                LedgerBody::Registered(_)
                | LedgerBody::Phase(_)
                | LedgerBody::Override(_)
                | LedgerBody::Serving(_)
                | LedgerBody::Approval(_)
                | LedgerBody::TaskList(_)
                | LedgerBody::Violation(_)
                | LedgerBody::Governance(_)
                | LedgerBody::Retest(_) => {}
            }
        }
        named
    }

    /// Returns the runs that are kept as archives, each with what the ledger says of it.
    fn kept_as_archives(&self) -> Vec<(&'a PackedRun, (u64, &'a RunRecord))> {
        let kept = self.archived.iter().filter(|(run_id, _)| !self.pruned.contains(*run_id));
        kept.filter_map(|(run_id, packed)| Some((*packed, *self.runs.get(run_id)?))).collect()
    }

    /// Says why the archive of a run should not be where it is; what it holds is judged elsewhere.
    fn misplaced_archive(&self, task: &TaskId, run_id: &RunId) -> Option<(FaultKind, &'static str)> {
        match self.archived.get(run_id) {
            Some(_) if self.pruned.contains(run_id) => Some((FaultKind::RunPruned, "its archive should be gone")),
            Some(packed) if packed.task == *task => None,
            Some(_) => Some((FaultKind::RunMisplaced, "the ledger has it with another task")),
            None => Some((FaultKind::ArchiveUnnamed, "there is an archive and no line")),
        }
    }

    /// Returns the last run of a task that `latest` leads to.
    fn latest(&self, task: &TaskId) -> Option<&'a RunId> {
        let counting = self.runs.values().filter(|(_, record)| record.task == *task && record.leads_latest());
        counting.max_by_key(|(sequence, _)| *sequence).map(|(_, record)| &record.run_id)
    }
}

/// What is found of a run, and what is wrong with it.
#[derive(Default)]
pub(super) struct JudgedRun {
    pub(super) faults: Vec<Fault>,
    unfinished: Option<Unfinished>,
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) is_unsigned: bool,
    found: FoundDirectory,
}

impl JudgedRun {
    /// A run whose directory should not be there.
    fn refused(kind: FaultKind, base: PathBuf, detail: &str) -> Self {
        Self { faults: vec![Fault::of(kind, base, detail)], ..Self::default() }
    }
}

/// Judges one run; none where it is under way.
fn judge_run(
    store: &Store,
    project: &ProjectId,
    keys: &KeyRing,
    ledger: &Named<'_>,
    open: &[Option<OpenRun>],
    owner: u32,
    run: &StoredRun,
) -> Option<JudgedRun> {
    let base = relative(store, &run.directory);
    if ledger.pruned.contains(&run.run_id) {
        let last = ledger.pruned_last.iter().find(|pruned| pruned.run_id == run.run_id && pruned.task == run.task);
        let found = look_at_files(&run.directory, is_read_of_a_run);
        return Some(match check_pruned(&found, &base, owner, last) {
            Remainder::Fault(fault) => JudgedRun { faults: vec![fault], ..JudgedRun::default() },
            Remainder::Unfinished(unfinished) => JudgedRun { unfinished: Some(unfinished), ..JudgedRun::default() },
        });
    }
    if ledger.archived.contains_key(&run.run_id) {
        return Some(JudgedRun::refused(FaultKind::RunArchived, base, GONE));
    }
    let Some((sequence, record)) = ledger.runs.get(&run.run_id).copied() else {
        if open.iter().flatten().any(|open| open.run_id == run.run_id) {
            return None;
        }
        let (kind, detail) = if ledger.superseded.contains(&run.run_id) {
            (FaultKind::RunSuperseded, GONE)
        } else {
            (FaultKind::RunUnnamed, "there is a directory and no line")
        };
        return Some(JudgedRun::refused(kind, base, detail));
    };
    let found = look_at_files(&run.directory, is_read_of_a_run);
    let key = keys.key_of(project, crate::model::Sequence(sequence));
    let signed = key.map_or(SignedBy::Nobody, |key| SignedBy::Key(key.public()));
    let context = RunContext { base: &base, owner: Some(owner), project: Some(project), record: Some(record), signed };
    let mut faults = check_run(&found, &context);
    if record.task != run.task {
        faults.push(Fault::of(FaultKind::RunMisplaced, &base, format!("the ledger has it with task `{}`", record.task)));
    }
    let (files, bytes) = sizes(&found);
    Some(JudgedRun { faults, unfinished: None, files, bytes, is_unsigned: matches!(signed, SignedBy::Nobody), found })
}

/// Returns how many files there are and how many bytes they have.
pub(super) fn sizes(found: &FoundDirectory) -> (u64, u64) {
    let sizes = found.entries.values().filter_map(|entry| match entry {
        FoundEntry::File(file) => Some(file.bytes),
        FoundEntry::Link(_) | FoundEntry::Directory(_) | FoundEntry::Other | FoundEntry::Unreadable(_) => None,
    });
    sizes.fold((0, 0), |(files, bytes), size| (files + 1, bytes + size))
}

fn read_ledger(
    store: &Store,
    project: &ProjectId,
    keys: &KeyRing,
    threads: usize,
    is_bare: bool,
    faults: &mut Vec<Fault>,
) -> Result<ReadLedger, EvidenceError> {
    let path = store.ledger_path(project);
    let shown = relative(store, &path);
    let read = match look_at_entry(&path, Keep::Content) {
        FoundEntry::File(file) => {
            faults.extend(check_file(&shown, &file, LEDGER_MODE, Some(owner(store))));
            let mut read = check_ledger(file.content.as_deref().unwrap_or_default(), &shown, project, keys, threads, faults);
            if is_bare && read.in_order.is_empty() {
                // A process died while it registered the project, which gets another id: nobody will ever bring this one to its end.
                read.begun = None;
            }
            read
        }
        FoundEntry::Unreadable(_) if is_bare && !path.exists() => ReadLedger::default(),
        FoundEntry::Unreadable(why) => {
            faults.push(Fault::of(FaultKind::LedgerMissing, &shown, why));
            ReadLedger::default()
        }
        FoundEntry::Link(_) | FoundEntry::Directory(_) | FoundEntry::Other => {
            faults.push(Fault::of(FaultKind::NotAFile, &shown, "a ledger is a file"));
            ReadLedger::default()
        }
    };
    faults.extend(check_positions(keys, project, &shown, |sequence| read.hashes.get(&sequence).copied()));
    Ok(read)
}

/// Checks what lies around the runs: directories of nobody, and the names beside the runs.
fn check_places(
    store: &Store,
    project: &ProjectId,
    ledger: &Named<'_>,
    found: &BTreeMap<RunId, FoundDirectory>,
    open: &[Option<OpenRun>],
    owner: u32,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let project_directory = store.project_directory(project);
    for (name, entry) in look_at_names(&project_directory) {
        let path = relative(store, &project_directory.join(&name));
        let (FoundEntry::Directory(access), Ok(task)) = (&entry, TaskId::try_from(name)) else {
            faults.push(Fault::of(FaultKind::Foreign, path, "directories of tasks lie there"));
            continue;
        };
        faults.extend(check_access(&path, *access, DIRECTORY_MODE, owner));
        let latest = ledger.latest(&task).and_then(|run_id| found.get(run_id).map(|found| (run_id, found)));
        // One whose process died behind its commit has links that lead to it, to the one before, or some to each.
        let is_to_be_linked = latest.is_some_and(|(run_id, _)| open.iter().flatten().any(|open| open.run_id == *run_id));
        if !is_to_be_linked {
            faults.extend(check_task(&path, &look_at_names(&store.task_directory(project, &task)), latest));
        }
        let runs = store.runs_directory(project, &task);
        for (name, entry) in look_at_names(&runs) {
            let is_run = matches!(entry, FoundEntry::Directory(_)) && RunId::try_from(name.as_str()).is_ok();
            let misplaced = match run_of_archive(&name) {
                None if is_run => continue,
                None => Some((FaultKind::Foreign, "directories and archives of runs lie there")),
                Some(run_id) => ledger.misplaced_archive(&task, &run_id),
            };
            let path = relative(store, &runs.join(&name));
            faults.extend(misplaced.map(|(kind, detail)| Fault::of(kind, path, detail)));
        }
    }
    faults
}

/// Takes faults back that are about what was put away while this went on, after the lines that end at `end` were read.
fn forget_put_away(store: &Store, project: &ProjectId, end: u64, faults: &mut Vec<Fault>) -> Result<(), EvidenceError> {
    if faults.is_empty() {
        return Ok(());
    }
    // Before the lines are read: whoever archives now and has not said so yet holds the lock.
    let is_archiving = store.holder(project)?.is_some();
    let gone = put_away_since(store, project, end);
    let is_told = |fault: &Fault| !gone.iter().any(|place| fault.file.starts_with(place));
    faults.retain(|fault| is_told(fault) && !(is_archiving && fault.kind == FaultKind::ArchiveUnnamed));
    Ok(())
}

/// Returns where runs lie that were pruned or archived after the ledger was read: what was seen of them was half gone, or half there.
fn put_away_since(store: &Store, project: &ProjectId, offset: u64) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for (_, line) in read_lines(store, project, offset).into_iter().flatten().flatten() {
        if let LedgerBody::Pruned(record) = &line.body {
            places.extend(record.runs.iter().map(|run| store.run_directory(project, &run.task, &run.run_id)));
            places.extend(record.runs.iter().map(|run| store.archive_path(project, &run.task, &run.run_id)));
        }
        if let LedgerBody::Archived(record) = &line.body {
            places.extend(record.runs.iter().map(|run| store.run_directory(project, &run.task, &run.run_id)));
            places.extend(record.runs.iter().map(|run| store.archive_path(project, &run.task, &run.run_id)));
        }
    }
    places.iter().map(|place| relative(store, place)).collect()
}

/// Returns whose the store is.
fn owner(store: &Store) -> u32 {
    store.root().metadata().map(|metadata| metadata.uid()).unwrap_or_default()
}

pub(super) fn relative(store: &Store, path: &Path) -> PathBuf {
    path.strip_prefix(store.root()).unwrap_or(path).to_owned()
}
