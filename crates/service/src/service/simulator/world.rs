//! The world of a schedule: a virtual clock, the event loop of a service, its projects and their surroundings.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use super::clients::Client;
use super::disk::{DirectoryInMemory, Disk};
use super::draw::Draw;
use super::model::Model;
use super::run::Fixture;
use super::schedule::{Schedule, Shape};
use super::store::{StoreInMemory, tasks_of};
use super::thread::{Bench, Thread};
use crate::arrivals::{ProjectArrival, ProjectSeat, order_arrivals};
use crate::engine::{EngineSettings, Moment};
use crate::service::opening::SessionMessage;
use crate::service::session::ProjectSession;
use crate::worker::{OpenedProject, PlaceKind, WorkPlace, WorkPlaces, WorkerReport, simulated};
use proctor_model::{Asker, Digest, OnChange, ProjectId, TreePath, WatchHint, WatchProblem};
use proctor_project::{Progress, ProjectScope};
use proctor_tree::ignore::MatcherSettings;
use proctor_tree::watch::Pace;

/// How long after the last operation everything has come to rest.
const CALM: u64 = 1_800_000;
/// The most events of a schedule. More are a loop without end.
const MOST_EVENTS: u32 = 60_000;

/// Whether every event is printed.
static IS_TRACED: LazyLock<bool> = LazyLock::new(|| super::number_in("PROCTOR_TRACE").is_some());

/// What happens at a moment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening {
    /// The next operation of the schedule.
    Step(usize),
    /// A program goes on with what it does to a file.
    Write(usize, WriteStep),
    /// The watcher sends the hints that are due.
    Hints(usize),
    /// A worker's thread goes on.
    Thread(usize),
    /// The loop takes what has arrived, or was to be woken.
    Loop,
    /// A client's patience or time is over.
    Clients,
    /// A project is opened by a new service.
    Open(usize),
    /// The watcher asks for a look at the whole tree.
    Sweep(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WriteStep {
    /// A file gets its content and is closed.
    Close(usize, u64),
    /// A file that was put aside comes again.
    Come(usize, u64),
    /// A program writes once more, and so many times after that.
    Again {
        file: usize,
        every: u64,
        times: u64,
    },
    EndGit,
    FindRoot,
    EmptyDisk,
}

pub(super) struct Project {
    pub(super) shape: Shape,
    pub(super) directory: DirectoryInMemory,
    pub(super) store: StoreInMemory,
    pub(super) thread: Thread,
    pub(super) session: Option<ProjectSession>,
    /// Whether the service is stopping, so that it refuses new clients.
    pub(super) is_ending: bool,
    /// Grows with every opening: what an earlier one still sends is not for this one.
    pub(super) seat: u64,
    /// When the thread was to go on, so that it is not put on the list twice.
    thread_at: Option<u64>,
    hints_at: Option<u64>,
}

pub(super) struct World<'f> {
    pub(super) now: u64,
    clock: Arc<AtomicU64>,
    list: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    number: u64,
    channel: VecDeque<(ProjectSeat, ProjectArrival)>,
    pub(super) projects: Vec<Project>,
    pub(super) clients: Vec<Client>,
    pub(super) model: Model,
    pub(super) fixture: &'f mut Fixture,
    pub(super) draw: Draw,
    places: WorkPlaces,
    /// The places that other projects of the machine have.
    _taken: Vec<WorkPlace>,
    loop_at: Option<u64>,
}

impl<'f> World<'f> {
    pub(super) fn new(schedule: &Schedule, fixture: &'f mut Fixture) -> Self {
        let mut draw = Draw::new(!schedule.seed);
        let clock = Arc::new(AtomicU64::new(0));
        let places = WorkPlaces::of_service(0);
        let mut taken: Vec<WorkPlace> = std::iter::from_fn(|| places.try_take(PlaceKind::Run)).collect();
        taken.truncate(taken.len().saturating_sub(schedule.runs));
        let mut projects = Vec::new();
        for (number, shape) in schedule.shapes.iter().enumerate() {
            let mut one = || Draw::new(draw.between(0, u64::MAX - 1));
            let disk = Arc::new(Mutex::new(Disk::new(shape.hint_delay, one())));
            let directory = DirectoryInMemory { disk, clock: Arc::clone(&clock) };
            let project = ProjectId::mint("shop", u32::try_from(number).unwrap_or_default());
            let root = fixture.directory.path().to_owned();
            let store = StoreInMemory { project, root, runs: Vec::new(), approved: Digest::of(b""), is_full: false };
            let (worker, queue) = simulated::worker();
            let thread = Thread::new(queue, places.clone(), directory.clone(), (number, *shape), one());
            let session = ProjectSession::opening(worker, Some(store.project.clone()), store.root.clone(), None);
            let (shape, session, seat) = (*shape, Some(session), number as u64);
            let (is_ending, thread_at, hints_at) = (false, None, None);
            projects.push(Project { shape, directory, store, thread, session, is_ending, seat, thread_at, hints_at });
        }
        let (list, channel, clients, model) = (BinaryHeap::new(), VecDeque::new(), Vec::new(), Model::default());
        Self {
            now: 0,
            clock,
            list,
            number: 0,
            channel,
            projects,
            clients,
            model,
            fixture,
            draw,
            places,
            _taken: taken,
            loop_at: None,
        }
    }

    /// Prints what happens, if somebody replays a schedule.
    pub(super) fn trace(&self, what: impl FnOnce() -> String) {
        if *IS_TRACED {
            println!("{:>7} ms {}", self.now, what());
        }
    }

    /// Lets the schedule happen, and everything come to rest. Returns what must not be and was.
    pub(super) fn run(mut self, schedule: &Schedule) -> Vec<String> {
        (0..self.projects.len()).for_each(|project| self.opened(project));
        let mut at = 0;
        for (step, (pause, ..)) in schedule.steps.iter().enumerate() {
            at += pause;
            self.at(at, Happening::Step(step));
        }
        let end = self.go_on(schedule, CALM);
        if self.model.violations.is_empty() && end {
            self.sweep_unreported(schedule);
            self.check_calm();
        }
        self.projects.iter().for_each(|project| project.thread.end());
        std::mem::take(&mut self.model.violations)
    }

    fn go_on(&mut self, schedule: &Schedule, within: u64) -> bool {
        let until = self.now + within;
        for _ in 0..MOST_EVENTS {
            let Some(Reverse((at, _, happening))) = self.list.pop() else { return true };
            if at > until || !self.model.violations.is_empty() {
                return at > until;
            }
            self.now = self.now.max(at);
            self.clock.store(self.now, Ordering::Relaxed);
            if matches!(happening, Happening::Step(_) | Happening::Write(..)) {
                self.model.begin_calm();
            }
            if let Happening::Step(step) = happening {
                self.trace(|| format!("{:?}", schedule.steps[step]));
            } else if happening != Happening::Loop {
                self.trace(|| format!("{happening:?}"));
            }
            self.happen(schedule, happening);
            self.look_around();
        }
        self.model.violations.push("the schedule does not come to an end".to_owned());
        false
    }

    fn happen(&mut self, schedule: &Schedule, happening: Happening) {
        match happening {
            Happening::Step(step) => self.operate(schedule.steps[step].1, schedule.steps[step].2),
            Happening::Write(project, step) => self.write_on(project, step),
            Happening::Hints(project) => {
                self.projects[project].hints_at = None;
                let seat = ProjectSeat(self.projects[project].seat);
                let hints = self.projects[project].directory.lock().take_hints(self.now);
                hints.into_iter().for_each(|hint| self.arrive(seat, ProjectArrival::Hints(vec![hint])));
            }
            Happening::Thread(project) => self.projects[project].thread_at = None,
            Happening::Loop if self.loop_at.is_some_and(|at| at <= self.now) => self.turn(),
            Happening::Loop | Happening::Clients => {}
            Happening::Open(project) => self.open(project),
            Happening::Sweep(project) => {
                let sweep = WatchHint::LookAgain(WatchProblem::Sweep);
                self.projects[project].directory.lock().report(self.now, [sweep]);
            }
        }
    }

    /// Lets clients take their answers, then the threads go on, and notes when somebody has something to do next.
    fn look_around(&mut self) {
        let (now, projects, model) = (self.now, &self.projects, &mut self.model);
        self.clients.retain_mut(|client| client.goes_on(now, projects, model));
        for number in 0..self.projects.len() {
            let Project { thread, store, seat, .. } = &mut self.projects[number];
            let (now, reports) = (self.now, Vec::new());
            let mut bench = Bench { now, store, model: &mut self.model, fixture: self.fixture, reports };
            let next = thread.go_on(&mut bench);
            let (seat, reports) = (ProjectSeat(*seat), bench.reports);
            reports.into_iter().for_each(|report| self.arrive(seat, ProjectArrival::Report(Box::new(report))));
            let project = &mut self.projects[number];
            let hint = project.directory.lock().next_hint();
            let is_sooner =
                |next: Option<u64>, known: Option<u64>| next.is_some_and(|next| known.is_none_or(|known| next < known));
            let thread = next.filter(|_| is_sooner(next, project.thread_at));
            let hint = hint.filter(|_| is_sooner(hint, project.hints_at));
            project.thread_at = thread.or(project.thread_at);
            project.hints_at = hint.or(project.hints_at);
            thread.into_iter().for_each(|at| self.at(at, Happening::Thread(number)));
            hint.into_iter().for_each(|at| self.at(at, Happening::Hints(number)));
        }
        let wake = self.projects.iter().filter_map(|project| project.session.as_ref()?.next_moment()).min();
        if let Some(Moment(at)) = wake {
            self.wake_loop(at.max(self.now));
        }
    }

    fn arrive(&mut self, seat: ProjectSeat, arrival: ProjectArrival) {
        self.channel.push_back((seat, arrival));
        // Mostly the loop is quick, and sometimes it is busy with another project.
        let busy = if self.draw.chance(3) { 200 } else { self.draw.pick(&[0, 0, 1]) };
        self.wake_loop(self.now + busy);
    }

    pub(super) fn wake_loop(&mut self, at: u64) {
        if self.loop_at.is_none_or(|known| at < known) {
            self.loop_at = Some(at);
            self.at(at, Happening::Loop);
        }
    }

    /// One turn of the loop: everything that has arrived, then whoever was to be woken.
    fn turn(&mut self) {
        self.loop_at = None;
        for (seat, arrival) in order_arrivals(self.channel.drain(..)) {
            let Some(number) = self.projects.iter().position(|project| project.seat == seat.0) else { continue };
            self.trace(|| format!("project {number}: {}", shown(&arrival)));
            self.with(number, |session, now, archive| match arrival {
                ProjectArrival::Hints(hints) => session.hinted(now, hints, archive),
                ProjectArrival::Report(report) => session.reported(now, *report, archive),
            });
        }
        for number in 0..self.projects.len() {
            let next = self.projects[number].session.as_ref().and_then(ProjectSession::next_moment);
            if next.is_some_and(|Moment(at)| at <= self.now) {
                self.with(number, |session, now, archive| session.woken(now, archive));
            }
        }
    }

    /// Has a session do something, as the service does.
    pub(super) fn with(
        &mut self,
        number: usize,
        act: impl FnOnce(&mut ProjectSession, Moment, &mut proctor_project::StoreReader) -> Vec<SessionMessage>,
    ) {
        let now = Moment(self.now);
        let Project { session: Some(session), thread, .. } = &mut self.projects[number] else { return };
        thread.is_told = true;
        let words = act(session, now, &mut self.fixture.archive);
        if words.iter().any(|word| matches!(word, SessionMessage::Left)) {
            self.projects[number].session = None;
            let at = self.now + self.draw.between(0, 300);
            self.at(at, Happening::Open(number));
        }
    }

    /// Starts the opening of a project by a service that has been started again. A project that is not there is tried again later.
    fn open(&mut self, number: usize) {
        if !self.projects[number].directory.lock().is_root_there {
            return self.at(self.now + 300, Happening::Open(number));
        }
        let seat = self.projects.iter().map(|project| project.seat).max().unwrap_or_default() + 1;
        let draw = Draw::new(self.draw.between(0, u64::MAX - 1));
        let project = &mut self.projects[number];
        project.thread.end();
        let (worker, queue) = simulated::worker();
        project.thread = Thread::new(queue, self.places.clone(), project.directory.clone(), (number, project.shape), draw);
        project.session =
            Some(ProjectSession::opening(worker, Some(project.store.project.clone()), project.store.root.clone(), None));
        (project.is_ending, project.seat, project.thread_at, project.hints_at) = (false, seat, None, None);
        project.directory.lock().forget_hints();
        self.opened(number);
    }

    fn opened(&mut self, number: usize) {
        let Project { store, directory, shape, seat, .. } = &self.projects[number];
        let asker = Asker { pid: 1, uid: 0, executable: None, terminal: None };
        let opened = OpenedProject {
            scope: ProjectScope { project: store.project.clone(), root: store.root.clone(), asker },
            directory: Box::new(directory.clone()),
            engine: settings(shape),
            rules: (MatcherSettings::default(), Pace { poll: Duration::from_secs(1), sweep: None }),
            notes: Vec::new(),
            notify: None,
        };
        self.arrive(ProjectSeat(*seat), ProjectArrival::Report(Box::new(WorkerReport::Opened(Box::new(opened)))));
    }

    pub(super) fn at(&mut self, at: u64, happening: Happening) {
        self.number += 1;
        self.list.push(Reverse((at, self.number, happening)));
    }

    /// Changes that no event reports are found by the watcher's sweeps.
    fn sweep_unreported(&mut self, schedule: &Schedule) {
        for _ in 0..3 {
            for number in 0..self.projects.len() {
                let owes_sweep = self.projects[number].directory.lock().owes_sweep;
                if owes_sweep {
                    self.at(self.now + 60_000, Happening::Sweep(number));
                }
            }
            // No step is left on the list.
            self.go_on(schedule, CALM);
        }
    }

    fn check_calm(&mut self) {
        for number in 0..self.projects.len() {
            let Project { thread, store, directory, session, .. } = &self.projects[number];
            if thread.is_running() || session.is_none() {
                self.model.violations.push(format!("project {number} does not come to rest"));
            }
            self.model.calm(self.now, number, thread, &directory.lock(), store);
        }
        let waiting: Vec<usize> = self.clients.iter().map(Client::project).collect();
        waiting.into_iter().for_each(|project| self.model.late(self.now, project));
    }
}

fn shown(arrival: &ProjectArrival) -> String {
    match arrival {
        ProjectArrival::Hints(hints) => format!("{hints:?}"),
        ProjectArrival::Report(report) => match &**report {
            WorkerReport::Progress(Progress::Begun { tree, task, .. }) => format!("begun {task} {tree}"),
            WorkerReport::Progress(_) => "progress".to_owned(),
            WorkerReport::Over(over) => format!("over {:?} {:?} {:?}", over.task, over.finished, over.copied),
            WorkerReport::Looked(ticket, looked) => {
                let states = looked.iter().flat_map(|status| &status.tasks).map(|task| (&task.freshness, &task.tree));
                format!("looked {} {:?}", ticket.0, states.collect::<Vec<_>>())
            }
            WorkerReport::Opened(_) => "opened".to_owned(),
            WorkerReport::Rules(..)
            | WorkerReport::Settings(_)
            | WorkerReport::Errand(_)
            | WorkerReport::Question(_)
            | WorkerReport::Approved(_)
            | WorkerReport::Closed(_) => String::new(),
        },
    }
}

fn settings(shape: &Shape) -> EngineSettings {
    EngineSettings {
        quiet: Duration::from_millis(20),
        longest_burst: Duration::from_millis(500),
        on_change: if shape.is_queue { OnChange::Queue } else { OnChange::Restart },
        max_restarts: 3,
        git_wait: Duration::from_secs(5),
        tasks: tasks_of(shape),
    }
}

/// The hints of a save in place.
pub(super) fn closed(path: TreePath) -> [WatchHint; 2] {
    [WatchHint::Writing(path.clone()), WatchHint::Saved(path)]
}
