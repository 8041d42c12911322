//! `proctor-govern`: runs the issue workflow at a terminal.

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;

use crate::cli::commands::at_gates::{Editor, TerminalPerson};
use crate::cli::commands::waiting;
use crate::cli::review_arguments::GovernOptions;
use crate::cli::{environment, render};
use proctor_app::project::{LoadedProject, RunResources, opening, setup};
use proctor_app::refusals::not_approved_error;
use proctor_app::{CommandError, Environment, RunControl};
use proctor_evidence::Store;
use proctor_git::find_git_location;
use proctor_govern::governance::{PauseReason, Slug, WorkflowEnding, WorkflowLimits, slug_from_file_name};
use proctor_govern::workflow::{
    Consultation, ModelCommand, ModelRole, ToolEnd, ToolRequest, WorkflowBeginning, WorkflowError, WorkflowHost, WorkflowModels,
    WorkflowProject, WorkflowRunner, WorkflowSettings,
};
use proctor_model::{Action, ActionEnd, CommandExit, EndedAction, GovernanceRecord, Prompt, Review, StopReason};
use proctor_plan::config::{Configuration, GovernSettings};
use proctor_plan::spec;
use proctor_project::{Progress, ProjectError, ProjectScope, ProjectSettings, Workspace};
use proctor_run::collaboration::{ModelRequest, OwnToolRequest, consult, record_governance, run_own_tool};
use proctor_sandbox::process::Control;

/// Variables that make the tracker's command-line tool ask nothing and print only the result.
const TRACKER_ENVIRONMENT: &[(&str, &str)] =
    &[("GH_PROMPT_DISABLED", "1"), ("GH_NO_UPDATE_NOTIFIER", "1"), ("NO_COLOR", "1"), ("GH_PAGER", "cat"), ("LC_ALL", "C.UTF-8")];

pub(crate) fn execute(options: &GovernOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    if options.list {
        return waiting::execute(options, environment);
    }
    let launcher = opening::start_launcher(environment)?;
    let root = setup::project_root(environment, &options.project)?;
    let (configuration, _) = setup::configuration(environment, &root)?;
    let settings = workflow_settings(&configuration.govern, options.repo.clone())?;
    let beginning = beginning(options, environment)?;
    let git = find_git_location(&root).ok_or_else(|| {
        CommandError::new(CommandExit::CodeNeedsWork, format!("`{}` is in no git repository", root.display())).hint(
            "the trail of a workflow is committed, and models get a copy of the last commit: `git init`, then commit something",
        )
    })?;
    let actions = [&settings.models.drafter, &settings.models.reviewer].map(|model| model_action(model, &configuration, &root));
    let [drafter, reviewer] = actions;
    let loaded =
        LoadedProject { root: root.clone(), plan: plan(&settings.models.drafter, &configuration, &root)?, configuration };
    let RunResources { mut workspace, scope, settings: run_settings, .. } = opening::open(environment, launcher, &loaded, None)?;
    // A model runs under the settings of the project, so nobody is consulted under settings that no person approved.
    let unapproved = workspace.unapproved_settings(&scope.project, &loaded.plan.settings);
    if let Some(unapproved) = unapproved? {
        return Err(not_approved_error(environment, &unapproved));
    }
    let store = Store::open(environment.state_root()).map_err(|error| CommandError::of(CommandExit::OwnFault, &error))?;
    let place = WorkflowProject { store, id: scope.project.clone(), root, git };
    let RunControl { control, .. } = &RunControl::begin(environment.caller())?;
    let mut hands = RunHands {
        workspace,
        scope,
        settings: run_settings,
        govern: &loaded.configuration.govern,
        drafter: drafter?,
        reviewer: reviewer?,
        tracker: settings.tracker.first().cloned().unwrap_or_default(),
        control,
    };
    let editor = Editor { command: settings.editor.clone(), root: place.root.clone(), path: search_path(environment) };
    let mut person = TerminalPerson::new(editor, environment, control);
    let user = environment.asker().uid;
    let run_plan = || {
        let mut workflow = WorkflowRunner::open(&settings, &place, (&mut hands, &mut person), user)?;
        workflow = workflow.observed_by(environment::workflow_points(environment));
        let (ending, slug) = workflow.run(beginning)?;
        let is_kept = workflow.has_checkpoint(&slug)?;
        Ok(EndedWorkflow { ending, slug, is_kept })
    };
    let over = run_plan().map_err(|error: WorkflowError| {
        let is_terminated = error.exit() == CommandExit::Interrupted && control.in_force() == Some(StopReason::Terminated);
        let exit = if is_terminated { CommandExit::Terminated } else { error.exit() };
        CommandError::of(exit, &error).hint(error.hint())
    })?;
    match (&over.ending, control.in_force()) {
        (WorkflowEnding::Paused(_) | WorkflowEnding::Refused(_), Some(reason)) => Err(interrupted(reason, &over)),
        _ => show(&over, &settings),
    }
}

struct EndedWorkflow {
    ending: WorkflowEnding,
    slug: Slug,
    /// Whether the workflow can be resumed by this slug.
    is_kept: bool,
}

fn beginning(options: &GovernOptions, environment: &Environment) -> Result<WorkflowBeginning, CommandError> {
    let Some(resumed) = &options.resume else {
        let brief = options.brief.as_deref().unwrap_or(Path::new(""));
        return Ok(WorkflowBeginning::Brief(environment.absolute(brief)));
    };
    let named = Slug::try_from(resumed.clone()).or_else(|_| {
        let file = Path::new(resumed).file_name().map(|name| name.to_string_lossy().into_owned());
        slug_from_file_name(&file.unwrap_or_default())
    });
    named.map(WorkflowBeginning::Resume).map_err(|error| {
        CommandError::of(CommandExit::Usage, &error)
            .hint("name the workflow as its directory in `docs/audit/active` is called, or its brief")
    })
}

fn workflow_settings(govern: &GovernSettings, repo: Option<String>) -> Result<WorkflowSettings, CommandError> {
    let model = |key: &str, settings: &proctor_plan::config::ModelSettings| match &settings.command {
        Some(command) => Ok(ModelCommand { name: settings.name.clone(), command: command.clone() }),
        None => Err(CommandError::new(CommandExit::SpecificationWrong, format!("no {key} is configured")).hint(format!(
            "write `[govern.{key}]` with a `command` into proctor.toml: a program that reads a prompt and prints its answer"
        ))),
    };
    Ok(WorkflowSettings {
        editor: govern.editor.clone(),
        tracker: govern.tracker.clone(),
        repo: govern.repo.clone(),
        repo_override: repo,
        trail: govern.trail.clone(),
        limits: WorkflowLimits { iterations: govern.max_iterations, attempts: govern.max_attempts },
        models: WorkflowModels { drafter: model("drafter", &govern.drafter)?, reviewer: model("reviewer", &govern.reviewer)? },
    })
}

fn plan(model: &ModelCommand, configuration: &Configuration, root: &Path) -> Result<proctor_model::Plan, CommandError> {
    let review = Review { prompt: Prompt::Nothing, accept_split_emphasis: false };
    spec::plan_review(&model.command, review, configuration, &setup::directory_name(root))
        .map_err(|problems| setup::from_problems(&problems))
}

fn model_action(model: &ModelCommand, configuration: &Configuration, root: &Path) -> Result<Action, CommandError> {
    let mut steps = plan(model, configuration, root)?.steps;
    Ok(Action { name: model.name.clone(), ..steps.remove(0) })
}

fn search_path(environment: &Environment) -> OsString {
    environment.variable("PATH").map(OsString::from).unwrap_or_default()
}

impl EndedWorkflow {
    /// Returns the hint how to resume the workflow or begin again.
    fn again(&self) -> String {
        let slug = &self.slug;
        if self.is_kept {
            format!("nothing is lost; go on with `proctor-govern --resume {slug}`")
        } else {
            "nothing was made; begin again with `proctor-govern --brief FILE`".to_owned()
        }
    }
}

/// Returns the error after a signal such as Ctrl-C. The signal answers no question, so a workflow that is kept still waits for
/// the person.
fn interrupted(reason: StopReason, over: &EndedWorkflow) -> CommandError {
    let exit = if reason == StopReason::Terminated { CommandExit::Terminated } else { CommandExit::Interrupted };
    let message = if over.is_kept { format!("interrupted: `{}` waits", over.slug) } else { "interrupted".to_owned() };
    CommandError::new(exit, message).hint(over.again())
}

fn show(over: &EndedWorkflow, settings: &WorkflowSettings) -> Result<CommandExit, CommandError> {
    let trail = || format!("{}/active/{}", settings.trail, over.slug);
    let (exit, line) = match &over.ending {
        WorkflowEnding::Filed(issue) => {
            render::line(&format!("Issue #{} filed", issue.number));
            (CommandExit::Proceed, issue.url.clone())
        }
        WorkflowEnding::NotBegun => (CommandExit::Proceed, "Nothing was begun.".to_owned()),
        WorkflowEnding::Resume => (CommandExit::OwnFault, over.again()),
        WorkflowEnding::Refused(why) => {
            let again = if over.is_kept { over.again() } else { "mend that, then begin again".to_owned() };
            return Err(CommandError::new(CommandExit::CodeNeedsWork, why).hint(again));
        }
        WorkflowEnding::Aborted => {
            let message = format!("the issue was not filed; its trail stays in `{}`", trail());
            return Err(CommandError::new(CommandExit::CodeNeedsWork, message).hint(over.again()));
        }
        WorkflowEnding::Paused(PauseReason::Nobody) => {
            let message = "a gate waits for a person, and nobody is at a terminal";
            return Err(CommandError::new(CommandExit::PersonNeeded, message).hint(over.again()));
        }
        WorkflowEnding::Paused(PauseReason::Manual) => {
            render::line(&format!("Manual mode: the trail is in {}", trail()));
            (CommandExit::PersonNeeded, over.again())
        }
        WorkflowEnding::Paused(PauseReason::Failed(why)) => {
            return Err(CommandError::new(CommandExit::PersonNeeded, why).hint(over.again()));
        }
    };
    render::line(&line);
    Ok(exit)
}

/// Does the work outside of the workflow's decisions: starts models and tools, and writes the project's ledger.
struct RunHands<'a> {
    workspace: Workspace,
    scope: ProjectScope,
    settings: ProjectSettings,
    govern: &'a GovernSettings,
    drafter: Action,
    reviewer: Action,
    tracker: String,
    control: &'a Control,
}

impl WorkflowHost for RunHands<'_> {
    fn consult(&mut self, consultation: &Consultation<'_>) -> Result<EndedAction, WorkflowError> {
        let (action, model) = match consultation.role {
            ModelRole::Drafter => (&self.drafter, &self.govern.drafter),
            ModelRole::Reviewer => (&self.reviewer, &self.govern.reviewer),
        };
        let action = Action { timeout: model.timeout, ..action.clone() };
        let request = ModelRequest {
            action: &action,
            prompt: consultation.prompt,
            copy: consultation.copy,
            directory: consultation.directory,
            hidden: consultation.hidden,
            tracker: &self.tracker,
            pass_environment: &model.pass_environment,
            visible: &model.visible,
            writable: &model.writable,
            settings: &self.settings,
            control: self.control,
        };
        consult(&mut self.workspace, &request).map_err(|error| failed("ask a model", error))
    }

    fn run_tool(&mut self, tool: &ToolRequest) -> Result<ToolEnd, WorkflowError> {
        let request = OwnToolRequest {
            argv: &tool.argv,
            directory: &tool.directory,
            environment: TRACKER_ENVIRONMENT,
            timeout: self.govern.tool_timeout,
            control: self.control,
        };
        let ended = run_own_tool(&mut self.workspace, &request).map_err(|error| failed("run a tool", error))?;
        Ok(match &ended.end {
            ActionEnd::Exited { code } => {
                ToolEnd::Exited { code: *code, output: ended.captured.stdout.text(), complaint: ended.captured.stderr.text() }
            }
            ActionEnd::NotStarted(_) => {
                ToolEnd::Failed(format!("`{}` cannot be started", tool.argv.first().map(String::as_str).unwrap_or_default()))
            }
            ActionEnd::TimedOut { .. } => ToolEnd::Failed("it took longer than `tool_timeout`".to_owned()),
            ActionEnd::Signalled { signal } => ToolEnd::Failed(format!("signal {signal} ended it")),
            ActionEnd::Stopped { .. } => ToolEnd::Failed("it was stopped".to_owned()),
            ActionEnd::Lost { why } => ToolEnd::Failed(format!("how it ended is not known: {why}")),
        })
    }

    fn record(&mut self, record: GovernanceRecord) -> Result<(), WorkflowError> {
        let recorded = record_governance(&mut self.workspace, &self.scope, record, self.control, &mut |progress| {
            if matches!(progress, Progress::WaitingForLock { .. }) {
                render::note("waiting for a run of this project to end …");
            }
        });
        recorded.map_err(|error| {
            let is_stopped = matches!(error, ProjectError::StoppedWaiting(_));
            if is_stopped { WorkflowError::StoppedWaiting } else { failed("write the ledger", error) }
        })
    }
}

fn failed(what: &'static str, error: ProjectError) -> WorkflowError {
    let source: Box<dyn Error + Send + Sync> = Box::new(error);
    WorkflowError::Host { what, source }
}
