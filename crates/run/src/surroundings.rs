//! What an action of a run is carried out with: its environment variables, and how it is isolated.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::run_context::RunNetworks;
use proctor_evidence::{OutputDirectory, ScratchDirectory, Store};
use proctor_git::find_git_location;
use proctor_model::{Action, ActionKind, ActionPhase, ClientCall, IsolationLevel, ProtectionMode, TriggerKind, World};
use proctor_project::{ActionPlace, OwnCachesRequest, ProjectError, RunRequest, Runner, SeenHome, prepare_own_caches};
use proctor_sandbox::process::{Isolation, LaunchRequest, LaunchedChild};
use proctor_sandbox::{
    ChildEnvironment, KnownReferences, MissingDirectories, SandboxRequest, SystemPlaces, isolation, usual_places,
};

/// What the actions of a run are carried out with.
pub struct ActionSurroundings<'a> {
    pub runner: &'a Runner,
    pub store: &'a Store,
    pub request: &'a RunRequest<'a>,
    /// The names of the tree's files that select toolchains.
    pub manifests: &'a BTreeSet<String>,
    pub networks: &'a RunNetworks,
    pub system: &'a SystemPlaces,
    /// The references of git that were looked at for actions of the run.
    pub references: &'a KnownReferences,
}

impl ActionSurroundings<'_> {
    /// Returns the environment variables of an action that may write to the directory `output`.
    pub fn environment(&self, action: &Action, output: &Path, is_on_snapshot: bool) -> ChildEnvironment {
        let (request, ambient) = (self.request, &self.runner.ambient);
        let mut environment = ChildEnvironment::build(ambient, &request.settings.environment, action, output);
        let (root, sandbox) = (&request.scope.root, &request.settings.sandbox);
        let is_closed = sandbox.world == World::Closed && sandbox.mode != ProtectionMode::Off;
        let named = sandbox.visible.iter().chain(&sandbox.writable).chain(&request.settings.named_inputs);
        let named = |home: &Path| -> Vec<PathBuf> {
            named.filter_map(|name| Some(home.join(name.strip_prefix("~/")?))).chain(usual_places(home)).collect()
        };
        let seen = isolation::home(ambient).filter(|_| is_closed && action.phase != ActionPhase::Prerequisite).map(named);
        let is_check_in_project = action.phase == ActionPhase::Step && !is_on_snapshot;
        let caches = OwnCachesRequest {
            path: self.store.own_caches_directory(&request.scope.project),
            home: isolation::home(ambient),
            cargo_home: ambient.get(OsStr::new("CARGO_HOME")).map(Path::new),
            root,
            directory: &root.join(&action.directory),
            phase: action.phase,
            place: if is_check_in_project { ActionPlace::CheckInProject } else { ActionPlace::Elsewhere },
            seen: SeenHome(seen.as_deref()),
        };
        if let Some(caches) = prepare_own_caches(caches) {
            environment.use_own_caches(&caches.directory, caches.variables);
        }
        if let Some(place) = find_git_location(root) {
            if (is_on_snapshot || is_closed) && place.work_tree != *root {
                environment.let_git_look_above();
            }
            if is_closed {
                environment.use_git_without_settings(&place.work_tree);
            }
        }
        environment
    }

    /// Returns the request to the launcher (the process that starts actions) for an action's program, with its words.
    ///
    /// # Errors
    /// When the settings of the sandbox cannot be carried out.
    pub fn launch_request(
        &self,
        (action, program): (&Action, PathBuf),
        argv: Vec<String>,
        environment: &ChildEnvironment,
        output: &OutputDirectory,
        guarded: &[PathBuf],
    ) -> Result<LaunchRequest, ProjectError> {
        let mut isolation = self.isolation((action, &program), environment, output, guarded)?;
        isolation.network = action.network;
        // At a level without namespaces nothing can be made, and none is needed.
        let is_wanted = isolation.strongest == IsolationLevel::Namespace;
        let network = is_wanted.then(|| self.networks.of(action.network, self.runner.executable())).flatten();
        let network = network.transpose().unwrap_or_else(|why| {
            isolation.network_obstacle = Some(why);
            None
        });
        let child = LaunchedChild {
            program,
            argv: argv.into_iter().map(OsString::from).collect(),
            environment: environment.variables.clone().into_iter().collect(),
            directory: self.request.scope.root.join(&action.directory),
            isolation,
            another_follows: false,
            early: None,
        };
        Ok(LaunchRequest { child, network, input: None })
    }

    /// Returns how an action is isolated. `guarded` are the files of the project that it must not change.
    fn isolation(
        &self,
        (action, program): (&Action, &Path),
        environment: &ChildEnvironment,
        output: &OutputDirectory,
        guarded: &[PathBuf],
    ) -> Result<Isolation, ProjectError> {
        let (request, ambient) = (self.request, &self.runner.ambient);
        let own_caches = self.store.own_caches_directory(&request.scope.project);
        let mut settings = request.settings.sandbox.clone();
        if let (ActionKind::ClientCommand(call), Some(socket)) = (&action.kind, &request.settings.engine_socket)
            && matches!(**call, ClientCall::Container(_))
        {
            // No other action gets the socket.
            settings.sockets.push(socket.clone());
        }
        let inputs: Vec<PathBuf> = request.settings.matcher.inputs.iter().map(|input| input.path.clone()).collect();
        let sandbox = SandboxRequest {
            project_root: &request.scope.root,
            home: isolation::home(ambient),
            store: self.store.root(),
            scratch: self.runner.preparation.scratch().map_or(output.path(), ScratchDirectory::path),
            action,
            directory: &request.scope.root.join(&action.directory),
            program,
            environment: &environment.variables,
            ambient,
            settings: &settings,
            system: self.system,
            own_caches: Some(&own_caches),
            guarded,
            inputs: &inputs,
            manifests: self.manifests,
            references: self.references,
            missing: MissingDirectories::Create,
        };
        let made = isolation::isolation(&sandbox, output.path(), request.settings.strongest_isolation);
        let mut isolation = made.map_err(ProjectError::Sandbox)?;
        isolation.resources.nice = match request.trigger.kind {
            TriggerKind::Save | TriggerKind::Moved => request.settings.nice,
            TriggerKind::Request | TriggerKind::Start | TriggerKind::Wait => 0,
        };
        Ok(isolation)
    }
}
