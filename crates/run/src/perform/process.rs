//! One attempt of an action with a process, from preparation to judgement.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::client_start::{ClientPlace, ClientStart, client_start};
use crate::connection_variables::KnownVariables;
use crate::flow::stop_reasons_for;
use crate::old_report::OldReportGuard;
use crate::perform::control::ControlOutcome;
use crate::perform::elsewhere::RemoteLaunch;
use crate::perform::listing::ListingOutcome;
use crate::perform::reports::{directory_of_reports, named_report_paths, normalise_path};
use crate::perform::{Attempts, OutputPlaces, Performer, TimeBudget, ended_not_started, ended_without_launcher, limits_of};
use proctor_evidence::report::{ActionFiles, ActionResult, NamedFile};
use proctor_evidence::{OutputDirectory, ReportWatch, Slot};
use proctor_model::{
    Action, ActionKind, ActionLimits, ActionPhase, EndedAction, JudgedBy, ProtectionMode, Shard, SpawnFailure, VisibleKind,
};
use proctor_project::{Progress, ProjectError};
use proctor_sandbox::process::{LaunchRequest, Sinks, SuperviseError, clock, resolve_program, supervise};
use proctor_sandbox::{ChildEnvironment, Secrets};
use proctor_tools::{self as tools, ReportRequest};

/// How many launchers (the process that starts actions) are tried for an action that was not started yet.
const LAUNCHERS: usize = 2;

/// A process that is ready to start: the request to the launcher (the process that starts an action's processes), the
/// limits, and the files for the output.
pub(crate) struct ProcessLaunch {
    /// The request to the launcher, or why there is none. A missing program is a result of the action, no error of
    /// proctor.
    pub(crate) request: Result<LaunchRequest, SpawnFailure>,
    pub(crate) limits: ActionLimits,
    /// What the server is given that carries the action out; `None` for this machine.
    pub(crate) remote: Option<Box<RemoteLaunch>>,
    pub(super) log: File,
    pub(super) frames: File,
    /// The secrets that are masked in the output.
    pub(super) secrets: Secrets,
}

/// An attempt that is ready to start. When the attempt is dropped, old reports that were moved aside for it are moved
/// back.
pub(crate) struct PreparedAttempt {
    pub(crate) launch: ProcessLaunch,
    /// The result of the check's control. A control has ended before the attempt itself is started.
    pub(super) control: Option<ControlOutcome>,
    /// The list of the files that the check looks at, if a second call listed them.
    pub(super) listing: Option<ListingOutcome>,
    pub(super) names: ActionFiles,
    /// The file in the output directory in which a shard lists the tests, and its name as evidence; `None` if no list is written.
    pub(super) list: Option<(&'static str, NamedFile)>,
    pub(super) attempt: u32,
    pub(super) output: OutputDirectory,
    pub(super) environment: ChildEnvironment,
    pub(super) report: ReportRequest,
    /// The observation of the report's file; `None` if proctor did not name the file, or if it cannot be observed.
    pub(super) report_watch: Option<ReportWatch>,
    pub(super) coverage: Option<PathBuf>,
    pub(super) aside: Vec<OldReportGuard>,
    pub(super) time_budget: TimeBudget,
}

/// The part of a check's tests that one process runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShardPlan<'a> {
    pub(super) shard: Shard,
    /// How long each test took when it last ran, in milliseconds.
    pub(super) times: &'a [(String, u64)],
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
        ended.kept.iter().for_each(|kept| self.runner.preparation.note_early_use(&kept.reached.early));
        // No process of the action is left, so another action may start while this one is judged.
        drop(slot);
        self.judge(action, prepared, ended, attempts)
    }

    /// Prepares an attempt and reports its start to the screen. The control runs here. So with checks side by side, no
    /// other check starts and no end is reported until the control is over.
    pub(crate) fn prepare(&mut self, action: &Action, attempts: &Attempts) -> Result<PreparedAttempt, ProjectError> {
        (self.show)(Progress::ActionStarted(Box::new(action.clone())));
        self.prepare_part(action, attempts, None)
    }

    /// Prepares an attempt, or the part of its tests that one shard runs. Only the first shard has a control.
    pub(super) fn prepare_part(
        &mut self,
        action: &Action,
        attempts: &Attempts,
        part: Option<ShardPlan<'_>>,
    ) -> Result<PreparedAttempt, ProjectError> {
        if let Some(run) = attempts.server_of(action) {
            return self.prepare_elsewhere(action, attempts, run, part);
        }
        let attempt = attempts.number();
        let (names, list) = names_of_files(action, attempt, part);
        // A tool's report is read only from a new directory. A used directory is not safe: an earlier action could have
        // passed an open descriptor of it to a process outside of the sandbox, which could then write a report into it.
        let leaves_report = action.tool.judged_by() != JudgedBy::ExitCode || matches!(action.kind, ActionKind::ClientCommand(_));
        let spare = if leaves_report { None } else { self.spare_output.take() };
        let output = self.output_directory(action, attempt, part, spare)?;
        let mut environment = self.environment(action, output.path());
        let link = self.evidence_link();
        let mut seen = with_command_environment(action, &environment);
        let mut list_path = None;
        if let Some(part) = part {
            let prepared = tools::prepare_shard(&seen, part.shard, output.path(), part.times);
            environment.add_for_the_tool(&prepared.environment);
            prepared.files.iter().try_for_each(|(name, content)| output.put(name, content.as_bytes()))?;
            seen = with_command_environment(action, &environment);
            seen.command.argv = prepared.argv;
            list_path = prepared.list;
        }
        let preparation = tools::prepare(&seen, output.path(), link.as_deref());
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
        let control = match part {
            Some(ShardPlan { shard: Shard { number: 2.., .. }, .. }) => None,
            Some(_) | None => self.perform_control(action, self.time_budget(action), attempts)?,
        };
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
        // How far the tests are, one shard cannot say.
        if let Some(log) = launch.log.try_clone().ok().filter(|_| part.is_none()) {
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
            list: list_path.zip(list),
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

    pub(super) fn output_directory(
        &self,
        action: &Action,
        attempt: u32,
        part: Option<ShardPlan<'_>>,
        spare: Option<OutputDirectory>,
    ) -> Result<OutputDirectory, ProjectError> {
        let run_id = &self.context.run_id;
        Ok(match part {
            None => OutputDirectory::create_for_attempt(self.lock, run_id, &action.id, attempt, spare)?,
            Some(part) => OutputDirectory::create_for_shard(self.lock, run_id, &action.id, attempt, part.shard.number)?,
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
        Ok(ProcessLaunch { request, remote: None, limits, log, frames, secrets: self.secrets() })
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
        if let Some(remote) = &launch.remote {
            let sinks = launch.sinks(action)?;
            return remote.carry_out(&launch.limits, sinks, control, stop_reasons_for).map_err(failed);
        }
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
        // On a snapshot, an action writes a copy of the project, so nothing in it needs to be read-only.
        let is_on_snapshot = self.place.snapshot_for(action).is_some();
        let root = &self.context.request.scope.root;
        let guarded = if is_on_snapshot { Vec::new() } else { self.context.guarded.read_only(root) };
        let request = self.surroundings().launch_request((action, program), argv, environment, output, &guarded)?;
        Ok(Ok(LaunchRequest { input, ..request }))
    }
}

/// Returns the names of the files of an attempt, or of one shard of it with that of its list of tests.
pub(super) fn names_of_files(action: &Action, attempt: u32, part: Option<ShardPlan<'_>>) -> (ActionFiles, Option<NamedFile>) {
    let Some(part) = part else { return (ActionFiles::for_attempt(action, attempt), None) };
    let (names, list) = ActionFiles::for_shard(action, attempt, part.shard.number);
    (names, Some(list))
}

/// Returns the path of a report that proctor itself asked for by an argument.
fn ours(request: &ReportRequest) -> Option<&Path> {
    let ReportRequest::Ours { path, .. } = request else { return None };
    Some(path)
}

/// Returns the action with all environment variables that its command will see. If proctor passes options to a tool in one
/// of these variables, the options can then be added to its value instead of replacing it.
pub(super) fn with_command_environment(action: &Action, environment: &ChildEnvironment) -> Action {
    Action { environment: environment.as_text(), ..action.clone() }
}
