//! A view of the project's files in which everything that prerequisites create already exists. With it, a check can be found
//! before a prerequisite installs its tool.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::config::Configuration;
use crate::spec::ProjectFiles;

/// A project's files, and the paths that its prerequisites create.
pub(super) struct FilesAfterPrerequisites<'a> {
    files: &'a dyn ProjectFiles,
    made: Vec<&'a str>,
    /// What was read. The finders of ten tools look into one `pyproject.toml`, and all of them see the same content.
    contents: RefCell<BTreeMap<String, Option<Vec<u8>>>>,
}

impl<'a> FilesAfterPrerequisites<'a> {
    /// Returns the files together with the `creates` paths of the configured prerequisites.
    pub(super) fn of(configuration: &'a Configuration, files: &'a dyn ProjectFiles) -> Self {
        let made = configuration.prerequisites.iter().flat_map(|prerequisite| &prerequisite.once.creates);
        Self { files, made: made.map(String::as_str).collect(), contents: RefCell::default() }
    }

    fn is_made(&self, path: &str) -> bool {
        self.made.contains(&path)
    }

    fn leads_to_something_made(&self, directory: &str) -> bool {
        self.made.iter().any(|made| made.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/')))
    }
}

impl ProjectFiles for FilesAfterPrerequisites<'_> {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        if let Some(content) = self.contents.borrow().get(path) {
            return content.clone();
        }
        let content = self.files.read(path);
        self.contents.borrow_mut().insert(path.to_owned(), content.clone());
        content
    }

    fn exists(&self, path: &str) -> bool {
        self.files.exists(path) || self.is_made(path) || self.leads_to_something_made(path)
    }

    fn is_directory(&self, path: &str) -> bool {
        self.files.is_directory(path) || self.leads_to_something_made(path)
    }

    fn names(&self, directory: &str) -> Vec<String> {
        self.files.names(directory)
    }

    fn levels_above(&self) -> usize {
        self.files.levels_above()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::spec::{DiskFiles, plan};
    use proctor_model::Tool;
    use proctor_tools::FakeFiles;

    #[test]
    fn a_tool_that_a_prerequisite_installs_is_found_before_it_is_there() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::File::create(directory.path().join("tsconfig.json")).expect("a file");
        let text = "[[prerequisite]]\nname = \"node\"\ncommand = \"npm ci\"\ncreates = [\"node_modules/.bin/tsc\"]\n";
        for checks in ["", "[[check]]\nname = \"types\"\ntool = \"tsc\"\n"] {
            let configuration = config::read(&format!("{text}{checks}"), "proctor.toml").expect("right");
            let found = plan(&configuration, &DiskFiles::new(directory.path()), "project").expect("a plan");
            assert_eq!(found.steps.iter().map(|step| step.tool).collect::<Vec<_>>(), [Tool::Tsc], "{checks}");
        }
    }

    #[test]
    fn a_file_is_read_once_for_one_plan() {
        struct Counted(FakeFiles, RefCell<BTreeMap<String, u32>>);
        impl ProjectFiles for Counted {
            fn read(&self, path: &str) -> Option<Vec<u8>> {
                *self.1.borrow_mut().entry(path.to_owned()).or_default() += 1;
                self.0.read(path)
            }
            fn exists(&self, path: &str) -> bool {
                self.0.exists(path)
            }
            fn is_directory(&self, path: &str) -> bool {
                self.0.is_directory(path)
            }
            fn names(&self, directory: &str) -> Vec<String> {
                self.0.names(directory)
            }
        }
        let text = "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n";
        let files = Counted(FakeFiles::of(&[("pyproject.toml", text), ("test_a.py", "")]), RefCell::default());
        let found = plan(&config::Configuration::default(), &files, "project").expect("a plan");
        assert!(!found.steps.is_empty());
        let reads = files.1.into_inner();
        assert_eq!((reads["pyproject.toml"], reads.values().max()), (1, Some(&1)), "{reads:?}");
    }

    #[test]
    fn what_prerequisites_make_is_there_and_so_is_the_way_to_it() {
        let text = "[[prerequisite]]\nname = \"install\"\ncommand = \"npm ci\"\ncreates = [\"web/node_modules/.bin/tsc\"]\n";
        let configuration = config::read(text, "proctor.toml").expect("it is right");
        let files = FakeFiles::of(&[("src/a.ts", "")]);
        let made = FilesAfterPrerequisites::of(&configuration, &files);
        let seen = |path: &str| (made.exists(path), made.is_directory(path));
        assert_eq!(seen("src"), (true, true));
        assert_eq!(seen("web/node_modules/.bin/tsc"), (true, false));
        assert_eq!((seen("web"), seen("web/node_modules/.bin")), ((true, true), (true, true)));
        assert_eq!((seen("we"), seen("web/node_modules/.bin/eslint")), ((false, false), (false, false)));
    }
}
