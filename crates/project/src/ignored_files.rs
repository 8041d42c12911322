//! Lists the ignored files that the checks of a run can read. They belong to no tree, so a verdict does not cover them, and a clone
//! of a commit lacks them.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use proctor_model::{CachesSeen, EntryKind, IgnoredFiles, MOST_IGNORED_NAMED, TreePath};
use proctor_tree::TreeIndex;
use proctor_tree::ignore::{
    ALWAYS_OUT, CACHES_IN_ENVIRONMENTS, IgnoredClass, OwnLink, ShownOutputs, VIRTUAL_ENVIRONMENT, cache_kind, class_of,
    is_never_shown,
};

/// The most entries of directories that are read in a project without a snapshot. With more, nothing is listed, and the files are
/// not known.
const MOST_ENTRIES: u64 = 500_000;

/// Returns the ignored files that were copied for the checks of a snapshot. Not listed are `outputs`, which prerequisites make, and the
/// task list, which proctor writes.
pub(crate) fn ignored_in_snapshot(
    tree: &TreeIndex,
    inputs: &TreeIndex,
    outputs: &ShownOutputs,
    task_list: Option<&str>,
) -> IgnoredFiles {
    let mut found = IgnoredFiles::default();
    // The last directory that was listed as a whole, with the slash after it.
    let mut whole: Option<Vec<u8>> = None;
    let is_file = |kind: EntryKind| kind != EntryKind::Directory;
    for entry in inputs.entries().filter(|entry| is_file(entry.kind)) {
        let path = entry.path.as_bytes();
        if whole.as_ref().is_some_and(|whole: &Vec<u8>| path.starts_with(whole)) {
            continue;
        }
        if outputs.contains(&entry.path) || task_list.is_some_and(|list| list.as_bytes() == path) {
            continue;
        }
        let above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(cut, _)| &path[..cut]);
        let is_in_tree = |directory: &[u8]| {
            TreePath::try_from(directory)
                .is_ok_and(|directory| tree.lookup(&directory).is_some_and(|entry| entry.kind == EntryKind::Directory))
        };
        whole = above.into_iter().find(|directory| !is_in_tree(directory)).map(|directory| [directory, &b"/"[..]].concat());
        let listed = String::from_utf8_lossy(whole.as_deref().unwrap_or(path)).into_owned();
        match class_of(entry.path.name()) {
            // A link to installed packages, or their list.
            IgnoredClass::Environment if whole.is_none() => found.others.push(listed),
            IgnoredClass::Environment | IgnoredClass::Cache | IgnoredClass::Output | IgnoredClass::Input => found.add(listed),
        }
    }
    found
}

/// Returns the ignored files that checks can read in the project itself, where they see everything; `None` if a directory cannot be
/// read, or there are too many entries. proctor's own links to the evidence are
/// not listed.
pub fn ignored_in_project(
    tree: &TreeIndex,
    outputs: &ShownOutputs,
    task_list: Option<&str>,
    own_link: Option<&OwnLink>,
) -> Option<(IgnoredFiles, CachesSeen)> {
    let mut reading = DirectoryReading { tree, entries: 0, caches: CachesSeen::Fresh };
    let mut found = IgnoredFiles::default();
    let mut waiting = vec![TreePath::root()];
    while let Some(directory) = waiting.pop() {
        for (name, is_directory) in reading.names(&directory)? {
            let path = directory.join(&name);
            match tree.lookup(&path) {
                Some(entry) if entry.kind == EntryKind::Directory && is_directory => waiting.push(path),
                Some(_) => {}
                None => {
                    let is_own = !is_directory && own_link.is_some_and(|own| is_own_link(tree.root(), &path, own));
                    let is_task_list = task_list.is_some_and(|list| list.as_bytes() == path.as_bytes());
                    if !is_own && !is_task_list && !outputs.contains(&path) {
                        reading.note(&mut found, &path, is_directory)?;
                    }
                }
            }
        }
    }
    found.paths.sort();
    found.others.sort();
    Some((found, reading.caches))
}

fn is_own_link(root: &Path, path: &TreePath, own: &OwnLink) -> bool {
    fs::read_link(root.join(path.as_path())).is_ok_and(|target| own.has_target(target.as_os_str().as_bytes()))
}

/// Reads the directories of a project.
struct DirectoryReading<'a> {
    tree: &'a TreeIndex,
    /// How many entries were read.
    entries: u64,
    /// Whether there is a cache or an output, by which a tool may decide what it does.
    caches: CachesSeen,
}

impl DirectoryReading<'_> {
    /// Returns the names in a directory, each with whether it is a directory. Sockets, pipes and devices are left out.
    fn names(&mut self, directory: &TreePath) -> Option<Vec<(Vec<u8>, bool)>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.tree.root().join(directory.as_path())).ok()? {
            let entry = entry.ok()?;
            let kind = entry.file_type().ok()?;
            if kind.is_file() || kind.is_dir() || kind.is_symlink() {
                names.push((entry.file_name().as_bytes().to_vec(), kind.is_dir()));
            }
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return None;
            }
        }
        Some(names)
    }

    fn note(&mut self, found: &mut IgnoredFiles, path: &TreePath, is_directory: bool) -> Option<()> {
        let name = path.name();
        let shown = format!("{}{}", String::from_utf8_lossy(path.as_bytes()), if is_directory { "/" } else { "" });
        let full = self.tree.root().join(path.as_path());
        let is_environment = is_directory && full.join(VIRTUAL_ENVIRONMENT).is_file();
        let class = if is_environment { IgnoredClass::Environment } else { class_of(name) };
        let is_no_news = || ALWAYS_OUT.iter().any(|always| always.name.matches(name));
        let has_cache = match class {
            IgnoredClass::Environment => CACHES_IN_ENVIRONMENTS.iter().any(|cache| full.join(cache).symlink_metadata().is_ok()),
            IgnoredClass::Output => !is_no_news(),
            IgnoredClass::Cache => cache_kind(name).is_some(),
            IgnoredClass::Input => false,
        };
        if has_cache {
            self.caches = CachesSeen::Kept;
        }
        match class {
            IgnoredClass::Input if is_directory && !self.holds_input(path)? => {}
            IgnoredClass::Input => found.add(shown),
            // Bytecode, leftovers of editors and the like are no news.
            IgnoredClass::Output | IgnoredClass::Cache if is_no_news() => {}
            IgnoredClass::Environment | IgnoredClass::Output | IgnoredClass::Cache => {
                if found.others.len() < MOST_IGNORED_NAMED {
                    found.others.push(shown);
                }
            }
        }
        Some(())
    }

    /// Returns whether an ignored directory has a file that checks may read, and not only bytecode and the like.
    fn holds_input(&mut self, directory: &TreePath) -> Option<bool> {
        let mut waiting = vec![directory.clone()];
        while let Some(directory) = waiting.pop() {
            for (name, is_directory) in self.names(&directory)? {
                if is_never_shown(&name) {
                    continue;
                }
                if !is_directory {
                    return Some(true);
                }
                waiting.push(directory.join(&name));
            }
        }
        Some(false)
    }
}

/// Returns the directories of installed packages as paths from the project's root, sorted.
pub(crate) fn environments_below(root: &Path, environments: &[PathBuf]) -> Vec<String> {
    let below = environments.iter().filter_map(|directory| directory.strip_prefix(root).ok());
    let mut names: Vec<String> = below.map(|path| format!("{}/", path.to_string_lossy())).collect();
    names.sort();
    names
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes the project that is read, and says what time it is")]
mod tests {
    use super::*;
    use proctor_model::Timestamp;
    use proctor_tree::ignore::{Matcher, MatcherSettings, Selects};

    fn put(root: &Path, name: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, name).expect("written");
    }

    fn scan(root: &Path, selects: Selects) -> TreeIndex {
        let settings = MatcherSettings { selects, ..MatcherSettings::default() };
        let matcher = Matcher::new(&settings).expect("no patterns");
        TreeIndex::scan(root, &matcher, Timestamp::from_millis(0)).expect("it is read")
    }

    #[test]
    fn ignored_files_are_listed_by_the_highest_directory_that_has_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        for name in [
            "src/a.py",
            "src/local.py",
            "src/__pycache__/a.pyc",
            "data/x/1.csv",
            "data/2.csv",
            ".env",
            "kept/a",
            "kept/b.csv",
            "node_modules/p/index.js",
            "dist/a.js",
            "old/__pycache__/b.pyc",
            "notes.md",
            "build/x",
        ] {
            put(root, name);
        }
        fs::create_dir(root.join("empty")).expect("made");
        fs::write(root.join(".gitignore"), "local.py\n/data/\n.env\n*.csv\ndist\nbuild\nnotes.md\n").expect("written");
        let (tree, inputs) = (scan(root, Selects::Tree), scan(root, Selects::IgnoredInputs));
        let expected = [".env", "data/", "kept/b.csv", "src/local.py"];
        let of_snapshot = ignored_in_snapshot(&tree, &inputs, &ShownOutputs::default(), Some("notes.md"));
        assert_eq!((of_snapshot.paths, of_snapshot.count), (expected.map(str::to_owned).to_vec(), 4));
        let (in_place, caches) = ignored_in_project(&tree, &ShownOutputs::default(), Some("notes.md"), None).expect("it is read");
        assert_eq!((in_place.paths, caches), (expected.map(str::to_owned).to_vec(), CachesSeen::Kept));
        assert_eq!(in_place.others, ["build/", "dist/", "node_modules/"]);
        let own = OwnLink { leads_into: "/store/evidence".into() };
        std::os::unix::fs::symlink("/store/evidence/web-00000001", root.join("src/evidence")).expect("made");
        let with_link = |own: Option<&OwnLink>| {
            ignored_in_project(&tree, &ShownOutputs::default(), Some("notes.md"), own).expect("it is read").0.paths
        };
        assert_eq!(with_link(Some(&own)), expected, "proctor's own link, at any depth");
        assert!(with_link(None).contains(&"src/evidence".to_owned()));
        fs::remove_file(root.join("src/evidence")).expect("made above");
        let made = ShownOutputs { products: true, ..ShownOutputs::default() };
        let (found, caches) = ignored_in_project(&tree, &made, Some("notes.md"), None).expect("it is read");
        assert_eq!(found.others, ["node_modules/"], "what prerequisites make is no ignored input");
        assert_eq!(caches, CachesSeen::Fresh);
    }

    #[test]
    fn caches_and_outputs_may_decide_what_a_tool_does_and_installed_packages_and_bytecode_do_not() {
        let seen = |names: &[&str]| {
            let directory = tempfile::tempdir().expect("a directory");
            ["src/a.py", "node_modules/p/index.js", "src/__pycache__/a.pyc", ".env"]
                .iter()
                .for_each(|name| put(directory.path(), name));
            names.iter().for_each(|name| put(directory.path(), name));
            fs::write(directory.path().join(".gitignore"), ".env\n").expect("written");
            let tree = scan(directory.path(), Selects::Tree);
            ignored_in_project(&tree, &ShownOutputs::default(), None, None).expect("it is read").1
        };
        assert_eq!(seen(&[]), CachesSeen::Fresh);
        for left in [".mypy_cache/x", ".pytest_cache/x", "src/.eslintcache", "web.tsbuildinfo", "node_modules/.vite/x"] {
            assert_eq!(seen(&[left]), CachesSeen::Kept, "{left}");
        }
    }
}
