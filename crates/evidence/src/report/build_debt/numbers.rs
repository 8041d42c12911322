//! Numbers the debt items: a known item keeps its number from the task's last debt file, and a new item gets the next
//! unused number.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::report::build_debt::groups::Group;
use crate::report::{EarlierItemV1, TechnicalDebtV1};
use proctor_model::{DebtId, Digest, TaskId};

/// The most items that the debt file remembers after they no longer occur. Those with the highest numbers are kept.
const REMEMBERED: usize = 500;

/// A group of failed actions, and the id of its debt item.
pub(super) struct NumberedGroup<'a> {
    pub(super) id: DebtId,
    pub(super) group: Group<'a>,
}

/// The items of a run with their ids.
pub(super) struct Numbered<'a> {
    /// The items, the worst severity first. Of one severity, blocking items come first; then the number decides.
    pub(super) groups: Vec<NumberedGroup<'a>>,
    /// Items that earlier runs had and this run does not have, by number.
    pub(super) earlier: Vec<EarlierItemV1>,
    /// The number for the next new item, in this run or a later one.
    pub(super) next_number: u32,
}

/// Gives every group its number. New groups are numbered by urgency, then by the order of their actions.
pub(super) fn assign_numbers<'a>(task: &TaskId, mut groups: Vec<Group<'a>>, previous: Option<&TechnicalDebtV1>) -> Numbered<'a> {
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
