//! The service as the host of the event loop: it passes each event to its project, and publishes what the projects
//! report. The projects' engines make all decisions about runs.

mod calls;
mod moves;
mod registry;
mod renewal;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::sync::mpsc::{Sender, channel};

use crate::arrivals::{ArrivalDoor, ProjectArrival, ProjectSeat, open_arrivals};
use crate::control::{ControlServer, ControlSocket};
use crate::engine::Moment;
use crate::event::OsSignal;
use crate::event_loop::{EventHost, EventSources, LoopClock, LoopEvent, new_runtime, run_event_loop};
use crate::notify_desktop::{notify_person_on_desktop, notify_problem_on_desktop};
use crate::os_signals::{HangUp, Signals};
use crate::service::announce::{SaidLines, ServiceManager};
use crate::service::call::{Call, Reply, from_open_failure};
use crate::service::fetched_notes::FetchedNotes;
use crate::service::host::calls::stopping;
use crate::service::host::moves::{RootNews, SeatSuccessor};
use crate::service::ledger_news::LedgerNews;
use crate::service::opening::{OpeningReason, ProjectOpening, SessionMessage};
use crate::service::program::{OwnProgram, RunnableProgram};
use crate::service::session::ProjectSession;
use crate::service::subscribers::Subscribers;
use crate::worker::{OpenFailure, OpenFailureKind, WorkPlaces, Worker, WorkerReport};
use proctor_api::{AddedV1, ProjectV1};
use proctor_app::Environment;
use proctor_app::health::{chain, problem_behind};
use proctor_model::{Asker, CommandExit, HealthProblem, ProjectId, Serving};
use proctor_project::{Progress, ProjectError, RefusedRequests, StoreReader};
use proctor_sandbox::process::{open_files_left, raise_open_files_limit};
use proctor_tree::watch::WatchHub;

/// The most calls that may wait for the loop. Further calls wait outside of the queue, for a few seconds at most.
const CALLS: usize = 256;
/// The limit on open files that the service gives itself, where its hard limit allows that. Every client, every watched
/// project and every run takes descriptors.
const MOST_OPEN_FILES: u64 = 16 * 1024;
/// The limit on open files that is assumed where it cannot be read.
const FEWEST_OPEN_FILES: u64 = 1024;
/// The time limit for writing answers that are ready when the service ends.
const FAREWELL: Duration = Duration::from_secs(1);
/// The descriptors that stay free for runs, however many projects are watched.
const FOR_RUNS: u64 = 96;
/// How long after the last event the service closes its index.
const RESTS_AFTER: Duration = Duration::from_secs(30);

/// The settings with which the service is started.
pub struct ServiceSettings {
    /// The variables and paths of the service.
    pub environment: Environment,
    /// The file from which this program was started. If another file takes its place, the service ends with [`ServiceEnd::Renew`].
    pub program: PathBuf,
    /// The socket on which the service receives requests.
    pub socket: ControlSocket,
    /// The service manager that started the service, if one did.
    pub manager: ServiceManager,
    /// Takes the lines for the person or the program that started the service, until the service ends.
    pub said: mpsc::Sender<String>,
}

/// The reason why the service could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The store or its index could not be opened.
    #[error("failed to open the store")]
    Store(#[source] ProjectError),
    /// The signal handlers could not be installed.
    #[error("failed to take over signals")]
    Signals(#[source] io::Error),
    /// The event loop, the server or the watcher of all projects could not be started.
    #[error("failed to start the event loop")]
    Runtime(#[source] io::Error),
}

/// The service: it watches all served projects and answers requests about them.
pub struct ServiceHost {
    environment: Environment,
    /// Watches all projects.
    hub: WatchHub,
    program: OwnProgram,
    /// What the workers of all projects share.
    places: WorkPlaces,
    archive: StoreReader,
    manager: ServiceManager,
    said: SaidLines,
    seats: BTreeMap<ProjectSeat, ProjectSession>,
    /// Projects that are being closed because a client removed them, each with the client and the sender for its
    /// answer.
    removals: BTreeMap<ProjectSeat, (Asker, Reply<ProjectV1>)>,
    /// What is opened when a project is closed that was moved or replaced.
    successors: BTreeMap<ProjectSeat, SeatSuccessor>,
    /// The projects whose directory vanished, with the moment at which the ledger is asked for another one.
    vanished: BTreeMap<ProjectSeat, Moment>,
    /// The requests that the actions of each project made and the service refused, for the reports of their runs.
    refused_requests: BTreeMap<ProjectSeat, Arc<RefusedRequests>>,
    /// When people were last told of a refused request that belongs to no known project.
    told_of_stranger: Option<Moment>,
    /// The problems of which a notification on the desktop has told since all projects were last well.
    notified: BTreeSet<HealthProblem>,
    next_seat: u64,
    subscribers: Subscribers,
    /// The runs of projects that the service does not watch, followed while there are subscribers.
    news: LedgerNews,
    /// Makes the senders by which the threads of projects send events to the loop.
    door: ArrivalDoor,
    /// Sends calls to the loop. A thread that does part of a call's work reports its result by this sender.
    send_call: Sender<Call>,
    fed_at: Moment,
    /// When the service closes its index, unless something happens before. `None` while the index is closed.
    rests_at: Option<Moment>,
    /// Fetches what others attested.
    notes: FetchedNotes,
    step: ServiceStep,
}

/// How the service ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceEnd {
    Exit(CommandExit),
    /// This program has replaced the one that runs, and is to be executed in its place.
    Renew(RunnableProgram),
}

/// Whether the service still handles requests or is closing its projects in order to end.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ServiceStep {
    GoingOn,
    /// The service's own program was replaced: the service ends when no run is under way. Until `turn` no further run begins, or
    /// runs begin again, by `are_held`: a long run of one project does not keep all others from being judged.
    LettingRunsEnd {
        turn: Moment,
        are_held: bool,
    },
    Ending(ServiceEnd),
}

impl EventHost for ServiceHost {
    type Call = Call;
    type Outcome = ServiceEnd;

    /// Sends systemd's watchdog a sign of life. This happens nowhere else, so that systemd notices a loop that hangs.
    fn before_wait(&mut self, now: Moment) -> Option<Moment> {
        self.feed(now);
        self.manager.show_life(now);
        self.rest(now);
        self.notes.fetch(now, self.seats.values().map(|served| &served.root), &self.environment);
        self.say_status();
        self.next_moment()
    }

    fn handle(&mut self, now: Moment, event: LoopEvent<Call>) -> ControlFlow<ServiceEnd> {
        if !matches!(event, LoopEvent::Woken) || self.rests_at.is_none() {
            self.rests_at = Some(now.plus(RESTS_AFTER));
        }
        match event {
            LoopEvent::Signal(signal) => self.signalled(now, signal),
            LoopEvent::Project(session_id, ProjectArrival::Hints(hints)) => {
                let news = RootNews::of(&hints);
                self.with(session_id, |served, archive| served.hinted(now, hints, archive));
                self.take_root_news(now, session_id, news);
            }
            LoopEvent::Project(session_id, ProjectArrival::Report(report)) => {
                if let WorkerReport::Opened(opened) = &*report {
                    self.end_others(now, session_id, &opened.scope.project);
                }
                let is_run_over = matches!(*report, WorkerReport::Over(_));
                if matches!(*report, WorkerReport::Progress(Progress::ActionEnded(_))) {
                    self.tell_progress(session_id, now, true);
                }
                self.with(session_id, |served, archive| served.reported(now, *report, archive));
                if is_run_over {
                    self.look_at_own_program(now);
                }
            }
            LoopEvent::Call(call) => self.called(now, call),
            LoopEvent::Woken => self.woken(now),
        }
        self.renew_if_due(now);
        match &self.step {
            ServiceStep::Ending(end) if self.seats.is_empty() => ControlFlow::Break(end.clone()),
            ServiceStep::Ending(_) | ServiceStep::LettingRunsEnd { .. } | ServiceStep::GoingOn => ControlFlow::Continue(()),
        }
    }
}

impl ServiceHost {
    /// Runs the service until a signal ends it or its program was replaced.
    ///
    /// # Errors
    /// If the service could not be started.
    pub fn run(settings: ServiceSettings) -> Result<ServiceEnd, ServiceError> {
        let runtime = new_runtime().map_err(ServiceError::Runtime)?;
        runtime.block_on(Self::serve(settings))
    }

    async fn serve(settings: ServiceSettings) -> Result<ServiceEnd, ServiceError> {
        let signals = Signals::take_over(HangUp::Reloads).map_err(ServiceError::Signals)?;
        let archive = StoreReader::open(settings.environment.state_root(), settings.environment.variables().clone())
            .map_err(ServiceError::Store)?;
        // Without a reserve the service does its work all the same.
        let _unwritten = archive.store.renew_reserve();
        let (door, arrivals) = open_arrivals();
        let (send_call, calls) = channel(CALLS);
        let shown = settings.socket.path().display().to_string();
        let open_files = raise_open_files_limit(MOST_OPEN_FILES).unwrap_or(FEWEST_OPEN_FILES);
        let server = ControlServer::start(settings.socket, send_call.clone(), settings.environment.clone(), open_files);
        let server = server.map_err(ServiceError::Runtime)?;
        let hub = WatchHub::start().map_err(|error| ServiceError::Runtime(io::Error::other(error)))?;
        let tell = send_call.clone();
        // If the queue is full, the end of the next run is an occasion to look.
        let program = OwnProgram::follow(&settings.program, &hub, move || drop(tell.try_send(Call::OwnProgramChanged)));
        let mut service = Self {
            environment: settings.environment,
            hub,
            program,
            places: WorkPlaces::of_service(open_files),
            archive,
            manager: settings.manager,
            said: SaidLines(settings.said),
            seats: BTreeMap::new(),
            removals: BTreeMap::new(),
            successors: BTreeMap::new(),
            vanished: BTreeMap::new(),
            refused_requests: BTreeMap::new(),
            told_of_stranger: None,
            notified: BTreeSet::new(),
            next_seat: 0,
            subscribers: Subscribers::default(),
            news: LedgerNews::default(),
            door,
            send_call,
            fed_at: Moment(0),
            rests_at: Some(Moment(0).plus(RESTS_AFTER)),
            notes: FetchedNotes::default(),
            step: ServiceStep::GoingOn,
        };
        service.said.add(&format!("listening on {shown}"));
        let clock = LoopClock::start();
        service.open_all(clock.now())?;
        service.manager.ready();
        let mut sources = EventSources { signals, arrivals, calls, clock };
        let end = run_event_loop(&mut service, &mut sources).await;
        // Dropping the calls refuses every client that still waits. The channel `arrivals` stays open: a worker that
        // was let go sends its last report and then saves the known trees to disk. It would not save them if the report
        // had no receiver.
        drop(sources.calls);
        if matches!(end, ServiceEnd::Exit(_)) {
            service.manager.stopping();
        }
        service.subscribers.end();
        server.stop(FAREWELL).await;
        // Who stops the service while its program is replaced means the new program too.
        let is_renewed = matches!(end, ServiceEnd::Renew(_));
        Ok(match is_renewed.then(|| sources.signals.release()).flatten() {
            Some(signal) => ServiceEnd::Exit(exit_after(signal)),
            None => end,
        })
    }

    /// Opens every project that the ledgers list as served, and that is not in the loop yet or was moved.
    fn open_all(&mut self, now: Moment) -> Result<(), ServiceError> {
        let projects = self.archive.projects().map_err(ServiceError::Store)?;
        for project in projects.into_iter().filter(|project| !project.was_removed_by_git()) {
            let (root, known) = (PathBuf::from(project.path), self.session_id_of(&project.id));
            if let Some(known) = known {
                self.move_to(now, known, root);
            } else if project.serving == Serving::Served {
                self.session_id(now, Some(project.id.clone()), root, OpeningReason::Served(project.id), None);
            }
        }
        Ok(())
    }

    fn session_id(
        &mut self,
        now: Moment,
        id: Option<ProjectId>,
        root: PathBuf,
        purpose: OpeningReason,
        adding: Option<Reply<AddedV1>>,
    ) {
        let session_id = ProjectSeat(self.next_seat);
        self.next_seat += 1;
        let served = match self.begin_opening(session_id, root.clone(), purpose) {
            Ok(worker) => ProjectSession::opening(worker, id, root, adding),
            Err(why) => match adding {
                Some(reply) => return drop(reply.send(Err(from_open_failure(&why)))),
                None => {
                    let (served, words) = ProjectSession::closed(now, why, id, root);
                    self.seats.insert(session_id, served);
                    return self.pass_on(session_id, words);
                }
            },
        };
        self.seats.insert(session_id, served);
    }

    /// Starts the opening of a project, which happens on a thread of its worker.
    fn begin_opening(&mut self, session_id: ProjectSeat, root: PathBuf, purpose: OpeningReason) -> Result<Worker, OpenFailure> {
        let arrivals = self.door.sender(session_id);
        let refused_requests = Arc::clone(self.refused_requests.entry(session_id).or_default());
        check_descriptors()?;
        let report = arrivals.reports();
        let (environment, hub) = (self.environment.clone(), self.hub.clone());
        let opening = ProjectOpening { environment, hub, root, purpose, refused_requests, arrivals };
        Worker::open(opening, report, self.places.clone()).map_err(|error| {
            let reason = OpenFailureKind::OwnFault(problem_behind(&error));
            OpenFailure { reason, lines: vec![chain(&error)] }
        })
    }

    fn signalled(&mut self, now: Moment, signal: OsSignal) {
        match signal {
            OsSignal::Reload => {
                self.manager.reloading();
                self.said.add("reading the list of projects anew, and running everything once more");
                if let Err(error) = self.open_all(now) {
                    self.said.add(&chain(&error));
                }
                self.each(|served| served.signalled(now, OsSignal::Reload));
                self.manager.ready();
            }
            OsSignal::Interrupt | OsSignal::Terminate => {
                self.step = ServiceStep::Ending(ServiceEnd::Exit(exit_after(signal)));
                self.manager.stopping();
                let why = stopping();
                self.each(|served| served.end(now, &why));
            }
        }
    }

    fn woken(&mut self, now: Moment) {
        if self.program.next_moment().is_some_and(|moment| moment <= now) {
            self.look_at_own_program(now);
        }
        self.look_for_vanished(now);
        let seats: Vec<ProjectSeat> = self.seats.keys().copied().collect();
        for session_id in seats {
            self.with(session_id, |served, archive| served.woken(now, archive));
            self.tell_progress(session_id, now, false);
            self.try_again(session_id, now);
        }
    }

    /// Tells subscribers how far the running actions of a project are. Without subscribers nothing is looked at.
    fn tell_progress(&mut self, session_id: ProjectSeat, now: Moment, at_once: bool) {
        if self.subscribers.are_there() {
            self.with(session_id, |served, _| served.tell_progress(now, at_once));
        }
    }

    fn try_again(&mut self, session_id: ProjectSeat, now: Moment) {
        let Some(served) = self.seats.get(&session_id).filter(|served| served.is_to_be_opened(now)) else { return };
        let Some(id) = served.id.clone() else { return };
        if self.follow_move(now, session_id) {
            return;
        }
        let Some(served) = self.seats.get(&session_id) else { return };
        // If the directory does not exist, no launcher process is started.
        let root = served.root.clone();
        let begun = if root.is_dir() {
            self.begin_opening(session_id, root, OpeningReason::Served(id))
        } else {
            let line = format!("`{}` is not there", root.display());
            Err(OpenFailure { reason: OpenFailureKind::RootMissing, lines: vec![line] })
        };
        self.with(session_id, |served, archive| served.open_again(now, begun, archive));
    }

    fn each(&mut self, mut act: impl FnMut(&mut ProjectSession) -> Vec<SessionMessage>) {
        let seats: Vec<ProjectSeat> = self.seats.keys().copied().collect();
        seats.into_iter().for_each(|session_id| self.with(session_id, |served, _| act(served)));
    }

    /// Calls `act` with one project's session, and passes on the messages that `act` returns.
    fn with(&mut self, session_id: ProjectSeat, act: impl FnOnce(&mut ProjectSession, &mut StoreReader) -> Vec<SessionMessage>) {
        let Some(served) = self.seats.get_mut(&session_id) else { return };
        let words = act(served, &mut self.archive);
        self.pass_on(session_id, words);
    }

    fn pass_on(&mut self, session_id: ProjectSeat, words: Vec<SessionMessage>) {
        for word in words {
            match word {
                SessionMessage::Tell(event) => self.subscribers.tell(&event),
                SessionMessage::TellInPassing(event) => self.subscribers.tell_in_passing(&event),
                SessionMessage::Say(line) => self.said.add(&line),
                SessionMessage::Notify { name, problem } => {
                    // One notification tells of a problem that many projects share.
                    if self.notified.insert(problem) {
                        notify_problem_on_desktop(&name, problem.words());
                    }
                }
                SessionMessage::NotifyPerson { name, asked } => notify_person_on_desktop(&name, &asked),
                SessionMessage::Left => {
                    self.refused_requests.remove(&session_id);
                    self.vanished.remove(&session_id);
                    let successor = self.successors.remove(&session_id);
                    let Some(served) = self.seats.remove(&session_id) else { continue };
                    if let Some((asker, reply)) = self.removals.remove(&session_id) {
                        self.record_removal(&served, asker, reply);
                    } else if let Some(successor) = successor.filter(|_| !self.is_ending()) {
                        self.open_successor(successor, served);
                    }
                }
            }
        }
    }

    fn is_ending(&self) -> bool {
        matches!(self.step, ServiceStep::Ending(_))
    }

    fn session_id_of(&self, project: &ProjectId) -> Option<ProjectSeat> {
        self.seats.iter().find(|(_, served)| served.id.as_ref() == Some(project)).map(|(session_id, _)| *session_id)
    }

    fn next_moment(&self) -> Option<Moment> {
        let fed = self.manager.watchdog_interval().map(|interval| self.fed_at.plus(interval));
        let program = self.program.next_moment().filter(|_| self.step == ServiceStep::GoingOn);
        let turn = match self.step {
            ServiceStep::LettingRunsEnd { turn, .. } => Some(turn),
            ServiceStep::GoingOn | ServiceStep::Ending(_) => None,
        };
        let progress = || self.seats.values().filter_map(ProjectSession::next_progress).min();
        let progress = self.subscribers.are_there().then(progress).flatten();
        self.seats
            .values()
            .filter_map(ProjectSession::next_moment)
            .chain(progress)
            .chain(fed)
            .chain(program)
            .chain(turn)
            .chain(self.notes.next_moment())
            .chain(self.rests_at)
            .chain(self.vanished.values().copied())
            .min()
    }

    /// Closes the index once nothing has happened for a while.
    ///
    /// SQLite keeps the descriptors of closed connections for as long as the process has any other connection to the same file
    /// (closing one of them would release the locks of all). A service that kept its own connection would hold as many
    /// descriptors as there were ever connections at the same time.
    fn rest(&mut self, now: Moment) {
        if self.rests_at.take_if(|moment| *moment <= now).is_some() {
            self.archive.close_files();
        }
    }

    fn feed(&mut self, now: Moment) {
        if self.manager.watchdog_interval().is_some_and(|interval| self.fed_at.plus(interval) <= now) {
            self.manager.alive();
            self.fed_at = now;
        }
    }

    fn say_status(&mut self) {
        let running = self.seats.values().filter(|served| served.is_running()).count();
        let count = self.seats.values().filter(|served| served.is_troubled()).count();
        if count == 0 {
            self.notified.clear();
        }
        let troubled = if count == 0 { String::new() } else { format!(", {count} cannot be judged: `proctor service list`") };
        self.manager.status(format!("{} projects, {running} running{troubled}", self.seats.len()));
    }
}

fn exit_after(signal: OsSignal) -> CommandExit {
    match signal {
        OsSignal::Interrupt => CommandExit::Interrupted,
        OsSignal::Terminate | OsSignal::Reload => CommandExit::Proceed,
    }
}

/// Refuses to open another project if too few descriptors are left for the runs of the projects that are open. It is better
/// that one project is named as not watched than that no project can run its checks.
fn check_descriptors() -> Result<(), OpenFailure> {
    // If the number cannot be read, the opening itself finds out whether descriptors are left.
    let left = open_files_left().unwrap_or(u64::MAX);
    if left >= FOR_RUNS {
        return Ok(());
    }
    let line = format!("of the files that may be open, {left} are left, which the runs of the other projects need");
    Err(OpenFailure { reason: OpenFailureKind::OwnFault(HealthProblem::Descriptors), lines: vec![line] })
}
