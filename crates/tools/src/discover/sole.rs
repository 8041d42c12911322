//! Finds the test runner behind a command that only names a text of the project, such as `make test`.
//!
//! The runner's report is that of one session. So a text counts as the runner only if, followed to its end, it is exactly one simple
//! command, apart from `cd DIR &&` before it. Everything else, and everything that is not read for certain, stays a plain command.

mod texts;

use crate::discover::followed::{OUTSIDE, below, own_program, tool_of};
use crate::launchers::{NODES, SHELLS, is_python, locate, visit_programs};
use crate::project_files::ProjectFiles;
use crate::recognise::CommandForm;
use crate::shell::{Joint, command_row};
use crate::table::row_of;
use proctor_model::{Tool, ToolClass, has_word, is_assignment};
use texts::{Text, text_of_call};

/// At most so many texts are followed, one from the other.
const DEEPEST: usize = 8;

/// Programs that start another one exactly once, and hand on all variables.
const ONCE: &str = "bundle bunx c8 coverage cross-env env nice nohup npx nyc pipenv poetry rye time timeout uv uvx";

/// Package managers that start a program or a script. With an option before its name they may start it in several packages.
const ONCE_WITHOUT_OPTION: &[&str] = &["npm", "pdm", "pnpm", "yarn"];

/// Variables by which a runner is asked for its report.
const ASKING: &[&str] = &["NODE_OPTIONS", "PLAYWRIGHT_", "PYTEST_ADDOPTS"];

/// The beginning of pytest's options for the report, `--junitxml` and `--junit-xml`.
const OWN_REPORT: &str = "--junit";

/// Returns the test runner that a command leads to through the project's own texts: scripts of `package.json`, targets, recipes and tasks.
/// `None` if the texts are more than one command, or the runner can only be asked for its report by an argument.
pub fn wrapped_runner(argv: &[String], files: &dyn ProjectFiles, directory: &str) -> Option<Tool> {
    let tool = of_words(argv, files, directory, DEEPEST)?;
    (tool.class() == ToolClass::Test && !row_of(tool).is_asked_by_argument_only).then_some(tool)
}

fn of_words(words: &[String], files: &dyn ProjectFiles, directory: &str, left: usize) -> Option<Tool> {
    let words = &words[words.iter().take_while(|word| is_assignment(word)).count()..];
    let mut calls: Vec<Vec<String>> = Vec::new();
    visit_programs(words, &mut |call| calls.push(call.to_vec()));
    for (at, call) in calls.iter().enumerate() {
        if tool_of(call).is_some() {
            break;
        }
        if SHELLS.contains(&call[0].as_str()) {
            let [_, option, script] = call.as_slice() else { return None };
            return of_text(script, &[], files, directory, left).filter(|_| matches!(option.as_str(), "-c" | "-ec"));
        }
        if let Some(text) = text_of_call(call, files, directory) {
            let Text { line, directory, handed_on } = text?;
            return of_text(&line, &handed_on, files, &directory, left);
        }
        let behind = calls.get(at + 1).map_or(0, Vec::len);
        if !starts_once(&call[0], &call[1..call.len().saturating_sub(behind).max(1)]) {
            return None;
        }
    }
    let located = locate(words);
    let before = words.get(..located.arguments_from)?;
    // A program of the project may have the name of a runner, and start it more than once.
    let is_of_project = before.iter().any(|word| !is_assignment(word) && own_program(word, directory).is_some());
    let names_report = located.arguments.iter().any(|word| word.starts_with(OWN_REPORT));
    let is_runner = located.recognition.form == CommandForm::Direct && !is_of_project && !names_report;
    Some(located.recognition.tool).filter(|_| is_runner)
}

/// Follows a line of a text. `handed_on` are words that are put behind it.
fn of_text(line: &str, handed_on: &[String], files: &dyn ProjectFiles, directory: &str, left: usize) -> Option<Tool> {
    let left = left.checked_sub(1)?;
    let without_joints = ["&&", "2>&1", ">&2", "&>"].iter().fold(line.to_owned(), |rest, joint| rest.replace(joint, " "));
    let row = command_row(line).filter(|_| !without_joints.contains('&') && !is_asking(line))?;
    let (last, before) = row.split_last()?;
    let mut directory = directory.to_owned();
    for command in before {
        let [program, to] = command.words.as_slice() else { return None };
        if program != "cd" || command.joint != Joint::And || to.starts_with('-') || is_expanded(to) {
            return None;
        }
        directory = below(&directory, to);
    }
    let words: Vec<String> = last.words.iter().chain(handed_on).cloned().collect();
    let is_plain = directory != OUTSIDE && !words.iter().any(|word| is_expanded(word));
    if is_plain { of_words(&words, files, &directory, left) } else { None }
}

/// Returns whether a launcher with these words of its own starts one program once, with all variables.
fn starts_once(program: &str, own: &[String]) -> bool {
    let has_option = own.iter().any(|word| word.starts_with('-') && word != "--");
    let sets_variables = own.iter().any(|word| is_asking(word) || word.starts_with("--env-file"));
    let is_known = match program {
        "env" => !has_option,
        _ if ONCE_WITHOUT_OPTION.contains(&program) => !has_option,
        _ => has_word(ONCE, program) || is_python(program) || NODES.contains(&program),
    };
    is_known && !sets_variables
}

/// Returns whether a text names a variable by which a runner is asked for its report: what is set there may undo the request.
fn is_asking(text: &str) -> bool {
    ASKING.iter().any(|name| text.contains(name))
}

/// Returns whether a shell puts something else in the place of a word, or of a part of it.
fn is_expanded(word: &str) -> bool {
    word.contains(['$', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeFiles;
    use proctor_model::split_words;

    fn runner(files: &[(&str, &str)], command: &str) -> Option<Tool> {
        wrapped_runner(&split_words(command).expect("words"), &FakeFiles::of(files), "")
    }

    fn of_make(recipe: &str) -> Option<Tool> {
        runner(&[("Makefile", &format!("test:\n\t{recipe}\n"))], "make test")
    }

    #[test]
    fn a_text_of_exactly_one_simple_command_is_the_runner() {
        for recipe in [
            "pytest",
            "@pytest -q tests",
            "cd api && pytest",
            "@cd api && uv run pytest -q 2>&1",
            "PYTHONPATH=src python -m pytest",
            "env PYTHONPATH=src/lib pytest",
            "env CI=1 timeout 60 .venv/bin/pytest",
            "coverage run -m pytest",
            "uv run -m pytest",
            "pytest \\\n\t  -q \\\n\t  tests",
            "# all of them\n\t@pytest",
            "sh -c 'cd api && pytest'",
            "pytest $(ARGUMENTS)",
        ] {
            assert_eq!(of_make(recipe), Some(Tool::Pytest), "{recipe}");
        }
    }

    #[test]
    fn a_text_of_more_than_one_command_is_no_runner() {
        for recipe in [
            "cd . && for d in tests other; do pytest $$d; done",
            "for d in tests other; do pytest $$d; done",
            "echo tests other | xargs -n1 pytest",
            "xargs -n1 pytest < list",
            "find . -name 'test_*' -exec pytest {} +",
            "@. ./run.sh; pytest other",
            "-pytest tests\n\tpytest other",
            "-pytest tests",
            "@-pytest tests",
            "@echo start; for d in tests other; do pytest $$d; done",
            "@echo start\n\tpytest",
            "pytest tests\n\tpytest other",
            "pytest tests; pytest other",
            "pytest tests && pytest other",
            "pytest tests || true",
            "pytest tests | tee log",
            "pytest tests &",
            "! pytest",
            "(pytest)",
            "if [ -d tests ]; then pytest; fi",
            "sh -c 'pytest tests; pytest other'",
            "sh -lc pytest",
            "sh run.sh",
            "./pytest",
            "scripts/pytest tests",
            "docker run image pytest",
            "hatch run pytest",
            "pnpm -r exec playwright test",
            "$(foreach d,tests other,pytest $d;)",
            "$(shell cat command)",
            "pytest $$OPTIONS",
            "pytest `cat options`",
            "pytest --version; true",
        ] {
            assert_eq!(of_make(recipe), None, "{recipe}");
        }
    }

    #[test]
    fn a_text_that_undoes_the_request_for_the_report_is_no_runner() {
        for recipe in [
            "PYTEST_ADDOPTS=-q pytest",
            "env PYTEST_ADDOPTS= pytest",
            "env -i pytest",
            "env -u PYTEST_ADDOPTS pytest",
            "env -u HOME pytest",
            "uv run --env-file .env pytest",
            "dotenv -e .env -- pytest",
            "pytest --junitxml=own.xml",
            "pytest --junit-xml own.xml",
        ] {
            assert_eq!(of_make(recipe), None, "{recipe}");
        }
        for head in [
            "export PYTEST_ADDOPTS = -q",
            "unexport PYTEST_ADDOPTS",
            "test: PYTEST_ADDOPTS = -q",
            "SHELL = /bin/true",
            "include other.mk",
            ".ONESHELL:",
            ".IGNORE: test",
            "MAKEFLAGS += -k",
            "ifdef CI",
        ] {
            assert_eq!(runner(&[("Makefile", &format!("{head}\ntest:\n\tpytest\n"))], "make test"), None, "{head}");
        }
        let files = [("Makefile", "export PYTHONPATH = src\n.PHONY: test\ntest:\n\tpytest\n")];
        for (command, expected) in [
            ("make test", Some(Tool::Pytest)),
            ("make -s -C . test", Some(Tool::Pytest)),
            ("env CI=1 make test", Some(Tool::Pytest)),
            ("sh -c 'make test'", Some(Tool::Pytest)),
            ("env PYTEST_ADDOPTS=-q make test", None),
            ("sh -c 'PYTEST_ADDOPTS=-q make test'", None),
            ("env -i make test", None),
            ("make test PYTEST_ADDOPTS=-q", None),
            ("make -i test", None),
            ("make -n test", None),
            ("make -f other.mk test", None),
            ("make test test", None),
            ("make other", None),
            ("make", None),
        ] {
            assert_eq!(runner(&files, command), expected, "{command}");
        }
    }

    #[test]
    fn the_targets_before_a_target_count_too() {
        let text = "PYTHON ?= python3\nPY = $(PYTHON) -m\nLOOP = ; pytest other\n\ncheck: test\nbuild:\n\tcc a.c\ntest:\n\t$(PY) pytest -q\n\
             built: build\n\tpytest\nfile: a.o\n\tpytest\nloop:\n\tpytest $(LOOP)\nround: round\n\tpytest\ntwice:\n\tpytest\ntwice: test\n\
             deep:\n\t$(MAKE) test\nboth: test deep\n";
        for (target, expected) in [
            ("test", Some(Tool::Pytest)),
            ("check", Some(Tool::Pytest)),
            ("deep", Some(Tool::Pytest)),
            ("built", None),
            ("file", None),
            ("loop", None),
            ("round", None),
            ("twice", None),
            ("both", None),
        ] {
            assert_eq!(runner(&[("Makefile", text)], &format!("make {target}")), expected, "{target}");
        }
    }

    #[test]
    fn other_texts_are_read_as_strictly() {
        let just = "alias t := test\n# all\ntest:\n    @pytest -q\nall *ARGS:\n    pytest {{ARGS}}\nbuilt: build\n    pytest\nbuild:\n    cc a.c\n\
             script:\n    #!/bin/sh\n    pytest\nboth:\n    pytest\n    pytest other\nname word:\n    pytest {{word}}\n";
        for (recipe, expected) in
            [("test", true), ("all", true), ("built", false), ("script", false), ("both", false), ("name x", false)]
        {
            let expected = expected.then_some(Tool::Pytest);
            assert_eq!(runner(&[("justfile", just)], &format!("just {recipe}")), expected, "{recipe}");
        }
        assert_eq!(runner(&[("justfile", "set dotenv-load\ntest:\n    pytest\n")], "just test"), None);
        let poe = |task: &str| runner(&[("pyproject.toml", &format!("[tool.poe.tasks]\n{task}\n"))], "uv run poe test");
        for (task, expected) in [
            ("test = 'pytest -q'", true),
            ("test = { cmd = 'pytest', help = 'tests' }", true),
            ("test = { cmd = 'pytest', env = { PYTEST_ADDOPTS = '-q' } }", false),
            ("test = { cmd = 'pytest', env = { A = '1' } }", false),
            ("test = ['a', 'b']\na = 'pytest'\nb = 'pytest other'", false),
            ("test = { shell = 'pytest tests; pytest other' }", false),
            ("test = 'pytest'\n[tool.poe.env]\nPYTEST_ADDOPTS = '-q'", false),
        ] {
            assert_eq!(poe(task), expected.then_some(Tool::Pytest), "{task}");
        }
        let package = r#"{"scripts": {"a": "run-s unit", "unit": "node --test", "py": "pytest", "b": "npm run py", "x": "pytest", "prex": "tsc",
            "both": "run-s unit py", "each": "run-s u*", "loop": "for d in a b; do pytest $d; done"}}"#;
        for (command, expected) in [
            ("npm run a", Some(Tool::NodeTest)),
            ("npm run b", Some(Tool::Pytest)),
            ("yarn py -q", Some(Tool::Pytest)),
            ("npm run py -- -q", Some(Tool::Pytest)),
            ("npm run py -- --junitxml=a.xml", None),
            ("npm run py --workspaces", None),
            ("npm run x", None),
            ("npm run both", None),
            ("npm run each", None),
            ("npm run loop", None),
        ] {
            assert_eq!(runner(&[("package.json", package)], command), expected, "{command}");
        }
        let nox =
            "import nox\n@nox.session\ndef test(session):\n    for d in ('tests', 'other'):\n        session.run('pytest', d)\n";
        let parametrized =
            "import nox\n@nox.session\n@nox.parametrize('d', ['a', 'b'])\ndef test(session, d):\n    session.run('pytest', d)\n";
        for text in [nox, parametrized] {
            assert_eq!(runner(&[("noxfile.py", text)], "nox -s test"), None, "{text}");
        }
        assert_eq!(runner(&[("tox.ini", "[testenv]\ncommands = pytest\n")], "tox"), None);
    }
}
