//! Groups failed actions into debt items: same tool, same category, same cause (C48).

use std::collections::BTreeMap;

use crate::report::build_debt::cause::DebtCause;
use crate::report::{ActionResultV2, ExecutionReportV2};
use proctor_model::{DebtCategory, DebtGeneration, Digest, Severity};

/// The entries of all actions in a report, in the order of the phases.
pub(super) struct Entries<'a>(Vec<&'a ActionResultV2>);

/// Failed actions that share one cause. A group becomes one debt item.
#[derive(Debug, Clone)]
pub(super) struct Group<'a> {
    /// The hash by which the cause is recognised in other runs.
    pub(super) fingerprint: Digest,
    /// The group's first action. The debt item describes this action.
    pub(super) head: &'a ActionResultV2,
    /// The cause of the first action's failure.
    pub(super) cause: DebtCause,
    /// Whether and why the first action's failure becomes debt.
    pub(super) debt: &'a DebtGeneration,
    pub(super) category: DebtCategory,
    pub(super) severity: Severity,
    /// Whether the result of any action in the group makes the verdict FAILED.
    pub(super) blocking: bool,
    /// The actions of the group after the first.
    pub(super) related: Vec<&'a ActionResultV2>,
}

impl<'a> Entries<'a> {
    pub(super) fn of(report: &'a ExecutionReportV2) -> Self {
        let phases = [&report.prerequisite_execution.results, &report.step_execution.results, &report.cleanup_execution.results];
        Self(phases.into_iter().flatten().collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a ActionResultV2> {
        self.0.iter().copied()
    }
}

impl<'a> Group<'a> {
    /// Returns all actions of the group: the head, then the related ones.
    pub(super) fn members(&self) -> impl Iterator<Item = &'a ActionResultV2> {
        std::iter::once(self.head).chain(self.related.iter().copied())
    }
}

/// Returns the groups in the order of their first actions. Each entry already says whether the action becomes debt
/// (J4).
pub(super) fn compute_groups<'a>(entries: &Entries<'a>) -> Vec<Group<'a>> {
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
