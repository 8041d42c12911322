//! Lines for people about one action: its result, and its findings below.

use crate::cli::screen::SHOWN_FINDINGS;
use crate::cli::screen::failures::{FailuresShown, failures, has_failures};
use crate::cli::screen::history::with_run_numbers;
use crate::cli::style::{Line, Style, Tone};
use proctor_evidence::report::{ActionResultV2, DispositionV2, SkipReason, output_ends};
use proctor_model::{
    Action, ActionId, CategoryCode, Classification, DurationMs, LimitKind, ResultType, TaskId, TestResults, TreeDigest,
    shown_line,
};
use proctor_plan::verdict::{READY, SummaryWords, is_explained_by_output, summary_words};

/// How the lines about actions look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActionLook {
    pub(crate) failures: FailuresShown,
    pub(crate) style: Style,
    /// Whether each action has its id, such as `STEP.1`, in front of its name, and a blocking one its severity. A specification speaks of
    /// both; the project's own checks have names.
    pub(crate) is_specified: bool,
    /// The number of the run that a command for its log has to name; `None` where that run is the newest.
    pub(crate) run: Option<u64>,
}

impl ActionLook {
    /// Returns how the actions of a task look.
    pub(crate) fn of(task: &TaskId, failures: FailuresShown, style: Style) -> Self {
        Self { failures, style, is_specified: *task != TaskId::default_task(), run: None }
    }
}

/// The minimum widths of the columns for name and summary.
const NAME_WIDTH: usize = 20;
const SUMMARY_WIDTH: usize = 30;

/// Returns the lines of an action that has ended: the result first, then the findings.
pub(crate) fn action(result: &ActionResultV2, look: ActionLook) -> Vec<Line> {
    if matches!(result.skip_reason, Some(SkipReason::Stopped | SkipReason::NotSelected)) {
        // The run was stopped before it reached this action, or never was to run it. The last line of the run says so.
        return Vec::new();
    }
    let (mark, tone) = mark(result);
    // For a service, show the time until it was ready. Its whole duration says nothing, because it runs until the checks are
    // over.
    let ready_after = result.result.as_ref().and_then(|outcome| outcome.ready_after);
    let time = if was_served(result) { ready_after.or(result.duration) } else { result.duration };
    // A reused result was produced by an earlier run, so this run has no duration to show.
    let time = time.filter(|_| result.reused.is_none());
    let reused = result.reused.as_ref().map(|reused| match &reused.other_tree {
        Some(TreeDigest(tree)) => format!("reused from run {}, on tree {}…", reused.run_id.number(), tree.short()),
        None => format!("reused from run {}", reused.run_id.number()),
    });
    let attempts = result.attempts.map(|attempts| match result.flaky {
        Some(true) => format!("flaky: succeeded at attempt {attempts}"),
        Some(false) | None => format!("{attempts} attempts"),
    });
    let remarks = [Some(remark(result, look)).filter(|remark| !remark.is_empty()), attempts, reused];
    let remarks = remarks.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let head = heading(&result.action_id, &result.name, look);
    let mut lines = vec![line(look.style.paint(tone, mark), &head, &summary(result), time, &remarks)];
    lines.extend(findings(result, look).into_iter().map(|finding| Line::from(format!("       {finding}"))));
    lines
}

/// Returns the line of a service that has become ready.
pub(crate) fn service_ready(action: &Action, after: DurationMs, look: ActionLook) -> Line {
    line(look.style.paint(Tone::Good, "✓"), &heading(&action.id, &action.name, look), READY, Some(after), "")
}

/// Returns the columns of an action's id and name. Escapes make a name longer, so the columns are made of the escaped text.
fn heading(id: &ActionId, name: &str, look: ActionLook) -> String {
    let name = shown_line(name);
    if look.is_specified { format!("{:<9} {name:<NAME_WIDTH$}", id.as_str()) } else { format!("{name:<NAME_WIDTH$}") }
}

fn line(mark: Line, heading: &str, summary: &str, time: Option<DurationMs>, remark: &str) -> Line {
    let time = time.map(seconds).unwrap_or_default();
    let summary = shown_line(summary);
    let line = format!(" {heading} {summary:<SUMMARY_WIDTH$} {time:>9}   {remark}");
    Line::from("  ").and(mark).and(line).trim_end()
}

/// Returns the line of a check with where its result comes from.
pub(crate) fn with_source(line: Line, source: &str) -> Line {
    line.and(format!(" · {source}"))
}

/// Returns the line of a check that passed in a run of another store.
pub(crate) fn attested_check(name: &str, source: &str, style: Style) -> Line {
    with_source(Line::from("  ").and(style.paint(Tone::Good, "✓")).and(format!(" {name}")), source)
}

/// Returns the last line for a run of another store that passed.
pub(crate) fn attested_verdict(source: &str, style: Style) -> Line {
    with_source(style.paint(Tone::Good, "PASSED"), source)
}

fn was_served(result: &ActionResultV2) -> bool {
    result.classification.as_ref().is_some_and(|classification| classification.code == CategoryCode::Served)
}

/// Returns a duration for people: `1.31 s`, `2 m 05 s`.
fn seconds(duration: DurationMs) -> String {
    let millis = duration.0;
    if millis < 120_000 {
        return format!("{}.{:02} s", millis / 1000, millis % 1000 / 10);
    }
    format!("{} m {:02} s", millis / 60_000, millis % 60_000 / 1000)
}

fn mark(result: &ActionResultV2) -> (&'static str, Tone) {
    match (result.status, result.blocking) {
        (None, _) => ("-", Tone::Quiet),
        (Some(ResultType::Success), _) if has_findings(result) => ("!", Tone::Doubtful),
        (Some(ResultType::Success), _) => ("✓", Tone::Good),
        (Some(_), _) if has_no_verdict(result) => ("-", Tone::Quiet),
        (Some(_), Some(false)) => ("!", Tone::Doubtful),
        (Some(_), _) => ("✗", Tone::Bad),
    }
}

/// Returns whether a linter or type checker reported findings, even if the policy ignores them.
fn has_findings(result: &ActionResultV2) -> bool {
    let summary = result.result.as_ref().and_then(|outcome| outcome.summary);
    summary.is_some_and(|summary| summary.errors + summary.warnings > 0)
}

/// Returns whether the action ended because the run was stopped, or because a helper process of proctor died. Such a run has no
/// verdict, so the action blocks nothing.
fn has_no_verdict(result: &ActionResultV2) -> bool {
    let code = result.classification.as_ref().map(|classification| classification.code);
    matches!(code, Some(CategoryCode::Stopped | CategoryCode::StatusLost))
}

fn remark(result: &ActionResultV2, look: ActionLook) -> String {
    let is_fine = result.status.is_none_or(|status| status == ResultType::Success) && !has_findings(result);
    if is_fine || has_no_verdict(result) {
        return String::new();
    }
    if result.blocking == Some(false) {
        let is_so = |flag: fn(&Classification) -> Option<bool>| result.classification.as_ref().and_then(flag) == Some(true);
        return match () {
            () if is_so(|classification| classification.is_tdd_red_phase) => "as RED demands".to_owned(),
            () if is_so(|classification| classification.can_continue) => "may fail".to_owned(),
            () => "allowed by policy".to_owned(),
        };
    }
    // What fails is not allowed to, unless a remark says so.
    if !look.is_specified {
        return String::new();
    }
    let severity = result
        .classification
        .as_ref()
        .and_then(|classification| classification.severity)
        .or_else(|| result.debt_generation.as_ref().and_then(|debt| debt.severity));
    match severity {
        Some(severity) => format!("blocks · {}", severity.word()),
        None => "blocks".to_owned(),
    }
}

/// Returns a few words that say how an action ended.
fn summary(result: &ActionResultV2) -> String {
    if result.disposition == DispositionV2::Invalid {
        return "not run: its specification is wrong".to_owned();
    }
    if result.disposition == DispositionV2::Skipped {
        return match result.skip_reason {
            Some(SkipReason::Unchanged) => "unchanged".to_owned(),
            Some(SkipReason::PrerequisiteFailed) => "skipped: a prerequisite failed".to_owned(),
            Some(SkipReason::Stopped | SkipReason::NotSelected) | None => "skipped".to_owned(),
            Some(SkipReason::WaitsForRequest) => "waits for a commit: `proctor run --all`".to_owned(),
            Some(SkipReason::AfterFailure) => "skipped: a check before it failed".to_owned(),
            Some(SkipReason::DependencyFailed) => "skipped: it comes after one that failed".to_owned(),
            Some(SkipReason::RunTimedOut) => "skipped: the run took too long".to_owned(),
            Some(SkipReason::SpecificationWrong) => "skipped: the specification has errors".to_owned(),
        };
    }
    let outcome = result.result.as_ref();
    if let Some(tests) = outcome.and_then(|outcome| outcome.test_results.as_ref()) {
        let words = test_counts(tests);
        let code = result.classification.as_ref().map(|classification| classification.code);
        let explained = matches!(code, Some(CategoryCode::TestsPassed | CategoryCode::TestsFailed));
        if explained && !words.is_empty() {
            let shards = outcome.and_then(|outcome| outcome.shards).map(|shards| format!(" · {shards} shards"));
            return words.join(", ") + &shards.unwrap_or_default();
        }
    }
    if let Some(summary) = outcome.and_then(|outcome| outcome.summary) {
        if summary.errors + summary.warnings == 0 {
            return "clean".to_owned();
        }
        let errors = counted(summary.errors, "error");
        let warnings = (summary.warnings > 0).then(|| counted(summary.warnings, "warning"));
        return [Some(errors), warnings].into_iter().flatten().collect::<Vec<_>>().join(", ");
    }
    code_words(result)
}

/// Returns the counts of tests as their tools name them. Each test stands in one count only.
fn test_counts(tests: &TestResults) -> Vec<String> {
    let (counts, further) = (tests.counts, tests.further);
    let skipped = counts.skipped.saturating_sub(further.expected_failures + further.todo + further.measured);
    let words = [
        (counts.failed.saturating_sub(further.errors), "failed"),
        (further.errors, if further.errors == 1 { "error" } else { "errors" }),
        (counts.passed.saturating_sub(further.unexpected_passes), "passed"),
        (further.unexpected_passes, "xpassed"),
        (skipped, "skipped"),
        (further.expected_failures, "xfailed"),
        (further.todo, "todo"),
        (further.measured, "measured"),
        (further.deselected, "deselected"),
        (further.reruns, if further.reruns == 1 { "rerun" } else { "reruns" }),
        (further.unhandled_errors, if further.unhandled_errors == 1 { "unhandled error" } else { "unhandled errors" }),
    ];
    words.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect()
}

fn code_words(result: &ActionResultV2) -> String {
    let Some(classification) = &result.classification else { return String::new() };
    let outcome = result.result.as_ref();
    let name = || code_name(classification.code);
    match summary_words(classification.code) {
        SummaryWords::CodeName => name(),
        SummaryWords::Fixed(words) => words.to_owned(),
        SummaryWords::ExitCode { before, without } => {
            let exit = outcome.and_then(|outcome| outcome.exit_code);
            exit.map_or_else(|| without.to_owned(), |code| format!("{before} {code}"))
        }
        SummaryWords::AnswerStatus => {
            let status = outcome.and_then(|outcome| outcome.status_code);
            status.map_or_else(name, |status| format!("status {status}"))
        }
        SummaryWords::ErrorType(words) => {
            let error = classification.error_type.as_deref().map(|error| format!(" ({error})")).unwrap_or_default();
            format!("{words}{error}")
        }
        SummaryWords::SignalName => outcome.and_then(|outcome| outcome.signal.clone()).unwrap_or_else(name),
        SummaryWords::Limit => match (classification.limit, classification.timeout_value, classification.output_limit) {
            (Some(LimitKind::Idle), Some(limit), _) => format!("no output for {}", seconds(limit)),
            (Some(LimitKind::Memory), ..) => "over its memory".to_owned(),
            (Some(LimitKind::Pids), ..) => "over its processes".to_owned(),
            (Some(LimitKind::Written), ..) => "wrote too much".to_owned(),
            (_, Some(limit), _) => format!("timed out after {}", seconds(limit)),
            (_, None, Some(limit)) => format!("printed over {limit}"),
            (_, None, None) => "timed out".to_owned(),
        },
    }
}

/// Returns a category code as words: `NO_TESTS_COLLECTED` becomes "no tests collected".
fn code_name(code: CategoryCode) -> String {
    let name = serde_json::to_value(code).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default();
    name.to_lowercase().replace('_', " ")
}

fn findings(result: &ActionResultV2, look: ActionLook) -> Vec<String> {
    let shown = look.failures;
    if result.status.is_none_or(|status| status == ResultType::Success) || has_no_verdict(result) {
        return warnings(result);
    }
    // Failures that do not block are shown only if the person asks for all failures.
    let is_shown = result.blocking != Some(false) || shown == FailuresShown::All;
    let mut lines = if is_shown { failures(result, shown) } else { Vec::new() };
    if !has_failures(result) {
        lines.extend(reason_lines(result, look));
    } else if let Some(contradiction) = result.classification.as_ref().filter(|found| found.code == CategoryCode::Inconsistent) {
        // The failures say what is wrong. What contradicts them stands in the reason alone.
        lines.insert(0, with_run_numbers(&contradiction.reason));
    }
    lines.extend(warnings(result));
    lines
}

fn reason_lines(result: &ActionResultV2, look: ActionLook) -> Vec<String> {
    let Some(classification) = &result.classification else { return Vec::new() };
    let output = if is_explained_by_output(classification.code) { output_ends(result) } else { Vec::new() };
    let mut lines = Vec::new();
    // The reason of an unexpected exit is only the exit code, which stands in the action's summary line above. If there is
    // output, the reason is left out.
    if classification.code != CategoryCode::UnexpectedExit || output.is_empty() {
        lines.push(with_run_numbers(&classification.reason));
    }
    if !output.is_empty() {
        lines.extend(output.into_iter().map(|line| format!("│ {line}")));
        let kept = if classification.output_limit.is_some() { "its output up to the limit" } else { "all of its output" };
        lines.push(format!("{kept}: `{}`", show_log_command(result, look)));
    }
    lines
}

/// Returns the command that prints an action's log. A name that a shell would take apart, or that could be an option or an id, gives way to
/// the id.
pub(super) fn show_log_command(result: &ActionResultV2, look: ActionLook) -> String {
    let has_plain_letters = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_:/".contains(&byte));
    let is_word = |name: &str| name.starts_with(|first: char| first.is_ascii_alphanumeric()) && has_plain_letters(name);
    let name = Some(result.name.as_str()).filter(|name| !look.is_specified && is_word(name));
    let run = look.run.map(|run| format!("{run} ")).unwrap_or_default();
    format!("proctor show {run}--log {}", name.unwrap_or(result.action_id.as_str()))
}

fn warnings(result: &ActionResultV2) -> Vec<String> {
    let outcome = result.result.as_ref();
    let warnings = outcome.map(|outcome| outcome.warnings.as_slice()).unwrap_or_default();
    let mut lines: Vec<_> = warnings.iter().take(SHOWN_FINDINGS).map(|warning| format!("warning: {warning}")).collect();
    let survivors = outcome.map(|outcome| outcome.survivors.as_slice()).unwrap_or_default();
    lines.extend(
        survivors
            .iter()
            .take(SHOWN_FINDINGS)
            .map(|survivor| format!("left behind and killed: {} (pid {})", survivor.argv.join(" "), survivor.pid)),
    );
    lines
}

pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{FurtherTestCounts, TestCounts};

    #[test]
    fn durations_are_short_and_exact_enough() {
        assert_eq!(seconds(DurationMs(1310)), "1.31 s");
        assert_eq!(seconds(DurationMs(9)), "0.00 s");
        assert_eq!(seconds(DurationMs(125_000)), "2 m 05 s");
    }

    #[test]
    fn each_test_stands_in_one_count_only() {
        let tests = TestResults {
            counts: TestCounts { passed: 5, failed: 3, skipped: 6 },
            further: FurtherTestCounts {
                errors: 1,
                expected_failures: 2,
                unexpected_passes: 1,
                todo: 1,
                measured: 2,
                deselected: 31_000,
                reruns: 1,
                unhandled_errors: 2,
            },
            ..TestResults::default()
        };
        let expected = "2 failed, 1 error, 4 passed, 1 xpassed, 1 skipped, 2 xfailed, 1 todo, 2 measured, 31000 deselected, 1 rerun, 2 unhandled errors";
        assert_eq!(test_counts(&tests).join(", "), expected);
    }

    #[test]
    fn every_code_has_words() {
        assert_eq!(code_name(CategoryCode::NoTestsCollected), "no tests collected");
    }
}
