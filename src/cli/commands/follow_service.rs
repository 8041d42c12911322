//! `proctor watch` beside the service: shows the runs of the service instead of making every run a second time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::cli::arguments::WatchOptions;
use crate::cli::check_history::CheckHistory;
use crate::cli::commands::hand_over;
use crate::cli::commands::run::{RunOutput, RunView};
use crate::cli::environment;
use crate::cli::keyboard::Keyboard;
use crate::cli::page_opener::PageOpener;
use crate::cli::render;
use proctor_api::{EventV1, RunAnswerV1, RunOutcomeV1};
use proctor_app::client::EventsStopper;
use proctor_app::project::{LoadedProject, opening};
use proctor_app::serving;
use proctor_app::{CommandError, Environment};
use proctor_model::{CommandExit, ProjectId, RunId, ServiceTrouble, TaskId};
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
    render::note("the service watches this project, so its runs are shown here; Ctrl-C ends this, `proctor run` runs again");
    let followed = Arc::new(FollowedWatch::default());
    let page = PageOpener::new(environment, loaded.root.clone(), |lines| lines.iter().for_each(render::note));
    let _keyboard = read_keys(&followed, end, page, environment);
    let settings = opening::settings(environment, loaded)?;
    let history = CheckHistory::new(environment, environment::style(environment));
    for event in events {
        match event {
            EventV1::RunFinished { project, task, run_id: Some(run_id), outcome, exit_code } if project == served.project.id => {
                followed.show((project.clone(), run_id.clone()));
                let (run_id, told_task) = (Some(run_id), task.clone());
                let answer = RunAnswerV1 { project, task, outcome, run_id, exit_code, problems: Vec::new() };
                let told = hand_over::show(
                    RunView { output: RunOutput::Screen, failures: options.failures },
                    environment,
                    loaded,
                    &settings,
                    &answer,
                );
                if let Err(error) = told {
                    render::error(&error);
                }
                history.lines(&served.project.id, &told_task).iter().for_each(render::line);
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

/// What the keys of a watch beside the service act on.
#[derive(Default)]
struct FollowedWatch {
    /// The run on the screen.
    shown: Mutex<Option<(ProjectId, RunId)>>,
    has_quit: AtomicBool,
}

impl FollowedWatch {
    fn show(&self, run: (ProjectId, RunId)) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
    }

    fn shown(&self) -> Option<(ProjectId, RunId)> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads keys on a thread of its own, if a person is at the terminal: `o` opens the page, `q` ends the events. Returns the keyboard, which
/// restores the terminal when it is dropped.
fn read_keys(
    followed: &Arc<FollowedWatch>,
    end: EventsStopper,
    mut page: PageOpener,
    environment: &Environment,
) -> Option<Keyboard> {
    // What an agent types is no person's wish.
    let keyboard = if environment::is_person_present(environment) { Keyboard::enter() } else { None }?;
    let (reader, followed, mut end) = (keyboard.reader(), Arc::clone(followed), Some(end));
    let act = move |typed| match typed {
        Typed::Key(Key::OpenPage) => {
            page.open(followed.shown().as_ref().map(|(project, run_id)| (project, run_id))).iter().for_each(render::note);
            true
        }
        Typed::Key(Key::Quit) => {
            followed.has_quit.store(true, Ordering::Relaxed);
            if let Some(end) = end.take() {
                end.end();
            }
            false
        }
        Typed::Key(Key::Again | Key::FailedOnly | Key::All | Key::Difference | Key::Log | Key::Help | Key::Clear)
        | Typed::Answer(..)
        | Typed::PageOpened(_) => true,
    };
    match thread::Builder::new().name("keys".to_owned()).spawn(move || reader.read_all(act)) {
        Ok(_) => {
            render::note("o opens the page in a browser, q quits");
            Some(keyboard)
        }
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
