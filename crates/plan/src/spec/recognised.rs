//! Recognises the tool of a command, also through scripts of `package.json`, targets of makefiles and the like (E2).

use proctor_model::{CommandLine, Tool};
use proctor_tools::{
    FoundPolicy, ProjectFiles, policy_of_command, policy_of_script, recognise, recognise_script, script_name, scripts,
    wrapped_runner,
};

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
