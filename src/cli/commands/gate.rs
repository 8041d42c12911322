//! `proctor gate`: says whether a commit is proved by the runs that there are, and with `--run` makes those that are missing.

use crate::cli::commands::run::{RunOutput, RunView, run_task};
use crate::cli::commands::{gate_hook, github, share};
use crate::cli::gate_arguments::GateOptions;
use crate::cli::screen::{self, FailuresShown};
use crate::cli::{environment, render};
use proctor_app::gate::{
    AskedFor, AttestedWhere, CommitGateV1, GateAnswer, GateQuestion, NotesQuestion, RunOfCommit, has_check_on_request, judge,
    missing_runs, open_repository, run_missing,
};
use proctor_app::project::{LoadedProject, RunResources, opening, setup};
use proctor_app::run::RunWish;
use proctor_app::share::{Share, approved_share};
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
    let shared = match (options.from_notes, options.from_bundle.is_empty()) {
        (true, _) => share::approved(environment, &root)?,
        (false, true) => approved_share(environment, &mut opening::open_archive(environment)?, &root)?,
        (false, false) => Share::default(),
    };
    let (revision, policy_from) = (options.revision.as_str(), options.policy_from.as_deref());
    let question =
        GateQuestion { revision, asked_for: AskedFor::Branch(revision), policy_from, notes: Some(notes(options, &shared)) };
    let output = if options.json { RunOutput::Nothing } else { RunOutput::Screen };
    if options.github {
        render::guard_job_log();
    }
    let answer = answer(&question, Missing::of(options), environment, &repository, output).inspect_err(|error| {
        if options.github {
            github::tell_error(error)
        }
    })?;
    if options.json {
        render::document(&CommitGateV1::of(&answer));
        return Ok(answer.state.exit());
    }
    let lines = screen::gate_lines(&answer, environment::style(environment));
    lines.iter().for_each(render::line);
    if options.github {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        github::tell_gate(environment, &lines, answer.state.exit());
    }
    Ok(answer.state.exit())
}

/// Returns what the command line asks for of what others attested.
fn notes<'a>(options: &'a GateOptions, shared: &'a Share) -> NotesQuestion<'a> {
    let source = match (options.from_notes, options.from_bundle.is_empty()) {
        (true, _) => AttestedWhere::NotesAndBundles,
        (false, false) => AttestedWhere::BundlesAlone,
        (false, true) => return NotesQuestion::unasked(shared),
    };
    let shared = shared.directory.as_ref();
    NotesQuestion { source, bundles: &options.from_bundle, signers: options.signers.as_deref(), shared }
}

/// What is done about runs that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Left,
    Run,
    /// They are run, and GitHub Actions is told what failed in them.
    RunForGithub,
    /// They are run if a check of the commit runs only when it is asked for.
    RunWhereAsked,
}

impl Missing {
    /// Returns what the command line says.
    pub(super) fn of(options: &GateOptions) -> Self {
        match (options.run, options.github) {
            (false, _) => Self::Left,
            (true, false) => Self::Run,
            (true, true) => Self::RunForGithub,
        }
    }
}

/// Answers a question. If something is missing and `missing` says so, runs it first.
pub(super) fn answer(
    question: &GateQuestion<'_>,
    missing: Missing,
    environment: &Environment,
    repository: &ProjectRepository,
    output: RunOutput,
) -> Result<GateAnswer, CommandError> {
    // The launcher is started while this process has a single thread.
    let is_run = missing != Missing::Left;
    let launcher = if is_run { Some(opening::start_launcher(environment)?) } else { None };
    let answer = judge(question, environment, repository)?;
    let Some(launcher) = launcher else { return Ok(answer) };
    let runs = missing_runs(&answer);
    let is_left = missing == Missing::RunWhereAsked && !has_check_on_request(&answer, repository)?;
    if runs.is_empty() || is_left {
        return Ok(answer);
    }
    let view = RunView { output, failures: FailuresShown::default() };
    let mut run =
        |environment: &Environment, wish: &RunWish, loaded: &LoadedProject, opened: &mut RunResources, control: &Control| {
            let end = run_task(wish, view, loaded, opened, environment, control)?;
            if let Some((report, _)) = end.report.as_ref().filter(|_| missing == Missing::RunForGithub) {
                github::tell(environment, &loaded.root, report);
            }
            Ok(end.exit)
        };
    match run_missing(&answer, &runs, launcher, (environment, repository), &mut run)? {
        RunOfCommit::Made => Ok(GateAnswer { was_run: true, ..judge(question, environment, repository)? }),
        RunOfCommit::NotRun(why) => Ok(GateAnswer { not_run: Some(why), ..answer }),
    }
}
