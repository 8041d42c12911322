//! `proctor watch`: runs the checks after every save and shows the results.

use std::thread;

use tokio::sync::mpsc::channel;

use crate::cli::arguments::WatchOptions;
use crate::cli::check_history::CheckHistory;
use crate::cli::commands::follow_service::follow_service;
use crate::cli::keyboard::Keyboard;
use crate::cli::page_opener::PageOpener;
use crate::cli::watch_screen::{WatchScreen, WatchScreenSettings};
use crate::cli::{environment, render, terminal};
use proctor_app::project::{LoadedProject, RunResources, opening, setup, specification_files};
use proctor_app::{CommandError, Environment};
use proctor_model::{CommandExit, TaskId};
use proctor_sandbox::process::ignores_hang_up;
use proctor_service::{
    EngineSettings, ForegroundBeginning, ForegroundError, HangUp, ProjectSource, Typed, engine_settings, pace,
    watch_in_foreground, watched_tasks,
};
use proctor_tree::TreeHints;
use proctor_tree::watch::WatchError;

/// How many pressed keys may wait until the event loop handles them. If this queue is full, the thread that reads keys
/// waits.
const KEYS: usize = 64;

pub(crate) fn execute(options: &WatchOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let environment = &environment.with_values(&options.values.set);
    let launcher = opening::start_launcher(environment)?;
    let task = options.task.as_deref().map(specification_files::read_task).transpose()?;
    let loaded = load(options, task.as_ref(), environment)?;
    if let Some(exit) = follow_service(options, environment, &loaded)? {
        return Ok(exit);
    }
    let RunResources { mut workspace, scope, settings } =
        opening::open(environment, launcher, &loaded, options.identity.map(Into::into))?;
    // Without it the watch goes on all the same, and the page says that nobody watches.
    let _watching = workspace.store().lock_watch(&scope.project).ok();
    let style = environment::style(environment);
    let watch = &loaded.configuration.watch;
    let (send_typed, typed) = channel(KEYS);
    let send_told = send_typed.clone();
    let tell = move |lines| drop(send_told.blocking_send(Typed::PageOpened(lines)));
    let look = WatchScreenSettings {
        style,
        failures: options.failures,
        is_terminal: terminal::is_output_terminal() && !environment.has_dumb_terminal(),
        clear: watch.clear,
        bell: watch.bell,
        notify: watch.notify,
        link: settings.link.clone(),
        root: loaded.root.clone(),
        history: CheckHistory::new(environment, style),
        page: PageOpener::new(environment, loaded.root.clone(), tell),
        environment: environment.clone(),
    };
    // What an agent types is no person's answer.
    let mut keyboard = if environment::is_person_present(environment) { Keyboard::enter() } else { None };
    if let Some(reader) = keyboard.as_ref().map(Keyboard::reader) {
        let reading = thread::Builder::new().name("keys".to_owned());
        if let Err(error) = reading.spawn(move || reader.read_all(|typed| send_typed.blocking_send(typed).is_ok())) {
            render::note(&format!("note: keys are not read: {error}"));
            keyboard = None;
        }
    }
    let mut screen = WatchScreen::new(look, keyboard);
    let mut files = ProjectSource::new(environment, &loaded.root).only(task, options.command.clone());
    let engine = match files.read() {
        Ok(reloaded) => {
            let tasks = watched_tasks(&mut workspace, &scope, &reloaded, &TreeHints::Everything);
            EngineSettings { tasks: tasks?, ..reloaded.engine }
        }
        // The configuration was read without errors before. It was changed a moment ago, and the first run will report
        // its errors.
        Err(_) => engine_settings(watch),
    };
    let beginning = ForegroundBeginning {
        workspace,
        scope,
        files,
        settings: engine,
        pace: pace(watch),
        matcher: settings.new_watching_matcher()?,
        typed,
        hang_up: hang_up(),
    };
    watch_in_foreground(beginning, &loaded.root, &mut screen).map_err(|error| of_foreground(&error))
}

fn load(options: &WatchOptions, task: Option<&TaskId>, environment: &Environment) -> Result<LoadedProject, CommandError> {
    let root = setup::project_root(environment, options.place.path())?;
    if options.command.is_empty() {
        return match task {
            Some(task) => specification_files::reload(environment, &root, task),
            None => specification_files::load_project(environment, &root),
        };
    }
    setup::load_command(environment, &root, &options.command)
}

/// Returns the reaction to SIGHUP. At a terminal the signal means that the terminal is gone: the watch ends, except
/// under `nohup`, which ignores the signal. Without a terminal the signal asks for a reload.
fn hang_up() -> HangUp {
    match (terminal::is_input_terminal(), ignores_hang_up()) {
        (true, true) => HangUp::Ignored,
        (true, false) => HangUp::Ends,
        (false, _) => HangUp::Reloads,
    }
}

fn of_foreground(error: &ForegroundError) -> CommandError {
    let hint = match error {
        ForegroundError::Watch(error) => watch_hint(error),
        ForegroundError::Signals(_) | ForegroundError::Runtime(_) => {
            "check the limits on open files (`ulimit -n`), then run the command again".to_owned()
        }
    };
    CommandError::of(CommandExit::OwnFault, error).hint(hint)
}

fn watch_hint(error: &WatchError) -> String {
    error.hint().to_owned()
}
