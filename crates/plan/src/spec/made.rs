//! A view of the project's files in which everything that prerequisites create already exists. With it, a check can be found
//! before a prerequisite installs its tool.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::config::Configuration;
use proctor_model::{CommandLine, Tool};
use proctor_tools::{
    FoundPolicy, ProjectFiles, policy_of_command, policy_of_script, recognise, recognise_script, script_name, scripts,
    wrapped_runner,
};

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

// Recognises the tool of a command, also through scripts of `package.json`, targets of makefiles and the like (E2).

/// The tool that a command is recognised as, with a note for people and the policy that the command implies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recognised {
    pub(super) tool: Tool,
    /// A note for people, for example that a script runs several tools; `None` if there is nothing to say.
    pub(super) note: Option<String>,
    /// The policy that the command or its script implies, for example by `--max-warnings 0`.
    pub(super) policy: Option<FoundPolicy>,
    /// Whether only a text of the project shows the tool. What the check itself says of its report or exit codes comes first.
    pub(super) is_behind_a_text: bool,
}

/// Recognises a command that runs in `directory`. `place` says where the command is written. A policy that the command
/// implies names this place as its source.
pub(super) fn recognised(command: &CommandLine, files: &dyn ProjectFiles, directory: &str, place: &str) -> Recognised {
    let found = recognise(&command.argv);
    let is_open = found.tool == Tool::default();
    let script = script_name(&command.argv).and_then(|name| Some((name, scripts(files, directory).remove(name)?)));
    let (policy, found) = match script.filter(|_| is_open) {
        Some((name, text)) => {
            let found = recognise_script(&text);
            (policy_of_script(found.tool, &text, &format!("package.json scripts.{name}")), found)
        }
        None => (policy_of_command(found.tool, &command.argv, place), found),
    };
    let behind = if found.tool == Tool::default() { wrapped_runner(&command.argv, files, directory) } else { None };
    let note = found.note.filter(|_| behind.is_none());
    Recognised { tool: behind.unwrap_or(found.tool), note, policy, is_behind_a_text: behind.is_some() }
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

#[cfg(test)]
mod recognised_tests {
    use super::*;
    use proctor_model::{BlockOn, split_words};
    use proctor_tools::FakeFiles;

    fn of(text: &str) -> Recognised {
        let package = r#"{"scripts": {"lint": "eslint . --max-warnings 0", "types": "tsc --noEmit", "all": "tsc && eslint .", "build": "vite"}}"#;
        let argv = split_words(text).expect("words");
        let command = CommandLine { argv, display: text.to_owned(), shell: false };
        recognised(&command, &FakeFiles::of(&[("web/package.json", package)]), "web", "proctor.toml:3")
    }

    #[test]
    fn a_script_is_looked_up_in_the_package() {
        let lint = of("npm run lint");
        assert_eq!((lint.tool, lint.note), (Tool::Eslint, None));
        let policy = lint.policy.expect("a policy");
        assert_eq!((policy.block_on, policy.place.as_str()), (Some(BlockOn::ErrorsAndWarnings), "package.json scripts.lint"));
        assert_eq!(of("npm run types"), Recognised { tool: Tool::Tsc, note: None, policy: None, is_behind_a_text: false });
        assert_eq!(of("npm run build").tool, Tool::Generic);
    }

    #[test]
    fn several_candidates_and_missing_scripts_are_generic_and_noted() {
        assert!(of("npm run all").note.is_some());
        assert_eq!(of("npm run all").tool, Tool::Generic);
        assert_eq!(of("npm run none").tool, Tool::Generic);
    }

    #[test]
    fn a_text_of_the_project_that_runs_one_runner_is_judged_as_the_runner() {
        let files = FakeFiles::of(&[
            (
                "Makefile",
                "PYTHON ?= python3\ntest:\n\t$(PYTHON) -m pytest -q\nbuild:\n\tcc a.c\nevery: lint test\nlint:\n\truff check .\n\
                 maybe:\n\tpytest || true\nonly:\n\tif [ -d tests ]; then pytest; fi\nfar:\n\tdocker run image pytest\n\
                 js:\n\tnpx jest\nrust:\n\tcargo test\n",
            ),
            (
                "package.json",
                r#"{"scripts": {"test": "run-s unit", "unit": "node --test", "py": "make test", "both": "run-s unit py"}}"#,
            ),
            ("tox.ini", "[testenv]\ncommands = pytest\n"),
            ("pyproject.toml", "[tool.poe.tasks]\ntest = \"pytest -q\"\n"),
        ]);
        for (command, tool) in [
            ("make test", Tool::Pytest),
            ("make -C . test", Tool::Pytest),
            ("make rust", Tool::CargoTest),
            ("uv run poe test", Tool::Pytest),
            ("npm test", Tool::NodeTest),
            ("npm run py", Tool::Pytest),
            ("npm run both", Tool::Generic),
            ("make every", Tool::Generic),
            ("make maybe", Tool::Generic),
            ("make only", Tool::Generic),
            ("make far", Tool::Generic),
            ("make js", Tool::Generic),
            ("tox", Tool::Generic),
            ("sh -c 'pytest a; pytest b'", Tool::Generic),
        ] {
            let argv = split_words(command).expect("words");
            let command = CommandLine { argv, display: command.to_owned(), shell: false };
            assert_eq!(recognised(&command, &files, "", "proctor.toml:3").tool, tool, "{}", command.display);
        }
    }

    #[test]
    fn c30_a_limit_in_the_command_itself_counts_and_names_its_line() {
        let policy = of("npx eslint . --max-warnings=4").policy.expect("a policy");
        assert_eq!((policy.max_warnings, policy.place.as_str()), (Some(4), "proctor.toml:3"));
        assert_eq!(of("make --max-warnings 0").policy, None);
    }
}
