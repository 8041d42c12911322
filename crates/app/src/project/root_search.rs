//! Searches for the root of the project in which a command was started, as git does: in the current directory and above.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::project::setup::CONFIGURATION_FILE;
use proctor_evidence::evidence_directory;

/// The name of a project's evidence link, unless its `proctor.toml` sets another name.
const DEFAULT_LINK: &str = "evidence";

/// Returns the nearest directory, `start` or one above it, that has a `proctor.toml` or is registered, or that in a linked working tree
/// corresponds to such a directory of the main one; `None` if there is none.
///
/// The search ends at the root of a git repository, because the directories above it belong to another project. It ends below the
/// home directory, unless it starts there. Above `start`, a `proctor.toml` of another user is no project of this user: in `/tmp`
/// anybody can put one.
pub(crate) fn root_above(start: &Path, home: Option<&Path>, state_root: &Path) -> Option<PathBuf> {
    let home = home.and_then(|home| home.canonicalize().ok());
    for directory in start.ancestors() {
        if directory != start && Some(directory) == home.as_deref() {
            return None;
        }
        let has_configuration = directory
            .join(CONFIGURATION_FILE)
            .metadata()
            .is_ok_and(|file| file.is_file() && (directory == start || file.uid() == geteuid().as_raw()));
        if has_configuration || is_registered(directory, state_root) {
            return Some(directory.to_owned());
        }
        if directory.join(".git").symlink_metadata().is_ok() {
            return in_linked_work_tree(start, directory, home.as_deref(), state_root);
        }
    }
    None
}

/// Returns the root that corresponds to one in the main working tree, if `top` is a linked working tree that has this directory.
fn in_linked_work_tree(start: &Path, top: &Path, home: Option<&Path>, state_root: &Path) -> Option<PathBuf> {
    let main = proctor_git::directory_in_main_work_tree(top)?;
    let root = root_above(&main.join(start.strip_prefix(top).ok()?), home, state_root)?;
    // Joining the empty path of the top itself would leave a slash at the end, and a project is known by the text of its path.
    let here = top.join(root.strip_prefix(&main).ok()?).components().collect::<PathBuf>();
    here.is_dir().then_some(here)
}

/// Returns the root of the git repository in which a directory lies, if that is another directory, of this user and not the home directory
/// nor above it.
pub(crate) fn repository_above(start: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let home = home.and_then(|home| home.canonicalize().ok());
    let is_home = |directory: &&Path| Some(*directory) == home.as_deref();
    let found = start.ancestors().take_while(|directory| !is_home(directory));
    let top = found.into_iter().find(|directory| directory.join(".git").symlink_metadata().is_ok())?;
    let is_own = top.metadata().is_ok_and(|top| top.uid() == geteuid().as_raw());
    (top != start && is_own).then(|| top.to_owned())
}

/// Returns whether a directory is registered. A registered directory has an evidence link into the store, so the index
/// need not be read. A project without this link has a `proctor.toml`, in which the link is turned off or has another
/// name.
fn is_registered(directory: &Path, state_root: &Path) -> bool {
    std::fs::read_link(directory.join(DEFAULT_LINK)).is_ok_and(|target| target.starts_with(evidence_directory(state_root)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test makes directories")]
    fn the_nearest_project_above_is_found_and_not_one_of_another_repository() {
        let base = tempfile::tempdir().expect("a directory");
        let base = base.path().canonicalize().expect("it is there");
        let (home, state) = (base.join("home"), base.join("state"));
        let directory = |path: &str| {
            let path = home.join(path);
            fs::create_dir_all(&path).expect("the directory is ours");
            path
        };
        let found = |start: &Path| root_above(start, Some(&home), &state);
        let deep = directory("work/shop/web/src");
        assert_eq!(found(&deep), None);
        fs::write(home.join(CONFIGURATION_FILE), "").expect("the directory is ours");
        assert_eq!(found(&deep), None, "the home directory is no project of what lies below");
        fs::write(home.join("work").join(CONFIGURATION_FILE), "").expect("the directory is ours");
        assert_eq!(found(&deep), Some(home.join("work")));
        directory("work/shop/.git");
        assert_eq!(found(&deep), None, "another repository");
        let shop = home.join("work/shop");
        symlink(evidence_directory(&state).join("shop-1"), shop.join("evidence")).expect("the directory is ours");
        assert_eq!(found(&deep), Some(shop.clone()), "a registered project");
        fs::write(shop.join("web").join(CONFIGURATION_FILE), "").expect("the directory is ours");
        assert_eq!(found(&deep), Some(shop.join("web")), "the nearest one");
        assert_eq!(found(&shop), Some(shop.clone()));
        assert_eq!(repository_above(&deep, Some(&home)), Some(shop.clone()));
        assert_eq!(repository_above(&shop, Some(&home)), None, "it is the root itself");
        directory(".git");
        assert_eq!(
            repository_above(&directory("other/deep"), Some(&home)),
            None,
            "the home directory is no project of what lies below"
        );
    }
}
