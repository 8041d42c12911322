//! Test helpers of this folder: a store in a temporary directory, and runs in it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::report::AttestedRun;
use crate::{
    DurableStepObserver, InterruptedRun, Ledger, ProjectLock, RunDirectory, SealInput, SealedRun, Store, WaitDecision, recover,
    seal,
};
use proctor_model::{Asker, Digest, EvidenceKind, OverallStatus, ProjectId, RunId, RunRecord, TaskId, Timestamp};

pub fn now() -> Timestamp {
    Timestamp::from_millis(1_772_616_600_120)
}

/// Returns an empty store and its temporary directory. Dropping the directory removes the store.
pub fn new_store() -> (Store, TempDir) {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    (Store::open(&directory.path().join("proctor")).expect("a new store opens"), directory)
}

pub struct TestStore {
    pub store: Store,
    pub project: ProjectId,
    pub task: TaskId,
    _directory: TempDir,
}

pub fn run_id(number: u64) -> RunId {
    RunId::new(now(), number)
}

pub fn asker() -> Asker {
    Asker { pid: 1, uid: 0, executable: None, terminal: None }
}

pub fn mode(path: &Path) -> u32 {
    path.symlink_metadata().expect("it exists").permissions().mode() & 0o7777
}

/// Creates a file and its parent directories.
pub fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("directories can be made");
    std::io::Write::write_all(&mut std::fs::File::create(path).expect("it can be made"), bytes).expect("it can be written");
}

pub fn record(run_id: &RunId, task: &TaskId, report: &[u8], status: OverallStatus) -> RunRecord {
    RunRecord::without_verdict(run_id.clone(), task.clone(), Digest::of(report), status, (now(), now()))
}

fn attested(project: &ProjectId) -> AttestedRun {
    let (passed, warned, failed) = (Vec::new(), Vec::new(), Vec::new());
    AttestedRun { project: project.clone(), isolation: None, passed, warned, failed, tests: Vec::new() }
}

/// Returns the input for sealing an interrupted run, with a short text in place of the report.
pub fn report_interrupted(run: &InterruptedRun) -> SealInput {
    let report = format!("interrupted {}", run.run_id).into_bytes();
    let record = record(&run.run_id, &run.task, &report, OverallStatus::Interrupted);
    SealInput { record, report, attested: attested(&run.project) }
}

/// Returns the input for sealing a run with this record and report.
pub fn sealing_of(record: RunRecord, report: Vec<u8>, project: &ProjectId) -> SealInput {
    SealInput { record, report, attested: attested(project) }
}

impl Default for TestStore {
    fn default() -> Self {
        Self::new()
    }
}

impl TestStore {
    pub fn new() -> Self {
        let (store, directory) = new_store();
        let project = ProjectId::try_from("shop-00000001").expect("a project id");
        Self { store, project, task: TaskId::default_task(), _directory: directory }
    }

    /// Takes the project's lock, and waits for it if necessary: a child that another test starts keeps a copy of the
    /// lock's descriptor until the child calls exec.
    pub fn lock(&self) -> ProjectLock {
        let mut attempts = 0;
        let waiting = &mut || {
            attempts += 1;
            if attempts < 500 { WaitDecision::GoOn } else { WaitDecision::GiveUp }
        };
        self.store.lock(&self.project, waiting).expect("the lock becomes free")
    }

    /// Takes the project's lock, opens the ledger, and seals the runs of dead processes as INTERRUPTED. Returns the
    /// lock, the ledger and the ids of these runs.
    pub fn open(&self) -> (ProjectLock, Ledger, Vec<RunId>) {
        let lock = self.lock();
        let mut ledger = Ledger::open(&lock).expect("the ledger opens");
        let interrupted = recover(&lock, &mut ledger, now(), &asker(), &report_interrupted).expect("recovery works");
        (lock, ledger, interrupted)
    }

    pub fn begin(&self, number: u64) -> RunDirectory {
        let (lock, _, _) = self.open();
        RunDirectory::create(&lock, &self.task, &run_id(number)).expect("a run can be begun")
    }

    pub fn report(&self, number: u64) -> Vec<u8> {
        format!("report {number}").into_bytes()
    }

    pub fn sealing(&self, number: u64, status: OverallStatus) -> SealInput {
        let report = self.report(number);
        SealInput { record: record(&run_id(number), &self.task, &report, status), report, attested: attested(&self.project) }
    }

    /// Creates a run with one output file for each of `names`, and seals it. The number becomes part of the run's id.
    pub fn run(&self, number: u64, names: &[&str], status: OverallStatus) -> SealedRun {
        self.run_observed(number, names, status, &|_| {})
    }

    pub fn run_observed(
        &self,
        number: u64,
        names: &[&str],
        status: OverallStatus,
        observer: DurableStepObserver<'_>,
    ) -> SealedRun {
        let (lock, mut ledger, _) = self.open();
        let mut run = RunDirectory::create(&lock, &self.task, &run_id(number)).expect("a run can be begun");
        run.start_record(&serde_json::json!({"number": number})).expect("run.json can be written");
        for name in names {
            run.write(name, name.as_bytes(), EvidenceKind::TerminalOutput, None).expect("a file can be written");
        }
        seal(run, self.sealing(number, status), &mut ledger, &asker(), now(), observer).expect("the run can be sealed")
    }
}
