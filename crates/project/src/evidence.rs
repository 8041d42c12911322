//! What is recorded: the evidence store, its index, what is known of approvals, and who is told of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::approved_tree::ApprovedTrees;
use crate::checked_index::{apply_written, catch_up};
use crate::error::ProjectError;
use crate::progress::Progress;
use crate::repaired_index::{Announce, announce_with, open_index};
use crate::request::ProjectScope;
use crate::settings_approval::KnownApprovals;
use proctor_evidence::report::{
    ExecutionReportV2, RecoveryFacts, attested, describe_found_file, interrupted_report, parse_run_start, seal_hash, to_bytes,
};
use proctor_evidence::{self as evidence, DurableStep, InterruptedRun, Ledger, ProjectLock, SealInput, Store, WaitDecision};
use proctor_index::StoreIndex;
use proctor_model::{
    Asker, Digest, LedgerBody, LedgerLine, OverallStatus, ProjectId, RunId, RunRecord, StopReason, TaskId, TddState, Timestamp,
    TreeFormat,
};
use proctor_sandbox::process::clock;

/// A function that is called after every step of storing a run's evidence.
pub type StepObserver = Arc<dyn Fn(DurableStep) + Send + Sync>;

/// The evidence store as a process has it open.
pub struct Evidence {
    pub store: Store,
    pub index: StoreIndex,
    pub(crate) approvals: KnownApprovals,
    pub approved_trees: ApprovedTrees,
    pub last_report: LastReport,
    observer: StepObserver,
    opening_notes: Vec<String>,
    announce: Announce,
}

/// The sealed report that this process wrote or read last, by its hash: the next run compares itself with it.
#[derive(Default)]
pub struct LastReport(RefCell<Option<(Digest, Arc<ExecutionReportV2>)>>);

impl LastReport {
    /// Returns the report with this hash; `None` if the last one is another.
    pub fn find(&self, hash: Digest) -> Option<Arc<ExecutionReportV2>> {
        self.0.borrow().as_ref().filter(|(last, _)| *last == hash).map(|(_, report)| report.clone())
    }

    /// Keeps a report in place of the one before.
    pub fn keep(&self, hash: Digest, report: Arc<ExecutionReportV2>) {
        *self.0.borrow_mut() = Some((hash, report));
    }
}

/// The ledger of a project, with the lock without which nobody writes it.
pub struct HeldLedger {
    pub ledger: Ledger,
    pub lock: ProjectLock,
}

impl Evidence {
    pub(crate) fn open(state_root: &Path, observer: StepObserver) -> Result<Self, ProjectError> {
        let store = Store::open(state_root)?;
        let opened = open_index(&store)?;
        Ok(Self {
            store,
            index: opened.index,
            approvals: KnownApprovals::default(),
            approved_trees: ApprovedTrees::default(),
            last_report: LastReport::default(),
            observer,
            opening_notes: opened.notes,
            announce: |_| (),
        })
    }

    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.opening_notes)
    }

    pub(crate) fn announce_with(&mut self, announce: Announce) {
        self.announce = announce;
        announce_with(&mut self.index, &self.store, announce);
    }

    /// Reports that a run is sealed, but that the index could not be updated.
    pub fn say_behind(&self, run_id: &RunId, error: &ProjectError) {
        let causes = std::iter::successors(std::error::Error::source(error), |error| error.source());
        let causes: String = causes.map(|cause| format!(": {cause}")).collect();
        let line =
            format!("run {run_id} is sealed, but index or links are behind ({error}{causes}); the next run brings them up to it");
        tracing::warn!("{line}");
        (self.announce)(&line);
    }

    pub fn observer(&self) -> StepObserver {
        Arc::clone(&self.observer)
    }

    /// Returns the TDD state of a task according to the index.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn tdd(&self, project: &ProjectId, task: &TaskId) -> Result<TddState, ProjectError> {
        self.index.tdd(project, task).map_err(ProjectError::Index)
    }

    /// Locks a project's evidence. If another process holds the lock, waits until `wait` is over or `stopped` returns a
    /// reason.
    pub fn lock(
        &self,
        scope: &ProjectScope,
        wait: Duration,
        stopped: &dyn Fn() -> Option<StopReason>,
        show: &mut dyn FnMut(Progress),
    ) -> Result<ProjectLock, ProjectError> {
        let begun = clock::monotonic();
        let mut told = false;
        let lock = self.store.lock(&scope.project, &mut || {
            if !told && !wait.is_zero() {
                told = true;
                show(Progress::WaitingForLock { wait });
            }
            let in_time = clock::monotonic().since(begun) < wait;
            if in_time && stopped().is_none() { WaitDecision::GoOn } else { WaitDecision::GiveUp }
        });
        lock.map_err(|error| match stopped() {
            Some(reason) => ProjectError::StoppedWaiting(reason),
            None => ProjectError::Lock(error),
        })
    }

    /// Locks a project's evidence, opens its ledger and brings the index up to it. For `wait` and `stopped` see [`Self::lock`].
    pub fn hold_ledger(
        &mut self,
        scope: &ProjectScope,
        wait: Duration,
        stopped: &dyn Fn() -> Option<StopReason>,
        show: &mut dyn FnMut(Progress),
    ) -> Result<HeldLedger, ProjectError> {
        let lock = self.lock(scope, wait, stopped, show)?;
        let ledger = self.recovered_ledger(&lock, scope, show)?;
        self.catch_up(&scope.project)?;
        Ok(HeldLedger { ledger, lock })
    }

    /// Opens the ledger, and seals as INTERRUPTED the runs whose process died.
    pub fn recovered_ledger(
        &mut self,
        lock: &ProjectLock,
        scope: &ProjectScope,
        show: &mut dyn FnMut(Progress),
    ) -> Result<Ledger, ProjectError> {
        let mut ledger = Ledger::open(lock)?;
        if let Some(torn) = ledger.torn_line_file() {
            show(Progress::Note(format!("the ledger's last line was torn; it was cut off and kept as {}", torn.display())));
        }
        if ledger.finished_prunings() > 0 {
            let removed = ledger.finished_prunings();
            show(Progress::Note(format!(
                "a pruning was ended whose process had died: {removed} directories of runs were removed"
            )));
        }
        let runs = recover_runs(lock, &mut ledger, &scope.asker)?;
        if !runs.is_empty() {
            show(Progress::Recovered { runs });
        }
        Ok(ledger)
    }

    /// Adds the ledger lines that the index lacks, for example because another process wrote them.
    pub fn catch_up(&mut self, project: &ProjectId) -> Result<(), ProjectError> {
        catch_up(&self.store, &mut self.index, project)
    }

    pub fn apply(&mut self, project: &ProjectId, offset_after: u64, line: LedgerLine) -> Result<(), ProjectError> {
        self.approvals.wrote(project, &line);
        apply_written(&self.store, &mut self.index, project, &[(offset_after, line)])
    }

    pub fn append(&mut self, ledger: &mut Ledger, scope: &ProjectScope, body: LedgerBody) -> Result<(), ProjectError> {
        let line = ledger.append(body, &scope.asker, clock::now())?;
        self.apply(&scope.project, ledger.length(), line)
    }

    pub fn prerequisites_met(&self, project: &ProjectId) -> Result<BTreeMap<String, Digest>, ProjectError> {
        self.index.prerequisites(project).map_err(ProjectError::Index)
    }

    pub fn configuration_before(&self, project: &ProjectId, task: &TaskId) -> Result<BTreeMap<String, Digest>, ProjectError> {
        self.index.configuration(project, task).map_err(ProjectError::Index)
    }
}

/// Locks a project's evidence. Waits at most `wait` for another process that holds the lock.
pub(crate) fn lock_within(store: &Store, project: &ProjectId, wait: Duration) -> Result<ProjectLock, ProjectError> {
    let begun = clock::monotonic();
    let lock = store.lock(project, &mut || {
        if clock::monotonic().since(begun) < wait { WaitDecision::GoOn } else { WaitDecision::GiveUp }
    });
    lock.map_err(ProjectError::Lock)
}

/// Seals the runs of dead processes as INTERRUPTED, and returns them.
pub(crate) fn recover_runs(lock: &ProjectLock, ledger: &mut Ledger, asker: &Asker) -> Result<Vec<RunId>, ProjectError> {
    let now = clock::now();
    let build = |run: &InterruptedRun| seal_input_of_interrupted(run, now);
    evidence::recover(lock, ledger, now, asker, &build).map_err(ProjectError::Evidence)
}

/// Makes the report and the ledger record of a run whose process died, from the files that the process left (S2, E17).
fn seal_input_of_interrupted(run: &InterruptedRun, now: Timestamp) -> SealInput {
    let start = run.start_record.as_deref().and_then(|bytes| parse_run_start(bytes).ok());
    let details = start.as_ref().map(|start| &start.details);
    let tree_digest = details.map(|details| details.tree_digest);
    let tree_format = details.map_or(TreeFormat::CURRENT, |details| details.tree_format);
    let plan_digest = details.and_then(|details| details.test_specification.plan_digest);
    let files = run.files.iter().map(|file| describe_found_file(&file.name, file.content.bytes, file.content.sha256)).collect();
    let report = seal_hash(interrupted_report(&RecoveryFacts {
        run_id: run.run_id.clone(),
        project_id: run.project.clone(),
        task: run.task.clone(),
        start,
        recovered_at: now,
        evidence_files: files,
    }));
    let report_hash = report.authenticity.report_hash.expect("`seal_hash` set it");
    let time = (report.execution_summary.start_time, now);
    let known = RunRecord::without_verdict(run.run_id.clone(), run.task.clone(), report_hash, OverallStatus::Interrupted, time);
    let record = RunRecord { tree_digest, tree_format, plan_digest, ..known };
    SealInput { report: to_bytes(&report), record, attested: attested(&report) }
}
