//! The order of one run: lock, recover, tree, start record, prerequisites → steps → cleanup, sweep, verdict, seal, publish.

use std::collections::BTreeMap;

use crate::evidence::{DurableStep, Ledger, ProjectLock, RunDirectory};
use crate::model::{
    Action, ActionPhase, Digest, Phase, ResultType, RunId, StopReason, SupersededRecord, TddState, Timestamp, TreeComparison,
    TreeDigest, TreeIssue,
};
use crate::process::clock;
use crate::report::SkipReason;
use crate::run::conclude::{Concluding, prerequisites_met};
use crate::run::error::RunError;
use crate::run::perform::{Performed, Performer};
use crate::run::prerequisite;
use crate::run::progress::Progress;
use crate::run::records;
use crate::run::request::{Carried, RunRequest};
use crate::run::surroundings::Survey;
use crate::run::workspace::Workspace;
use crate::tree;

/// What a run has in its hands from its beginning to its end.
pub(crate) struct Course<'a> {
    pub(crate) request: &'a RunRequest<'a>,
    pub(crate) run_id: RunId,
    pub(crate) started: Timestamp,
    pub(crate) begun: clock::Monotonic,
    pub(crate) issues: Vec<TreeIssue>,
    pub(crate) plan_digest: Digest,
    pub(crate) before: TreeDigest,
    pub(crate) tdd: TddState,
    /// Prerequisites that are known to have succeeded, by name.
    pub(crate) met: BTreeMap<String, Digest>,
}

impl Course<'_> {
    /// Returns the phase the run is judged in: the one that was asked for, else the task's.
    pub(crate) fn phase(&self) -> Phase {
        self.request.phase.unwrap_or(self.tdd.phase)
    }

    /// Returns whether the run is judged as part of a cycle: a started one, or a phase that was asked for by name.
    pub(crate) fn in_cycle(&self) -> bool {
        self.tdd.started || self.request.phase.is_some()
    }
}

impl Workspace {
    /// Carries a plan out.
    ///
    /// # Errors
    /// Only proctor's own troubles: the store, the launcher, a tree that cannot be read. Whatever a tool does is a value.
    pub fn carry_out(&mut self, request: &RunRequest<'_>, show: &mut dyn FnMut(Progress)) -> Result<Carried, RunError> {
        let lock = self.lock(request.scope, request.settings.lock_wait, show)?;
        let mut ledger = self.recovered_ledger(&lock, request.scope, show)?;
        self.catch_up(&request.scope.project)?;
        let tdd = self.tdd(&request.scope.project, &request.plan.task)?;
        if let Some(pause) = tdd.paused {
            return Ok(Carried::Paused(pause));
        }
        let index = self.look_at_tree(request)?;
        let before = index.digest();
        if request.unless_tree == Some(before) {
            self.keep_tree(&request.scope.root, index);
            return Ok(Carried::Unchanged);
        }
        let started = clock::now();
        let course = Course {
            request,
            run_id: RunId::new(started, ledger.next_sequence().0),
            started,
            begun: clock::monotonic(),
            issues: index.issues().to_vec(),
            plan_digest: crate::spec::plan_digest(request.plan),
            before,
            tdd,
            met: self.prerequisites_met(&request.scope.project)?,
        };
        show(Progress::Begun {
            run_id: course.run_id.clone(),
            project_name: request.plan.project_name.clone(),
            tree: before,
            issues: index.issues().to_vec(),
        });
        let result = self.run_in_directory(course, &lock, &mut ledger, &index, show);
        if result.is_err() {
            // What was begun and not sealed is closed by the next holder of the lock.
            self.keep_tree(&request.scope.root, index);
        }
        result
    }

    fn run_in_directory(
        &mut self,
        course: Course<'_>,
        lock: &ProjectLock,
        ledger: &mut Ledger,
        index: &tree::Index,
        show: &mut dyn FnMut(Progress),
    ) -> Result<Carried, RunError> {
        let request = course.request;
        let mut directory = RunDirectory::create(lock, &request.plan.task, &course.run_id).map_err(RunError::Evidence)?;
        directory.start_record(&records::start(&course)).map_err(RunError::Evidence)?;
        self.observer()(DurableStep::RunRecordWritten);
        let mut performer = Performer::new(self, lock, &course, &mut directory, show);
        let Carrying { performed, stopped, survey } = perform_all(&course, &mut performer)?;
        if stopped == Some(StopReason::Superseded) {
            let met = prerequisites_met(&course, &performed);
            return self.drop_superseded(&course, met, directory, ledger);
        }
        directory.begin_sync().map_err(RunError::Evidence)?;
        self.dismiss_launcher_after_last_run();
        let (comparison, after) = self.sweep(index, request)?;
        let files = index.entries().filter_map(|entry| Some((entry.path.to_string(), entry.digest?)));
        let surveyed = survey.finish(files);
        self.remember_digests(&surveyed.learnt)?;
        let concluding = Concluding { course: &course, performed, comparison, stopped, surveyed };
        let carried = self.conclude(concluding, directory, ledger, lock)?;
        self.keep_tree(&request.scope.root, after);
        Ok(carried)
    }

    fn sweep(&self, before: &tree::Index, request: &RunRequest<'_>) -> Result<(TreeComparison, tree::Index), RunError> {
        let after = self.look_again(before, request)?;
        Ok((tree::compare(before, &after), after))
    }

    fn drop_superseded(
        &mut self,
        course: &Course<'_>,
        prerequisites: BTreeMap<String, Digest>,
        directory: RunDirectory,
        ledger: &mut Ledger,
    ) -> Result<Carried, RunError> {
        let record = SupersededRecord {
            run_id: course.run_id.clone(),
            task: course.request.plan.task.clone(),
            tree_digest: course.before,
            prerequisites,
            started: course.started,
        };
        let asker = &course.request.scope.asker;
        let (line, offset) =
            crate::evidence::drop_superseded(directory, record, ledger, asker, clock::now()).map_err(RunError::Evidence)?;
        self.apply(&course.request.scope.project, offset, line)?;
        Ok(Carried::Superseded)
    }
}

/// What comes of carrying every action out.
struct Carrying {
    performed: Vec<Performed>,
    stopped: Option<StopReason>,
    survey: Survey,
}

/// Prerequisites until the first failure, then the steps, then the cleanup, always.
fn perform_all(course: &Course<'_>, performer: &mut Performer<'_, '_>) -> Result<Carrying, RunError> {
    let plan = course.request.plan;
    let mut performed = Vec::with_capacity(plan.actions().count());
    let mut failed = false;
    for action in &plan.prerequisites {
        let one = if failed {
            performer.skip(action, SkipReason::PrerequisiteFailed)
        } else if prerequisite::is_unchanged(&course.request.scope.root, action, &course.met) {
            performer.skip(action, SkipReason::Unchanged)
        } else {
            perform_or_stop(course, performer, action)?
        };
        failed |= one.status().is_some_and(|status| status != ResultType::Success);
        performed.push(one);
    }
    // Begun here, because prerequisites install what is surveyed; it goes on while the checks run.
    let survey = performer.survey();
    for action in &plan.steps {
        let one = if failed {
            performer.skip(action, SkipReason::PrerequisiteFailed)
        } else if !is_selected(course, action) {
            performer.skip(action, SkipReason::NotSelected)
        } else {
            perform_or_stop(course, performer, action)?
        };
        performed.push(one);
    }
    // What was asked for so far stops the checks, not the cleanup; a further request does.
    let control = course.request.control;
    let stopped = control.requested();
    control.acknowledge();
    for action in &plan.cleanup {
        performed.push(performer.perform(action)?);
    }
    Ok(Carrying { performed, stopped: stopped.or(control.requested()), survey })
}

fn perform_or_stop(course: &Course<'_>, performer: &mut Performer<'_, '_>, action: &Action) -> Result<Performed, RunError> {
    if course.request.control.requested().is_some_and(|reason| heeded(action.phase).contains(&reason)) {
        return Ok(performer.skip(action, SkipReason::Stopped));
    }
    performer.perform(action)
}

/// Returns the requests that stop an action of a phase: a newer save stops checks, never prerequisites or cleanup.
pub(crate) fn heeded(phase: ActionPhase) -> &'static [StopReason] {
    match phase {
        ActionPhase::Step => &[StopReason::Superseded, StopReason::Interrupted, StopReason::Terminated],
        ActionPhase::Prerequisite | ActionPhase::Cleanup => &[StopReason::Interrupted, StopReason::Terminated],
    }
}

fn is_selected(course: &Course<'_>, action: &Action) -> bool {
    course.request.checks.is_empty() || course.request.checks.contains(&action.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_save_stops_checks_and_nothing_else() {
        for phase in [ActionPhase::Prerequisite, ActionPhase::Step, ActionPhase::Cleanup] {
            assert_eq!(heeded(phase).contains(&StopReason::Superseded), phase == ActionPhase::Step, "{phase:?}");
            assert!(heeded(phase).contains(&StopReason::Interrupted), "{phase:?}");
            assert!(heeded(phase).contains(&StopReason::Terminated), "{phase:?}");
        }
    }
}
