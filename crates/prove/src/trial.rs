//! Runs one command of the plan on a content: in the isolation of every check, on the project's snapshot with a layer over it (P9).
//! No run is recorded, because what is seen is no verdict on a tree. The answer alone is a line of the ledger.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proctor_evidence::{OutputDirectory, create_unnamed_file, remove_outputs_of_run};
use proctor_git::find_git_location;
use proctor_model::{
    Action, ActionEnd, ActionLimits, ActionPhase, ChangedRules, EndedAction, EnvironmentMount, IsolationLevel, ProofRecord,
    ProtectionMode, ReportFileHistory, RunId, SnapshotMount, SpawnFailure, StopReason, TestCase, TestFailure, ToolReport,
    UnapprovedPlan, World,
};
use proctor_project::{
    ActionPlace, EarlierLook, EnvironmentSurvey, HeldLedger, OwnCachesRequest, PlanApproval, ProjectError, RunRequest,
    SeenByChecks, SeenHome, SnapshotBase, SurveyExtent, SurveyScope, Workspace, approve_by_rule, pinned, prepare_own_caches,
    programs_not_approved,
};
use proctor_run::{names_in, read_source, take_report_below};
use proctor_sandbox::process::{ALL_REASONS, LaunchRequest, LaunchedChild, RunNetwork, Sinks, clock, resolve_program, supervise};
use proctor_sandbox::snapshot::{RunLayers, SnapshotError};
use proctor_sandbox::{
    ChildEnvironment, KnownReferences, MissingDirectories, SandboxRequest, Secrets, SystemPlaces, isolation, usual_places,
};
use proctor_tools::{self as tools, ReportRequest};
use proctor_tree::TreeIndex;

/// Why nothing can be tried.
pub(crate) enum NotTried {
    NotApproved(Box<UnapprovedPlan>),
    ChangedRules(Box<ChangedRules>),
    /// There is no snapshot, for this reason.
    InPlace(String),
    /// The command was stopped while it waited for another process.
    Stopped(StopReason),
    Failed(Box<ProjectError>),
}

impl From<ProjectError> for NotTried {
    fn from(error: ProjectError) -> Self {
        if let ProjectError::StoppedWaiting(reason) = error {
            return Self::Stopped(reason);
        }
        Self::Failed(Box::new(error))
    }
}

/// How a command ended on a content.
pub(crate) struct EndOnContent {
    pub(crate) end: ActionEnd,
    /// What the tool did, in words.
    pub(crate) reason: String,
    /// Every test in its report.
    pub(crate) cases: Vec<TestCase>,
    /// What the tool says of those that failed.
    pub(crate) failures: Vec<TestFailure>,
    /// The beginning and the end of what it printed.
    pub(crate) output: String,
}

/// The project, locked and copied, and the layers over its copy.
pub(crate) struct Trials<'a> {
    workspace: &'a mut Workspace,
    held: HeldLedger,
    request: &'a RunRequest<'a>,
    base: SnapshotBase,
    layers: RunLayers,
    /// The name of the directory for what the commands leave.
    run_id: RunId,
    manifests: BTreeSet<String>,
    system: SystemPlaces,
    made: u32,
    survey: Option<EnvironmentSurvey>,
    /// When every command is to have ended; `None` if there is no such time.
    pub(crate) deadline: Option<clock::Monotonic>,
}

impl<'a> Trials<'a> {
    /// Locks the project, makes sure that its plan may be carried out, and copies its files as a run does.
    pub(crate) fn begin(workspace: &'a mut Workspace, request: &'a RunRequest<'a>) -> Result<Self, NotTried> {
        let Workspace { evidence, trees, runner, installed, .. } = &mut *workspace;
        let stopped = || request.control.requested();
        let mut held = evidence.hold_ledger(request.scope, request.settings.lock_wait, &stopped, &mut |_| ())?;
        held.ledger.read_signing_key(clock::now()).map_err(ProjectError::Evidence)?;
        let (index, copies) = proctor_run::look_and_copy(&evidence.store, trees, runner, request, &request.hints)?;
        let digest = proctor_plan::spec::plan_digest(request.plan);
        let programs = runner.program_search(request.scope, request.settings);
        let changed = match approve_by_rule(evidence, programs, request, digest, &index, &mut held.ledger, &mut |_| ())? {
            PlanApproval::Approved => {
                let changed = programs_not_approved(&evidence.index, programs, request)?;
                Some(ChangedRules { rules: digest, changed, lacks_files: false }).filter(|it| !it.changed.is_empty())
            }
            PlanApproval::ChangedRules(changed) => Some(changed),
            PlanApproval::Refused(unapproved) => return Err(NotTried::NotApproved(Box::new(unapproved))),
        };
        changed.map_or(Ok(()), |changed| Err(NotTried::ChangedRules(Box::new(changed))))?;
        let base = *copies.map_err(NotTried::InPlace)?;
        runner.preparation.open(&held.lock)?;
        let layers = RunLayers::begin(&base.directory).map_err(ProjectError::Snapshot)?;
        let run_id = RunId::new(clock::now(), held.ledger.next_run_number().map_err(ProjectError::Evidence)?);
        let manifests = proctor_run::manifests(&index);
        let seen = SeenByChecks::new(&runner.ambient, request, &index, Some(base.environments.clone()));
        let extent = SurveyScope { extent: SurveyExtent::DecidingFiles, earlier: EarlierLook::Leave };
        let survey = installed.begin_environment_survey(&evidence.store, &request.scope.project, seen, extent);
        let system = SystemPlaces::look();
        Ok(Self {
            workspace,
            held,
            request,
            base,
            layers,
            run_id,
            manifests,
            system,
            made: 0,
            survey: Some(survey),
            deadline: None,
        })
    }

    /// Returns the index of the working tree, and the directory with its copy.
    pub(crate) fn tree(&self) -> (&TreeIndex, &Path) {
        (&self.base.tree, self.base.copies.last().map_or(Path::new("/"), PathBuf::as_path))
    }

    /// Returns a new empty directory for the layer of a content.
    pub(crate) fn new_layer(&mut self) -> Result<PathBuf, ProjectError> {
        Ok(self.layers.add().map_err(ProjectError::Snapshot)?.upper)
    }

    /// Writes an answer about the working tree to the ledger, with the conditions under which it was made.
    pub(crate) fn record(&mut self, mut proof: ProofRecord) -> Result<(), ProjectError> {
        let sandbox = &self.request.settings.sandbox;
        let level = if sandbox.mode == ProtectionMode::Off { IsolationLevel::ProcessGroup } else { IsolationLevel::Namespace };
        proof.unnamed = isolation::unnamed_files(level, sandbox);
        proof.environment_digest = self.survey.take().map(|survey| survey.finish(pinned(&self.base.tree)).digest);
        proof.made = Some(clock::now());
        self.workspace.evidence.record_proof(&mut self.held, self.request.scope, proof)
    }

    /// Returns why the commands are to be stopped; `None` if they are not.
    pub(crate) fn stopped(&self) -> Option<StopReason> {
        self.request.control.requested()
    }

    /// Runs a command on the content that a layer makes of the project's copy.
    pub(crate) fn run(&mut self, layer: &Path, action: &Action) -> Result<EndOnContent, ProjectError> {
        self.made += 1;
        let left = self.deadline.map_or(action.timeout, |deadline| deadline.since(clock::monotonic()));
        let action = &Action { timeout: action.timeout.min(left), ..action.clone() };
        let output = OutputDirectory::create_for_attempt(&self.held.lock, &self.run_id, &action.id, self.made, None)?;
        let mut environment = self.environment(action, output.path());
        let seen = Action { environment: environment.as_text(), ..action.clone() };
        let preparation = tools::prepare(&seen, output.path(), None);
        environment.add_for_the_tool(&preparation.environment);
        for (name, content) in &preparation.files {
            output.put(name, content.as_bytes())?;
        }
        let mount = self.mount(layer).map_err(ProjectError::Snapshot)?;
        let secrets = Secrets::read(&self.workspace.runner.ambient, &self.request.settings.environment.secrets);
        let ended = match self.supervise(action, &preparation.argv, &environment, (&output, &secrets), mount)? {
            Ok(ended) => ended,
            Err(failure) => return Ok(not_started(failure)),
        };
        let report = match &preparation.report {
            ReportRequest::Ours { path, .. } | ReportRequest::Inherited { path } => {
                let name = path.file_name().map(Path::new).unwrap_or(Path::new(""));
                take_report_below(path.parent().unwrap_or(output.path()), name, &output)
            }
            ReportRequest::None | ReportRequest::Own { .. } | ReportRequest::Several { .. } => ToolReport::NotRequested,
        };
        let input = tools::Input {
            action,
            end: &ended.end,
            stdout: &ended.captured.stdout,
            stderr: &ended.captured.stderr,
            report: &report,
            coverage: &ToolReport::NotRequested,
            report_channel: preparation.report.channel(),
            report_file: ReportFileHistory::default(),
            last_output: ended.captured.last_output,
            project_root: &self.request.scope.root,
            names_in,
            source: read_source,
            survivors: ended.survivors.len(),
            processes: self.request.settings.sandbox.processes,
            is_asked_behind: false,
        };
        let said = secrets.mask_interpretation(tools::interpret(&input));
        let output = [&ended.captured.stdout, &ended.captured.stderr].map(|stream| stream.text()).join("\n");
        let failures = said.test_results.map(|results| results.failures).unwrap_or_default();
        Ok(EndOnContent { end: ended.end, reason: said.reason, cases: said.cases, failures, output })
    }

    fn environment(&self, action: &Action, output: &Path) -> ChildEnvironment {
        let (request, runner) = (self.request, &self.workspace.runner);
        let mut environment = ChildEnvironment::build(&runner.ambient, &request.settings.environment, action, output);
        let directory = request.scope.root.join(&action.directory);
        let sandbox = &request.settings.sandbox;
        let is_closed = sandbox.world == World::Closed && sandbox.mode != ProtectionMode::Off;
        let home = isolation::home(&runner.ambient);
        let named = sandbox.visible.iter().chain(&sandbox.writable).chain(&request.settings.named_inputs);
        let seen: Option<Vec<PathBuf>> = home
            .filter(|_| is_closed)
            .map(|home| named.filter_map(|name| Some(home.join(name.strip_prefix("~/")?))).chain(usual_places(home)).collect());
        let caches = OwnCachesRequest {
            path: self.workspace.evidence.store.own_caches_directory(&request.scope.project),
            home,
            cargo_home: runner.ambient.get(OsStr::new("CARGO_HOME")).map(Path::new),
            root: &request.scope.root,
            directory: &directory,
            phase: ActionPhase::Step,
            place: ActionPlace::Elsewhere,
            seen: SeenHome(seen.as_deref()),
        };
        if let Some(caches) = prepare_own_caches(caches) {
            environment.use_own_caches(&caches.directory, caches.variables);
        }
        if let Some(place) = find_git_location(&request.scope.root) {
            if place.work_tree != request.scope.root {
                environment.let_git_look_above();
            }
            if is_closed {
                environment.use_git_without_settings(&place.work_tree);
            }
        }
        environment
    }

    /// Returns what is mounted in the place of the project: the layer over the copies, and the installed packages as they are.
    fn mount(&mut self, layer: &Path) -> Result<SnapshotMount, SnapshotError> {
        let root = &self.request.scope.root;
        let links = self.base.environment_links.iter().filter(|link| link.is_symlink());
        let targets = links.filter_map(|link| link.canonicalize().ok());
        let outside: BTreeSet<PathBuf> = targets.filter(|target| target.is_dir() && !target.starts_with(root)).collect();
        let mut environments = Vec::new();
        for path in self.base.environments.iter().chain(&outside) {
            environments.push(EnvironmentMount { path: path.clone(), caches: Vec::new(), written: self.layers.add()? });
        }
        Ok(SnapshotMount {
            root: root.clone(),
            directory: self.base.directory.clone(),
            memory: self.layers.memory().map(Path::to_owned),
            lower: std::iter::once(layer.to_owned()).chain(self.base.copies.iter().cloned()).collect(),
            written: self.layers.add()?,
            environments,
        })
    }

    fn supervise(
        &mut self,
        action: &Action,
        argv: &[String],
        environment: &ChildEnvironment,
        (output, secrets): (&OutputDirectory, &Secrets),
        mount: SnapshotMount,
    ) -> Result<Result<EndedAction, SpawnFailure>, ProjectError> {
        let Workspace { evidence, runner, .. } = &mut *self.workspace;
        let request = self.request;
        let directory = request.scope.root.join(&action.directory);
        let named = argv.first().map(String::as_str).unwrap_or_default();
        let program = match resolve_program(named, &directory, &environment.search_path()) {
            Ok(program) => program,
            Err(failure) => return Ok(Err(failure)),
        };
        let own_caches = evidence.store.own_caches_directory(&request.scope.project);
        let inputs: Vec<PathBuf> = request.settings.matcher.inputs.iter().map(|input| input.path.clone()).collect();
        let sandbox = SandboxRequest {
            project_root: &request.scope.root,
            home: isolation::home(&runner.ambient),
            store: evidence.store.root(),
            scratch: runner.preparation.scratch().map_or(output.path(), |scratch| scratch.path()),
            action,
            directory: &directory,
            program: &program,
            environment: &environment.variables,
            ambient: &runner.ambient,
            settings: &request.settings.sandbox,
            system: &self.system,
            own_caches: Some(&own_caches),
            guarded: &[],
            inputs: &inputs,
            manifests: &self.manifests,
            references: &KnownReferences::default(),
            missing: MissingDirectories::Create,
        };
        let mut isolation = isolation::isolation(&sandbox, output.path(), request.settings.strongest_isolation)?;
        isolation.snapshot = Some(mount);
        // At a weaker level the command would see the project instead.
        isolation.weakest = IsolationLevel::Namespace;
        isolation.network = action.network;
        let network = (!action.network.is_open()).then(|| RunNetwork::make(runner.executable(), action.network).map(Arc::new));
        let network = network.transpose().unwrap_or_else(|why| {
            isolation.network_obstacle = Some(why);
            None
        });
        let launch = LaunchRequest {
            child: LaunchedChild {
                program,
                argv: argv.iter().map(OsString::from).collect(),
                environment: environment.variables.clone().into_iter().collect(),
                directory,
                isolation,
                another_follows: false,
                early: None,
            },
            network,
            input: None,
        };
        let unnamed = || {
            create_unnamed_file(output.path()).map_err(|source| ProjectError::Descriptor { action: action.name.clone(), source })
        };
        let sinks = Sinks { log: unnamed()?, frames: unnamed()?, masked: secrets.bytes() };
        let limits = ActionLimits {
            timeout: action.timeout,
            idle: action.idle_timeout,
            output: action.max_output.map(|size| size.0),
            grace: action.grace,
            ladder: tools::stop_ladder(action.tool),
        };
        supervise(runner.launcher()?, &launch, &limits, sinks, request.control, ALL_REASONS)
            .map(Ok)
            .map_err(|source| ProjectError::Supervise { action: action.name.clone(), source })
    }
}

impl Drop for Trials<'_> {
    fn drop(&mut self) {
        // The next run of the project removes what cannot be removed now.
        let _left = remove_outputs_of_run(&self.held.lock, &self.run_id);
        self.workspace.runner.preparation.close();
    }
}

fn not_started(failure: SpawnFailure) -> EndOnContent {
    let reason = failure.to_string();
    let end = ActionEnd::NotStarted(failure);
    EndOnContent { end, reason, cases: Vec::new(), failures: Vec::new(), output: String::new() }
}
