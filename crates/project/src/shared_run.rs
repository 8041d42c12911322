//! Runs of one project that are asked for at the same time share one result: who waited for another process's run of the same task on
//! the same files takes its verdict instead of running the checks again.

use std::collections::BTreeMap;

use crate::error::ProjectError;
use crate::freshness::{DescribedProject, KnownAsked};
use crate::progress::Progress;
use crate::request::ProjectScope;
use crate::workspace::Workspace;
use proctor_evidence::WaitDecision;
use proctor_model::{CheckCoverage, CommandExit, Freshness, LastVerdict, RunId, TaskId, VerdictStatus};
use proctor_sandbox::process::{Control, clock};
use proctor_tree::TreeHints;

/// The run of another process whose result was taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedRun {
    pub run_id: RunId,
    /// The exit code of a command that reports the run's verdict.
    pub exit: CommandExit,
}

/// The runs of other processes that were seen under way, and whether their checks got the same variables as this process would give
/// them.
#[derive(Debug, Default)]
struct SeenRuns(BTreeMap<RunId, bool>);

impl SeenRuns {
    /// Returns the run behind this state of the task, if it covers every check, was seen under way, and its verdict applies to the
    /// present files.
    fn shared<'a>(&self, standing: &'a VerdictStatus) -> Option<(&'a LastVerdict, CommandExit)> {
        let verdict = standing.verdict.as_ref().filter(|verdict| verdict.coverage == Some(CheckCoverage::Whole))?;
        let Freshness::Fresh { exit, .. } = standing.freshness else { return None };
        (self.0.get(&verdict.run_id) == Some(&true)).then_some((verdict, exit))
    }
}

impl Workspace {
    /// If another process is running the project's checks, waits for its end, and returns its run if that has tested the same plan on
    /// the files as they are then. Returns `None` at once if no other process is running them.
    ///
    /// `has_same_variables` tells of a process whether the checks that it runs get the same environment variables as those of this
    /// process.
    ///
    /// # Errors
    ///
    /// When the wait is stopped or takes too long, or the lock, the tree, the ledger or the index cannot be read.
    pub fn wait_for_shared_run(
        &mut self,
        (scope, described, task): (&ProjectScope, DescribedProject<'_>, &TaskId),
        control: &Control,
        has_same_variables: &dyn Fn(u32) -> bool,
        show: &mut dyn FnMut(Progress),
    ) -> Result<Option<SharedRun>, ProjectError> {
        let mut seen = SeenRuns::default();
        let begun = clock::monotonic();
        let wait = described.settings.lock_wait;
        let goes_on = || control.requested().is_none() && clock::monotonic().since(begun) < wait;
        let mut told = false;
        // Who may not wait is told so by the run that follows.
        while !wait.is_zero() {
            let lock = self.evidence.store.lock(&scope.project, &mut || {
                if !told {
                    told = true;
                    show(Progress::WaitingForLock { wait });
                }
                // What cannot be read is not shared.
                if let Ok(Some(holder)) = self.evidence.store.lock_holder(&scope.project)
                    && let (Some(process), Some(run)) = (holder.pid, holder.run)
                    && run.task == *task
                {
                    seen.0.entry(run.run_id).or_insert_with(|| has_same_variables(process));
                }
                if goes_on() { WaitDecision::GoOn } else { WaitDecision::GiveUp }
            });
            drop(lock.map_err(|error| control.requested().map_or(ProjectError::Lock(error), ProjectError::StoppedWaiting))?);
            if seen.0.is_empty() {
                break;
            }
            let status = self.project_status(
                scope,
                Ok(described),
                std::slice::from_ref(task),
                (&TreeHints::Everything, KnownAsked::Never),
            )?;
            let Some(standing) = status.of(task) else { break };
            // Another process that waited has the lock now, for a moment or for a run of its own.
            if standing.freshness != Freshness::Running {
                let shared = seen.shared(standing);
                return Ok(shared.map(|(verdict, exit)| SharedRun { run_id: verdict.run_id.clone(), exit }));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use proctor_model::{OverallResult, OverallStatus, Sequence, StaleReason, TddState, Timestamp, TreeFormat};

    fn run(number: u64) -> RunId {
        RunId::new(Timestamp::from_millis(0), number)
    }

    fn standing(freshness: Freshness, coverage: Option<CheckCoverage>) -> VerdictStatus {
        let verdict = LastVerdict {
            run_id: run(7),
            sequence: Sequence(7),
            coverage,
            tree: None,
            tree_format: TreeFormat::CURRENT,
            tested: None,
            plan: None,
            status: OverallStatus::Failed,
            result: Some(OverallResult::Failed),
            blocking: 1,
            ended: None,
            isolation: None,
            exit: CommandExit::CodeNeedsWork,
            report: PathBuf::new(),
        };
        let task = TaskId::default_task();
        VerdictStatus {
            task,
            freshness,
            tree: None,
            plan: None,
            verdict: Some(verdict),
            checks: Vec::new(),
            problems: Vec::new(),
            rules_changed: Vec::new(),
            person: None,
            tdd: TddState::default(),
            tests_not_run: None,
            fewer_tests: None,
            known: None,
            not_known: Vec::new(),
        }
    }

    #[test]
    fn only_a_whole_fresh_run_that_was_seen_with_the_same_variables_is_shared() {
        let fresh = || Freshness::Fresh { result: OverallResult::Failed, exit: CommandExit::CodeNeedsWork };
        let seen = |number, same| SeenRuns(BTreeMap::from([(run(number), same)]));
        let whole = standing(fresh(), Some(CheckCoverage::Whole));
        assert_eq!(seen(7, true).shared(&whole).map(|(_, exit)| exit), Some(CommandExit::CodeNeedsWork));
        assert!(seen(7, false).shared(&whole).is_none(), "its checks got other variables");
        assert!(seen(6, true).shared(&whole).is_none(), "the verdict is of another run");
        for coverage in [Some(CheckCoverage::Partial), None] {
            assert!(seen(7, true).shared(&standing(fresh(), coverage)).is_none(), "{coverage:?}");
        }
        let stale = standing(Freshness::Stale(StaleReason::Tree), Some(CheckCoverage::Whole));
        assert!(seen(7, true).shared(&stale).is_none(), "somebody saved meanwhile");
    }
}
