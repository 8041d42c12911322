//! Decides where debt items go, one after another in the order of urgency (facts, 2.5).

use crate::report::DebtRouteV1;
use crate::report::build_debt::numbers::NumberedGroup;
use proctor_model::{DebtDestination, DebtRouting, DebtSettings, InventoryStatus, Severity};

/// Returns the route of each item. Unless a person routes all items, CRITICAL and blocking items go to the sprint even
/// if the sprint is full, because a limit must not hide them.
pub(super) fn compute_routes(groups: &[NumberedGroup<'_>], settings: &DebtSettings) -> Vec<DebtRouteV1> {
    let (mut in_sprint, mut critical) = (0, 0);
    let mut routes = Vec::new();
    for NumberedGroup { id, group } in groups {
        let (destination, reason) = route(group.severity, group.blocking, in_sprint, settings);
        let goes_to_sprint = destination == DebtDestination::SprintTasks;
        in_sprint += u32::from(goes_to_sprint);
        critical += u32::from(goes_to_sprint && group.severity == Severity::Critical);
        let too_many_critical = group.severity == Severity::Critical && critical > settings.sprint_max_critical;
        routes.push(DebtRouteV1 {
            destination,
            reason,
            inventory_correlation_id: id.as_str().replacen("DEBT-", "DEBT-INV-", 1),
            status: match destination {
                DebtDestination::SprintTasks => InventoryStatus::InSprint,
                DebtDestination::Inventory => InventoryStatus::InInventory,
                DebtDestination::Unrouted => InventoryStatus::Unrouted,
            },
            over_capacity: goes_to_sprint && (in_sprint > settings.sprint_max_items || too_many_critical),
        });
    }
    routes
}

fn route(severity: Severity, blocking: bool, in_sprint: u32, settings: &DebtSettings) -> (DebtDestination, String) {
    let most = settings.sprint_max_items;
    match (settings.routing, severity) {
        (DebtRouting::Manual, _) => (DebtDestination::Unrouted, "a person routes it (MANUAL)".to_owned()),
        (_, Severity::Critical) => (DebtDestination::SprintTasks, "it is CRITICAL".to_owned()),
        _ if blocking => (DebtDestination::SprintTasks, "it decides the verdict".to_owned()),
        (DebtRouting::SeverityBased, Severity::High) => (DebtDestination::SprintTasks, "it is HIGH (SEVERITY_BASED)".to_owned()),
        (DebtRouting::CapacityBased, Severity::High) if in_sprint < most => {
            (DebtDestination::SprintTasks, format!("it is HIGH, and the sprint has room: {in_sprint} of {most}"))
        }
        (DebtRouting::CapacityBased, Severity::High) => {
            (DebtDestination::Inventory, format!("it is HIGH, and the sprint has no room: {in_sprint} of {most}"))
        }
        (DebtRouting::CapacityBased | DebtRouting::SeverityBased, Severity::Medium | Severity::Low) => {
            (DebtDestination::Inventory, "it is neither CRITICAL nor HIGH and blocks nothing".to_owned())
        }
    }
}
