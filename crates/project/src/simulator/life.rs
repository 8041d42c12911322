//! Lives of processes that write runs to a store, and what must hold after each of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::power::{Numbers, PowerLoss};
use crate::approval_request::approval_counts;
use crate::checked_index::catch_up_all;
use crate::error::ProjectError;
use crate::evidence::Evidence;
use nix::errno::Errno;
use proctor_evidence::testing::{asker, now, put, record, report_interrupted, run_id, sealing_of};
use proctor_evidence::{
    DurableStep, EvidenceError, Ledger, MANIFEST_NAME, ProjectLock, RunDirectory, SimulatedFailure, SimulatedFault, Store,
    SyncedFiles, VerificationScope, WaitDecision, drop_superseded, publish_latest, read_lines, recover, seal, verify_keys,
    verify_project,
};
use proctor_index::IndexReader;
use proctor_model::{Digest, EvidenceKind, LedgerBody, OverallStatus, ProjectId, SupersededRecord, TaskId, TreeDigest};

/// How a life ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Dies,
    LosesPower,
    /// The operation fails, and the process goes on.
    Fails(Errno),
}

/// A run: how many files it writes, and whether a newer save stops it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    files: u64,
    is_superseded: bool,
}

/// A process that writes runs, and the operation on the disk at which something happens.
#[derive(Debug, Clone)]
pub(super) struct Life {
    pub(super) runs: Vec<Written>,
    at: u64,
    end: End,
    /// Whether another process reads the store when this one has ended.
    is_read: bool,
}

/// The runs that are sealed, each with the digest of its manifest.
type Sealed = RefCell<BTreeMap<u64, Option<Digest>>>;

pub(super) fn lives_of(seed: u64) -> Vec<Life> {
    let mut numbers = Numbers(seed);
    let life = |numbers: &mut Numbers| {
        let run = |numbers: &mut Numbers| Written { files: numbers.below(3), is_superseded: numbers.below(6) == 0 };
        let runs = (0..=numbers.below(3)).map(|_| run(numbers)).collect();
        let end = match numbers.below(6) {
            0 | 1 => End::Dies,
            2 | 3 => End::LosesPower,
            _ => End::Fails([Errno::ENOSPC, Errno::EIO, Errno::EROFS][numbers.below(3) as usize]),
        };
        Life { runs, at: 1 + numbers.below(90), end, is_read: numbers.below(2) == 0 }
    };
    (0..=numbers.below(4)).map(|_| life(&mut numbers)).collect()
}

/// Plays the lives on a new store. Returns what must not be and was.
pub(super) fn play(seed: u64, lives: &[Life]) -> Vec<String> {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory");
    let root = directory.path().join("proctor");
    let (synced, sealed, mut numbers) = (SyncedFiles::default(), Sealed::default(), Numbers(!seed));
    let (mut next, mut reader) = (1, None);
    for (number, life) in lives.iter().enumerate() {
        let is_last = number + 1 == lives.len();
        let fault = match life.end {
            End::Dies | End::LosesPower => SimulatedFault::Dies,
            End::Fails(errno) => SimulatedFault::Fails(errno),
        };
        let failure = SimulatedFailure::plan(&root, life.at, fault, synced.clone());
        live(&root, life, (&failure, &mut next), &sealed);
        drop(failure);
        let failure = SimulatedFailure::plan(&root, u64::MAX, SimulatedFault::Dies, synced.clone());
        if life.is_read {
            let read = read(&root, &mut reader, false);
            if !read.as_ref().is_ok_and(Vec::is_empty) {
                return vec![format!("another process cannot read the store: {read:?}")];
            }
        }
        if life.end == End::LosesPower {
            reader = None;
            let synced = synced.lock().expect("nobody panics");
            let loses_names = numbers.below(2) == 0;
            PowerLoss { synced: &synced, numbers: &mut numbers, loses_names }.happen(&root);
            // After a boot the record of the lock says nothing.
            let lock = root.join("locks");
            std::fs::read_dir(&lock).into_iter().flatten().flatten().for_each(|entry| put(&entry.path(), b""));
        }
        let found = check(&root, &sealed.borrow()).and_then(|mut wrong| {
            wrong.extend(read(&root, &mut reader, is_last)?);
            Ok(wrong)
        });
        drop(failure);
        match found {
            Ok(wrong) if wrong.is_empty() => {}
            Ok(wrong) => return wrong,
            Err(error) => return vec![format!("the store cannot be opened again: {error:?}")],
        }
    }
    Vec::new()
}

/// Lets a process write its runs.
fn live(root: &Path, life: &Life, (failure, next): (&SimulatedFailure, &mut u64), sealed: &Sealed) {
    let mut evidence = None;
    for written in &life.runs {
        // A process that could not seal a run says so, and seals the next one.
        let _failed = write_run(root, &mut evidence, (*next, *written), (failure, sealed));
        *next += 1;
    }
}

/// Brings the index of a process that only reads up to date, as every command does. Returns what is not as the ledger says; of the rows
/// only if that is asked, because it takes long.
fn read(root: &Path, reader: &mut Option<Evidence>, compares_rows: bool) -> Result<Vec<String>, ProjectError> {
    if reader.is_none() {
        *reader = Some(Evidence::open(root, Arc::new(|_| ()))?);
    }
    let Some(reader) = reader else { return Ok(Vec::new()) };
    let unreadable = catch_up_all(&reader.store, &mut reader.index)?;
    let mut wrong: Vec<String> = unreadable.iter().map(|ledger| format!("a ledger cannot be read: {ledger:?}")).collect();
    let lines = read_lines(&reader.store, &project(), 0)?.collect::<Result<Vec<_>, _>>()?;
    let applied = reader.index.position(&project())?.map(|(_, end)| end);
    if applied != lines.last().map(|(end, _)| *end) {
        wrong.push(format!("the index has lines up to {applied:?}"));
    }
    let index = if compares_rows { IndexReader::open(&reader.store.index_path(), approval_counts)? } else { None };
    if let Some(index) = index {
        let differences = index.compare(&project(), &lines)?;
        wrong.extend(differences.iter().map(|difference| format!("the index has {difference:?}")));
    }
    Ok(wrong)
}

fn project() -> ProjectId {
    ProjectId::try_from("shop-00000001").expect("a project id")
}

/// Takes the lock, opens the ledger, and seals the runs of dead processes.
fn hold(store: &Store) -> Result<(ProjectLock, Ledger), EvidenceError> {
    let mut attempts = 0;
    let waiting = &mut || {
        attempts += 1;
        if attempts < 500 { WaitDecision::GoOn } else { WaitDecision::GiveUp }
    };
    let lock = store.lock(&project(), waiting).map_err(|error| EvidenceError::Foreign { path: format!("{error:?}").into() })?;
    let mut ledger = Ledger::open(&lock)?;
    recover(&lock, &mut ledger, now(), &asker(), &report_interrupted)?;
    Ok((lock, ledger))
}

/// Writes a run as `judge_and_seal` does.
fn write_run(
    root: &Path,
    evidence: &mut Option<Evidence>,
    (number, written): (u64, Written),
    (failure, sealed): (&SimulatedFailure, &Sealed),
) -> Result<(), ProjectError> {
    if evidence.is_none() {
        *evidence = Some(Evidence::open(root, Arc::new(|_| ()))?);
    }
    let Some(evidence) = evidence else { return Ok(()) };
    let index = evidence.store.index_path();
    let is_alive = || failure.pass(&index).map_err(|_| ProjectError::Evidence(EvidenceError::Foreign { path: index.clone() }));
    let (lock, mut ledger) = hold(&evidence.store)?;
    is_alive()?;
    evidence.catch_up(&project())?;
    let task = TaskId::default_task();
    let mut run = RunDirectory::create(&lock, &task, &run_id(number))?;
    run.start_record(&serde_json::json!({ "number": number }))?;
    for file in 0..written.files {
        run.write(&format!("STEP.{file}-a.log"), &number.to_be_bytes(), EvidenceKind::TerminalOutput, None)?;
        if file == 0 {
            run.begin_sync();
        }
    }
    if written.is_superseded {
        let record = SupersededRecord {
            run_id: run_id(number),
            task,
            tree_digest: TreeDigest(Digest::of(b"")),
            prerequisites: BTreeMap::new(),
            programs: None,
            left_in_environment: BTreeMap::new(),
            started: now(),
        };
        let (line, end) = drop_superseded(run, record, &mut ledger, &asker(), now())?;
        is_alive()?;
        return evidence.apply(&project(), end, line);
    }
    let report = format!("report {number}").into_bytes();
    let record = record(&run_id(number), &task, &report, OverallStatus::Success);
    let manifest = run.path().join(MANIFEST_NAME);
    let commit = |step| {
        if step == DurableStep::LedgerCommitted {
            sealed.borrow_mut().insert(number, std::fs::read(&manifest).ok().map(|bytes| Digest::of(&bytes)));
        }
    };
    let line = seal(run, sealing_of(record, report, &project()), &mut ledger, &asker(), now(), &commit)?;
    // What fails from here on leaves the run sealed, and the index behind.
    let indexed = is_alive().and_then(|()| evidence.apply(&project(), line.offset_after, line.line));
    publish_latest(&lock, &task, &run_id(number))?;
    if indexed.is_ok() {
        lock.mark_published();
    }
    indexed
}

/// What must hold whenever a store is opened again: what was sealed stays sealed, and everything can be verified.
fn check(root: &Path, sealed: &BTreeMap<u64, Option<Digest>>) -> Result<Vec<String>, ProjectError> {
    let store = Store::open(root)?;
    drop(hold(&store)?);
    let mut wrong = Vec::new();
    let mut found = BTreeMap::new();
    for line in read_lines(&store, &project(), 0)? {
        if let LedgerBody::Run(run) = line?.1.body {
            found.insert(run.run_id.number(), (run.manifest_hash, run.run_id.clone()));
        }
    }
    for (number, manifest) in sealed {
        match found.get(number) {
            None => wrong.push(format!("run {number} was sealed and is not in the ledger")),
            Some((hash, _)) if Some(*hash) != *manifest => wrong.push(format!("the line of run {number} is another one")),
            Some(_) => {}
        }
    }
    for (hash, run) in found.values() {
        let directory = store.run_directory(&project(), &TaskId::default_task(), run);
        let manifest = std::fs::read_to_string(directory.join(MANIFEST_NAME)).unwrap_or_default();
        if Digest::of(manifest.as_bytes()) != *hash {
            wrong.push(format!("the manifest of {run} is not the one of its line"));
        }
        for (digest, name) in manifest.lines().filter_map(|line| line.split_once("  ")) {
            let content = std::fs::read(directory.join(name)).unwrap_or_default();
            if Digest::of(&content).to_string() != digest {
                wrong.push(format!("`{name}` of {run} is not what was sealed"));
            }
        }
    }
    let keys = verify_keys(&store)?;
    let verified = verify_project(&store, &project(), &keys.ring, &VerificationScope::Everything, 1)?;
    // The reports and records of these runs are one line of text.
    let is_of_text = |word: &str| word.starts_with("report") || word.starts_with("record");
    let faults = keys.faults.iter().chain(&verified.faults).filter(|fault| !is_of_text(fault.kind.word()));
    wrong.extend(faults.map(|fault| format!("verification finds {fault:?}")));
    Ok(wrong)
}
