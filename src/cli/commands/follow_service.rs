//! `proctor watch` beside the service: shows the runs of the service instead of making every run a second time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::cli::arguments::WatchOptions;
use crate::cli::check_history::CheckHistory;
use crate::cli::commands::run::{RunEnd, RunOutput, RunView};
use crate::cli::commands::{hand_over, history, show};
use crate::cli::environment;
use crate::cli::keyboard::Keyboard;
use crate::cli::page_opener::PageOpener;
use crate::cli::render;
use crate::cli::watch_screen::{KEYS, KEYS_IN_SHORT};
use proctor_api::{EventV1, MethodV1, RunAnswerV1, RunOutcomeV1, RunRequestV1};
use proctor_app::client::EventsStopper;
use proctor_app::history::ComparedRuns;
use proctor_app::project::{LoadedProject, opening};
use proctor_app::run::LONGEST_RUN;
use proctor_app::serving::{self, ServedProject};
use proctor_app::{CommandError, Environment};
use proctor_model::{CommandExit, RunId, ServiceTrouble, TaskId};
use proctor_service::{Key, Typed};

/// Shows the runs that the service makes of the project, until the service stops or this process is interrupted. Returns
/// `None` if this process must watch by itself: the service does not watch the project, or the command line asks for
/// another task or command than the service runs.
pub(super) fn follow_service(
    options: &WatchOptions,
    environment: &Environment,
    loaded: &LoadedProject,
) -> Result<Option<CommandExit>, CommandError> {
    // The service knows no values of this command line.
    let has_own_values = !options.values.set.is_empty();
    let has_own_options = options.task.is_some() || !options.command.is_empty() || options.identity.is_some() || has_own_values;
    if has_own_options || environment.has("PROCTOR_OUT") {
        return Ok(None);
    }
    let Some(served) = serving::serving(environment, &loaded.root) else { return Ok(None) };
    let (events, end) = match served.client.events() {
        Ok(events) => events,
        Err(error) => {
            serving::say_unusable(environment, &error);
            return Ok(None);
        }
    };
    render::note("the service watches this project, so its runs are shown here; Ctrl-C ends this");
    let followed = Arc::new(FollowedWatch::default());
    let page = PageOpener::new(environment, loaded.root.clone(), |lines| lines.iter().for_each(render::note));
    let keys = KeysBesideService {
        followed: Arc::clone(&followed),
        end: Some(end),
        page,
        served: served.clone(),
        root: loaded.root.clone(),
        environment: environment.clone(),
    };
    let keyboard = read_keys(keys);
    let say_keys = || keyboard.iter().for_each(|_| render::note(&format!("watching ({KEYS_IN_SHORT})")));
    say_keys();
    let settings = opening::settings(environment, loaded)?;
    let history = CheckHistory::new(environment, environment::style(environment));
    for event in events {
        match event {
            EventV1::RunFinished { project, task, run_id: Some(run_id), outcome, exit_code } if project == served.project.id => {
                let (told_run, told_task) = (Some(run_id.clone()), task.clone());
                let answer = RunAnswerV1 { project, task, outcome, run_id: told_run, exit_code, problems: Vec::new() };
                let told = hand_over::show(
                    RunView { output: RunOutput::Screen, failures: options.failures },
                    environment,
                    loaded,
                    &settings,
                    &answer,
                );
                match told {
                    Ok(end) => followed.show(ShownRun::of(run_id, told_task.clone(), &end)),
                    Err(error) => render::error(&error),
                }
                history.lines(&served.project.id, &told_task).iter().for_each(render::line);
                say_keys();
            }
            EventV1::RunFinished { project, task, outcome, .. } if project == served.project.id => {
                say_without_report(&task, outcome);
            }
            EventV1::Health { project, health } if project == served.project.id => say_health(health.as_ref()),
            EventV1::Removed { project } if project == served.project.id => {
                render::note("the service no longer watches this project");
                return Ok(Some(CommandExit::Proceed));
            }
            EventV1::RunStarted { .. }
            | EventV1::RunFinished { .. }
            | EventV1::ActionStarted { .. }
            | EventV1::ActionProgress { .. }
            | EventV1::ActionEnded { .. }
            | EventV1::Changed { .. }
            | EventV1::Health { .. }
            | EventV1::Added { .. }
            | EventV1::Removed { .. }
            | EventV1::Missed
            | EventV1::End { .. } => {}
        }
    }
    if followed.has_quit.load(Ordering::Relaxed) {
        return Ok(Some(CommandExit::Proceed));
    }
    render::note("the service has stopped; `proctor watch` watches without it");
    Ok(Some(CommandExit::NoFreshVerdict))
}

/// The run on the screen.
#[derive(Clone)]
struct ShownRun {
    run_id: RunId,
    task: TaskId,
    /// The names of the checks that failed.
    failed: Vec<String>,
    /// The check whose log a person wants to see first: one that failed, if there is one; `None` if no check ran.
    check: Option<String>,
}

impl ShownRun {
    fn of(run_id: RunId, task: TaskId, end: &RunEnd) -> Self {
        let results = end.report.as_ref().map(|(report, _)| report.step_execution.results.as_slice()).unwrap_or_default();
        let failed: Vec<String> =
            results.iter().filter(|check| check.blocking == Some(true)).map(|check| check.name.clone()).collect();
        let last = results.iter().rfind(|check| check.skip_reason.is_none()).map(|check| check.name.clone());
        Self { run_id, task, check: failed.first().cloned().or(last), failed }
    }
}

/// What the keys of a watch beside the service change and look at.
#[derive(Default)]
struct FollowedWatch {
    /// `None` before the first run.
    shown: Mutex<Option<ShownRun>>,
    has_quit: AtomicBool,
}

impl FollowedWatch {
    fn show(&self, run: ShownRun) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
    }

    fn shown(&self) -> Option<ShownRun> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Does what the keys of a watch beside the service ask for. The service makes the runs.
struct KeysBesideService {
    followed: Arc<FollowedWatch>,
    /// Ends the events; `None` once `q` was pressed.
    end: Option<EventsStopper>,
    page: PageOpener,
    served: ServedProject,
    root: PathBuf,
    environment: Environment,
}

impl KeysBesideService {
    /// Returns whether further keys are read.
    fn act(&mut self, typed: &Typed) -> bool {
        let Typed::Key(key) = typed else { return true };
        let shown = self.followed.shown();
        match key {
            Key::Again => self.ask_for_run(shown, Vec::new()),
            Key::FailedOnly => match shown.as_ref().map(|run| run.failed.clone()).filter(|failed| !failed.is_empty()) {
                Some(failed) => self.ask_for_run(shown, failed),
                None => render::note("nothing failed in a run that was shown here: press r to run everything"),
            },
            Key::OpenPage => {
                let place = shown.as_ref().map(|run| (&self.served.project.id, &run.run_id));
                self.page.open(place).iter().for_each(render::note);
            }
            Key::Difference => say(history::show_difference(&self.environment, &self.root, ComparedRuns::SinceGreen)),
            Key::Log => match shown.and_then(|run| Some((run.run_id, run.check?))) {
                Some((run_id, check)) => say(show::show_log_of(&self.environment, &self.root, &run_id, &check)),
                None => render::note("no run was shown here yet: press r"),
            },
            Key::Help => KEYS.iter().filter(|line| !line.starts_with("  c ")).for_each(|line| render::note(*line)),
            Key::Clear => {}
            Key::Quit => {
                self.followed.has_quit.store(true, Ordering::Relaxed);
                if let Some(end) = self.end.take() {
                    end.end();
                }
                return false;
            }
        }
        true
    }

    /// Asks the service for a run on a thread of its own, because the answer comes when the run is over. Events tell of the run.
    fn ask_for_run(&self, shown: Option<ShownRun>, checks: Vec<String>) {
        let request = RunRequestV1 { task: shown.map(|run| run.task), checks, environment: None };
        let (client, path) = (self.served.client.clone(), format!("/v1/projects/{}/runs", self.served.project.id));
        let ask = move || {
            if let Err(error) = client.send::<RunAnswerV1>(MethodV1::Post, &path, &request, LONGEST_RUN) {
                render::error(&serving::from_client_error(&error));
            }
        };
        if let Err(error) = thread::Builder::new().name("run".to_owned()).spawn(ask) {
            render::note(&format!("the service is not asked for a run: {error}"));
        }
    }
}

fn say(shown: Result<CommandExit, CommandError>) {
    if let Err(error) = shown {
        render::error(&error);
    }
}

/// Reads keys on a thread of its own, if a person is at the terminal. Returns the keyboard, which restores the terminal when it is dropped.
fn read_keys(mut keys: KeysBesideService) -> Option<Keyboard> {
    // What an agent types is no person's wish.
    let keyboard = if environment::is_person_present(&keys.environment) { Keyboard::enter() } else { None }?;
    let reader = keyboard.reader();
    match thread::Builder::new().name("keys".to_owned()).spawn(move || reader.read_all(|typed| keys.act(&typed))) {
        Ok(_) => Some(keyboard),
        Err(error) => {
            render::note(&format!("note: keys are not read: {error}"));
            None
        }
    }
}

fn say_without_report(task: &TaskId, outcome: RunOutcomeV1) {
    match outcome {
        RunOutcomeV1::Superseded | RunOutcomeV1::Unchanged | RunOutcomeV1::Untriggered => {}
        RunOutcomeV1::Judged
        | RunOutcomeV1::Moved
        | RunOutcomeV1::Interrupted
        | RunOutcomeV1::NeedsHuman
        | RunOutcomeV1::Waits
        | RunOutcomeV1::NotApproved
        | RunOutcomeV1::ConfigurationWrong
        | RunOutcomeV1::Failed => {
            render::note(&format!("task `{task}`: {}; `proctor status` says more", outcome.word()));
        }
    }
}

fn say_health(health: Option<&ServiceTrouble>) {
    match health {
        Some(health) => health.lines().iter().for_each(render::note),
        None => render::note("the project is judged again"),
    }
}
