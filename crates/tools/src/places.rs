//! Converts the paths that tools print into paths relative to the project.

use std::path::{Component, Path, PathBuf};

/// The directories to which a tool's relative paths refer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// The absolute path of the project's root.
    pub(super) root: &'a Path,
    /// The action's directory, relative to the root.
    pub(super) directory: &'a Path,
}

impl Place<'_> {
    /// Returns `path` relative to the project. A path outside the project becomes absolute.
    pub(super) fn within_project(&self, path: &str) -> String {
        let absolute = self.absolute(path);
        let root = normalise(self.root);
        absolute.strip_prefix(&root).unwrap_or(&absolute).to_string_lossy().into_owned()
    }

    /// Returns a path relative to the action's directory, if it lies inside that directory; otherwise the path as it is. The path
    /// comes from [`Place::within_project`].
    pub(super) fn within_directory<'p>(&self, path: &'p str) -> &'p str {
        Path::new(path).strip_prefix(self.directory).ok().and_then(Path::to_str).unwrap_or(path)
    }

    /// Returns the absolute form of a path that is relative to the action's directory.
    pub(super) fn absolute(&self, path: &str) -> PathBuf {
        normalise(&self.root.join(self.directory).join(path))
    }

    /// Returns whether a path belongs to the project itself and not to an installed package. The path comes from
    /// [`Place::within_project`].
    pub(super) fn is_own(path: &str) -> bool {
        !path.starts_with('/') && !path.split('/').any(|part| part == "site-packages" || part == "node_modules")
    }
}

// Only the text of the path is changed, because this module reads no files. The result is shown to people and never opened.
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
