//! The plans of a project's tasks on the worker's thread, and what happens if a task has none: the refusal of its run is
//! sealed.

use crate::project_source::ProjectDefinition;
use crate::worker::{RunFailure, WorkerReport, WorkerState};
use proctor_model::{Plan, TaskId, Trigger};
use proctor_project::{MissingOwnPlan, PlanlessReason, ProjectError, TaskError};
use proctor_run::RefusedRequest;
use proctor_tree::TreeHints;

/// Why a task has no plan, in lines for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MissingPlan {
    /// The configuration is wrong, or the project has no checks of its own.
    Wrong(Vec<String>),
    /// The task's specification has errors.
    Faulty(Vec<String>),
    /// No specification defines the task.
    Unknown(Vec<String>),
}

impl WorkerState {
    /// Returns the plan of a task, or lines for people if the task has none. A specification is read only when its own
    /// task is requested.
    pub(super) fn plan_of(
        &mut self,
        reloaded: &mut ProjectDefinition,
        task: &TaskId,
        hints: &TreeHints,
    ) -> Result<Result<Plan, MissingPlan>, ProjectError> {
        if *task == TaskId::default_task() {
            let taken = MissingOwnPlan { reason: PlanlessReason::Wrong, lines: Vec::new() };
            let missing = match std::mem::replace(&mut reloaded.default_plan, Err(taken)) {
                Ok(plan) => return Ok(Ok(plan)),
                Err(missing) => missing,
            };
            // In a project without checks, the errors in its specification files say why nothing can be run.
            let mut lines = missing.lines;
            if missing.reason == PlanlessReason::WithoutChecks {
                let specifications = self.workspace.read_specifications(&reloaded.settings, &self.scope, hints)?;
                lines.extend(specifications.faults_without_task().into_iter().map(ToString::to_string));
            }
            return Ok(Err(MissingPlan::Wrong(lines)));
        }
        let by = (&reloaded.settings, &reloaded.configuration);
        let read = self.workspace.plan_of_task(by, &self.scope, task, hints)?;
        Ok(read.map_err(|error| match error {
            TaskError::Unknown { .. } => MissingPlan::Unknown(error.lines()),
            TaskError::Twice { .. } | TaskError::Wrong { .. } => MissingPlan::Faulty(error.lines()),
            TaskError::Approval { .. } => MissingPlan::Wrong(error.lines()),
        }))
    }

    /// Seals the refusal of a run whose task has errors in its specification, so that the task's report says so. The same
    /// errors are sealed once in a row: a save that leaves them as they are adds nothing.
    pub(super) fn refuse(
        &mut self,
        (task, trigger): (&TaskId, Trigger),
        reloaded: &ProjectDefinition,
        lines: Vec<String>,
    ) -> RunFailure {
        if self.refused.get(task) == Some(&lines) {
            return RunFailure::Configuration(lines);
        }
        let ProjectDefinition { settings, configuration, .. } = reloaded;
        let refusal = RefusedRequest { task, scope: &self.scope, settings, configuration, trigger };
        let report = &self.report;
        let sealed = proctor_run::refuse(&mut self.workspace, &refusal, &mut |progress| {
            let _gone = report(WorkerReport::Progress(progress));
        });
        match sealed {
            Ok(Some(sealed)) => {
                self.refused.insert(task.clone(), lines.clone());
                RunFailure::Specification { lines, sealed: Box::new(sealed) }
            }
            // The errors were corrected a moment ago: the save that did it starts the next run.
            Ok(None) => RunFailure::Configuration(lines),
            Err(error) => RunFailure::Run(error),
        }
    }
}
