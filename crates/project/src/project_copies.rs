//! The copies of projects from which checks get their snapshots: one copy of the tree, and one copy of the *ignored
//! inputs*, the files that are ignored by git but read by checks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::environment_digest::environment_links;
use crate::error::ProjectError;
use crate::ignored_files::{environments_below, ignored_in_snapshot};
use crate::made_for_plan::MadeForPlan;
use crate::request::{ProjectScope, ProjectSettings, new_matcher};
use proctor_evidence::{Store, read_boot_id};
use proctor_model::{ByteSize, Digest, EntryKind, IgnoredFiles, ProjectId, Timestamp, TreeDigest, TreePath};
use proctor_sandbox::process::clock;
use proctor_sandbox::snapshot::{
    CopyGeneration, CopyOutcome, InPlaceReason, KeptCaches, ProjectCopy, SnapshotError, left_out, obstacle, obstacle_of_size,
    remove_directory,
};
use proctor_tree::ignore::{Matcher, MatcherSettings, Selects};
pub use proctor_tree::ignore::{hidden_caches, is_by_product};
use proctor_tree::{TreeEntry, TreeHints, TreeIndex};

/// The most attempts to read and copy the ignored inputs (files that git ignores but checks read). If they change
/// during every attempt, proctor gives up and makes no snapshot.
const TRIES: usize = 5;

/// The most directories of installed packages that a snapshot may have; with more, no snapshot is made. Each directory
/// is mounted into the snapshot, which costs time at the start of every check.
const MAX_ENVIRONMENTS: usize = 500;

/// The copies of the projects whose checks this process runs.
#[derive(Default)]
pub struct ProjectCopies {
    copies: BTreeMap<ProjectId, CopiesOfProject>,
}

struct CopiesOfProject {
    root: PathBuf,
    settings: MatcherSettings,
    /// Selects the ignored inputs, the files that git ignores but checks read. It is built from `settings`.
    matcher: Matcher,
    tree: ProjectCopy,
    inputs: ProjectCopy,
    inputs_index: Option<TreeIndex>,
    /// Where the ignored inputs may have changed since `inputs_index` was made.
    unread_inputs: TreeHints,
}

/// What checks see in place of a project: copies that are mounted on top of each other, and the real directories of
/// installed packages.
#[derive(Debug, Clone)]
pub struct SnapshotBase {
    /// The directory in the evidence store that contains all copies and mount layers of the project.
    pub directory: PathBuf,
    /// The copies, the topmost first.
    pub copies: Vec<PathBuf>,
    /// The index of the tree whose content the lowest copy has.
    pub tree: TreeIndex,
    /// Directories of installed packages in the project itself, as absolute paths.
    pub environments: Vec<PathBuf>,
    /// Links to directories of installed packages, and single files that describe packages, such as `.pnp.cjs`, as absolute
    /// paths. They are copied.
    pub environment_links: Vec<PathBuf>,
    /// The digest of the copied ignored inputs (files that git ignores but checks read).
    pub inputs: TreeDigest,
    /// The ignored sockets, pipes, devices and unreadable entries, which are not copied.
    pub left_out: Vec<TreePath>,
    /// The ignored files that checks see, by name.
    pub ignored: IgnoredFiles,
    /// The states of the two copies, of the tree and of the ignored inputs. They decide which caches of earlier runs
    /// still fit. `None` if unknown.
    pub generations: Option<[CopyGeneration; 2]>,
}

/// The result of updating a project's copies to a tree.
#[derive(Debug)]
pub enum CopiesOutcome {
    /// The copies have the content of the tree and of the ignored inputs.
    Current(Box<SnapshotBase>),
    /// The tree changed at these paths after it was read, so it has to be read again.
    Moved(BTreeSet<TreePath>),
}

impl ProjectCopies {
    /// Closes the files of all copies until they are used again.
    pub(crate) fn close_files(&mut self) {
        self.copies.values_mut().flat_map(|known| [&mut known.tree, &mut known.inputs]).for_each(ProjectCopy::close_files);
    }

    /// Updates the copies of a project to the tree `index` and to the present ignored inputs (files that git ignores
    /// but checks read), which include `outputs`. The caller must hold the project's lock, and no copy may be mounted.
    /// `hints` says where ignored inputs may have changed since the last call for this project.
    ///
    /// # Errors
    ///
    /// When the project cannot be read, the tree or the ignored inputs are too large or change whenever they are copied, the tree has a
    /// file that cannot be read, there are too many environments, a copy cannot be written, or a pattern of the settings is wrong.
    pub fn update(
        &mut self,
        store: &Store,
        settings: &ProjectSettings,
        scope: &ProjectScope,
        index: &TreeIndex,
        made: MadeForPlan,
        hints: TreeHints,
    ) -> Result<CopiesOutcome, ProjectError> {
        // The hints must not be lost, however this update ends.
        if let Some(known) = self.copies.get_mut(&scope.project) {
            known.unread_inputs.add(hints);
        }
        let bound = settings.sandbox.max_snapshot_bytes;
        if let Some(reason) = obstacle(index, bound) {
            return Err(ProjectError::not_copied(&reason));
        }
        let directory = store.snapshot_directory(&scope.project);
        match self.try_update(&directory, settings, scope, index, made)? {
            Ok(outcome) => Ok(outcome),
            Err(error @ SnapshotError::Project { .. }) => Err(ProjectError::Snapshot(error)),
            Err(error @ SnapshotError::Copy { .. }) => {
                // An unfinished copy is useless, and it may be the reason why the disk is full. So it is removed.
                self.copies.remove(&scope.project);
                let _left = remove_directory(&directory);
                Err(ProjectError::Snapshot(error))
            }
        }
    }

    fn try_update(
        &mut self,
        directory: &Path,
        settings: &ProjectSettings,
        scope: &ProjectScope,
        index: &TreeIndex,
        made: MadeForPlan,
    ) -> Result<Result<CopiesOutcome, SnapshotError>, ProjectError> {
        let MadeForPlan { outputs, environments } = made;
        let selects = MatcherSettings { selects: Selects::IgnoredInputs, outputs, ..settings.matcher.clone() };
        let known = self.copies.get(&scope.project).filter(|known| known.root == scope.root && known.settings == selects);
        if known.is_none() {
            let matcher = new_matcher(&selects)?;
            let open = |name| ProjectCopy::open(&directory.join(name), &scope.root, &read_boot_id());
            let (tree, inputs) = match (open("tree"), open("inputs")) {
                (Ok(tree), Ok(inputs)) => (tree, inputs),
                (Err(error), _) | (_, Err(error)) => return Ok(Err(error)),
            };
            let (root, settings) = (scope.root.clone(), selects);
            let (inputs_index, unread_inputs) = (None, TreeHints::Everything);
            let known = CopiesOfProject { root, settings, matcher, tree, inputs, inputs_index, unread_inputs };
            self.copies.insert(scope.project.clone(), known);
        }
        let known = self.copies.get_mut(&scope.project).expect("it was inserted if it was missing");
        let now = known.time_of_copying(directory);
        match known.tree.bring_up_to(index, now) {
            Ok(CopyOutcome::Current) => {}
            Ok(CopyOutcome::Moved(paths)) => return Ok(Ok(CopiesOutcome::Moved(paths))),
            Err(error) => return Ok(Err(error)),
        }
        known.update_inputs(directory, index, &environments, settings.sandbox.max_snapshot_bytes)
    }
}

impl CopiesOfProject {
    fn update_inputs(
        &mut self,
        directory: &Path,
        tree: &TreeIndex,
        of_programs: &BTreeSet<PathBuf>,
        bound: ByteSize,
    ) -> Result<Result<CopiesOutcome, SnapshotError>, ProjectError> {
        let mut changing = TreePath::root();
        for _ in 0..TRIES {
            let index = self.read_inputs()?;
            if let Some(reason) = obstacle_of_size(&index, bound) {
                let (reason, remedy) = (reason.among_ignored_files(), reason.remedy());
                return Err(ProjectError::TreeNotCopied { reason, remedy });
            }
            let environments =
                find_environments(tree, &index, of_programs).map_err(|reason| ProjectError::not_copied(&reason))?;
            let moved = disagreements(tree, &index);
            if !moved.is_empty() {
                self.inputs_index = Some(index);
                return Ok(Ok(CopiesOutcome::Moved(moved)));
            }
            let outputs = &self.settings.outputs;
            let now = self.time_of_copying(directory);
            let copied = self.inputs.bring_inputs_up_to(&index, now, &|path| outputs.contains(path));
            let inputs = index.digest();
            let links = environment_links(&index).into_iter();
            let environment_links = links.map(|path| self.root.join(path.as_path())).collect();
            let left_out = left_out(&index);
            let mut ignored = ignored_in_snapshot(tree, &index, outputs, self.settings.task_list.as_deref());
            self.inputs_index = Some(index);
            match copied {
                Ok(CopyOutcome::Current) => {
                    let copies = vec![self.inputs.base(), self.tree.base()];
                    let generations = self.tree.generation().zip(self.inputs.generation()).map(<[CopyGeneration; 2]>::from);
                    ignored.others = environments_below(&self.root, &environments);
                    let (directory, tree) = (directory.to_owned(), tree.clone());
                    return Ok(Ok(CopiesOutcome::Current(Box::new(SnapshotBase {
                        directory,
                        copies,
                        tree,
                        environments,
                        environment_links,
                        inputs,
                        left_out,
                        ignored,
                        generations,
                    }))));
                }
                Ok(CopyOutcome::Moved(paths)) => {
                    changing = paths.first().cloned().unwrap_or(changing);
                    self.unread_inputs.add(TreeHints::Only(paths));
                }
                Err(error) => return Ok(Err(error)),
            }
        }
        Err(ProjectError::not_copied(&InPlaceReason::Changing(changing)))
    }
}

impl CopiesOfProject {
    /// Returns the earliest modification time for copied files with new content: the present time, but not earlier than the
    /// newest file in a kept cache or in one of the copies, even if the clock was set back. So a tool that compares file times
    /// notices that such a file changed.
    fn time_of_copying(&self, directory: &Path) -> Timestamp {
        let newest = [KeptCaches::newest(directory), self.tree.newest(), self.inputs.newest()].into_iter().flatten();
        newest.fold(clock::now(), Timestamp::max)
    }

    /// Reads the present ignored inputs. Known inputs are read again whatever the hints say, because events miss some
    /// changes of a file's content. New inputs are looked for only where the hints say.
    fn read_inputs(&mut self) -> Result<TreeIndex, ProjectError> {
        let now = clock::now();
        // If the reading fails, the next one reads everything.
        let unread = std::mem::replace(&mut self.unread_inputs, TreeHints::Everything);
        let read = match (&self.inputs_index, unread) {
            (Some(known), TreeHints::Only(mut paths)) => {
                // No hint names these outputs, because the watcher does not know what a plan's prerequisites make.
                paths.extend(self.settings.outputs.paths.iter().cloned());
                known.apply_and_check_selected(&paths, &self.matcher, now)
            }
            (Some(known), TreeHints::Everything) => known.rescan(&self.matcher, now),
            (None, _) => TreeIndex::scan(&self.root, &self.matcher, now),
        };
        let index = read?;
        self.unread_inputs = TreeHints::nothing();
        Ok(index)
    }
}

/// Returns the paths that show that the project changed between the reading of the tree and the reading of the ignored
/// inputs.
///
/// The copy of the inputs lies on top of the copy of the tree, so an input must not hide an entry of the tree. That can
/// happen if a rules file (such as `.gitignore`) changed, or if an input has the path of a tree entry but another
/// content.
fn disagreements(tree: &TreeIndex, inputs: &TreeIndex) -> BTreeSet<TreePath> {
    let (of_tree, of_inputs) = (tree.rules_files(), inputs.rules_files());
    // A rules file that was removed does not matter: without it fewer entries are ignored, and only ignored entries are
    // copied as inputs.
    let is_new = |(path, digest): &(TreePath, Digest)| of_tree.get(path) != Some(digest);
    let mut moved: BTreeSet<TreePath> = of_inputs.into_iter().filter(is_new).map(|(path, _)| path).collect();
    let differs = |input: &TreeEntry| {
        let is_directory = input.kind == EntryKind::Directory;
        tree.lookup(&input.path).is_some_and(|entry| entry.kind != input.kind || (!is_directory && entry.digest != input.digest))
    };
    moved.extend(inputs.entries().filter(differs).map(|input| input.path));
    moved
}

/// Returns the directories of installed packages in a project: those that the walk of the ignored inputs noted, and those of the
/// plan's programs that neither the tree nor the inputs have. The error is why a snapshot cannot show them.
pub(crate) fn find_environments(
    tree: &TreeIndex,
    inputs: &TreeIndex,
    of_programs: &BTreeSet<PathBuf>,
) -> Result<Vec<PathBuf>, InPlaceReason> {
    let root = tree.root();
    // What lies in the tree is copied with it.
    let noted = inputs.environments().into_iter().filter(|path| tree.lookup(path).is_none());
    let mut found: BTreeSet<PathBuf> = noted.map(|path| root.join(path.as_path())).collect();
    for environment in of_programs {
        let Ok(path) = TreePath::below(root, environment) else { continue };
        let is_known = tree.lookup(&path).is_some() || inputs.lookup(&path).is_some();
        if !is_known && !found.iter().any(|other| environment.starts_with(other)) {
            found.insert(environment.clone());
        }
    }
    if found.len() > MAX_ENVIRONMENTS {
        return Err(InPlaceReason::TooManyEnvironments { count: found.len(), bound: MAX_ENVIRONMENTS });
    }
    Ok(found.into_iter().collect())
}

/// Returns why the ignored inputs of a project cannot be copied, or its environments not be shown; `None` if they can be. Reads the
/// content of all ignored inputs.
pub(crate) fn obstacle_of_inputs(
    settings: &ProjectSettings,
    tree: &TreeIndex,
    made: MadeForPlan,
) -> Result<Option<String>, ProjectError> {
    let MadeForPlan { outputs, environments } = made;
    let selects = MatcherSettings { selects: Selects::IgnoredInputs, outputs, ..settings.matcher.clone() };
    let index = TreeIndex::scan(tree.root(), &new_matcher(&selects)?, clock::now())?;
    let of_inputs = obstacle_of_size(&index, settings.sandbox.max_snapshot_bytes).map(|reason| reason.among_ignored_files());
    Ok(of_inputs.or_else(|| find_environments(tree, &index, &environments).err().map(|reason| reason.to_string())))
}
