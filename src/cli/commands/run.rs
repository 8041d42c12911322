//! `proctor run`: runs the plan once and shows the result.

use std::path::Path;

use crate::cli::arguments::{RunFormat, RunOptions};
use crate::cli::commands::hand_over::{self, hand_over};
use crate::cli::commands::known::take_known;
use crate::cli::commands::refuse::refuse;
use crate::cli::commands::{approve, github, init, run_all};
use crate::cli::screen::{self, FailuresShown};
use crate::cli::show_progress::{Audience, ProgressScreen};
use crate::cli::{environment, render, terminal};
use proctor_app::places::marked_places;
use proctor_app::project::specification_files::{EVERY_TASK, FoundPlan};
use proctor_app::project::{LoadedProject, RunResources, opening, setup, specification_files};
use proctor_app::run::{MadeRun, RunWish, check_names, finish, run_or_share, sealed_of};
use proctor_app::{CommandError, Environment, RunControl};
use proctor_evidence::report::ExecutionReportV2;
use proctor_model::{CommandExit, OverallStatus};
use proctor_project::{ProjectSettings, RunOutcome, SealedReport};
use proctor_sandbox::process::Control;
use proctor_tools::command_text;

/// What a run shows on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunOutput {
    /// The progress and the verdict, for a person.
    Screen,
    /// The report and nothing else.
    Report,
    /// One line for each failure and finding, for an editor.
    Places,
    /// Nothing: the caller shows the result.
    Nothing,
}

/// How a run is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunView {
    pub(super) output: RunOutput,
    /// How much is shown of what failed.
    pub(super) failures: FailuresShown,
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
    if options.task.as_deref() == Some(EVERY_TASK) {
        return run_all::execute(options, environment);
    }
    let launcher = opening::start_launcher(environment)?;
    let root = setup::project_root(environment, options.place.path()).map_err(|error| with_check(error, options, environment))?;
    if options.task.is_none() && !options.json {
        init::offer_installs(&root, environment)?;
    }
    let loaded = match specification_files::find(environment, &root, options.task.as_deref())? {
        FoundPlan::Planned(loaded) => *loaded,
        FoundPlan::Wrong(wrong) => return refuse(options, environment, launcher, *wrong),
    };
    check_names(&loaded, &options.checks)?;
    if let Some(exit) = take_known(options, environment, &loaded)? {
        return Ok(exit);
    }
    if let Some(end) = hand_over(options, environment, &loaded, RunOutput::of(options))? {
        end.tell(options, environment, &loaded.root);
        return Ok(end.exit);
    }
    let opening = opening::open(environment, launcher, &loaded, options.identity.map(Into::into))?;
    run_here(options, &loaded, opening, environment)
}

/// Adds how one check is run to the error about a word that is no directory.
fn with_check(error: CommandError, options: &RunOptions, environment: &Environment) -> CommandError {
    let named = options.place.path();
    if named.components().count() != 1 || environment.absolute(named).exists() {
        return error;
    }
    let words = ["proctor", "run", "--check", &named.to_string_lossy()].map(str::to_owned);
    error.hint(format!("one check alone: `{}`", command_text(&words)))
}

/// Runs the plan in this process.
pub(super) fn run_here(
    options: &RunOptions,
    loaded: &LoadedProject,
    mut opening: RunResources,
    environment: &Environment,
) -> Result<CommandExit, CommandError> {
    opening.workspace.expect_one_run();
    let RunControl { control, .. } = &RunControl::begin(environment.caller())?;
    let end = run_task(&wish(options), RunView::of(options), loaded, &mut opening, environment, control)?;
    end.tell(options, environment, &loaded.root);
    if end.report.is_some() {
        finish(&mut opening.workspace, control);
    }
    Ok(end.exit)
}

/// Runs the plan once in this process, and shows the result.
pub(super) fn run_task(
    wish: &RunWish,
    view: RunView,
    loaded: &LoadedProject,
    opened: &mut RunResources,
    environment: &Environment,
    control: &Control,
) -> Result<RunEnd, CommandError> {
    let RunView { output, failures } = view;
    let style = environment::style(environment);
    let mut screen = ProgressScreen::new(style, failures, audience(output, environment));
    let mut show = |progress| screen.show(&progress);
    let mut carried = match run_or_share(environment, wish, loaded, (opened, control), &mut show)? {
        MadeRun::Shared(answer) => {
            if let (RunOutput::Screen, Some(run_id)) = (output, &answer.run_id) {
                let number = run_id.number();
                render::note(&format!("note: the run of another proctor has just tested these files: its result, run {number}"));
            }
            return hand_over::show(view, environment, loaded, &opened.settings, &answer);
        }
        MadeRun::Own(carried) => carried,
    };
    if matches!(carried, RunOutcome::NotApproved(_))
        && output == RunOutput::Screen
        && approve::ask_in_place(opened, &loaded.plan, environment, control)?
    {
        carried = proctor_app::run::run(environment, wish, loaded, (opened, control), &mut show)?;
    }
    Ok(match sealed_of(environment, &loaded.plan.task, carried)? {
        Some(sealed) => {
            let asked = wish.phase.filter(|_| output == RunOutput::Screen);
            asked.and_then(|phase| screen::asked_route(&sealed.report, phase)).iter().for_each(render::line);
            let path = show_sealed(loaded, &opened.settings, &sealed, output, environment);
            if !sealed.report.rules_changed.is_empty() && output == RunOutput::Screen {
                approve::ask_in_place(opened, &loaded.plan, environment, control)?;
            }
            RunEnd { exit: sealed.exit, report: Some((Box::new(sealed.report), path)) }
        }
        None => RunEnd { exit: CommandExit::NoFreshVerdict, report: None },
    })
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
        match options.format {
            Some(RunFormat::Errorformat) => Self::Places,
            None if options.json => Self::Report,
            None => Self::Screen,
        }
    }
}

impl RunView {
    /// Returns how a run is shown by the options of the command line.
    pub(super) fn of(options: &RunOptions) -> Self {
        Self { output: RunOutput::of(options), failures: options.failures }
    }
}

/// Shows a sealed run. Returns the path of its report as people see it.
fn show_sealed(
    loaded: &LoadedProject,
    settings: &ProjectSettings,
    sealed: &SealedReport,
    output: RunOutput,
    environment: &Environment,
) -> String {
    let style = environment::style(environment);
    let path =
        screen::report_path(&loaded.root, settings.link.as_deref(), &loaded.plan.task, &sealed.report_path, is_latest(sealed));
    match output {
        RunOutput::Screen => {}
        RunOutput::Report => {
            render::stored_document(&proctor_evidence::report::to_bytes(&sealed.report));
            return path;
        }
        RunOutput::Places => {
            show_places(environment, &loaded.root, &sealed.report);
            return path;
        }
        RunOutput::Nothing => return path,
    }
    screen::unmet(&sealed.report).iter().for_each(render::line);
    screen::notes(&sealed.report, &sealed.told_notes).iter().for_each(render::line);
    screen::logs(&sealed.report, None).iter().for_each(render::line);
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

/// Prints where what failed is. Paths are relative to the project where the command was started in it, and absolute elsewhere.
pub(super) fn show_places(environment: &Environment, root: &Path, report: &ExecutionReportV2) {
    let is_here = environment.absolute(Path::new(".")).canonicalize().is_ok_and(|here| here == root);
    let path = |file: &str| if is_here { file.to_owned() } else { root.join(file).display().to_string() };
    let places = marked_places(report, &root.to_string_lossy());
    places.iter().map(|place| place.line_for_editors(path)).for_each(|line| render::line(&line));
}

pub(super) fn audience(output: RunOutput, environment: &Environment) -> Audience {
    match (output, terminal::is_output_terminal() && !environment.has_dumb_terminal()) {
        (RunOutput::Report | RunOutput::Places | RunOutput::Nothing, _) => Audience::Nobody,
        (RunOutput::Screen, true) => Audience::Terminal,
        (RunOutput::Screen, false) => Audience::Plain,
    }
}

fn is_latest(sealed: &SealedReport) -> bool {
    sealed.report.execution_summary.overall_status.counts()
}

/// Returns which checks run, and how, by the options of the command line.
pub(super) fn wish(options: &RunOptions) -> RunWish {
    RunWish { checks: options.checks.clone(), phase: options.phase, fresh_caches: options.fresh_caches, every: options.all }
}
