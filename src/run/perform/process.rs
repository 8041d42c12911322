//! One attempt of an action that starts a process, from its preparation to its judgement.

use crate::project::RunError;
use crate::sandbox::ChildEnvironment;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::evidence::{OutputDirectory, Slot};
use crate::model::{
    Action, ActionLimits, ActionPhase, Captured, Ended, IsolationLevel, ResultType, SpawnFailure, Tool, ToolReport,
};
use crate::process::{LaunchRequest, LaunchedChild, Sinks, SuperviseError, resolve_program, supervise};
use crate::project::Progress;
use crate::report::{ActionDisposition, ActionFiles, ActionResult, ExecutedAction};
use crate::run::carry_out::heeded;
use crate::run::old_report::PutAside;
use crate::run::perform::control::{Controlled, with_control};
use crate::run::perform::reports::{own_report, take_project_report, take_report};
use crate::run::perform::{Allowed, Attempts, Performer, limits_of, not_started};
use crate::tools::{self, ReportRequest};

/// What takes no longer than this is followed before its files are on the disk.
const SHORT: Duration = Duration::from_millis(20);

/// What a process is started with.
pub(crate) struct Launch {
    /// What the launcher is asked for; a program that is not there is a value.
    pub(crate) request: Result<LaunchRequest, SpawnFailure>,
    pub(crate) limits: ActionLimits,
    log: File,
    frames: File,
}

/// An attempt for which everything is there that it needs. Dropped, what was put aside for it comes back.
pub(crate) struct Prepared {
    pub(crate) launch: Launch,
    /// What came of its control, which is over by now.
    control: Option<Controlled>,
    names: ActionFiles,
    attempt: u32,
    output: OutputDirectory,
    environment: ChildEnvironment,
    report: ReportRequest,
    coverage: Option<PathBuf>,
    aside: [PutAside; 2],
    allowed: Allowed,
}

impl Launch {
    /// Returns where its output goes.
    pub(crate) fn sinks(&self, action: &Action) -> Result<Sinks, RunError> {
        let copy = |file: &File| file.try_clone().map_err(|source| RunError::Descriptor { action: action.name.clone(), source });
        Ok(Sinks { log: copy(&self.log)?, frames: copy(&self.frames)? })
    }
}

impl Performer<'_, '_> {
    /// Carries an attempt out. A command that fails, hangs or cannot start is a value.
    pub(super) fn perform_in(
        &mut self,
        slot: Option<Slot>,
        action: &Action,
        attempts: &mut Attempts,
    ) -> Result<ActionResult, RunError> {
        let mut prepared = self.prepare(action, attempts)?;
        let ended = self.supervise(action, &mut prepared.launch)?;
        // Nothing of it is alive any more: another action may start while this one is judged.
        drop(slot);
        self.judge(action, prepared, ended, attempts)
    }

    /// Makes everything ready that an attempt needs, and tells that it starts. Its control is carried out here: whoever carries steps out
    /// side by side starts no other one, and hears of no end, before that is over.
    pub(crate) fn prepare(&mut self, action: &Action, attempts: &Attempts) -> Result<Prepared, RunError> {
        (self.show)(Progress::ActionStarted(Box::new(action.clone())));
        let attempt = attempts.number();
        let names = ActionFiles::of_attempt(action, attempt);
        // What a report may be taken from is nothing that another action had: it might have passed it to somebody outside.
        let spare = if action.tool == Tool::Generic { self.spare_output.take() } else { None };
        let output = OutputDirectory::create_for_attempt(self.lock, &self.course.run_id, &action.id, attempt, spare);
        let output = output.map_err(RunError::Evidence)?;
        let mut environment = self.environment(action, output.path());
        let link = self.evidence_link();
        let preparation = tools::prepare(&seen_by_the_tool(action, &environment), output.path(), link.as_deref());
        environment.add_for_the_tool(&preparation.environment);
        let tools::Preparation { argv, report, coverage, .. } = preparation;
        // Before anything is put aside: what the control leaves in the project is no report of the attempt.
        let control = self.perform_control(action, self.allowed(action), attempts)?;
        let old_report = PutAside::of(own_report(&report, &self.working_directory(action)))?;
        let old_coverage = PutAside::of(coverage.as_ref().map(|path| self.course.request.scope.root.join(path)))?;
        let allowed = self.allowed(action);
        let limits = limits_of(action, allowed.timeout);
        let launch = self.prepare_launch(action, limits, (argv, attempts), &environment, (&names, &output))?;
        Ok(Prepared {
            launch,
            control,
            names,
            attempt,
            output,
            environment,
            report,
            coverage,
            aside: [old_report, old_coverage],
            allowed,
        })
    }

    /// Returns the files of the project that an action's report is taken from: while it goes on they are nobody else's.
    pub(crate) fn reports_in_the_project(&self, action: &Action) -> Vec<PathBuf> {
        let nowhere = Path::new("/");
        let environment = self.environment(action, nowhere);
        let preparation = tools::prepare(&seen_by_the_tool(action, &environment), nowhere, self.evidence_link().as_deref());
        let own = own_report(&preparation.report, &self.working_directory(action));
        let coverage = preparation.coverage.map(|path| self.course.request.scope.root.join(path));
        own.into_iter().chain(coverage).map(|path| as_one_spelling(&path)).collect()
    }

    /// Makes ready what a process of an action is started with.
    pub(super) fn prepare_launch(
        &mut self,
        action: &Action,
        limits: ActionLimits,
        (argv, attempts): (Vec<String>, &Attempts),
        environment: &ChildEnvironment,
        (names, output): (&ActionFiles, &OutputDirectory),
    ) -> Result<Launch, RunError> {
        let log = self.directory.create_file(&names.log.name).map_err(RunError::Evidence)?;
        let frames = self.directory.create_file(&names.frames.name).map_err(RunError::Evidence)?;
        let request = self.launch_request(action, (argv, attempts), environment, output)?;
        if let (ActionPhase::Step, Ok(request)) = (action.phase, &request) {
            self.workspace.parking.note_step(&request.child.isolation);
        }
        self.directory.begin_batched_sync();
        Ok(Launch { request, limits, log, frames })
    }

    /// Starts a process through the run's own launcher, and returns when nothing of it is alive.
    pub(super) fn supervise(&mut self, action: &Action, launch: &mut Launch) -> Result<Ended, RunError> {
        // The next action of the run is probably kept apart in the same way.
        let another_follows = self.course.last_action().is_some_and(|last| last.id != action.id);
        if let Ok(request) = &mut launch.request {
            request.child.another_follows = another_follows;
        }
        let request = match &launch.request {
            Ok(request) => request,
            Err(failure) => return Ok(not_started(failure.clone())),
        };
        let heeded = heeded(action.phase);
        let control = self.course.request.control;
        let failed = |source| RunError::Supervise { action: action.name.clone(), source };
        let sinks = launch.sinks(action)?;
        match supervise(self.workspace.launcher()?, request, &launch.limits, sinks, control, heeded) {
            // It may have died since the last run; nothing was started, so a new one is asked.
            Err(SuperviseError::LauncherGone) => {
                tracing::warn!("the launcher was gone and is started anew");
                let sinks = launch.sinks(action)?;
                supervise(self.workspace.launcher()?, request, &launch.limits, sinks, control, heeded).map_err(failed)
            }
            outcome => outcome.map_err(failed),
        }
    }

    /// Takes what an attempt has left, judges it and writes it down. Nothing of it is alive any more.
    pub(crate) fn judge(
        &mut self,
        action: &Action,
        prepared: Prepared,
        mut ended: Ended,
        attempts: &mut Attempts,
    ) -> Result<ActionResult, RunError> {
        let Prepared { launch, control, names, attempt, output, environment, report, coverage, aside, allowed } = prepared;
        let root = &self.course.request.scope.root;
        let channel = report.channel();
        let report = take_report(&report, &output, &self.working_directory(action));
        let coverage = coverage.map_or(ToolReport::NotRequested, |path| take_project_report(root, &path));
        drop(aside);
        let said = tools::interpret(&tools::Input {
            action,
            end: &ended.end,
            stdout: &ended.captured.stdout,
            stderr: &ended.captured.stderr,
            report: &report,
            coverage: &coverage,
            report_channel: channel,
            project_root: root,
            survivors: ended.survivors.len(),
        });
        let (interpretation, mut observed) = attempts.read(action, &ended, said, &names.log.name);
        let interpretation = with_control(interpretation, control.as_ref().map(|control| &control.seen));
        let judgement = self.classify(action, &ended, &interpretation, allowed);
        shorten(&mut ended.captured);
        let mut files = control.map(|control| control.files).unwrap_or_default();
        files.extend(self.keep_streams(action, &ended, &names)?);
        files.extend(self.keep_report(names.tool_report.as_ref(), &report, action)?);
        files.extend(self.keep_report(names.coverage_report.as_ref(), &coverage, action)?);
        let program = launch.request.as_ref().ok().map(|request| request.child.program.as_path());
        files.extend(self.keep_records(
            action,
            &ended,
            &interpretation,
            &judgement,
            (&environment, program),
            (&names, attempt),
        )?);
        files.extend(self.keep_review(action, &mut observed, &names, attempts)?);
        let is_followed = launch.request.as_ref().is_ok_and(|request| request.child.another_follows);
        if is_followed && Duration::from(ended.duration) < SHORT {
            self.directory.begin_batched_sync();
        } else {
            self.directory.begin_sync();
        }
        if is_nobody_left(&ended) {
            self.spare_output = Some(output);
        }
        let notes = if judgement.classification.category == ResultType::Success {
            Vec::new()
        } else {
            let sandbox = launch.request.ok().and_then(|request| request.child.isolation.sandbox);
            self.hints(action, &ended, &environment, sandbox.as_ref())
        };
        let earlier = attempts.take();
        let executed = ExecutedAction { observed, earlier, ..ExecutedAction::new(ended, interpretation, judgement) };
        let disposition = ActionDisposition::Executed(Box::new(executed));
        let environment_names = environment.variables.keys().map(|name| name.to_string_lossy().into_owned()).collect();
        Ok(ActionResult { files, environment_names, notes, ..ActionResult::new(action.clone(), disposition) })
    }

    /// Returns what the launcher is asked for; a program that is not there is a value.
    pub(super) fn launch_request(
        &self,
        action: &Action,
        (argv, attempts): (Vec<String>, &Attempts),
        environment: &ChildEnvironment,
        output: &OutputDirectory,
    ) -> Result<Result<LaunchRequest, SpawnFailure>, RunError> {
        let directory = self.working_directory(action);
        let searched = environment.search_path();
        let program = match resolve_program(argv.first().map(String::as_str).unwrap_or_default(), &directory, &searched) {
            Ok(program) => program,
            Err(failure) => return Ok(Err(failure)),
        };
        let input = match attempts.input() {
            Ok(input) => input,
            Err(failure) => return Ok(Err(failure)),
        };
        let isolation = self.isolation(action, &program, &directory, environment, output)?;
        Ok(Ok(LaunchRequest {
            child: LaunchedChild {
                program,
                argv: argv.into_iter().map(OsString::from).collect(),
                environment: environment.variables.clone().into_iter().collect(),
                directory,
                isolation,
                another_follows: false,
            },
            input,
        }))
    }
}

/// Returns a path to a file as it is spelt by whoever goes there by no other way: its directory, where that is there, without links.
fn as_one_spelling(path: &Path) -> PathBuf {
    let directory = path.parent().and_then(|directory| directory.canonicalize().ok());
    directory.zip(path.file_name()).map_or_else(|| path.to_owned(), |(directory, name)| directory.join(name))
}

/// Returns the action with every variable its command will see, wherever it comes from: what a tool is asked through the
/// environment is merged with what stands there.
pub(super) fn seen_by_the_tool(action: &Action, environment: &ChildEnvironment) -> Action {
    Action { environment: environment.as_text(), ..action.clone() }
}

/// Returns whether the kernel itself says that nobody of an action is alive: elsewhere somebody who was not found may hold its directory.
fn is_nobody_left(ended: &Ended) -> bool {
    ended.end.is_of_its_own() && ended.kept.as_ref().is_some_and(|kept| kept.reached.level == IsolationLevel::Namespace)
}

/// What was printed has been read: from here on it is only shown, and what is kept of it is kept to the end of the run.
fn shorten(captured: &mut Captured) {
    captured.stdout = captured.stdout.shortened();
    captured.stderr = captured.stderr.shortened();
}
