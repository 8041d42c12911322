//! What must hold, whatever happens. The simulator compares every run, answer and quiet tree with it.

use std::collections::BTreeMap;

use super::disk::{Disk, OUT, PlanKind, TOML, Tree, digest, plan_of};
use super::run::RunningRun;
use super::schedule::Writes;
use super::store::{SealedEnd, SealedRun, StoreInMemory, tasks_of};
use super::thread::Thread;
use crate::effect::Order;
use crate::worker::FinishedRun;
use proctor_api::{AnswerV1, StateV1};
use proctor_model::{Freshness, ProjectStatus, TaskId, TreeDigest, TriggerKind};

/// The most runs of a project after the last operation, and where checks write files of the project itself.
const MOST_LAST_RUNS: u32 = 40;
const MOST_IN_PLACE: u32 = 200;

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) violations: Vec<String>,
    /// For each task, the tree of its last run if that has a verdict and nothing has happened since that makes a run due.
    judged: BTreeMap<(usize, TaskId), TreeDigest>,
    runs: BTreeMap<usize, u32>,
}

impl Model {
    fn say(&mut self, now: u64, project: usize, what: &str) {
        self.violations.push(format!("{now} ms, project {project}: {what}"));
    }

    /// Nothing is run twice without a reason on record.
    pub(super) fn begun(&mut self, now: u64, project: usize, order: &Order, tree: &Tree, is_writing: bool) {
        *self.runs.entry(project).or_default() += 1;
        let before = self.judged.get(&(project, order.task.clone()));
        if matches!(order.trigger.kind, TriggerKind::Save) && before == Some(&digest(tree)) {
            self.say(now, project, "a save starts a run on the tree of the last verdict");
        }
        let most = if is_writing { MOST_IN_PLACE } else { MOST_LAST_RUNS };
        if self.runs[&project] > most {
            self.say(now, project, "runs follow one another without end");
        }
    }

    /// No verdict is published for content that was not run.
    pub(super) fn sealed(&mut self, now: u64, project: usize, run: &RunningRun, end: &SealedEnd) {
        // A file that was made and removed again while checks ran in the project itself leaves no trace that a second look finds.
        let is_other = |file: usize| run.tree[file].is_some() && run.tree[file] != run.seen[file];
        if *end == SealedEnd::Verdict && (0..run.tree.len()).any(is_other) {
            self.say(now, project, "a verdict is for another tree than the checks saw");
        }
    }

    pub(super) fn ended(&mut self, project: usize, over: &FinishedRun) {
        use crate::event::RunFinish;
        match &over.finished {
            RunFinish::Verdict { tree, .. } => {
                self.judged.insert((project, over.task.clone()), *tree);
            }
            RunFinish::Unchanged | RunFinish::Untriggered | RunFinish::Stopped | RunFinish::Paused | RunFinish::Refused => {}
            RunFinish::Partial { .. } | RunFinish::Moved { .. } | RunFinish::Waits | RunFinish::Failed => {
                self.judged.remove(&(project, over.task.clone()));
            }
        }
    }

    /// What is called fresh was on disk after the question was asked.
    pub(super) fn answered(&mut self, now: u64, project: usize, asked: u64, answer: &AnswerV1, disk: &Disk) {
        let Some(task) = answer.project.tasks.first().filter(|task| task.state == StateV1::Fresh) else { return };
        let until = |at: usize| disk.past.get(at + 1).map_or(u64::MAX, |(next, _)| *next);
        let was_there =
            |(at, (since, there)): (usize, &(u64, TreeDigest))| Some(*there) == task.tree && *since <= now && until(at) >= asked;
        if disk.unreported_since.is_none() && !disk.past.iter().enumerate().any(was_there) {
            self.say(now, project, "an answer calls a tree fresh that was not on disk after the question");
        }
    }

    pub(super) fn late(&mut self, now: u64, project: usize) {
        self.say(now, project, "a request was not answered in its time");
    }

    /// The operations are over: from now on runs are counted.
    pub(super) fn begin_calm(&mut self) {
        self.runs.clear();
    }

    /// A service that has been started knows those verdicts only that its first look found fresh.
    pub(super) fn first_look(&mut self, project: usize, found: &ProjectStatus) {
        self.judged.retain(|(other, _), _| *other != project);
        for task in found.tasks.iter().filter(|task| matches!(task.freshness, Freshness::Fresh { .. })) {
            self.judged.extend(task.tree.map(|tree| ((project, task.task.clone()), tree)));
        }
    }

    /// Every quiet tree has a verdict for exactly its content: each check was last carried out on what it would see now. A tree that
    /// moved twice in a row by the same files, and is as it was tested, is called unstable instead, and people are told that nothing runs.
    pub(super) fn calm(&mut self, now: u64, project: usize, thread: &Thread, disk: &Disk, store: &StoreInMemory) {
        let is_unstable = matches!(thread.shape.writes, Writes::InPlaceSame | Writes::InPlaceOther);
        let is_to_be_judged = plan_of(&disk.tree).0 != PlanKind::Wrong && store.is_approved(&disk.tree) && !is_unstable;
        if !is_to_be_judged || !disk.is_root_there {
            return;
        }
        let ignores_out = thread.shape.writes == Writes::CopiesOther;
        let sees = |check: &str, tree: &Tree| -> Vec<Option<u64>> {
            let is_seen =
                |file: &usize| if check == "second" { *file == 0 || *file == TOML } else { !(ignores_out && *file == OUT) };
            (0..tree.len()).filter(is_seen).map(|file| tree[file].map(|entry| entry.content)).collect()
        };
        let there = digest(&disk.tree);
        let standing = store.status(Some(&disk.tree), &thread.checks, &tasks_of(&thread.shape));
        for task in tasks_of(&thread.shape) {
            let is_called_unstable = standing.of(&task).is_some_and(|task| matches!(task.freshness, Freshness::Unstable { .. }));
            if is_called_unstable && store.was_tested_in_vain(&task) {
                continue;
            }
            // One check that blocks on these files makes the verdict: the last one, and where results are reused any, for no save runs the
            // others.
            let is_red = |run: &SealedRun| run.tree == there && run.checks.iter().any(|(_, blocks)| *blocks);
            let mut verdicts = store.runs.iter().rev().filter(|run| run.task == task && run.end == SealedEnd::Verdict);
            let is_refused = if thread.shape.is_reusing { verdicts.any(is_red) } else { verdicts.next().is_some_and(is_red) };
            if is_refused {
                continue;
            }
            for check in &thread.checks {
                let carried = |run: &&SealedRun| {
                    let has_check = run.checks.iter().any(|(name, _)| *name == check.name);
                    run.task == task && run.end == SealedEnd::Verdict && has_check
                };
                let is_known = |run: &SealedRun| sees(&check.name, &run.files) == sees(&check.name, &disk.tree);
                // A run that takes over an earlier result on the same files carries nothing out.
                let mut candidates = store.runs.iter().rev().filter(carried);
                let is_judged =
                    if thread.shape.is_reusing { candidates.any(is_known) } else { candidates.next().is_some_and(is_known) };
                if !is_judged {
                    self.say(now, project, &format!("the quiet tree has no verdict of `{}` of {task}", check.name));
                }
            }
        }
    }
}
