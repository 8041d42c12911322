//! Which runs are archived: a pure function of what there is, what is wished, and now.

use std::collections::BTreeSet;

use crate::evidence::retention::{KeptRun, RunForm, needed};
use crate::model::{RunId, TaskId, Timestamp};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What somebody wants to have archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveWish {
    /// These runs.
    Runs(BTreeSet<RunId>),
    /// Every run that began so many days ago or earlier, and may be.
    Old {
        /// So many days.
        days: u32,
        /// Of this task alone.
        task: Option<TaskId>,
    },
}

/// Why a run that somebody named stays a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stays {
    /// It is the last of its task, or the last green one.
    Needed,
    /// It waits for a person.
    Awaited,
    /// It is an archive already.
    Archived,
}

/// What is to be done.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ArchivePlan {
    /// The runs that are archived, in their order.
    pub runs: Vec<KeptRun>,
    /// Those that were named and stay as they are.
    pub stays: Vec<(RunId, Stays)>,
}

/// Returns the runs that are archived. Never are, of each task, those that pruning never removes, and what waits for a person.
pub fn plan_archive(runs: &[KeptRun], wish: &ArchiveWish, now: Timestamp) -> ArchivePlan {
    let needed = needed(runs);
    let stays = |run: &KeptRun| match run {
        _ if run.form == RunForm::Archive => Some(Stays::Archived),
        _ if run.is_awaited => Some(Stays::Awaited),
        _ if needed.contains(&run.sequence) => Some(Stays::Needed),
        _ => None,
    };
    let is_old = |run: &KeptRun, days: u32| now.as_millis().saturating_sub(run.started.as_millis()) >= i64::from(days) * DAY_MS;
    let mut plan = ArchivePlan::default();
    for run in runs {
        match (wish, stays(run)) {
            (ArchiveWish::Runs(named), why) if named.contains(&run.run_id) => match why {
                Some(why) => plan.stays.push((run.run_id.clone(), why)),
                None => plan.runs.push(run.clone()),
            },
            (ArchiveWish::Old { days, task }, None)
                if is_old(run, *days) && task.as_ref().is_none_or(|task| run.task == *task) =>
            {
                plan.runs.push(run.clone());
            }
            (ArchiveWish::Runs(_) | ArchiveWish::Old { .. }, _) => {}
        }
    }
    plan
}

impl Stays {
    /// Returns what a person reads.
    pub fn words(self) -> &'static str {
        match self {
            Self::Needed => "it is the last run of its task, or the last that passed",
            Self::Awaited => "it waits for a person",
            Self::Archived => "it is archived already",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::retention::{Standing, Weight};
    use crate::model::{Digest, Sequence};

    const NOW: i64 = 1_772_616_600_120;

    fn kept(number: u64, days: i64, task: &str) -> KeptRun {
        let started = Timestamp::from_millis(NOW - days * DAY_MS);
        KeptRun {
            run_id: RunId::new(started, number),
            task: TaskId::try_from(task).unwrap(),
            sequence: Sequence(number),
            manifest_hash: Digest::of(b""),
            started,
            bytes: 1,
            standing: Standing::Passed,
            weight: Weight::Verdict,
            is_awaited: false,
            rests_on: Vec::new(),
            form: RunForm::Directory,
        }
    }

    fn numbers(plan: &ArchivePlan) -> Vec<u64> {
        plan.runs.iter().map(|run| run.run_id.number()).collect()
    }

    fn old(days: u32, task: Option<&str>) -> ArchiveWish {
        ArchiveWish::Old { days, task: task.map(|task| TaskId::try_from(task).unwrap()) }
    }

    #[test]
    fn what_is_old_enough_and_nobody_needs_is_archived() {
        let mut runs = vec![kept(1, 9, "A"), kept(2, 5, "B"), kept(3, 4, "A"), kept(4, 2, "A"), kept(5, 1, "B"), kept(6, 0, "A")];
        runs[3].is_awaited = true;
        let now = Timestamp::from_millis(NOW);
        let of = |wish: &ArchiveWish| numbers(&plan_archive(&runs, wish, now));
        assert_eq!(of(&old(0, None)), [1, 2, 3], "5 and 6 are the last of their tasks, 4 waits");
        assert_eq!(of(&old(5, None)), [1, 2]);
        assert_eq!(of(&old(5, Some("A"))), [1]);
        assert_eq!(
            plan_archive(&runs, &old(0, None), Timestamp::from_millis(NOW - 99 * DAY_MS)).runs,
            [],
            "the clock was put back"
        );
        runs[0].form = RunForm::Archive;
        assert_eq!(numbers(&plan_archive(&runs, &old(0, None), now)), [2, 3]);
    }

    #[test]
    fn a_named_run_is_archived_or_it_is_said_why_not() {
        let mut runs = vec![kept(1, 9, "A"), kept(2, 5, "A"), kept(3, 4, "A"), kept(4, 2, "A")];
        runs[1].is_awaited = true;
        runs[2].form = RunForm::Archive;
        let named = ArchiveWish::Runs(runs.iter().map(|run| run.run_id.clone()).collect());
        let plan = plan_archive(&runs, &named, Timestamp::from_millis(NOW));
        assert_eq!(numbers(&plan), [1]);
        let stays: Vec<_> = plan.stays.iter().map(|(run, why)| (run.number(), *why)).collect();
        assert_eq!(stays, [(2, Stays::Awaited), (3, Stays::Archived), (4, Stays::Needed)]);
    }
}
