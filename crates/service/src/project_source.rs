//! What a project is now: its settings and its plan, read from its files before each run and each look.

use std::path::{Path, PathBuf};

use crate::engine::EngineSettings;
use proctor_app::project::{LastSettings, Planless, opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_model::{Plan, TaskId};
use proctor_plan::config::{Configuration, SpecifiedTasks, WatchSettings, WatchedTasks};
use proctor_project::{MissingOwnPlan, ProjectSettings};
use proctor_tree::ignore::MatcherSettings;
use proctor_tree::watch::Pace;

/// The plan and the settings of a project, read from its files before a run.
#[derive(Debug)]
pub struct ProjectDefinition {
    /// The plan of the task `default`, or why it has none.
    pub default_plan: Result<Plan, MissingOwnPlan>,
    /// The settings by which plans are carried out.
    pub settings: ProjectSettings,
    /// The configuration, from which the plans of other tasks are made.
    pub configuration: Configuration,
    /// The settings of `[watch]`, which decide when runs begin.
    pub engine: EngineSettings,
    /// How often the watcher polls files for which it gets no events.
    pub pace: Pace,
}

/// The files of a project that is watched, and what a command line says in place of them.
#[derive(Debug)]
pub struct ProjectSource {
    environment: Environment,
    root: PathBuf,
    /// The only task that runs on a save; `None` if the settings say which do.
    task: Option<TaskId>,
    /// A command that runs in place of the project's checks; empty if its checks run.
    command: Vec<String>,
    last: LastSettings,
}

impl ProjectSource {
    pub fn new(environment: &Environment, root: &Path) -> Self {
        let (environment, root) = (environment.clone(), root.to_owned());
        Self { environment, root, task: None, command: Vec::new(), last: LastSettings::default() }
    }

    /// Returns the files of which one task alone, or a command in place of the checks, runs on a save.
    #[must_use]
    pub fn only(self, task: Option<TaskId>, command: Vec<String>) -> Self {
        Self { task, command, ..self }
    }

    /// Reads the project's plan and settings. If the plan or the settings are wrong, returns lines for people.
    ///
    /// # Errors
    /// When the plan or the settings are wrong, or a file cannot be read.
    pub fn read(&mut self) -> Result<ProjectDefinition, Vec<String>> {
        self.read_now().map_err(|error| error.lines())
    }

    fn read_now(&mut self) -> Result<ProjectDefinition, CommandError> {
        let (mut configuration, plan) = if self.command.is_empty() {
            setup::describe_again(&self.environment, &self.root, &mut self.last)?
        } else {
            let loaded = setup::load_command(&self.environment, &self.root, &self.command)?;
            (loaded.configuration, Ok(loaded.plan))
        };
        configuration.specification.set(self.environment.values());
        configuration.watch.tasks = self.watched(configuration.watch.tasks);
        let settings = opening::settings_of(&self.environment, &self.root, &configuration)?;
        let (engine, pace) = (engine_settings(&configuration.watch), pace(&configuration.watch));
        Ok(ProjectDefinition { default_plan: plan.map_err(Planless::into_missing_plan), settings, configuration, engine, pace })
    }

    /// Returns the tasks that run after a save: the task that the command line names, or else `configured`. A command on
    /// the command line runs as the task `default`.
    fn watched(&self, configured: WatchedTasks) -> WatchedTasks {
        match &self.task {
            Some(task) => WatchedTasks { named: vec![task.clone()], specified: SpecifiedTasks::NotRun },
            None if self.command.is_empty() => configured,
            None => WatchedTasks { named: vec![TaskId::default_task()], specified: SpecifiedTasks::NotRun },
        }
    }
}

/// What applies to a project while its configuration is wrong: which files belong to the tree, when runs begin, and how often the tree is
/// polled.
pub(crate) fn defaults(environment: &Environment) -> (MatcherSettings, EngineSettings, Pace) {
    let defaults = Configuration::default();
    // The project is not known yet. Its own settings know the link and the store.
    let rules = opening::matcher_settings(Some(environment.state_root()), None, &defaults);
    (rules, engine_settings(&defaults.watch), pace(&defaults.watch))
}

/// Returns when runs begin, by the settings of `[watch]`.
pub fn engine_settings(watch: &WatchSettings) -> EngineSettings {
    EngineSettings {
        quiet: watch.quiet,
        longest_burst: watch.longest_burst,
        on_change: watch.on_change,
        max_restarts: watch.max_restarts,
        git_wait: watch.git_wait,
        tasks: watch.tasks.among(&[]),
    }
}

/// Returns how often the watcher polls, by the settings of `[watch]`.
pub fn pace(watch: &WatchSettings) -> Pace {
    Pace { poll: watch.poll, sweep: watch.sweep }
}
