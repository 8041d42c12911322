//! Makes a task's services, and the prerequisites that proctor itself adds to the task: the development server and the
//! checks of `executionWorkflow`.

use std::time::Duration;

use crate::spec::action::plain_action;
use crate::spec::specification::{RawAction, RawDevServer, RawReady, server_prerequisite};
use crate::spec::task::Resolver;
use crate::spec::task::kind::split;
use proctor_model::{Action, ActionId, ActionPhase, CommandLine, HealthUrl, OnSurvivors, ReadyCheck, Service, Tool};
use proctor_tools::{DEV_SERVER_DESCRIPTION, command_text};

/// The default time limit until a server is ready, in milliseconds (schema 2.0.0).
const STARTUP: u64 = 30_000;

/// The default pause between two checks whether a service is ready, in milliseconds.
const INTERVAL: u64 = 100;

/// The default time limit of one check whether a service is ready, in milliseconds.
const ATTEMPT: u64 = 5000;

/// The beginnings of the ids of two kinds of actions that proctor adds: the development server and the workflow's
/// checks.
const SERVER: &str = "SERVER";
const CHECK: &str = "CHECK";

impl Resolver<'_> {
    /// Returns the specification's development server as a service; `None` if the specification has none, or if a prerequisite of
    /// the task starts it.
    pub(super) fn dev_server(&self) -> Option<Action> {
        let server = self.specification.raw.global_configuration.dev_server.as_ref()?;
        if self.server_prerequisite().is_some() {
            return None;
        }
        let command = server.command.as_deref().expect("the lint refuses a server without a command");
        let directory = server.working_directory.as_deref().unwrap_or_default();
        let plain = self.of_the_file(SERVER, 1, "development server", command);
        let description = format!("`{}`", plain.command.display);
        let environment = self.environment(&server.environment);
        let started = Action { directory: self.path(directory).into(), description, environment, ..plain };
        Some(as_dev_server(started, server))
    }

    /// Returns the prerequisite of the task that starts the development server.
    pub(super) fn server_prerequisite(&self) -> Option<&RawAction> {
        server_prerequisite(&self.specification.raw.global_configuration, self.task)
    }

    /// Returns the development server, and its variables, if an action is the prerequisite that starts it.
    pub(super) fn server_of(&self, raw: &RawAction) -> Option<&RawDevServer> {
        let is_it = self.server_prerequisite().is_some_and(|server| std::ptr::eq(server, raw));
        self.specification.raw.global_configuration.dev_server.as_ref().filter(|_| is_it)
    }

    /// Returns the prerequisites of `executionWorkflow` that have a command, as actions. For a prerequisite without a
    /// command, the lint reports that it is not checked.
    pub(super) fn workflow_checks(&self) -> Vec<Action> {
        let prerequisites = self.task.execution_workflow.iter().flat_map(|workflow| &workflow.prerequisites);
        let checks = prerequisites.enumerate().filter_map(|(index, prerequisite)| {
            let command = prerequisite.check_command.as_deref()?;
            let plain = self.of_the_file(CHECK, index + 1, &prerequisite.description, command);
            Some(Action { description: prerequisite.description.clone(), ..plain })
        });
        checks.collect()
    }

    fn of_the_file(&self, prefix: &'static str, number: usize, name: &str, text: &str) -> Action {
        let command = CommandLine { argv: split(text), display: text.trim().to_owned(), shell: false };
        let mut defaults = self.around.configuration.defaults;
        defaults.timeout = self.command_timeout();
        let plain = plain_action(ActionPhase::Prerequisite, number, (name, Tool::default()), command, defaults);
        let environment = self.environment(&std::collections::BTreeMap::new());
        Action { id: self.free_id(prefix, number), name: self.name(name, prefix), environment, ..plain }
    }

    /// Returns an id that no action of the task has, because a specification may use any id.
    fn free_id(&self, prefix: &'static str, number: usize) -> ActionId {
        let execution = &self.task.test_execution;
        let taken = |id: &ActionId| {
            let mut actions = execution.prerequisites.iter().chain(&execution.steps).chain(&execution.cleanup);
            actions.any(|action| action.action_id == id.as_str())
        };
        // A file has fewer actions than there are numbers, so a free id exists.
        let above = [number].into_iter().chain(1_000_000..);
        above.map(|number| ActionId::numbered(prefix, number)).find(|id| !taken(id)).expect("the numbers do not end")
    }
}

/// Turns a prerequisite into the development server.
pub(super) fn as_dev_server(plain: Action, server: &RawDevServer) -> Action {
    let description = format!("{DEV_SERVER_DESCRIPTION}{}", plain.description);
    as_service(Action { description, ..plain }, from_dev_server(server))
}

/// Turns a prerequisite into a service, which runs until the steps have ended.
pub(super) fn as_service(plain: Action, service: Service) -> Action {
    Action { timeout: service.timeout, service: Some(service), idle_timeout: None, on_survivors: OnSurvivors::Report, ..plain }
}

/// Returns the service for an action's `ready`. The time limit `timeout` of the action is used if `ready` has none.
pub(super) fn service(ready: &RawReady, timeout: Option<u64>) -> Service {
    let url = ready.url.as_deref().map(|url| ReadyCheck::Url(health_url(url)));
    let port = ready.port.map(ReadyCheck::Port);
    let command = ready.command.as_ref().map(|argv| {
        let display = command_text(argv);
        ReadyCheck::Command(CommandLine { argv: argv.clone(), display, shell: false })
    });
    Service {
        ready: url.or(port).or(command).expect("the lint refuses a `ready` without a look"),
        timeout: Duration::from_millis(ready.timeout.or(timeout).unwrap_or(STARTUP)),
        interval: Duration::from_millis(ready.interval.unwrap_or(INTERVAL)),
        attempt_timeout: Duration::from_millis(ready.attempt_timeout.unwrap_or(ATTEMPT)),
    }
}

fn from_dev_server(server: &RawDevServer) -> Service {
    let url = server.health_check_url.as_deref().map(|url| ReadyCheck::Url(health_url(url)));
    Service {
        ready: url.or(server.port.map(ReadyCheck::Port)).expect("the lint refuses a server that is never known to be ready"),
        timeout: Duration::from_millis(server.startup_timeout.unwrap_or(STARTUP)),
        interval: Duration::from_millis(INTERVAL),
        attempt_timeout: Duration::from_millis(ATTEMPT),
    }
}

fn health_url(url: &str) -> HealthUrl {
    HealthUrl::try_from(url).expect("the lint refuses other addresses")
}
