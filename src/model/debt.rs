//! What a task says about its technical debt: whether it is written down, and where items go (specification 2.0.0,
//! `technicalDebtConfiguration`).

use serde::{Deserialize, Serialize};

use crate::model::{DebtCategory, Severity};

/// What decides between the sprint and the inventory (facts, 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DebtRouting {
    /// CRITICAL and blocking items go to the sprint, HIGH ones while it has room.
    #[default]
    CapacityBased,
    /// CRITICAL, blocking and HIGH items go to the sprint.
    SeverityBased,
    /// A person decides.
    Manual,
}

/// A failure that the specification calls likely (`technicalDebtExpectations.likelyFailures`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LikelyFailure {
    /// What happens.
    pub scenario: String,
    /// The category its debt has.
    pub category: DebtCategory,
    /// The severity its debt has.
    pub severity: Severity,
    /// What would mend it, where the specification says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_fix: Option<String>,
}

/// How the debt of a task is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DebtSettings {
    /// Whether failures become debt; if not, no debt file is written.
    pub enabled: bool,
    /// What decides between the sprint and the inventory.
    pub routing: DebtRouting,
    /// The most items of a sprint. CRITICAL and blocking items go there nevertheless, and it is then said to be over capacity.
    pub sprint_max_items: u32,
    /// The most CRITICAL items of a sprint; more of them are said to be over capacity, nothing else.
    pub sprint_max_critical: u32,
    /// The severities that become items.
    pub severities: Vec<Severity>,
    /// The failures that are likely.
    pub likely_failures: Vec<LikelyFailure>,
    /// The tasks that the task depends on, in the specification's words.
    pub dependencies: Vec<String>,
}

impl Default for DebtSettings {
    /// Returns schema 2.0.0's own defaults.
    fn default() -> Self {
        Self {
            enabled: true,
            routing: DebtRouting::CapacityBased,
            sprint_max_items: 6,
            sprint_max_critical: 4,
            severities: Severity::ALL.to_vec(),
            likely_failures: Vec::new(),
            dependencies: Vec::new(),
        }
    }
}

/// Where an item goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DebtDestination {
    /// To the sprint.
    SprintTasks,
    /// To the inventory.
    Inventory,
    /// Where a person says.
    Unrouted,
}

/// What the inventory says of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum InventoryStatus {
    /// It is in the sprint.
    InSprint,
    /// It waits.
    InInventory,
    /// Nobody has routed it.
    Unrouted,
}

/// Whether something is missing or wrong (C41, C42).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WorkType {
    /// An endpoint, a file or a symbol is not there.
    Feature,
    /// What is there is wrong.
    BugFix,
}

/// What is to be mended (C49).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DebtOrigin {
    /// The code.
    Code,
    /// What the checks need around it.
    Environment,
}
