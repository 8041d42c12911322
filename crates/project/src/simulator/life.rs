//! Lives of processes that write runs to a store, and what must hold after each of them.

use std::collections::BTreeMap;
use std::path::Path;

use super::power::{Numbers, lose_power};
use crate::failure_injection::simulated::{SimulatedFailure, SimulatedFault, SyncedFiles};
use crate::names::MANIFEST_NAME;
use crate::testing::{asker, now, put, record, report_interrupted, run_id, sealing_of};
use crate::{
    DurableStep, EvidenceError, Ledger, ProjectLock, RunDirectory, Store, VerificationScope, WaitDecision, publish_latest,
    read_lines, recover, seal, verify_keys, verify_project,
};
use nix::errno::Errno;
use proctor_model::{Digest, EvidenceKind, LedgerBody, OverallStatus, ProjectId, SupersededRecord, TaskId, TreeDigest};
use std::cell::RefCell;

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
        Life { runs, at: 1 + numbers.below(90), end }
    };
    (0..=numbers.below(4)).map(|_| life(&mut numbers)).collect()
}

/// Plays the lives on a new store. Returns what must not be and was.
pub(super) fn play(seed: u64, lives: &[Life]) -> Vec<String> {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory");
    let root = directory.path().join("proctor");
    let (synced, sealed, mut numbers) = (SyncedFiles::default(), Sealed::default(), Numbers(!seed));
    let mut next = 1;
    for life in lives {
        let fault = match life.end {
            End::Dies | End::LosesPower => SimulatedFault::Dies,
            End::Fails(errno) => SimulatedFault::Fails(errno),
        };
        let failure = SimulatedFailure::plan(&root, life.at, fault, synced.clone());
        for written in &life.runs {
            // A process that could not seal a run says so, and seals the next one.
            let _failed = write_run(&root, next, *written, &sealed);
            next += 1;
        }
        let is_dead = failure.is_dead();
        drop(failure);
        if is_dead && life.end == End::LosesPower {
            lose_power(&root, &synced, &mut numbers);
            // After a boot the record of the lock says nothing.
            let lock = root.join("locks");
            std::fs::read_dir(&lock).into_iter().flatten().flatten().for_each(|entry| put(&entry.path(), b""));
        }
        let failure = SimulatedFailure::plan(&root, u64::MAX, SimulatedFault::Dies, synced.clone());
        let found = check(&root, &sealed.borrow());
        drop(failure);
        match found {
            Ok(wrong) if wrong.is_empty() => {}
            Ok(wrong) => return wrong,
            Err(error) => return vec![format!("the store cannot be opened again: {error:?}")],
        }
    }
    Vec::new()
}

fn project() -> ProjectId {
    ProjectId::try_from("shop-00000001").expect("a project id")
}

fn open(root: &Path) -> Result<(Store, ProjectLock, Ledger), EvidenceError> {
    let store = Store::open(root)?;
    let mut attempts = 0;
    let waiting = &mut || {
        attempts += 1;
        if attempts < 500 { WaitDecision::GoOn } else { WaitDecision::GiveUp }
    };
    let lock = store.lock(&project(), waiting).map_err(|error| EvidenceError::Foreign { path: format!("{error:?}").into() })?;
    let mut ledger = Ledger::open(&lock)?;
    recover(&lock, &mut ledger, now(), &asker(), &report_interrupted)?;
    Ok((store, lock, ledger))
}

fn write_run(root: &Path, number: u64, written: Written, sealed: &Sealed) -> Result<(), EvidenceError> {
    let (_store, lock, mut ledger) = open(root)?;
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
        return crate::drop_superseded(run, record, &mut ledger, &asker(), now()).map(drop);
    }
    let report = format!("report {number}").into_bytes();
    let record = record(&run_id(number), &task, &report, OverallStatus::Success);
    let manifest = run.path().join(MANIFEST_NAME);
    let commit = |step| {
        if step == DurableStep::LedgerCommitted {
            sealed.borrow_mut().insert(number, std::fs::read(&manifest).ok().map(|bytes| Digest::of(&bytes)));
        }
    };
    seal(run, sealing_of(record, report, &project()), &mut ledger, &asker(), now(), &commit)?;
    publish_latest(&lock, &task, &run_id(number))?;
    lock.mark_published();
    Ok(())
}

/// What must hold whenever a store is opened again: what was sealed stays sealed, and everything can be verified.
fn check(root: &Path, sealed: &BTreeMap<u64, Option<Digest>>) -> Result<Vec<String>, EvidenceError> {
    let (store, lock, ledger) = open(root)?;
    drop((ledger, lock));
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
