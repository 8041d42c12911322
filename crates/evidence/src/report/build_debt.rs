//! Builds the debt file from the report: finds causes, groups them, numbers the items, decides where they go, and
//! writes them.
//!
//! The code is pure and uses the report only, so a failure that is reused from an earlier run becomes debt too. `cause`
//! finds the cause of an action's failure, and `item` fills in the texts. This file decides what makes up one
//! item (C48), gives ids, and decides where items go (facts, 2.5).

mod cause;
mod item;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::report::build_debt::cause::DebtCause;
use crate::report::build_debt::item::build_item;
use crate::report::{
    ActionResultV2, DEBT_FILE, DebtAuthenticityV1, DebtDestinationsV2, DebtRouteV1, DebtSeveritiesV2, EarlierItemV1,
    ExecutionReportV2, GENERATED_BY, RoutingSummaryV1, SprintCapacityV1, TechnicalDebtGeneratedV2, TechnicalDebtV1,
};
use proctor_model::{
    DebtCategory, DebtDestination, DebtGeneration, DebtId, DebtRouting, DebtSettings, Digest, EvidenceFile, InventoryStatus,
    Severity, TaskId,
};

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

// Decides where debt items go, one after another in the order of urgency (facts, 2.5).

/// Returns the route of each item. Unless a person routes all items, CRITICAL and blocking items go to the sprint even
/// if the sprint is full, because a limit must not hide them.
fn compute_routes(groups: &[NumberedGroup<'_>], settings: &DebtSettings) -> Vec<DebtRouteV1> {
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

// Numbers the debt items: a known item keeps its number from the task's last debt file, and a new item gets the next
// unused number.

/// The most items that the debt file remembers after they no longer occur. Those with the highest numbers are kept.
const REMEMBERED: usize = 500;

/// A group of failed actions, and the id of its debt item.
struct NumberedGroup<'a> {
    id: DebtId,
    group: Group<'a>,
}

/// The items of a run with their ids.
struct Numbered<'a> {
    /// The items, the worst severity first. Of one severity, blocking items come first; then the number decides.
    groups: Vec<NumberedGroup<'a>>,
    /// Items that earlier runs had and this run does not have, by number.
    earlier: Vec<EarlierItemV1>,
    /// The number for the next new item, in this run or a later one.
    next_number: u32,
}

/// Gives every group its number. New groups are numbered by urgency, then by the order of their actions.
fn assign_numbers<'a>(task: &TaskId, mut groups: Vec<Group<'a>>, previous: Option<&TechnicalDebtV1>) -> Numbered<'a> {
    let mut known = previous.map(seen_before).unwrap_or_default();
    let highest = known.values().map(|earlier| earlier.debt_id.number()).max().unwrap_or(0);
    let mut next_number = previous.map_or(1, |previous| previous.next_number).max(highest.saturating_add(1));
    groups.sort_by_key(urgency);
    let mut numbered: Vec<_> = groups
        .into_iter()
        .map(|group| {
            let id = known.remove(&group.fingerprint).map(|earlier| earlier.debt_id).unwrap_or_else(|| {
                let id = DebtId::new(task, next_number);
                next_number = next_number.saturating_add(1);
                id
            });
            NumberedGroup { id, group }
        })
        .collect();
    numbered.sort_by_key(|numbered| (urgency(&numbered.group), numbered.id.number()));
    let mut earlier: Vec<_> = known.into_values().collect();
    earlier.sort_by_key(|earlier| earlier.debt_id.number());
    let earlier = earlier.split_off(earlier.len().saturating_sub(REMEMBERED));
    Numbered { groups: numbered, earlier, next_number }
}

fn urgency(group: &Group<'_>) -> (Reverse<proctor_model::Severity>, Reverse<bool>) {
    (Reverse(group.severity), Reverse(group.blocking))
}

fn seen_before(previous: &TechnicalDebtV1) -> BTreeMap<Digest, EarlierItemV1> {
    let last = previous.debt_items.iter().map(|item| EarlierItemV1 {
        debt_id: item.debt_id.clone(),
        fingerprint: item.fingerprint,
        title: item.title.clone(),
        last_seen: previous.test_execution_id.clone(),
    });
    let all = previous.earlier_items.iter().cloned().chain(last);
    all.map(|earlier| (earlier.fingerprint, earlier)).collect()
}

// Groups failed actions into debt items: same tool, same category, same cause (C48).

/// The entries of all actions in a report, in the order of the phases.
struct Entries<'a>(Vec<&'a ActionResultV2>);

/// Failed actions that share one cause. A group becomes one debt item.
#[derive(Debug, Clone)]
struct Group<'a> {
    /// The hash by which the cause is recognised in other runs.
    fingerprint: Digest,
    /// The group's first action. The debt item describes this action.
    head: &'a ActionResultV2,
    /// The cause of the first action's failure.
    cause: DebtCause,
    /// Whether and why the first action's failure becomes debt.
    debt: &'a DebtGeneration,
    category: DebtCategory,
    severity: Severity,
    /// Whether the result of any action in the group makes the verdict FAILED.
    blocking: bool,
    /// The actions of the group after the first.
    related: Vec<&'a ActionResultV2>,
}

impl<'a> Entries<'a> {
    fn of(report: &'a ExecutionReportV2) -> Self {
        let phases = [&report.prerequisite_execution.results, &report.step_execution.results, &report.cleanup_execution.results];
        Self(phases.into_iter().flatten().collect())
    }

    fn iter(&self) -> impl Iterator<Item = &'a ActionResultV2> {
        self.0.iter().copied()
    }
}

impl<'a> Group<'a> {
    /// Returns all actions of the group: the head, then the related ones.
    fn members(&self) -> impl Iterator<Item = &'a ActionResultV2> {
        std::iter::once(self.head).chain(self.related.iter().copied())
    }
}

/// Returns the groups in the order of their first actions. Each entry already says whether the action becomes debt
/// (J4).
fn compute_groups<'a>(entries: &Entries<'a>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known: BTreeMap<Digest, usize> = BTreeMap::new();
    for entry in entries.iter() {
        let Some(debt) = entry.debt_generation.as_ref().filter(|debt| debt.should_generate) else { continue };
        let (Some(category), Some(severity)) = (debt.category, debt.severity) else { continue };
        let cause = DebtCause::of(entry);
        let fingerprint = cause.fingerprint(&entry.tool, category);
        let blocking = entry.blocking == Some(true);
        if let Some(index) = known.get(&fingerprint) {
            let group = &mut groups[*index];
            group.severity = group.severity.max(severity);
            group.blocking |= blocking;
            group.related.push(entry);
        } else {
            known.insert(fingerprint, groups.len());
            let related = Vec::new();
            groups.push(Group { fingerprint, head: entry, cause, debt, category, severity, blocking, related });
        }
    }
    groups
}
