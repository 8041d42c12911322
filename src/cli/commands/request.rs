//! `proctor request`: the requests of agents (agent protocol of seed document 004), and their answers on the screen.

use std::path::Path;

use crate::cli::arguments::RunOptions;
use crate::cli::commands::refuse::refuse;
use crate::cli::commands::run::{RunOutput, RunView};
use crate::cli::commands::{hand_over, run};
use crate::cli::project_place::{ProjectPlace, ValueOptions};
use crate::cli::render;
use crate::cli::screen::{self, FailuresShown};
use crate::cli::service_arguments::{RequestOptions, RequestVerb};
use proctor_api::{AgentAnswerV1, AgentRequestV1};
use proctor_app::project::specification_files::{FoundPlan, unreadable};
use proctor_app::project::{opening, setup, specification_files};
use proctor_app::request::{OpenedRetest, ask, ask_service, check_here, compute_here, grant_retest, read_task, review};
use proctor_app::run::RunWish;
use proctor_app::{CommandError, Environment, RunControl, serving};
use proctor_model::{CommandExit, TaskId};
use proctor_project::read_text;
use proctor_run::collaboration::Proposal;

/// How often the checks run without caches for one COMPLETE, because saves led to newer verdicts meanwhile.
const MOST_PROOFS: u32 = 2;

pub(crate) fn execute(options: &RequestOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let task_id = read_task(&options.asked.task)?;
    let environment = &environment.with_values(&options.asked.values.set);
    let root = setup::project_root(environment, &options.asked.project)?;
    let is_own = task_id == TaskId::default_task();
    let request = match &options.verb {
        RequestVerb::Status { status } => AgentRequestV1::RequestStatusUpdate { task_id, status: (*status).into() },
        RequestVerb::Retest => AgentRequestV1::RequestRetest { task_id },
        RequestVerb::Fix { proposal: None } if is_own => {
            AgentRequestV1::FixSpecification { task_id, specification: None, path: None }
        }
        RequestVerb::Fix { proposal } => {
            let proposal = match proposal.as_deref().map(|path| environment.absolute(path)) {
                Some(path) => Some(Proposal::Text(read_text(&path).map_err(|error| unreadable(&path, &error))?)),
                None => None,
            };
            return Ok(show(options, &review(environment, &root, task_id, proposal.as_ref())?));
        }
    };
    match ask_service(environment, &root, &request)? {
        Some((served, answer)) => {
            let again = || ask(&served, &request).map_err(|error| serving::from_client_error(&error));
            let answer = prove(options, environment, &root, request.task_id(), answer, again)?;
            show_asked(options, environment, &root, &answer)
        }
        None => answer_here(options, environment, &root, request),
    }
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
            let loaded = specification_files::reload(environment, root, &run.task)?;
            let settings = opening::settings(environment, &loaded)?;
            let options = &run_options(options, root);
            hand_over::show(RunView::of(options), environment, &loaded, &settings, run).map(|end| end.exit)
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
    match request {
        AgentRequestV1::RequestStatusUpdate { task_id, status } => {
            let compute = || compute_here(environment, root, &task_id, status);
            let answer = prove(options, environment, root, &task_id, compute()?, compute)?;
            Ok(show(options, &answer))
        }
        AgentRequestV1::FixSpecification { task_id, .. } => Ok(show(options, &check_here(environment, root, task_id)?)),
        AgentRequestV1::RequestRetest { task_id } => retest_here(options, environment, root, &task_id),
    }
}

/// Returns the answer to show. If the first one says COMPLETE and a check had found a tool's cache of an earlier run, the checks first run
/// once more without such caches, and `again` asks anew. A save meanwhile can lead to a newer verdict, which may rest on caches again: then
/// the checks run once more, and after [`MOST_PROOFS`] runs the answer is INCOMPLETE. Where a check asks, nothing is run, because the run
/// of this check is still under way.
fn prove(
    options: &RequestOptions,
    environment: &Environment,
    root: &Path,
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
    let loaded = match specification_files::find_in(environment, root, task)? {
        FoundPlan::Planned(loaded) => *loaded,
        FoundPlan::Wrong(wrong) => return Err(wrong.error),
    };
    let mut opened = opening::open(environment, launcher, &loaded, None)?;
    opened.workspace.expect_one_run();
    let RunControl { control, .. } = &RunControl::begin(environment.caller())?;
    let wish = RunWish { fresh_caches: true, ..RunWish::default() };
    let output = if options.json { RunOutput::Nothing } else { RunOutput::Screen };
    let view = RunView { output, failures: FailuresShown::default() };
    let end = run::run_task(&wish, view, &loaded, &mut opened, environment, control)?;
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
    let loaded = match specification_files::find_in(environment, root, task_id)? {
        FoundPlan::Planned(loaded) => *loaded,
        FoundPlan::Wrong(wrong) => return refuse(&run_options(options, root), environment, launcher, *wrong),
    };
    let OpenedRetest { loaded, opened, number, budget } = grant_retest(environment, launcher, loaded)?;
    say_granted(number, budget);
    run::run_here(&run_options(options, &loaded.root), &loaded, opened, environment)
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
        all: false,
        known: false,
        failures: FailuresShown::default(),
        json: options.json,
        github: false,
        format: None,
        identity: None,
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
