//! Requests that read or change the red, green, refactor cycle of a task.

use serde::{Deserialize, Serialize};

use proctor_model::{TaskId, TddState};

/// The answer of `GET` and `POST /v1/projects/{id}/phase`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CycleV1 {
    pub task: TaskId,
    /// The same state as `proctor tdd show --json` prints.
    pub state: TddState,
}
