//! `proctor run`: runs the plan once and shows the result.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::cli::arguments::RunOptions;
use crate::cli::commands::approve;
use crate::cli::commands::github;
use crate::cli::commands::hand_over::hand_over;
use crate::cli::commands::opening::{self, RunResources};
use crate::cli::commands::refuse::refuse;
use crate::cli::commands::run_all;
use crate::cli::commands::share_run::share_run;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::setup::LoadedProject;
use crate::cli::show_progress::{Audience, ProgressScreen};
use crate::cli::specification_files::{self, FoundPlan};
use crate::cli::style::Style;
use crate::cli::terminal;
use proctor_evidence::report::ExecutionReportV2;
use proctor_model::{
    Action, AfterMovedRun, CachesMode, CommandExit, OnDisk, OverallStatus, PauseRecord, PlanOrigin, Repetitions, TaskId,
    TreePath, Trigger, TriggerKind, UnapprovedPlan,
};
use proctor_run::project::{
    ProjectSettings, RunOutcome, RunRequest, SealedReport, Selection, UnmetDependency, Workspace, decides_the_verdict,
};
use proctor_sandbox::process::{Control, clock, signal_controls};
use proctor_service::health_behind;

/// How long the Python modules that the checks used may be compiled for later runs, while the verdict is on the screen.
const COMPILING: Duration = Duration::from_millis(300);

/// What a run shows on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunOutput {
    /// The progress and the verdict, for a person.
    Screen,
    /// The report and nothing else.
    Report,
    /// Nothing: the caller shows the result.
    Nothing,
}

/// How a run has ended.
pub(super) struct RunEnd {
    pub(super) exit: CommandExit,
    /// The sealed report, and its path as people see it; `None` if the run left no report.
    pub(super) report: Option<(Box<ExecutionReportV2>, String)>,
}

pub(crate) fn execute(options: &RunOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    if !options.github {
        return execute_request(options, environment);
    }
    render::guard_job_log();
    execute_request(options, environment).inspect_err(github::tell_error)
}

fn execute_request(options: &RunOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let environment = &environment.with_values(&options.values.set);
    if options.task.as_deref() == Some(run_all::EVERY_TASK) {
        return run_all::execute(options, environment);
    }
    let launcher = opening::start_launcher(environment)?;
    let loaded = match specification_files::find(environment, options.place.path(), options.task.as_deref())? {
        FoundPlan::Planned(loaded) => *loaded,
        FoundPlan::Wrong(wrong) => return refuse(options, environment, launcher, *wrong),
    };
    check_names(&loaded, &options.checks)?;
    if let Some(end) = hand_over(options, environment, &loaded, RunOutput::of(options))? {
        end.tell(options, environment, &loaded.root);
        return Ok(end.exit);
    }
    let opening = opening::open(environment, launcher, &loaded, options.identity)?;
    run_here(options, &loaded, opening, environment)
}

/// Runs the plan in this process.
pub(super) fn run_here(
    options: &RunOptions,
    loaded: &LoadedProject,
    mut opening: RunResources,
    environment: &Environment,
) -> Result<CommandExit, CommandError> {
    opening.workspace.expect_one_run();
    let control = watch_signals()?;
    let end = run_task(options, loaded, &mut opening, (environment, &control), RunOutput::of(options))?;
    end.tell(options, environment, &loaded.root);
    if end.report.is_some() {
        let workspace = &mut opening.workspace;
        workspace.save_trees();
        workspace.keep_to_limits();
        workspace.compile_modules(COMPILING, &control);
    }
    Ok(end.exit)
}

/// Runs the plan once in this process, and shows the result.
pub(super) fn run_task(
    options: &RunOptions,
    loaded: &LoadedProject,
    opening: &mut RunResources,
    (environment, control): (&Environment, &Control),
    output: RunOutput,
) -> Result<RunEnd, CommandError> {
    let RunResources { settings, style, .. } = opening;
    if options.fresh_caches {
        settings.sandbox.caches = CachesMode::Fresh;
    }
    let style = *style;
    let mut screen = ProgressScreen::new(style, options.failures, audience(output, environment));
    if let Some(end) = share_run((options, output), (environment, control), loaded, opening, &mut screen)? {
        return Ok(end);
    }
    let RunResources { workspace, scope, settings, .. } = opening;
    let settings = &*settings;
    let mut request = RunRequest {
        checks: selection(loaded, &options.checks),
        phase: options.phase,
        ..RunRequest::new(&loaded.plan, settings, scope, TriggerKind::Request, control)
    };
    let mut run_plan = |workspace: &mut Workspace, request: &RunRequest<'_>| {
        workspace.run_plan(request, &mut |progress| screen.show(&progress)).map_err(|error| super::from_run_error(&error))
    };
    let mut carried = run_plan(workspace, &request)?;
    if let RunOutcome::NotApproved(unapproved) = &carried
        && output == RunOutput::Screen
        && approve::ask_in_place(workspace, scope, settings, &loaded.plan, unapproved, (environment, control))?
    {
        carried = run_plan(workspace, &request)?;
    }
    // A run during which the tree changed has no verdict. It is repeated once (S6), but not if a file changed that decides
    // how the project is judged: the repeated run would still follow what the file said before.
    let mut repetitions = Repetitions::at_most(Repetitions::OF_A_COMMAND);
    while let RunOutcome::Moved(sealed) = &carried
        && !sealed.moved.iter().any(|path| decides_the_verdict(path.as_bytes(), settings.allowed_signers.as_deref()))
        && let AfterMovedRun::Repeat { .. } = follow_moved_run(&mut repetitions, sealed)
    {
        let paths = screen::moved_paths(&sealed.report);
        render::note(&format!("{} changed while the checks ran: they are run once more", paths.join(", ")));
        request.trigger = Trigger { kind: TriggerKind::Moved, paths };
        carried = run_plan(workspace, &request)?;
    }
    match carried {
        RunOutcome::Judged(sealed)
        | RunOutcome::Moved(sealed)
        | RunOutcome::Interrupted(sealed)
        | RunOutcome::HelperDied(sealed) => {
            let path = show(loaded, settings, &sealed, (output, style));
            Ok(RunEnd { exit: sealed.exit, report: Some((Box::new(sealed.report), path)) })
        }
        RunOutcome::Paused(pause) => Err(waits_for_a_person(loaded, &pause)),
        RunOutcome::Waits(unmet) => Err(waits_for_tasks(&loaded.plan.task, &unmet)),
        RunOutcome::NotApproved(unapproved) => Err(not_approved(&unapproved)),
        RunOutcome::Superseded | RunOutcome::Withdrawn | RunOutcome::Unchanged | RunOutcome::Untriggered => {
            Ok(RunEnd { exit: CommandExit::NoFreshVerdict, report: None })
        }
    }
}

impl RunEnd {
    /// Tells GitHub Actions of the run, if the command line asks for it.
    pub(super) fn tell(&self, options: &RunOptions, environment: &Environment, root: &Path) {
        if let Some((report, _)) = self.report.as_ref().filter(|_| options.github) {
            github::tell(environment, root, report);
        }
    }
}

impl RunOutput {
    /// Returns what a run shows by the options of the command line.
    pub(super) fn of(options: &RunOptions) -> Self {
        if options.json { Self::Report } else { Self::Screen }
    }
}

fn follow_moved_run(repetitions: &mut Repetitions, sealed: &SealedReport) -> AfterMovedRun {
    let moved: BTreeSet<TreePath> = sealed.moved.iter().cloned().collect();
    let after = repetitions.follow_moved_run(&moved, OnDisk::compare(sealed.tree, sealed.tree_after));
    repetitions.begin(moved);
    after
}

fn waits_for_a_person(loaded: &LoadedProject, pause: &PauseRecord) -> CommandError {
    let task = &loaded.plan.task;
    CommandError::new(CommandExit::PersonNeeded, screen::paused(task, pause)).hint(screen::resolve_hint(task))
}

/// Returns the error that a person must approve the plan, because the plan is weaker than the approved plan (S7).
pub(super) fn not_approved(unapproved: &UnapprovedPlan) -> CommandError {
    let mut lines = screen::not_approved(unapproved).into_iter();
    let error = CommandError::new(CommandExit::PersonNeeded, lines.next().unwrap_or_default());
    lines.fold(error, |error, line| error.detail(line)).hint(screen::approve_hint(unapproved))
}

/// Returns the error that other tasks, on which this task depends, are incomplete. Like a failed prerequisite, this means that the code
/// needs work (G5).
fn waits_for_tasks(task: &TaskId, unmet: &[UnmetDependency]) -> CommandError {
    let error = CommandError::new(CommandExit::CodeNeedsWork, screen::waits(task));
    let error = unmet.iter().fold(error, |error, unmet| error.detail(unmet.to_string()));
    error.hint(screen::waits_hint(unmet))
}

/// Shows a sealed run. Returns the path of its report as people see it.
fn show(
    loaded: &LoadedProject,
    settings: &ProjectSettings,
    sealed: &SealedReport,
    (output, style): (RunOutput, Style),
) -> String {
    let path =
        screen::report_path(&loaded.root, settings.link.as_deref(), &loaded.plan.task, &sealed.report_path, is_latest(sealed));
    match output {
        RunOutput::Screen => {}
        RunOutput::Report => {
            render::stored_document(&proctor_evidence::report::to_bytes(&sealed.report));
            return path;
        }
        RunOutput::Nothing => return path,
    }
    screen::unmet(&sealed.report).iter().for_each(render::line);
    screen::notes(&sealed.report, &sealed.told_notes).iter().for_each(render::line);
    screen::logs(&sealed.report, Some(&path)).iter().for_each(render::line);
    render::line(&screen::verdict(&sealed.report, &path, style));
    screen::own_fault(&sealed.report, sealed.exit).iter().for_each(render::note);
    for hint in screen::pause_hint(&sealed.report).into_iter().chain(screen::unproven_hint(&sealed.report).map(str::to_owned)) {
        render::note(&format!("hint: {hint}"));
    }
    if sealed.report.execution_summary.overall_status == OverallStatus::Moved {
        screen::ignore_hints(&sealed.report, &loaded.root, settings).iter().for_each(render::note);
    }
    path
}

pub(super) fn audience(output: RunOutput, environment: &Environment) -> Audience {
    match (output, terminal::is_output_terminal() && !environment.has_dumb_terminal()) {
        (RunOutput::Report | RunOutput::Nothing, _) => Audience::Nobody,
        (RunOutput::Screen, true) => Audience::Terminal,
        (RunOutput::Screen, false) => Audience::Plain,
    }
}

fn is_latest(sealed: &SealedReport) -> bool {
    sealed.report.execution_summary.overall_status.counts()
}

pub(super) fn check_names(loaded: &LoadedProject, checks: &[String]) -> Result<(), CommandError> {
    let known: Vec<_> = loaded.plan.steps.iter().map(|step| step.name.as_str()).collect();
    match checks.iter().find(|check| name_of(loaded, check).is_none()) {
        Some(unknown) => Err(CommandError::new(CommandExit::Usage, format!("there is no check `{unknown}`"))
            .hint(format!("the checks are: {}", known.join(", ")))),
        None => Ok(()),
    }
}

fn selection(loaded: &LoadedProject, names: &[String]) -> Selection {
    let named = names.iter().filter_map(|name| name_of(loaded, name));
    if names.is_empty() { Selection::All } else { Selection::Named(named.collect()) }
}

/// Returns the name of a check. Steps of a specification may also be called by their ids, since their names are whole sentences.
pub(super) fn name_of(loaded: &LoadedProject, called: &str) -> Option<String> {
    let by_id = loaded.plan.origin == PlanOrigin::Specification;
    let is_meant = |step: &&Action| step.name == called || (by_id && step.id.as_str() == called);
    loaded.plan.steps.iter().find(is_meant).map(|step| step.name.clone())
}

pub(super) fn watch_signals() -> Result<Control, CommandError> {
    signal_controls().map_err(|error| {
        let trouble = health_behind(&error, clock::now());
        CommandError::caused(CommandExit::OwnFault, "failed to take over signals", &error)
            .hint("run the command again")
            .of_trouble(trouble)
    })
}
