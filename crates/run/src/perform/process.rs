//! One attempt of an action with a process, from preparation to judgement.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::bytecode_in_place::note_of_foreign_bytecode;
use crate::client_start::{ClientPlace, ClientStart, client_start};
use crate::connection_variables::KnownVariables;
use crate::flow::stop_reasons_for;
use crate::old_report::OldReportGuard;
use crate::perform::control::{ControlOutcome, apply_control};
use crate::perform::listing::ListingOutcome;
use crate::perform::reports::{
    directory_of_reports, named_report_paths, names_in, normalise_path, package_scripts, read_source, take_project_report,
    take_report, without_secrets,
};
use crate::perform::{
    Attempts, JudgedAttempt, OutputPlaces, Performer, TimeBudget, ended_not_started, ended_without_launcher, limits_of,
};
use proctor_evidence::report::{ActionDisposition, ActionFiles, ActionResult, ExecutedAction};
use proctor_evidence::{OutputDirectory, ReportWatch, Slot, read_regular_text};
use proctor_model::{
    Action, ActionKind, ActionLimits, ActionPhase, CapturedOutput, ClientCall, ENGINE_SOCKET_OPEN, EndedAction, IsolationLevel,
    JudgedBy, PlanNote, ProtectionMode, ResultType, SpawnFailure, ToolReport, VisibleKind,
};
use proctor_project::{Progress, ProjectError};
use proctor_sandbox::process::{LaunchRequest, LaunchedChild, Sinks, SuperviseError, clock, resolve_program, supervise};
use proctor_sandbox::{ChildEnvironment, Secrets};
use proctor_tools::{self as tools, ReportRequest};

/// After an attempt shorter than this, the next action starts before the attempt's files are safely on disk.
const SHORT: Duration = Duration::from_millis(20);

/// By how much the machine's clock and the monotonic one may differ over an action before the clock counts as set.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(500);

/// How many launchers (the process that starts actions) are tried for an action that was not started yet.
const LAUNCHERS: usize = 2;

/// The most bytes of a file with settings of npm that are read.
const NPM_SETTINGS_CAP: u64 = 1 << 20;

/// A process that is ready to start: the request to the launcher (the process that starts an action's processes), the
/// limits, and the files for the output.
pub(crate) struct ProcessLaunch {
    /// The request to the launcher, or why there is none. A missing program is a result of the action, no error of
    /// proctor.
    pub(crate) request: Result<LaunchRequest, SpawnFailure>,
    pub(crate) limits: ActionLimits,
    log: File,
    frames: File,
    /// The secrets that are masked in the output.
    secrets: Secrets,
}

/// An attempt that is ready to start. When the attempt is dropped, old reports that were moved aside for it are moved
/// back.
pub(crate) struct PreparedAttempt {
    pub(crate) launch: ProcessLaunch,
    /// The result of the check's control. A control has ended before the attempt itself is started.
    control: Option<ControlOutcome>,
    /// The list of the files that the check looks at, if a second call listed them.
    listing: Option<ListingOutcome>,
    names: ActionFiles,
    attempt: u32,
    output: OutputDirectory,
    environment: ChildEnvironment,
    report: ReportRequest,
    /// The observation of the report's file; `None` if proctor did not name the file, or if it cannot be observed.
    report_watch: Option<ReportWatch>,
    coverage: Option<PathBuf>,
    aside: Vec<OldReportGuard>,
    time_budget: TimeBudget,
}

impl ProcessLaunch {
    /// Returns handles of the files that the output is written to. The files stay open here, so that a second launcher
    /// can be given them too.
    pub(crate) fn sinks(&self, action: &Action) -> Result<Sinks, ProjectError> {
        let copy =
            |file: &File| file.try_clone().map_err(|source| ProjectError::Descriptor { action: action.name.clone(), source });
        Ok(Sinks { log: copy(&self.log)?, frames: copy(&self.frames)?, masked: self.secrets.bytes() })
    }
}

impl Performer<'_, '_> {
    /// Carries out an attempt. A command that fails, hangs or cannot start gives a result; an error is a failure of
    /// proctor itself.
    pub(super) fn run_attempt(
        &mut self,
        slot: Option<Slot>,
        action: &Action,
        attempts: &mut Attempts,
    ) -> Result<ActionResult, ProjectError> {
        let mut prepared = self.prepare(action, attempts)?;
        let ended = self.supervise(action, &mut prepared.launch)?;
        // No process of the action is left, so another action may start while this one is judged.
        drop(slot);
        self.judge(action, prepared, ended, attempts)
    }

    /// Prepares an attempt and reports its start to the screen. The control runs here. So with checks side by side, no
    /// other check starts and no end is reported until the control is over.
    pub(crate) fn prepare(&mut self, action: &Action, attempts: &Attempts) -> Result<PreparedAttempt, ProjectError> {
        (self.show)(Progress::ActionStarted(Box::new(action.clone())));
        let attempt = attempts.number();
        let names = ActionFiles::for_attempt(action, attempt);
        // A tool's report is read only from a new directory. A used directory is not safe: an earlier action could have
        // passed an open descriptor of it to a process outside of the sandbox, which could then write a report into it.
        let leaves_report = action.tool.judged_by() != JudgedBy::ExitCode || matches!(action.kind, ActionKind::ClientCommand(_));
        let spare = if leaves_report { None } else { self.spare_output.take() };
        let output = OutputDirectory::create_for_attempt(self.lock, &self.context.run_id, &action.id, attempt, spare)?;
        let mut environment = self.environment(action, output.path());
        let link = self.evidence_link();
        let preparation = tools::prepare(&with_command_environment(action, &environment), output.path(), link.as_deref());
        environment.add_for_the_tool(&preparation.environment);
        let tools::Preparation { mut argv, mut report, coverage, files, needs_snapshot, .. } = preparation;
        for (name, content) in files {
            output.put(name, content.as_bytes())?;
        }
        let mut not_ready = None;
        match self.start_of_client(action, &output, &environment) {
            None => {}
            Some(Ok(start)) => {
                environment.add_for_the_client(&start.variables, &self.secrets());
                (argv, report) = (start.argv, start.report);
            }
            Some(Err(why)) => not_ready = Some(SpawnFailure::ClientNotReady { why }),
        }
        // The control runs before old reports are moved, so that a report of the control is not mistaken for a report
        // of the attempt.
        let control = self.perform_control(action, self.time_budget(action), attempts)?;
        let listing = self.perform_listing(action, self.time_budget(action), attempts)?;
        // In a snapshot a report counts only if the attempt itself wrote it, so no old report has to be moved.
        let in_project = self.place.snapshot_for(action).is_none();
        let root = &self.context.request.scope.root;
        let named = named_report_paths(&report, &self.working_directory(action), root).into_iter();
        let old = named.chain(coverage.as_ref().map(|path| root.join(path))).filter(|_| in_project);
        let aside = old.map(|path| OldReportGuard::move_aside(normalise_path(&path))).collect::<Result<_, _>>()?;
        let time_budget = self.time_budget(action);
        let limits = limits_of(action, time_budget.timeout);
        let places = OutputPlaces { names: &names, output: &output, is_attempt: true };
        let mut launch = self.prepare_launch(action, limits, argv, attempts, &environment, places)?;
        if let Ok(log) = launch.log.try_clone() {
            (self.show)(Progress::ProcessPrepared { action_id: action.id.clone(), log: Arc::new(log) });
        }
        if let Some(failure) = not_ready {
            launch.request = Err(failure);
        }
        if let Some(why) = needs_snapshot.filter(|_| in_project) {
            launch.request = Err(SpawnFailure::NotIsolated { why: why.to_owned() });
        }
        let report_watch = ours(&report).and_then(|path| ReportWatch::begin(path, clock::now()));
        Ok(PreparedAttempt {
            launch,
            control,
            listing,
            names,
            attempt,
            output,
            environment,
            report,
            report_watch,
            coverage,
            aside,
            time_budget,
        })
    }

    /// Returns how the client of an action is started, or why it cannot be; `None` if no client carries the action out.
    fn start_of_client(
        &self,
        action: &Action,
        output: &OutputDirectory,
        environment: &ChildEnvironment,
    ) -> Option<Result<ClientStart, String>> {
        let ActionKind::ClientCommand(call) = &action.kind else { return None };
        let (directory, searched) = (self.working_directory(action), environment.search_path());
        let place = ClientPlace {
            executable: self.runner.executable(),
            directory: &directory,
            output: output.path(),
            searched: &searched,
            engine_socket: self.context.request.settings.engine_socket.as_deref(),
            requires_isolation: self.context.request.settings.sandbox.mode == ProtectionMode::Require,
        };
        let known = KnownVariables { environment: &environment.variables, secrets: &self.secrets() };
        Some(client_start(call, &place, &known))
    }

    /// Returns the project files that the action's report is read from. No other action may use them at the same time.
    pub(crate) fn project_report_paths(&self, action: &Action) -> Vec<PathBuf> {
        let nowhere = Path::new("/");
        let environment = self.environment(action, nowhere);
        let preparation =
            tools::prepare(&with_command_environment(action, &environment), nowhere, self.evidence_link().as_deref());
        let root = &self.context.request.scope.root;
        let own = named_report_paths(&preparation.report, &self.working_directory(action), root);
        let directory = directory_of_reports(&preparation.report, root);
        let coverage = preparation.coverage.map(|path| root.join(path));
        own.into_iter().chain(directory).chain(coverage).map(|path| normalise_path(&path)).collect()
    }

    /// Creates the files for an action's output, and builds the request to the launcher.
    pub(super) fn prepare_launch(
        &mut self,
        action: &Action,
        limits: ActionLimits,
        argv: Vec<String>,
        attempts: &Attempts,
        environment: &ChildEnvironment,
        places: OutputPlaces<'_>,
    ) -> Result<ProcessLaunch, ProjectError> {
        let OutputPlaces { names, output, is_attempt } = places;
        let log = self.directory.create_file(&names.log.name)?;
        let frames = self.directory.create_file(&names.frames.name)?;
        let mut request = self.launch_request(action, argv, attempts, environment, output)?;
        if let Ok(request) = &mut request {
            self.put_on_snapshot(action, request)?;
        }
        if let (ActionPhase::Step, Ok(request)) = (action.phase, &mut request) {
            let is_first = is_attempt && attempts.number() == 1;
            let early = if is_first { self.early_command(action, &request.child, output) } else { None };
            request.child.early = early.as_ref().map(|early| early.key.clone());
            self.runner.preparation.note_step(&request.child.isolation, early);
            let visible = request.child.isolation.sandbox.iter().flat_map(|sandbox| &sandbox.visible);
            let visible = visible.filter(|directory| directory.kind != VisibleKind::PinnedPackages);
            let paths = visible.map(|directory| directory.path.clone());
            self.toolchains.iter_mut().for_each(|toolchains| toolchains.add(paths.clone()));
        }
        self.directory.begin_batched_sync();
        Ok(ProcessLaunch { request, limits, log, frames, secrets: self.secrets() })
    }

    /// Starts an action's process through the run's launcher, and returns when none of the action's processes is left.
    pub(super) fn supervise(&mut self, action: &Action, launch: &mut ProcessLaunch) -> Result<EndedAction, ProjectError> {
        // If another action follows, the launcher prepares for it: the next action will probably be isolated in the
        // same way.
        let another_follows = self.context.last_action().is_some_and(|last| last.id != action.id);
        if let Ok(request) = &mut launch.request {
            request.child.another_follows = another_follows;
        }
        let request = match &launch.request {
            Ok(request) => request,
            Err(failure) => return Ok(ended_not_started(failure.clone())),
        };
        let stop_reasons_for = stop_reasons_for(action.phase);
        let control = self.context.request.control;
        let failed = |source| ProjectError::Supervise { action: action.name.clone(), source };
        for _ in 0..LAUNCHERS {
            let sinks = launch.sinks(action)?;
            match supervise(self.runner.launcher()?, request, &launch.limits, sinks, control, stop_reasons_for) {
                // The launcher may have died since the last run. Nothing was started yet, so a new launcher is tried.
                Err(SuperviseError::LauncherGone) => tracing::warn!("the launcher was gone and is started anew"),
                outcome => return outcome.map_err(failed),
            }
        }
        Ok(ended_without_launcher())
    }

    /// Reads what an attempt left, judges it, and writes its records. No process of the attempt is left.
    pub(crate) fn judge(
        &mut self,
        action: &Action,
        prepared: PreparedAttempt,
        mut ended: EndedAction,
        attempts: &mut Attempts,
    ) -> Result<ActionResult, ProjectError> {
        self.note_end(action, &ended.end);
        self.refuse_full_disk(action, &ended)?;
        self.secrets().mask_survivors(&mut ended.survivors);
        note_engine_socket(action, &mut ended);
        let report_file = prepared.report_watch.map(|watch| watch.finish(clock::now())).unwrap_or_default();
        let PreparedAttempt {
            launch,
            control,
            listing,
            names,
            attempt,
            output,
            environment,
            report,
            coverage,
            aside,
            time_budget,
            ..
        } = prepared;
        let root = &self.context.request.scope.root;
        let is_there = |request: &ReportRequest| request.path().is_some_and(Path::exists);
        let expanded = report.expanded().filter(|expanded| !is_there(&report) && is_there(expanded));
        let report = expanded.unwrap_or(report);
        let channel = report.channel();
        let isolation = launch.request.as_ref().ok().map(|request| &request.child.isolation);
        let mount = isolation.and_then(|isolation| isolation.snapshot.as_ref());
        let (mut notes, mut changed) = (Vec::new(), Vec::new());
        let secrets = &launch.secrets;
        let report = take_report(&report, &output, &self.working_directory(action), root, mount);
        let report = without_secrets(report, secrets, output.path());
        let coverage = coverage.map_or(ToolReport::NotRequested, |path| take_project_report(root, &path, mount));
        let coverage = without_secrets(coverage, secrets, output.path());
        if let (Some(mount), Some(snapshot)) = (mount, self.place.snapshot_to_change(action)) {
            let sandbox = isolation.and_then(|isolation| isolation.sandbox.as_ref());
            let is_linter = action.phase == ActionPhase::Step && tools::runs_linter(action, &package_scripts(root, action));
            let noted = snapshot.note_written(action, &ended, mount, sandbox, self.context.request.settings, is_linter);
            let noted = noted.map_err(|source| ProjectError::WrittenLayer { action: action.name.clone(), source })?;
            let subject = action.name.clone();
            let message = noted.dropped_cache.map(|why| format!("the tool's cache was dropped: {why}"));
            notes.extend(message.map(|message| PlanNote { subject, message }));
            changed = noted.changed;
        }
        let dropped = isolation.and_then(|isolation| isolation.dropped.as_ref());
        notes.extend(self.drop_layers(action, dropped));
        if mount.is_none() {
            notes.extend(note_of_foreign_bytecode(action, &environment, output.path()));
        }
        drop(aside);
        let input = tools::Input {
            action,
            end: &ended.end,
            stdout: &ended.captured.stdout,
            stderr: &ended.captured.stderr,
            report: &report,
            coverage: &coverage,
            report_channel: channel,
            report_file,
            last_output: ended.captured.last_output.filter(|_| !was_clock_set(&ended)),
            project_root: root,
            names_in,
            source: read_source,
            survivors: ended.survivors.len(),
            is_asked_behind: tools::is_asked_behind(action, self.context.request.plan),
        };
        // What was tested is in the snapshot; the project's own file may be another one by now.
        let source = |path: &Path| match self.place.snapshot_for(action) {
            Some(snapshot) => {
                let (directory, relative) = snapshot.place_of(&action.id, path).ok().flatten()?;
                read_source(&directory, &relative)
            }
            None => read_source(root, path),
        };
        let said = tools::name_what_hung(&input, tools::interpret(&input), &source);
        let seen = with_command_environment(action, &environment);
        let hiding = tools::hiding_module(&seen, root, &self.working_directory(action), &names_in);
        let said = tools::judge_hidden(said, root, hiding.as_ref());
        let message = hiding.and_then(|hiding| hiding.note(root));
        notes.extend(message.map(|message| PlanNote { subject: action.name.clone(), message }));
        // npm follows a link, wherever it leads.
        let followed = |path: &Path| source(path).or_else(|| read_regular_text(&root.join(path), NPM_SETTINGS_CAP).ok());
        let said = tools::judge_npm_setting(said, tools::deciding_npm_setting(action, &action.directory, &followed));
        let said = tools::judge_mended(said, &changed);
        let mut said = tools::add_source_lines(said, &source);
        tools::add_test_bodies(&mut said.cases, &source);
        let said = secrets.mask_interpretation(said);
        let (interpretation, mut observed) = attempts.read(action, &ended, said, &names.log.name);
        let interpretation = apply_control(interpretation, control.as_ref().map(|control| &control.seen));
        let interpretation =
            tools::apply_listing(action.tool, interpretation, listing.as_ref().and_then(|listing| listing.count));
        let judgement = self.classify(action, &ended, &interpretation, time_budget);
        shorten(&mut ended.captured);
        let mut files = control.map(|control| control.files).unwrap_or_default();
        files.extend(listing.into_iter().flat_map(|listing| listing.files));
        files.extend(self.keep_streams(action, &ended, &names)?);
        files.extend(self.keep_report(names.tool_report.as_ref(), &report, action)?);
        files.extend(self.keep_report(names.coverage_report.as_ref(), &coverage, action)?);
        let program = launch.request.as_ref().ok().map(|request| request.child.program.as_path());
        files.extend(self.keep_records(JudgedAttempt {
            action,
            ended: &ended,
            interpretation: &interpretation,
            judgement: &judgement,
            environment: &environment,
            program,
            names: &names,
            number: attempt,
        })?);
        files.extend(self.keep_review(action, &mut observed, &names, attempts)?);
        let is_followed = launch.request.as_ref().is_ok_and(|request| request.child.another_follows);
        if is_followed && Duration::from(ended.duration) < SHORT {
            self.directory.begin_batched_sync();
        } else {
            self.directory.begin_sync();
        }
        if is_process_tree_empty(&ended) {
            self.spare_output = Some(output);
        }
        if judgement.classification.category != ResultType::Success {
            let isolation = launch.request.ok().map(|request| request.child.isolation);
            let on_snapshot = isolation.as_ref().is_some_and(|isolation| isolation.snapshot.is_some());
            let sandbox = isolation.and_then(|isolation| isolation.sandbox);
            notes.extend(self.hints(action, &ended, &environment, sandbox.as_ref(), on_snapshot));
        }
        let earlier = attempts.take();
        let executed = ExecutedAction { observed, earlier, ..ExecutedAction::new(ended, interpretation, judgement) };
        let disposition = ActionDisposition::Executed(Box::new(executed));
        let environment_names = environment.variables.keys().map(|name| name.to_string_lossy().into_owned()).collect();
        Ok(ActionResult { files, environment_names, notes, ..ActionResult::new(action.clone(), disposition) })
    }

    /// Returns the path of a program that a command names by its path, if it is a file of the snapshot.
    fn program_on_snapshot(&self, action: &Action, named: &str) -> Option<PathBuf> {
        let snapshot = self.place.snapshot_for(action).filter(|_| named.contains('/'))?;
        let root = &self.context.request.scope.root;
        let path = normalise_path(&self.working_directory(action).join(named));
        // If the project has this file too, the program was refused for another reason, and people should read that
        // reason.
        let relative = path.strip_prefix(root).ok().filter(|_| !path.exists())?;
        snapshot.place_of(&action.id, relative).ok().flatten().map(|_| path)
    }

    /// Returns the request to the launcher, or why the action cannot be started. A missing program is no error of
    /// proctor.
    pub(super) fn launch_request(
        &self,
        action: &Action,
        argv: Vec<String>,
        attempts: &Attempts,
        environment: &ChildEnvironment,
        output: &OutputDirectory,
    ) -> Result<Result<LaunchRequest, SpawnFailure>, ProjectError> {
        let directory = self.working_directory(action);
        let searched = environment.search_path();
        let named = argv.first().map(String::as_str).unwrap_or_default();
        let resolved = resolve_program(named, &directory, &searched);
        // An earlier action may have made the program. If that action worked on a snapshot, the program is in the
        // snapshot and not in the project.
        let program = match resolved.or_else(|failure| self.program_on_snapshot(action, named).ok_or(failure)) {
            Ok(program) => program,
            Err(failure) => return Ok(Err(failure)),
        };
        let input = match attempts.input() {
            Ok(input) => input,
            Err(failure) => return Ok(Err(failure)),
        };
        let mut isolation = self.isolation(action, &program, &directory, environment, output)?;
        isolation.network = action.network;
        // At a level without namespaces nothing can be made, and none is needed.
        let is_wanted = isolation.strongest == IsolationLevel::Namespace;
        let network = is_wanted.then(|| self.networks.of(action.network, self.runner.executable())).flatten();
        let network = network.transpose().unwrap_or_else(|why| {
            isolation.network_obstacle = Some(why);
            None
        });
        Ok(Ok(LaunchRequest {
            child: LaunchedChild {
                program,
                argv: argv.into_iter().map(OsString::from).collect(),
                environment: environment.variables.clone().into_iter().collect(),
                directory,
                isolation,
                another_follows: false,
                early: None,
            },
            network,
            input,
        }))
    }
}

/// Returns the path of a report that proctor itself asked for by an argument.
fn ours(request: &ReportRequest) -> Option<&Path> {
    let ReportRequest::Ours { path, .. } = request else { return None };
    Some(path)
}

/// Returns whether the machine's clock was set while an action ran, so that times of before and after cannot be compared.
fn was_clock_set(ended: &EndedAction) -> bool {
    let by_clock = ended.ended.as_millis() - ended.started.as_millis();
    by_clock.abs_diff(i64::try_from(ended.duration.0).unwrap_or(i64::MAX)) > CLOCK_TOLERANCE.as_millis() as u64
}
/// Returns the action with all environment variables that its command will see. If proctor passes options to a tool in one
/// of these variables, the options can then be added to its value instead of replacing it.
pub(super) fn with_command_environment(action: &Action, environment: &ChildEnvironment) -> Action {
    Action { environment: environment.as_text(), ..action.clone() }
}

/// An action that could use the socket of a container engine counts as isolated by its process group alone, whatever held its own
/// processes: the engine starts processes for it outside of every isolation.
fn note_engine_socket(action: &Action, ended: &mut EndedAction) {
    let ActionKind::ClientCommand(call) = &action.kind else { return };
    if let (ClientCall::Container(_), Some(kept)) = (&**call, &mut ended.kept) {
        kept.reached.level = IsolationLevel::ProcessGroup;
        kept.reached.obstacles.insert(0, ENGINE_SOCKET_OPEN.to_owned());
    }
}

/// Returns whether the kernel guarantees that no process of an action is left. Without this guarantee, an undetected
/// process may still have the action's output directory open.
fn is_process_tree_empty(ended: &EndedAction) -> bool {
    ended.end.is_of_its_own() && ended.kept.as_ref().is_some_and(|kept| kept.reached.level == IsolationLevel::Namespace)
}

/// Shortens the captured output to save memory: it is kept until the end of the run, but it has been interpreted and is
/// only shown from now on.
fn shorten(captured: &mut CapturedOutput) {
    captured.stdout = captured.stdout.shortened();
    captured.stderr = captured.stderr.shortened();
}
