//! Lint rules for `executionEngine`: the available types of actions and the settings for each type.

use serde_json::Value;

use crate::spec::specification::lint::subject::{Subject, Task};
use crate::spec::specification::raw::RawParameters;
use proctor_model::Problem;

const SETTINGS: &str = "/executionEngine/executorConfigurations";

/// Misspelt keys under `executorConfigurations` that generated files have, each with the right key.
const MISPLACED: &[(&str, &str)] =
    &[("terminalCommand", "TERMINAL_COMMAND"), ("httpRequest", "HTTP_REQUEST"), ("fileValidation", "FILE_VALIDATION")];

/// Reports actions whose type is not in `availableActionTypes`.
pub(super) fn unavailable_types(subject: &Subject<'_>) -> Vec<Problem> {
    let available = &subject.raw.execution_engine.available_action_types;
    let unavailable = subject.actions().filter(|action| !available.contains(&action.raw.parameters.action_type()));
    let findings = unavailable.map(|action| {
        let word = action.raw.parameters.action_type();
        let message = format!("`{word}` is not among `executionEngine.availableActionTypes`");
        action.finding("/type", message).hint(format!("add `{word}` there if such actions are meant to run"))
    });
    findings.collect()
}

/// Reports an enabled `mcpValidation`: actions of a browser are steps like all others.
pub(super) fn browser_validation(subject: &Subject<'_>) -> Vec<Problem> {
    let enabled = subject
        .tasks()
        .filter(|task| task.raw.mcp_validation.as_ref().is_some_and(|validation| validation.enabled == Some(true)));
    let findings = enabled.map(|task| {
        Problem::new(task.pointer("/mcpValidation/enabled"), "`mcpValidation` is not carried out")
            .hint("its steps are actions like all others: move them to the steps of `testExecution`")
    });
    findings.collect()
}

/// Reports settings of an executor under a misspelt key.
pub(super) fn misplaced_settings(subject: &Subject<'_>) -> Vec<Problem> {
    let settings = subject.document.pointer(SETTINGS).and_then(Value::as_object);
    let found = MISPLACED.iter().filter(|(wrong, _)| settings.is_some_and(|settings| settings.contains_key(*wrong)));
    let finding = |(wrong, right): &(&str, &str)| {
        Problem::new(format!("{SETTINGS}/{wrong}"), format!("settings under `{wrong}` are nobody's, and none of them is applied"))
            .nearest(Some(right))
            .hint("`shell` is `defaultShell` there, and `timeout` is `defaultTimeout`")
    };
    found.map(finding).collect()
}

/// Settings of clients that change nothing, each with the reason and what to do.
const IDLE: &[(&str, &str, &str, &str)] = &[
    ("MCP_BROWSER_COMMAND", "mcpServerCommand", "the browser is opened by `playwright`, without an MCP server", "leave it out"),
    ("MCP_BROWSER_COMMAND", "browserType", "Chromium is opened, whatever the type is", "leave it out, or say `chromium`"),
    ("MCP_BROWSER_COMMAND", "headless", "the browser has no window, whatever this says", "leave it out, or say `true`"),
    (
        "DOCKER_COMMAND",
        "dockerHost",
        "the engine is the one whose socket the user's own configuration names",
        "set `engine_socket` in ~/.config/proctor/config.toml",
    ),
    ("DOCKER_COMMAND", "registryAuth", "credentials are not read from a specification", "log in by `docker login`"),
];

/// Reports settings of clients that have no effect.
pub(super) fn idle_settings(subject: &Subject<'_>) -> Vec<Problem> {
    let settings = subject.document.pointer(SETTINGS).and_then(Value::as_object);
    let findings = IDLE.iter().filter_map(|(kind, field, why, hint)| {
        let value = settings?.get(*kind)?.get(*field)?;
        let is_usual = *value == Value::Bool(true) || value.as_str() == Some("chromium");
        (!is_usual).then(|| Problem::new(format!("{SETTINGS}/{kind}/{field}"), *why).hint(*hint))
    });
    findings.collect()
}

/// Notes steps of `mcpValidation` that never run, because `mcpValidation` is not enabled.
pub(super) fn idle_browser_steps(subject: &Subject<'_>) -> Vec<Problem> {
    let idle = subject.tasks().filter(|task| {
        let validation = task.raw.mcp_validation.as_ref();
        validation.is_some_and(|validation| validation.enabled != Some(true) && !validation.steps.is_empty())
    });
    let finding = |task: Task<'_>| {
        let message = "`mcpValidation` is not enabled, so that none of its steps is carried out";
        Problem::new(task.pointer("/mcpValidation/steps"), message)
            .hint("move them to the steps of `testExecution`, or remove it")
    };
    idle.map(finding).collect()
}

/// Reports a `defaultShell`, which has no effect: a command runs in a shell only if it names one.
pub(super) fn default_shell(subject: &Subject<'_>) -> Vec<Problem> {
    let commands = subject.raw.execution_engine.executor_configurations.terminal_command.as_ref();
    let is_set = commands.is_some_and(|commands| commands.default_shell.is_some());
    let finding = || {
        Problem::new(format!("{SETTINGS}/TERMINAL_COMMAND/defaultShell"), "commands run without a shell, whatever the default is")
            .hint("an action that needs one says so itself: `\"shell\": \"bash\"`")
    };
    is_set.then(finding).into_iter().collect()
}

/// Reports scripts whose interpreter is not in `allowedInterpreters`.
pub(super) fn interpreters(subject: &Subject<'_>) -> Vec<Problem> {
    let settings = subject.raw.execution_engine.executor_configurations.custom_script.as_ref();
    let Some(allowed) = settings.and_then(|settings| settings.allowed_interpreters.as_ref()) else { return Vec::new() };
    let forbidden = subject.actions().filter(
        |action| matches!(&action.raw.parameters, RawParameters::CustomScript(script) if !allowed.contains(&script.interpreter)),
    );
    let findings = forbidden.map(|action| {
        action
            .finding("/parameters/interpreter", "the interpreter is not among `CUSTOM_SCRIPT.allowedInterpreters`")
            .hint("add it there if it is meant to be used")
    });
    findings.collect()
}
