//! `proctor gate`: says whether a commit is proved by the runs that there are, and with `--run` makes those that are missing.

use std::path::Path;

use crate::cli::commands::gate_hook;
use crate::cli::commands::run::{RunOutput, RunView, run_task};
use crate::cli::environment;
use crate::cli::gate_arguments::GateOptions;
use crate::cli::render;
use crate::cli::screen::{self, FailuresShown};
use proctor_app::gate::{
    AskedFor, AttestedWhere, CommitGateV1, GateAnswer, GateQuestion, NotesQuestion, RunOfCommit, has_check_on_request, judge,
    missing_runs, open_repository, run_missing,
};
use proctor_app::project::{LoadedProject, RunResources, opening, setup};
use proctor_app::run::RunWish;
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;
use proctor_project::ProjectRepository;
use proctor_sandbox::process::Control;

pub(crate) fn execute(options: &GateOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    if let Some(hook) = options.install {
        return gate_hook::install(hook, &root, environment);
    }
    if let Some(hook) = options.uninstall {
        return gate_hook::uninstall(hook, &root, environment);
    }
    if options.pushed {
        return gate_hook::answer(options, &root, environment);
    }
    let repository = open_repository(&root)?;
    let (revision, policy_from) = (options.revision.as_str(), options.policy_from.as_deref());
    let question = GateQuestion { revision, asked_for: AskedFor::Branch(revision), policy_from, notes: notes(options) };
    let output = if options.json { RunOutput::Nothing } else { RunOutput::Screen };
    let missing = if options.run { MissingRuns::AreMade } else { MissingRuns::AreNamed };
    let answer = answer(&question, missing, environment, (&root, &repository), output)?;
    if options.json {
        render::document(&CommitGateV1::of(&answer));
    } else {
        screen::gate_lines(&answer, environment::style(environment)).iter().for_each(render::line);
    }
    Ok(answer.state.exit())
}

/// Returns what the command line asks for of what others attested; `None` if it asks for nothing.
fn notes(options: &GateOptions) -> Option<NotesQuestion<'_>> {
    let source = match (options.from_notes, options.from_bundle.is_empty()) {
        (true, _) => AttestedWhere::NotesAndBundles,
        (false, false) => AttestedWhere::BundlesAlone,
        (false, true) => return None,
    };
    Some(NotesQuestion { source, bundles: &options.from_bundle, signers: options.signers.as_deref() })
}

/// What is done about runs that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingRuns {
    AreNamed,
    AreMade,
    /// They are made if a check of the commit runs only when it is asked for.
    AreMadeWhereAsked,
}

/// Answers a question. If something is missing and `made` says so, runs it first.
pub(super) fn answer(
    question: &GateQuestion<'_>,
    made: MissingRuns,
    environment: &Environment,
    place: (&Path, &ProjectRepository),
    output: RunOutput,
) -> Result<GateAnswer, CommandError> {
    // The launcher is started while this process has a single thread.
    let launcher = match made {
        MissingRuns::AreNamed => None,
        MissingRuns::AreMade | MissingRuns::AreMadeWhereAsked => Some(opening::start_launcher(environment)?),
    };
    let answer = judge(question, environment, place)?;
    let Some(launcher) = launcher else { return Ok(answer) };
    let missing = missing_runs(&answer);
    let is_left = made == MissingRuns::AreMadeWhereAsked && !has_check_on_request(&answer, place.1)?;
    if missing.is_empty() || is_left {
        return Ok(answer);
    }
    let view = RunView { output, failures: FailuresShown::default() };
    let mut run =
        |environment: &Environment, wish: &RunWish, loaded: &LoadedProject, opened: &mut RunResources, control: &Control| {
            let end = run_task(wish, view, loaded, opened, environment, control);
            end.map(|end| end.exit)
        };
    match run_missing(&answer, &missing, launcher, (environment, place), &mut run)? {
        RunOfCommit::Made => Ok(GateAnswer { was_run: true, ..judge(question, environment, place)? }),
        RunOfCommit::NotRun(why) => Ok(GateAnswer { not_run: Some(why), ..answer }),
    }
}
