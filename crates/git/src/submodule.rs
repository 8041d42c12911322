//! Finds the objects of a commit's submodules (gitsubmodules(7)): in the repository that is checked out at the submodule's path, or
//! in `modules/NAME` of the repository around it, where git keeps them also while nothing is checked out.
//!
//! Which of them is opened decides nothing: a commit names its submodule's commit by its hash, and every object is checked against
//! its own. A repository that somebody put there can only lack objects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config_file::GitConfig;
use crate::directory::GitDirectory;
use crate::error::GitReadError;
use crate::object::{GitEntryKind, ObjectId};
use crate::storage::GitStorage;
use proctor_model::EntryKind;

/// The file of a commit that gives each submodule a name (gitmodules(5)).
const MODULES_FILE: &str = ".gitmodules";
/// The largest `.gitmodules` that is read, in bytes. Without it, submodules that are not checked out are not found.
const LONGEST_MODULES_FILE: usize = 1 << 20;
/// The most names of one path that are tried. Git writes one.
const MOST_NAMES: usize = 8;
/// The longest file that names a git directory, in bytes.
const LONGEST_POINTER: u64 = 8192;

/// The names of a commit's submodules, by their paths from the root of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubmoduleNames(BTreeMap<String, Vec<String>>);

impl SubmoduleNames {
    /// Reads the names from the `.gitmodules` of a commit. `root` is the commit's tree. Returns `None` if the commit has no such
    /// file.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn of_commit(storage: &GitStorage, root: ObjectId) -> Result<Option<Self>, GitReadError> {
        let entries = storage.entries(root)?;
        let found = entries.iter().find(|entry| entry.name == MODULES_FILE.as_bytes());
        let is_file = |kind| matches!(kind, Some(GitEntryKind::Own(EntryKind::File | EntryKind::Executable)));
        let Some(entry) = found.filter(|entry| is_file(entry.kind())) else { return Ok(None) };
        let text = storage.blob(entry.id)?;
        if text.len() > LONGEST_MODULES_FILE {
            return Ok(Some(Self::default()));
        }
        Ok(Some(Self::parse(&String::from_utf8_lossy(&text))))
    }

    /// Parses the text of a `.gitmodules`.
    pub fn parse(text: &str) -> Self {
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, path) in GitConfig::parse(text).subsections_with("submodule", "path") {
            let at_path = names.entry(path.to_owned()).or_default();
            if at_path.len() < MOST_NAMES {
                at_path.push(name.to_owned());
            }
        }
        Self(names)
    }

    fn at(&self, path: &str) -> &[String] {
        self.0.get(path).map_or(&[], Vec::as_slice)
    }
}

impl GitStorage {
    /// Opens the repository of a submodule that has a certain commit; `None` if the objects of this commit are not here. `path` is
    /// the submodule's path from the root of this repository.
    pub fn submodule(&self, names: &SubmoduleNames, path: &[u8], commit: ObjectId) -> Option<Self> {
        let path = std::str::from_utf8(path).ok()?;
        let work_tree = self.work_tree.as_ref().map(|work_tree| work_tree.join(path));
        let checked_out = work_tree.as_deref().and_then(|_| self.checked_out_submodule(path));
        // A linked worktree has submodules of its own.
        let kept =
            names.at(path).iter().flat_map(|name| [&self.git_directory, &self.common].map(|above| kept_module(above, name)));
        let places = checked_out.into_iter().chain(kept.flatten());
        places.into_iter().find_map(|place| {
            let storage = Self::open(&place, &common_directory(&place)).ok()?;
            storage.tree_of(commit).ok()?;
            Some(Self { work_tree: work_tree.clone(), ..storage })
        })
    }

    /// Returns the git directory of what is checked out at a path of the working tree. No link on the way there is followed.
    fn checked_out_submodule(&self, path: &str) -> Option<PathBuf> {
        let work_tree = GitDirectory::open(self.work_tree.as_deref()?).ok()?;
        let directory = work_tree.directory(path).ok()??;
        if let Ok(Some(git)) = directory.directory(".git") {
            return Some(git.path().to_owned());
        }
        let text = directory.text(".git", LONGEST_POINTER).ok()??;
        let named = text.strip_prefix("gitdir:")?.trim();
        (!named.is_empty()).then(|| directory.path().join(named))
    }
}

/// Returns the directory in which git keeps the repository of a submodule. A name with `..` leads to none.
fn kept_module(above: &GitDirectory, name: &str) -> Option<PathBuf> {
    let is_clean = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let found = if is_clean { above.directory(&format!("modules/{name}")).ok()? } else { None };
    found.map(|directory| directory.path().to_owned())
}

/// Returns the directory that a worktree shares with others; for other repositories, the git directory itself.
fn common_directory(git_directory: &Path) -> PathBuf {
    let text = GitDirectory::open(git_directory).ok().and_then(|directory| directory.text("commondir", LONGEST_POINTER).ok()?);
    text.map_or_else(|| git_directory.to_owned(), |text| git_directory.join(text.trim_end_matches('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_names_that_sections_give_it() {
        let names = SubmoduleNames::parse(
            "[submodule \"one/two\"]\n\tpath = lib/a\n\turl = ../a\n[submodule \"b\"]\npath=lib/b\n[submodule \"c\"]\n\tpath = lib/a\n\
             [other \"d\"]\n\tpath = lib/d\n[submodule]\n\tpath = none\n",
        );
        assert_eq!(names.at("lib/a"), ["one/two", "c"]);
        assert_eq!(names.at("lib/b"), ["b"]);
        assert!(names.at("lib/d").is_empty() && names.at("none").is_empty() && names.at("").is_empty());
    }

    #[test]
    fn a_name_leads_to_no_directory_outside_of_the_repository() {
        let place = tempfile::tempdir().unwrap();
        let git = place.path().join("git");
        std::fs::create_dir_all(git.join("modules/a/b")).unwrap();
        std::fs::create_dir_all(place.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(place.path().join("elsewhere"), git.join("modules/link")).unwrap();
        let git = GitDirectory::open(&git).unwrap();
        assert!(kept_module(&git, "a").is_some() && kept_module(&git, "a/b").is_some());
        for name in ["", ".", "..", "../..", "a/../..", "/etc", "a//b", "link", "missing"] {
            assert_eq!(kept_module(&git, name), None, "{name}");
        }
    }
}
