//! Read-only access to a project's files, for making a plan.

/// A project's files. Paths are relative to its root and use `/`; the empty path is the root.
pub trait ProjectFiles {
    /// Returns the content of a regular file; `None` if there is no such file or it is too large for a configuration.
    fn read(&self, path: &str) -> Option<Vec<u8>>;
    /// Returns whether a path exists. Links are followed.
    fn exists(&self, path: &str) -> bool;
    /// Returns whether a path is a directory. Links are followed.
    fn is_directory(&self, path: &str) -> bool;
    /// Returns the sorted names in a directory; empty if the path is not a directory.
    fn names(&self, directory: &str) -> Vec<String>;
    /// Returns how many directories above the project's root belong to the same repository. Their paths are `..`, `../..` and so on.
    fn levels_above(&self) -> usize {
        0
    }
}

/// Returns the path of `name` in `directory`, relative to the project's root. The empty directory is the root.
pub(super) fn within(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

#[cfg(any(test, feature = "testing"))]
pub(super) mod fake {
    //! A project in memory, for tests.

    use std::collections::{BTreeMap, BTreeSet};

    use super::ProjectFiles;

    /// The paths and contents of the files.
    #[derive(Debug, Clone, Default)]
    pub struct FakeFiles(BTreeMap<String, String>);

    impl FakeFiles {
        pub fn of(files: &[(&str, &str)]) -> Self {
            Self(files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect())
        }

        pub fn and(mut self, path: &str, content: &str) -> Self {
            self.0.insert(path.to_owned(), content.to_owned());
            self
        }
    }

    impl ProjectFiles for FakeFiles {
        fn read(&self, path: &str) -> Option<Vec<u8>> {
            self.0.get(path).map(|content| content.clone().into_bytes())
        }

        fn exists(&self, path: &str) -> bool {
            path.is_empty() || self.0.contains_key(path) || self.0.keys().any(|known| known.starts_with(&format!("{path}/")))
        }

        fn is_directory(&self, path: &str) -> bool {
            self.exists(path) && !self.0.contains_key(path)
        }

        fn names(&self, directory: &str) -> Vec<String> {
            let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
            let below = self.0.keys().filter_map(|path| path.strip_prefix(&prefix));
            let names: BTreeSet<&str> = below.map(|rest| rest.split('/').next().unwrap_or_default()).collect();
            names.into_iter().map(str::to_owned).collect()
        }

        fn levels_above(&self) -> usize {
            self.0.keys().map(|path| path.split('/').take_while(|part| *part == "..").count()).max().unwrap_or(0)
        }
    }
}
