//! Status checks ("looks") for clients that ask about the state of a project: they compare the tree with the verdicts. A status
//! check reads either only the reported paths or the whole tree.
//!
//! Before a check of only the reported paths ([`LookCare::Events`]), the watcher has to confirm that it has reported
//! every earlier change. The watcher creates a file, whose event arrives after all earlier events. If the confirmation
//! does not come in time, the whole tree is read.

use std::time::Duration;

use crate::engine::Moment;
use crate::event::Event;
use crate::service::call::{Question, Reply, answer, refuse, too_many};
use crate::service::opening::SessionMessage;
use crate::service::pending_changes::LookCare;
use crate::service::session::{LOOK_AGAIN, ProjectSession, Stage};
use crate::service::waiters::{PlannedRun, WaiterNeed};
use crate::worker::{LookTicket, OpenFailureKind};
use proctor_api::{AnswerV1, DoingV1, ErrorKindV1, ErrorV1, ListedV1, WatchingV1};
use proctor_app::health::{chain, health_of};
use proctor_model::{
    Activity, Approval, Freshness, PersonAskedFor, ProjectStatus, SyncId, TaskId, VerdictStatus, WaitStep, WatchHint,
};
use proctor_project::{ProjectError, StoreReader};
use proctor_sandbox::process::clock;
use proctor_tree::watch::WatcherHandle;

/// The most clients that may wait for one project. A waiting client costs a connection and a few hundred bytes.
const MOST_WAITERS: usize = 4096;
/// The time limit for the watcher's confirmation.
const SYNCING: Duration = Duration::from_secs(3);

impl ProjectSession {
    /// Handles a client's question about the state of the project.
    pub(in crate::service) fn ask(
        &mut self,
        now: Moment,
        (task, question): (TaskId, Question),
        deadline: Moment,
        reply: Reply<AnswerV1>,
        archive: &mut StoreReader,
    ) -> Vec<SessionMessage> {
        self.waiters.forget(Reply::is_closed);
        if self.waiters.count() >= MOST_WAITERS {
            refuse(reply, too_many("wait for this project"));
            return Vec::new();
        }
        if let Stage::Closed { why, again } = &mut self.stage
            && !matches!(why.reason, OpenFailureKind::OwnFault(_))
        {
            // Whoever asks may have mended what kept the project from being opened.
            *again = now;
        }
        self.waiters.add(reply, task, question, deadline);
        self.go_on(now, archive)
    }

    /// Handles the result of a status check, which compared the tree with the verdicts: answers clients, and orders the
    /// next step.
    pub(super) fn looked(
        &mut self,
        now: Moment,
        ticket: LookTicket,
        looked: Result<ProjectStatus, ProjectError>,
        archive: &mut StoreReader,
    ) -> Vec<SessionMessage> {
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        open.looking = open.looking.filter(|under_way| *under_way != ticket);
        let is_first = open.first.take_if(|first| *first == ticket).is_some();
        let standing = match looked {
            Ok(standing) => standing,
            Err(error) => {
                open.pending_changes.anything();
                return self.not_looked(now, ticket, &error, archive);
            }
        };
        open.lists_own_task = standing.of(&TaskId::default_task()).is_some();
        let planned = open.planned;
        let is_repeated = is_first || planned == PlannedRun::Repetition;
        let step = |task: &TaskId| standing.of(task).map_or(WaitStep::Answer, |task| wait_step(&task.freshness, is_repeated));
        // Tasks that have a fresh verdict already are not run at the start. A task that was never run and has errors in its
        // specification is: that seals the errors in a report of the task.
        let is_first_contact = |task: &TaskId| {
            standing.of(task).is_some_and(|task| task.freshness == Freshness::SpecificationWrong && task.verdict.is_none())
        };
        let (to_run, not_to_run): (Vec<_>, Vec<_>) = open
            .scheduler
            .watched_tasks()
            .iter()
            .cloned()
            .partition(|task| step(task) == WaitStep::Run || is_first_contact(task));
        let over = is_first.then(|| self.health.looked(&to_run)).flatten();
        let mut words = self.healed(over);
        let Stage::Open(open) = &mut self.stage else { return words };
        let outcome = self.waiters.looked(ticket, step, planned);
        if standing.tasks.iter().all(|task| matches!(task.freshness, Freshness::Fresh { .. })) {
            open.failure = None;
        }
        let problems = [standing.problems, open.problems()].concat();
        let standing = ProjectStatus { problems, ..standing };
        outcome.due.into_iter().for_each(|due| answer(due, &standing, self.health.problem()));
        if outcome.need == WaiterNeed::LookLater {
            open.look_again = Some(now.plus(LOOK_AGAIN));
        }
        let is_idle = open.activity == Activity::Idle;
        // Another status check follows when the present run has ended, which a client asked for and which may not be all that is due.
        open.owes_first_look |= is_first && !is_idle;
        if is_first {
            let fresh_on = |task: &TaskId| {
                let task = standing.of(task).filter(|task| matches!(task.freshness, Freshness::Fresh { .. }))?;
                task.tree
            };
            let settled: Vec<_> = not_to_run.iter().map(|task| (task.clone(), fresh_on(task))).collect();
            words.extend(self.schedule(|scheduler| scheduler.begin_without(&settled)));
        }
        words.extend(match (outcome.need, is_idle && (to_run.is_empty() || !is_first)) {
            (WaiterNeed::Run(task), true) => self.handle(now, Event::Awaited(task)),
            (WaiterNeed::Run(_) | WaiterNeed::Nothing | WaiterNeed::LookLater, _) => Vec::new(),
        });
        words
    }

    /// Handles a status check that could not be made. If a problem of the machine is the reason, clients get the last known
    /// state with the problem, because it is the state of the project that they asked about. Otherwise they get the error.
    fn not_looked(
        &mut self,
        now: Moment,
        ticket: LookTicket,
        error: &ProjectError,
        archive: &mut StoreReader,
    ) -> Vec<SessionMessage> {
        let failed = self.waiters.failed(ticket);
        let Some(found) = health_of(error, clock::now()) else {
            let error = ErrorV1::new(ErrorKindV1::OwnFault, chain(error), error.hint().unwrap_or_default());
            failed.into_iter().for_each(|due| refuse(due.reply, error.clone()));
            return Vec::new();
        };
        let words = self.troubled(now, found, None);
        for due in failed {
            let standing = self.unlooked(archive, std::slice::from_ref(&due.task));
            answer(due, &standing, self.health.problem());
        }
        words
    }

    /// Begins the status check that clients wait for, if neither a run nor a status check is under way.
    pub(super) fn next_look(&mut self, now: Moment) {
        let Stage::Open(open) = &mut self.stage else { return };
        if open.activity != Activity::Idle || open.looking.is_some() {
            return;
        }
        let Some(care) = self.waiters.wanted_care() else { return };
        let wanted = self.waiters.wanted_tasks();
        open.tickets += 1;
        let ticket = LookTicket(open.tickets);
        open.looking = Some(ticket);
        self.waiters.begin_look(ticket);
        match care {
            LookCare::Events if open.pending_changes.is_enough() => {
                open.scheduler.sync_watcher(SyncId(ticket.0));
                open.syncing = Some((now.plus(SYNCING), wanted));
            }
            LookCare::Events | LookCare::Whole => open.scheduler.look(ticket, wanted, open.pending_changes.take(LookCare::Whole)),
        }
    }

    /// Notes hints for the next status check. If they contain the watcher's confirmation, the check that waited for it begins.
    pub(super) fn hear(&mut self, hints: &[WatchHint]) {
        let Stage::Open(open) = &mut self.stage else { return };
        hints.iter().for_each(|hint| open.pending_changes.add_hint(hint));
        if let (Some(ticket), Some(_)) = (open.looking, &open.syncing)
            && hints.contains(&WatchHint::Synced(SyncId(ticket.0)))
        {
            self.look_now(LookCare::Events);
        }
    }

    /// Begins a status check of the whole tree if the watcher's confirmation has not come in time.
    pub(super) fn stop_syncing(&mut self, now: Moment) {
        if let Stage::Open(open) = &self.stage
            && open.syncing.as_ref().is_some_and(|(until, _)| *until <= now)
        {
            self.look_now(LookCare::Whole);
        }
    }

    /// Begins the status check that waited for the watcher's confirmation.
    pub(super) fn look_now(&mut self, care: LookCare) {
        let Stage::Open(open) = &mut self.stage else { return };
        if let (Some(ticket), Some((_, wanted))) = (open.looking, open.syncing.take()) {
            open.scheduler.look(ticket, wanted, open.pending_changes.take(care));
        }
    }

    /// Cancels a status check that has not begun. A run has begun, and the check would only come after it.
    pub(super) fn put_off_look(&mut self) {
        let Stage::Open(open) = &mut self.stage else { return };
        if open.syncing.take().is_some()
            && let Some(ticket) = open.looking.take()
        {
            self.waiters.put_off(ticket);
        }
    }

    /// Returns what a list of projects says about this project.
    pub(in crate::service) fn listed(&self, archive: &mut StoreReader) -> ListedV1 {
        let (watching, doing) = match &self.stage {
            Stage::Open(open) => {
                let watching = if open.polling.is_some() { WatchingV1::Polling } else { WatchingV1::Events };
                let doing = match open.activity {
                    Activity::Idle => DoingV1::Idle,
                    Activity::Queued => DoingV1::Queued,
                    Activity::Running => DoingV1::Running,
                };
                (watching, doing)
            }
            Stage::Opening(_) | Stage::Left => (WatchingV1::NotWatched, DoingV1::Changing),
            Stage::Closed { .. } => (WatchingV1::NotWatched, DoingV1::Closed),
        };
        let mut listed = ListedV1::new(&self.unlooked(archive, &[]), watching, doing, clock::now());
        // The ledger does not have what a plan asks for that nobody approved; the run that was refused has.
        if let (None, Stage::Open(open)) = (&listed.person, &self.stage) {
            listed.person = open.asked.clone().filter(|asked| asked.asked_for == PersonAskedFor::Approval);
        }
        let listed = if self.root.is_dir() { listed } else { listed.with_missing_root() };
        listed.with_health(self.health.problem())
    }

    /// Returns a handle for questions to the project's watcher.
    pub(in crate::service) fn watcher(&self) -> Option<WatcherHandle> {
        match &self.stage {
            Stage::Open(open) => open.scheduler.watcher(),
            Stage::Opening(_) | Stage::Closed { .. } | Stage::Left => None,
        }
    }

    /// Returns the last known state of the project without reading the tree. No verdict in it counts as fresh.
    pub(super) fn unlooked(&self, archive: &mut StoreReader, wanted: &[TaskId]) -> ProjectStatus {
        let (watched, activity) = match &self.stage {
            Stage::Open(open) => (open.scheduler.watched_tasks(), open.activity),
            Stage::Opening(_) | Stage::Closed { .. } | Stage::Left => (&[][..], Activity::Idle),
        };
        let wanted = [watched, wanted].concat();
        let (approval, problems) = match &self.stage {
            Stage::Closed { why, .. } if why.reason == OpenFailureKind::Doubtful => (Approval::NotApproved, why.lines.clone()),
            // The project's health says why.
            Stage::Closed { why, .. } if matches!(why.reason, OpenFailureKind::OwnFault(_)) => (Approval::Approved, Vec::new()),
            Stage::Closed { why, .. } => (Approval::Approved, why.lines.clone()),
            Stage::Open(open) => (Approval::Approved, open.problems()),
            Stage::Opening(_) | Stage::Left => (Approval::Approved, Vec::new()),
        };
        let standing = archive.last_known_status(self.id.as_ref(), &self.root, approval, &wanted, activity);
        match standing {
            // The problems in `standing` concern only the list of tasks, because the configuration was not read.
            Ok(standing) => {
                let own = TaskId::default_task();
                let lacks_own = matches!(&self.stage, Stage::Open(open) if !open.lists_own_task);
                let is_shown = |task: &VerdictStatus| !lacks_own || task.task != own || task.verdict.is_some();
                let tasks = standing.tasks.into_iter().filter(is_shown).collect();
                ProjectStatus { problems: [problems, standing.problems].concat(), tasks, ..standing }
            }
            Err(error) => {
                let problems = vec![chain(&error)];
                ProjectStatus {
                    project: self.id.clone(),
                    root: self.root.clone(),
                    tasks: Vec::new(),
                    problems,
                    started_early: None,
                }
            }
        }
    }
}

/// Returns what a waiting client needs next. An unstable tree is no final answer while a repetition is planned, because the tree
/// may stay unchanged during that repetition. Nor is it at the first look: the repetition that was planned before has not been made.
fn wait_step(freshness: &Freshness, is_repeated: bool) -> WaitStep {
    let is_owed = is_repeated && matches!(freshness, Freshness::Unstable { .. });
    if is_owed { WaitStep::Run } else { freshness.wait_step() }
}
