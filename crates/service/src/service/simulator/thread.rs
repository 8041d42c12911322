//! The model of a worker's thread: it takes requests out of the real queue, reads the tree, and carries runs out over the model of the
//! store. Which checks are selected, how a run ends for the engine, and when an earlier verdict stands are decided by the real code.

use super::disk::{DirectoryInMemory, OUT, PlanKind, Tree, differing, digest, number, path, plan_of};
use super::draw::Draw;
use super::model::Model;
use super::run::{Fixture, RunningRun, unapproved};
use super::schedule::{Shape, Writes};
use super::store::{SealedEnd, SealedRun, StoreInMemory, blocks, checks_of, run_id};
use crate::effect::Order;
use crate::worker::simulated::{Taken, WorkerThread, ended, known, misconfigured, not_begun, of_unknown_check};
use crate::worker::{FinishedRun, LookTicket, PlaceKind, PlaceTurn, WorkPlace, WorkPlaces, WorkerReport};
use proctor_model::{Action, CopiedFiles, Digest, OnDisk, StopReason, TaskId, WatchHint};
use proctor_project::{Progress, ProjectError, RunOutcome, SealedReport, SelectedChecks, Selection, select_checks};
use proctor_sandbox::process::Control;
use proctor_tree::TreeHints;

pub(super) struct Thread {
    queue: WorkerThread,
    places: WorkPlaces,
    directory: DirectoryInMemory,
    pub(super) shape: Shape,
    pub(super) checks: Vec<Action>,
    project: usize,
    /// A request that waits for a place.
    waiting: Option<(Taken, PlaceTurn)>,
    job: Option<(u64, Job, Option<WorkPlace>)>,
    /// The tree as it was last read. Hints say which files of it are read again.
    index: Option<Tree>,
    /// The task, the plan and the tree of the last verdict of a run of all checks.
    verdict_tree: Option<(TaskId, Digest, Tree)>,
    /// Whether a process of proctor dies in the run under way.
    pub(super) is_to_die: bool,
    /// Whether its project's scheduler has acted since the thread last looked, so that there may be a new request or a stop.
    pub(super) is_told: bool,
    draw: Draw,
}

/// What the thread does until a moment.
enum Job {
    Look(LookTicket, Vec<TaskId>, TreeHints),
    Read(Order, Control),
    Check(Box<RunningRun>),
    Seal(Box<RunningRun>),
}

/// What the thread works on and with.
pub(super) struct Bench<'b> {
    pub(super) now: u64,
    pub(super) store: &'b mut StoreInMemory,
    pub(super) model: &'b mut Model,
    pub(super) fixture: &'b Fixture,
    pub(super) reports: Vec<WorkerReport>,
}

impl Thread {
    pub(super) fn new(
        queue: WorkerThread,
        places: WorkPlaces,
        directory: DirectoryInMemory,
        (project, shape): (usize, Shape),
        draw: Draw,
    ) -> Self {
        let (checks, verdict_tree) = (checks_of(&shape), None);
        let (waiting, job, index, is_to_die, is_told) = (None, None, None, false, true);
        Self { queue, places, directory, shape, checks, project, waiting, job, index, verdict_tree, is_to_die, is_told, draw }
    }

    pub(super) fn end(&self) {
        self.queue.end();
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.job, Some((_, Job::Check(_) | Job::Seal(_), _)))
    }

    /// Does what is due. Returns when there is more to do.
    pub(super) fn go_on(&mut self, bench: &mut Bench<'_>) -> Option<u64> {
        let due = self.job.as_ref().map(|(due, ..)| *due);
        if !std::mem::take(&mut self.is_told) && self.waiting.is_none() && due.is_none_or(|due| due > bench.now) {
            return due;
        }
        loop {
            self.notice_stop(bench.now);
            match &self.job {
                Some((due, ..)) if *due > bench.now => return Some(*due),
                Some(_) => self.finish_step(bench),
                None => {
                    let (taken, turn) = match self.waiting.take() {
                        Some((taken, turn)) => (taken, Some(turn)),
                        None => (self.queue.take(), None),
                    };
                    if let Some(due) = self.begin(bench, taken, turn)? {
                        return Some(due);
                    }
                }
            }
        }
    }

    /// Begins a request. Returns `None` if there is none, and when to try again if it has to wait for a place.
    fn begin(&mut self, bench: &mut Bench<'_>, taken: Taken, turn: Option<PlaceTurn>) -> Option<Option<u64>> {
        let is_stopped = match &taken {
            Taken::Run(_) => self.queue.stopped_early().is_some(),
            Taken::Look(..) => self.queue.is_closed(),
            Taken::Nothing | Taken::End => return None,
        };
        let kind = if matches!(taken, Taken::Run(_)) { PlaceKind::Run } else { PlaceKind::Look };
        let mut place = None;
        if !is_stopped {
            let turn = turn.unwrap_or_else(|| self.places.join_line(kind));
            place = turn.try_take();
            if place.is_none() {
                self.waiting = Some((taken, turn));
                return Some(Some(bench.now + 500));
            }
        }
        let due = bench.now + self.draw.between(0, self.shape.look_takes);
        match taken {
            Taken::Look(ticket, wanted, hints) => self.job = Some((due, Job::Look(ticket, wanted, hints), place)),
            Taken::Run(order) => match self.queue.stopped_early() {
                Some(reason) => self.over(bench, not_begun(&order, reason)),
                None => {
                    let control = self.queue.begin_run();
                    self.read_some(&order.hints);
                    self.job = Some((due, Job::Read(order, control), place));
                }
            },
            Taken::Nothing | Taken::End => {}
        }
        Some(None)
    }

    /// A run that is asked to stop ends after a while, which may be long.
    fn notice_stop(&mut self, now: u64) {
        let Some((due, Job::Check(run), _)) = &mut self.job else { return };
        let Some(reason) = run.control.requested().filter(|_| run.stopped.is_none()) else { return };
        run.stopped = Some(reason);
        *due = (*due).min(now + self.draw.pick(&[0, 2, 40, 3_000]));
    }

    fn over(&mut self, bench: &mut Bench<'_>, finished: FinishedRun) {
        self.queue.end_run();
        bench.model.ended(self.project, &finished);
        bench.reports.push(WorkerReport::Over(Box::new(finished)));
    }

    fn finish_step(&mut self, bench: &mut Bench<'_>) {
        let Some((_, job, place)) = self.job.take() else { return };
        match job {
            Job::Look(ticket, wanted, hints) => {
                let tree = self.read(bench.now, &hints);
                let status = bench.store.status(tree.as_ref(), &self.checks, &wanted);
                if ticket == LookTicket(0) {
                    bench.model.first_look(self.project, &status);
                }
                bench.reports.push(WorkerReport::Looked(ticket, Box::new(Ok(status))));
            }
            Job::Read(order, control) => match self.begin_run(bench, (order, control), 0) {
                Ok(run) => self.job = Some((run.next(), Job::Check(run), place)),
                Err(finished) => self.over(bench, *finished),
            },
            Job::Check(mut run) => {
                if run.writes_at.take_if(|at| *at <= bench.now).is_some() {
                    self.write_in_place(bench.now, &mut run);
                } else if std::mem::take(&mut self.is_to_die) {
                    return self.die(bench, run, place);
                } else if run.stopped.is_some() {
                    let outcome = self.stop(bench, &run);
                    return self.over(bench, ended(&run.order, outcome));
                } else {
                    bench.reports.push(WorkerReport::Progress(Progress::ChecksOver));
                    let due = bench.now + self.draw.pick(&[0, 1, 20]);
                    self.job = Some((due, Job::Seal(run), place));
                    return;
                }
                self.job = Some((run.next(), Job::Check(run), place));
            }
            Job::Seal(run) => {
                let outcome = self.seal(bench, &run);
                self.over(bench, ended(&run.order, outcome));
            }
        }
    }

    /// Reads what the hints name. `None` if the root is not there.
    fn read(&mut self, now: u64, hints: &TreeHints) -> Option<Tree> {
        let mut disk = self.directory.lock();
        if !disk.is_root_there {
            return None;
        }
        let tree = match (hints, self.index) {
            (TreeHints::Only(paths), Some(mut tree)) => {
                paths.iter().filter_map(number).for_each(|file| tree[file] = disk.tree[file]);
                tree
            }
            (TreeHints::Everything | TreeHints::Only(_), _) => {
                disk.unreported_since = disk.unreported_since.filter(|since| *since > now);
                disk.tree
            }
        };
        self.index = Some(tree);
        Some(tree)
    }

    /// Reads some of the files at the beginning of a look: the tree that is read need not have been on disk at any moment.
    fn read_some(&mut self, hints: &TreeHints) {
        let Some(index) = &mut self.index else { return };
        let disk = self.directory.lock();
        for (file, read) in index.iter_mut().enumerate() {
            let is_hinted = matches!(hints, TreeHints::Only(paths) if paths.contains(&path(file)));
            if is_hinted && self.draw.chance(50) {
                *read = disk.tree[file];
            }
        }
    }

    /// Returns the run that begins, or how it ended before it could: the decisions of `run_plan` up to the start of the first action.
    fn begin_run(
        &mut self,
        bench: &mut Bench<'_>,
        (order, control): (Order, Control),
        deaths: u32,
    ) -> Result<Box<RunningRun>, Box<FinishedRun>> {
        let over = |outcome| Err(Box::new(ended(&order, outcome)));
        let now = { self.directory.lock().tree };
        if plan_of(&now).0 == PlanKind::Wrong {
            return Err(Box::new(misconfigured(&order)));
        }
        if let Some(finished) = of_unknown_check(&order, &self.checks) {
            return Err(Box::new(finished));
        }
        let Some(tree) = self.read(bench.now, &order.hints) else {
            return over(Err(bench.fixture.error(nix::libc::ENOENT)));
        };
        let look = || bench.store.status(Some(&tree), &self.checks, std::slice::from_ref(&order.task));
        if let Some(finished) = known(&order, &self.checks, look).filter(|_| deaths == 0) {
            return Err(Box::new(finished));
        }
        if control.requested() == Some(StopReason::Superseded) {
            return over(Ok(if deaths == 0 { RunOutcome::Withdrawn } else { RunOutcome::Superseded }));
        }
        if order.unless_tree == Some(digest(&tree)) {
            return over(Ok(RunOutcome::Unchanged));
        }
        let plan = plan_of(&tree).1;
        let earlier = self.verdict_tree.as_ref().filter(|(task, of, _)| *task == order.task && *of == plan);
        let changed = earlier.map(|(.., earlier)| {
            let is_other = |file: &usize| earlier[*file].map(|entry| entry.content) != tree[*file].map(|entry| entry.content);
            (0..tree.len()).filter(is_other).map(path).collect::<Vec<_>>()
        });
        let selected = match select_checks(&order.selection, &self.checks, changed.as_deref()) {
            SelectedChecks::Nothing => return over(Ok(RunOutcome::Untriggered)),
            selected @ (SelectedChecks::All | SelectedChecks::Only(_)) => {
                self.checks.iter().map(|check| check.name.clone()).filter(|name| selected.holds(name)).collect()
            }
        };
        if !bench.store.is_approved(&tree) {
            return over(Ok(RunOutcome::NotApproved(unapproved(&order.task))));
        }
        if bench.store.is_full {
            return over(Err(bench.fixture.error(nix::libc::ENOSPC)));
        }
        Ok(self.run(bench, (order, control), tree, selected, deaths))
    }

    fn run(
        &mut self,
        bench: &mut Bench<'_>,
        (order, control): (Order, Control),
        tree: Tree,
        selected: Vec<String>,
        deaths: u32,
    ) -> Box<RunningRun> {
        let is_writing = matches!(self.shape.writes, Writes::InPlaceSame | Writes::InPlaceOther);
        bench.model.begun(bench.now, self.project, &order, &tree, is_writing);
        let mut disk = self.directory.lock();
        disk.tested = Some(tree);
        // Checks in the project itself see what is there when they begin, and not what was read before.
        let seen = if self.shape.is_in_place { disk.tree } else { tree };
        drop(disk);
        bench.reports.push(WorkerReport::Progress(bench.fixture.begun(&order.task, digest(&tree), bench.store.runs.len() + 1)));
        let takes = self.draw.between(self.shape.takes.0, self.shape.takes.1);
        let writes_at = is_writing.then_some(bench.now + takes / 2);
        let ends = bench.now + takes;
        Box::new(RunningRun { order, control, tree, seen, selected, deaths, stopped: None, ends, writes_at })
    }

    fn write_in_place(&mut self, now: u64, run: &mut RunningRun) {
        let mut disk = self.directory.lock();
        let content = if self.shape.writes == Writes::InPlaceSame { 7 * 4 } else { disk.new_content() };
        disk.set(now, OUT, Some(content));
        run.seen[OUT] = disk.tree[OUT];
        disk.report(now, [WatchHint::Writing(path(OUT)), WatchHint::Saved(path(OUT))]);
    }

    /// A helper process has died. The first time, the run is carried out once more.
    fn die(&mut self, bench: &mut Bench<'_>, run: Box<RunningRun>, place: Option<WorkPlace>) {
        self.keep(bench, &run, SealedEnd::NoVerdict, Vec::new());
        let number = bench.store.runs.len();
        let RunningRun { order, control, tree, deaths, .. } = *run;
        if deaths > 0 {
            let sealed = bench.fixture.sealed(run_id(number), digest(&tree));
            return self.over(bench, ended(&order, Ok(RunOutcome::HelperDied(Box::new(sealed)))));
        }
        bench.reports.push(WorkerReport::Progress(bench.fixture.died(run_id(number))));
        match self.begin_run(bench, (Order { hints: TreeHints::Everything, ..order }, control), 1) {
            Ok(again) => self.job = Some((again.next(), Job::Check(again), place)),
            Err(finished) => self.over(bench, *finished),
        }
    }

    fn stop(&mut self, bench: &mut Bench<'_>, run: &RunningRun) -> Result<RunOutcome, ProjectError> {
        if run.stopped == Some(StopReason::Superseded) {
            return Ok(RunOutcome::Superseded);
        }
        let number = self.keep(bench, run, SealedEnd::NoVerdict, Vec::new());
        Ok(RunOutcome::Interrupted(Box::new(bench.fixture.sealed(run_id(number), digest(&run.tree)))))
    }

    /// Looks at the project again where checks worked in it, and seals.
    fn seal(&mut self, bench: &mut Bench<'_>, run: &RunningRun) -> Result<RunOutcome, ProjectError> {
        if bench.store.is_full {
            return Err(bench.fixture.error(nix::libc::ENOSPC));
        }
        let after = if self.shape.is_in_place { self.read(bench.now, &TreeHints::Everything) } else { Some(run.tree) };
        let Some(after) = after else { return Err(bench.fixture.error(nix::libc::ENOENT)) };
        let moved = differing(&run.tree, &after);
        let (before, digest_after) = (digest(&run.tree), digest(&after));
        if !moved.is_empty() {
            let paths: Vec<String> = moved.iter().map(|file| path(*file).to_string()).collect();
            let number = self.keep(bench, run, SealedEnd::Moved { after: digest_after, paths }, Vec::new());
            let sealed = SealedReport {
                moved: moved.into_iter().map(path).collect(),
                on_disk: OnDisk::compare(before, digest_after),
                ..bench.fixture.sealed(run_id(number), before)
            };
            return Ok(RunOutcome::Moved(Box::new(sealed)));
        }
        let results: Vec<(String, bool)> = run.selected.iter().map(|name| (name.clone(), blocks(name, &run.seen))).collect();
        let failed = results.iter().filter(|(_, blocks)| *blocks).map(|(name, _)| name.clone()).collect();
        let number = self.keep(bench, run, SealedEnd::Verdict, results);
        if !matches!(run.order.selection, Selection::Named(_)) {
            self.verdict_tree = Some((run.order.task.clone(), plan_of(&run.tree).1, run.tree));
        }
        let copied = self.copy_out(bench.now, &run.tree);
        let sealed = bench.fixture.sealed(run_id(number), before);
        Ok(RunOutcome::Judged(Box::new(SealedReport { failed, copied, ..sealed })))
    }

    /// Copies to the project what the checks wrote in their copy of it.
    fn copy_out(&mut self, now: u64, tested: &Tree) -> Option<CopiedFiles> {
        let mut disk = self.directory.lock();
        let content = match self.shape.writes {
            Writes::CopiesSame => 7 * 4,
            Writes::CopiesOther => disk.new_content(),
            Writes::Nothing | Writes::InPlaceSame | Writes::InPlaceOther => return None,
        };
        let is_same = disk.tree[OUT].is_some_and(|entry| entry.content == content);
        if is_same || !disk.is_root_there {
            return None;
        }
        disk.set(now, OUT, Some(content));
        disk.report(now, [WatchHint::Saved(path(OUT))]);
        // The thread reads again what it has copied.
        let mut tree = *tested;
        tree[OUT] = disk.tree[OUT];
        if let Some(index) = &mut self.index {
            index[OUT] = disk.tree[OUT];
        }
        Some(CopiedFiles { tested: digest(tested), tree: digest(&tree), paths: [path(OUT)].into() })
    }

    fn keep(&mut self, bench: &mut Bench<'_>, run: &RunningRun, end: SealedEnd, checks: Vec<(String, bool)>) -> usize {
        let plan = plan_of(&run.tree).1;
        let tree = digest(&run.tree);
        let task = run.order.task.clone();
        let has_result = |check: &Action| {
            checks.iter().any(|(name, _)| *name == check.name)
                || (run.order.selection == Selection::Missing && bench.store.has_result(&task, &check.name, tree, plan))
        };
        let is_whole = self.checks.iter().all(has_result);
        bench.model.sealed(bench.now, self.project, run, &end);
        bench.store.runs.push(SealedRun { task, tree, files: run.seen, plan, end, checks, is_whole });
        bench.store.runs.len()
    }
}
