//! Lint rules for `executionEngine`: the available types of actions and the settings for each type.

use serde_json::Value;

use crate::model::{ActionType, Problem};
use crate::spec::specification::lint::subject::{Subject, Task};
use crate::spec::specification::raw::RawParameters;

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

/// Reports actions of types that proctor does not execute.
pub(super) fn unsupported_types(subject: &Subject<'_>) -> Vec<Problem> {
    let unsupported = subject.actions().filter(|action| !action.raw.parameters.action_type().is_carried_out());
    let findings = unsupported.map(|action| {
        let message = format!("actions of type `{}` are not supported", action.raw.parameters.action_type());
        action.finding("/type", message).hint("say it as a TERMINAL_COMMAND or a CUSTOM_SCRIPT, or take the action out")
    });
    findings.collect()
}

/// Reports an enabled `mcpValidation`, because proctor runs no browser.
pub(super) fn browser_validation(subject: &Subject<'_>) -> Vec<Problem> {
    let enabled = subject
        .tasks()
        .filter(|task| task.raw.mcp_validation.as_ref().is_some_and(|validation| validation.enabled == Some(true)));
    let findings = enabled.map(|task| {
        Problem::new(task.pointer("/mcpValidation/enabled"), "validation in a browser is not supported")
            .hint("set it to false, and say what is to be seen as a step")
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

/// Reports settings for types of actions that proctor does not execute.
pub(super) fn idle_settings(subject: &Subject<'_>) -> Vec<Problem> {
    let settings = subject.document.pointer(SETTINGS).and_then(Value::as_object);
    let findings = ActionType::ALL.into_iter().filter(|kind| !kind.is_carried_out()).flat_map(|kind| {
        let fields = settings.and_then(|settings| settings.get(&kind.to_string())?.as_object());
        let finding = move |field: &String| {
            let message = format!("actions of type `{kind}` are not supported, so that this setting changes nothing");
            Problem::new(format!("{SETTINGS}/{kind}/{field}"), message).hint("leave it out, or keep it for another program")
        };
        fields.into_iter().flat_map(serde_json::Map::keys).map(finding).collect::<Vec<_>>()
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
        Problem::new(task.pointer("/mcpValidation/steps"), message).hint("say what is to be seen as a step of `testExecution`")
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
