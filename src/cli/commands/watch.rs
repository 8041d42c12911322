//! `proctor watch`: runs the checks after every save and shows the results.

use std::path::Path;
use std::thread;

use tokio::sync::mpsc::channel;

use crate::cli::arguments::WatchOptions;
use crate::cli::check_history::CheckHistory;
use crate::cli::commands::follow_service::follow_service;
use crate::cli::commands::opening::{self, RunResources};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::keyboard::Keyboard;
use crate::cli::page_opener::PageOpener;
use crate::cli::render;
use crate::cli::setup::{self, LastSettings, LoadedProject, Planless};
use crate::cli::specification_files;
use crate::cli::terminal;
use crate::cli::watch_screen::{WatchScreen, WatchScreenSettings};
use proctor_model::{CommandExit, TaskId};
use proctor_plan::config::{SpecifiedTasks, WatchSettings, WatchedTasks};
use proctor_plan::spec::{self, DiskFiles};
use proctor_sandbox::process::ignores_hang_up;
use proctor_service::{
    EngineSettings, ForegroundBeginning, ForegroundError, HangUp, ProjectDefinition, ReloadProject, Typed, watch_in_foreground,
    watched_tasks,
};
use proctor_tree::TreeHints;
use proctor_tree::watch::{Pace, WatchError};

/// How many pressed keys may wait until the event loop handles them. If this queue is full, the thread that reads keys
/// waits.
const KEYS: usize = 64;

pub(crate) fn execute(options: &WatchOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let launcher = opening::start_launcher(environment)?;
    let task = options.task.as_deref().map(specification_files::read_task).transpose()?;
    let loaded = load(options, task.as_ref(), environment)?;
    if let Some(exit) = follow_service(options, environment, &loaded)? {
        return Ok(exit);
    }
    let RunResources { mut workspace, scope, settings, style } = opening::open(environment, launcher, &loaded, options.identity)?;
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
    };
    // What an agent types is no person's answer.
    let mut keyboard = if environment.is_person_present() { Keyboard::enter() } else { None };
    if let Some(reader) = keyboard.as_ref().map(Keyboard::reader) {
        let reading = thread::Builder::new().name("keys".to_owned());
        if let Err(error) = reading.spawn(move || reader.read_all(|typed| send_typed.blocking_send(typed).is_ok())) {
            render::note(&format!("note: keys are not read: {error}"));
            keyboard = None;
        }
    }
    let mut screen = WatchScreen::new(look, keyboard);
    let mut reload = reload(options, &task, &loaded.root, environment.state_root());
    let engine = match reload() {
        Ok(reloaded) => {
            let tasks = watched_tasks(&mut workspace, &scope, &reloaded, &TreeHints::Everything);
            EngineSettings { tasks: tasks.map_err(|error| super::from_run_error(&error))?, ..reloaded.engine }
        }
        // The configuration was read without errors before. It was changed a moment ago, and the first run will report
        // its errors.
        Err(_) => engine_settings(watch),
    };
    let beginning = ForegroundBeginning {
        workspace,
        scope,
        reload,
        settings: engine,
        pace: pace(watch),
        matcher: settings.new_watching_matcher().map_err(|error| super::from_run_error(&error))?,
        typed,
        hang_up: hang_up(),
    };
    watch_in_foreground(beginning, &loaded.root, &mut screen).map_err(|error| of_foreground(&error))
}

fn load(options: &WatchOptions, task: Option<&TaskId>, environment: &Environment) -> Result<LoadedProject, CommandError> {
    let root = setup::project_root(environment, options.place.path())?;
    if options.command.is_empty() {
        return match task {
            Some(task) => specification_files::reload(&root, task, &options.values.set),
            None => specification_files::load_project(&root, &options.values.set),
        };
    }
    command_line(&root, &options.command)
}

/// Makes the plan for a command that is given on the command line instead of the project's checks. All other settings
/// are the project's own.
fn command_line(root: &Path, command: &[String]) -> Result<LoadedProject, CommandError> {
    let (configuration, _) = setup::configuration(root)?;
    let files = DiskFiles::new(root);
    let plan = spec::plan_command(command, &configuration, &files, &setup::directory_name(root))
        .map_err(|problems| setup::from_problems(&problems))?;
    Ok(LoadedProject { root: root.to_owned(), configuration, plan })
}

/// Returns the tasks that run after a save: the task that the command line names, or else `configured`. A command on
/// the command line runs as the task `default`.
fn watched(task: &Option<TaskId>, command: &[String], configured: WatchedTasks) -> WatchedTasks {
    match task {
        Some(task) => WatchedTasks { named: vec![task.clone()], specified: SpecifiedTasks::NotRun },
        None if command.is_empty() => configured,
        None => WatchedTasks { named: vec![TaskId::default_task()], specified: SpecifiedTasks::NotRun },
    }
}

/// Returns a function that reads the configuration again. It is called before every run, so that changes of `proctor.toml` take
/// effect at once.
fn reload(options: &WatchOptions, task: &Option<TaskId>, root: &Path, state_root: &Path) -> ReloadProject {
    let (task, command, values) = (task.clone(), options.command.clone(), options.values.set.clone());
    let (root, state_root) = (root.to_owned(), state_root.to_owned());
    let mut last = LastSettings::default();
    Box::new(move || {
        let described = if command.is_empty() {
            setup::describe_again(&root, &mut last)
        } else {
            command_line(&root, &command).map(|loaded| (loaded.configuration, Ok(loaded.plan)))
        };
        let (mut configuration, plan) = described.map_err(|error| error.lines())?;
        configuration.specification.set(&values);
        configuration.watch.tasks = watched(&task, &command, configuration.watch.tasks);
        let settings = opening::settings_of(&state_root, &root, &configuration).map_err(|error| error.lines())?;
        let (engine, pace) = (engine_settings(&configuration.watch), pace(&configuration.watch));
        Ok(ProjectDefinition { default_plan: plan.map_err(Planless::into_missing_plan), settings, configuration, engine, pace })
    })
}

pub(super) fn engine_settings(watch: &WatchSettings) -> EngineSettings {
    EngineSettings {
        quiet: watch.quiet,
        longest_burst: watch.longest_burst,
        on_change: watch.on_change,
        max_restarts: watch.max_restarts,
        git_wait: watch.git_wait,
        tasks: watch.tasks.among(&[]),
    }
}

pub(super) fn pace(watch: &WatchSettings) -> Pace {
    Pace { poll: watch.poll, sweep: watch.sweep }
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
