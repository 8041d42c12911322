//! Opens what several commands need: the launcher (the process that starts actions), the evidence store with its index,
//! the log, and the project's registration.

use std::path::{Path, PathBuf};

use crate::environment::{self, Environment};
use crate::error::CommandError;
use crate::logging;
use crate::project::setup::{self, LoadedProject};
use crate::project::{env_file, inputs};
use proctor_evidence::evidence_directory;
use proctor_model::{CommandExit, HealthProblem, ProjectId, ServiceTrouble, TreePath};
use proctor_plan::config::{Configuration, EnvironmentSettings};
use proctor_project::{
    ExportSettings, IdentityAnswer, ProjectError, ProjectScope, ProjectSettings, QueueLimits, Registration, ResemblingProject,
    StoreReader, Workspace, new_matcher,
};
use proctor_sandbox::EnvironmentAdditions;
use proctor_sandbox::process::LauncherHandle;
use proctor_tree::ignore::{Matcher, MatcherSettings, OwnLink, Selects, ShownOutputs};

/// The opened store, the project and its settings: what a run needs in addition to its plan.
pub struct RunResources {
    pub workspace: Workspace,
    pub scope: ProjectScope,
    pub settings: ProjectSettings,
}

/// Starts the launcher, the process that starts actions. Commands do this first, for two reasons: this process must
/// still have a single thread, and the launcher starts up while the project is read.
pub fn start_launcher(environment: &Environment) -> Result<LauncherHandle, CommandError> {
    LauncherHandle::start(environment.executable()).map_err(|error| ProjectError::Launcher(error).into())
}

/// Opens the store for writing, and registers the project if it is new.
pub fn open(
    environment: &Environment,
    launcher: LauncherHandle,
    loaded: &LoadedProject,
    identity: Option<IdentityAnswer>,
) -> Result<RunResources, CommandError> {
    let settings = settings(environment, loaded)?;
    let mut workspace = open_store(environment, launcher)?;
    let registration = workspace.register(&loaded.root, &loaded.plan, &settings, &environment.asker(), identity)?;
    let scope = match registration {
        Registration::Known(scope) => scope,
        Registration::New { scope, notes } => {
            notes.iter().for_each(|line| environment.note(line));
            scope
        }
        Registration::Doubtful(doubt) => {
            let answered = environment.caller().ask_identity(environment, &doubt_question(&doubt));
            let identity = answered.ok_or_else(|| doubt_error(&doubt))?;
            let again = workspace.register(&loaded.root, &loaded.plan, &settings, &environment.asker(), Some(identity))?;
            match again {
                Registration::Known(scope) => scope,
                Registration::New { scope, notes } => {
                    notes.iter().for_each(|line| environment.note(line));
                    scope
                }
                Registration::Doubtful(doubt) => return Err(doubt_error(&doubt)),
            }
        }
    };
    Ok(RunResources { workspace, scope, settings })
}

/// Opens the store for writing without registering a project.
pub fn open_store(environment: &Environment, launcher: LauncherHandle) -> Result<Workspace, CommandError> {
    let mut workspace = Workspace::open(
        environment.state_root(),
        environment.executable(),
        Some(launcher),
        environment.variables().clone(),
        environment.observer(),
    )?;
    let announce = environment.caller().announce();
    workspace.take_notes().iter().for_each(|line| announce(line));
    workspace.announce_with(announce);
    if let Err(reason) = logging::start(&workspace.log_directory()) {
        environment.note(&format!("note: there is no log: {reason}"));
    }
    Ok(workspace)
}

/// Opens the store for reading. If the store's index has to be repaired, now or later, a note is printed.
pub fn open_archive(environment: &Environment) -> Result<StoreReader, CommandError> {
    let mut archive = StoreReader::open(environment.state_root(), environment.variables().clone())?;
    let announce = environment.caller().announce();
    archive.take_notes().iter().for_each(|line| announce(line));
    archive.announce_with(announce);
    Ok(archive)
}

/// Reads from the store. On a full disk, where the index takes no newer lines, the ledgers are read instead; then the problem is
/// returned too.
pub fn read_despite_full_disk<T>(
    environment: &Environment,
    archive: Result<&mut StoreReader, CommandError>,
    mut read: impl FnMut(&mut StoreReader) -> Result<T, CommandError>,
) -> Result<(T, Option<ServiceTrouble>), CommandError> {
    let error = match archive.and_then(&mut read) {
        Ok(value) => return Ok((value, None)),
        Err(error) => error,
    };
    let full = error.trouble().filter(|trouble| trouble.problem == HealthProblem::DiskFull).cloned();
    let Some(trouble) = full else { return Err(error) };
    let mut archive = StoreReader::open_in_memory(environment.state_root(), environment.variables().clone())?;
    Ok((read(&mut archive)?, Some(trouble)))
}

/// Opens the store for reading, and finds the project's id. It is an error if the project is not registered.
pub fn open_registered(environment: &Environment, root: &Path) -> Result<(StoreReader, ProjectId), CommandError> {
    let mut archive = open_archive(environment)?;
    let found = archive.find_project(root)?;
    let project =
        found.ok_or_else(|| not_registered(environment, root, "`proctor run` registers a project and makes its first run"))?;
    Ok((archive, project))
}

/// Returns the error of a command about a project that the store does not know. `hint` is what to do if it never knew it.
pub fn not_registered(environment: &Environment, root: &Path, hint: &str) -> CommandError {
    if let Some(lost) = lost_evidence(environment, root) {
        return CommandError::new(CommandExit::EvidenceWrong, lost).hint(PUT_BACK);
    }
    CommandError::new(CommandExit::Usage, format!("`{}` is not registered: nothing was run there", root.display())).hint(hint)
}

/// What to do where the store was removed.
const PUT_BACK: &str = "put a copy of the store back there, or `proctor run` begins anew, with what is approved asked again";

/// Says that the store has nothing of a project any more that was run there, if that is so.
pub(crate) fn note_lost_evidence(environment: &Environment, root: &Path) {
    if let Some(lost) = lost_evidence(environment, root) {
        environment.note(&format!("note: {lost}"));
        environment.note(&format!("hint: {PUT_BACK}"));
    }
}

/// Returns in words that the project's link leads to evidence that the store does not have any more, as after its directory was removed.
fn lost_evidence(environment: &Environment, root: &Path) -> Option<String> {
    let (configuration, _) = setup::configuration(environment, root).ok()?;
    let link = &configuration.evidence.link;
    let evidence = std::fs::read_link(root.join(link)).ok()?;
    let is_gone = evidence.starts_with(environment.state_root()) && !evidence.exists();
    is_gone.then(|| format!("the evidence of `{}` was removed: `{link}` leads to `{}`", root.display(), evidence.display()))
}

/// Resolves the project's settings that are not part of the plan.
pub fn settings(environment: &Environment, loaded: &LoadedProject) -> Result<ProjectSettings, CommandError> {
    settings_of(environment, &loaded.root, &loaded.configuration)
}

/// Resolves the project's settings for a project that may have no plan. Reads the file that `env_file` names.
pub fn settings_of(
    environment: &Environment,
    root: &Path,
    configuration: &Configuration,
) -> Result<ProjectSettings, CommandError> {
    let inputs = inputs::inputs(environment, root, configuration)?;
    let link = Some(configuration.evidence.link.clone()).filter(|link| !link.is_empty());
    let settings = ProjectSettings {
        matcher: MatcherSettings {
            inputs: inputs.taken,
            ..matcher_settings(Some(environment.state_root()), Some(root), configuration)
        },
        named_inputs: configuration.inputs.named.clone(),
        left_out: inputs.left_out,
        routing: configuration.routing.clone(),
        environment: environment_additions(root, configuration)?,
        specification: configuration.specification.clone(),
        sandbox: configuration.sandbox.clone(),
        engine_socket: configuration.engine_socket.clone(),
        strongest_isolation: environment.strongest_isolation(),
        lock_wait: configuration.evidence.lock_wait,
        nice: configuration.service.nice,
        queue: QueueLimits {
            max_parallel: configuration.queue.max_parallel.unwrap_or_else(environment::default_turns),
            wait: configuration.queue.wait,
        },
        started: configuration.service.started,
        order: configuration.run.order,
        parallel: configuration.run.parallel,
        link,
        task_list: configuration.tasks.file.clone(),
        allowed_signers: configuration.approval.allowed_signers.as_ref().map(|file| file.value.clone()),
        limits: configuration.evidence.limits,
        exports: exports(environment, root, configuration),
    };
    // Wrong patterns are reported before anything is registered or run.
    settings.new_matcher()?;
    Ok(settings)
}

/// Returns which variables actions get beside the usual ones. Reads the file that `env_file` names.
pub(crate) fn environment_additions(root: &Path, configuration: &Configuration) -> Result<EnvironmentAdditions, CommandError> {
    Ok(EnvironmentAdditions {
        pass: configuration.environment.pass_environment.clone(),
        from_file: variables_of_file(root, &configuration.environment)?,
        secrets: configuration.specification.from_environment.clone(),
        package_credentials: configuration.sandbox.package_credentials,
    })
}

/// Returns the settings of the files that are kept for other tools. The machine is asked for its names only if there are such files.
fn exports(environment: &Environment, root: &Path, configuration: &Configuration) -> ExportSettings {
    let formats = configuration.evidence.also.clone();
    if formats.is_empty() {
        return ExportSettings::default();
    }
    ExportSettings { formats, redactor: environment.outgoing_redactor().in_project(&root.to_string_lossy()) }
}

/// Returns the variables in the file of `env_file`, as they were read with the configuration. The file is not read again,
/// because its content is part of what is approved.
fn variables_of_file(root: &Path, settings: &EnvironmentSettings) -> Result<Vec<(String, String)>, CommandError> {
    match (&settings.env_file, &settings.file_variables) {
        (None, _) => Ok(Vec::new()),
        (Some(_), Some(variables)) => Ok(variables.0.clone()),
        (Some(name), None) => {
            let _readable_now = env_file::read(root, name)?;
            let text = format!("`env_file` names `{name}`, which could not be read a moment ago");
            Err(CommandError::new(CommandExit::SpecificationWrong, text).hint("run the command again"))
        }
    }
}

/// Returns the matcher that decides which files belong to the tree, for commands that read the tree without a run.
pub fn matcher(environment: &Environment, root: &Path, configuration: &Configuration) -> Result<Matcher, CommandError> {
    matcher_of(&matcher_settings_with_inputs(environment, root, configuration)?)
}

/// Returns the settings that decide which files belong to the tree, with the inputs beside it.
pub(crate) fn matcher_settings_with_inputs(
    environment: &Environment,
    root: &Path,
    configuration: &Configuration,
) -> Result<MatcherSettings, CommandError> {
    let settings = matcher_settings(Some(environment.state_root()), Some(root), configuration);
    Ok(MatcherSettings { inputs: inputs::inputs(environment, root, configuration)?.taken, ..settings })
}

/// Returns a matcher for these settings. The error names every wrong pattern.
pub fn matcher_of(settings: &MatcherSettings) -> Result<Matcher, CommandError> {
    new_matcher(settings).map_err(CommandError::from)
}

/// Returns the settings that decide which files belong to the tree, without inputs beside it. Without the directory of the store, no link
/// is known to be proctor's own, and without the project's root too, no directory.
pub fn matcher_settings(state_root: Option<&Path>, root: Option<&Path>, configuration: &Configuration) -> MatcherSettings {
    let own_link = state_root.map(|state_root| OwnLink { leads_into: evidence_directory(state_root) });
    let store = state_root.zip(root).and_then(|(state_root, root)| TreePath::below(root, &resolve(state_root)).ok());
    MatcherSettings {
        ignore: configuration.watch.ignore.clone(),
        include: configuration.watch.include.clone(),
        own_link,
        store: store.filter(|store| !store.is_root()),
        task_list: configuration.tasks.file.clone(),
        selects: Selects::Tree,
        outputs: ShownOutputs::default(),
        inputs: Vec::new(),
    }
}

/// Resolves the links in the part of a directory's path that exists. The rest of the path is appended unchanged.
pub fn resolve(directory: &Path) -> PathBuf {
    match std::fs::canonicalize(directory) {
        Ok(resolved) => resolved,
        Err(_) => match (directory.parent(), directory.file_name()) {
            (Some(parent), Some(name)) => resolve(parent).join(name),
            _ => directory.to_owned(),
        },
    }
}

/// Returns what a person is asked where it is not clear whether the directory is the registered project or a new one. proctor never guesses
/// the answer (architecture, Files on disk).
fn doubt_question(doubt: &ResemblingProject) -> [String; 2] {
    let (path, project, registered) = (doubt.path.display(), &doubt.project, &doubt.registered_path);
    let what = if path.to_string() == *registered {
        format!("`{path}` is where project {project} is registered, and another directory lies there now.")
    } else {
        format!("`{path}` resembles project {project}, which is registered at `{registered}`.")
    };
    [what, "The directory was moved, replaced, or cloned anew; its history goes on only if it is the same project.".to_owned()]
}

fn doubt_error(doubt: &ResemblingProject) -> CommandError {
    let [what, _] = doubt_question(doubt);
    CommandError::new(CommandExit::PersonNeeded, what.trim_end_matches('.'))
        .hint("say which it is: `--identity same` goes on with its history, `--identity new` begins one")
}
