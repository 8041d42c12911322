//! Approves the rules of a project or a task as they are now, and lists what waits for that (S7). Nothing is run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::opening::{self, RunResources};
use crate::project::{setup, specification_files};
use crate::refusals::approve_hint;
use proctor_evidence::read_regular_text;
use proctor_model::{
    ApprovalWay, CommandExit, Plan, ProjectId, RuleChange, RuleDifference, TaskId, UnapprovedPlan, approve_command, plan_subject,
    quote_word,
};
use proctor_project::{ApprovalQuestion, ApprovedBy, RegisteredProject, StoreReader, WaitingApprovals};

/// The size in bytes above which a signature file is refused. Signatures are far shorter.
const SIGNATURE_CAP: u64 = 64 * 1024;

/// A plan beside what was approved.
pub struct ComparedPlan {
    pub opened: RunResources,
    pub plan: Plan,
    /// What a person has to approve; `None` if the plan has the rules that were approved.
    pub question: Option<ApprovalQuestion>,
}

/// Compares the plan of a task, or of the project's own checks, with what was approved.
///
/// # Errors
/// When the project cannot be opened, or its plan is wrong.
pub fn compare(environment: &Environment, place: &Path, task: Option<&str>) -> Result<ComparedPlan, CommandError> {
    let launcher = opening::start_launcher(environment)?;
    let loaded = match task {
        None => specification_files::load_for_approval(environment, place)?,
        Some(_) => specification_files::load(environment, place, task)?,
    };
    let mut opened = opening::open(environment, launcher, &loaded, None)?;
    let question = question_about(&mut opened, &loaded.plan)?;
    Ok(ComparedPlan { opened, plan: loaded.plan, question })
}

/// Returns what a person has to approve of a plan; `None` if it has the rules that were approved.
///
/// # Errors
/// When the tree or the store cannot be read.
pub fn question_about(opened: &mut RunResources, plan: &Plan) -> Result<Option<ApprovalQuestion>, CommandError> {
    Ok(opened.workspace.approval_question(&opened.scope, &opened.settings, plan)?)
}

/// Approves a plan on behalf of the person who saw `question` or signed it.
///
/// # Errors
/// When the plan is not that of the question any more, the signature is wrong, or the ledger cannot be written.
pub fn approve(opened: &mut RunResources, plan: &Plan, question: &ApprovalQuestion, by: ApprovedBy) -> Result<(), CommandError> {
    Ok(opened.workspace.approve(&opened.scope, &opened.settings, plan, question, by)?)
}

/// Reads a file that `ssh-keygen -Y sign` wrote.
///
/// # Errors
/// When there is no such file, or it is no signature.
pub fn read_signature(path: &Path) -> Result<ApprovedBy, CommandError> {
    let text = read_regular_text(path, SIGNATURE_CAP).map_err(|error| {
        let what = format!("`{}` cannot be read", path.display());
        CommandError::caused(CommandExit::Usage, what, &error)
            .hint("name the file that `ssh-keygen -Y sign` wrote: it ends in `.sig`")
    })?;
    Ok(ApprovedBy::Signature(text))
}

/// Returns the error that a question has to be answered at a terminal, or by a signature where only that counts.
pub fn not_answered(environment: &Environment, question: &ApprovalQuestion) -> CommandError {
    let mut lines = difference(&question.unapproved).into_iter();
    let error = CommandError::new(CommandExit::PersonNeeded, lines.next().unwrap_or_default());
    let error = error.with_details(lines.map(|line| line.trim_start().to_owned()));
    if !question.require_signature {
        return error.hint(approve_hint(environment, &question.unapproved));
    }
    let command = approve_command(&question.unapproved.task);
    let names: Vec<&str> = question.signers.iter().map(|signer| signer.principals.as_str()).collect();
    error.hint(format!("take it back, or have it signed by one of: {}", names.join(", "))).hint(format!(
        "`{command} --print > approval.json`, `ssh-keygen -Y sign -n proctor-approval -f KEY approval.json`, then \
             `{command} --signature approval.json.sig`"
    ))
}

/// Returns the lines for the person who approves a plan: where its rules and the protected files are not what was approved. What opens
/// more of the machine stands last, beside the question, so that nothing pushes it off the screen.
pub fn difference(unapproved: &UnapprovedPlan) -> Vec<String> {
    let subject = plan_subject(&unapproved.task, &unapproved.file);
    let RuleDifference { opens, changed } = &unapproved.difference;
    let first = if unapproved.difference.is_empty() {
        format!("protected files of {subject} are not what was approved")
    } else {
        format!("{subject} {}", unapproved.asks_for.words())
    };
    let protected = unapproved.protected.iter().map(|text| format!("  protected: {text}"));
    let changed = changed.iter().map(|change| format!("  changed: {change}"));
    let opens = opens.iter().map(|change| format!("  opens: {change}"));
    std::iter::once(first).chain(protected).chain(changed).chain(opens).collect()
}

/// What waits for a person's approval in all registered projects: `proctor approve --list --json`.
#[derive(Debug, Serialize)]
pub struct WaitingDocument {
    /// The projects in which something waits, or which could not be looked at, sorted by their ids.
    pub projects: Vec<WaitingProject>,
}

/// What waits in one project.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingProject {
    pub project: ProjectId,
    /// The absolute path of the project's root.
    pub root: String,
    pub waiting: Vec<WaitingPlan>,
    /// Why something could not be compared with what was approved, one line for each problem.
    pub not_compared: Vec<String>,
}

/// A plan that waits.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingPlan {
    task: TaskId,
    file: String,
    /// What differs from what was approved, one sentence each: what `opens` more of the machine, the other rules that are `changed`,
    /// and `protected` files.
    differences: BTreeMap<&'static str, Vec<String>>,
    /// Whether only a signature approves it.
    pub needs_signature: bool,
    /// The command with which a person approves it, whatever the current directory is.
    pub command: String,
    /// The lines of [`difference`].
    #[serde(skip)]
    pub lines: Vec<String>,
}

/// Lists what waits for approval in all registered projects.
///
/// # Errors
/// When the store cannot be read. A project that cannot be read is in the list.
pub fn waiting(environment: &Environment) -> Result<WaitingDocument, CommandError> {
    let mut archive = opening::open_archive(environment)?;
    let mut projects = Vec::new();
    for project in archive.projects()? {
        let root = PathBuf::from(&project.path);
        // Nothing can be run in a directory that is gone, so nothing waits there.
        if !root.is_dir() {
            continue;
        }
        // One project that cannot be read must not hide what waits in the others.
        let waiting = waiting_in(environment, &mut archive, &project, &root)
            .unwrap_or_else(|error| WaitingApprovals { problems: error.lines(), ..WaitingApprovals::default() });
        if waiting != WaitingApprovals::default() {
            let plans = waiting.unapproved.into_iter().map(|unapproved| WaitingPlan::of(&root, unapproved)).collect();
            let RegisteredProject { id, path, .. } = project;
            projects.push(WaitingProject { project: id, root: path, waiting: plans, not_compared: waiting.problems });
        }
    }
    Ok(WaitingDocument { projects })
}

fn waiting_in(
    environment: &Environment,
    archive: &mut StoreReader,
    project: &RegisteredProject,
    root: &Path,
) -> Result<WaitingApprovals, CommandError> {
    let (configuration, plan) = setup::describe(environment, root)?;
    let settings = opening::settings_of(environment, root, &configuration)?;
    let plan = plan.map_err(|planless| planless.error.lines());
    Ok(archive.waiting_approvals(&project.id, root, (&settings, &configuration), plan)?)
}

impl WaitingPlan {
    fn of(root: &Path, unapproved: UnapprovedPlan) -> Self {
        let texts = |changes: &[RuleChange]| changes.iter().map(ToString::to_string).collect();
        let directory = quote_word(&root.to_string_lossy());
        let task = &unapproved.task;
        let task = if *task == TaskId::default_task() { String::new() } else { format!(" --task {task}") };
        Self {
            command: format!("proctor approve {directory}{task}"),
            needs_signature: unapproved.way == ApprovalWay::Signature,
            lines: difference(&unapproved),
            task: unapproved.task,
            file: unapproved.file,
            differences: BTreeMap::from([
                ("opens", texts(&unapproved.difference.opens)),
                ("changed", texts(&unapproved.difference.changed)),
                ("protected", unapproved.protected),
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::AsksFor;

    #[test]
    fn what_opens_the_machine_stands_last() {
        let change = |name: &str| RuleChange { name: name.to_owned(), field: "command".to_owned(), difference: "x".to_owned() };
        let unapproved = UnapprovedPlan {
            task: TaskId::default_task(),
            file: "proctor.toml".to_owned(),
            asks_for: AsksFor::More,
            difference: RuleDifference { opens: vec![change("install")], changed: vec![change("tests"), change("lint")] },
            protected: vec!["a.py was removed".to_owned()],
            way: ApprovalWay::Answer,
        };
        let lines = difference(&unapproved);
        assert_eq!(
            lines[1..],
            [
                "  protected: a.py was removed",
                "  changed: tests: command: x",
                "  changed: lint: command: x",
                "  opens: install: command: x",
            ]
        );
        assert_eq!(unapproved.name_to_type(), "install");
        assert_eq!(RuleChange::in_short(&[change("a"), change("b"), change("a")]), ["a: command", "b: command"]);
    }
}
