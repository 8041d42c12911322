//! The log record of a routing decision (R8). `run/` writes it after the decision: the router itself logs nothing.

use proctor_model::{CategoryCode, RouteEntry, RunId, TaskId};

/// Logs one record at level INFO with task, run, phase, exit code, category, route and reason. `-` stands for a missing
/// value.
pub fn emit_decision(task: &TaskId, run: &RunId, entry: &RouteEntry, category: Option<CategoryCode>) {
    let code = entry.exit_code.map_or_else(|| "-".to_owned(), |code| code.to_string());
    tracing::info!(
        task = %task,
        run = %run,
        phase = entry.phase.name(),
        code = %code,
        category = %category_label(category),
        route = entry.destination.next_node.label(),
        reason = %entry.destination.reason,
        "route decided"
    );
}

fn category_label(category: Option<CategoryCode>) -> String {
    // Reports name a category by its serde name, and the log must use the same name.
    category
        .and_then(|category| serde_json::to_value(category).ok())
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_else(|| "-".to_owned())
}
