//! Keeps the task list of a project (`tasks.md`) up to date with its last sealed verdicts.
//!
//! The file is checked before a run, before a run's report is built, after a run is published, and when a watcher sees
//! a change. A change that somebody made in proctor's blocks is first recorded in the ledger and then reverted. So if
//! the process dies in between, the change is recorded twice rather than never. The list is a convenience for readers:
//! if it cannot be written, a message says so, and nothing fails.

use std::path::Path;
use std::time::Duration;

use crate::checked_index::{apply_written, catch_up};
use crate::error::ProjectError;
use crate::evidence::{Evidence, lock_within};
use crate::progress::Progress;
use crate::repaired_index::open_index;
use crate::request::{ProjectScope, ProjectSettings};
use crate::sealed_report;
use proctor_evidence::report::{
    DEBT_FILE, ExecutionReportV2, TaskListUpdate, TaskState, TaskVerdict, TechnicalDebtV1, build_task_lists, parse_debt,
    plan_task_list_update,
};
use proctor_evidence::{self as evidence, Ledger, ProjectFileError, ReplaceOutcome, Store};
use proctor_index as store;
use proctor_model::{Digest, LedgerBody, ProjectId, TaskId, TaskListRecord, ViolationRecord};
use proctor_sandbox::process::clock;

/// How long an edited task list must stay unchanged before an edit in proctor's blocks is recorded.
const SETTLING: Duration = Duration::from_millis(50);

/// The most times that one check of the task list reads it while another program keeps saving it. After that many
/// readings the list is left for the next check.
const MOST_TRIES: usize = 5;

/// The path of a task list, with everything that is needed to update the list.
struct Keeper<'a> {
    store: &'a Store,
    index: &'a mut store::StoreIndex,
    ledger: &'a mut Ledger,
    scope: &'a ProjectScope,
    path: &'a str,
    link: Option<&'a str>,
}

/// Updates the task list if the settings name one. The index must be up to date with the ledger.
///
/// # Errors
///
/// When the ledger or the index cannot be used. If only the task list cannot be written, that is a message and no
/// error.
pub fn update_task_list(
    evidence: &mut Evidence,
    ledger: &mut Ledger,
    scope: &ProjectScope,
    settings: &ProjectSettings,
    show: &mut dyn FnMut(Progress),
) -> Result<(), ProjectError> {
    let Some(path) = settings.task_list.as_deref() else { return Ok(()) };
    let link = settings.link.as_deref();
    let keeper = Keeper { store: &evidence.store, index: &mut evidence.index, ledger, scope, path, link };
    for line in keeper.keep()? {
        show(Progress::Note(line));
    }
    Ok(())
}

/// Updates the task list of a registered project without a run, and returns the messages.
///
/// # Errors
///
/// When another process locks the project's evidence for longer than `settings.lock_wait`, or the ledger or the index
/// cannot be used.
pub fn keep_task_list(state_root: &Path, scope: &ProjectScope, settings: &ProjectSettings) -> Result<Vec<String>, ProjectError> {
    let Some(path) = settings.task_list.as_deref() else { return Ok(Vec::new()) };
    let store = Store::open(state_root)?;
    let mut index = open_index(&store)?.index;
    let lock = lock_within(&store, &scope.project, settings.lock_wait)?;
    let mut ledger = Ledger::open(&lock)?;
    catch_up(&store, &mut index, &scope.project)?;
    let link = settings.link.as_deref();
    Keeper { store: &store, index: &mut index, ledger: &mut ledger, scope, path, link }.keep()
}

impl Keeper<'_> {
    /// Updates the task list. Returns messages about reverted changes and about failures.
    fn keep(mut self) -> Result<Vec<String>, ProjectError> {
        let lists = build_task_lists(&read_states(self.store, self.index, &self.scope.project)?, self.link);
        let last = self.index.task_list(&self.scope.project, self.path)?;
        let mut recorded: Vec<ViolationRecord> = Vec::new();
        for _ in 0..MOST_TRIES {
            let found = match evidence::read_project_file(&self.scope.root, self.path) {
                Ok(found) => found,
                Err(error) => return Ok(self.say(&recorded, Some(&error))),
            };
            let task_list_update = plan_task_list_update(self.path, found.as_deref(), &lists, last);
            if !task_list_update.violations.is_empty() && !self.is_settled(found.as_deref()) {
                continue;
            }
            for violation in &task_list_update.violations {
                if !recorded.contains(violation) {
                    self.append(LedgerBody::Violation(violation.clone()))?;
                    recorded.push(violation.clone());
                }
            }
            match self.write(found.as_deref(), &task_list_update) {
                Ok(ReplaceOutcome::ChangedMeanwhile) => continue,
                Ok(ReplaceOutcome::Done) => self.note_written(last, task_list_update.digest)?,
                Err(error) => return Ok(self.say(&recorded, Some(&error))),
            }
            return Ok(self.say(&recorded, None));
        }
        let mut lines = self.say(&recorded, None);
        lines.push(format!("`{}` was saved again and again while it was to be written: it is left for the next look", self.path));
        Ok(lines)
    }

    /// Waits [`SETTLING`] and returns whether the task list is still the same. An editor that writes in place empties
    /// the file first, and that moment must not count as an edit.
    fn is_settled(&self, found: Option<&str>) -> bool {
        std::thread::sleep(SETTLING);
        evidence::read_project_file(&self.scope.root, self.path).is_ok_and(|now| now.as_deref() == found)
    }

    fn write(&self, found: Option<&str>, task_list_update: &TaskListUpdate) -> Result<ReplaceOutcome, ProjectFileError> {
        match &task_list_update.text {
            Some(text) => evidence::replace_project_file(&self.scope.root, self.path, found, text),
            None => Ok(ReplaceOutcome::Done),
        }
    }

    fn note_written(&mut self, last: Option<Digest>, digest: Digest) -> Result<(), ProjectError> {
        if last == Some(digest) {
            return Ok(());
        }
        self.append(LedgerBody::TaskList(TaskListRecord { path: self.path.to_owned(), digest }))
    }

    fn append(&mut self, body: LedgerBody) -> Result<(), ProjectError> {
        let line = self.ledger.append(body, &self.scope.asker, clock::now())?;
        apply_written(self.store, self.index, &self.scope.project, &[(self.ledger.length(), line)])
    }

    fn say(&self, recorded: &[ViolationRecord], error: Option<&ProjectFileError>) -> Vec<String> {
        let lines: Vec<String> =
            recorded.iter().map(ViolationRecord::sentence).chain(error.map(|error| format!("the task list: {error}"))).collect();
        lines.iter().for_each(|line| tracing::warn!("{}: {line}", self.scope.project));
        lines
    }
}

/// Reads the last sealed verdict of each task.
fn read_states(store: &Store, index: &store::StoreIndex, project: &ProjectId) -> Result<Vec<TaskState>, ProjectError> {
    let mut states = Vec::new();
    for task in index.tasks(project)? {
        let Some(run) = index.last_run(project, &task, store::RunsJudgedBy::AnyRules)? else {
            continue;
        };
        let verdict = match sealed_report(store, project, &task, &run.run_id) {
            Ok(report) => with_its_debt(store, project, &task, report),
            Err(error) => {
                tracing::warn!("the task list says nothing of {task}: {error}");
                TaskVerdict::NotIntact
            }
        };
        states.push(TaskState { task, verdict });
    }
    Ok(states)
}

fn with_its_debt(store: &Store, project: &ProjectId, task: &TaskId, report: ExecutionReportV2) -> TaskVerdict {
    match read_debt(store, project, task, &report) {
        Ok(debt) => TaskVerdict::Sealed { report: Box::new(report), debt: debt.map(Box::new) },
        Err(why) => {
            tracing::warn!("the task list says nothing of {task}: {why}");
            TaskVerdict::NotIntact
        }
    }
}

/// Reads the debt file of a sealed report; `None` if the report has none.
///
/// # Errors
///
/// When the file cannot be read, or is not the one that the report names.
pub fn read_debt(
    store: &Store,
    project: &ProjectId,
    task: &TaskId,
    report: &ExecutionReportV2,
) -> Result<Option<TechnicalDebtV1>, String> {
    let Some(file) = report.evidence_files.iter().find(|file| file.name == DEBT_FILE) else { return Ok(None) };
    let run = &report.authenticity.execution_id;
    let bytes = evidence::read_file(store, project, task, run, DEBT_FILE).map_err(|error| error.to_string())?;
    let intact = bytes.filter(|bytes| Digest::of(bytes) == file.sha256);
    let bytes = intact.ok_or_else(|| format!("`{DEBT_FILE}` is not the one the report knows"))?;
    parse_debt(&bytes).map(Some).map_err(|error| error.to_string())
}
