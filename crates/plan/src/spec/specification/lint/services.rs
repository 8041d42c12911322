//! Lint rules for services: each has a start command and exactly one check for being ready, and is a prerequisite.

use crate::spec::specification::lint::subject::{Subject, Task};
use crate::spec::specification::raw::{RawReady, RawWorkflowPrerequisiteType};
use proctor_model::{ActionPhase, ActionType, HealthUrl, Problem, ReadyCheck};

/// Reports a development server without a start command, without a ready check, or with an invalid `healthCheckUrl`.
pub(super) fn incomplete_dev_server(subject: &Subject<'_>) -> Vec<Problem> {
    const SERVER: &str = "/globalConfiguration/devServer";
    let Some(server) = &subject.raw.global_configuration.dev_server else { return Vec::new() };
    let mut findings = Vec::new();
    if server.command.is_none() {
        findings
            .push(Problem::new(SERVER, "nothing says how the server is started").hint("add `command`, or remove `devServer`"));
    }
    match &server.health_check_url {
        None if server.port.is_none() => {
            findings.push(Problem::new(SERVER, "nothing says when the server is ready").hint("add `healthCheckUrl` or `port`"))
        }
        Some(url) => {
            findings.extend(wrong_url(url).map(|finding| Problem { pointer: format!("{SERVER}/healthCheckUrl"), ..finding }))
        }
        None => {}
    }
    findings
}

/// Reports a development server whose port differs from the port in its `healthCheckUrl`. proctor uses only the URL.
pub(super) fn idle_port(subject: &Subject<'_>) -> Vec<Problem> {
    let asked_and_named = || {
        let server = subject.raw.global_configuration.dev_server.as_ref()?;
        let url = HealthUrl::try_from(server.health_check_url.as_deref()?).ok()?;
        let (asked, named) = (ReadyCheck::Url(url).port()?, server.port?);
        (asked != named).then(|| format!("`healthCheckUrl` is what is asked, at port {asked}, and not port {named}"))
    };
    let finding =
        |message| Problem::new("/globalConfiguration/devServer/port", message).hint("name the same port, or leave it out");
    asked_and_named().map(finding).into_iter().collect()
}

/// Notes prerequisites of the workflow without a command that checks them.
pub(super) fn unchecked(subject: &Subject<'_>) -> Vec<Problem> {
    let has_server = subject.raw.global_configuration.dev_server.is_some();
    let of_task = |task: Task<'_>| {
        let prerequisites = task.raw.execution_workflow.iter().flat_map(|workflow| &workflow.prerequisites);
        let unchecked = prerequisites.enumerate().filter(|(_, prerequisite)| {
            let is_the_server = has_server && prerequisite.kind == RawWorkflowPrerequisiteType::DevServerRunning;
            prerequisite.check_command.is_none() && !is_the_server
        });
        let finding = |(index, _)| {
            let place = task.pointer(&format!("/executionWorkflow/prerequisites/{index}"));
            Problem::new(place, "nothing says how it is checked, so that it is not").hint("add a `checkCommand`")
        };
        unchecked.map(finding).collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Reports expected exit codes and retries of a service, which have a meaning only for actions that end by themselves.
pub(super) fn idle_fields(subject: &Subject<'_>) -> Vec<Problem> {
    let services = subject.commands().filter(|(action, _)| subject.is_service(action));
    let findings = services.flat_map(|(action, command)| {
        let fields = [
            ("/parameters/expectedExitCodes", command.expected_exit_codes.is_some()),
            ("/retryAttempts", action.raw.retry_attempts.is_some_and(|times| times > 0)),
        ];
        let said = fields.into_iter().filter(|(_, is_said)| *is_said);
        said.map(|(place, _)| action.finding(place, "it changes nothing of a service, which has failed when it ends by itself"))
            .collect::<Vec<_>>()
    });
    findings.collect()
}

/// Reports services whose `ready` does not have exactly one valid check.
pub(super) fn ready(subject: &Subject<'_>) -> Vec<Problem> {
    let mut findings = Vec::new();
    for action in subject.actions() {
        let Some(service) = action.raw.proctor.as_ref().and_then(|added| added.service.as_ref()) else { continue };
        let place = "/proctor/service/ready";
        if looks(&service.ready) != 1 {
            let finding = action.finding(place, "exactly one of `url`, `port` and `command` says what to look at");
            findings.push(finding.hint("for example `\"ready\": {\"port\": 4173}`"));
        }
        if let Some(finding) = service.ready.url.as_deref().and_then(wrong_url) {
            findings.push(Problem { pointer: format!("{}{place}/url", action.pointer()), ..finding });
        }
        if service.ready.command.as_ref().is_some_and(Vec::is_empty) {
            findings.push(action.finding(&format!("{place}/command"), "the command is empty").hint("say its words"));
        }
    }
    findings
}

/// Reports services that are not prerequisites with a command.
pub(super) fn misplaced(subject: &Subject<'_>) -> Vec<Problem> {
    let services = subject.actions().filter(|action| action.raw.proctor.as_ref().is_some_and(|added| added.service.is_some()));
    let wrong = services.filter(|action| {
        action.phase != ActionPhase::Prerequisite || action.raw.parameters.action_type() != ActionType::TerminalCommand
    });
    let findings = wrong.map(|action| {
        action
            .finding("/proctor/service", "only a prerequisite of type TERMINAL_COMMAND can go on while the steps run")
            .hint("move the action to `prerequisites`")
    });
    findings.collect()
}

fn looks(ready: &RawReady) -> usize {
    [ready.url.is_some(), ready.port.is_some(), ready.command.is_some()].into_iter().filter(|is_said| *is_said).count()
}

fn wrong_url(url: &str) -> Option<Problem> {
    let error = HealthUrl::try_from(url).err()?;
    Some(Problem::new("", format!("not a URL that can be asked: {error}")).hint("for example `http://127.0.0.1:4173/healthz`"))
}
