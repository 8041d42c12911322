//! Runs one command of the plan on a content: in the isolation of every check, on the project's snapshot with a layer over it (P9).
//! No run is recorded, because what is seen is no verdict on a tree. The answer alone is a line of the ledger.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proctor_app::refusals::not_approved_error;
use proctor_app::{CommandError, Environment};
use proctor_evidence::{OutputDirectory, create_unnamed_file, remove_outputs_of_run};
use proctor_model::{
    Action, ActionEnd, CommandExit, EndedAction, EnvironmentMount, IsolationLevel, ProofRecord, ProtectionMode,
    ReportFileHistory, RunId, SnapshotMount, SpawnFailure, StopReason, TestCase, TestFailure, ToolReport, VisibleKind,
};
use proctor_project::{
    EarlierLook, EnvironmentSurvey, HeldLedger, PlanApproval, ProjectError, RunRequest, SeenByChecks, SnapshotBase, SurveyExtent,
    SurveyScope, ToolchainDepth, ToolchainSurvey, Workspace, approve_by_rule, pinned, programs_not_approved,
};
use proctor_run::{ActionSurroundings, RunNetworks, limits_of, names_in, read_source, take_report_below};
use proctor_sandbox::process::{ALL_REASONS, LaunchRequest, Sinks, clock, resolve_program, supervise};
use proctor_sandbox::snapshot::{RunLayers, SnapshotError};
use proctor_sandbox::{KnownReferences, Secrets, SystemPlaces, isolation};
use proctor_tools::{self as tools, ReportRequest};
use proctor_tree::TreeIndex;

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
    /// What is looked for once for all commands.
    looked: (SystemPlaces, KnownReferences),
    made: u32,
    networks: RunNetworks,
    /// The looks at what the commands see outside of the project; `None` once their result is recorded.
    surveys: Option<(EnvironmentSurvey, ToolchainSurvey)>,
    /// When every command is to have ended; `None` if there is no such time.
    pub(crate) deadline: Option<clock::Monotonic>,
}

impl<'a> Trials<'a> {
    /// Locks the project, makes sure that its plan may be carried out, and copies its files as a run does.
    pub(crate) fn begin(
        environment: &Environment,
        workspace: &'a mut Workspace,
        request: &'a RunRequest<'a>,
    ) -> Result<Self, CommandError> {
        let in_place = |reason: &str| {
            let message = format!("tests run without the change only on a snapshot, and there is none: {reason}");
            CommandError::new(CommandExit::NoFreshVerdict, message).hint("`proctor doctor` says what is missing")
        };
        let Workspace { evidence, trees, runner, installed, .. } = &mut *workspace;
        let stopped = || request.control.requested();
        let held = evidence.hold_ledger(request.scope, request.settings.lock_wait, &stopped, &mut |_| ());
        let mut held = held.map_err(failed)?;
        held.ledger.read_signing_key(clock::now()).map_err(|error| failed(error.into()))?;
        let (index, copies) =
            proctor_run::look_and_copy(&evidence.store, trees, runner, request, &request.hints).map_err(failed)?;
        let digest = proctor_plan::spec::plan_digest(request.plan);
        let programs = runner.program_search(request.scope, request.settings);
        let approval = approve_by_rule(evidence, programs, request, digest, &index, &mut held.ledger, &mut |_| ());
        let changed = match approval.map_err(failed)? {
            PlanApproval::Approved => {
                let changed = programs_not_approved(&evidence.index, programs, request).map_err(failed)?;
                Some(changed).filter(|changed| !changed.is_empty())
            }
            PlanApproval::ChangedRules(changed) => Some(changed.changed),
            PlanApproval::Refused(unapproved) => return Err(not_approved_error(environment, &unapproved)),
        };
        if let Some(changed) = changed {
            let message = format!("the project has rules that nobody approved: {}", changed.join("; "));
            return Err(CommandError::new(CommandExit::PersonNeeded, message).hint("`proctor approve` shows and approves them"));
        }
        let base = *copies.map_err(|reason| in_place(&reason))?;
        runner.preparation.open(&held.lock).map_err(failed)?;
        let layers = RunLayers::begin(&base.directory).map_err(|error| failed(error.into()))?;
        let number = held.ledger.next_run_number().map_err(|error| failed(error.into()))?;
        let run_id = RunId::new(clock::now(), number);
        let manifests = proctor_run::manifests(&index);
        let seen = || SeenByChecks::new(&runner.ambient, request, &index, Some(base.environments.clone()));
        let extent = SurveyScope { extent: SurveyExtent::DecidingFiles, earlier: EarlierLook::Leave };
        let survey = installed.begin_environment_survey(&evidence.store, &request.scope.project, seen(), extent);
        let toolchains = installed.begin_toolchain_survey(&evidence.store, seen(), ToolchainDepth::Usual);
        let (surveys, networks) = (Some((survey, toolchains)), RunNetworks::default());
        let looked = (SystemPlaces::look(), KnownReferences::default());
        Ok(Self { workspace, held, request, base, layers, run_id, manifests, looked, networks, made: 0, surveys, deadline: None })
    }

    /// Returns the index of the working tree, and the directory with its copy.
    pub(crate) fn tree(&self) -> (&TreeIndex, &Path) {
        (&self.base.tree, self.base.copies.last().map_or(Path::new("/"), PathBuf::as_path))
    }

    /// Returns a new empty directory for the layer of a content.
    pub(crate) fn new_layer(&mut self) -> Result<PathBuf, CommandError> {
        Ok(self.layers.add().map_err(|error| failed(error.into()))?.upper)
    }

    /// Writes an answer about the working tree to the ledger, with the conditions under which it was made.
    pub(crate) fn record(&mut self, mut proof: ProofRecord) -> Result<(), CommandError> {
        let sandbox = &self.request.settings.sandbox;
        let level = if sandbox.mode == ProtectionMode::Off { IsolationLevel::ProcessGroup } else { IsolationLevel::Namespace };
        proof.unnamed = isolation::unnamed_files(level, sandbox);
        if let Some((environment, toolchains)) = self.surveys.take() {
            proof.environment_digest = Some(environment.finish(pinned(&self.base.tree)).digest);
            (proof.toolchains_looked, proof.toolchains) = (Some(toolchains.begun()), toolchains.finish());
        }
        proof.made = Some(clock::now());
        self.workspace.evidence.record_proof(&mut self.held, self.request.scope, proof).map_err(failed)
    }

    /// Runs a command on the content that a layer makes of the project's copy.
    pub(crate) fn run(&mut self, layer: &Path, action: &Action) -> Result<EndOnContent, CommandError> {
        let run = self.run_on(layer, action).map_err(failed)?;
        self.request.control.requested().map_or(Ok(run), |reason| Err(not_finished(reason)))
    }

    fn run_on(&mut self, layer: &Path, action: &Action) -> Result<EndOnContent, ProjectError> {
        self.made += 1;
        let left = self.deadline.map_or(action.timeout, |deadline| deadline.since(clock::monotonic()));
        let action = &Action { timeout: action.timeout.min(left), ..action.clone() };
        let output = OutputDirectory::create_for_attempt(&self.held.lock, &self.run_id, &action.id, self.made, None)?;
        let mut environment = self.surroundings().environment(action, output.path(), true);
        let preparation = tools::prepare(&Action { environment: environment.as_text(), ..action.clone() }, output.path(), None);
        environment.add_for_the_tool(&preparation.environment);
        for (name, content) in &preparation.files {
            output.put(name, content.as_bytes())?;
        }
        let secrets = Secrets::read(&self.workspace.runner.ambient, &self.request.settings.environment.secrets);
        let directory = self.request.scope.root.join(&action.directory);
        let named = preparation.argv.first().map(String::as_str).unwrap_or_default();
        let program = match resolve_program(named, &directory, &environment.search_path()) {
            Ok(program) => program,
            Err(failure) => return Ok(not_started(failure)),
        };
        let mut launch =
            self.surroundings().launch_request((action, program), preparation.argv.clone(), &environment, &output, &[])?;
        launch.child.isolation.snapshot = Some(self.mount(layer).map_err(ProjectError::Snapshot)?);
        let ended = self.supervise(action, launch, (&output, &secrets))?;
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

    fn surroundings(&self) -> ActionSurroundings<'_> {
        let Workspace { evidence, runner, .. } = &*self.workspace;
        let store = &evidence.store;
        let (manifests, networks, (system, references)) = (&self.manifests, &self.networks, &self.looked);
        ActionSurroundings { runner, store, request: self.request, manifests, networks, system, references }
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
        mut launch: LaunchRequest,
        (output, secrets): (&OutputDirectory, &Secrets),
    ) -> Result<EndedAction, ProjectError> {
        if let Some((_, toolchains)) = &mut self.surveys {
            let visible = launch.child.isolation.sandbox.iter().flat_map(|sandbox| &sandbox.visible);
            let visible = visible.filter(|directory| directory.kind != VisibleKind::PinnedPackages);
            toolchains.add(visible.map(|directory| directory.path.clone()));
        }
        // At a weaker level the command would see the project instead.
        launch.child.isolation.weakest = IsolationLevel::Namespace;
        let unnamed = || {
            create_unnamed_file(output.path()).map_err(|source| ProjectError::Descriptor { action: action.name.clone(), source })
        };
        let sinks = Sinks { log: unnamed()?, frames: unnamed()?, masked: secrets.bytes() };
        let (limits, control) = (limits_of(action, action.timeout), self.request.control);
        supervise(self.workspace.runner.launcher()?, &launch, &limits, sinks, control, ALL_REASONS)
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

/// Returns the error of a command that proctor itself could not carry out, or that was stopped while it waited for another process.
fn failed(error: ProjectError) -> CommandError {
    if let ProjectError::StoppedWaiting(reason) = error { not_finished(reason) } else { error.into() }
}

fn not_finished(reason: StopReason) -> CommandError {
    let exit = if reason == StopReason::Terminated { CommandExit::Terminated } else { CommandExit::Interrupted };
    CommandError::new(exit, "not finished: the tests were stopped").hint("`proctor prove` begins anew")
}

fn not_started(failure: SpawnFailure) -> EndOnContent {
    let reason = failure.to_string();
    let end = ActionEnd::NotStarted(failure);
    EndOnContent { end, reason, cases: Vec::new(), failures: Vec::new(), output: String::new() }
}
