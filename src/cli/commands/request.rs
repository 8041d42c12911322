//! `proctor request`: the requests of agents (agent protocol of seed document 004). The service answers if it watches
//! the project; otherwise this process computes the same answer. An agent's claim about its task is logged, and the
//! answer is computed without the claim.

use std::path::Path;
use std::time::Duration;

use crate::cli::arguments::RunOptions;
use crate::cli::commands::opening::{self, RunResources};
use crate::cli::commands::refuse::refuse;
use crate::cli::commands::run::RunOutput;
use crate::cli::commands::{hand_over, run, status};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::project_place::ProjectPlace;
use crate::cli::render;
use crate::cli::screen::{self, FailuresShown};
use crate::cli::service::{self, ServedProject};
use crate::cli::service_arguments::{RequestOptions, RequestVerb};
use crate::cli::setup;
use crate::cli::specification_files::{self, FoundPlan, unreadable};
use crate::cli::value_arguments::ValueOptions;
use proctor_api::{AgentAnswerV1, AgentRequestV1, MethodV1};
use proctor_app::client::ClientError;
use proctor_model::{CommandExit, CompletionStatus, Freshness, ProjectStatus, TaskId};
use proctor_run::collaboration::{Proposal, review_specification};
use proctor_run::project::{DescribedProject, read_text};

/// The longest wait for the service's answer. The service first finishes a run that is under way, and a retest is a run
/// itself.
const LONGEST_RUN: Duration = Duration::from_secs(24 * 3600);

/// How often the checks run without caches for one COMPLETE, because saves led to newer verdicts meanwhile.
const MOST_PROOFS: u32 = 2;

pub(crate) fn execute(options: &RequestOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let task_id = TaskId::try_from(options.asked.task.as_str())
        .map_err(|error| CommandError::of(CommandExit::Usage, &error).hint("the task of a project's own checks is `default`"))?;
    let environment = &environment.with_values(&options.asked.values.set);
    let root = setup::project_root(environment, &options.asked.project)?;
    let is_own = task_id == TaskId::default_task();
    let request = match &options.verb {
        RequestVerb::Status { status } => AgentRequestV1::RequestStatusUpdate { task_id, status: (*status).into() },
        RequestVerb::Retest => AgentRequestV1::RequestRetest { task_id },
        RequestVerb::Fix { proposal: None } if is_own => {
            AgentRequestV1::FixSpecification { task_id, specification: None, path: None }
        }
        RequestVerb::Fix { proposal } => return review_here(options, environment, &root, task_id, proposal.as_deref()),
    };
    // The service knows no values of this command line.
    if let Some(served) = service::serving(environment, &root).filter(|_| environment.values().is_empty()) {
        match ask(&served, &request) {
            Ok(answer) => {
                let again = || ask(&served, &request).map_err(|error| service::from_client_error(&error));
                let answer = prove((options, environment, &root), request.task_id(), answer, again)?;
                return show_asked(options, environment, &root, &answer);
            }
            // No service listens, so this process answers. After any other error the service may have begun to act on
            // the request; answering here as well could act on the request twice.
            Err(error @ ClientError::Absent { .. }) => service::say_unusable(&error),
            Err(error) => return Err(service::from_client_error(&error)),
        }
    }
    answer_here(options, environment, &root, request)
}

/// Shows the errors of a task's specification. With a proposed specification, shows the proposal's errors and changes
/// instead.
fn review_here(
    options: &RequestOptions,
    environment: &Environment,
    root: &Path,
    task_id: TaskId,
    proposal: Option<&Path>,
) -> Result<CommandExit, CommandError> {
    let proposal = match proposal.map(|path| environment.absolute(path)) {
        Some(path) => Some(Proposal::Text(read_text(&path).map_err(|error| unreadable(&path, &error))?)),
        None => None,
    };
    // Only the settings are read. The plan of the project's own checks is not needed, so it may be missing.
    let (mut configuration, _) = setup::configuration(root)?;
    configuration.specification.set(environment.values());
    let settings = opening::settings_of(environment.state_root(), root, &configuration)?;
    let reviewed =
        review_specification(root, &settings, &task_id, proposal.as_ref()).map_err(|error| super::from_run_error(&error))?;
    tracing::info!("FIX_SPECIFICATION for {task_id}: {} errors, {} changes", reviewed.errors.len(), reviewed.changes.len());
    Ok(show(options, &AgentAnswerV1::from_problems(task_id, reviewed.errors, reviewed.changes)))
}

fn ask(served: &ServedProject, request: &AgentRequestV1) -> Result<AgentAnswerV1, ClientError> {
    let path = format!("/v1/projects/{}/requests", served.project.id);
    served.client.send(MethodV1::Post, &path, request, LONGEST_RUN)
}

fn show_asked(
    options: &RequestOptions,
    environment: &Environment,
    root: &Path,
    answer: &AgentAnswerV1,
) -> Result<CommandExit, CommandError> {
    match answer {
        AgentAnswerV1::Retested { number, budget, run, .. } => {
            say_granted(*number, *budget);
            let loaded = specification_files::reload(root, &run.task, environment.values())?;
            let settings = opening::settings(environment, &loaded)?;
            let options = &run_options(options, root);
            let shown = (options, RunOutput::of(options));
            hand_over::show(shown, environment, &loaded, &settings, run).map(|end| end.exit)
        }
        AgentAnswerV1::Computed { .. } | AgentAnswerV1::Checked { .. } => Ok(show(options, answer)),
    }
}

fn answer_here(
    options: &RequestOptions,
    environment: &Environment,
    root: &Path,
    request: AgentRequestV1,
) -> Result<CommandExit, CommandError> {
    let task_id = match request {
        AgentRequestV1::RequestStatusUpdate { task_id, status } => {
            let compute = || compute_here(environment, root, &task_id, status);
            let answer = prove((options, environment, root), &task_id, compute()?, compute)?;
            return Ok(show(options, &answer));
        }
        AgentRequestV1::FixSpecification { task_id, .. } => {
            let loaded = specification_files::reload(root, &task_id, environment.values());
            let errors = loaded.and_then(|loaded| opening::settings(environment, &loaded).map(drop));
            let errors = match errors {
                Err(error) if error.exit() != CommandExit::SpecificationWrong => return Err(error),
                Err(error) => error.lines(),
                Ok(()) => Vec::new(),
            };
            return Ok(show(options, &AgentAnswerV1::from_problems(task_id, errors, Vec::new())));
        }
        AgentRequestV1::RequestRetest { task_id } => task_id,
    };
    retest_here(options, environment, root, &task_id)
}

/// Computes in this process whether a task is complete.
fn compute_here(
    environment: &Environment,
    root: &Path,
    task: &TaskId,
    asked: CompletionStatus,
) -> Result<AgentAnswerV1, CommandError> {
    let mut archive = opening::open_archive(environment)?;
    let standing = status::stand(&mut archive, root, std::slice::from_ref(task), environment.values())?.with_first(task);
    refuse_unknown(root, task, &standing, environment)?;
    let completion = archive.completion(&standing, task).map_err(|error| super::from_run_error(&error))?;
    tracing::info!("REQUEST_STATUS_UPDATE {} for {task}: computed {}", asked.word(), completion.status.word());
    Ok(AgentAnswerV1::from_completion(asked, completion))
}

/// Returns the answer to show. If the first one says COMPLETE and a check had found a tool's cache of an earlier run, the checks first run
/// once more without such caches, and `again` asks anew. A save meanwhile can lead to a newer verdict, which may rest on caches again: then
/// the checks run once more, and after [`MOST_PROOFS`] runs the answer is INCOMPLETE. Where a check asks, nothing is run, because the run
/// of this check is still under way.
fn prove(
    (options, environment, root): (&RequestOptions, &Environment, &Path),
    task: &TaskId,
    first: AgentAnswerV1,
    again: impl Fn() -> Result<AgentAnswerV1, CommandError>,
) -> Result<AgentAnswerV1, CommandError> {
    if environment.has("PROCTOR_OUT") {
        return Ok(first
            .or_unproved("a check found a cache of an earlier run, and a request of a check runs nothing: ask outside of it"));
    }
    let mut answer = first;
    for _ in 0..MOST_PROOFS {
        if !answer.rests_on_kept_caches() {
            return Ok(answer);
        }
        prove_without_caches(options, environment, root, task)?;
        answer = again()?;
    }
    Ok(answer.or_unproved(
        "a check found a cache of an earlier run, and the run without caches was followed by another one: ask again",
    ))
}

/// Runs the task's checks once without the caches of earlier runs. The result is in the ledger then, where the next answer finds it.
fn prove_without_caches(
    options: &RequestOptions,
    environment: &Environment,
    root: &Path,
    task: &TaskId,
) -> Result<(), CommandError> {
    render::note("note: the results used tools' caches of earlier runs, so the checks run once more without them");
    let launcher = opening::start_launcher(environment)?;
    let loaded = match specification_files::find_in(root, task, environment.values())? {
        FoundPlan::Planned(loaded) => *loaded,
        FoundPlan::Wrong(wrong) => return Err(wrong.error),
    };
    let mut opened = opening::open(environment, launcher, &loaded, None)?;
    opened.workspace.expect_one_run();
    let control = run::watch_signals()?;
    let run_options = RunOptions { fresh_caches: true, ..run_options(options, &loaded.root) };
    let output = if options.json { RunOutput::Nothing } else { RunOutput::Screen };
    let end = run::run_task(&run_options, &loaded, &mut opened, (environment, &control), output)?;
    if end.report.is_some() {
        opened.workspace.save_trees();
        opened.workspace.keep_to_limits();
    }
    if matches!(end.exit, CommandExit::Interrupted | CommandExit::Terminated) {
        return Err(CommandError::new(end.exit, "the run was stopped").hint("`proctor request status` asks once more"));
    }
    Ok(())
}

fn retest_here(
    options: &RequestOptions,
    environment: &Environment,
    root: &Path,
    task_id: &TaskId,
) -> Result<CommandExit, CommandError> {
    let launcher = opening::start_launcher(environment)?;
    let loaded = match specification_files::find_in(root, task_id, environment.values())? {
        FoundPlan::Planned(loaded) => *loaded,
        FoundPlan::Wrong(wrong) => return refuse(&run_options(options, root), environment, launcher, *wrong),
    };
    let RunResources { mut workspace, scope, settings, style } = opening::open(environment, launcher, &loaded, None)?;
    let described = DescribedProject { plan: &loaded.plan, settings: &settings, configuration: &loaded.configuration };
    let granted = workspace.grant_retest(&scope, described).map_err(|error| super::from_run_error(&error))?;
    say_granted(granted.number, granted.budget);
    run::run_here(&run_options(options, &loaded.root), &loaded, RunResources { workspace, scope, settings, style }, environment)
}

/// Returns the options of `proctor run`, because a retest is shown as `proctor run` shows a run.
fn run_options(options: &RequestOptions, root: &Path) -> RunOptions {
    RunOptions {
        place: ProjectPlace::at(root),
        task: None,
        values: ValueOptions::default(),
        checks: Vec::new(),
        phase: None,
        fresh_caches: false,
        failures: FailuresShown::default(),
        json: options.json,
        github: false,
        identity: None,
    }
}

/// Refuses a task that does not exist: no readable specification has the task, and the task never had a verdict.
fn refuse_unknown(root: &Path, task: &TaskId, standing: &ProjectStatus, environment: &Environment) -> Result<(), CommandError> {
    match standing.of(task).map(|task| (&task.freshness, &task.verdict)) {
        Some((Freshness::SpecificationWrong, None)) => specification_files::reload(root, task, environment.values()).map(drop),
        Some(_) | None => Ok(()),
    }
}

fn say_granted(number: u32, budget: u32) {
    render::note(&format!("retest {number} of {budget}"));
}

fn show(options: &RequestOptions, answer: &AgentAnswerV1) -> CommandExit {
    if options.json {
        render::document(answer);
    } else {
        screen::agent_answer(answer).iter().for_each(render::line);
    }
    CommandExit::from_code(answer.exit_code())
}
