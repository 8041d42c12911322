//! Lines for people about what failed in the run of a verdict, below the line of its task: the first failure with what the tool
//! printed, and the others with a line each. Pure.

use crate::cli::screen::failures::barred;
use crate::cli::screen::verdict_word;
use crate::cli::style::{Line, Style, Tone};
use proctor_api::{FailureKindV1, FailureV1, FailuresV1, StateV1, TaskStatusV1};
use proctor_evidence::report::ExecutionReportV2;
use proctor_model::{CompletionStatus, OverallResult, TaskId};

/// Returns the lines about what failed; none unless the verdict is for the present tree.
pub(crate) fn task_failures(task: &TaskStatusV1, style: Style) -> Vec<Line> {
    let Some(failures) = task.failures.as_ref().filter(|_| task.state == StateV1::Fresh) else { return Vec::new() };
    let mut lines: Vec<Line> = failures.problem.iter().map(|problem| Line::from(format!("  {problem}"))).collect();
    for (place, failure) in failures.failures.iter().enumerate() {
        lines.push(Line::from("  ").and(style.paint(Tone::Bad, "✗")).and(format!(" {}", head(failure))));
        if place == 0 {
            lines.extend(failure.excerpt.iter().map(|line| Line::from(format!("    {}", barred(line)))));
        }
        lines.extend(past(failure).map(|past| Line::from(format!("    {past}"))));
        if place == 0 {
            lines.extend(failure.rerun.iter().map(|command| Line::from(format!("    run it alone: {command}"))));
        }
    }
    lines.extend(more(failures).map(Line::from));
    lines
}

/// Returns check, place and error in one line. A test's own name often begins with its file, which then is not named twice.
fn head(failure: &FailureV1) -> String {
    let file = failure.file.as_deref().unwrap_or_default();
    let name = failure.test.as_deref().or(failure.rule.as_deref()).unwrap_or_default();
    let place = match failure.line {
        Some(line) if !file.is_empty() && name.starts_with(file) => format!("line {line}"),
        Some(line) if !file.is_empty() => format!("{file}:{line}"),
        Some(_) | None if name.starts_with(file) => String::new(),
        Some(_) | None => file.to_owned(),
    };
    let parts = match failure.kind {
        FailureKindV1::Test => [failure.check.as_str(), name, &place, &failure.message],
        FailureKindV1::Finding | FailureKindV1::Action => [failure.check.as_str(), &place, name, &failure.message],
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

/// Returns since when it fails, and whether it is flaky; `None` if there is nothing to say.
fn past(failure: &FailureV1) -> Option<String> {
    let since = failure.since.as_ref().filter(|since| since.runs > 1).map(|since| {
        let least = if since.at_least { "at least " } else { "" };
        format!("fails since run {} ({least}{} runs)", since.run, since.runs)
    });
    let flaky = failure.flaky.then(|| "flaky: passed and failed on an equal tree".to_owned());
    let parts: Vec<String> = since.into_iter().chain(flaky).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn more(failures: &FailuresV1) -> Option<String> {
    let hidden = failures.total.saturating_sub(failures.failures.len() as u64);
    let run = failures.run_id.number();
    (hidden > 0 && failures.problem.is_none()).then(|| format!("  … and {hidden} more: `proctor show {run}` has all"))
}

// The lines of a command that runs several tasks: a heading for each, and the summary at the end. Pure.

/// How one of several tasks ended.
pub(crate) enum TaskSummary<'r> {
    /// A run was sealed: its report, and the report's path as people see it.
    Sealed(&'r ExecutionReportV2, &'r str),
    /// Nothing was run: the reason.
    NotRun(String),
}

/// Returns the line above what a task's run shows.
pub(crate) fn task_heading(task: &TaskId, style: Style) -> Line {
    style.paint(Tone::Strong, task.as_str())
}

/// Returns what a task came to, in one line without its id.
pub(crate) fn summary_words(summary: &TaskSummary<'_>) -> String {
    let (word, _, rest) = parts(summary);
    format!("{word}{rest}")
}

/// Returns the summary of all tasks: how many came to what, then one line for each task.
pub(crate) fn summary_lines(tasks: &[(&TaskId, TaskSummary<'_>)], style: Style) -> Vec<Line> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for (_, summary) in tasks {
        let (word, ..) = parts(summary);
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let counted = counts.iter().map(|(word, count)| format!("{count} {word}")).collect::<Vec<_>>().join(", ");
    let all = if tasks.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", tasks.len()) };
    let widest = tasks.iter().map(|(task, _)| task.as_str().len()).max().unwrap_or_default();
    let line = |(task, summary): &(&TaskId, TaskSummary<'_>)| {
        let (word, tone, rest) = parts(summary);
        Line::from(format!("  {:widest$}  ", task.as_str())).and(style.paint(tone, word)).and(rest)
    };
    std::iter::once(Line::from(format!("{all}: {counted}"))).chain(tasks.iter().map(line)).collect()
}

/// Returns the word for what a task came to, its tone, and what follows it.
fn parts(summary: &TaskSummary<'_>) -> (&'static str, Tone, String) {
    match summary {
        TaskSummary::Sealed(report, path) => {
            let (word, tone) = verdict_word(report);
            let passed = report.validation_criteria_evaluation.overall_result == Some(OverallResult::Passed);
            let is_open = report.completion_criteria_evaluation.completion_status == CompletionStatus::Incomplete;
            let incomplete = if passed && is_open { " · INCOMPLETE" } else { "" };
            (word, tone, format!("{incomplete} · {path}"))
        }
        TaskSummary::NotRun(why) => ("not run", Tone::Doubtful, format!(" · {}", why.replace('\n', " "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_api::FailingSinceV1;
    use proctor_model::{ActionId, RunId, Timestamp};

    #[test]
    fn the_first_failure_is_shown_with_what_the_tool_printed_and_the_others_with_a_line() {
        let run_id = RunId::new(Timestamp::from_millis(0), 5);
        let test = FailureV1 {
            kind: FailureKindV1::Test,
            check: "tests".to_owned(),
            action_id: ActionId::numbered("STEP", 1),
            command: Some("pytest".to_owned()),
            test: Some("tests/test_a.py::test_b".to_owned()),
            file: Some("tests/test_a.py".to_owned()),
            line: Some(7),
            rule: None,
            message: "assert 1 == 2".to_owned(),
            since: Some(FailingSinceV1 {
                run: 3,
                run_id: run_id.clone(),
                started: Timestamp::from_millis(0),
                runs: 2,
                at_least: false,
            }),
            flaky: true,
            flaky_since: None,
            rerun: Some("pytest tests/test_a.py::test_b".to_owned()),
            excerpt: vec!["E   assert 1 == 2".to_owned()],
        };
        let finding = FailureV1 {
            kind: FailureKindV1::Finding,
            check: "lint".to_owned(),
            test: None,
            file: Some("a.js".to_owned()),
            line: Some(3),
            rule: Some("no-undef".to_owned()),
            message: "'x' is not defined".to_owned(),
            since: None,
            flaky: false,
            flaky_since: None,
            rerun: None,
            ..test.clone()
        };
        let failures = FailuresV1 { run_id, total: 12, failures: vec![test, finding], next: Vec::new(), problem: None };
        let text = serde_json::json!({
            "task": "default", "state": "fresh", "result": "FAILED", "exitCode": 1, "tree": null, "plan": null, "outdated": null,
            "paths": [], "verdict": null, "failures": failures,
        });
        let mut task: TaskStatusV1 = serde_json::from_value(text).unwrap();
        let shown: Vec<String> = task_failures(&task, Style::Plain).iter().map(ToString::to_string).collect();
        let expected = [
            "  ✗ tests  tests/test_a.py::test_b  line 7  assert 1 == 2",
            "    │ E   assert 1 == 2",
            "    fails since run 3 (2 runs) · flaky: passed and failed on an equal tree",
            "    run it alone: pytest tests/test_a.py::test_b",
            "  ✗ lint  a.js:3  no-undef  'x' is not defined",
            "  … and 10 more: `proctor show 5` has all",
        ];
        assert_eq!(shown, expected);
        task.state = StateV1::Stale;
        assert!(task_failures(&task, Style::Plain).is_empty(), "they are another tree's");
    }
}
