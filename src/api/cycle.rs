//! A task's red, green, refactor cycle: looked at and changed. A change is asked for by [`CycleRequest`](crate::model::CycleRequest).

use serde::{Deserialize, Serialize};

use crate::model::{TaskId, TddState};

/// The answer of both `…/phase` routes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CycleV1 {
    /// The task.
    pub task: TaskId,
    /// Its state, as `proctor tdd show --json` prints it.
    pub state: TddState,
}
