//! A run of the model, and the values that the real code wants of a run and that decide nothing.

use std::path::PathBuf;

use super::disk::Tree;
use crate::effect::Order;
use proctor_evidence::report::{ExecutionReportV2, build, samples};
use proctor_model::{
    ApprovalWay, AsksFor, CommandExit, OnDisk, RuleDifference, RunId, StopReason, TaskId, Timestamp, TreeDigest, UnapprovedPlan,
};
use proctor_project::{Progress, ProjectError, SealedReport, StoreReader};
use proctor_sandbox::process::Control;
use proctor_tree::TreeIndex;
use proctor_tree::ignore::{Matcher, MatcherSettings};
use tempfile::TempDir;

/// A run that has begun.
pub(super) struct RunningRun {
    pub(super) order: Order,
    pub(super) control: Control,
    /// The tree as it was read.
    pub(super) tree: Tree,
    /// What the checks see.
    pub(super) seen: Tree,
    pub(super) selected: Vec<String>,
    /// How often it was begun before, and a helper process died.
    pub(super) deaths: u32,
    pub(super) stopped: Option<StopReason>,
    pub(super) ends: u64,
    /// When the checks write a file of the project.
    pub(super) writes_at: Option<u64>,
}

impl RunningRun {
    /// Returns when something happens in the run.
    pub(super) fn next(&self) -> u64 {
        self.writes_at.unwrap_or(self.ends)
    }
}

/// What all schedules share: an empty directory that is there, an empty store, and values that decide nothing.
pub(super) struct Fixture {
    pub(super) directory: TempDir,
    pub(super) archive: StoreReader,
    index: TreeIndex,
    report: ExecutionReportV2,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory");
        let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
        let index = TreeIndex::scan(directory.path(), &matcher, Timestamp::from_millis(0)).expect("an empty directory");
        let archive = StoreReader::open_in_memory(&directory.path().join("state"), Default::default()).expect("an empty store");
        Self { archive, index, report: build(&samples::run_of(Vec::new())), directory }
    }

    pub(super) fn begun(&self, task: &TaskId, tree: TreeDigest, number: usize) -> Progress {
        Progress::Begun {
            run_id: super::store::run_id(number),
            project_name: "project".to_owned(),
            task: task.clone(),
            tree,
            issues: Vec::new(),
            index: Box::new(self.index.clone()),
            last_report: None,
        }
    }

    pub(super) fn died(&self, run_id: RunId) -> Progress {
        Progress::HelperDied { run_id, exit: CommandExit::OwnFault, why: "the launcher has ended".to_owned() }
    }

    pub(super) fn sealed(&self, run_id: RunId, tree: TreeDigest) -> SealedReport {
        SealedReport {
            run_id,
            report: self.report.clone(),
            report_path: PathBuf::new(),
            tree,
            tree_after: tree,
            failed: Vec::new(),
            warned: Vec::new(),
            told_notes: Vec::new(),
            moved: Vec::new(),
            on_disk: OnDisk::AsTested,
            copied: None,
            person: None,
            exit: CommandExit::Proceed,
        }
    }

    pub(super) fn error(&self, number: i32) -> ProjectError {
        ProjectError::WorkerThread { source: std::io::Error::from_raw_os_error(number) }
    }
}

pub(super) fn unapproved(task: &TaskId) -> UnapprovedPlan {
    UnapprovedPlan {
        task: task.clone(),
        file: "proctor.toml".to_owned(),
        asks_for: AsksFor::More,
        difference: RuleDifference::default(),
        protected: vec!["`a` is another one".to_owned()],
        way: ApprovalWay::Answer,
    }
}
