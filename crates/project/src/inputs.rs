//! Inputs: the files and directories beside a project that its checks may read. Decides where a named one lies, and which are refused.

use std::path::{Component, Path, PathBuf};

use proctor_evidence::evidence_directory;
use proctor_git::find_git_location;
use proctor_model::TreePath;
use proctor_tree::InputPlace;

/// Where a project lies, and what no input may hold.
#[derive(Debug, Clone, Copy)]
pub struct InputSearch<'a> {
    /// The project's root, without links.
    pub root: &'a Path,
    /// The home directory; `None` if HOME is not set.
    pub home: Option<&'a Path>,
    /// The directory of the store.
    pub store: &'a Path,
}

/// Why an input is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputRefusal {
    #[error("it holds the project")]
    HoldsProject,
    #[error("it lies in the project, whose files checks see anyway")]
    InProject,
    #[error("it holds your home directory, or is it")]
    HoldsHome,
    #[error("it holds proctor's own files, or lies in them")]
    OfStore,
    #[error("it begins with `~`, and HOME is not set")]
    WithoutHome,
}

impl InputSearch<'_> {
    /// Returns where an input lies that the settings name.
    ///
    /// # Errors
    /// When no check may see it.
    pub fn place(&self, name: &str) -> Result<InputPlace, InputRefusal> {
        let path = match name.strip_prefix("~/") {
            Some(below) => self.home.ok_or(InputRefusal::WithoutHome)?.join(below),
            None => self.root.join(name),
        };
        let path = without_links(&without_dots(&path));
        self.refusal(&path).map_or_else(|| Ok(InputPlace { name: name.to_owned(), path }), Err)
    }

    /// Returns why no check may see what lies at a path without links; `None` if it may be an input.
    pub fn refusal(&self, path: &Path) -> Option<InputRefusal> {
        let holds = |other: &Path| without_links(other).starts_with(path);
        if path.starts_with(self.root) && path != self.root {
            Some(InputRefusal::InProject)
        } else if self.root.starts_with(path) {
            Some(InputRefusal::HoldsProject)
        } else if self.home.is_some_and(holds) {
            Some(InputRefusal::HoldsHome)
        } else if holds(self.store) || holds(&evidence_directory(self.store)) || path.starts_with(without_links(self.store)) {
            Some(InputRefusal::OfStore)
        } else {
            None
        }
    }

    /// Returns whether a path lies in another checkout (worktree) of the project's repository.
    pub fn is_in_other_checkout(&self, path: &Path) -> bool {
        let directory = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        match (find_git_location(directory), find_git_location(self.root)) {
            (Some(there), Some(own)) => there.work_tree != own.work_tree && there.common_directory == own.common_directory,
            (None, _) | (_, None) => false,
        }
    }

    /// Returns the name of what lies at a path without links, as a person would write it in the settings.
    pub fn name_of(&self, path: &Path) -> String {
        let beside = TreePath::beside(self.root, path).to_string();
        let home = self.home.map(without_links);
        match home.and_then(|home| Some(path.strip_prefix(home).ok()?.to_owned())) {
            // What is the user's own has the same name on every machine.
            Some(below) if !self.is_near(&below) => format!("~/{}", below.display()),
            Some(_) | None => beside,
        }
    }

    /// Returns whether the project lies in HOME, and what is at this path below HOME is no file for settings there. A project that lies in
    /// a directory for such files, as a checkout of `gate --run` does, is near to everything in that directory.
    fn is_near(&self, below: &Path) -> bool {
        let own = self.home.and_then(|home| self.root.strip_prefix(without_links(home)).ok());
        let is_dotted = below.as_os_str().as_encoded_bytes().starts_with(b".");
        own.is_some_and(|own| !is_dotted || own.components().next() == below.components().next())
    }
}

/// Leaves out each input that lies in another one.
pub(crate) fn without_nested(mut inputs: Vec<InputPlace>) -> Vec<InputPlace> {
    inputs.sort_by(|left, right| left.path.cmp(&right.path));
    let mut kept: Vec<InputPlace> = Vec::with_capacity(inputs.len());
    for input in inputs {
        if !kept.iter().any(|other| input.path.starts_with(&other.path)) {
            kept.push(input);
        }
    }
    kept
}

/// Resolves `..` by the names alone. The root has no links, so the directories above it have none either.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, component| {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other @ (Component::Prefix(_) | Component::RootDir | Component::Normal(_)) => plain.push(other),
        }
        plain
    })
}

/// Resolves the links in the part of a path that exists. The rest is appended as it is.
pub(crate) fn without_links(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => without_links(parent).join(name),
        _ => path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_input_never_holds_the_project_the_home_or_the_store() {
        let base = tempfile::tempdir().expect("a directory");
        let base = base.path().canonicalize().expect("it is there");
        for directory in ["home/repo/app/src", "home/repo/shared", "home/state/proctor/evidence"] {
            fs::create_dir_all(base.join(directory)).expect("a writable directory");
        }
        symlink("..", base.join("home/repo/shared/up")).expect("a link");
        let (root, home, store) = (base.join("home/repo/app"), base.join("home"), base.join("home/state/proctor"));
        let search = InputSearch { root: &root, home: Some(&home), store: &store };
        let found = |name: &str| search.place(name).map(|place| place.path);
        assert_eq!(found("../shared"), Ok(base.join("home/repo/shared")));
        assert_eq!(found("../none/deeper"), Ok(base.join("home/repo/none/deeper")));
        assert_eq!(found("~/.gitconfig"), Ok(home.join(".gitconfig")));
        assert_eq!(found("/etc/hosts.proctor"), Ok(PathBuf::from("/etc/hosts.proctor")));
        for (name, expected) in [
            ("../shared/up", InputRefusal::HoldsProject),
            ("../app", InputRefusal::HoldsProject),
            ("../app/src", InputRefusal::InProject),
            ("~/state", InputRefusal::OfStore),
            ("~/state/proctor/evidence", InputRefusal::OfStore),
            ("/", InputRefusal::HoldsProject),
        ] {
            assert_eq!(found(name), Err(expected), "{name}");
        }
        let other = base.join("elsewhere");
        let search = InputSearch { root: &other, home: Some(&home), store: &store };
        assert_eq!(search.place("../home").map(|place| place.path), Err(InputRefusal::HoldsHome));
        assert_eq!(InputSearch { home: None, ..search }.place("~/x").err(), Some(InputRefusal::WithoutHome));
    }

    #[test]
    fn an_input_is_named_from_the_project_unless_it_is_of_the_user() {
        let (home, store) = (Path::new("/nowhere/home"), Path::new("/nowhere/state"));
        for (root, path, expected) in [
            ("/nowhere/home/repo/app", "/nowhere/home/repo/lib", "../lib"),
            ("/nowhere/home/repo/app", "/nowhere/home/.config/x", "~/.config/x"),
            ("/srv/repo/app", "/srv/repo/.config/x", "../.config/x"),
            ("/srv/repo/app", "/nowhere/home/x", "~/x"),
            ("/nowhere/home/.local/state/checkouts/repo/app", "/nowhere/home/.local/state/checkouts/repo/lib", "../lib"),
            ("/nowhere/home/.local/state/checkouts/repo/app", "/nowhere/home/.config/x", "~/.config/x"),
        ] {
            let search = InputSearch { root: Path::new(root), home: Some(home), store };
            assert_eq!(search.name_of(Path::new(path)), expected, "{root}");
        }
    }

    #[test]
    fn an_input_in_another_one_is_left_out() {
        let place = |name: &str| InputPlace { name: name.to_owned(), path: Path::new("/r").join(name) };
        let kept = without_nested(["lib/src", "lib", "lib-2", "base.json"].map(place).to_vec());
        assert_eq!(kept, ["base.json", "lib", "lib-2"].map(place));
    }
}
