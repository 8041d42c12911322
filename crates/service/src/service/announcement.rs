//! The report about a run that has ended: for the client that asked for it, for subscribers, and for the log. Pure.

use std::path::Path;

use crate::worker::{FinishedRun, RunFailure};
use proctor_api::{EventV1, RunAnswerV1, RunOutcomeV1};
use proctor_app::health::chain;
use proctor_evidence::report::{ActionResultV2, ExecutionReportV2, count_checks};
use proctor_model::{CommandExit, HelperDeath, OverallResult, PersonAsked, ProjectId, shown_line};
use proctor_project::{RunOutcome, SealedReport};

/// What the client that asked for a run, the subscribers and the log are told about the end of the run.
#[derive(Debug)]
pub(super) struct RunAnnouncement {
    pub(super) answer: RunAnswerV1,
    /// The verdict, and the first check that made it FAILED with its first failure, in words for the log.
    verdict: String,
    /// What the run asks a person.
    pub(super) asked: Option<PersonAsked>,
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
            let asked = PersonAsked::decision(&over.task, pause);
            (RunOutcomeV1::NeedsHuman, CommandExit::PersonNeeded, None, vec![asked.sentence()])
        }
        Ok(RunOutcome::Waits(unmet)) => {
            let problems = unmet.iter().map(ToString::to_string).collect();
            (RunOutcomeV1::Waits, CommandExit::CodeNeedsWork, None, problems)
        }
        Ok(RunOutcome::NotApproved(unapproved)) => {
            (RunOutcomeV1::NotApproved, CommandExit::PersonNeeded, None, unapproved.texts())
        }
        Err(RunFailure::Configuration(lines)) => {
            (RunOutcomeV1::ConfigurationWrong, CommandExit::SpecificationWrong, None, lines.clone())
        }
        Err(RunFailure::UnknownCheck(unknown)) => (RunOutcomeV1::Failed, CommandExit::Usage, None, vec![unknown.message()]),
        Err(RunFailure::Specification { lines, sealed }) => {
            (RunOutcomeV1::ConfigurationWrong, CommandExit::SpecificationWrong, Some(sealed), lines.clone())
        }
        Err(RunFailure::Run(error)) => (RunOutcomeV1::Failed, error.exit(), None, vec![chain(error)]),
    };
    let run_id = sealed.map(|sealed| sealed.run_id.clone());
    let task = over.task.clone();
    let verdict =
        sealed.filter(|_| outcome == RunOutcomeV1::Judged).map(|sealed| verdict_words(&sealed.report)).unwrap_or_default();
    let asked = asked_by(over);
    RunAnnouncement { answer: RunAnswerV1 { project, task, outcome, run_id, exit_code: exit.code(), problems }, verdict, asked }
}

/// Returns what the end of a run asks a person, if this run is the first to ask it.
fn asked_by(over: &FinishedRun) -> Option<PersonAsked> {
    match &over.carried {
        Ok(RunOutcome::Judged(sealed)) => sealed.person.clone().filter(|asked| asked.run_id.as_ref() == Some(&sealed.run_id)),
        Ok(RunOutcome::NotApproved(unapproved)) => Some(PersonAsked::approval(&over.task, &unapproved.texts())),
        Ok(_) | Err(_) => None,
    }
}

impl RunAnnouncement {
    /// Says that a run failed because the project's directory is not there. That is nobody's fault, and no verdict.
    pub(super) fn with_missing_root(mut self, root: &Path) -> Self {
        self.answer.exit_code = CommandExit::NoFreshVerdict.code();
        self.answer.problems = vec![format!("root missing: `{}` is not there", root.display())];
        self
    }
}

/// Returns the verdict in words. After FAILED, they name the first check that blocks and its first failure. The text of the
/// failure is the project's own, so its hidden characters are shown escaped.
fn verdict_words(report: &ExecutionReportV2) -> String {
    let result = report.validation_criteria_evaluation.overall_result;
    let phases = [&report.prerequisite_execution.results, &report.step_execution.results, &report.cleanup_execution.results];
    let first = phases.into_iter().flatten().find(|action| action.blocking == Some(true));
    let failure = first.map(|action| format!(" · {}: {}", action.name, first_failure_words(action))).unwrap_or_default();
    let word = match result {
        Some(OverallResult::Passed) if count_checks(report).is_nothing_proven() => "passed before, and not run on this tree",
        Some(OverallResult::Passed) => "PASSED",
        Some(OverallResult::Failed) => "FAILED",
        None => "no verdict",
    };
    let whole = shown_line(&format!("{word}{failure}")).into_owned();
    match whole.char_indices().nth(LONGEST_VERDICT) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}

/// The most characters of the log's words about one verdict. A failure's text may be a page long.
const LONGEST_VERDICT: usize = 300;

fn first_failure_words(action: &ActionResultV2) -> String {
    let outcome = action.result.as_ref();
    let failures = outcome.and_then(|outcome| outcome.test_results.as_ref()).map(|tests| tests.failures.as_slice());
    let test = failures
        .and_then(|failures| failures.iter().min_by_key(|failure| (&failure.test_file, failure.line, failure.stable_name())));
    if let Some(test) = test {
        let error = test.error.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return format!("{}: {error}", test.test_name);
    }
    let reason = action.classification.as_ref().map(|classification| classification.reason.clone());
    reason.unwrap_or_default().lines().next().unwrap_or_default().to_owned()
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
        let asked = self.asked.as_ref().map(PersonAsked::sentence);
        let problems = answer.problems.iter().filter(|_| asked.is_none()).chain(&asked);
        let problems: String = problems.map(|problem| format!(" · {problem}")).collect();
        let outcome = if self.verdict.is_empty() { answer.outcome.word() } else { &self.verdict };
        format!("{}: {}: {outcome}{run} · exit code {}{problems}", answer.project, answer.task, answer.exit_code)
    }
}
