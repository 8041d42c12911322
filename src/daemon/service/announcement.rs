//! The report about a run that has ended: for the client that asked for it, for subscribers, and for the log. Pure.

use crate::api::{EventV1, RunAnswerV1, RunOutcomeV1};
use crate::daemon::service::opening::chain;
use crate::daemon::worker::{FinishedRun, RunFailure};
use crate::model::{CommandExit, HelperDeath, ProjectId};
use crate::project::{RunOutcome, SealedReport};

/// What the client that asked for a run, the subscribers and the log are told about the end of the run.
#[derive(Debug)]
pub(super) struct RunAnnouncement {
    pub(super) answer: RunAnswerV1,
}

/// Makes the report from the result of a run.
pub(super) fn announcement(project: ProjectId, over: &FinishedRun) -> RunAnnouncement {
    let (outcome, exit, sealed, problems) = match &over.carried {
        Ok(RunOutcome::Judged(sealed)) => (RunOutcomeV1::Judged, sealed.exit, Some(sealed), Vec::new()),
        Ok(RunOutcome::Moved(sealed)) => (RunOutcomeV1::Moved, sealed.exit, Some(sealed), Vec::new()),
        Ok(RunOutcome::Interrupted(sealed)) => (RunOutcomeV1::Interrupted, sealed.exit, Some(sealed), Vec::new()),
        Ok(RunOutcome::HelperDied(sealed)) => (RunOutcomeV1::Failed, sealed.exit, Some(sealed), own_fault(sealed)),
        Ok(RunOutcome::Superseded | RunOutcome::Withdrawn) => {
            (RunOutcomeV1::Superseded, CommandExit::NoFreshVerdict, None, Vec::new())
        }
        Ok(RunOutcome::Unchanged) => (RunOutcomeV1::Unchanged, CommandExit::NoFreshVerdict, None, Vec::new()),
        Ok(RunOutcome::Untriggered) => (RunOutcomeV1::Untriggered, CommandExit::NoFreshVerdict, None, Vec::new()),
        Ok(RunOutcome::Paused(pause)) => {
            let why = format!("needs a person since {} (run {}): {}", pause.since, pause.run_id, pause.reason);
            (RunOutcomeV1::NeedsHuman, CommandExit::PersonNeeded, None, vec![why])
        }
        Ok(RunOutcome::Waits(unmet)) => {
            let problems = unmet.iter().map(ToString::to_string).collect();
            (RunOutcomeV1::Waits, CommandExit::CodeNeedsWork, None, problems)
        }
        Ok(RunOutcome::NotApproved(unapproved)) => {
            (RunOutcomeV1::NotApproved, CommandExit::PersonNeeded, None, unapproved.weakened.clone())
        }
        Err(RunFailure::Configuration(lines)) => {
            (RunOutcomeV1::ConfigurationWrong, CommandExit::SpecificationWrong, None, lines.clone())
        }
        Err(RunFailure::Specification { lines, sealed }) => {
            (RunOutcomeV1::ConfigurationWrong, CommandExit::SpecificationWrong, Some(sealed), lines.clone())
        }
        Err(RunFailure::Run(error)) => (RunOutcomeV1::Failed, error.exit(), None, vec![chain(error)]),
    };
    let run_id = sealed.map(|sealed| sealed.run_id.clone());
    let task = over.task.clone();
    RunAnnouncement { answer: RunAnswerV1 { project, task, outcome, run_id, exit_code: exit.code(), problems } }
}

/// Returns the lines about a run during which a helper process of proctor died: what died, and what to do.
fn own_fault(sealed: &SealedReport) -> Vec<String> {
    vec![sealed.report.validation_criteria_evaluation.reason.clone(), format!("hint: {}", HelperDeath::HINT)]
}

impl RunAnnouncement {
    /// Returns the event that tells subscribers how the run ended.
    pub(super) fn event(&self) -> EventV1 {
        EventV1::RunFinished {
            project: self.answer.project.clone(),
            task: self.answer.task.clone(),
            run_id: self.answer.run_id.clone(),
            outcome: self.answer.outcome,
            exit_code: self.answer.exit_code,
        }
    }

    /// Returns the line that the service's log gets about the run.
    pub(super) fn line(&self) -> String {
        let answer = &self.answer;
        let run = answer.run_id.as_ref().map(|run| format!(" · run {}", run.number())).unwrap_or_default();
        let problems: String = answer.problems.iter().map(|problem| format!(" · {problem}")).collect();
        format!("{}: {}{run} · exit code {}{problems}", answer.project, answer.outcome.word(), answer.exit_code)
    }
}
