//! Which runs are archived: a pure function of the runs, the request and the time.

use std::collections::BTreeSet;

use crate::retention::{KeptRun, RunForm, protected_runs};
use proctor_model::{RunId, TaskId, Timestamp};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The runs that `plan_archive` is to consider for archiving.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveRequest {
    Runs(BTreeSet<RunId>),
    /// Every run that began at least `days` days ago, except runs that must not be archived.
    Old {
        days: u32,
        /// Selects only runs of this task; `None` selects runs of all tasks.
        task: Option<TaskId>,
    },
}

/// Why a run that was requested by its id is not archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveExemption {
    /// Pruning never removes the run, for example because it is the last run of its task.
    Protected,
    /// A person still has to decide something about the run.
    WaitsForPerson,
    AlreadyArchived,
}

/// The runs that a request selects, and the requested runs that have to stay directories.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ArchivePlan {
    /// The runs to archive, in ledger order.
    pub runs: Vec<KeptRun>,
    /// The runs that were requested by id and are not archived, and why.
    pub exempted: Vec<(RunId, ArchiveExemption)>,
}

/// Plans which runs are archived. Runs that pruning never removes, and runs that wait for a person, stay directories.
pub fn plan_archive(runs: &[KeptRun], request: &ArchiveRequest, now: Timestamp) -> ArchivePlan {
    let protected = protected_runs(runs);
    let exemption = |run: &KeptRun| match run {
        _ if run.form == RunForm::Archive => Some(ArchiveExemption::AlreadyArchived),
        _ if run.waits_for_person => Some(ArchiveExemption::WaitsForPerson),
        _ if protected.contains(&run.sequence) => Some(ArchiveExemption::Protected),
        _ => None,
    };
    let is_old = |run: &KeptRun, days: u32| now.as_millis().saturating_sub(run.started.as_millis()) >= i64::from(days) * DAY_MS;
    let mut plan = ArchivePlan::default();
    for run in runs {
        match (request, exemption(run)) {
            (ArchiveRequest::Runs(named), why) if named.contains(&run.run_id) => match why {
                Some(why) => plan.exempted.push((run.run_id.clone(), why)),
                None => plan.runs.push(run.clone()),
            },
            (ArchiveRequest::Old { days, task }, None)
                if is_old(run, *days) && task.as_ref().is_none_or(|task| run.task == *task) =>
            {
                plan.runs.push(run.clone());
            }
            (ArchiveRequest::Runs(_) | ArchiveRequest::Old { .. }, _) => {}
        }
    }
    plan
}

impl ArchiveExemption {
    /// Returns the reason in words; `it` is the run.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Protected => "it is the last run of its task, or the last that passed",
            Self::WaitsForPerson => "it waits for a person",
            Self::AlreadyArchived => "it is archived already",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retention::{KeptRunResult, RunSignificance};
    use proctor_model::{Digest, Sequence};

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
            result: KeptRunResult::Passed,
            significance: RunSignificance::Verdict,
            waits_for_person: false,
            reused_runs: Vec::new(),
            form: RunForm::Directory,
        }
    }

    fn numbers(plan: &ArchivePlan) -> Vec<u64> {
        plan.runs.iter().map(|run| run.run_id.number()).collect()
    }

    fn old(days: u32, task: Option<&str>) -> ArchiveRequest {
        ArchiveRequest::Old { days, task: task.map(|task| TaskId::try_from(task).unwrap()) }
    }

    #[test]
    fn old_runs_that_nothing_depends_on_are_archived() {
        let mut runs = vec![kept(1, 9, "A"), kept(2, 5, "B"), kept(3, 4, "A"), kept(4, 2, "A"), kept(5, 1, "B"), kept(6, 0, "A")];
        runs[3].waits_for_person = true;
        let now = Timestamp::from_millis(NOW);
        let planned = |request: &ArchiveRequest| numbers(&plan_archive(&runs, request, now));
        assert_eq!(planned(&old(0, None)), [1, 2, 3], "5 and 6 are the last of their tasks, 4 waits");
        assert_eq!(planned(&old(5, None)), [1, 2]);
        assert_eq!(planned(&old(5, Some("A"))), [1]);
        assert_eq!(
            plan_archive(&runs, &old(0, None), Timestamp::from_millis(NOW - 99 * DAY_MS)).runs,
            [],
            "the clock was put back"
        );
        runs[0].form = RunForm::Archive;
        assert_eq!(numbers(&plan_archive(&runs, &old(0, None), now)), [2, 3]);
    }

    #[test]
    fn a_requested_run_is_archived_or_there_is_a_reason_why_not() {
        let mut runs = vec![kept(1, 9, "A"), kept(2, 5, "A"), kept(3, 4, "A"), kept(4, 2, "A")];
        runs[1].waits_for_person = true;
        runs[2].form = RunForm::Archive;
        let named = ArchiveRequest::Runs(runs.iter().map(|run| run.run_id.clone()).collect());
        let plan = plan_archive(&runs, &named, Timestamp::from_millis(NOW));
        assert_eq!(numbers(&plan), [1]);
        let exemption: Vec<_> = plan.exempted.iter().map(|(run, why)| (run.number(), *why)).collect();
        assert_eq!(
            exemption,
            [(2, ArchiveExemption::WaitsForPerson), (3, ArchiveExemption::AlreadyArchived), (4, ArchiveExemption::Protected)]
        );
    }
}
