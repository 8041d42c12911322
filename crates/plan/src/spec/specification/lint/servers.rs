//! Lint rules for commands that start servers. A server goes on until it is stopped, so as an action that must end it can only
//! time out.

use crate::spec::specification::lint::subject::{Action, Subject, Task};
use crate::spec::specification::raw::{RawAction, RawTerminalCommandParameters};
use proctor_model::{ActionPhase, Problem};
use proctor_tools::{ServerKind, THIS_MACHINE, asks_a_server, server_kind};

/// Reports commands of servers that are used as ordinary actions, which must end by themselves.
pub(super) fn in_foreground(subject: &Subject<'_>) -> Vec<Problem> {
    let known = subject.raw.global_configuration.dev_server.as_ref().and_then(|server| server.command.as_deref());
    let servers = plain_commands(subject).filter(|(_, command)| {
        Some(command.command.trim()) == known.map(str::trim) || server_kind(&command.command) == Some(ServerKind::Known)
    });
    let findings = servers.map(|(action, command)| {
        let message = format!("`{}` goes on until it is stopped: as an action it can only time out", command.command);
        let hint = if action.phase == ActionPhase::Prerequisite {
            "`proctor check --fix FILE` makes it a service where it is known when the server is ready; by hand: say it in \
             `globalConfiguration.devServer`, or add `\"proctor\": {\"version\": \"1.0.0\", \"service\": {\"ready\": {\"port\": 4173}}}`"
        } else {
            "move it to `prerequisites` and make it a service there, or say it in `globalConfiguration.devServer`"
        };
        action.finding("/parameters/command", message).hint(hint)
    });
    findings.chain(checks_of_workflows(subject)).collect()
}

/// Reports servers that are started to check a prerequisite of the workflow.
fn checks_of_workflows(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let prerequisites = task.raw.execution_workflow.iter().flat_map(|workflow| &workflow.prerequisites).enumerate();
        let findings = prerequisites.filter_map(|(index, prerequisite)| {
            let command = prerequisite.check_command.as_deref()?;
            let pointer = task.pointer(&format!("/executionWorkflow/prerequisites/{index}/checkCommand"));
            let message = format!("`{command}` goes on until it is stopped: as a check it can only time out");
            let hint = "say it in `globalConfiguration.devServer`, and let the check ask whether the server answers";
            (server_kind(command) == Some(ServerKind::Known)).then(|| Problem::new(pointer, message).hint(hint))
        });
        findings.collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Notes prerequisites that start a program of the project and are followed by a question to a server.
pub(super) fn suspected(subject: &Subject<'_>) -> Vec<Problem> {
    let possible = plain_commands(subject).filter(|(action, command)| {
        action.phase == ActionPhase::Prerequisite
            && server_kind(&command.command) == Some(ServerKind::Possible)
            && action.next_of_phase().is_some_and(asks_this_machine)
    });
    let findings = possible.map(|(action, command)| {
        let message =
            format!("`{}` is followed by a question to a server: if it is that server, it does not end", command.command);
        action
            .finding("/parameters/command", message)
            .hint("`proctor check --fix FILE` asks whether it is one, and makes it a service that is stopped after the steps")
    });
    findings.collect()
}

/// Returns the actions with a command that must end by itself.
fn plain_commands<'s>(subject: &Subject<'s>) -> impl Iterator<Item = (Action<'s>, &'s RawTerminalCommandParameters)> {
    subject.commands().filter(|(action, _)| action.raw.proctor.as_ref().is_none_or(|added| added.service.is_none()))
}

/// Returns whether an action asks a server of this machine.
fn asks_this_machine(action: &RawAction) -> bool {
    if let Some(request) = action.parameters.request() {
        return is_of_this_machine(&request.url);
    }
    let command = action.parameters.command().map(|command| command.command.as_str()).unwrap_or_default();
    asks_a_server(command)
}

pub(in crate::spec::specification) fn is_of_this_machine(url: &str) -> bool {
    let host = url.split_once("://").map_or("", |(_, rest)| rest);
    THIS_MACHINE.iter().any(|own| host.starts_with(own))
}
