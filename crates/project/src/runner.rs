//! What runs actions: the launcher, the environment of proctor itself, and what is prepared and kept for the next run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::ProjectError;
use crate::project_copies::ProjectCopies;
use crate::python::KeptBytecode;
use crate::refused_requests::RefusedRequests;
use crate::request::{ProjectScope, ProjectSettings};
use crate::run_preparation::RunPreparation;
use crate::same_program::ProgramSearch;
use proctor_model::ProjectId;
use proctor_sandbox::process::LauncherHandle;
use proctor_sandbox::search_path;

/// How many runs this process will still make, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunsAhead {
    One,
    Many,
}

/// How it is known that a project's snapshot can be mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mountable {
    /// This process has mounted it.
    Mounted,
    /// An earlier process has, under the same conditions.
    Remembered,
}

/// What a process runs actions with.
pub struct Runner {
    executable: PathBuf,
    /// `None` while an action has the launcher to itself.
    launcher: Option<LauncherHandle>,
    pub ambient: BTreeMap<OsString, OsString>,
    pub(crate) runs_ahead: RunsAhead,
    pub preparation: RunPreparation,
    pub copies: ProjectCopies,
    pub bytecode: KeptBytecode,
    /// The requests of actions that the service has refused, for the report of their run. The service shares this
    /// record and adds to it.
    pub refused_requests: Arc<RefusedRequests>,
    /// The projects whose snapshots can be mounted. It is not tried again for them.
    pub mountable: BTreeMap<ProjectId, Mountable>,
}

impl Runner {
    pub(crate) fn new(executable: PathBuf, launcher: Option<LauncherHandle>, ambient: BTreeMap<OsString, OsString>) -> Self {
        Self {
            executable,
            launcher,
            ambient,
            runs_ahead: RunsAhead::Many,
            preparation: RunPreparation::default(),
            copies: ProjectCopies::default(),
            bytecode: KeptBytecode::default(),
            refused_requests: Arc::default(),
            mountable: BTreeMap::new(),
        }
    }

    /// Ends the launcher and closes every open file. The next run opens again what it needs.
    pub(crate) fn rest(&mut self) {
        // The launcher ends first, because it may have prepared the isolation of an action in the directory for the next run.
        self.launcher = None;
        self.refused_requests.forget_launchers();
        self.preparation.close();
        self.copies.close_files();
    }

    /// Notes whether the snapshot of a project could be mounted for an action. Returns whether that failed although an earlier process
    /// could mount it: then nobody has tried, and the run is to be made again.
    pub fn note_mount(&mut self, project: &ProjectId, is_mounted: bool) -> bool {
        match (self.mountable.get(project), is_mounted) {
            (Some(Mountable::Remembered), true) => self.mountable.insert(project.clone(), Mountable::Mounted).is_none(),
            (Some(Mountable::Remembered), false) => self.mountable.remove(project).is_some(),
            (Some(Mountable::Mounted) | None, _) => false,
        }
    }

    /// Returns whether another run may follow, so that preparing it is worthwhile.
    pub fn has_runs_ahead(&self) -> bool {
        self.runs_ahead == RunsAhead::Many
    }

    pub fn dismiss_launcher_after_last_run(&mut self) {
        match self.runs_ahead {
            RunsAhead::One => self.launcher.iter_mut().for_each(LauncherHandle::dismiss),
            RunsAhead::Many => {}
        }
    }

    /// Returns where the programs of a project's plans are searched.
    pub fn program_search<'a>(&'a self, scope: &'a ProjectScope, settings: &'a ProjectSettings) -> ProgramSearch<'a> {
        ProgramSearch { root: &scope.root, ambient: &self.ambient, additions: Some(&settings.environment) }
    }

    pub fn path_variable(&self) -> OsString {
        search_path(&self.ambient)
    }

    /// Returns proctor's own program file. Started with other arguments, it is the launcher.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// Returns the launcher. If it has died, a new one is started first.
    pub fn launcher(&mut self) -> Result<&mut LauncherHandle, ProjectError> {
        let launcher = self.take_working_launcher();
        let launcher = launcher.map_or_else(|| LauncherHandle::execute(&self.executable).map_err(ProjectError::Launcher), Ok)?;
        self.refused_requests.register_launcher(launcher.process_id().as_raw());
        Ok(self.launcher.insert(launcher))
    }

    /// Lends the launcher to an action that runs at the same time as others. The launcher may have started a keeper in
    /// advance (the process that holds an action's processes together). Returns `None` if the launcher is lent already or
    /// has died.
    pub fn take_working_launcher(&mut self) -> Option<LauncherHandle> {
        self.launcher.take().filter(|launcher| !launcher.is_lost())
    }

    /// Returns whether the launcher is up and not lent.
    pub fn has_working_launcher(&self) -> bool {
        self.working_launcher().is_some()
    }

    pub(crate) fn working_launcher(&self) -> Option<&LauncherHandle> {
        self.launcher.as_ref().filter(|launcher| !launcher.is_lost())
    }

    /// Takes back a launcher that an action no longer needs. If there is another working launcher, the
    /// returned one is ended.
    pub fn give_back_launcher(&mut self, launcher: LauncherHandle) {
        if self.launcher.as_ref().is_none_or(LauncherHandle::is_lost) {
            self.launcher = Some(launcher);
        }
    }
}
