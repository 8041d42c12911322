//! The lines of a command that runs several tasks: a heading for each, and the summary at the end. Pure.

use crate::cli::screen::verdict_word;
use crate::cli::style::{Line, Style, Tone};
use proctor_evidence::report::ExecutionReportV2;
use proctor_model::{CompletionStatus, OverallResult, TaskId};

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
