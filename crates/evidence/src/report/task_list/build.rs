//! Builds the lines of proctor's blocks: one entry for each task with a verdict, and one for each of its debt items.

use crate::report::task_list::document::Block;
use crate::report::task_list::forms::{
    ACCEPTANCE, DEBT_SOURCE, EVIDENCE, HEADINGS, NO_DEBT, NO_TASK, STATUS, TECHNICAL_DEBT, TESTS, WRITTEN_BY,
};
use crate::report::{DebtItemV1, EXECUTION_REPORT_FILE, ExecutionReportV2, TechnicalDebtV1};
use proctor_model::{CompletionStatus, Severity, TaskId, shown_line};

/// A task and its last sealed verdict.
#[derive(Debug, Clone)]
pub struct TaskState {
    pub task: TaskId,
    pub verdict: TaskVerdict,
}

/// The content of a task's last sealed verdict.
#[derive(Debug, Clone)]
pub enum TaskVerdict {
    /// The evidence is intact: the report, and the debt file if the run has one.
    Sealed {
        report: Box<ExecutionReportV2>,
        /// The run's debt file; `None` if the run has no debt file.
        debt: Option<Box<TechnicalDebtV1>>,
    },
    /// The run's evidence does not match the ledger, so proctor states no verdict for the task.
    NotIntact,
}

/// The lines of both blocks that proctor writes into the task list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLists {
    pub tasks: Vec<String>,
    pub debt: Vec<String>,
}

impl TaskLists {
    pub(super) fn of(&self, block: Block) -> &[String] {
        match block {
            Block::Tasks => &self.tasks,
            Block::Debt => &self.debt,
        }
    }
}

/// Returns the lines of both blocks. `link` is the name of the link in the project that leads to the evidence.
pub fn build_task_lists(states: &[TaskState], link: Option<&str>) -> TaskLists {
    let tasks = states.iter().flat_map(|state| task_lines(state, link)).collect();
    let items: Vec<(&TaskId, &DebtItemV1)> = states.iter().flat_map(debt_of).collect();
    let of_severity = |(severity, heading): &(Severity, &str)| {
        let mut lines: Vec<String> = Vec::new();
        for (task, item) in items.iter().filter(|(_, item)| item.classification.severity == *severity) {
            lines.extend(debt_lines(task, item, link));
        }
        if !lines.is_empty() {
            lines.insert(0, (*heading).to_owned());
        }
        lines
    };
    TaskLists { tasks: block_lines(tasks, NO_TASK), debt: block_lines(HEADINGS.iter().flat_map(of_severity).collect(), NO_DEBT) }
}

fn block_lines(lines: Vec<String>, nothing: &str) -> Vec<String> {
    let lines = if lines.is_empty() { vec![nothing.to_owned()] } else { lines };
    std::iter::once(WRITTEN_BY.to_owned()).chain(lines).collect()
}

fn debt_of(state: &TaskState) -> impl Iterator<Item = (&TaskId, &DebtItemV1)> {
    let debt = match &state.verdict {
        TaskVerdict::Sealed { debt: Some(debt), .. } => debt.debt_items.as_slice(),
        TaskVerdict::Sealed { debt: None, .. } | TaskVerdict::NotIntact => &[],
    };
    debt.iter().map(|item| (&state.task, item))
}

fn task_lines(TaskState { task, verdict }: &TaskState, link: Option<&str>) -> Vec<String> {
    let TaskVerdict::Sealed { report, debt } = verdict else {
        return vec![
            format!("- [ ] **{task}**"),
            format!("{STATUS}INCOMPLETE: its evidence is not what the ledger knows; a retest settles it"),
        ];
    };
    let completion = &report.completion_criteria_evaluation;
    let (tick, status) = match completion.completion_status {
        CompletionStatus::Complete => ("x", "COMPLETE".to_owned()),
        CompletionStatus::Incomplete if completion.reason.is_empty() => (" ", "INCOMPLETE".to_owned()),
        CompletionStatus::Incomplete => (" ", format!("INCOMPLETE: {}", completion.reason)),
    };
    let title = report.test_specification.task_title.as_deref().unwrap_or("the project's own checks");
    let mut lines = vec![format!("- [{tick}] **{task}**: {}", escape_line(title)), format!("{STATUS}{}", escape_line(&status))];
    if let Some(tests) = &report.execution_summary.test_results {
        lines.push(format!("{TESTS}{}/{} passed", tests.passed, tests.total));
    }
    let ids: Vec<&str> = debt.iter().flat_map(|debt| &debt.debt_items).map(|item| item.debt_id.as_str()).collect();
    if !ids.is_empty() {
        lines.push(format!("{TECHNICAL_DEBT}{}", ids.join(", ")));
    }
    lines.extend(link.map(|link| format!("{EVIDENCE}{link}/{task}/{EXECUTION_REPORT_FILE}")));
    lines
}

fn debt_lines(task: &TaskId, item: &DebtItemV1, link: Option<&str>) -> Vec<String> {
    let mut lines = vec![escape_line(&item.agent_instructions.markdown_format)];
    lines.push(format!("{DEBT_SOURCE}{task}, {}", item.action_id));
    let files = item.evidence.files.iter().filter(|_| item.evidence.earlier_run.is_none());
    lines.extend(link.iter().flat_map(|link| files.clone().map(move |file| format!("{EVIDENCE}{link}/{task}/latest/{file}"))));
    let criteria = &item.implementation_guidance.acceptance_criteria;
    lines.extend(criteria.iter().map(|criterion| format!("{ACCEPTANCE}{}", escape_line(criterion))));
    lines
}

/// Returns a text as one line of Markdown that cannot begin or end a comment, with its invisible characters escaped.
/// Titles come from the specification, and items from the output of tools: they may contain anything.
fn escape_line(text: &str) -> String {
    let one_line = text.split(|it: char| it.is_whitespace() || it.is_control()).filter(|word| !word.is_empty());
    shown_line(&one_line.collect::<Vec<_>>().join(" ")).replace("<!--", "<! --").replace("-->", "-- >")
}
