//! `proctor approve --list`: shows what waits for a person's approval in all registered projects. Nothing is approved or run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::render;
use crate::cli::screen;
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment, indented};
use proctor_model::{ApprovalWay, CommandExit, ProjectId, RuleChange, TaskId, UnapprovedPlan, quote_word};
use proctor_project::{RegisteredProject, StoreReader, WaitingApprovals};

/// The document of `proctor approve --list --json`.
#[derive(Debug, Serialize)]
struct WaitingDocument {
    /// The projects in which something waits, or which could not be looked at, sorted by their ids.
    projects: Vec<WaitingProject>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WaitingProject {
    project: ProjectId,
    /// The absolute path of the project's root.
    root: String,
    waiting: Vec<WaitingPlan>,
    /// Why something could not be compared with what was approved, one line for each problem.
    not_compared: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WaitingPlan {
    task: TaskId,
    file: String,
    /// What differs from what was approved, one sentence each: what `opens` more of the machine, the other rules that are `changed`,
    /// and `protected` files.
    differences: BTreeMap<&'static str, Vec<String>>,
    /// Whether only a signature approves it.
    needs_signature: bool,
    /// The command with which a person approves it, whatever the current directory is.
    command: String,
}

pub(super) fn execute(json: bool, environment: &Environment) -> Result<CommandExit, CommandError> {
    let mut archive = opening::open_archive(environment)?;
    let registered = archive.projects().map_err(|error| super::from_run_error(&error))?;
    let mut projects = Vec::new();
    for project in registered {
        let root = PathBuf::from(&project.path);
        // Nothing can be run in a directory that is gone, so nothing waits there.
        if !root.is_dir() {
            continue;
        }
        // One project that cannot be read must not hide what waits in the others.
        let waiting = look(environment, &mut archive, &project, &root)
            .unwrap_or_else(|error| WaitingApprovals { problems: error.lines(), ..WaitingApprovals::default() });
        if waiting != WaitingApprovals::default() {
            projects.push((project, root, waiting));
        }
    }
    if json {
        let projects = projects.into_iter().map(|(project, root, waiting)| to_document(project, &root, waiting)).collect();
        render::document(&WaitingDocument { projects });
        return Ok(CommandExit::Proceed);
    }
    if projects.iter().all(|(_, _, waiting)| waiting.unapproved.is_empty()) {
        render::line("nothing waits for approval");
    }
    for (project, root, waiting) in &projects {
        shown(project, root, waiting).iter().for_each(render::line);
    }
    Ok(CommandExit::Proceed)
}

fn look(
    environment: &Environment,
    archive: &mut StoreReader,
    project: &RegisteredProject,
    root: &Path,
) -> Result<WaitingApprovals, CommandError> {
    let (configuration, plan) = setup::describe(environment, root)?;
    let settings = opening::settings_of(environment, root, &configuration)?;
    let plan = plan.map_err(|planless| planless.error.lines());
    let waiting = archive.waiting_approvals(&project.id, root, (&settings, &configuration), plan);
    waiting.map_err(|error| super::from_run_error(&error))
}

/// Returns the lines for people about one project.
fn shown(project: &RegisteredProject, root: &Path, waiting: &WaitingApprovals) -> Vec<String> {
    let mut lines = vec![format!("{}  {}", project.id, project.path)];
    for unapproved in &waiting.unapproved {
        lines.extend(screen::difference(unapproved).iter().map(|line| format!("  {line}")));
        lines.push(format!("    {}: `{}`", word_of(unapproved.way), approve_command_in(root, &unapproved.task)));
    }
    lines.extend(waiting.problems.iter().flat_map(|problem| indented(problem)));
    lines
}

fn word_of(way: ApprovalWay) -> &'static str {
    match way {
        ApprovalWay::Answer => "approve it",
        ApprovalWay::Signature => "approve it by a signature; this command says how",
    }
}

/// Returns the command with which a person approves a task's plan, whatever the current directory is.
fn approve_command_in(root: &Path, task: &TaskId) -> String {
    let directory = quote_word(&root.to_string_lossy());
    let task = if *task == TaskId::default_task() { String::new() } else { format!(" --task {task}") };
    format!("proctor approve {directory}{task}")
}

fn to_document(project: RegisteredProject, root: &Path, waiting: WaitingApprovals) -> WaitingProject {
    let texts = |changes: &[RuleChange]| changes.iter().map(ToString::to_string).collect();
    let to_plan = |unapproved: UnapprovedPlan| WaitingPlan {
        command: approve_command_in(root, &unapproved.task),
        needs_signature: unapproved.way == ApprovalWay::Signature,
        task: unapproved.task,
        file: unapproved.file,
        differences: BTreeMap::from([
            ("opens", texts(&unapproved.difference.opens)),
            ("changed", texts(&unapproved.difference.changed)),
            ("protected", unapproved.protected),
        ]),
    };
    let plans = waiting.unapproved.into_iter().map(to_plan).collect();
    WaitingProject { project: project.id, root: project.path, waiting: plans, not_compared: waiting.problems }
}
