//! `proctor plan`: shows what a run would do. Nothing is run or recorded.

use std::time::Duration;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::specification_arguments::PlanOptions;
use crate::cli::specification_files;
use proctor_model::{Action, CommandExit, JudgedBy, Plan, PlanNote, PlanOrigin, TaskId};
use proctor_plan::config::duration_text;

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

/// One action of the plan. The values of its environment variables are not shown, because they may be secrets.
#[derive(Debug)]
struct ActionV1<'p>(&'p Action);

impl Serialize for ActionV1<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(action) = self;
        let optional = usize::from(action.control) + usize::from(!action.writes.is_empty());
        let mut fields = serializer.serialize_struct("ActionV1", 23 + optional)?;
        fields.serialize_field("id", &action.id)?;
        fields.serialize_field("phase", &action.phase)?;
        fields.serialize_field("type", &action.kind.action_type())?;
        fields.serialize_field("name", &action.name)?;
        fields.serialize_field("description", &action.description)?;
        fields.serialize_field("tool", &action.tool)?;
        fields.serialize_field("class", &action.class)?;
        fields.serialize_field("command", &action.command)?;
        fields.serialize_field("directory", &action.directory.display().to_string())?;
        fields.serialize_field("environment", &action.environment.keys().collect::<Vec<_>>())?;
        fields.serialize_field("timeoutMs", &millis(action.timeout))?;
        fields.serialize_field("idleTimeoutMs", &action.idle_timeout.map(millis))?;
        fields.serialize_field("maxOutputBytes", &action.max_output.map(|size| size.0))?;
        fields.serialize_field("graceMs", &millis(action.grace))?;
        fields.serialize_field("paths", &action.paths)?;
        fields.serialize_field("expectedExitCodes", &action.expected_exit_codes)?;
        fields.serialize_field("policy", &action.policy)?;
        fields.serialize_field("reuse", &action.reuse)?;
        fields.serialize_field("isService", &action.service.is_some())?;
        fields.serialize_field("retryAttempts", &action.retry_attempts)?;
        fields.serialize_field("continueOnFailure", &action.continue_on_failure)?;
        fields.serialize_field("after", &action.after)?;
        fields.serialize_field("onSurvivors", &action.on_survivors)?;
        if action.control {
            fields.serialize_field("control", &true)?;
        }
        if !action.writes.is_empty() {
            fields.serialize_field("writes", &action.writes)?;
        }
        fields.end()
    }
}

pub(crate) fn execute(options: &PlanOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let environment = &environment.with_values(&options.planned.values.set);
    let plan = specification_files::load(environment, options.place.path(), options.planned.task.as_deref())?.plan;
    if options.json {
        render::document(&PlanV1::of(&plan));
    } else {
        lines(&plan).iter().for_each(render::line);
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
    if !action.writes.is_empty() {
        details.push(format!("keeps {} in the project", action.writes.join(", ")));
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
            actions: plan.actions().map(ActionV1).collect(),
            notes: &plan.notes,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
