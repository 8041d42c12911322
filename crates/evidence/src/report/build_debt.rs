//! Builds the debt file from the report: finds causes, groups them, numbers the items, decides where they go, and
//! writes them.
//!
//! The code is pure and uses the report only, so a failure that is reused from an earlier run becomes debt too. `cause`
//! finds the cause of an action's failure, `groups` decides what makes up one item (C48), `numbers` gives ids,
//! `destinations` decides where items go (facts, 2.5), `item` and `guidance` fill in the texts.

mod cause;
mod destinations;
mod groups;
mod guidance;
mod item;
mod numbers;

use crate::report::build_debt::destinations::compute_routes;
use crate::report::build_debt::groups::{Entries, compute_groups};
use crate::report::build_debt::item::build_item;
use crate::report::build_debt::numbers::{Numbered, assign_numbers};
use crate::report::{
    DEBT_FILE, DebtAuthenticityV1, DebtDestinationsV2, DebtSeveritiesV2, ExecutionReportV2, GENERATED_BY, RoutingSummaryV1,
    SprintCapacityV1, TechnicalDebtGeneratedV2, TechnicalDebtV1,
};
use proctor_model::{DebtDestination, DebtSettings, EvidenceFile, Severity};

/// The debt file's `schema`: the name and version of its format. A file with any other value is refused.
pub const DEBT_SCHEMA: &str = "proctor-technical-debt-v1";

/// Returns the debt of a run; `None` if the run has no verdict (E17), or debt is switched off.
///
/// `previous` is the debt file of the task's last verdict. Items seen there keep their id. A file of another task is
/// ignored.
pub fn build_debt(
    report: &ExecutionReportV2,
    settings: &DebtSettings,
    previous: Option<&TechnicalDebtV1>,
) -> Option<TechnicalDebtV1> {
    if !settings.enabled || !report.execution_summary.overall_status.counts() {
        return None;
    }
    let task = &report.test_specification.task_id;
    let entries = Entries::of(report);
    let (groups, left_out): (Vec<_>, Vec<_>) =
        compute_groups(&entries).into_iter().partition(|group| settings.severities.contains(&group.severity));
    let Numbered { groups, earlier, next_number } =
        assign_numbers(task, groups, previous.filter(|previous| previous.task_id == *task));
    let routes = compute_routes(&groups, settings);
    let items: Vec<_> =
        groups.iter().zip(routes).map(|(group, route)| build_item(group, route, &entries, report, settings)).collect();
    let to = |destination| items.iter().filter(|item| item.routing.destination == destination).count() as u64;
    let critical = |item: &&crate::report::DebtItemV1| {
        item.routing.destination == DebtDestination::SprintTasks && item.classification.severity == Severity::Critical
    };
    let (to_sprint, max_tasks) = (to(DebtDestination::SprintTasks), u64::from(settings.sprint_max_items));
    Some(TechnicalDebtV1 {
        schema: DEBT_SCHEMA.to_owned(),
        task_id: task.clone(),
        test_execution_id: report.authenticity.execution_id.clone(),
        generated_at: report.generated_at,
        generated_by: GENERATED_BY.to_owned(),
        routing_summary: RoutingSummaryV1 {
            total_debt_items: items.len() as u64,
            routed_to_sprint: to_sprint,
            routed_to_inventory: to(DebtDestination::Inventory),
            unrouted: to(DebtDestination::Unrouted),
            left_out: left_out.len() as u64,
            strategy: settings.routing,
            over_capacity: items.iter().any(|item| item.routing.over_capacity),
            sprint_capacity: SprintCapacityV1 {
                current_tasks: to_sprint,
                max_tasks,
                available_slots: max_tasks.saturating_sub(to_sprint),
                critical_tasks: items.iter().filter(critical).count() as u64,
                max_critical: u64::from(settings.sprint_max_critical),
            },
        },
        debt_items: items,
        earlier_items: earlier,
        next_number,
        authenticity: DebtAuthenticityV1 { execution_id: report.authenticity.execution_id.clone(), sha256_hash: None },
    })
}

/// Returns the report with the section about its debt file, which is stored beside it as `file`.
pub fn with_debt(mut report: ExecutionReportV2, debt: &TechnicalDebtV1, file: EvidenceFile) -> ExecutionReportV2 {
    let of = |severity| debt.debt_items.iter().filter(|item| item.classification.severity == severity).count() as u64;
    report.technical_debt_generated = Some(TechnicalDebtGeneratedV2 {
        items_created: debt.routing_summary.total_debt_items,
        debt_data_file: DEBT_FILE.to_owned(),
        summary: DebtSeveritiesV2 {
            critical: of(Severity::Critical),
            high: of(Severity::High),
            medium: of(Severity::Medium),
            low: of(Severity::Low),
        },
        routing: DebtDestinationsV2 {
            to_sprint: debt.routing_summary.routed_to_sprint,
            to_inventory: debt.routing_summary.routed_to_inventory,
            unrouted: debt.routing_summary.unrouted,
        },
    });
    report.evidence_files.push(file);
    report.evidence_files = super::build::sorted_by_name(&report.evidence_files);
    report
}
