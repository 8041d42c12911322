//! Lint rules for completion criteria: a task must be able to meet them, and every criterion that tolerates failing
//! steps is reported.

use crate::spec::specification::lint::subject::{Subject, Task};
use crate::spec::specification::raw::{RawAction, RawBrowserAction, RawEvidenceKind, RawExpectedOutcome, RawParameters};
use proctor_model::{ActionType, Problem};

/// The only pass rate, in per cent, that tolerates no failing step.
const WHOLE: f64 = 100.0;

/// The default time limit of a whole run, in milliseconds.
pub(in crate::spec) const SUITE_TIMEOUT: u64 = 300_000;

/// Reports `allStepsMustPass: false` with a `minimumPassRate` below 100 or with none.
pub(super) fn pass_rate(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let criteria = &task.raw.completion_criteria;
        let place = task.pointer("/completionCriteria/allStepsMustPass");
        match criteria.minimum_pass_rate {
            _ if criteria.all_steps_must_pass => None,
            None => Some(
                Problem::new(place, "not every step must pass, and nothing says how many must: every one is taken")
                    .hint("say `minimumPassRate`, or `\"allStepsMustPass\": true`"),
            ),
            Some(rate) if rate < WHOLE => Some(
                Problem::new(task.pointer("/completionCriteria/minimumPassRate"), format!("{rate} % of the steps are enough"))
                    .hint("a result that blocks still keeps the task from being complete"),
            ),
            Some(_) => None,
        }
    };
    subject.tasks().filter_map(of_task).collect()
}

/// Reports required evidence that no action of the task produces.
pub(super) fn evidence_that_never_is(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let has = |action_type: ActionType| task.actions().any(|action| action.raw.parameters.action_type() == action_type);
        let is_given = |kind: &RawEvidenceKind| match kind {
            RawEvidenceKind::Screenshots => task.actions().any(|action| leaves_screenshot(action.raw)),
            RawEvidenceKind::ApiResponses => has(ActionType::HttpRequest),
            RawEvidenceKind::TerminalOutput => ActionType::WITH_OUTPUT.iter().any(|action_type| has(*action_type)),
            RawEvidenceKind::TestExecutionLog | RawEvidenceKind::ErrorLogs | RawEvidenceKind::PerformanceMetrics => true,
        };
        let required = task.raw.completion_criteria.required_evidence.iter().enumerate();
        let finding = |(index, _): (usize, &RawEvidenceKind)| {
            let place = task.pointer(&format!("/completionCriteria/requiredEvidence/{index}"));
            Problem::new(place, "no action of the task gives this evidence, so that it can never be complete")
                .hint("leave it out, or add an action that gives it")
        };
        required.filter(|(_, kind)| !is_given(kind)).map(finding).collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Returns whether an action leaves a picture of a page.
fn leaves_screenshot(action: &RawAction) -> bool {
    let RawParameters::McpBrowserCommand(browser) = &action.parameters else { return false };
    let is_wanted = action.evidence_capture.as_ref().and_then(|capture| capture.screenshots) == Some(true);
    is_wanted || browser.action == RawBrowserAction::BrowserScreenshot
}

/// Reports requests for screenshots of an action without a browser, and for DOM snapshots, which are never made.
pub(super) fn captures_that_never_are(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = subject.actions().flat_map(|action| {
        let capture = action.raw.evidence_capture.as_ref();
        let pictures = [
            ("screenshots", capture.and_then(|capture| capture.screenshots).filter(|_| !leaves_screenshot(action.raw))),
            ("domSnapshot", capture.and_then(|capture| capture.dom_snapshot)),
        ];
        let wanted = pictures.into_iter().filter(|(_, wanted)| *wanted == Some(true));
        let finding = |(key, _): (&str, Option<bool>)| {
            action.finding(&format!("/evidenceCapture/{key}"), "there is no browser here of which it could be captured")
        };
        wanted.map(finding).collect::<Vec<_>>()
    });
    findings.collect()
}

/// Reports `evidenceCapture` settings that switch off evidence on which the verdict is based.
pub(super) fn captures_that_always_are(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = subject.actions().flat_map(|action| {
        let capture = action.raw.evidence_capture.as_ref();
        let grounds = [
            ("exitCode", capture.and_then(|capture| capture.exit_code)),
            ("duration", capture.and_then(|capture| capture.duration)),
        ];
        let unwanted = grounds.into_iter().filter(|(_, wanted)| *wanted == Some(false));
        let finding = |(key, _): (&str, Option<bool>)| {
            action
                .finding(&format!("/evidenceCapture/{key}"), "the verdict rests on it, so that it is in the report all the same")
        };
        unwanted.map(finding).collect::<Vec<_>>()
    });
    findings.collect()
}

/// Reports `expectedFailingTests` if the expected outcome is PASS.
pub(super) fn failing_of_pass(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let added = task.raw.proctor.as_ref()?;
        let is_red = added.expected_outcome == Some(RawExpectedOutcome::Fail);
        (!added.expected_failing_tests.is_empty() && !is_red).then(|| {
            Problem::new(task.pointer("/proctor/expectedFailingTests"), "tests are expected to fail where the outcome is PASS")
                .hint("add `\"expectedOutcome\": \"FAIL\"`, or remove them")
        })
    };
    subject.tasks().filter_map(of_task).collect()
}

/// Reports an expected outcome FAIL for which `expectedFailingTests` names no test.
pub(super) fn red_without_tests(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let added = task.raw.proctor.as_ref()?;
        let is_red = added.expected_outcome == Some(RawExpectedOutcome::Fail);
        (is_red && added.expected_failing_tests.is_empty()).then(|| {
            Problem::new(
                task.pointer("/proctor/expectedOutcome"),
                "no test is named that is expected to fail: a failure keeps its debt",
            )
            .hint("name the tests in `expectedFailingTests`")
        })
    };
    subject.tasks().filter_map(of_task).collect()
}

/// Reports a time limit of the whole run that is shorter than the time limit of one action.
pub(super) fn suite_timeout(subject: &Subject<'_>) -> Vec<Problem> {
    let whole = subject.raw.global_configuration.timeout.unwrap_or(SUITE_TIMEOUT);
    let longer = subject.actions().filter(|action| action.raw.timeout.is_some_and(|timeout| timeout > whole));
    let findings = longer.map(|action| {
        action
            .finding("/timeout", format!("the action may take longer than the whole, which has {whole} ms"))
            .hint("raise `globalConfiguration.timeout`, or lower this one")
    });
    findings.collect()
}
