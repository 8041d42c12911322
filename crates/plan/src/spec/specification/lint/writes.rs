//! Lint rules for `writes`: which files of a step's snapshot are copied to the project.

use crate::config::read_writes_pattern;
use crate::spec::specification::lint::subject::{Action, Subject};
use proctor_model::{ActionPhase, ActionType, Problem};

/// Reports `writes` of actions that have no snapshot of their own or write nothing there.
pub(super) fn misplaced(subject: &Subject<'_>) -> Vec<Problem> {
    let writes = |action: &Action<'_>| {
        let runs_a_program = match action.raw.parameters.action_type() {
            ActionType::TerminalCommand | ActionType::CustomScript => true,
            ActionType::FileValidation
            | ActionType::HttpRequest
            | ActionType::DockerCommand
            | ActionType::DatabaseQuery
            | ActionType::McpBrowserCommand
            | ActionType::Review => false,
        };
        action.phase == ActionPhase::Step && runs_a_program
    };
    let wrong = subject.actions().filter(|action| !patterns_of(action).is_empty() && !writes(action));
    let findings = wrong.map(|action| {
        action
            .finding("/proctor/writes", "only what a step's command writes can be copied to the project")
            .hint("move it to the step that writes these files")
    });
    findings.collect()
}

/// Reports patterns of `writes` that are no globs or lead out of the project.
pub(super) fn patterns(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = subject.actions().flat_map(|action| {
        let wrong = patterns_of(&action).iter().enumerate().filter_map(|(index, pattern)| {
            let problem = read_writes_pattern(pattern).err()?;
            let pointer = format!("{}/proctor/writes/{index}", action.pointer());
            Some(Problem { pointer, ..*problem })
        });
        wrong.collect::<Vec<_>>()
    });
    findings.collect()
}

fn patterns_of<'s>(action: &Action<'s>) -> &'s [String] {
    action.raw.proctor.as_ref().map(|added| added.writes.as_slice()).unwrap_or_default()
}
