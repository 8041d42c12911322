//! The lint rule for the command that starts the specification's own development server. It goes on until it is stopped, so as an
//! action that must end it can only time out.

use crate::spec::specification::lint::subject::Subject;
use proctor_model::{ActionPhase, Problem};

/// Reports actions, which must end by themselves, with the command of `globalConfiguration.devServer`.
pub(super) fn in_foreground(subject: &Subject<'_>) -> Vec<Problem> {
    let server = subject.raw.global_configuration.dev_server.as_ref().and_then(|server| server.command.as_deref());
    let Some(server) = server.map(str::trim) else { return Vec::new() };
    let plain = subject.commands().filter(|(action, _)| action.raw.proctor.as_ref().is_none_or(|added| added.service.is_none()));
    let findings = plain.filter(|(_, command)| command.command.trim() == server).map(|(action, command)| {
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
