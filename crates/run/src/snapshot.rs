//! The snapshot of one run: what its checks see in place of the project, and what they write there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::bytecode::RunBytecode;
use crate::check_caches::{CacheOfAttempt, CheckCaches, stamp_environments};
use crate::followed_file::SeenFiles;
use crate::kept_files::{KeptFiles, KeptOutcome};
use crate::rewritten_files::{RewrittenFiles, WritesInTree, made_configuration, writes_in_tree};
use crate::seen_layers::SeenLayers;
use crate::written_configuration::WrittenConfiguration;
use proctor_evidence::read_boot_id;
use proctor_evidence::report::{CachesV2, SnapshotV2, WrittenV2};
use proctor_model::{
    Action, ActionId, ActionPhase, ByteSize, CachesMode, CachesSeen, Digest, EndedAction, EnvironmentMount, IgnoredFiles,
    ProjectId, Sandbox, SnapshotMount, StopReason, TestedPlace, Timestamp, TreeDigest, TreePath,
};
use proctor_project::{
    KeptPaths, ModulesToCompile, ProjectSettings, RunRequest, SnapshotBase, decides_the_verdict, is_by_product,
};
use proctor_sandbox::process::{Layers, WrittenChange, written_entries};
use proctor_sandbox::snapshot::{CacheConditions, KeptCaches, RunLayers, SnapshotError};
use proctor_tools::is_lock_file;
use proctor_tree::TreeIndex;

/// The most written entries that a report lists. Further entries are only counted.
const LISTED: usize = 20;

/// The limit for the kept caches of a project is `max_snapshot_bytes` divided by this number.
const CACHES_OF_SNAPSHOT: u64 = 2;

/// What the actions of one run see in place of the project: copies of its files, and layers with what earlier actions
/// wrote.
#[derive(Debug)]
pub(crate) struct RunSnapshot {
    root: PathBuf,
    base: SnapshotBase,
    layers: RunLayers,
    caches: CheckCaches,
    bytecode: RunBytecode,
    seen: SeenLayers,
    users: SnapshotUsers,
    /// What each action wrote, in the order in which the actions ended; at most `LISTED` entries of each attempt.
    written: Vec<WrittenV2>,
    written_count: u64,
    kept: KeptFiles,
    configuration: WrittenConfiguration,
    rewritten: RewrittenFiles,
    /// The file with the keys that may approve, relative to the project; `None` if the settings name none.
    signers: Option<String>,
}

/// Which actions work on the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SnapshotUsers {
    /// Checks and clean-up work on it. Services do not, because a prerequisite that needs them may follow and change
    /// the project.
    Checks,
    /// Checks, clean-up and services. All prerequisites that change the project have ended.
    Everybody,
}

/// What an action wrote, as far as its result depends on it.
#[derive(Debug, Default)]
pub(crate) struct NotedWrites {
    /// Why the check's kept cache was dropped; `None` if it was not.
    pub(crate) dropped_cache: Option<String>,
    /// The files of the project's tree for whose change a linter or formatter fails. Their content in its copy is not that of the tree
    /// any more.
    pub(crate) changed: Vec<TreePath>,
}

/// What becomes of a change that a check makes to a file of the project's tree, in the check's own copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TreeChange {
    /// The check fails: it is a linter or formatter.
    Fails,
    /// Checks after it see the change, as they see everything that checks before them wrote. Then the run is no verdict on its tree.
    PassedOn,
}

impl TreeChange {
    fn of(action: &Action, is_linter: bool) -> Option<Self> {
        let change = if is_linter { Self::Fails } else { Self::PassedOn };
        (action.phase == ActionPhase::Step).then_some(change)
    }
}

/// A place from which a file is read: a directory, and a path below it.
pub(crate) type PlaceOfFile = (PathBuf, PathBuf);

/// Returns what kept caches depend on, as of now; `None` if that is unknown.
fn conditions_of(base: &SnapshotBase) -> Option<CacheConditions> {
    Some(CacheConditions { copies: base.generations?, environments: stamp_environments(&base.environments) })
}

impl RunSnapshot {
    /// Begins the snapshot of a run on a base, without layers. `caches` says whether checks find the caches of earlier runs, and leave
    /// theirs to later ones.
    pub(super) fn begin(request: &RunRequest<'_>, base: SnapshotBase, caches: CachesMode) -> Result<Self, SnapshotError> {
        let layers = RunLayers::begin(&base.directory)?;
        let users = if request.plan.prerequisites.is_empty() { SnapshotUsers::Everybody } else { SnapshotUsers::Checks };
        let settings = &request.settings.sandbox;
        let limit = ByteSize(settings.max_snapshot_bytes.0 / CACHES_OF_SNAPSHOT);
        let kept = KeptCaches::new(&base.directory, &read_boot_id(), limit);
        // A cache cannot be moved from memory to the store in one step, so layers in memory have no kept caches.
        let mode = if layers.memory().is_some() { CachesMode::Fresh } else { caches };
        let caches = CheckCaches::new(mode, kept, conditions_of(&base));
        Ok(Self {
            root: request.scope.root.clone(),
            base,
            layers,
            caches,
            bytecode: RunBytecode::default(),
            seen: SeenLayers::default(),
            users,
            written: Vec::new(),
            written_count: 0,
            kept: KeptFiles::default(),
            configuration: WrittenConfiguration::default(),
            rewritten: RewrittenFiles::default(),
            signers: request.settings.allowed_signers.clone(),
        })
    }

    /// Returns the environments in the project that checks see: mounted ones, and links and files that stand for some.
    pub(super) fn shown_environments(&self) -> Vec<PathBuf> {
        self.base.environments.iter().chain(&self.base.environment_links).cloned().collect()
    }

    /// Returns the tree that the actions see.
    pub(crate) fn tree(&self) -> &TreeIndex {
        &self.base.tree
    }

    /// Returns the digest of the copied ignored inputs.
    pub(super) fn inputs(&self) -> TreeDigest {
        self.base.inputs
    }

    /// Returns the ignored files and the caches that checks see.
    pub(super) fn seen_beside_the_tree(&self) -> (IgnoredFiles, CachesSeen) {
        (self.base.ignored.clone(), self.caches.seen())
    }

    /// Replaces the base, after prerequisites changed the project.
    pub(super) fn begin_again(&mut self, base: SnapshotBase) {
        self.caches.set_conditions(conditions_of(&base));
        self.base = base;
        self.bytecode.begin_again();
    }

    /// Lets services use the snapshot from now on. The caller knows that no further prerequisite changes the project.
    pub(super) fn open_for_services(&mut self) {
        self.users = SnapshotUsers::Everybody;
    }

    /// Sets which layers of other checks a check sees, when checks run at the same time.
    pub(super) fn show_layers(&mut self, seen: SeenLayers) {
        self.seen = seen;
    }

    /// Returns the Python modules that are worth compiling after the run.
    pub(super) fn modules_to_compile(&self, project: &ProjectId) -> Option<ModulesToCompile> {
        self.bytecode.to_compile(project, &self.base, &self.root)
    }

    /// Returns the report's section about a run on this snapshot.
    pub(super) fn facts(&self) -> SnapshotV2 {
        SnapshotV2 {
            tested: TestedPlace::Snapshot,
            reason: None,
            inputs: Some(self.base.inputs),
            caches: Some(match self.caches.mode() {
                CachesMode::Kept => CachesV2::Kept,
                CachesMode::Fresh => CachesV2::Fresh,
            }),
            written: self.listed(),
            written_count: Some(self.written_count),
            kept_count: self.kept.count(),
            writes_to_keep: self.kept.proposed(),
        }
    }

    /// Returns whether an action works on the snapshot.
    pub(super) fn is_used_by(&self, action: &Action) -> bool {
        match action.phase {
            ActionPhase::Step => !action.in_place,
            ActionPhase::Cleanup => true,
            ActionPhase::Prerequisite => action.service.is_some() && self.users == SnapshotUsers::Everybody,
        }
    }

    /// Removes the layers of an action that has ended, without showing them to later actions.
    pub(crate) fn drop_mount(&mut self, mount: &SnapshotMount) {
        let of_environments = mount.environments.iter().map(|environment| &environment.written);
        of_environments.chain([&mount.written]).for_each(|layer| self.layers.remove(layer));
    }

    /// Returns the record of the run's compiled Python modules, and the base: the tree and the copies on which the checks
    /// run.
    pub(crate) fn bytecode(&mut self) -> (&mut RunBytecode, &SnapshotBase) {
        (&mut self.bytecode, &self.base)
    }

    /// Makes the layers for an action, and returns what is to be mounted for it. A check gets its own caches. `bytecode` has
    /// the directories of compiled modules.
    pub(crate) fn add_mount(&mut self, action: Option<&Action>, bytecode: Vec<PathBuf>) -> Result<SnapshotMount, SnapshotError> {
        let written = self.layers.add()?;
        let kept = action.map_or_else(Vec::new, |action| self.seen.select(self.layers.kept(), &action.id));
        if let Some(action) = action.filter(|action| action.phase == ActionPhase::Step) {
            self.configuration.note_seen(action, &kept);
            self.rewritten.note_seen(&kept);
        }
        let mut lower: Vec<PathBuf> = kept.iter().chain(&self.base.copies).cloned().collect();
        let cache = action.map_or_else(CacheOfAttempt::default, |action| self.caches.prepare(action, &lower, &kept));
        let linked = linked_environments(&self.root, &self.base.environment_links);
        let environments = self.base.environments.iter().chain(&linked);
        let environments = environments
            .map(|path| {
                let caches = cache.in_environment(path, &mut self.layers);
                Ok(EnvironmentMount { path: path.clone(), caches, written: self.layers.add()? })
            })
            .collect::<Result<_, SnapshotError>>()?;
        // Compiled modules lie directly over the tree's copy, which is the lowest.
        lower.splice(lower.len() - 1..lower.len() - 1, bytecode);
        lower.splice(0..0, cache.in_project());
        let memory = self.layers.memory().map(Path::to_owned);
        Ok(SnapshotMount {
            root: self.root.clone(),
            directory: self.base.directory.clone(),
            memory,
            lower,
            written,
            environments,
        })
    }

    /// Returns the layers of the run, and the directory that contains them.
    pub(crate) fn layers(&mut self) -> (&mut RunLayers, &Path) {
        (&mut self.layers, &self.base.directory)
    }

    /// Returns what the checks did to the tree in their copies.
    pub(super) fn rewritten(&self) -> &RewrittenFiles {
        &self.rewritten
    }

    /// Notes the files that an action wrote, and lets later actions see these files, except the action's caches. No
    /// process of the action is left. `is_linter` says that the action fails if it changed a file of the project's tree.
    pub(crate) fn note_written(
        &mut self,
        action: &Action,
        ended: &EndedAction,
        mount: &SnapshotMount,
        sandbox: Option<&Sandbox>,
        settings: &ProjectSettings,
        is_linter: bool,
    ) -> std::io::Result<NotedWrites> {
        let places = sandbox.iter().flat_map(|sandbox| sandbox.places.iter().map(|place| place.path.as_path()));
        let mounted = places.chain(mount.environments.iter().map(|environment| environment.path.as_path()));
        // The directories on which something was mounted are left out, because proctor made them and not the check.
        let skipped: Vec<TreePath> = mounted.filter_map(|path| TreePath::below(&self.root, path).ok()).collect();
        let dropped_cache = self.caches.take(action, ended, mount, &skipped, &mut self.layers)?;
        let entries = written_entries(&mount.written.upper, &skipped)?;
        self.kept.note(action, &ended.end, &mount.written.upper, &entries, settings);
        if entries.is_empty() {
            return Ok(NotedWrites { dropped_cache, ..NotedWrites::default() });
        }
        let tree_change = TreeChange::of(action, is_linter);
        let writes = match tree_change {
            Some(_) => writes_in_tree(&self.base.tree, &mount.written.upper, &entries)?,
            None => WritesInTree::default(),
        };
        let mut noted = NotedWrites { dropped_cache, ..NotedWrites::default() };
        self.bytecode.note_written(&action.id, &self.base, &entries);
        match tree_change {
            // A package manager's notes are no reason to fail.
            Some(TreeChange::Fails) if writes.changed.iter().any(|path| !is_lock_file(path)) => {
                noted.changed = writes.changed.into_iter().filter(|path| !is_lock_file(path)).collect();
            }
            Some(TreeChange::Fails | TreeChange::PassedOn) => {
                self.layers.keep(&mount.written, &action.id);
                let made = made_configuration(&self.base.tree, &entries, &self.base.copies, || settings.new_matcher().ok())?;
                let notes = self.rewritten.note_written(action, &mount.written.upper, writes, made);
                self.configuration.note_all(notes);
            }
            None => self.layers.keep(&mount.written, &action.id),
        }
        self.configuration.note_written(action, mount.written.upper.clone(), &entries);
        let signers = self.signers.as_deref();
        let is_deciding = |path: &TreePath| is_deciding(path, signers);
        let deciding = entries.iter().map(|entry| &entry.path).filter(|path| is_deciding(path) && !self.kept.is_candidate(path));
        self.configuration.note_deciding(action, &deciding.collect::<Vec<_>>());
        let mut listed = 0;
        let is_shown = |path: &TreePath| !is_by_product(path) || is_deciding(path) || self.kept.is_candidate(path);
        for entry in entries.into_iter().filter(|entry| is_shown(&entry.path)) {
            let bytes = match entry.change {
                // A directory is not counted itself, only the files in it.
                WrittenChange::ReplacedDirectory => continue,
                WrittenChange::WroteFile { bytes } => Some(bytes),
                WrittenChange::MadeOther | WrittenChange::Removed => None,
            };
            self.written_count += 1;
            if listed < LISTED {
                listed += 1;
                let (action_id, path) = (action.id.clone(), entry.path.to_string());
                self.written.push(WrittenV2 { action_id, path, bytes, kept: false, not_kept: None });
            }
        }
        Ok(noted)
    }

    /// Copies what `writes` of the checks names to the project. No process of the run is left.
    pub(super) fn copy_out(
        &mut self,
        request: &RunRequest<'_>,
        begun: Timestamp,
        record: &Path,
        stopped: Option<StopReason>,
    ) -> KeptOutcome {
        let mut outcome = self.kept.copy_out(request, &self.base.copies, begun, record, stopped);
        self.configuration.note_left_out(&self.base.left_out);
        outcome.notes.extend(self.configuration.take_notes());
        for one in &mut self.written {
            if let Ok(path) = TreePath::try_from(one.path.as_str()) {
                (one.kept, one.not_kept) = self.kept.state(&one.action_id, &path);
            }
        }
        outcome
    }

    /// Returns the caches that other checks of the run wrote, by their paths, each with the name of the check.
    pub(crate) fn caches_of_others(&self, action: &ActionId) -> BTreeMap<TreePath, String> {
        self.caches.of_others(action)
    }

    /// Returns where the file at a path of the project is read from, as an action sees it: from a layer, a copy or a
    /// live environment. `None` if the path lies in no live environment and the action sees no regular file there.
    pub(crate) fn place_of(&self, action: &ActionId, relative: &Path) -> std::io::Result<Option<PlaceOfFile>> {
        let full = self.root.join(relative);
        if self.base.environments.iter().any(|environment| full.starts_with(environment)) {
            return Ok(Some((self.root.clone(), relative.to_owned())));
        }
        let Ok(path) = TreePath::below(&self.root, &full) else { return Ok(None) };
        let taken = self.seen.select(self.caches.taken(), action);
        for directories in [self.lower(action), taken] {
            if let Some((layer, _)) = Layers::new(directories.clone()).open_file(&path)? {
                return Ok(Some((directories[layer].clone(), relative.to_owned())));
            }
        }
        Ok(None)
    }

    /// Returns whether the project has a directory that an action does not see.
    pub(crate) fn lacks_directory(&self, action: &ActionId, path: &TreePath, sandbox: Option<&Sandbox>) -> bool {
        let full = self.root.join(path.as_path());
        // The project's own directories are mounted there.
        let places = sandbox.iter().flat_map(|sandbox| sandbox.places.iter().map(|place| place.path.as_path()));
        let mut live = places.chain(self.base.environments.iter().map(PathBuf::as_path));
        let is_live = path.as_bytes().split(|byte| *byte == b'/').any(|name| name == b".git")
            || live.any(|place| place != self.root && place.starts_with(&self.root) && full.starts_with(place));
        let is_there = |directory: &PathBuf| directory.join(path.as_path()).is_dir();
        full.is_dir() && !is_live && !self.lower(action).iter().any(is_there)
    }

    /// Returns the files of the project as an action sees them.
    pub(crate) fn files_seen_by(&self, action: &ActionId) -> SeenFiles {
        let taken = self.seen.select(self.caches.taken(), action);
        let directories = self.lower(action).into_iter().chain(taken).collect();
        SeenFiles::in_snapshot(&self.root, directories, &self.base.environments)
    }

    /// Begins to note what the processes of an attempt wrote, of which there are several where a check is divided.
    pub(crate) fn begin_attempt(&mut self, action: &Action) {
        self.kept.begin_attempt(&action.id);
    }

    /// Notes the files that `writes` of a check names and that a server sent back other than they were sent.
    pub(crate) fn note_answered(
        &mut self,
        action: &Action,
        ended: &EndedAction,
        answer: &Path,
        settings: &ProjectSettings,
    ) -> std::io::Result<()> {
        let named = KeptPaths::new(&action.writes);
        let entries = if answer.exists() { written_entries(answer, &[])? } else { Vec::new() };
        let is_new = |path: &TreePath| {
            let before = self.base.tree.lookup(path).and_then(|entry| entry.digest);
            before.is_none_or(|before| std::fs::read(answer.join(path.as_path())).is_ok_and(|now| Digest::of(&now) != before))
        };
        let entries: Vec<_> = entries.into_iter().filter(|entry| named.contains(&entry.path) && is_new(&entry.path)).collect();
        self.kept.note(action, &ended.end, answer, &entries, settings);
        Ok(())
    }

    /// Returns the tree that the checks see, and the directory with its content.
    pub(crate) fn tree_and_copy(&self) -> (TreeIndex, PathBuf) {
        (self.base.tree.clone(), self.base.copies.last().cloned().unwrap_or_else(|| self.root.clone()))
    }

    /// Returns the files of the project as they were before any action changed them.
    pub(crate) fn files_of_tree(&self) -> SeenFiles {
        SeenFiles::in_snapshot(&self.root, self.base.copies.to_vec(), &self.base.environments)
    }

    /// Returns the directories that an action sees over each other, the topmost first.
    fn lower(&self, action: &ActionId) -> Vec<PathBuf> {
        let layers = self.seen.select(self.layers.kept(), action);
        layers.into_iter().chain(self.base.copies.iter().cloned()).collect()
    }

    /// Returns the first written entries in the order of the report, whichever action ended first.
    fn listed(&self) -> Vec<WrittenV2> {
        let mut written = self.written.clone();
        written.sort_by_key(|one| self.seen.rank(&one.action_id));
        written.truncate(LISTED);
        written
    }
}

/// Returns whether a file decides how the project is judged. A directory of the project that is called `.git` is a by-product,
/// but a check should not make one. What lies in another by-product decides nothing: tools write ignore files to their caches.
fn is_deciding(path: &TreePath, signers: Option<&str>) -> bool {
    let is_made_by_tools = |part: &[u8]| part != b".git" && TreePath::try_from(part).is_ok_and(|part| is_by_product(&part));
    decides_the_verdict(path.as_bytes(), signers) && !path.as_bytes().split(|byte| *byte == b'/').any(is_made_by_tools)
}

/// Returns the directories of installed packages outside of the project that links in it lead to. What checks write there goes to a
/// layer, as in the project's own.
fn linked_environments(root: &Path, links: &[PathBuf]) -> Vec<PathBuf> {
    let targets = links.iter().filter(|link| link.is_symlink()).filter_map(|link| link.canonicalize().ok());
    let outside: BTreeSet<PathBuf> = targets.filter(|target| target.is_dir() && !target.starts_with(root)).collect();
    outside.into_iter().collect()
}

/// Returns where a file is read from that an action itself wrote at `path`, which is absolute. `None` if the path is outside of
/// the project, which the snapshot does not cover.
pub(crate) fn place_of_written(mount: &SnapshotMount, path: &Path) -> Option<PlaceOfFile> {
    let environment = mount.environments.iter().find(|environment| path.starts_with(&environment.path));
    let (around, layer) = match environment {
        Some(environment) => (environment.path.as_path(), &environment.written),
        None => (mount.root.as_path(), &mount.written),
    };
    path.strip_prefix(around).ok().map(|relative| (layer.upper.clone(), relative.to_owned()))
}
