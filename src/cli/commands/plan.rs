//! `proctor plan`: shows what a run would do. Nothing is run or recorded.

use std::time::Duration;

use serde::Serialize;

use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::specification_arguments::PlanOptions;
use crate::cli::specification_files;
use crate::config::duration_text;
use crate::model::{
    Action, ActionId, ActionPhase, ActionType, CommandExit, CommandLine, JudgedBy, OnSurvivors, Plan, PlanNote, PlanOrigin,
    Reuse, TaskId, Tool, ToolClass, ToolPolicy,
};

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanV1<'p> {
    schema: &'static str,
    task: &'p TaskId,
    project: &'p str,
    origin: &'p PlanOrigin,
    actions: Vec<ActionV1<'p>>,
    notes: &'p [PlanNote],
}

/// One action. The values of its own variables are not shown, because they may be secrets.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ActionV1<'p> {
    id: &'p ActionId,
    phase: ActionPhase,
    r#type: ActionType,
    name: &'p str,
    description: &'p str,
    tool: Tool,
    class: ToolClass,
    command: &'p CommandLine,
    directory: String,
    environment: Vec<&'p str>,
    timeout_ms: u64,
    idle_timeout_ms: Option<u64>,
    max_output_bytes: Option<u64>,
    grace_ms: u64,
    paths: &'p [String],
    expected_exit_codes: &'p [i32],
    policy: Option<&'p ToolPolicy>,
    reuse: Reuse,
    is_service: bool,
    retry_attempts: u8,
    continue_on_failure: bool,
    after: &'p [ActionId],
    on_survivors: OnSurvivors,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    control: bool,
}

pub(crate) fn execute(options: &PlanOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let plan = specification_files::load(environment, &options.directory, options.task.as_deref())?.plan;
    if options.json {
        render::document(&PlanV1::of(&plan));
    } else {
        lines(&plan).iter().for_each(|line| render::line(line));
        plan.notes.iter().for_each(|note| render::note(&format!("note: {}: {}", note.subject, note.message)));
    }
    Ok(CommandExit::Proceed)
}

fn lines(plan: &Plan) -> Vec<String> {
    let origin = match plan.origin {
        PlanOrigin::Configured => "from proctor.toml",
        PlanOrigin::Discovered => "found from the project's files",
        PlanOrigin::CommandLine => "from the command line",
        PlanOrigin::Specification => "from a test specification",
    };
    let mut lines = vec![format!("{} · task {} · {origin}", plan.project_name, plan.task)];
    for action in plan.actions() {
        lines.push(format!("  {:<9} {}", action.id.to_string(), action.name));
        lines.push(format!("            {}", action.command.display.replace('\n', "⏎")));
        lines.push(format!("            {}", details(action).join(" · ")));
    }
    lines
}

fn details(action: &Action) -> Vec<String> {
    let mut details = vec![format!("tool {}", action.tool_name())];
    if !action.directory.as_os_str().is_empty() {
        details.push(format!("in {}", action.directory.display()));
    }
    match &action.service {
        Some(service) => details.push(format!("goes on; ready within {}", duration_text(service.timeout))),
        None => details.push(format!("at most {}", duration_text(action.timeout))),
    }
    if let Some(policy) = &action.policy {
        details.push(policy.block_on.strategy().to_owned());
    }
    if action.tool.judged_by() == JudgedBy::ExitCode && action.expected_exit_codes != [0] {
        let codes: Vec<String> = action.expected_exit_codes.iter().map(ToString::to_string).collect();
        details.push(format!("exit codes {} succeed", codes.join(", ")));
    }
    details
}

impl<'p> PlanV1<'p> {
    fn of(plan: &'p Plan) -> Self {
        Self {
            schema: "proctor-plan-v1",
            task: &plan.task,
            project: &plan.project_name,
            origin: &plan.origin,
            actions: plan.actions().map(ActionV1::of).collect(),
            notes: &plan.notes,
        }
    }
}

impl<'p> ActionV1<'p> {
    fn of(action: &'p Action) -> Self {
        Self {
            id: &action.id,
            phase: action.phase,
            r#type: action.kind.action_type(),
            name: &action.name,
            description: &action.description,
            tool: action.tool,
            class: action.class,
            command: &action.command,
            directory: action.directory.display().to_string(),
            environment: action.environment.keys().map(String::as_str).collect(),
            timeout_ms: millis(action.timeout),
            idle_timeout_ms: action.idle_timeout.map(millis),
            max_output_bytes: action.max_output.map(|size| size.0),
            grace_ms: millis(action.grace),
            paths: &action.paths,
            expected_exit_codes: &action.expected_exit_codes,
            policy: action.policy.as_ref(),
            reuse: action.reuse,
            is_service: action.service.is_some(),
            retry_attempts: action.retry_attempts,
            continue_on_failure: action.continue_on_failure,
            after: &action.after,
            on_survivors: action.on_survivors,
            control: action.control,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
