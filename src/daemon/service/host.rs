//! The loop of the service: arrivals go to the project they are for, and what projects say goes out. Decides nothing about runs.

mod registry;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};

use crate::api::{AddedV1, CycleV1, ErrorKindV1, ErrorV1, EventV1, ProjectV1};
use crate::daemon::control::{ControlServer, ControlSocket};
use crate::daemon::engine::Moment;
use crate::daemon::event::OsSignal;
use crate::daemon::os_signals::{HangUp, Signals};
use crate::daemon::perform::MOST_HINTS;
use crate::daemon::service::announce::ServiceManager;
use crate::daemon::service::answering::of_run;
use crate::daemon::service::call::{Call, Reply};
use crate::daemon::service::open::{RunCall, Word};
use crate::daemon::service::opening::{Opening, OpeningSettings, Purpose, chain};
use crate::daemon::service::served::Served;
use crate::daemon::service::subscribers::Subscribers;
use crate::daemon::worker::{Closed, ClosedReason, Worker, WorkerReport};
use crate::model::{Asker, CommandExit, ProjectId, Serving, TaskId, WatchHint};
use crate::process::{LauncherHandle, clock};
use crate::project::Selection;
use crate::project::{Archive, RunError};

/// So many calls wait for the loop; more are refused at once.
const CALLS: usize = 256;
/// How long answers that are ready may take to be written when the service ends.
const FAREWELL: Duration = Duration::from_secs(1);
/// How soon a project that could not even be begun to be opened is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(30);

/// What the service is started with.
pub struct ServiceSettings {
    /// What every project is opened with.
    pub opening: OpeningSettings,
    /// Where it is asked.
    pub socket: ControlSocket,
    /// Who started it.
    pub manager: ServiceManager,
    /// Says a line to whoever started it.
    pub say: Box<dyn Fn(&str)>,
}

/// Says why the service could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The store or its index.
    #[error("failed to open the store")]
    Store(#[source] RunError),
    /// Signals could not be taken over.
    #[error("failed to take over signals")]
    Signals(#[source] io::Error),
    /// The event loop or the server could not be built.
    #[error("failed to start the event loop")]
    Runtime(#[source] io::Error),
}

/// The service.
pub struct ServiceHost {
    shared: OpeningSettings,
    archive: Archive,
    manager: ServiceManager,
    say: Box<dyn Fn(&str)>,
    seats: BTreeMap<Seat, Served>,
    /// Those that are leaving because somebody removed them.
    removals: BTreeMap<Seat, (Asker, Reply<ProjectV1>)>,
    next_seat: u64,
    subscribers: Subscribers,
    arrivals: UnboundedReceiver<Arrival>,
    send: UnboundedSender<Arrival>,
    origin: clock::Monotonic,
    fed_at: Moment,
    course: Course,
}

/// A project's place in the service, from its opening to its leaving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seat(u64);

/// Whether the service goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    GoingOn,
    Ending(CommandExit),
}

/// What arrives from threads.
enum Arrival {
    Hint(Seat, WatchHint),
    Report(Seat, Box<WorkerReport>),
    /// It is written down, or not, that a project is left alone.
    Removed(Box<ProjectV1>, Result<(), RunError>, Reply<ProjectV1>),
}

impl ServiceHost {
    /// Serves until it is told to end; returns the exit code.
    ///
    /// # Errors
    /// When it could not begin.
    pub fn run(settings: ServiceSettings) -> Result<CommandExit, ServiceError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(ServiceError::Runtime)?;
        runtime.block_on(Self::serve(settings))
    }

    async fn serve(settings: ServiceSettings) -> Result<CommandExit, ServiceError> {
        let mut signals = Signals::take_over(HangUp::Reloads).map_err(ServiceError::Signals)?;
        let archive = Archive::open(&settings.opening.state_root).map_err(ServiceError::Store)?;
        let (send, arrivals) = unbounded_channel();
        let (send_call, calls) = channel(CALLS);
        let shown = settings.socket.path().display().to_string();
        let variables = settings.opening.ambient.clone();
        let server = ControlServer::start(settings.socket, send_call, variables).map_err(ServiceError::Runtime)?;
        let mut service = Self {
            shared: settings.opening,
            archive,
            manager: settings.manager,
            say: settings.say,
            seats: BTreeMap::new(),
            removals: BTreeMap::new(),
            next_seat: 0,
            subscribers: Subscribers::default(),
            arrivals,
            send,
            origin: clock::monotonic(),
            fed_at: Moment(0),
            course: Course::GoingOn,
        };
        (service.say)(&format!("listening on {shown}"));
        service.open_all()?;
        service.manager.ready();
        let exit = service.turn(&mut signals, calls).await;
        service.manager.stopping();
        service.subscribers.end();
        server.stop(FAREWELL).await;
        Ok(exit)
    }

    /// Turns until it ends. Only here the watchdog is fed: a loop that hangs is missed.
    async fn turn(&mut self, signals: &mut Signals, mut calls: Receiver<Call>) -> CommandExit {
        loop {
            self.feed();
            self.say_status();
            let pause = self.next_moment().map(|moment| Duration::from_millis(moment.0.saturating_sub(self.now().0)));
            tokio::select! {
                biased;
                signal = signals.next() => self.signalled(signal),
                Some(arrival) = self.arrivals.recv() => self.arrived(arrival),
                Some(call) = calls.recv() => self.called(call),
                () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => self.woken(),
            }
            if let Course::Ending(exit) = self.course
                && self.seats.is_empty()
            {
                return exit;
            }
        }
    }

    /// Opens every project that the ledgers say is served and that has no seat yet.
    fn open_all(&mut self) -> Result<(), ServiceError> {
        for project in self.archive.projects().map_err(ServiceError::Store)? {
            if project.serving == Serving::Served && self.seat_of(&project.id).is_none() {
                let (id, root) = (Some(project.id.clone()), PathBuf::from(project.path));
                self.seat(id, root, Purpose::Served(project.id), None);
            }
        }
        Ok(())
    }

    fn seat(&mut self, id: Option<ProjectId>, root: PathBuf, purpose: Purpose, adding: Option<Reply<AddedV1>>) {
        let seat = Seat(self.next_seat);
        self.next_seat += 1;
        let served = match self.begin_opening(seat, root.clone(), purpose) {
            Ok(worker) => Served::opening(id, root, worker, adding),
            Err(why) => {
                let error = ErrorV1::new(ErrorKindV1::OwnFault, why.lines.join("; "), "check the limits on processes and files");
                match adding {
                    Some(reply) => return drop(reply.send(Err(error))),
                    None => Served::closed(id, root, why, self.now().plus(TRY_AGAIN)),
                }
            }
        };
        self.seats.insert(seat, served);
    }

    /// Starts the launcher here, because it ends with the thread that started it, and the rest on the worker's thread.
    fn begin_opening(&self, seat: Seat, root: PathBuf, purpose: Purpose) -> Result<Worker, Closed> {
        let closed = |line| Closed { reason: ClosedReason::OwnFault, lines: vec![line] };
        let launcher = LauncherHandle::execute(&self.shared.executable).map_err(|error| closed(chain(&error)))?;
        let opening = Opening { shared: self.shared.clone(), root, purpose, launcher, send_hint: hints_to(&self.send, seat) };
        let send = self.send.clone();
        let report = Box::new(move |report| send.send(Arrival::Report(seat, Box::new(report))).is_ok());
        Worker::open(Box::new(move || opening.carry_out()), report).map_err(|error| closed(chain(&error)))
    }

    fn signalled(&mut self, signal: OsSignal) {
        let now = self.now();
        match signal {
            OsSignal::Reload => {
                self.manager.reloading();
                (self.say)("reading the list of projects anew, and running everything once more");
                if let Err(error) = self.open_all() {
                    (self.say)(&chain(&error));
                }
                self.each(|served| served.signalled(now, OsSignal::Reload));
                self.manager.ready();
            }
            OsSignal::Interrupt | OsSignal::Terminate => {
                let exit = if signal == OsSignal::Interrupt { CommandExit::Interrupted } else { CommandExit::Proceed };
                self.course = Course::Ending(exit);
                self.manager.stopping();
                let why = stopping();
                self.each(|served| served.end(now, &why));
            }
        }
    }

    /// Takes in what arrived, and what waits behind it as long as that is of the same kind: a burst is one event.
    fn arrived(&mut self, first: Arrival) {
        let mut next = Some(first);
        while let Some(arrival) = next.take() {
            let Arrival::Hint(seat, hint) = arrival else {
                self.one_arrived(arrival);
                return;
            };
            let mut hints = vec![hint];
            while hints.len() < MOST_HINTS {
                match self.arrivals.try_recv() {
                    Ok(Arrival::Hint(of, hint)) if of == seat => hints.push(hint),
                    Ok(other) => {
                        next = Some(other);
                        break;
                    }
                    Err(_) => break,
                }
            }
            let now = self.now();
            self.with(seat, |served, archive| served.hinted(now, hints, archive));
        }
    }

    fn one_arrived(&mut self, arrival: Arrival) {
        let now = self.now();
        match arrival {
            Arrival::Hint(seat, hint) => self.with(seat, |served, archive| served.hinted(now, vec![hint], archive)),
            Arrival::Report(seat, report) => {
                let send = self.send.clone();
                let hints = move || {
                    let send = send.clone();
                    let hints: Box<dyn Fn() -> Box<dyn Fn(WatchHint) + Send> + Send> = Box::new(move || hints_to(&send, seat));
                    hints
                };
                self.with(seat, |served, archive| served.reported(now, *report, archive, &hints));
            }
            Arrival::Removed(project, recorded, reply) => {
                let answer = match recorded {
                    Ok(()) => {
                        (self.say)(&format!("{}: left alone from here on", project.id));
                        self.subscribers.tell(&EventV1::Removed { project: project.id.clone() });
                        Ok(*project)
                    }
                    Err(error) => Err(ErrorV1::new(ErrorKindV1::OwnFault, chain(&error), error.hint().unwrap_or_default())),
                };
                let _gone = reply.send(answer);
            }
        }
    }

    fn called(&mut self, call: Call) {
        if matches!(self.course, Course::Ending(_)) {
            return refuse_all(call, stopping());
        }
        let now = self.now();
        match call {
            Call::Projects(reply) => {
                let _gone = reply.send(self.projects());
            }
            Call::Add { root, asker, reply } => self.add(&root, asker, reply),
            Call::Remove { project, asker, reply } => self.remove(&project, asker, reply),
            Call::Run { project, request, reply } => match self.seat_of(&project) {
                Some(seat) => {
                    let selection = if request.checks.is_empty() { Selection::All } else { Selection::Named(request.checks) };
                    let task = request.task.unwrap_or_else(TaskId::default_task);
                    let call = RunCall { task, selection, reply, tries: 0 };
                    self.with(seat, |served, archive| served.request(now, call, archive));
                }
                None => drop(reply.send(Err(not_served(&project)))),
            },
            Call::Verdict { project, task, question, timeout, reply } => match self.seat_of(&project) {
                Some(seat) => {
                    let deadline = now.plus(timeout);
                    self.with(seat, |served, archive| served.ask(now, (task, question), deadline, reply, archive));
                }
                None => drop(reply.send(Err(not_served(&project)))),
            },
            Call::Errand { project, call } => match self.seat_of(&project) {
                Some(seat) => self.with(seat, |served, archive| served.send_on_errand(now, call, archive)),
                None => drop(call.reply.send(Err(not_served(&project)))),
            },
            Call::Cycle { project, task, reply } => {
                let state = match self.seat_of(&project) {
                    Some(_) => self.archive.cycle(&project, &task).map_err(|error| of_run(&error)),
                    None => Err(not_served(&project)),
                };
                let _gone = reply.send(state.map(|state| CycleV1 { task, state }));
            }
            Call::Heard { project, path, reply } => self.heard(&project, path, reply),
            Call::Subscribe(reply) => {
                let refused = ErrorV1::new(ErrorKindV1::TooMany, "as many read events as may", "close one of them");
                let _gone = reply.send(self.subscribers.add().ok_or(refused));
            }
        }
    }

    fn woken(&mut self) {
        let now = self.now();
        let seats: Vec<Seat> = self.seats.keys().copied().collect();
        for seat in seats {
            self.with(seat, |served, archive| served.woken(now, archive));
            self.try_again(seat, now);
        }
    }

    fn try_again(&mut self, seat: Seat, now: Moment) {
        let Some(served) = self.seats.get(&seat).filter(|served| served.is_to_be_opened(now)) else { return };
        let Some(id) = served.id.clone() else { return };
        // A directory that is not there costs no launcher.
        let begun = if served.root.is_dir() {
            self.begin_opening(seat, served.root.clone(), Purpose::Served(id))
        } else {
            let line = format!("`{}` is not there", served.root.display());
            Err(Closed { reason: ClosedReason::RootMissing, lines: vec![line] })
        };
        let Some(served) = self.seats.get_mut(&seat) else { return };
        match begun {
            Ok(worker) => served.open_again(worker),
            Err(why) => *served = Served::closed(served.id.clone(), served.root.clone(), why, now.plus(TRY_AGAIN)),
        }
    }

    fn each(&mut self, mut act: impl FnMut(&mut Served) -> Vec<Word>) {
        let seats: Vec<Seat> = self.seats.keys().copied().collect();
        seats.into_iter().for_each(|seat| self.with(seat, |served, _| act(served)));
    }

    /// Has a project do something, and passes on what it says.
    fn with(&mut self, seat: Seat, act: impl FnOnce(&mut Served, &mut Archive) -> Vec<Word>) {
        let Some(served) = self.seats.get_mut(&seat) else { return };
        for word in act(served, &mut self.archive) {
            match word {
                Word::Tell(event) => self.subscribers.tell(&event),
                Word::Say(line) => (self.say)(&line),
                Word::Left => {
                    let Some(served) = self.seats.remove(&seat) else { continue };
                    if let Some((asker, reply)) = self.removals.remove(&seat) {
                        self.record_removal(&served, asker, reply);
                    }
                }
            }
        }
    }

    fn seat_of(&self, project: &ProjectId) -> Option<Seat> {
        self.seats.iter().find(|(_, served)| served.id.as_ref() == Some(project)).map(|(seat, _)| *seat)
    }

    fn next_moment(&self) -> Option<Moment> {
        let fed = self.manager.watchdog_interval().map(|interval| self.fed_at.plus(interval));
        self.seats.values().filter_map(Served::next_moment).chain(fed).min()
    }

    fn feed(&mut self) {
        let now = self.now();
        if self.manager.watchdog_interval().is_some_and(|interval| self.fed_at.plus(interval) <= now) {
            self.manager.alive();
            self.fed_at = now;
        }
    }

    fn say_status(&mut self) {
        let running = self.seats.values().filter(|served| served.is_running()).count();
        self.manager.status(format!("{} projects, {running} running", self.seats.len()));
    }

    fn now(&self) -> Moment {
        Moment(u64::try_from(clock::monotonic().since(self.origin).as_millis()).unwrap_or(u64::MAX))
    }
}

fn hints_to(send: &UnboundedSender<Arrival>, seat: Seat) -> Box<dyn Fn(WatchHint) + Send> {
    let send = send.clone();
    Box::new(move |hint| {
        let _gone = send.send(Arrival::Hint(seat, hint));
    })
}

fn refuse_all(call: Call, why: ErrorV1) {
    match call {
        Call::Projects(reply) => drop(reply.send(Err(why))),
        Call::Add { reply, .. } => drop(reply.send(Err(why))),
        Call::Remove { reply, .. } => drop(reply.send(Err(why))),
        Call::Run { reply, .. } => drop(reply.send(Err(why))),
        Call::Verdict { reply, .. } => drop(reply.send(Err(why))),
        Call::Errand { call, .. } => drop(call.reply.send(Err(why))),
        Call::Cycle { reply, .. } => drop(reply.send(Err(why))),
        Call::Heard { reply, .. } => drop(reply.send(Err(why))),
        Call::Subscribe(reply) => drop(reply.send(Err(why))),
    }
}

fn stopping() -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::Stopping, "the service is stopping", "ask again when it is up, or run the checks without it")
}

fn not_served(project: &ProjectId) -> ErrorV1 {
    let hint = "`proctor list` shows the projects with their ids, `proctor add` adds one";
    ErrorV1::new(ErrorKindV1::NotFound, format!("the service does not watch a project `{project}`"), hint)
}
