//! Searches an index for files by their names. Each directory remembers whether it holds such files, so a later index is only
//! searched where it differs from an earlier one.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::index::TreeIndex;
use crate::node::{Directory, Node};
use proctor_model::{Digest, TreePath};

/// A search for files by their names.
#[derive(Debug, Clone, Copy)]
pub struct NameSearch {
    /// The topic under which directories remember the result of the search. No two searches may have the same topic.
    pub topic: NameTopic,
    /// Returns whether a file with this name is wanted. The answer must depend on the name alone.
    pub is_wanted: fn(&[u8]) -> bool,
}

/// The kinds of files that are searched for in every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum NameTopic {
    /// Files beside which packages are installed, such as `package.json`.
    Manifests = 0,
    /// Files that configure tools or pin the versions of packages.
    Pinned = 1,
    /// Test specifications.
    Specifications = 2,
    /// Links and files with the name of a directory of installed packages.
    Environments = 3,
    /// Configuration files of tools that may name the tools' outputs.
    Outputs = 4,
    /// Files that say which toolchains a project uses.
    Toolchains = 5,
    /// Modules of Python.
    PythonSources = 6,
    /// Files with the settings of a test runner that an interpreter runs.
    TestSettings = 7,
}

/// What one directory knows about the searches made so far: for each topic whether the directory was searched, and whether it
/// holds a wanted file, at any depth.
#[derive(Debug, Default)]
pub(super) struct SearchedNames {
    searched: AtomicU8,
    holding: AtomicU8,
}

impl TreeIndex {
    /// Returns the files and links whose name is wanted, with their digests. Paths are built for these only.
    pub fn named(&self, search: NameSearch) -> Vec<(TreePath, Digest)> {
        let mut found = Vec::new();
        collect(&self.top, &mut Vec::new(), search, &mut found);
        found
    }

    /// Returns whether the tree has a file or link whose name is wanted.
    pub fn holds(&self, search: NameSearch) -> bool {
        self.top.holds(search)
    }
}

impl Directory {
    fn holds(&self, search: NameSearch) -> bool {
        let bit = 1 << search.topic as u8;
        if self.names.searched.load(Ordering::Acquire) & bit != 0 {
            return self.names.holding.load(Ordering::Relaxed) & bit != 0;
        }
        let is_wanted = |node: &Node| match node.content.directory() {
            Some(below) => below.holds(search),
            None => node.content.leaf().is_some() && (search.is_wanted)(&node.name),
        };
        let holds = self.nodes.iter().any(is_wanted);
        if holds {
            self.names.holding.fetch_or(bit, Ordering::Relaxed);
        }
        self.names.searched.fetch_or(bit, Ordering::Release);
        holds
    }
}

fn collect(directory: &Directory, names: &mut Vec<Box<[u8]>>, search: NameSearch, found: &mut Vec<(TreePath, Digest)>) {
    if !directory.holds(search) {
        return;
    }
    for node in &directory.nodes {
        if let Some(below) = node.content.directory() {
            names.push(node.name.clone());
            collect(below, names, search, found);
            names.pop();
        } else if let Some(leaf) = node.content.leaf().filter(|_| (search.is_wanted)(&node.name)) {
            let parent = names.iter().fold(TreePath::root(), |path, name| path.join(name));
            found.push((parent.join(&node.name), leaf.digest));
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the tree that is searched")]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::ignore::{Matcher, MatcherSettings};
    use proctor_model::Timestamp;

    static ASKED: AtomicUsize = AtomicUsize::new(0);
    const SEARCH: NameSearch = NameSearch {
        topic: NameTopic::Pinned,
        is_wanted: |name| {
            ASKED.fetch_add(1, Ordering::Relaxed);
            name == b"wanted"
        },
    };

    #[test]
    fn a_later_index_is_searched_only_where_it_differs() {
        let root = tempfile::tempdir().expect("a directory");
        for number in 0..20 {
            fs::create_dir_all(root.path().join(format!("d{number}/below"))).expect("a directory");
            (0..50).for_each(|file| fs::write(root.path().join(format!("d{number}/below/f{file}")), "x").expect("a file"));
        }
        let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
        let now = Timestamp::from_millis(0);
        let mut index = TreeIndex::scan(root.path(), &matcher, now).expect("a tree");
        assert_eq!(index.named(SEARCH), []);
        assert!(ASKED.load(Ordering::Relaxed) >= 1_000);
        let wanted = |number: usize, text: &str| {
            let path = TreePath::try_from(format!("d{number}/below/wanted").as_str()).expect("a clean path");
            (path, Digest::of(text.as_bytes()))
        };
        let mut expected = BTreeSet::new();
        for (number, text) in [(3, "a"), (7, "b"), (3, "c"), (7, "")] {
            let (path, digest) = wanted(number, text);
            if text.is_empty() {
                fs::remove_file(root.path().join(path.as_path())).expect("a file");
            } else {
                fs::write(root.path().join(path.as_path()), text).expect("a file");
            }
            expected.retain(|(known, _)| *known != path);
            expected.extend((!text.is_empty()).then(|| (path.clone(), digest)));
            index = index.apply(&BTreeSet::from([path]), &matcher, now).expect("a tree");
            ASKED.store(0, Ordering::Relaxed);
            assert_eq!(index.named(SEARCH).into_iter().collect::<BTreeSet<_>>(), expected);
            assert!(ASKED.load(Ordering::Relaxed) < 250, "only the changed directories are searched again");
        }
    }
}
