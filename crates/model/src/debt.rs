//! The settings of a task for its technical debt: whether debt items are written, and where they go (specification
//! 2.0.0, `technicalDebtConfiguration`).

use proctor_wire::wire;

use crate::{DebtCategory, Severity};

/// The rule that divides debt items between the sprint (the items to be mended now) and the inventory (all other
/// items).
#[wire(Copy, Default, Hash, screaming)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema), schemars(inline))]
pub enum DebtRouting {
    /// CRITICAL and blocking items go to the sprint, and HIGH items too while the sprint has room.
    #[default]
    CapacityBased,
    /// CRITICAL, blocking and HIGH items go to the sprint.
    SeverityBased,
    /// A person decides for each item.
    Manual,
}

/// A failure that the specification expects to be likely (`technicalDebtExpectations.likelyFailures`).
#[wire(open, written, schema, sparse)]
pub struct LikelyFailure {
    pub scenario: String,
    /// The category that the specification gives a debt item for this failure.
    pub category: DebtCategory,
    /// The severity that the specification gives a debt item for this failure.
    pub severity: Severity,
    pub suggested_fix: Option<String>,
}

/// The settings by which a task's failures become debt items.
#[wire(open, written, schema)]
pub struct DebtSettings {
    /// Whether failures become debt items; if false, no debt file is written.
    pub enabled: bool,
    /// How items are divided between the sprint and the inventory.
    pub routing: DebtRouting,
    /// The limit for the number of items in a sprint. CRITICAL and blocking items are added even beyond this limit, and
    /// the sprint is then marked as over capacity.
    pub sprint_max_items: u32,
    /// The limit for the number of CRITICAL items in a sprint. A sprint with more of them is marked as over capacity;
    /// every item stays where it is.
    pub sprint_max_critical: u32,
    /// The severities of the failures that become debt items.
    pub severities: Vec<Severity>,
    pub likely_failures: Vec<LikelyFailure>,
    /// The tasks that this task depends on, as written in the specification.
    pub dependencies: Vec<String>,
}

impl Default for DebtSettings {
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

/// Where a debt item goes when it is written.
#[wire(Copy, Hash, screaming, schema)]
pub enum DebtDestination {
    SprintTasks,
    Inventory,
    /// Neither the sprint nor the inventory: a person has to decide where the item goes.
    Unrouted,
}

/// Whether a debt item is in the sprint, in the inventory, or in neither yet.
#[wire(Copy, Hash, screaming, schema)]
pub enum InventoryStatus {
    InSprint,
    InInventory,
    /// Nobody has decided yet whether the item belongs to the sprint or to the inventory.
    Unrouted,
}

/// Whether the work on a debt item adds something missing or corrects something wrong (C41, C42).
#[wire(Copy, Hash, screaming, schema)]
pub enum WorkType {
    /// An endpoint, a file or a symbol is missing.
    Feature,
    /// Something exists but does not work as it should.
    BugFix,
}

/// Whether a debt item is about the code or about the machine that the checks run on (C49).
#[wire(Copy, Hash, lower, schema)]
pub enum DebtOrigin {
    Code,
    /// The environment that the checks need, such as an installed tool or a running server.
    Environment,
}
