//! Lint rules for actions with the command of the specification's own development server. The server goes on until it is stopped,
//! so as an action that must end it could only time out.

use crate::spec::specification::fill::placeholders_in;
use crate::spec::specification::lint::below;
use crate::spec::specification::lint::subject::{Action, Subject};
use crate::spec::specification::raw::{RawAction, RawDevServer, RawGlobalConfiguration, RawTask, RawTerminalCommandParameters};
use proctor_model::{ActionPhase, HealthUrl, Problem, ReadyCheck};

/// The variable by which most servers are told their port.
const PORT: &str = "PORT";

/// Returns the prerequisite that starts the development server: the first one with the server's command and directory. It is the same
/// server, because two of them could not listen at one port.
pub(in crate::spec) fn server_prerequisite<'s>(global: &RawGlobalConfiguration, task: &'s RawTask) -> Option<&'s RawAction> {
    let server = global.dev_server.as_ref()?;
    let place = |written: &str| below(&global.workspace_root, written).map(|parts| parts.join("/"));
    let directory = place(server.working_directory.as_deref().unwrap_or_default())?;
    task.test_execution.prerequisites.iter().find(|action| {
        let is_plain = action.proctor.as_ref().is_none_or(|added| added.service.is_none() && added.argv.is_none());
        action.parameters.command().is_some_and(|command| {
            let is_same = is_plain && command.shell.is_none() && is_its_command(server, command);
            is_same && place(&command.working_directory).as_ref() == Some(&directory)
        })
    })
}

fn is_its_command(server: &RawDevServer, command: &RawTerminalCommandParameters) -> bool {
    server.command.as_deref().is_some_and(|server| server.trim() == command.command.trim())
}

/// Notes the prerequisites that start the development server.
pub(super) fn as_prerequisite(subject: &Subject<'_>) -> Vec<Problem> {
    let finding = |action: Action<'_>| {
        let message = format!(
            "`{}` starts `globalConfiguration.devServer`, which goes on until the steps have ended",
            action.raw.action_id
        );
        action.finding("/parameters/command", message)
    };
    subject.actions().filter(|action| subject.is_dev_server(action)).map(finding).collect()
}

/// Reports variables that have one value for the development server, and another for the prerequisite that starts it. A value that still has
/// a placeholder is passed over: once it is filled, it may be the same.
pub(super) fn conflicts(subject: &Subject<'_>) -> Vec<Problem> {
    let Some(server) = &subject.raw.global_configuration.dev_server else { return Vec::new() };
    let is_filled = |value: &str| placeholders_in(value, false).is_empty();
    let url = server.health_check_url.as_deref().filter(|url| is_filled(url)).and_then(|url| HealthUrl::try_from(url).ok());
    let port = server.port.or_else(|| ReadyCheck::Url(url?).port()).map(|port| port.to_string());
    let of_command = |(action, command): (Action<'_>, &RawTerminalCommandParameters)| {
        let conflicts = command.environment.iter().filter_map(|(name, value)| {
            let (said, place) = match (server.environment.get(name), &port) {
                (Some(said), _) => (said, "`environment`"),
                (None, Some(port)) if name == PORT => (port, "port"),
                (None, _) => return None,
            };
            let message =
                format!("`{name}` is not what the {place} of `globalConfiguration.devServer` says, and both are one server");
            let finding = action.finding("/parameters/environment", message);
            (said != value && is_filled(said) && is_filled(value))
                .then(|| finding.hint("write the same value at both places, or leave it out here"))
        });
        conflicts.collect::<Vec<_>>()
    };
    subject.commands().filter(|(action, _)| subject.is_dev_server(action)).flat_map(of_command).collect()
}

/// Reports actions, which must end by themselves, with the command of `globalConfiguration.devServer`.
pub(super) fn in_foreground(subject: &Subject<'_>) -> Vec<Problem> {
    let Some(server) = &subject.raw.global_configuration.dev_server else { return Vec::new() };
    let plain = subject.commands().filter(|(action, command)| {
        let is_service = action.raw.proctor.as_ref().is_some_and(|added| added.service.is_some());
        is_its_command(server, command) && !is_service && !subject.is_dev_server(action)
    });
    let findings = plain.map(|(action, command)| {
        let message = format!("`{}` goes on until it is stopped: as an action it can only time out", command.command);
        let hint = if action.phase == ActionPhase::Prerequisite {
            "leave the action out, because `globalConfiguration.devServer` starts the server, or add \
             `\"proctor\": {\"version\": \"1.0.0\", \"service\": {\"ready\": {\"port\": 4173}}}`"
        } else {
            "leave the action out: `globalConfiguration.devServer` starts the server"
        };
        action.finding("/parameters/command", message).hint(hint)
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use crate::spec::specification::{SpecificationContext, read_specification};

    /// Returns whether a conflict is reported where the server, at the port 4173, has the variables `server`, and the prerequisite that starts
    /// it has the variables `prerequisite`.
    fn is_conflict(server: Value, prerequisite: Value) -> bool {
        let mut document: Value =
            serde_json::from_str(include_str!("../../../../../../fixtures/specifications/rounding.json")).expect("it is JSON");
        document["globalConfiguration"]["devServer"]["environment"] = server;
        document["tasks"]["T117"]["testExecution"]["prerequisites"][0] = json!({
            "actionId": "PREREQ.1", "type": "TERMINAL_COMMAND", "description": "serves the totals",
            "parameters": { "command": "npm run serve", "workingDirectory": "web", "environment": prerequisite },
        });
        let context = SpecificationContext { project_root: Path::new("/srv/billing-core") };
        let faults = read_specification(&document.to_string(), "a.json", context).faults;
        faults.iter().any(|fault| fault.code() == "DEV_SERVER_CONFLICT")
    }

    #[test]
    fn a_value_with_a_placeholder_that_is_not_filled_is_no_conflict() {
        for (server, prerequisite, expected) in [
            (json!({}), json!({ "PORT": "4174" }), true),
            (json!({}), json!({ "PORT": "{{P}}" }), false),
            (json!({}), json!({ "PORT": "${P}" }), false),
            (json!({ "MODE": "a" }), json!({ "MODE": "b" }), true),
            (json!({ "MODE": "{{M}}" }), json!({ "MODE": "b" }), false),
            (json!({ "MODE": "a" }), json!({ "MODE": "a{{M}}" }), false),
            (json!({ "MODE": "a" }), json!({ "MODE": "b", "PORT": "{{P}}" }), true),
        ] {
            assert_eq!(is_conflict(server.clone(), prerequisite.clone()), expected, "{server} {prerequisite}");
        }
    }
}
