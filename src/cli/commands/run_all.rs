//! `proctor run --task '*'`: runs every task of every test specification, each after the tasks that it depends on, and
//! shows one summary.
//!
//! The tasks run one after the other, because a project has one writer of evidence. Their actions take their turns in the
//! machine's queue like those of any run.

use serde::Serialize;

use crate::cli::arguments::RunOptions;
use crate::cli::commands::hand_over::hand_over;
use crate::cli::commands::run::{RunEnd, RunOutput, RunView, run_task, wish};
use crate::cli::commands::{github, refuse};
use crate::cli::screen::{self, TaskSummary};
use crate::cli::style::Style;
use crate::cli::{environment, render};
use proctor_app::project::specification_files::{FoundPlan, SpecifiedProject};
use proctor_app::project::{LoadedProject, RunResources, opening, setup, specification_files};
use proctor_app::{CommandError, Environment, RunControl};
use proctor_evidence::report::ExecutionReportV2;
use proctor_model::{CommandExit, RunId, TaskId, TreeDigest};
use proctor_plan::spec;
use proctor_sandbox::process::Control;
use proctor_tree::TreeHints;

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RunAllV1 {
    schema: &'static str,
    exit_code: u8,
    /// Whether the project's files changed meanwhile, so that the verdicts are about different files.
    tree_changed: bool,
    tasks: Vec<TaskEndV1>,
}

/// What one task came to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskEndV1 {
    task: TaskId,
    exit_code: u8,
    /// The verdict, or why there is none, in words for people.
    summary: String,
    /// The sealed run; null if nothing was sealed.
    run_id: Option<RunId>,
    /// The path of the report; null if nothing was sealed.
    report: Option<String>,
}

/// What one task came to: the end of its run, or why it was not run.
struct TaskEnd {
    task: TaskId,
    ended: Result<RunEnd, CommandError>,
}

pub(super) fn execute(options: &RunOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    if !options.checks.is_empty() {
        return Err(CommandError::new(CommandExit::Usage, "`--check` names steps of one task, and `--task '*'` runs all tasks")
            .hint("name the task: `proctor run --task T117 --check STEP.2`"));
    }
    let launcher = opening::start_launcher(environment)?;
    let root = setup::project_root(environment, options.place.path())?;
    let SpecifiedProject { configuration, specifications, .. } = specification_files::read_project(environment, &root)?;
    let tasks = specifications.tasks();
    if tasks.is_empty() {
        return Err(specification_files::without_tasks(&specifications));
    }
    // Files in which no task can be read are errors too: the tasks that they were meant to have are not run.
    let torn: Vec<String> = specifications.faults_without_task().into_iter().map(ToString::to_string).collect();
    let plan = spec::plan_without_checks(&configuration, &setup::directory_name(&root));
    let loaded = LoadedProject { root, configuration, plan };
    let mut resources = opening::open(environment, launcher, &loaded, options.identity.map(Into::into))?;
    let RunControl { control, .. } = &RunControl::begin(environment.caller())?;
    let style = environment::style(environment);
    let output = if options.json { RunOutput::Nothing } else { RunOutput::of(options) };
    let mut ends = Vec::new();
    let run_each = |tasks: &[TaskId], resources: &mut RunResources, ends: &mut Vec<TaskEnd>| {
        for task in tasks {
            if control.requested().is_some() {
                return;
            }
            if output == RunOutput::Screen {
                render::line(&screen::task_heading(task, style));
            }
            let ended = run_one(options, environment, task, resources, control, output);
            if let (Err(error), RunOutput::Screen) = (&ended, output) {
                render::error(error);
                if options.github {
                    github::tell_error(error);
                }
            }
            if let Ok(end) = &ended {
                end.tell(options, environment, &loaded.root);
            }
            let end = TaskEnd { task: task.clone(), ended };
            let stops = end.stops();
            match ends.iter_mut().find(|known| known.task == end.task) {
                Some(known) => *known = end,
                None => ends.push(end),
            }
            if stops {
                return;
            }
        }
    };
    run_each(&tasks, &mut resources, &mut ends);
    // As after a save during one run, what was run on other files is run once more, and not oftener: somebody may save all the time.
    let outdated = outdated(&ends, &mut resources)?;
    if !outdated.is_empty() && !ends.iter().any(TaskEnd::stops) {
        if output == RunOutput::Screen {
            render::note(&format!("the project's files changed while the tasks ran: {} run once more", counted(outdated.len())));
        }
        run_each(&outdated, &mut resources, &mut ends);
    }
    let tree_changed = !self::outdated(&ends, &mut resources)?.is_empty();
    resources.workspace.save_trees();
    resources.workspace.keep_to_limits();
    Ok(show(&ends, &torn, tree_changed, output, style))
}

/// Runs one task as `proctor run --task TASK` does. Its specification is read anew, because a task before it may have
/// written files.
fn run_one(
    options: &RunOptions,
    environment: &Environment,
    task: &TaskId,
    resources: &mut RunResources,
    control: &Control,
    output: RunOutput,
) -> Result<RunEnd, CommandError> {
    let project = specification_files::read_project(environment, &resources.scope.root)?;
    match specification_files::plan_of(project, task)? {
        FoundPlan::Planned(loaded) => match hand_over(options, environment, &loaded, output)? {
            Some(end) => Ok(end),
            None => {
                let view = RunView { output, failures: options.failures };
                run_task(&wish(options), view, &loaded, resources, environment, control)
            }
        },
        FoundPlan::Wrong(wrong) => {
            let sealed = refuse::seal(options, environment, resources, (task, &wrong.configuration), output)?;
            let Some(sealed) = sealed else { return Err(wrong.error) };
            let path = screen::report_path(&wrong.root, resources.settings.link.as_deref(), task, &sealed.report_path, true);
            if output == RunOutput::Screen {
                render::error(&wrong.error);
                render::line(&screen::verdict(&sealed.report, &path, environment::style(environment)));
            }
            Ok(RunEnd { exit: sealed.exit, report: Some((Box::new(sealed.report), path)) })
        }
    }
}

/// Returns the tasks whose last run was on other files than the newest run of all, and those that were not run because of that.
/// Empty if all runs were on the same files.
fn outdated(ends: &[TaskEnd], resources: &mut RunResources) -> Result<Vec<TaskId>, CommandError> {
    let mut newest = ends.iter().rev().find_map(TaskEnd::tree_after);
    if newest.is_some() && ends.iter().any(TaskEnd::waits) {
        // The task may wait because what it depends on was complete on other files.
        let RunResources { workspace, scope, settings, .. } = resources;
        let now = workspace.tree_digest(settings, scope, &TreeHints::Everything);
        newest = Some(now?.0);
    }
    let is_other = |end: &TaskEnd| end.tree().is_some_and(|tree| Some(tree) != newest);
    if !ends.iter().any(is_other) {
        return Ok(Vec::new());
    }
    Ok(ends.iter().filter(|end| is_other(end) || end.waits()).map(|end| end.task.clone()).collect())
}

fn counted(tasks: usize) -> String {
    if tasks == 1 { "1 task is".to_owned() } else { format!("{tasks} tasks are") }
}

impl TaskEnd {
    /// Returns the digest of the files that the task's verdict is about; `None` if nothing was sealed.
    fn tree(&self) -> Option<TreeDigest> {
        Some(self.report()?.0.tree.as_ref()?.before)
    }

    /// Returns the digest of the files after the task's run; `None` if nothing was sealed.
    fn tree_after(&self) -> Option<TreeDigest> {
        let tree = self.report()?.0.tree.as_ref()?;
        Some(tree.after.unwrap_or(tree.before))
    }

    fn exit(&self) -> CommandExit {
        match &self.ended {
            Ok(end) => end.exit,
            Err(error) => error.exit(),
        }
    }

    /// Returns whether the task was not run because what it depends on is not complete.
    fn waits(&self) -> bool {
        self.ended.as_ref().is_err_and(|error| error.exit() == CommandExit::CodeNeedsWork)
    }

    /// Returns whether no further task may run: a person stopped the run, or proctor itself failed.
    fn stops(&self) -> bool {
        matches!(self.exit(), CommandExit::Interrupted | CommandExit::Terminated | CommandExit::OwnFault)
    }

    fn report(&self) -> Option<&(Box<ExecutionReportV2>, String)> {
        self.ended.as_ref().ok().and_then(|end| end.report.as_ref())
    }

    fn summary(&self) -> TaskSummary<'_> {
        match (&self.ended, self.report()) {
            (_, Some((report, path))) => TaskSummary::Sealed(report, path),
            (Err(error), None) => TaskSummary::NotRun(error.sentence()),
            (Ok(_), None) => TaskSummary::NotRun("nothing was judged".to_owned()),
        }
    }
}

/// Shows what all tasks came to. Returns the exit code of the command.
fn show(ends: &[TaskEnd], torn: &[String], tree_changed: bool, output: RunOutput, style: Style) -> CommandExit {
    let exit = exit_of(ends, torn, tree_changed);
    if output == RunOutput::Nothing {
        let tasks = ends.iter().map(|end| TaskEndV1 {
            task: end.task.clone(),
            exit_code: end.exit().code(),
            summary: screen::summary_words(&end.summary()),
            run_id: end.report().map(|(report, _)| report.authenticity.execution_id.clone()),
            report: end.report().map(|(_, path)| path.clone()),
        });
        render::document(&RunAllV1 {
            schema: "proctor-run-all-v1",
            exit_code: exit.code(),
            tree_changed,
            tasks: tasks.collect(),
        });
        return exit;
    }
    if output == RunOutput::Places {
        return exit;
    }
    let tasks: Vec<_> = ends.iter().map(|end| (&end.task, end.summary())).collect();
    screen::summary_lines(&tasks, style).iter().for_each(render::line);
    torn.iter().for_each(render::note);
    if tree_changed {
        render::note(
            "the project's files changed again while the tasks ran, so not all verdicts are about the files as they are now",
        );
        render::note("hint: run the command once more");
    }
    exit
}

/// Returns the exit code for all tasks. A task that waits for another one counts only if no other task says why. Verdicts about
/// different files are no success together.
fn exit_of(ends: &[TaskEnd], torn: &[String], tree_changed: bool) -> CommandExit {
    let mut exits: Vec<CommandExit> = ends.iter().filter(|end| !end.waits()).map(TaskEnd::exit).collect();
    if !torn.is_empty() {
        exits.push(CommandExit::SpecificationWrong);
    }
    if tree_changed {
        exits.push(CommandExit::NoFreshVerdict);
    }
    let exit = CommandExit::of_tasks(&exits);
    let says_why = !matches!(exit, CommandExit::Proceed | CommandExit::NoFreshVerdict);
    if !says_why && !tree_changed && ends.iter().any(TaskEnd::waits) { CommandExit::CodeNeedsWork } else { exit }
}
