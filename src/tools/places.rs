//! Writes the paths that tools print relative to the project, where they lie in it.

use std::path::{Component, Path, PathBuf};

/// Where a tool ran: what its relative paths are relative to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// The project's root, absolute.
    pub(super) root: &'a Path,
    /// The action's directory, relative to the root.
    pub(super) directory: &'a Path,
}

impl Place<'_> {
    /// Returns `path` relative to the project, or absolute where it lies outside.
    pub(super) fn within_project(&self, path: &str) -> String {
        let absolute = normalise(&self.root.join(self.directory).join(path));
        let root = normalise(self.root);
        absolute.strip_prefix(&root).unwrap_or(&absolute).to_string_lossy().into_owned()
    }

    /// Returns whether a path as [`Place::within_project`] writes it is the project's own and not an installed package's.
    pub(super) fn is_own(path: &str) -> bool {
        !path.starts_with('/') && !path.split('/').any(|part| part == "site-packages" || part == "node_modules")
    }
}

// Lexical on purpose: this module reads no files, and a tool's path is a name to show, never one to open.
fn normalise(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => clean.push(component),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_the_project_become_relative_and_others_absolute() {
        let place = Place { root: Path::new("/project"), directory: Path::new("web") };
        assert_eq!(place.within_project("src/a.ts"), "web/src/a.ts");
        assert_eq!(place.within_project("../lib/b.ts"), "lib/b.ts");
        assert_eq!(place.within_project("/project/web/./c.ts"), "web/c.ts");
        assert_eq!(place.within_project("../../usr/lib/x.py"), "/usr/lib/x.py");
        assert!(!Place::is_own(&place.within_project("../venv/site-packages/x.py")));
        assert!(Place::is_own("web/c.ts"));
    }
}
