//! Where the checks of a run work: on a snapshot, or in the project itself with the reason.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::kept_files::KeptOutcome;
use crate::reuse::PlaceOfCheck;
use crate::rewritten_files::RewrittenFiles;
use crate::seen_layers::SeenLayers;
use crate::snapshot::RunSnapshot;
use proctor_evidence::report::SnapshotV2;
use proctor_evidence::{ScratchDirectory, Store, read_boot_id, read_regular_text};
use proctor_model::{
    Action, CachesMode, CachesSeen, IgnoredFiles, ProjectId, ProtectionMode, StopReason, TestedPlace, Timestamp, TreePath,
};
use proctor_project::{
    CopiesOutcome, ExaminationRequest, MadeForPlan, ModulesToCompile, Mountable, ProjectError, RunRequest, Runner, SnapshotBase,
    Trees, obstacle_of_settings, place_of_report, try_mount,
};
use proctor_sandbox::process::Control;
use proctor_sandbox::snapshot::{InPlaceReason, MountConditions, clean_up_copy_out};
use proctor_tools::{configured_outputs, may_name_outputs};
use proctor_tree::{NameSearch, NameTopic, TreeHints, TreeIndex};

/// The reason, shown in the report, for running the checks in the project itself because a person wants that.
const NOT_ASKED_FOR: &str = "`[sandbox]` has `snapshot = \"off\"`";

/// The most times that the tree is read and copied, because it may change while it is copied.
const TRIES: usize = 10;

/// The most configuration files that are read for the outputs that they name.
const MOST_CONFIGURATIONS: usize = 256;

/// The size in bytes up to which a configuration file is read for the outputs that it names.
const LARGEST_CONFIGURATION: u64 = 1 << 20;

/// The time limit for trying whether the snapshot can be mounted. If it passes, the checks run in place.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(30);

/// The path of a program that does not exist. The trial of a mount "starts" this program, so that nothing runs.
const NOWHERE: &str = "/proctor-tries-a-mount";

/// What the checks of a run get to see in place of the project, or why they work in the project itself.
pub(crate) type SnapshotOrReason = Result<Box<SnapshotBase>, String>;

/// Where the checks of a run work.
#[derive(Debug)]
pub(crate) enum CheckPlace {
    /// In the project, because the settings ask for no snapshot.
    Project,
    /// In the project although the settings ask for a snapshot, for this reason.
    InPlace(String),
    Snapshot(Box<RunSnapshot>),
}

/// Reads the tree, and prepares a snapshot of it if the settings ask for one. Returns the tree as it was last read;
/// a snapshot holds this tree. `hints` says where the tree may have changed since it was last read.
///
/// # Errors
/// When the tree, the store or the project cannot be read, no copy of them can be made, or a report of a check is part of the tree.
pub fn look_and_copy(
    store: &Store,
    trees: &mut Trees,
    runner: &mut Runner,
    request: &RunRequest<'_>,
    hints: &TreeHints,
) -> Result<(TreeIndex, SnapshotOrReason), ProjectError> {
    let hints = clean_up_after_killed_run(store, request, hints);
    let mut index = trees.known.scan(store, request.settings, request.scope, &hints)?;
    let of_settings = obstacle_of_settings(request.settings, &request.scope.root, store.root());
    let of_run = || request.is_typed().then(|| "a typed command works for the project".to_owned());
    if let Some(reason) = of_settings.or_else(of_run) {
        return Ok((index, Err(reason)));
    }
    let path_variable = runner.path_variable();
    let mut changing = TreePath::root();
    for _ in 0..TRIES {
        let unread = trees.known.take_unread_inputs(request.scope);
        let made = MadeForPlan::of(request.plan, &request.scope.root, &path_variable);
        refuse_reports_of_the_tree(request, &index)?;
        let made = made.with_configured(&index, outputs_named_in(&index).into_iter());
        match runner.copies.update(store, request.settings, request.scope, &index, made, unread)? {
            CopiesOutcome::Current(base) => return Ok((index, Ok(base))),
            CopiesOutcome::Moved(paths) => {
                changing = paths.first().cloned().unwrap_or(changing);
                let hints = TreeHints::Only(paths);
                index = trees.known.scan(store, request.settings, request.scope, &hints)?;
            }
        }
    }
    Err(ProjectError::not_copied(&InPlaceReason::Changing(changing)))
}

/// Refuses a report that is part of the tree: on a snapshot the check would begin with the old one.
fn refuse_reports_of_the_tree(request: &RunRequest<'_>, index: &TreeIndex) -> Result<(), ProjectError> {
    for action in &request.plan.steps {
        let place = place_of_report(action).and_then(|place| TreePath::try_from(place.as_str()).ok());
        if let Some(path) = place.filter(|path| index.lookup(path).is_some()) {
            return Err(ProjectError::ReportInTree { action: action.name.clone(), path });
        }
    }
    Ok(())
}

/// Returns the outputs that configuration files of the tree name.
fn outputs_named_in(index: &TreeIndex) -> Vec<String> {
    const SEARCH: NameSearch = NameSearch { topic: NameTopic::Outputs, is_wanted: may_name_outputs };
    let read = |(path, _): (TreePath, _)| {
        let text = read_regular_text(&index.root().join(path.as_path()), LARGEST_CONFIGURATION).ok()?;
        Some(configured_outputs(&path.to_string(), &text))
    };
    index.named(SEARCH).into_iter().take(MOST_CONFIGURATIONS).filter_map(read).flatten().collect()
}

/// A process may have died while it copied files that checks wrote to the project. Removes what that process left
/// there. Returns `hints` with the changed paths.
fn clean_up_after_killed_run(store: &Store, request: &RunRequest<'_>, hints: &TreeHints) -> TreeHints {
    let record = store.copy_out_record_path(&request.scope.project);
    let changed = clean_up_copy_out(&request.scope.root, &record).unwrap_or_else(|error| {
        // The record stays, so the next run tries again, and until then no file is copied to the project.
        tracing::warn!(%error, record = %record.display(), "what a killed run left in the project cannot be removed");
        Vec::new()
    });
    match hints {
        TreeHints::Everything => TreeHints::Everything,
        TreeHints::Only(paths) => TreeHints::Only(paths.iter().cloned().chain(changed).collect()),
    }
}

/// Decides where the checks of a run work. Until a mount for a project has succeeded once, in this process or in an earlier one under the
/// same conditions, each run of the project tries whether its snapshot can be mounted.
pub(crate) fn place_of_checks(
    store: &Store,
    runner: &mut Runner,
    request: &RunRequest<'_>,
    copies: SnapshotOrReason,
    caches: CachesMode,
) -> Result<CheckPlace, ProjectError> {
    if request.settings.sandbox.snapshot == ProtectionMode::Off {
        return Ok(CheckPlace::Project);
    }
    let place = match copies {
        Ok(base) => try_snapshot(store, runner, request, *base, caches)?,
        Err(reason) => CheckPlace::InPlace(reason),
    };
    refuse_in_place_if_required(request, place)
}

/// Updates the place of the checks to what prerequisites left in the project. Returns the tree that they left, if the
/// checks run on a snapshot of it.
pub(crate) fn refresh_place(
    store: &Store,
    trees: &mut Trees,
    runner: &mut Runner,
    request: &RunRequest<'_>,
    place: &mut CheckPlace,
) -> Result<Option<TreeIndex>, ProjectError> {
    let CheckPlace::Snapshot(snapshot) = place else { return Ok(None) };
    let (index, copies) = look_and_copy(store, trees, runner, request, &TreeHints::Everything)?;
    match copies {
        Ok(base) => {
            snapshot.begin_again(*base);
            Ok(Some(index))
        }
        Err(reason) => {
            *place = refuse_in_place_if_required(request, CheckPlace::InPlace(reason))?;
            Ok(None)
        }
    }
}

fn try_snapshot(
    store: &Store,
    runner: &mut Runner,
    request: &RunRequest<'_>,
    base: SnapshotBase,
    caches: CachesMode,
) -> Result<CheckPlace, ProjectError> {
    let conditions = MountConditions::of_now(&base.directory, &read_boot_id(), &base.environments);
    let mut snapshot = match RunSnapshot::begin(request, base, caches) {
        Ok(snapshot) => snapshot,
        Err(error) => return Ok(CheckPlace::InPlace(error.reason())),
    };
    let project = &request.scope.project;
    if !runner.mountable.contains_key(project) && conditions.have_worked() {
        runner.mountable.insert(project.clone(), Mountable::Remembered);
    }
    if !runner.mountable.contains_key(project) {
        // A refusal is not remembered: a full disk or a busy machine may be the reason, and the next run tries again.
        let mut tried = obstacle_to_mount(store, runner, request, &mut snapshot);
        if let Err(ProjectError::HelperDied { .. }) = tried {
            // That says nothing about the snapshot, so it must not make the checks run in place.
            tried = obstacle_to_mount(store, runner, request, &mut snapshot);
        }
        if let Some(reason) = tried? {
            return Ok(CheckPlace::InPlace(reason));
        }
        runner.mountable.insert(project.clone(), Mountable::Mounted);
        if !request.plan.steps.is_empty()
            && let Err(error) = conditions.remember()
        {
            tracing::debug!(%error, "the next process has to try the mount again");
        }
    }
    Ok(CheckPlace::Snapshot(Box::new(snapshot)))
}

/// Tries to mount the snapshot. Returns why the snapshot cannot be mounted; `None` if it can be, or if the plan has
/// no check that would need it.
fn obstacle_to_mount(
    store: &Store,
    runner: &mut Runner,
    request: &RunRequest<'_>,
    snapshot: &mut RunSnapshot,
) -> Result<Option<String>, ProjectError> {
    let Some(action) = request.plan.steps.first() else { return Ok(None) };
    let mount = match snapshot.add_mount(None, Vec::new()) {
        Ok(mount) => mount,
        Err(error) => return Ok(Some(error.reason())),
    };
    let action = Action { timeout: TRIAL_TIMEOUT, ..action.clone() };
    let (control, _handle) = Control::new()
        .map_err(|source| ProjectError::Descriptor { action: action.name.clone(), source: io::Error::other(source) })?;
    let (ambient, nowhere) = (runner.ambient.clone(), Path::new(NOWHERE));
    let trial = ExaminationRequest {
        state_root: store.root(),
        project_root: &request.scope.root,
        action: &action,
        program: nowhere,
        settings: &request.settings.sandbox,
        additions: &request.settings.environment,
        ambient: &ambient,
        control: &control,
    };
    let scratch = runner.preparation.scratch().map_or(nowhere, ScratchDirectory::path).to_owned();
    try_mount(runner.launcher()?, &trial, store, &scratch, mount)
}

fn refuse_in_place_if_required(request: &RunRequest<'_>, place: CheckPlace) -> Result<CheckPlace, ProjectError> {
    match &place {
        // A typed command works in the project by design, so requiring a snapshot does not concern it.
        CheckPlace::InPlace(reason) if request.settings.sandbox.snapshot == ProtectionMode::Require && !request.is_typed() => {
            Err(ProjectError::SnapshotRequired { reason: reason.clone() })
        }
        CheckPlace::Project | CheckPlace::InPlace(_) | CheckPlace::Snapshot(_) => Ok(place),
    }
}

impl CheckPlace {
    /// Returns the snapshot that an action works in; `None` if it works in the project.
    pub(crate) fn snapshot_for(&self, action: &Action) -> Option<&RunSnapshot> {
        match self {
            Self::Snapshot(snapshot) if snapshot.is_used_by(action) => Some(&**snapshot),
            Self::Snapshot(_) | Self::Project | Self::InPlace(_) => None,
        }
    }

    /// Returns where a check works, as far as its result may depend on it.
    pub(crate) fn of_check(&self, check: &Action) -> PlaceOfCheck {
        self.snapshot_for(check).map_or(PlaceOfCheck::Project, |snapshot| PlaceOfCheck::Snapshot { inputs: snapshot.inputs() })
    }

    /// Returns the snapshot that an action works in, so that the caller can add a directory of files over it; `None` if
    /// the action works in the project.
    pub(crate) fn snapshot_to_change(&mut self, action: &Action) -> Option<&mut RunSnapshot> {
        match self {
            Self::Snapshot(snapshot) if snapshot.is_used_by(action) => Some(&mut **snapshot),
            Self::Snapshot(_) | Self::Project | Self::InPlace(_) => None,
        }
    }

    /// Lets services use the snapshot from now on. The caller knows that no further prerequisite changes the project.
    pub(crate) fn open_for_services(&mut self) {
        if let Self::Snapshot(snapshot) = self {
            snapshot.open_for_services();
        }
    }

    /// Returns the Python modules that are worth compiling after the run, if the checks ran on a snapshot.
    pub(crate) fn modules_to_compile(&self, project: &ProjectId) -> Option<ModulesToCompile> {
        match self {
            Self::Snapshot(snapshot) => snapshot.modules_to_compile(project),
            Self::Project | Self::InPlace(_) => None,
        }
    }

    /// Sets which layers of other checks a check sees, when checks run at the same time.
    pub(crate) fn show_layers(&mut self, seen: SeenLayers) {
        if let Self::Snapshot(snapshot) = self {
            snapshot.show_layers(seen);
        }
    }

    /// Returns the environments in the project that the snapshot shows; `None` if checks work in the project.
    pub(crate) fn shown_environments(&self) -> Option<Vec<PathBuf>> {
        match self {
            Self::Snapshot(snapshot) => Some(snapshot.shown_environments()),
            Self::Project | Self::InPlace(_) => None,
        }
    }

    /// Returns whether the checks run on a snapshot.
    pub(crate) fn is_snapshot(&self) -> bool {
        matches!(self, Self::Snapshot(_))
    }

    /// Returns the ignored files and the caches that checks on the snapshot see; `None` if checks work in the project.
    pub(crate) fn seen_beside_the_tree(&self) -> Option<(IgnoredFiles, CachesSeen)> {
        match self {
            Self::Snapshot(snapshot) => Some(snapshot.seen_beside_the_tree()),
            Self::Project | Self::InPlace(_) => None,
        }
    }

    /// Returns what the checks did to the tree in their copies; `None` if they work in the project, where such a change makes the run
    /// MOVED.
    pub(crate) fn rewritten(&self) -> Option<&RewrittenFiles> {
        match self {
            Self::Snapshot(snapshot) => Some(snapshot.rewritten()),
            Self::Project | Self::InPlace(_) => None,
        }
    }

    /// Copies the files that `writes` of the checks names to the project. Without a snapshot nothing is copied, because
    /// the checks wrote in the project itself.
    pub(crate) fn copy_out(
        &mut self,
        request: &RunRequest<'_>,
        begun: Timestamp,
        record: &Path,
        stopped: Option<StopReason>,
    ) -> KeptOutcome {
        match self {
            Self::Snapshot(snapshot) => snapshot.copy_out(request, begun, record, stopped),
            Self::Project | Self::InPlace(_) => KeptOutcome::default(),
        }
    }

    /// Returns the report's section about where the checks ran. `in_place` has the names of checks that ran in the
    /// project because of their own settings.
    pub(crate) fn facts(&self, in_place: &[&str]) -> SnapshotV2 {
        let of_project = |reason: &str| SnapshotV2 {
            tested: TestedPlace::InPlace,
            reason: Some(reason.to_owned()),
            inputs: None,
            caches: None,
            written: Vec::new(),
            written_count: None,
            kept_count: None,
            writes_to_keep: Vec::new(),
        };
        match self {
            Self::Project => of_project(NOT_ASKED_FOR),
            Self::InPlace(reason) => of_project(reason),
            Self::Snapshot(snapshot) if in_place.is_empty() => snapshot.facts(),
            Self::Snapshot(snapshot) => SnapshotV2 {
                tested: TestedPlace::InPlace,
                reason: Some(format!("{} has `snapshot = \"off\"`; other checks had a snapshot", quoted(in_place))),
                ..snapshot.facts()
            },
        }
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
