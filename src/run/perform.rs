//! What one action goes through: prepare → supervise → take what the tool left → interpret → classify → write it down.
//! What is different for one that goes on while others run is in `services`, for one that an earlier verdict stands for in `reusing`,
//! for one that starts no process in `looks`; `attempts` is how often an action goes through it.

mod attempts;
mod control;
mod ends;
mod looks;
mod reports;
mod reusing;
mod reviewing;
mod running_service;
mod services;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::evidence::{OutputDirectory, ProjectLock, RunDirectory, Scratch, Slot, is_our_link};
use crate::model::{
    Action, ActionLimits, ActionPhase, Blocking, Captured, Digest, DurationMs, Ended, EvidenceFile, Interpretation, Observed,
    PlanNote, ResultType, Sandbox, SpawnFailure, StopReason, ToolReport,
};
use crate::process::{Isolation, LaunchRequest, Sinks, SuperviseError, clock, resolve_program, supervise};
use crate::report::{ActionDisposition, ActionFacts, ActionFiles, ExecutedFacts, NamedFile, SkipReason};
use crate::run::carry_out::{Course, heeded, skip_reason};
use crate::run::environment::ChildEnvironment;
use crate::run::error::RunError;
use crate::run::flow::RunClock;
use crate::run::hints::FailedAction;
use crate::run::isolation;
use crate::run::old_report::PutAside;
use crate::run::progress::Progress;
use crate::run::queue::{Answer, QueueSettings, Turn, take_turn};
use crate::run::records;
use crate::run::sandbox::SandboxRequest;
use crate::run::surroundings::Survey;
use crate::run::workspace::Workspace;
use crate::tools;
use crate::verdict;

use self::attempts::Attempts;
use self::control::with_control;
use self::ends::{not_a_process, not_started};
use self::reports::{own_report, take_project_report, take_report};
pub(crate) use self::running_service::RunningService;
pub(crate) use self::services::Started;

/// What became of an action, and what was kept of it.
#[derive(Debug)]
pub(crate) struct Performed {
    pub(crate) facts: ActionFacts,
    pub(crate) outcome: Option<verdict::Outcome>,
    pub(crate) files: Vec<EvidenceFile>,
    pub(crate) environment_names: BTreeSet<String>,
    pub(crate) notes: Vec<PlanNote>,
    /// How long it waited for other runs' actions, where it did. No part of its own time.
    pub(crate) waited: Option<DurationMs>,
    /// For a prerequisite that was carried out: what it was started on and has made; none where that is not known.
    pub(crate) met: Option<Digest>,
}

/// How an action ended, and what it saw of the file system.
struct Supervised {
    ended: Ended,
    sandbox: Option<Sandbox>,
}

/// How long an action may take, and which time-out of the run as a whole that is, where less is left of it than the action may take.
#[derive(Debug, Clone, Copy)]
struct Allowed {
    timeout: Duration,
    of_the_run: Option<Duration>,
}

/// What is known of an action beside its end and its outcome.
struct Judged {
    observed: Observed,
    interpretation: Interpretation,
    ready_after: Option<DurationMs>,
}

/// Carries actions out, one after the other.
pub(crate) struct Performer<'w, 'c> {
    workspace: &'w mut Workspace,
    lock: &'w ProjectLock,
    course: &'c Course<'c>,
    directory: &'w mut RunDirectory,
    show: &'w mut dyn FnMut(Progress),
    queue: QueueSettings,
    attempts: Attempts,
    clock: RunClock,
}

impl Performed {
    /// Returns what there is to say of an action that was not started.
    fn untouched(facts: ActionFacts) -> Self {
        Self {
            facts,
            outcome: None,
            files: Vec::new(),
            environment_names: BTreeSet::new(),
            notes: Vec::new(),
            waited: None,
            met: None,
        }
    }

    /// Returns whether its result decides the verdict against the run.
    pub(crate) fn blocks(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| outcome.blocking == Blocking::Blocks)
    }

    /// Returns why it was not run; none where it was, or an earlier verdict stands for it.
    pub(crate) fn skipped(&self) -> Option<SkipReason> {
        match &self.facts.disposition {
            ActionDisposition::Skipped(reason) => Some(*reason),
            ActionDisposition::Executed(_) | ActionDisposition::Reused(_) => None,
        }
    }

    /// Returns how the action ended; none when it was not run.
    pub(crate) fn status(&self) -> Option<ResultType> {
        self.outcome.as_ref().map(|outcome| outcome.classification.category)
    }
}

impl<'w, 'c> Performer<'w, 'c> {
    pub(crate) fn new(
        workspace: &'w mut Workspace,
        lock: &'w ProjectLock,
        course: &'c Course<'c>,
        directory: &'w mut RunDirectory,
        show: &'w mut dyn FnMut(Progress),
    ) -> Self {
        let (queue, attempts) = (course.request.settings.queue, Attempts::default());
        let clock = RunClock::new(course.request.plan, clock::monotonic());
        Self { workspace, lock, course, directory, show, queue, attempts, clock }
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
    pub(crate) fn skip(&mut self, action: &Action, reason: SkipReason) -> Performed {
        let skipped = skipped(action, reason);
        self.tell(&skipped.facts);
        skipped
    }

    /// Carries an action out once, when its turn has come; one that is stopped before is skipped. Nobody is told of it yet.
    fn perform_once(&mut self, action: &Action) -> Result<Performed, RunError> {
        if !action.kind.starts_a_process() {
            return self.perform_look(action);
        }
        let Answer { turn, waited } = self.take_turn(action)?;
        self.clock.note_wait(waited);
        let performed = match turn {
            Turn::Given(slot) => self.perform_in(slot, action)?,
            Turn::Stopped => skipped(action, skip_reason(self.course.request.control)),
        };
        Ok(Performed { waited, ..performed })
    }

    /// Waits before anything of the action is prepared, so that nothing in the project is put aside for the length of the wait.
    fn take_turn(&mut self, action: &Action) -> Result<Answer, RunError> {
        let (control, heeded) = (self.course.request.control, heeded(action.phase));
        let stopped = || control.requested().filter(|reason| heeded.contains(reason));
        let answer = take_turn(&self.workspace.store, self.workspace.ambient(), self.queue, &stopped, self.show);
        if let Err(RunError::Queue { .. }) = answer {
            // The run has failed. What is left of it is the clean-up, which is tried once and does not wait as long again.
            self.queue.wait = Duration::ZERO;
        }
        answer
    }

    /// Carries an action out. A command that fails, hangs or cannot start is a value.
    fn perform_in(&mut self, slot: Option<Slot>, action: &Action) -> Result<Performed, RunError> {
        (self.show)(Progress::ActionStarted(Box::new(action.clone())));
        let attempt = self.attempts.number();
        let names = ActionFiles::of_attempt(action, attempt);
        let output = OutputDirectory::create_for_attempt(self.lock, &self.course.run_id, &action.id, attempt);
        let output = output.map_err(RunError::Evidence)?;
        let mut environment = self.environment(action, output.path());
        let link = self.evidence_link();
        let preparation = tools::prepare(&seen_by_the_tool(action, &environment), output.path(), link.as_deref());
        environment.add_for_the_tool(&preparation.environment);
        let control = self.perform_control(action, self.allowed(action))?;
        let old_report = PutAside::of(own_report(&preparation.report, &self.working_directory(action)))?;
        let root = &self.course.request.scope.root;
        let old_coverage = PutAside::of(preparation.coverage.as_ref().map(|path| root.join(path)))?;
        let allowed = self.allowed(action);
        let limited = limits_of(action, allowed.timeout);
        let supervised = self.supervise(action, limited, preparation.argv, &environment, (&names, &output))?;
        let Supervised { mut ended, sandbox } = supervised;
        // Nothing of it is alive any more: another action may start while this one is judged.
        drop(slot);
        let report = take_report(&preparation.report, &output, &self.working_directory(action));
        let coverage = match &preparation.coverage {
            Some(path) => take_project_report(&self.course.request.scope.root, path),
            None => ToolReport::NotRequested,
        };
        drop((old_report, old_coverage));
        let channel = preparation.report.channel();
        let said = tools::interpret(&tools::Input {
            action,
            end: &ended.end,
            stdout: &ended.captured.stdout,
            stderr: &ended.captured.stderr,
            report: &report,
            coverage: &coverage,
            report_channel: channel,
            project_root: &self.course.request.scope.root,
            survivors: ended.survivors.len(),
        });
        let (interpretation, mut observed) = self.attempts.read(action, &ended, said, &names.log.name);
        let interpretation = with_control(interpretation, control.as_ref().map(|control| &control.seen));
        let mut outcome = self.classify(action, &ended, &interpretation, allowed);
        shorten(&mut ended.captured);
        let mut files = control.map(|control| control.files).unwrap_or_default();
        files.extend(self.keep_streams(action, &ended, &names)?);
        files.extend(self.keep_report(names.tool_report.as_ref(), &report, action)?);
        files.extend(self.keep_report(names.coverage_report.as_ref(), &coverage, action)?);
        files.extend(self.keep_records(action, &ended, &interpretation, &outcome, &environment, &names)?);
        files.extend(self.keep_review(action, &mut observed, &names)?);
        self.directory.begin_sync();
        let notes = if outcome.classification.category == ResultType::Success {
            Vec::new()
        } else {
            self.hints(action, &ended, &environment, sandbox.as_ref())
        };
        let judged = Judged { observed, interpretation, ready_after: None };
        let facts = self.over(action, ended, judged, &mut outcome);
        let environment_names = environment.variables.keys().map(|name| name.to_string_lossy().into_owned()).collect();
        Ok(Performed { facts, outcome: Some(outcome), files, environment_names, notes, waited: None, met: None })
    }

    /// Returns what became of an action. Its findings are written down by now: one copy of them is kept, for the report.
    fn over(&mut self, action: &Action, ended: Ended, judged: Judged, outcome: &mut verdict::Outcome) -> ActionFacts {
        let executed = ExecutedFacts {
            ended,
            observed: judged.observed,
            earlier: self.attempts.take(),
            interpretation: Interpretation { diagnostics: Vec::new(), ..judged.interpretation },
            ready_after: judged.ready_after,
            diagnostics: std::mem::take(&mut outcome.diagnostics),
            summary: outcome.summary,
            classification: outcome.classification.clone(),
            blocking: outcome.blocking,
            debt: outcome.debt.clone(),
            agent_action: outcome.agent_action.clone(),
        };
        ActionFacts { action: action.clone(), disposition: ActionDisposition::Executed(Box::new(executed)) }
    }

    fn tell(&mut self, facts: &ActionFacts) {
        let result = crate::report::action_result(facts);
        (self.show)(Progress::ActionEnded(Box::new(result)));
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

    fn supervise(
        &mut self,
        action: &Action,
        limits: ActionLimits,
        argv: Vec<String>,
        environment: &ChildEnvironment,
        (names, output): (&ActionFiles, &OutputDirectory),
    ) -> Result<Supervised, RunError> {
        let log = self.directory.create_file(&names.log.name).map_err(RunError::Evidence)?;
        let frames = self.directory.create_file(&names.frames.name).map_err(RunError::Evidence)?;
        let request = match self.launch_request(action, argv, environment, output)? {
            Ok(request) => request,
            Err(failure) => return Ok(Supervised { ended: not_started(failure), sandbox: None }),
        };
        if action.phase == ActionPhase::Step {
            self.workspace.parking.note_step(&request.isolation);
        }
        let heeded = heeded(action.phase);
        let control = self.course.request.control;
        let failed = |source| RunError::Supervise { action: action.name.clone(), source };
        let copy = |file: &File| file.try_clone().map_err(|source| RunError::Descriptor { action: action.name.clone(), source });
        let sinks = Sinks { log: copy(&log)?, frames: copy(&frames)? };
        self.directory.begin_sync();
        let outcome = match supervise(self.workspace.launcher()?, &request, &limits, sinks, control, heeded) {
            // It may have died since the last run; nothing was started, so a new one is asked.
            Err(SuperviseError::LauncherGone) => {
                tracing::warn!("the launcher was gone and is started anew");
                supervise(self.workspace.launcher()?, &request, &limits, Sinks { log, frames }, control, heeded).map_err(failed)
            }
            outcome => outcome.map_err(failed),
        };
        let ended = outcome?;
        // The next action of the run is probably kept apart in the same way.
        if self.course.last_action().is_some_and(|last| last.id != action.id) {
            self.workspace.park(&request.isolation)?;
        }
        Ok(Supervised { ended, sandbox: request.isolation.sandbox })
    }

    /// Returns what the launcher is asked for; a program that is not there is a value.
    fn launch_request(
        &self,
        action: &Action,
        argv: Vec<String>,
        environment: &ChildEnvironment,
        output: &OutputDirectory,
    ) -> Result<Result<LaunchRequest, SpawnFailure>, RunError> {
        let directory = self.working_directory(action);
        let searched = environment.search_path();
        let program = match resolve_program(argv.first().map(String::as_str).unwrap_or_default(), &directory, &searched) {
            Ok(program) => program,
            Err(failure) => return Ok(Err(failure)),
        };
        let input = match self.attempts.input() {
            Ok(input) => input,
            Err(failure) => return Ok(Err(failure)),
        };
        let isolation = self.isolation(action, &program, &directory, environment, output)?;
        Ok(Ok(LaunchRequest {
            program,
            argv: argv.into_iter().map(OsString::from).collect(),
            environment: environment.variables.clone().into_iter().collect(),
            directory,
            isolation,
            input,
        }))
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
            scratch: self.workspace.parking.scratch().map_or(output.path(), Scratch::path),
            action,
            directory,
            program,
            environment: &environment.variables,
            ambient,
            settings: &request.settings.sandbox,
        };
        isolation::isolation(&sandbox, output.path(), request.settings.strongest_isolation)
    }

    fn classify(&self, action: &Action, ended: &Ended, interpretation: &Interpretation, allowed: Allowed) -> verdict::Outcome {
        verdict::classify(&verdict::ActionFacts {
            action,
            end: &ended.end,
            duration: ended.duration,
            interpretation,
            phase: self.course.phase(),
            cycle_started: self.course.in_cycle(),
            run_timeout: allowed.of_the_run,
            expected_failure: self.course.expected_failure(),
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
        outcome: &verdict::Outcome,
        environment: &ChildEnvironment,
        names: &ActionFiles,
    ) -> Result<Vec<EvidenceFile>, RunError> {
        let mut files = Vec::with_capacity(2);
        let program =
            self.workspace.program_facts(action, (&self.course.request.scope.root, &self.working_directory(action)), environment);
        let run = (&self.course.run_id, self.attempts.number());
        let record = records::action(run, action, ended, &self.working_directory(action), program, environment);
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

/// Returns the action with every variable its command will see, wherever it comes from: what a tool is asked through the
/// environment is merged with what stands there.
fn seen_by_the_tool(action: &Action, environment: &ChildEnvironment) -> Action {
    Action { environment: environment.as_text(), ..action.clone() }
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

/// What was printed has been read: from here on it is only shown, and what is kept of it is kept to the end of the run.
fn shorten(captured: &mut Captured) {
    captured.stdout = captured.stdout.shortened();
    captured.stderr = captured.stderr.shortened();
}

/// Notes that an action is not run.
fn skipped(action: &Action, reason: SkipReason) -> Performed {
    Performed::untouched(ActionFacts { action: action.clone(), disposition: ActionDisposition::Skipped(reason) })
}
