//! The files that a run's checks wrote on its snapshot and that match the checks' setting `writes`. They are copied to the
//! project after the clean-up and before the seal, so that the report can say what was copied.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::check_place::CheckPlace;
use crate::run_context::RunContext;
use proctor_evidence::Store;
use proctor_model::{Action, ActionEnd, ActionId, ByteSize, PlanNote, StopReason, TreeDigest, TreePath};
use proctor_project::{KeepDecision, KeptPaths, ProjectError, ProjectSettings, RunRequest, Trees, decide_keep};
use proctor_sandbox::process::{Layers, WrittenChange, WrittenEntry};
use proctor_sandbox::snapshot::{CopiedOut, ProjectFileState, ProjectWriter};
use proctor_tree::{TreeHints, TreeIndex};

/// The most files that one run copies to the project.
const MOST_FILES: usize = 10_000;

/// The most bytes that one run copies to the project.
const MOST_BYTES: ByteSize = ByteSize(1 << 30);

/// The most files that a note names. Further files are only counted.
const NAMED: usize = 3;

/// The most patterns that are proposed for `writes`.
const PROPOSED: usize = 5;

/// The most dropped files that are noted. Further files get no proposed pattern.
const MOST_DROPPED: usize = 10_000;

/// Files that checks wrote, and what is done with them.
#[derive(Debug, Default)]
pub(crate) struct KeptFiles {
    /// Written files that `writes` of their checks names. If several checks wrote a file, the candidate is the file of
    /// the last check.
    candidates: BTreeMap<TreePath, Candidate>,
    /// Whether a check with `writes` was carried out.
    is_asked: bool,
    /// The first files that checks wrote and that their own `writes` does not name.
    dropped: BTreeSet<TreePath>,
    decided: BTreeMap<TreePath, KeptState>,
}

#[derive(Debug)]
struct Candidate {
    action: ActionId,
    check: String,
    layer: PathBuf,
    change: WrittenChange,
    /// Why the attempt's files are not copied; `None` if they are.
    obstacle: Option<&'static str>,
}

/// A place where checks wrote files that no `writes` names.
#[derive(Debug)]
enum DroppedPlace {
    File(TreePath),
    /// Several files below this directory.
    Directory(TreePath),
}

/// What became of a file that `writes` names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KeptState {
    action: ActionId,
    not_kept: Option<String>,
}

/// What copying the kept files has changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptOutcome {
    /// The project's files that were made or replaced.
    pub(crate) changed: BTreeSet<TreePath>,
    /// For each changed file, the name of the check that wrote it.
    checks: BTreeMap<TreePath, String>,
    pub(crate) notes: Vec<PlanNote>,
    /// The digest of the tree with the changed files; `None` if none of the changed files belongs to the tree.
    pub(crate) tree: Option<TreeDigest>,
}

impl KeptFiles {
    /// Begins to note what an attempt of a check wrote: files of the check's earlier attempts are no longer copied.
    pub(crate) fn begin_attempt(&mut self, action: &ActionId) {
        self.candidates.retain(|_, candidate| candidate.action != *action);
    }

    /// Notes the files that a process of an attempt wrote to its layer.
    pub(crate) fn note(
        &mut self,
        action: &Action,
        end: &ActionEnd,
        layer: &std::path::Path,
        entries: &[WrittenEntry],
        settings: &ProjectSettings,
    ) {
        self.is_asked |= !action.writes.is_empty();
        let kept = KeptPaths::new(&action.writes);
        let obstacle = end.exit_code().is_none().then_some("the check did not end by itself");
        for entry in entries {
            let path = &entry.path;
            match (entry.change, kept.contains(path), decide(path, settings)) {
                (WrittenChange::ReplacedDirectory, _, _) | (_, true, KeepDecision::Drop) => {}
                (change, true, KeepDecision::Copy | KeepDecision::Refuse(_) | KeepDecision::RefuseQuietly(_)) => {
                    let (action, check, layer) = (action.id.clone(), action.name.clone(), layer.to_owned());
                    self.candidates.insert(path.clone(), Candidate { action, check, layer, change, obstacle });
                }
                (WrittenChange::WroteFile { .. }, false, KeepDecision::Copy) if !proctor_project::is_by_product(path) => {
                    if self.dropped.len() < MOST_DROPPED {
                        self.dropped.insert(path.clone());
                    }
                }
                (WrittenChange::WroteFile { .. } | WrittenChange::MadeOther | WrittenChange::Removed, false, _) => {}
            }
        }
    }

    /// Returns whether a written entry is named by `writes` of its check.
    pub(crate) fn is_candidate(&self, path: &TreePath) -> bool {
        self.candidates.contains_key(path)
    }

    /// Returns where files were dropped, by the first component of the paths: the only file there, or the deepest directory that
    /// contains all of them. What another check of the run kept is not dropped.
    fn dropped_places(&self) -> BTreeMap<&[u8], DroppedPlace> {
        let is_kept = |path: &TreePath| self.decided.get(path).is_some_and(|state| state.not_kept.is_none());
        let mut places: BTreeMap<&[u8], DroppedPlace> = BTreeMap::new();
        for path in self.dropped.iter().filter(|path| !is_kept(path)) {
            let top = path.as_bytes().split(|byte| *byte == b'/').next().unwrap_or_default();
            let common = match places.get(top) {
                None => DroppedPlace::File(path.clone()),
                Some(DroppedPlace::File(other) | DroppedPlace::Directory(other)) => {
                    DroppedPlace::Directory(common_directory(other, path))
                }
            };
            places.insert(top, common);
        }
        places
    }

    /// Copies the files to the project. `copies` are the layers that the checks saw beneath their own. `begun` and `record` are
    /// explained at [`ProjectWriter::open`].
    pub(crate) fn copy_out(
        &mut self,
        request: &RunRequest<'_>,
        copies: &[PathBuf],
        begun: proctor_model::Timestamp,
        record: &std::path::Path,
        stopped: Option<StopReason>,
    ) -> KeptOutcome {
        let mut outcome = KeptOutcome::default();
        if self.candidates.is_empty() {
            return outcome;
        }
        let writer = ProjectWriter::open(&request.scope.root, begun, record);
        let seen = Layers::new(copies.to_vec());
        let (mut files, mut bytes) = (0, 0_u64);
        for (path, candidate) in &self.candidates {
            let refused = match (stopped, candidate.obstacle, decide(path, request.settings), candidate.change) {
                (Some(_), _, _, _) => Some("the run was stopped".to_owned()),
                (None, Some(obstacle), _, _) => Some(obstacle.to_owned()),
                (None, None, KeepDecision::Refuse(reason) | KeepDecision::RefuseQuietly(reason), _) => Some(reason.to_owned()),
                (None, None, KeepDecision::Copy | KeepDecision::Drop, WrittenChange::WroteFile { bytes: size }) => {
                    files += 1;
                    bytes = bytes.saturating_add(size);
                    let is_too_much = files > MOST_FILES || bytes > MOST_BYTES.0;
                    is_too_much.then(|| format!("a run copies at most {MOST_FILES} files and {MOST_BYTES}"))
                }
                (None, None, _, WrittenChange::Removed) => {
                    Some("the check removed it, and no file of the project is removed".to_owned())
                }
                (None, None, _, WrittenChange::MadeOther | WrittenChange::ReplacedDirectory) => {
                    Some("it is no regular file".to_owned())
                }
            };
            let not_kept = refused.or_else(|| {
                let state = state_seen(&seen, path);
                let copied = match (&writer, state) {
                    (Ok(writer), Ok(state)) => writer.copy(&candidate.layer, path, state).map_err(|error| error.to_string()),
                    (Err(error), _) => Err(format!("the project cannot be opened: {error}")),
                    (_, Err(error)) => Err(format!("the snapshot cannot be read: {error}")),
                };
                match copied {
                    Ok(CopiedOut::Written) => {
                        outcome.changed.insert(path.clone());
                        outcome.checks.insert(path.clone(), candidate.check.clone());
                        None
                    }
                    Ok(CopiedOut::Equal) => None,
                    Err(reason) => Some(reason),
                }
            });
            self.decided.insert(path.clone(), KeptState { action: candidate.action.clone(), not_kept });
        }
        if stopped.is_none() {
            outcome.notes.extend(self.notes_of_refused(request.settings));
        }
        outcome
    }

    /// Returns how many files that `writes` names are now in the project with the written content; `None` if no check
    /// with a `writes` was carried out.
    pub(crate) fn count(&self) -> Option<u64> {
        let kept = self.decided.values().filter(|state| state.not_kept.is_none()).count() as u64;
        self.is_asked.then_some(kept)
    }

    /// Returns whether the file that an action wrote is now in the project, and if not, the reason.
    pub(crate) fn state(&self, action: &ActionId, path: &TreePath) -> (bool, Option<String>) {
        match self.decided.get(path) {
            Some(state) if state.action == *action => (state.not_kept.is_none(), state.not_kept.clone()),
            Some(_) | None => (false, None),
        }
    }

    /// Returns patterns for `writes` that would keep the files that no `writes` names.
    pub(crate) fn proposed(&self) -> Vec<String> {
        let pattern = |place: &DroppedPlace| match place {
            DroppedPlace::File(path) => globset::escape(&path.to_string()),
            DroppedPlace::Directory(path) => format!("{}/**", globset::escape(&path.to_string())),
        };
        self.dropped_places().values().take(PROPOSED).map(pattern).collect()
    }

    fn notes_of_refused(&self, settings: &ProjectSettings) -> Vec<PlanNote> {
        let mut by_check: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (path, state) in &self.decided {
            // A link or a removal is listed in the report, but a check that makes one has not lost anything.
            let is_file = |candidate: &&Candidate| matches!(candidate.change, WrittenChange::WroteFile { .. });
            let is_quiet = matches!(decide(path, settings), KeepDecision::RefuseQuietly(_));
            let candidate = self.candidates.get(path).filter(is_file).filter(|_| !is_quiet);
            if let (Some(reason), Some(candidate)) = (&state.not_kept, candidate) {
                by_check.entry(&candidate.check).or_default().push(format!("`{path}`: {reason}"));
            }
        }
        let note = |(check, files): (&str, Vec<String>)| {
            let more = files.len().saturating_sub(NAMED);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            let named = files.into_iter().take(NAMED).collect::<Vec<_>>().join("; ");
            PlanNote { subject: check.to_owned(), message: format!("not copied to the project: {named}{more}") }
        };
        by_check.into_iter().map(note).collect()
    }
}

impl KeptOutcome {
    /// Notes that changed files belong to the tree, so that the project's present tree is not the tested one.
    pub(crate) fn note_tree(&mut self, tree: TreeDigest, belongs: impl Fn(&TreePath) -> bool) {
        self.tree = Some(tree);
        self.changed.retain(|path| belongs(path));
        let named: Vec<String> = self.changed.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
        let more = self.changed.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let Some(subject) = self.changed.first().and_then(|path| self.checks.get(path)) else { return };
        let message = format!(
            "this run changed {}{more} in the project's tree, so its verdict is for the tree before: ignore what differs \
             after every run, or take it out of `writes` if git tracks it",
            named.join(", ")
        );
        self.notes.push(PlanNote { subject: subject.clone(), message });
    }
}

fn decide(path: &TreePath, settings: &ProjectSettings) -> KeepDecision {
    let link = settings.link.as_deref();
    decide_keep(path, link, settings.task_list.as_deref(), settings.allowed_signers.as_deref())
}

fn state_seen(seen: &Layers, path: &TreePath) -> std::io::Result<Option<ProjectFileState>> {
    seen.open_file(path)?.map(|(_, mut file)| ProjectFileState::of(&mut file)).transpose()
}

/// Returns the deepest directory that contains both paths. The caller passes only paths whose first component is the same.
fn common_directory(one: &TreePath, other: &TreePath) -> TreePath {
    let ancestors = |path: &TreePath| std::iter::successors(Some(path.clone()), TreePath::parent).collect::<Vec<_>>();
    let others = ancestors(other);
    ancestors(one).into_iter().find(|directory| others.contains(directory)).unwrap_or_default()
}
/// Copies what `writes` of the checks names to the project, and reads the tree again at these paths.
pub(crate) fn copy_out(
    store: &Store,
    trees: &mut Trees,
    context: &RunContext<'_>,
    place: &mut CheckPlace,
    stopped: Option<StopReason>,
    index: &TreeIndex,
) -> Result<KeptOutcome, ProjectError> {
    let request = context.request;
    let record = store.copy_out_record_path(&request.scope.project);
    let mut kept = place.copy_out(request, context.looked, &record, stopped);
    if !kept.changed.is_empty() {
        let hints = TreeHints::Only(kept.changed.clone());
        let now = trees.known.scan(store, request.settings, request.scope, &hints)?;
        if now.digest() != index.digest() {
            kept.note_tree(now.digest(), |path| now.lookup(path).is_some());
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TreePath {
        TreePath::try_from(text).expect("a clean path")
    }

    #[test]
    fn nothing_is_proposed_for_a_file_that_another_check_kept() {
        let kept = KeptState { action: ActionId::numbered("STEP", 2), not_kept: None };
        let refused = KeptState { not_kept: Some("it changed".to_owned()), ..kept.clone() };
        let files = KeptFiles {
            dropped: ["o.txt", "p.txt", "d/a/1", "d/a/2", "d/b"].map(path).into(),
            decided: [(path("o.txt"), kept.clone()), (path("d/b"), kept), (path("p.txt"), refused)].into(),
            ..KeptFiles::default()
        };
        assert_eq!(files.proposed(), ["d/a/**", "p.txt"]);
    }
}
