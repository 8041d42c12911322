//! The files that a project's tree had when a run was last approved, and which of them have left the tree since (S7).
//!
//! A file that leaves the tree is not tested any more: a change of it makes no verdict stale. So a run is judged by changed rules where a
//! rule of an ignore file, a setting or a symbolic link takes a file out of the tree. A file that was
//! removed from disk, and that still would belong to the tree, has not left it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::request::{ProjectScope, ProjectSettings};
use proctor_evidence::{Store, read_regular_file};
use proctor_index as store;
use proctor_model::{EntryKind, ProjectId, RuleChange, TreePath};
use proctor_sandbox::process::clock;
use proctor_tree::ignore::{IgnoreVerdict, Matcher, RulesFile};
use proctor_tree::{MAX_RULES_BYTES, TreeIndex, changed_paths};

/// The most files that are named in a question to a person. Further files are only counted.
const NAMED: usize = 10;

/// The name of the change that files left the tree.
pub(crate) const TREE: &str = "tree";

/// The trees of the last approved runs, by project.
#[derive(Default)]
pub struct ApprovedTrees(BTreeMap<ProjectId, KnownTree>);

struct KnownTree {
    /// The tree of the last approved run of this process.
    index: TreeIndex,
    /// The approved tree as the store's file holds it.
    saved: TreeIndex,
}

impl ApprovedTrees {
    /// Returns which files of the last approved tree have left the tree; empty if none has, or if no
    /// tree was approved yet.
    pub(crate) fn files_that_left(
        &mut self,
        store: &Store,
        scope: &ProjectScope,
        settings: &ProjectSettings,
        now: &TreeIndex,
    ) -> Vec<RuleChange> {
        let known = self.0.get(&scope.project).map(|known| known.index.clone());
        if let Some(known) = known
            && left(&known, now, &scope.root, settings).is_empty()
        {
            return Vec::new();
        }
        // Another process may have approved a smaller tree in the meantime, and the first run of a process knows no
        // approved tree. So the tree in the store's file decides.
        let Some(saved) = saved_tree(store, &scope.project, &scope.root) else { return Vec::new() };
        let paths = left(&saved, now, &scope.root, settings);
        self.0.insert(scope.project.clone(), KnownTree { index: saved.clone(), saved });
        texts(&paths)
    }

    /// Remembers the tree of a project's first approved run before anything runs. Otherwise an action of this run could take
    /// files out of the tree, and nothing would show that they were ever there.
    pub fn keep_first_approved_tree(&mut self, store: &Store, scope: &ProjectScope, index: &TreeIndex) {
        let is_known = self.0.contains_key(&scope.project);
        if !is_known && !store.approved_tree_path(&scope.project).exists() {
            self.keep_approved_tree(store, scope, index);
        }
    }

    /// Remembers the tree as the approved one.
    pub fn keep_approved_tree(&mut self, store: &Store, scope: &ProjectScope, index: &TreeIndex) {
        let known = self.0.get(&scope.project).map(|known| known.saved.clone());
        let saved = known.or_else(|| saved_tree(store, &scope.project, &scope.root));
        let is_on_disk = saved.as_ref().is_some_and(|saved| has_same_paths(saved, index));
        let saved = match saved.filter(|_| is_on_disk) {
            Some(saved) => saved,
            None => {
                let path = store.approved_tree_path(&scope.project);
                if let Err(error) = store::write_tree_index(&path, &index.to_bytes()) {
                    tracing::warn!("the approved tree was not saved: {error}");
                }
                index.clone()
            }
        };
        self.0.insert(scope.project.clone(), KnownTree { index: index.clone(), saved });
    }
}

/// Returns which files of the approved tree in the store have left the tree `now`.
pub(crate) fn files_that_left_saved(
    store: &Store,
    project: &ProjectId,
    root: &Path,
    settings: &ProjectSettings,
    now: &TreeIndex,
) -> Vec<RuleChange> {
    saved_tree(store, project, root).map(|saved| texts(&left(&saved, now, root, settings))).unwrap_or_default()
}

fn saved_tree(store: &Store, project: &ProjectId, root: &Path) -> Option<TreeIndex> {
    TreeIndex::from_bytes(root, &store::read_tree_index(&store.approved_tree_path(project))?)
}

/// Returns whether two trees have the same paths, whatever their files hold.
fn has_same_paths(one: &TreeIndex, other: &TreeIndex) -> bool {
    let is_in_one_only = |path: &TreePath| one.lookup(path).is_some() != other.lookup(path).is_some();
    !changed_paths(one, other).iter().any(is_in_one_only)
}

/// Returns the files of `before` that have left the tree `now`: files that are still on disk and do not belong to the tree, and
/// files that are gone from disk and that the ignore rules of `now` would leave out.
fn left(before: &TreeIndex, now: &TreeIndex, root: &Path, settings: &ProjectSettings) -> Vec<TreePath> {
    let is_file = |path: &TreePath| before.lookup(path).is_some_and(|entry| entry.kind != EntryKind::Directory);
    // A file that cannot be read belongs to the tree, and the run reports it.
    let issues = now.issues();
    let is_unreadable = |path: &TreePath| issues.iter().any(|issue| issue.path == *path);
    let is_gone = |path: &TreePath| now.lookup(path).is_none() && is_file(path) && !is_unreadable(path);
    let gone: Vec<TreePath> = changed_paths(before, now).into_iter().filter(is_gone).collect();
    if gone.is_empty() {
        return gone;
    }
    let Ok(matcher) = settings.new_matcher() else { return gone };
    let (on_disk, removed): (Vec<_>, Vec<_>) = gone.into_iter().partition(|path| is_on_disk(root, path));
    let mut left = hidden_files(now, on_disk, root, &matcher);
    let matcher = with_rules(matcher, now, root);
    left.extend(removed.into_iter().filter(|path| matcher.decide(path, false).verdict == IgnoreVerdict::Out));
    left.sort();
    left
}

/// Returns the matcher with the ignore files that were applied to the tree.
fn with_rules(mut matcher: Matcher, now: &TreeIndex, root: &Path) -> Matcher {
    for path in now.rules_files().into_keys() {
        let Ok(text) = read_regular_file(&root.join(path.as_path()), MAX_RULES_BYTES) else { continue };
        let Some(file) = RulesFile::named(path.name()) else { continue };
        let directory = path.parent().unwrap_or_else(TreePath::root);
        let _wrong_patterns = matcher.add_rules(&directory, file, &text);
    }
    matcher
}

fn texts(paths: &[TreePath]) -> Vec<RuleChange> {
    if paths.is_empty() {
        return Vec::new();
    }
    let named: Vec<String> = paths.iter().take(NAMED).map(ToString::to_string).collect();
    let more = paths.len().checked_sub(NAMED + 1).map(|more| format!(" and {} more", more + 1)).unwrap_or_default();
    let field = format!("without {}{more}", named.join(", "));
    vec![RuleChange { name: TREE.to_owned(), field, difference: "files that left the tree are not tested any more".to_owned() }]
}

// Finds files that are on disk and do not belong to the tree, although they did before. A file that was removed and written again
// while the tree was read is none of them.

/// How often a file is looked for again that is removed and written during each look. After that it counts as hidden.
const TRIES: usize = 5;

/// Tells whether a file was replaced or changed between two looks: device, inode, and the change time in seconds and nanoseconds.
type FileIdentity = (u64, u64, i64, i64);

/// Returns whether there is a file, a link or the like at a path. A directory at the path means that the file is gone. The path may
/// lead through a symbolic link that took the place of a directory.
pub(crate) fn is_on_disk(root: &Path, path: &TreePath) -> bool {
    identity(root, path).is_some()
}

/// Returns those of the paths, which the tree `now` does not have, that are on disk and that another look at the tree does not
/// find either.
pub(crate) fn hidden_files(now: &TreeIndex, paths: Vec<TreePath>, root: &Path, matcher: &Matcher) -> Vec<TreePath> {
    let mut hidden = Vec::new();
    let mut waiting: BTreeSet<TreePath> = paths.into_iter().collect();
    for _ in 0..TRIES {
        if waiting.is_empty() {
            return hidden;
        }
        let before: Vec<_> = waiting.iter().map(|path| (path.clone(), identity(root, path))).collect();
        let Ok(again) = now.apply(&waiting, matcher, clock::now()) else { break };
        for (path, before) in before {
            let is_missing = again.lookup(&path).is_none();
            match identity(root, &path) {
                // The file was there during the whole look.
                Some(after) if is_missing && before == Some(after) => hidden.push(path.clone()),
                // The file was written again during the look.
                Some(_) if is_missing => continue,
                Some(_) | None => {}
            }
            waiting.remove(&path);
        }
    }
    hidden.extend(waiting);
    hidden
}

fn identity(root: &Path, path: &TreePath) -> Option<FileIdentity> {
    let found = fs::symlink_metadata(root.join(path.as_path())).ok().filter(|found| !found.is_dir())?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the files that leave the tree")]
mod hidden_files_tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;

    use super::*;
    use proctor_tree::ignore::MatcherSettings;

    #[test]
    fn a_file_is_hidden_if_another_look_does_not_find_it_either() {
        let root = tempfile::tempdir().expect("a directory");
        let at = |name: &str| root.path().join(name);
        let write = |name: &str| {
            fs::create_dir_all(at(name).parent().expect("a parent")).expect("a directory");
            fs::write(at(name), name).expect("a file");
        };
        let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
        let names = ["saved.py", "ignored.py", "linked/a.py", "became_directory", "removed.py"];
        names.iter().for_each(|name| write(name));
        write("elsewhere/a.py");
        fs::write(at(".gitignore"), "/ignored.py\n").expect("a file");
        fs::remove_dir_all(at("linked")).expect("a directory");
        symlink("elsewhere", at("linked")).expect("a link");
        ["saved.py", "became_directory", "removed.py"].iter().for_each(|name| fs::remove_file(at(name)).expect("a file"));
        fs::create_dir(at("became_directory")).expect("a directory");
        let now = TreeIndex::scan(root.path(), &matcher, clock::now()).expect("a tree");
        // The editor had removed this file, and writes it again after the look.
        File::create_new(at("saved.py")).expect("a file");
        let paths: Vec<TreePath> = names.iter().map(|name| TreePath::try_from(*name).expect("a path")).collect();
        let on_disk: Vec<TreePath> = paths.into_iter().filter(|path| is_on_disk(root.path(), path)).collect();
        let mut hidden = hidden_files(&now, on_disk, root.path(), &matcher);
        hidden.sort();
        let hidden: Vec<String> = hidden.iter().map(ToString::to_string).collect();
        assert_eq!(hidden, ["ignored.py", "linked/a.py"]);
    }
}
