//! Values that the tests of this folder share.

use crate::model::{Action, ActionPhase, Plan, PlanOrigin, TaskId, Tool, testing};

/// Returns a plain GENERIC action of a phase.
pub(crate) fn action(phase: ActionPhase) -> Action {
    testing::action(Tool::Generic, phase)
}

/// Returns a plan without actions.
pub(crate) fn plan() -> Plan {
    Plan::empty(TaskId::default_task(), "project".into(), PlanOrigin::Configured)
}
