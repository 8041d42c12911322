//! Finds files that are on disk and do not belong to the tree, although they did before. A file that was removed and written again
//! while the tree was read is none of them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use proctor_model::TreePath;
use proctor_sandbox::process::clock;
use proctor_tree::TreeIndex;
use proctor_tree::ignore::Matcher;

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
mod tests {
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
