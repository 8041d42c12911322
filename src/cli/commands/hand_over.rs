//! Lets the service carry out a run, and shows the result as if the run had been made here (S2).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use crate::cli::arguments::RunOptions;
use crate::cli::commands::opening;
use crate::cli::commands::run::{RunEnd, RunOutput, name_of};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::live_line::LiveLine;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::service;
use crate::cli::setup::LoadedProject;
use crate::cli::style::Style;
use crate::cli::terminal;
use proctor_api::{ErrorKindV1, MethodV1, RunAnswerV1, RunOutcomeV1, RunRequestV1, VariableV1};
use proctor_app::client::ClientError;
use proctor_evidence::report::EXECUTION_REPORT_FILE;
use proctor_model::{CommandExit, Digest, OverallStatus, PlanNote, PlanOrigin, ProjectId};
use proctor_run::project::{ProjectSettings, RecordedRun, StoreReader};
use proctor_sandbox::{EnvironmentAdditions, passed_on};

/// The longest wait for a run in the service. The time limits of the checks end any run long before.
const LONGEST_RUN: Duration = Duration::from_secs(24 * 3600);

/// To find the previous run of the same task, at most this many of the project's newest runs are looked through.
const EARLIER_RUNS: u32 = 20;

/// Lets the service run the checks. Returns `None` if this process must run them itself: the service does not watch the
/// project, or the service's run could differ from a run in this process.
pub(super) fn hand_over(
    options: &RunOptions,
    environment: &Environment,
    loaded: &LoadedProject,
    output: RunOutput,
) -> Result<Option<RunEnd>, CommandError> {
    // The service cannot take values of placeholders, a phase, an answer about the project's identity or `--fresh-caches` from the command
    // line. `PROCTOR_OUT` means that a check started this command. The check occupies a place in the queue until this
    // command ends, so a run in the service could wait for that place for ever.
    let has_own_options =
        !environment.values().is_empty() || options.phase.is_some() || options.identity.is_some() || options.fresh_caches;
    if has_own_options || environment.has("PROCTOR_OUT") {
        return Ok(None);
    }
    let Some(served) = service::serving(environment, &loaded.root) else { return Ok(None) };
    let settings = opening::settings(environment, loaded)?;
    let task = Some(loaded.plan.task.clone());
    let request = RunRequestV1 {
        task,
        checks: checks(loaded, &options.checks),
        environment: Some(variables(environment.variables(), &settings.environment)),
    };
    let path = format!("/v1/projects/{}/runs", served.project.id);
    let is_live = output == RunOutput::Screen && terminal::is_output_terminal() && !environment.has_dumb_terminal();
    let live = is_live.then(|| LiveLine::begin(&served, style(environment))).flatten();
    let answered = served.client.send::<RunAnswerV1>(MethodV1::Post, &path, &request, LONGEST_RUN);
    if let Some(live) = live {
        live.end();
    }
    match answered {
        Ok(answer) => show((options, output), environment, loaded, &settings, &answer).map(Some),
        Err(ClientError::Refused(error)) if error.kind == ErrorKindV1::EnvironmentDiffers => {
            render::note(&format!("note: {}; running here instead", error.message));
            Ok(None)
        }
        Err(error @ ClientError::Refused(_)) => Err(service::from_client_error(&error)),
        Err(error) => {
            service::say_unusable(&error);
            Ok(None)
        }
    }
}

/// Returns the names of the checks that the person gave on the command line. The person may give the id of a
/// specification's step; the service knows only names.
fn checks(loaded: &LoadedProject, called: &[String]) -> Vec<String> {
    called.iter().filter_map(|name| name_of(loaded, name)).collect()
}

fn style(environment: &Environment) -> Style {
    Style::decide(environment.refuses_colours(), environment.has("CLICOLOR_FORCE"), terminal::is_output_terminal())
}

/// Returns the variables that checks would get in this environment of a process, as digests without values.
///
/// Secrets that fill placeholders are among them: the service fills its own.
pub(super) fn variables(environment: &BTreeMap<OsString, OsString>, settings: &EnvironmentAdditions) -> Vec<VariableV1> {
    let digest = |value: &OsStr| Digest::of(value.as_bytes());
    let listed = passed_on(environment).into_iter();
    let listed =
        listed.map(|(name, value)| VariableV1 { name: name.to_string_lossy().into_owned(), digest: Some(digest(value)) });
    let by_settings = settings
        .pass
        .iter()
        .chain(&settings.secrets)
        .map(|name| VariableV1 { name: name.clone(), digest: environment.get(OsStr::new(name)).map(|value| digest(value)) });
    let mut variables: Vec<VariableV1> = listed.chain(by_settings).collect();
    variables.sort();
    variables.dedup();
    variables
}

/// Shows a run that the service or another command has made.
pub(super) fn show(
    (options, output): (&RunOptions, RunOutput),
    environment: &Environment,
    loaded: &LoadedProject,
    settings: &ProjectSettings,
    answer: &RunAnswerV1,
) -> Result<RunEnd, CommandError> {
    let project = &answer.project;
    let exit = CommandExit::from_code(answer.exit_code);
    let Some(run_id) = &answer.run_id else { return Err(without_report(answer, exit)) };
    let mut archive = opening::open_archive(environment)?;
    archive.find_project(&loaded.root).map_err(|error| super::from_run_error(&error))?;
    let run = archive.find(project, Some(run_id.as_str())).map_err(|error| super::from_run_error(&error))?;
    let run = run.ok_or_else(|| without_report(answer, CommandExit::OwnFault))?;
    let (bytes, report) = archive.report(project, &run).map_err(|error| super::from_run_error(&error))?;
    let report_path = archive.place(project, &run).join(EXECUTION_REPORT_FILE);
    let is_latest = report.execution_summary.overall_status.counts();
    let link = settings.link.as_deref();
    let path = screen::report_path(&loaded.root, link, &run.task, &report_path, is_latest);
    if output == RunOutput::Report {
        render::stored_document(&bytes);
    }
    if output != RunOutput::Screen {
        return Ok(RunEnd { exit, report: Some((Box::new(report), path)) });
    }
    let style = style(environment);
    if let Some(tree) = &report.tree {
        render::line(&screen::header(&loaded.plan.project_name, &tree.before, style));
    }
    for result in screen::results(&report) {
        screen::action(result, options.failures, style).iter().for_each(render::line);
    }
    let told = told_notes(&archive, loaded, project, &run);
    screen::unmet(&report).iter().for_each(render::line);
    screen::notes(&report, &told).iter().for_each(render::line);
    screen::logs(&report, Some(&path)).iter().for_each(render::line);
    render::line(&screen::verdict(&report, &path, style));
    answer.problems.iter().for_each(render::note);
    if let Some(hint) = screen::pause_hint(&report) {
        render::note(&format!("hint: {hint}"));
    }
    if report.execution_summary.overall_status == OverallStatus::Moved {
        screen::ignore_hints(&report, &loaded.root, settings).iter().for_each(render::note);
    }
    Ok(RunEnd { exit, report: Some((Box::new(report), path)) })
}

/// Returns those notes about the discovery of the checks that the previous run of the same task already had.
fn told_notes(archive: &StoreReader, loaded: &LoadedProject, project: &ProjectId, run: &RecordedRun) -> Vec<PlanNote> {
    if loaded.plan.origin != PlanOrigin::Discovered {
        return Vec::new();
    }
    let is_before = |one: &RecordedRun| one.task == run.task && one.run_id.number() < run.run_id.number();
    let before = archive.runs(project, EARLIER_RUNS).ok().and_then(|runs| runs.into_iter().find(is_before));
    let before = before.and_then(|before| archive.report(project, &before).ok()).map(|(_, report)| report.notes);
    let before = before.unwrap_or_default();
    loaded.plan.notes.iter().filter(|note| before.contains(note)).cloned().collect()
}

fn without_report(answer: &RunAnswerV1, exit: CommandExit) -> CommandError {
    let message = match answer.outcome {
        RunOutcomeV1::NeedsHuman => format!("task `{}` {}", answer.task, answer.problems.join("; ")),
        RunOutcomeV1::Waits => screen::waits(&answer.task),
        RunOutcomeV1::NotApproved => format!("task `{}` asks for less than was approved: nothing was run", answer.task),
        RunOutcomeV1::Superseded => "saves stopped the run again and again; nothing was judged".to_owned(),
        RunOutcomeV1::ConfigurationWrong => "the configuration is wrong".to_owned(),
        RunOutcomeV1::Failed => answer.problems.join("; "),
        RunOutcomeV1::Judged
        | RunOutcomeV1::Moved
        | RunOutcomeV1::Interrupted
        | RunOutcomeV1::Unchanged
        | RunOutcomeV1::Untriggered => format!("the service says `{}` and names no run that can be read", answer.outcome.word()),
    };
    let error = CommandError::new(exit, message);
    match answer.outcome {
        RunOutcomeV1::NeedsHuman => error.hint(screen::resolve_hint(&answer.task)),
        RunOutcomeV1::Waits => answer.problems.iter().fold(error, |error, problem| error.detail(problem.clone())),
        RunOutcomeV1::NotApproved => {
            let error = answer.problems.iter().fold(error, |error, problem| error.detail(problem.clone()));
            error.hint(screen::approve_hint_of_service(&answer.task))
        }
        RunOutcomeV1::ConfigurationWrong => {
            let error = answer.problems.iter().fold(error, |error, problem| error.detail(problem.clone()));
            error.hint("mend proctor.toml and run the command again")
        }
        RunOutcomeV1::Judged
        | RunOutcomeV1::Moved
        | RunOutcomeV1::Interrupted
        | RunOutcomeV1::Superseded
        | RunOutcomeV1::Unchanged
        | RunOutcomeV1::Untriggered
        | RunOutcomeV1::Failed => error.hint("`proctor status` says how the project stands; the service's log says more"),
    }
}
