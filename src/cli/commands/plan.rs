//! `proctor plan`: shows what a run would do. Nothing is run or recorded.

use crate::cli::render;
use crate::cli::screen;
use crate::cli::specification_arguments::PlanOptions;
use proctor_app::plan::PlanV1;
use proctor_app::project::specification_files;
use proctor_app::{CommandError, Environment};
use proctor_model::{Action, CommandExit, JudgedBy, Plan, PlanOrigin, Shards};
use proctor_plan::config::duration_text;

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
    lines.extend(plan.tests_not_run.as_deref().map(|tests| format!("  {}", screen::tests_not_run(tests))));
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
    match action.shards {
        Some(Shards::Number(number)) => details.push(format!("{number} shards")),
        Some(Shards::Cores) => details.push("a shard for each processor".to_owned()),
        None => {}
    }
    if !action.when.is_save() {
        details.push("only with `proctor run --all` or `proctor gate --run`".to_owned());
    }
    if !action.network.is_open() {
        details.push(format!("network {}", action.network.word()));
    }
    if let Some(policy) = &action.policy {
        details.push(format!("policy {}", policy.block_on.word()));
    }
    if action.tool.judged_by() == JudgedBy::ExitCode && action.expected_exit_codes != [0] {
        let codes: Vec<String> = action.expected_exit_codes.iter().map(ToString::to_string).collect();
        details.push(format!("exit codes {} succeed", codes.join(", ")));
    }
    if let Some(report) = &action.report {
        details.push(format!("judged by {}", report.file));
    }
    if !action.writes.is_empty() {
        details.push(format!("keeps {} in the project", action.writes.join(", ")));
    }
    details
}
