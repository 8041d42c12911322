//! What one action goes through: prepare → supervise → take what the tool left → interpret → classify → write it down.
//! What is different for one that goes on while others run is in `services`, for one that an earlier verdict stands for in `reusing`,
//! for one that starts no process in `looks`; `process` is one process from its preparation to its judgement, `lane` one beside others;
//! `attempts` is how often an action goes through it.

mod attempts;
mod control;
mod ends;
mod lane;
mod looks;
mod process;
mod reports;
mod reusing;
mod reviewing;
mod running_service;
mod services;

use crate::project::Progress;
use crate::project::QueueLimits;
use crate::project::RunError;
use crate::project::Survey;
use crate::project::Workspace;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::evidence::{OutputDirectory, ProjectLock, RunDirectory, ScratchDirectory, is_our_link};
use crate::model::{
    Action, ActionJudgement, ActionLimits, ActionPhase, Ended, EvidenceFile, Interpretation, PlanNote, Sandbox, StopReason,
    ToolReport,
};
use crate::process::{Isolation, LauncherHandle, clock};
use crate::report::{ActionDisposition, ActionFiles, ActionResult, NamedFile, SkipReason, action_result};
use crate::run::carry_out::{Course, heeded, skip_reason};
use crate::run::flow::RunClock;
use crate::run::queue::{AwaitedTurn, Turn, take_turn, turn_at_once};
use crate::run::records;
use crate::sandbox::ChildEnvironment;
use crate::sandbox::FailedAction;
use crate::sandbox::SandboxRequest;
use crate::sandbox::isolation;
use crate::tools;
use crate::verdict;

pub(crate) use self::attempts::Attempts;
use self::ends::not_a_process;
pub(crate) use self::ends::not_started;
pub(crate) use self::lane::{Lane, LaneOrder, LaneOver};
pub(crate) use self::process::Prepared;
pub(crate) use self::running_service::RunningService;
pub(crate) use self::services::Started;

/// How long an action may take, and which time-out of the run as a whole that is, where less is left of it than the action may take.
#[derive(Debug, Clone, Copy)]
struct Allowed {
    timeout: Duration,
    of_the_run: Option<Duration>,
}

/// Carries actions out.
pub(crate) struct Performer<'w, 'c> {
    workspace: &'w mut Workspace,
    lock: &'w ProjectLock,
    course: &'c Course<'c>,
    directory: &'w mut RunDirectory,
    show: &'w mut dyn FnMut(Progress),
    queue: QueueLimits,
    clock: RunClock,
    /// That of an action that is over, for one whose report is not taken from it.
    spare_output: Option<OutputDirectory>,
}

impl<'w, 'c> Performer<'w, 'c> {
    pub(crate) fn new(
        workspace: &'w mut Workspace,
        lock: &'w ProjectLock,
        course: &'c Course<'c>,
        directory: &'w mut RunDirectory,
        show: &'w mut dyn FnMut(Progress),
    ) -> Self {
        let queue = course.request.settings.queue;
        let clock = RunClock::new(course.request.plan, clock::monotonic());
        Self { workspace, lock, course, directory, show, queue, clock, spare_output: None }
    }

    /// Returns whether the time of the run as a whole is over.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.clock.is_over(clock::monotonic())
    }

    /// Returns how long an action may take now. Cleanup runs whatever is left.
    fn allowed(&self, action: &Action) -> Allowed {
        let left = self.clock.left(clock::monotonic()).filter(|_| action.phase != ActionPhase::Cleanup);
        match left.filter(|(left, _)| *left < action.timeout) {
            Some((left, timeout)) => Allowed { timeout: left, of_the_run: Some(timeout) },
            None => Allowed { timeout: action.timeout, of_the_run: None },
        }
    }

    /// Returns the request that stops an action, where there is one.
    fn stop_of(&self, action: &Action) -> Option<StopReason> {
        self.course.request.control.requested().filter(|reason| heeded(action.phase).contains(reason))
    }

    /// Begins to look at tools and installed packages.
    pub(crate) fn survey(&self) -> Survey {
        self.workspace.begin_survey(self.course.request)
    }

    /// Notes that an action is not run, visibly.
    pub(crate) fn skip(&mut self, action: &Action, reason: SkipReason) -> ActionResult {
        let skipped = skipped(action, reason);
        self.tell(&skipped);
        skipped
    }

    /// Carries an action out once, when its turn has come; one that is stopped before is skipped. Nobody is told of it yet.
    fn perform_once(&mut self, action: &Action, attempts: &mut Attempts) -> Result<ActionResult, RunError> {
        if !action.kind.starts_a_process() {
            return self.perform_look(action, attempts);
        }
        let AwaitedTurn { turn, waited } = self.next_turn(action)?;
        let performed = match turn {
            Turn::Given(slot) => self.perform_in(slot, action, attempts)?,
            Turn::Stopped => skipped(action, skip_reason(self.course.request.control)),
        };
        Ok(ActionResult { waited, ..performed })
    }

    /// Takes a turn for an action beside others of this run, if it can be had at once. Whoever has a turn does not wait for a further
    /// one: those that wait in line are before it.
    pub(crate) fn turn_at_once(&self) -> Result<Option<Turn>, RunError> {
        turn_at_once(&self.workspace.store, self.workspace.ambient(), self.queue)
    }

    /// Takes a turn for an action, and notes how long that took.
    pub(crate) fn next_turn(&mut self, action: &Action) -> Result<AwaitedTurn, RunError> {
        let answer = self.take_turn(action)?;
        self.clock.note_wait(answer.waited);
        Ok(answer)
    }

    /// Starts a launcher for actions that go on beside others.
    pub(crate) fn lane_launcher(&self) -> Result<LauncherHandle, RunError> {
        LauncherHandle::execute(self.workspace.executable()).map_err(RunError::Launcher)
    }

    /// Waits before anything of the action is prepared, so that nothing in the project is put aside for the length of the wait.
    fn take_turn(&mut self, action: &Action) -> Result<AwaitedTurn, RunError> {
        let (control, heeded) = (self.course.request.control, heeded(action.phase));
        let stopped = || control.requested().filter(|reason| heeded.contains(reason));
        let answer = take_turn(&self.workspace.store, self.workspace.ambient(), self.queue, &stopped, self.show);
        if let Err(RunError::Queue { .. }) = answer {
            // The run has failed. What is left of it is the clean-up, which is tried once and does not wait as long again.
            self.queue.wait = Duration::ZERO;
        }
        answer
    }

    fn tell(&mut self, result: &ActionResult) {
        (self.show)(Progress::ActionEnded(Box::new(action_result(result))));
    }

    /// Returns the project's link to its evidence, where there is one. A directory of the project's own by that name may hold tests.
    fn evidence_link(&self) -> Option<PathBuf> {
        let request = self.course.request;
        let target = self.workspace.store.project_directory(&request.scope.project);
        let link = request.settings.link.as_ref().map(|link| request.scope.root.join(link));
        link.filter(|link| is_our_link(link, &target))
    }

    fn working_directory(&self, action: &Action) -> PathBuf {
        self.course.request.scope.root.join(&action.directory)
    }

    fn environment(&self, action: &Action, output: &Path) -> ChildEnvironment {
        ChildEnvironment::build(self.workspace.ambient(), &self.course.request.settings.environment, action, output)
    }

    fn hints(&self, action: &Action, ended: &Ended, environment: &ChildEnvironment, sandbox: Option<&Sandbox>) -> Vec<PlanNote> {
        let request = self.course.request;
        let failed = FailedAction {
            action,
            ended,
            environment,
            sandbox,
            project_root: &request.scope.root,
            home: isolation::home(self.workspace.ambient()),
            settings: &request.settings.sandbox,
        };
        failed.hints()
    }

    fn isolation(
        &self,
        action: &Action,
        program: &Path,
        directory: &Path,
        environment: &ChildEnvironment,
        output: &OutputDirectory,
    ) -> Result<Isolation, RunError> {
        let (request, ambient) = (self.course.request, self.workspace.ambient());
        let sandbox = SandboxRequest {
            project_root: &request.scope.root,
            home: isolation::home(ambient),
            store: self.workspace.store.root(),
            scratch: self.workspace.parking.scratch().map_or(output.path(), ScratchDirectory::path),
            action,
            directory,
            program,
            environment: &environment.variables,
            ambient,
            settings: &request.settings.sandbox,
        };
        isolation::isolation(&sandbox, output.path(), request.settings.strongest_isolation).map_err(RunError::Sandbox)
    }

    fn classify(&self, action: &Action, ended: &Ended, interpretation: &Interpretation, allowed: Allowed) -> ActionJudgement {
        let expected_failure = self.course.expected_failure();
        let history = self.workspace.test_history(self.course.request, expected_failure, action, ended, interpretation);
        verdict::classify(&verdict::ActionFacts {
            action,
            end: &ended.end,
            duration: ended.duration,
            interpretation,
            phase: self.course.phase(),
            cycle_started: self.course.in_cycle(),
            run_timeout: allowed.of_the_run,
            expected_failure,
            history: &history,
        })
    }

    fn keep_streams(&mut self, action: &Action, ended: &Ended, names: &ActionFiles) -> Result<Vec<EvidenceFile>, RunError> {
        let captured = &ended.captured;
        let log = (&names.log, captured.log_bytes, captured.log_digest);
        let frames = (&names.frames, captured.frames_bytes, captured.frames_digest);
        let mut files = Vec::with_capacity(2);
        for (file, bytes, digest) in [log, frames] {
            let kept = self.directory.adopt(&file.name, bytes, digest, file.kind, Some(&action.id));
            files.push(kept.map_err(RunError::Evidence)?);
        }
        Ok(files)
    }

    fn keep_report(
        &mut self,
        name: Option<&NamedFile>,
        report: &ToolReport,
        action: &Action,
    ) -> Result<Option<EvidenceFile>, RunError> {
        let (Some(name), ToolReport::Fresh(bytes)) = (name, report) else { return Ok(None) };
        self.directory.write(&name.name, bytes, name.kind, Some(&action.id)).map(Some).map_err(RunError::Evidence)
    }

    fn keep_records(
        &mut self,
        action: &Action,
        ended: &Ended,
        interpretation: &Interpretation,
        outcome: &ActionJudgement,
        (environment, program): (&ChildEnvironment, Option<&Path>),
        (names, attempt): (&ActionFiles, u32),
    ) -> Result<Vec<EvidenceFile>, RunError> {
        let mut files = Vec::with_capacity(2);
        let directory = self.working_directory(action);
        let places = (self.course.request.scope.root.as_path(), directory.as_path());
        let program = program.and_then(|program| self.workspace.program_facts(action, places, program));
        let run = (&self.course.run_id, attempt);
        let record = records::action(run, action, ended, &directory, program, environment);
        let mut write = |name: &NamedFile, bytes: &[u8]| {
            let kept = self.directory.write(&name.name, bytes, name.kind, Some(&action.id)).map_err(RunError::Evidence)?;
            files.push(kept);
            Ok::<(), RunError>(())
        };
        write(&names.record, &record)?;
        if let (Some(name), Some(bytes)) =
            (&names.findings, records::findings(&self.course.run_id, action, ended, interpretation, outcome))
        {
            write(name, &bytes)?;
        }
        Ok(files)
    }
}

fn limits_of(action: &Action, timeout: Duration) -> ActionLimits {
    ActionLimits {
        // The start of a service is bounded by whoever waits for it; then it goes on as long as the checks, which are bounded.
        timeout: if action.service.is_some() { Duration::MAX } else { timeout },
        idle: action.idle_timeout,
        output: action.max_output.map(|size| size.0),
        grace: action.grace,
        ladder: tools::stop_ladder(action.tool),
    }
}

/// Notes that an action is not run.
pub(crate) fn skipped(action: &Action, reason: SkipReason) -> ActionResult {
    ActionResult::new(action.clone(), ActionDisposition::Skipped(reason))
}
