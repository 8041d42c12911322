//! Recognises the tool that a command runs, without running the command (E2).
//!
//! Whether two commands call one tool in the same way, whatever the tool's own arguments are (S7).

use crate::launchers::{ends_with, locate, locate_in_script};
use crate::option_spelling::has_option;
use crate::project_files::ProjectFiles;
use crate::shell::command_row;
use crate::table::row_of;
use proctor_model::{CommandLine, Tool, ToolClass};

/// How a command reaches its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandForm {
    /// Arguments that are appended to the command reach the tool. The command calls the tool directly or by `python
    /// -m`, `uv run`, `npx` and similar launchers.
    Direct,
    /// The command starts another program, which starts the tool and may not pass arguments on: a shell, `npm run`,
    /// make, tox.
    Wrapped,
}

/// The recognised tool, and how the command reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognition {
    /// The tool; [`Tool::Generic`] if the command runs no known tool, or several.
    pub tool: Tool,
    pub class: ToolClass,
    /// Whether arguments that are appended to the command reach the tool.
    pub form: CommandForm,
    /// A remark for people, for example that the command runs several tools, or that the script it runs is not visible.
    pub note: Option<String>,
}

/// Recognises the tool that an argument vector runs.
///
/// The script in `bash -o pipefail -c SCRIPT` is read. The commands that `npm run`, make or tox would run are not known
/// here. If you know their text, pass it to [`recognise_script`].
pub fn recognise(argv: &[String]) -> Recognition {
    let found = locate(argv).recognition;
    let hides_its_report = found.form == CommandForm::Wrapped && is_asked_by_argument(found.tool);
    if hides_its_report { without_report(found) } else { found }
}

/// Recognises the tool that a script runs, for example a script of `package.json`. A script that runs several tools
/// counts as a plain command.
pub fn recognise_script(script_text: &str) -> Recognition {
    let located = locate_in_script(script_text);
    let found = Recognition { form: CommandForm::Wrapped, ..located.recognition };
    let has_own_format = has_option(&located.arguments, row_of(found.tool).own_format);
    // A loop may run the tests several times, and the report is that of the last time.
    let may_run_again = found.class == ToolClass::Test && command_row(script_text).is_none();
    let hides_its_report =
        may_run_again || is_asked_by_argument(found.tool) && (has_own_format || !ends_with(script_text, found.tool));
    if hides_its_report { without_report(found) } else { found }
}

/// Returns a remark about a command that runs `tool` in `directory` and checks less than it seems to; `None` if there is nothing to
/// say.
pub fn remark(tool: Tool, files: &dyn ProjectFiles, directory: &str, command: &CommandLine) -> Option<String> {
    (row_of(tool).remark)(files, directory, command)
}

// Returns whether only an argument can make the tool write its report. Where no argument can be added, such a tool
// cannot be judged (E3).
fn is_asked_by_argument(tool: Tool) -> bool {
    row_of(tool).is_asked_by_argument_only
}

fn without_report(found: Recognition) -> Recognition {
    let note = format!(
        "{} cannot be asked for its report in there, so the exit code alone decides; let the check run it directly",
        found.tool.word()
    );
    Recognition { tool: Tool::default(), class: Tool::default().class(), note: Some(note), ..found }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;
    use proctor_model::split_words;

    const DIRECT: CommandForm = CommandForm::Direct;
    const WRAPPED: CommandForm = CommandForm::Wrapped;

    const COMMANDS: &[(&str, Tool, CommandForm)] = &[
        ("pytest", Tool::Pytest, DIRECT),
        ("pytest -x tests", Tool::Pytest, DIRECT),
        ("py.test", Tool::Pytest, DIRECT),
        (".venv/bin/pytest -q", Tool::Pytest, DIRECT),
        ("python -m pytest", Tool::Pytest, DIRECT),
        ("python3 -m pytest", Tool::Pytest, DIRECT),
        ("/usr/bin/python3.12 -X dev -W error -Im pytest -q", Tool::Pytest, DIRECT),
        ("python -mpytest", Tool::Pytest, DIRECT),
        ("python .venv/bin/pytest", Tool::Pytest, DIRECT),
        ("python -m unittest", Tool::Generic, DIRECT),
        ("python -c pytest", Tool::Generic, DIRECT),
        ("python script.py pytest", Tool::Generic, DIRECT),
        ("uv run pytest", Tool::Pytest, DIRECT),
        ("uv --project api run --with pytest-cov --frozen pytest -q", Tool::Pytest, DIRECT),
        ("uv run -m pytest", Tool::Pytest, DIRECT),
        ("uv run -- python -m pytest", Tool::Pytest, DIRECT),
        ("uv pip install pytest", Tool::Generic, DIRECT),
        ("uvx pytest", Tool::Pytest, DIRECT),
        ("poetry run pytest tests", Tool::Pytest, DIRECT),
        ("poetry run python -m pytest", Tool::Pytest, DIRECT),
        ("poetry add pytest", Tool::Generic, DIRECT),
        ("pipenv run pytest", Tool::Pytest, DIRECT),
        ("hatch run pytest", Tool::Pytest, DIRECT),
        ("hatch run test", Tool::Generic, WRAPPED),
        ("coverage run --source src -m pytest", Tool::Pytest, DIRECT),
        ("python -m coverage run -m pytest", Tool::Pytest, DIRECT),
        ("coverage report", Tool::Generic, DIRECT),
        ("env CI=1 -u HOME pytest", Tool::Pytest, DIRECT),
        ("timeout -k 5 60 pytest", Tool::Pytest, DIRECT),
        ("tsc --noEmit", Tool::Tsc, DIRECT),
        ("npx tsc", Tool::Tsc, DIRECT),
        ("npx --no-install tsc --noEmit", Tool::Tsc, DIRECT),
        ("npx -p typescript tsc", Tool::Tsc, DIRECT),
        ("node_modules/.bin/tsc", Tool::Tsc, DIRECT),
        ("node --max-old-space-size=4096 ./node_modules/typescript/bin/tsc -p .", Tool::Tsc, DIRECT),
        ("npx eslint@9 .", Tool::Eslint, DIRECT),
        ("npm exec -- eslint .", Tool::Eslint, DIRECT),
        ("pnpm eslint .", Tool::Eslint, DIRECT),
        ("yarn run tsc", Tool::Tsc, DIRECT),
        ("yarn lint", Tool::Generic, WRAPPED),
        ("pnpm run lint", Tool::Generic, WRAPPED),
        ("npm run lint", Tool::Generic, WRAPPED),
        ("npm test", Tool::Generic, WRAPPED),
        ("make test", Tool::Generic, WRAPPED),
        ("make", Tool::Compile, DIRECT),
        ("make -C lib -j4 all CC=clang", Tool::Compile, DIRECT),
        ("cargo +nightly build --release", Tool::Compile, DIRECT),
        ("cargo test", Tool::CargoTest, DIRECT),
        ("cargo +nightly t --workspace -- --nocapture", Tool::CargoTest, DIRECT),
        ("cargo nextest run", Tool::CargoTest, DIRECT),
        ("cargo nextest list", Tool::Generic, DIRECT),
        ("cargo run -- test", Tool::Generic, DIRECT),
        ("node --test", Tool::NodeTest, DIRECT),
        ("/usr/bin/node --import tsx --test test/a.test.ts", Tool::NodeTest, DIRECT),
        ("node server.js --test", Tool::Generic, DIRECT),
        ("tsx --tsconfig tsconfig.test.json --test src/a.test.ts", Tool::NodeTest, DIRECT),
        ("npx tsx node_modules/.bin/mocha test/a.ts", Tool::Mocha, DIRECT),
        ("ts-node -P tsconfig.test.json node_modules/.bin/mocha", Tool::Mocha, DIRECT),
        ("tsx watch src/server.ts", Tool::Generic, DIRECT),
        ("ts-node scripts/test.ts", Tool::Generic, DIRECT),
        ("node server.js --version", Tool::Generic, DIRECT),
        ("go build ./...", Tool::Compile, DIRECT),
        ("go test ./...", Tool::GoTest, DIRECT),
        ("go run . -list", Tool::Generic, DIRECT),
        ("gcc -Wall -c a.c", Tool::Compile, DIRECT),
        ("javac -d out A.java", Tool::Compile, DIRECT),
        ("bash -c 'cargo build && pytest'", Tool::Pytest, WRAPPED),
        ("npx jest --ci", Tool::Jest, DIRECT),
        ("node_modules/.bin/jest", Tool::Jest, DIRECT),
        ("node --experimental-vm-modules node_modules/jest/bin/jest.js", Tool::Jest, DIRECT),
        ("sh -c 'cd web && jest'", Tool::Generic, WRAPPED),
        ("pnpm vitest run", Tool::Vitest, DIRECT),
        ("vitest bench", Tool::Generic, DIRECT),
        ("npx prettier --check .", Tool::Prettier, DIRECT),
        ("prettier --write .", Tool::Generic, DIRECT),
        ("prettier --check --write .", Tool::Generic, DIRECT),
        ("python -m mypy src", Tool::Mypy, DIRECT),
        ("uv run mypy .", Tool::Mypy, DIRECT),
        ("ruff check .", Tool::Ruff, DIRECT),
        ("uvx ruff format --check", Tool::Ruff, DIRECT),
        ("ruff format .", Tool::Generic, DIRECT),
        ("python3 -m ruff check", Tool::Ruff, DIRECT),
        ("ruff clean", Tool::Generic, DIRECT),
        ("poetry run flake8", Tool::Flake8, DIRECT),
        ("python -m pylint src", Tool::Pylint, DIRECT),
        ("python -m eslint", Tool::Generic, DIRECT),
        ("tox -e py", Tool::Generic, WRAPPED),
        ("bash -o pipefail -c 'cd web && npx tsc --noEmit'", Tool::Tsc, WRAPPED),
        ("sh -c 'pytest -q | tee log'", Tool::Pytest, WRAPPED),
        ("sh -ec 'tsc && eslint .'", Tool::Generic, WRAPPED),
        ("sh -c 'pytest a; pytest b'", Tool::Generic, WRAPPED),
        ("sh -c 'echo hello'", Tool::Generic, WRAPPED),
        ("npx -c 'eslint .'", Tool::Eslint, WRAPPED),
        ("./check.sh", Tool::Generic, DIRECT),
        ("echo pytest", Tool::Generic, DIRECT),
        ("", Tool::Generic, DIRECT),
    ];

    #[test]
    fn commands_are_taken_for_the_tool_they_run() {
        for (command, tool, form) in COMMANDS {
            let argv = split_words(command).expect("the table holds valid words");
            let found = recognise(&argv);
            assert_eq!((found.tool, found.form), (*tool, *form), "{command}");
            assert_eq!(found.class, tool.class(), "{command}");
        }
    }

    #[test]
    fn c32_several_candidates_are_generic_and_say_so() {
        let found = recognise_script("tsc --noEmit && eslint .");
        assert_eq!((found.tool, found.class), (Tool::Generic, ToolClass::Generic));
        assert!(found.note.expect("a note").contains("several tools"));
        assert!(recognise(&["make".to_owned(), "lint".to_owned()]).note.expect("a note").contains("`make`"));
    }

    #[test]
    fn a_script_of_package_json_is_wrapped() {
        let found = recognise_script("NODE_ENV=test eslint --max-warnings 0 .");
        assert_eq!((found.tool, found.form, found.note), (Tool::Eslint, WRAPPED, None));
        assert_eq!(recognise_script("vite build").tool, Tool::Generic);
        for (script, tool) in [
            ("jest", Tool::Jest),
            ("NODE_ENV=test cross-env CI=1 jest --ci", Tool::Jest),
            ("c8 --reporter=lcov -r text jest", Tool::Jest),
            ("nyc --all vitest run", Tool::Vitest),
            ("dotenv -e .env.test -- jest", Tool::Jest),
            ("env-cmd -f .env node --test", Tool::NodeTest),
            ("tsc -b && jest --ci", Tool::Generic),
            ("make build && jest --ci", Tool::Jest),
            ("jest --ci || true", Tool::Generic),
            ("vitest run | tee log", Tool::Generic),
            ("cargo build && cargo test", Tool::CargoTest),
            ("NODE_ENV=test node --test", Tool::NodeTest),
            ("for d in tests other; do pytest $d; done", Tool::Generic),
            ("(jest)", Tool::Generic),
            ("tsx --test src/*.test.ts", Tool::NodeTest),
            ("NODE_ENV=test ts-node node_modules/.bin/mocha", Tool::Mocha),
        ] {
            let found = recognise_script(script);
            assert_eq!((found.tool, found.form), (tool, WRAPPED), "{script}");
        }
        assert!(recognise_script("jest; true").note.expect("a note").contains("asked for its report"));
    }

    proptest! {
        #[test]
        fn no_argument_vector_is_too_strange(words in proptest::collection::vec(proptest::sample::select(vec![
            "uv", "run", "--", "-m", "python", "pytest", "bash", "-c", "npx", "-p", "env", "timeout", "coverage", "yarn", "", "-", "A=1",
            "pytest && tsc", "--with",
        ]), 0..8)) {
            let argv: Vec<String> = words.into_iter().map(str::to_owned).collect();
            recognise(&argv);
        }

        #[test]
        fn no_script_is_too_strange(script in any::<String>()) {
            recognise_script(&script);
        }
    }
}
