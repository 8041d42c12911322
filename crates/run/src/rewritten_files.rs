//! Files of the project's tree that a check wrote in its own copy, and files that it made there and that decide how checks work. What
//! becomes of them decides `snapshot`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::written_configuration::named;
use proctor_model::{Action, EntryKind, MOST_REWRITTEN_NAMED, PlanNote, TreePath, quoted_text};
use proctor_project::{KeptPaths, configures_tools};
use proctor_sandbox::process::{Layers, WrittenChange, WrittenEntry};
use proctor_sandbox::snapshot::digest_of;
use proctor_tree::ignore::{IgnoreVerdict, Matcher, RulesFile};
use proctor_tree::{MAX_RULES_BYTES, TreeIndex};

/// The directories in which test runners keep the expected values of tests.
const SNAPSHOT_DIRECTORIES: &[&[u8]] = &[b"__snapshots__", b"__image_snapshots__"];

/// The ends of names of files and directories with the expected values of tests.
const SNAPSHOT_ENDS: &[&[u8]] = &[b".snap", b".snap.new", b".pending-snap", b"-snapshots"];

/// What an action did to the files of the tree in its copy.
#[derive(Debug, Default)]
pub(super) struct WritesInTree {
    /// The files and links that it removed, or that have another content or another permission to execute.
    pub(super) changed: Vec<TreePath>,
    /// The files that it wrote, and that have the content of the tree.
    pub(super) restored: Vec<TreePath>,
}

/// What the checks of a run did to the tree in their copies.
#[derive(Debug, Default)]
pub(super) struct RewrittenFiles {
    /// For each layer that changes or removes files of the tree: these files.
    layers: BTreeMap<PathBuf, Vec<TreePath>>,
    /// The files of the tree that a step rewrote, and that other steps saw like that.
    passed_on: BTreeSet<String>,
    /// The files because of which the run is no verdict on its tree.
    left: BTreeSet<String>,
    restored: BTreeSet<String>,
}

impl RewrittenFiles {
    /// Notes that a step sees these layers of earlier actions.
    pub(super) fn note_seen(&mut self, seen: &[PathBuf]) {
        let rewritten = seen.iter().filter_map(|layer| self.layers.get(layer)).flatten();
        self.passed_on.extend(rewritten.map(ToString::to_string));
    }

    /// Notes what a step did to the files of the tree, and the files that it made and that decide how checks work. `upper` is the
    /// layer that later steps see. Returns notes for the report. What `writes` names and snapshots of tests are the check's products.
    pub(super) fn note_written(
        &mut self,
        action: &Action,
        upper: &Path,
        writes: WritesInTree,
        made: Vec<TreePath>,
    ) -> Vec<PlanNote> {
        let products = KeptPaths::new(&action.writes);
        let is_product = |path: &&TreePath| products.contains(path) || is_snapshot_of_tests(path);
        let left: Vec<&TreePath> = writes.changed.iter().chain(&made).filter(|path| !is_product(path)).collect();
        let restored: Vec<&TreePath> = writes.restored.iter().filter(|path| !is_product(path)).collect();
        let notes = [left_note(action, &left), restored_note(action, &restored)].into_iter().flatten().collect();
        self.left.extend(left.iter().map(ToString::to_string));
        self.restored.extend(restored.iter().map(ToString::to_string));
        if !writes.changed.is_empty() {
            self.layers.insert(upper.to_owned(), writes.changed);
        }
        notes
    }

    /// Returns whether a check left other content in its copy than the tree has, so that the run is no verdict on its tree.
    pub(super) fn is_any_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// Returns the files that have other content than the tree in the copy of a check, as the ledger names them.
    pub(super) fn rewritten(&self) -> Vec<String> {
        self.left.union(&self.passed_on).take(MOST_REWRITTEN_NAMED).cloned().collect()
    }

    /// Returns the files that a check wrote and that had the tree's content again, as the ledger names them.
    pub(super) fn restored(&self) -> Vec<String> {
        self.restored.difference(&self.left).take(MOST_REWRITTEN_NAMED).cloned().collect()
    }
}

fn left_note(action: &Action, paths: &[&TreePath]) -> Option<PlanNote> {
    if paths.is_empty() {
        return None;
    }
    let pattern = |path: &&TreePath| globset::escape(&path.to_string());
    let patterns: Vec<String> = paths.iter().take(MOST_REWRITTEN_NAMED).map(pattern).collect();
    let message = format!(
        "it left {} otherwise than the tree has it, so this run is no proof of the tree: let the check work on a copy of the files \
         (`$TMPDIR`), or, if that is what it is for: writes = [{}]",
        named(paths),
        patterns.iter().map(|pattern| quoted_text(pattern)).collect::<Vec<_>>().join(", ")
    );
    Some(PlanNote { subject: action.name.clone(), message })
}

fn restored_note(action: &Action, paths: &[&TreePath]) -> Option<PlanNote> {
    let message = || {
        format!(
            "it wrote {} and left the content that the tree has; what it read meanwhile is not known, and `proctor gate` says so",
            named(paths)
        )
    };
    (!paths.is_empty()).then(|| PlanNote { subject: action.name.clone(), message: message() })
}

/// Returns what an action did to files and links of the tree in its copy. `upper` is the layer with what it wrote.
pub(super) fn writes_in_tree(tree: &TreeIndex, upper: &Path, entries: &[WrittenEntry]) -> io::Result<WritesInTree> {
    let layer = Layers::new(vec![upper.to_owned()]);
    let mut found = WritesInTree::default();
    let written: BTreeSet<&TreePath> = entries.iter().map(|entry| &entry.path).collect();
    for entry in entries {
        let Some(before) = tree.lookup(&entry.path) else { continue };
        let is_same = match entry.change {
            WrittenChange::WroteFile { .. } => match opened(&layer, &entry.path)? {
                Some(mut file) => has_kind(&file, before.kind)? && Some(digest_of(&mut file)?) == before.digest,
                None => false,
            },
            // What was made again in the directory has an entry of its own.
            WrittenChange::ReplacedDirectory if before.kind == EntryKind::Directory => {
                let mut below = tree.below(&entry.path).filter(|one| one.kind != EntryKind::Directory);
                below.all(|one| written.contains(&one.path))
            }
            WrittenChange::ReplacedDirectory | WrittenChange::MadeOther | WrittenChange::Removed => false,
        };
        match (is_same, entry.change) {
            (false, _) => found.changed.push(entry.path.clone()),
            (true, WrittenChange::WroteFile { .. }) => found.restored.push(entry.path.clone()),
            (true, WrittenChange::ReplacedDirectory | WrittenChange::MadeOther | WrittenChange::Removed) => {}
        }
    }
    Ok(found)
}

/// Opens a file that an action wrote; `None` if there is none, or if the action took the permission to read it.
fn opened(layer: &Layers, path: &TreePath) -> io::Result<Option<File>> {
    match layer.open_file(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        opened => Ok(opened?.map(|(_, file)| file)),
    }
}

/// Returns the files that an action made, that configure tools or are loaded by their names, and that no rule of the tree ignores.
/// `copies` are the directories with the tree and its rules files; `matcher` has the patterns of the settings.
pub(super) fn made_configuration(
    tree: &TreeIndex,
    entries: &[WrittenEntry],
    copies: &[PathBuf],
    matcher: impl Fn() -> Option<Matcher>,
) -> io::Result<Vec<TreePath>> {
    let is_made = |entry: &&WrittenEntry| match entry.change {
        WrittenChange::WroteFile { .. } | WrittenChange::MadeOther => tree.lookup(&entry.path).is_none(),
        WrittenChange::ReplacedDirectory | WrittenChange::Removed => false,
    };
    let made = entries.iter().filter(is_made).map(|entry| &entry.path);
    let made: Vec<&TreePath> = made.filter(|path| configures_tools(path.name())).collect();
    if made.is_empty() {
        return Ok(Vec::new());
    }
    // Settings whose patterns cannot be used start no run.
    let Some(mut matcher) = matcher() else { return Ok(Vec::new()) };
    let tree_copy = Layers::new(copies.to_vec());
    for directory in made.iter().flat_map(|path| std::iter::successors(path.parent(), TreePath::parent)) {
        for file in RulesFile::ALL {
            if let Some((_, text)) = tree_copy.open_file(&directory.join(file.name().as_bytes()))? {
                let mut bytes = Vec::new();
                text.take(MAX_RULES_BYTES).read_to_end(&mut bytes)?;
                let _unusable = matcher.add_rules(&directory, file, &bytes);
            }
        }
    }
    let belongs = |path: &&TreePath| matcher.decide(path, false).verdict == IgnoreVerdict::In;
    Ok(made.into_iter().filter(belongs).cloned().collect())
}

/// Returns whether a file holds expected values of tests, which test runners write themselves.
fn is_snapshot_of_tests(path: &TreePath) -> bool {
    let is_snapshot = |name: &[u8]| SNAPSHOT_DIRECTORIES.contains(&name) || SNAPSHOT_ENDS.iter().any(|end| name.ends_with(end));
    path.as_bytes().split(|byte| *byte == b'/').any(is_snapshot)
}

fn has_kind(file: &File, kind: EntryKind) -> io::Result<bool> {
    let is_executable = file.metadata()?.permissions().mode() & 0o100 != 0;
    Ok(match kind {
        EntryKind::Executable => is_executable,
        EntryKind::File => !is_executable,
        EntryKind::Directory | EntryKind::Link => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{ActionPhase, testing};

    fn path(text: &str) -> TreePath {
        TreePath::try_from(text).expect("a clean path")
    }

    fn noted(writes: &[&str], changed: &[&str], made: &[&str], restored: &[&str]) -> (RewrittenFiles, Vec<PlanNote>) {
        let paths = |texts: &[&str]| texts.iter().map(|text| path(text)).collect::<Vec<_>>();
        let action = Action {
            writes: writes.iter().map(|text| (*text).to_owned()).collect(),
            ..testing::generic_action(ActionPhase::Step)
        };
        let mut files = RewrittenFiles::default();
        let in_tree = WritesInTree { changed: paths(changed), restored: paths(restored) };
        let notes = files.note_written(&action, Path::new("/layer"), in_tree, paths(made));
        (files, notes)
    }

    #[test]
    fn other_content_and_a_made_configuration_make_a_run_no_verdict_and_products_do_not() {
        for (changed, made) in [(&["src/calc.py"][..], &[][..]), (&[], &["conftest.py"])] {
            let (files, notes) = noted(&[], changed, made, &[]);
            assert!(files.is_any_left() && notes.len() == 1, "{files:?}");
            let line = format!("writes = [\"{}\"]", changed.first().or(made.first()).expect("a file"));
            assert!(notes[0].message.ends_with(&line), "{notes:?}");
        }
        let snapshots = ["__snapshots__/a.txt", "tests/snapshots/x.snap", "e2e/a.spec.ts-snapshots/b.png"];
        assert!(!noted(&[], &snapshots, &[], &snapshots).0.is_any_left());
        assert!(!noted(&["gen/**"], &["gen/a.py"], &["gen/conftest.py"], &[]).0.is_any_left());
    }

    #[test]
    fn what_other_steps_saw_is_named_also_where_writes_names_it() {
        let (mut files, _) = noted(&["gen/**"], &["gen/a.py"], &[], &[]);
        assert!(files.rewritten().is_empty());
        files.note_seen(&[PathBuf::from("/layer")]);
        assert_eq!((files.rewritten(), files.is_any_left()), (vec!["gen/a.py".to_owned()], false));
    }

    #[test]
    fn what_was_put_back_is_named_and_is_no_other_content() {
        let (files, notes) = noted(&[], &[], &[], &["src/calc.py"]);
        assert_eq!((files.restored(), files.is_any_left(), notes.len()), (vec!["src/calc.py".to_owned()], false, 1));
    }
}
