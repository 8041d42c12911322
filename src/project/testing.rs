//! Values the tests of this folder share.

use crate::model::{Action, ActionPhase, Plan, PlanOrigin, TaskId, Tool, testing};

/// Returns a plain GENERIC action of a phase.
pub(crate) fn action(phase: ActionPhase) -> Action {
    testing::action(Tool::Generic, phase)
}

/// Returns a plan that does nothing.
pub(crate) fn plan() -> Plan {
    Plan::empty(TaskId::default_task(), "project".into(), PlanOrigin::Configured)
}
