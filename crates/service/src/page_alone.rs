//! The page without the service: what the store says about projects and runs, until a signal ends it. Nothing is run.
//!
//! The loop answers the same questions as the service's, as far as the store has the answer. New runs of other processes are noticed by
//! the ledgers, which they are written to.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::arrivals::open_arrivals;
use crate::control::PageOnly;
use crate::engine::Moment;
use crate::event::OsSignal;
use crate::event_loop::{EventHost, EventSources, LoopClock, LoopEvent, new_runtime, run_event_loop};
use crate::os_signals::{HangUp, Signals};
use crate::service::{Call, LedgerNews, Reply, Subscribers, from_run_error, list_by_ledger};
use proctor_api::page::RawOutput;
use proctor_api::{AnswerV1, CycleV1, ErrorKindV1, ErrorV1, InTimeV1, PageTicketV1, ProjectStatusV1, ProjectV1, ProjectsV1};
use proctor_app::project::opening;
use proctor_app::project::setup::page_editor;
use proctor_app::{CommandError, Environment, status};
use proctor_model::{CommandExit, ProjectId, ProjectStatus, TaskId};
use proctor_project::{ProjectError, RegisteredProject, StoreReader};
use proctor_sandbox::process::clock;
use proctor_tree::watch::WatchHub;

/// The most questions that wait for the loop.
const CALLS: usize = 64;
/// How many open files the process may have, at the least: the usual limit.
const OPEN_FILES: u64 = 1024;
/// How long the last answers may take when it ends.
const FAREWELL: Duration = Duration::from_secs(1);

/// What the page needs to be served without the service.
pub struct PageAlone {
    /// The variables and paths of this process.
    pub environment: Environment,
    /// The directory of the files with tickets. Other users must not be able to read it.
    pub directory: PathBuf,
    /// Whether the page shows raw output: only to a person.
    pub raw_output: RawOutput,
}

/// Why the page could not be served.
#[derive(Debug, thiserror::Error)]
pub enum PageAloneError {
    #[error("failed to begin to serve the page")]
    Begin(#[source] io::Error),
    #[error(transparent)]
    Store(ProjectError),
    #[error("{}", .0.message)]
    Open(ErrorV1),
}

/// Serves the page until a signal ends it. `opened` is called for the first place, and for each that `places` brings, with the ticket that
/// opens the page there, or with why a later one cannot be opened. It may wait for a browser, which asks for the page meanwhile.
///
/// # Errors
/// When the page cannot be served, or the store cannot be read.
pub fn serve_page_alone(
    settings: PageAlone,
    first: &str,
    mut places: Receiver<String>,
    opened: impl Fn(Result<PageTicketV1, ErrorV1>) + Send + Sync + 'static,
) -> Result<CommandExit, PageAloneError> {
    let PageAlone { environment, directory, raw_output } = settings;
    let archive = StoreReader::open(environment.state_root(), environment.variables().clone()).map_err(PageAloneError::Store)?;
    new_runtime().map_err(PageAloneError::Begin)?.block_on(async {
        let signals = Signals::take_over(HangUp::Ends).map_err(PageAloneError::Begin)?;
        let (_door, arrivals) = open_arrivals();
        let (send_call, calls) = channel(CALLS);
        let server = Arc::new(PageOnly::new(send_call.clone(), environment.clone(), directory, OPEN_FILES));
        let hub = WatchHub::start().map_err(|error| PageAloneError::Begin(io::Error::other(error)))?;
        let (subscribers, news) = (Subscribers::default(), LedgerNews::default());
        let mut host = StoreHost { archive, environment, subscribers, hub, send_call, news };
        host.look_at_ledgers();
        let ticket = server.open(first, raw_output).await.map_err(PageAloneError::Open)?;
        let (opener, opened) = (Arc::clone(&server), Arc::new(opened));
        let opening = tokio::spawn(async move {
            let mut ticket = Ok(ticket);
            loop {
                let opened = Arc::clone(&opened);
                let _panicked = tokio::task::spawn_blocking(move || opened(ticket)).await;
                let Some(place) = places.recv().await else { return };
                ticket = opener.open(&place, raw_output).await;
            }
        });
        let mut sources = EventSources { signals, arrivals, calls, clock: LoopClock::start() };
        let exit = run_event_loop(&mut host, &mut sources).await;
        opening.abort();
        drop(sources.calls);
        host.subscribers.end();
        server.stop(FAREWELL).await;
        Ok(exit)
    })
}

/// Answers questions by what the store says.
struct StoreHost {
    archive: StoreReader,
    environment: Environment,
    subscribers: Subscribers,
    hub: WatchHub,
    send_call: Sender<Call>,
    news: LedgerNews,
}

impl EventHost for StoreHost {
    type Call = Call;
    type Outcome = CommandExit;

    fn before_wait(&mut self, _now: Moment) -> Option<Moment> {
        None
    }

    fn handle(&mut self, _now: Moment, event: LoopEvent<Call>) -> ControlFlow<CommandExit> {
        match event {
            LoopEvent::Signal(OsSignal::Interrupt | OsSignal::Terminate) => return ControlFlow::Break(CommandExit::Proceed),
            LoopEvent::Call(call) => self.answer(call),
            LoopEvent::Signal(OsSignal::Reload) | LoopEvent::Project(..) | LoopEvent::Woken => {}
        }
        ControlFlow::Continue(())
    }
}

impl StoreHost {
    fn answer(&mut self, call: Call) {
        match call {
            Call::Projects { root, reply } => drop(reply.send(self.projects(root.as_deref()))),
            Call::Watched { root, reply } => {
                let projects = self.registered(root.as_deref());
                drop(reply.send(projects.map(|projects| projects.into_iter().map(|project| project.id).collect())));
            }
            Call::Verdict { project, task, reply, .. } => self.verdict(&project, task, reply),
            Call::Cycle { project, task, reply } => {
                let state = self.archive.cycle(&project, &task).map_err(|error| from_run_error(&error));
                drop(reply.send(state.map(|state| CycleV1 { task, state })));
            }
            Call::Subscribe { after, reply } => {
                let refused = ErrorV1::new(ErrorKindV1::TooMany, "as many read events as may", "close one of them");
                drop(reply.send(self.subscribers.add(after.as_deref()).ok_or(refused)));
            }
            Call::LedgersChanged => self.look_at_ledgers(),
            Call::Heard { reply, .. } => drop(reply.send(Err(needs_service()))),
            Call::Run { reply, .. } => drop(reply.send(Err(needs_service()))),
            Call::Errand { call, .. } => drop(call.reply.send(Err(needs_service()))),
            Call::Add { reply, .. } => drop(reply.send(Err(needs_service()))),
            Call::Remove { reply, .. } | Call::RemovalRecorded { reply, .. } => drop(reply.send(Err(needs_service()))),
            Call::Refused { reply, .. } => drop(reply.send(Ok(()))),
            Call::OwnProgramChanged | Call::ProgramTried(_) => {}
        }
    }

    /// Returns the registered projects, or those at a root.
    fn registered(&mut self, root: Option<&Path>) -> Result<Vec<RegisteredProject>, ErrorV1> {
        let mut registered = self.archive.projects().map_err(|error| from_run_error(&error))?;
        registered.retain(|project| root.is_none_or(|root| Path::new(&project.path) == root));
        Ok(registered)
    }

    fn projects(&mut self, root: Option<&Path>) -> Result<ProjectsV1, ErrorV1> {
        let mut projects = Vec::new();
        for project in self.registered(root)?.into_iter().filter(|project| !project.was_removed_by_git()) {
            // One project that cannot be read must not hide the others.
            let listed = list_by_ledger(&mut self.archive, &project);
            projects.push(listed.unwrap_or_else(|_| ProjectV1::new(project.id, Path::new(&project.path), project.serving)));
        }
        Ok(ProjectsV1 { projects, editor: page_editor(&self.environment) })
    }

    /// Looks at the project's files in a thread of its own. No run is made, so nobody waits for a fresh verdict.
    fn verdict(&mut self, project: &ProjectId, task: TaskId, reply: Reply<AnswerV1>) {
        let known = self.archive.projects().map_err(|error| from_run_error(&error));
        let found = known.map(|projects| projects.into_iter().find(|known| known.id == *project));
        let registered = match found {
            Ok(Some(registered)) => registered,
            Ok(None) => {
                let message = format!("no project `{project}` is registered");
                let error = ErrorV1::new(ErrorKindV1::NotFound, message, "`GET /v1/projects` lists the projects with their ids");
                return drop(reply.send(Err(error)));
            }
            Err(error) => return drop(reply.send(Err(error))),
        };
        let environment = self.environment.clone();
        let answer = move || {
            let looked = look(&environment, Path::new(&registered.path), &task).map(|standing| {
                let standing = standing.with_first(&task);
                let project = ProjectStatusV1::new(&standing, registered.serving, clock::now());
                AnswerV1 { in_time: InTimeV1::Answered, exit_code: project.exit_code_of(&task), project }
            });
            let wrong = |error: CommandError| {
                ErrorV1::new(ErrorKindV1::NotNow, error.lines().join("; "), "`proctor status` says the same")
            };
            drop(reply.send(looked.map_err(wrong)));
        };
        drop(tokio::task::spawn_blocking(answer));
    }

    /// Tells subscribers of the runs that are new in the ledgers.
    fn look_at_ledgers(&mut self) {
        for event in self.news.look(&mut self.archive, (&self.hub, &self.send_call), |_| true) {
            self.subscribers.tell(&event);
        }
    }
}

/// Looks at a project as `proctor status` does.
fn look(environment: &Environment, root: &Path, task: &TaskId) -> Result<ProjectStatus, CommandError> {
    // Whoever names no task asks about `default`, which a project with test specifications alone does not have.
    let wanted = if *task == TaskId::default_task() { &[] } else { std::slice::from_ref(task) };
    status::stand(environment, &mut opening::open_archive(environment)?, root, wanted)
}

fn needs_service() -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::NotNow, "only the service can answer this, and none runs", "`proctor service daemon` starts it")
}
