//! `proctor-govern --list`: lists the unfinished workflows of a project from their checkpoints.

use serde::Serialize;

use crate::cli::render;
use crate::cli::review_arguments::{GOVERN, GovernOptions};
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_govern::governance::{IssueVerdict, WorkflowCounters, WorkflowGate, WorkflowState, WorkflowTurn};
use proctor_govern::workflow::{WaitingWorkflow, list_waiting_workflows};
use proctor_model::{CommandExit, Timestamp};

const SCHEMA: &str = "proctor-workflows-v1";

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WorkflowsV1 {
    schema: &'static str,
    workflows: Vec<WorkflowV1>,
}

/// A workflow that is not finished.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WorkflowV1 {
    slug: String,
    /// The name of the step at which the workflow stands. Null if this version of proctor cannot read the workflow's
    /// checkpoint, because another version wrote it.
    node: Option<&'static str>,
    /// The gate at which a person has to decide; null if a model or proctor itself has to act.
    gate: Option<WorkflowGate>,
    waits_for: String,
    since: Option<Timestamp>,
    brief_file: Option<String>,
    verdict: Option<IssueVerdict>,
    iterations: Option<u32>,
    drafts: Option<u32>,
    verdicts: Option<u32>,
    /// The number of the issue; null until it is filed.
    issue: Option<u64>,
    /// The command that resumes the workflow, as a program and its arguments.
    next: Vec<String>,
}

pub(super) fn execute(options: &GovernOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let mut archive = opening::open_archive(environment)?;
    let project = archive.find_project(&root)?;
    let listed = project.map_or(Ok(Vec::new()), |project| list_waiting_workflows(&archive.store, &project));
    let listed = listed.map_err(|error| CommandError::of(error.exit(), &error).hint(error.hint()))?;
    let workflows: Vec<WorkflowV1> = listed.into_iter().map(described).collect();
    if options.json {
        render::document(&WorkflowsV1 { schema: SCHEMA, workflows });
        return Ok(CommandExit::Proceed);
    }
    if workflows.is_empty() {
        render::note("no workflow waits: `proctor-govern --brief FILE` begins one");
    }
    workflows.iter().flat_map(lines).for_each(|line| render::line(&line));
    Ok(CommandExit::Proceed)
}

fn described(waiting: WaitingWorkflow) -> WorkflowV1 {
    let state = waiting.state.as_ref();
    let counted = |count: fn(&WorkflowCounters) -> u32| state.map(|state| count(&state.counters));
    WorkflowV1 {
        node: state.map(WorkflowState::node_name),
        gate: state.map(WorkflowState::turn).and_then(|turn| match turn {
            WorkflowTurn::Person(gate) => Some(gate),
            WorkflowTurn::Drafter | WorkflowTurn::Reviewer | WorkflowTurn::Workflow => None,
        }),
        waits_for: state
            .map_or_else(|| "the proctor that has begun it: it is of another version".to_owned(), WorkflowState::waits_for),
        since: waiting.since,
        brief_file: state.map(|state| state.brief_name.clone()),
        verdict: state.and_then(WorkflowState::verdict),
        iterations: counted(|counters| counters.iterations),
        drafts: counted(|counters| counters.drafts),
        verdicts: counted(|counters| counters.verdicts),
        issue: state.and_then(WorkflowState::issue),
        next: [GOVERN, "--resume", &waiting.slug].map(str::to_owned).to_vec(),
        slug: waiting.slug,
    }
}

fn lines(workflow: &WorkflowV1) -> [String; 2] {
    let node = workflow.node.map(|node| format!(" · {node}")).unwrap_or_default();
    let since = workflow.since.map(|since| format!(" · since {since}")).unwrap_or_default();
    let next = workflow.next.join(" ");
    [format!("{}{node}{since}", workflow.slug), format!("  waits for {}; go on with `{next}`", workflow.waits_for)]
}
