//! The test command of a project, as its own files name it, and whether the checks run it.
//!
//! It is the script `test` of `package.json`, or without it what tox, nox, Hatch, PDM, poe, a makefile, a justfile or a Taskfile calls
//! `test`. A check covers it that calls it. So do checks that together run every known test runner which the command's text names; where
//! it names none, its last command has to be run.

use crate::discover::entries::{TASK_RUNNERS, TaskRunner};
use crate::discover::followed::{Entry, Followed, RunByChecks, RunCommand};
use crate::package_json::scripts;
use crate::project_files::ProjectFiles;

/// The name under which projects keep their test command.
const TEST: &str = "test";

/// Returns the project's test command if the checks do not run it: where it is written and which runner it names, such as
/// `"test" of package.json (mocha)`. `None` if it is run, or the project's files name none.
pub fn tests_not_run(files: &dyn ProjectFiles, checks: &[RunCommand<'_>]) -> Option<String> {
    let commands = test_commands(files);
    if commands.is_empty() {
        return None;
    }
    let run = RunByChecks::of(files, checks);
    // Where several files name a test command, they name the same tests.
    let missing: Option<Vec<String>> = commands.iter().map(|command| command.missing(&run)).collect();
    missing?.into_iter().next()
}

/// What a project's files call their tests.
struct TestCommand<'f> {
    /// Where it is written, for people.
    place: String,
    entry: Entry,
    followed: Followed<'f>,
}

fn test_commands(files: &dyn ProjectFiles) -> Vec<TestCommand<'_>> {
    let named = |file: String, lines: Vec<String>| {
        let mut followed = Followed::new(files);
        let entry = (file.clone(), TEST.to_owned());
        followed.entered.insert(entry.clone());
        lines.iter().for_each(|line| followed.follow_script(line, ""));
        let place = format!("\"{TEST}\" of {file}");
        // A text that runs nothing, as the one that `npm init` writes, is no test command.
        (!followed.calls.is_empty()).then_some(TestCommand { place, entry, followed })
    };
    if let Some(of_node) = scripts(files, "").remove(TEST).and_then(|text| named("package.json".to_owned(), vec![text])) {
        return vec![of_node];
    }
    let of_runner = |runner: &TaskRunner| (runner.read)(files, "").into_iter().find(|command| command.name == TEST);
    TASK_RUNNERS.iter().filter_map(of_runner).filter_map(|command| named(command.file, command.lines)).collect()
}

impl TestCommand<'_> {
    /// Returns where it is written and what of it the checks do not run; `None` if they run it.
    fn missing(&self, run: &RunByChecks<'_>) -> Option<String> {
        if run.has_entered(&self.entry) {
            return None;
        }
        Some(format!("{} ({})", self.place, run.lacks(&self.followed)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project_files::fake::FakeFiles;
    use proctor_model::{Tool, split_words};

    /// Returns what is said of a project with these files and checks. A check is written as `DIRECTORY: COMMAND`.
    fn said(files: &[(&str, &str)], checks: &[&str]) -> Option<String> {
        let checks: Vec<(String, Vec<String>)> = checks
            .iter()
            .map(|check| check.split_once(": ").expect("a directory and a command"))
            .map(|(directory, command)| (directory.to_owned(), split_words(command).expect("words")))
            .collect();
        let run = |(directory, argv): &'_ (String, Vec<String>)| (directory.clone(), argv.clone());
        let owned: Vec<(String, Vec<String>)> = checks.iter().map(run).collect();
        let checks: Vec<RunCommand<'_>> =
            owned.iter().map(|(directory, argv)| RunCommand { argv, directory, tool: Tool::Generic }).collect();
        tests_not_run(&FakeFiles::of(files), &checks)
    }

    fn of_script(test: &str, checks: &[&str]) -> Option<String> {
        let scripts = serde_json::json!({"scripts": {
            "test": test, "unit": "node --test", "lint": "eslint .", "test:a": "jest", "test:b": "mocha",
        }});
        said(&[("package.json", &scripts.to_string()), ("web/package.json", r#"{"scripts": {"test": "vitest run"}}"#)], checks)
    }

    #[test]
    fn the_script_is_covered_by_what_calls_it_or_runs_its_runners() {
        for (test, checks, missing) in [
            ("mocha test/", &[": eslint ."][..], Some("mocha")),
            ("mocha test/", &[": npx mocha"], None),
            ("mocha test/", &[": npm test"], None),
            ("mocha test/", &[": npm run lint", ": yarn test"], None),
            ("mocha test/", &[": sh -c 'npm run test'"], None),
            ("mocha test/", &[": npm run test:b"], None),
            ("eslint . && mocha && vitest run", &[": eslint .", ": npx vitest run"], Some("mocha")),
            ("npm run lint && npm run unit", &[": eslint ."], Some("node-test")),
            ("npm run lint && npm run unit", &[": node --test"], None),
            ("run-s lint test:*", &[": npx jest"], Some("mocha")),
            ("run-s lint test:*", &[": npx jest", ": mocha"], None),
            ("cross-env CI=1 mocha", &[": mocha"], None),
            ("c8 mocha", &[": npx jest"], Some("mocha")),
            ("cd web && npm test", &[": npx jest"], Some("vitest")),
            ("npm --prefix web test", &["web: npx vitest run"], None),
            ("pytest -q", &[": python -m pytest"], None),
            ("eslint .", &[": npx eslint ."], None),
            ("eslint src", &[": npx eslint ."], None),
            ("eslint .", &[], Some("eslint")),
            ("node scripts/test.js", &[": eslint ."], Some("node scripts/test.js")),
            ("rm -rf out && node scripts/test.js", &[": node scripts/test.js --fast"], None),
            ("./run-tests.sh", &[": eslint ."], Some("run-tests.sh")),
            ("npm test", &[": eslint ."], None),
            ("echo \"Error: no test specified\" && exit 1", &[], None),
            ("true", &[], None),
            ("", &[], None),
        ] {
            let expected = missing.map(|missing| format!("\"test\" of package.json ({missing})"));
            assert_eq!(of_script(test, checks), expected, "{test} by {checks:?}");
        }
    }

    #[test]
    fn a_runner_of_workspaces_leads_to_the_scripts_of_the_members() {
        for test in
            ["turbo run test", "pnpm -r test", "npm test --workspaces", "nx run-many -t test", "yarn workspaces foreach run test"]
        {
            let root = serde_json::json!({"workspaces": ["packages/*"], "scripts": {"test": test}}).to_string();
            let files = [
                ("package.json", root.as_str()),
                ("packages/a/package.json", r#"{"scripts": {"test": "vitest run"}}"#),
                ("packages/b/package.json", r#"{"scripts": {"test": "ava"}}"#),
            ];
            let missing = |what: &str| Some(format!("\"test\" of package.json ({what})"));
            assert_eq!(said(&files, &[]), missing("ava, vitest"), "{test}");
            assert_eq!(said(&files, &["packages/a: npx vitest run"]), missing("ava"), "{test}");
            assert_eq!(said(&files, &["packages/a: npx vitest run", "packages/b: npm test"]), None, "{test}");
        }
    }

    #[test]
    fn each_task_runner_names_its_test_command() {
        for (file, text, caller) in [
            (
                "tox.ini",
                "[tox]\nenvlist = test\n[testenv:test]\ndeps = pytest\ncommands =\n    {envpython} -m pytest {posargs:tests}\n",
                "tox -e test",
            ),
            ("tox.ini", "[testenv]\ncommands = pytest {posargs}\n[testenv:test]\ndeps = x\n", "tox"),
            ("tox.toml", "[env.test]\ncommands = [[\"pytest\", \"-q\"]]\n", "tox run -e lint,test"),
            (
                "noxfile.py",
                "import nox\n@nox.session\ndef test(session):\n    session.run(\n        \"pytest\", \"-q\"\n    )\n",
                "nox -s test",
            ),
            (
                "noxfile.py",
                "import nox\n@nox.session(name=\"test\")\ndef unit(session):\n    session.run('pytest')\n",
                "python -m nox",
            ),
            ("pyproject.toml", "[tool.hatch.envs.default.scripts]\ntest = \"pytest {args:tests}\"\n", "hatch run default:test"),
            ("hatch.toml", "[envs.ci.scripts]\ntest = [\"echo x\", \"pytest\"]\n", "hatch run test"),
            ("pyproject.toml", "[tool.pdm.scripts]\nunit = \"pytest\"\ntest = {composite = [\"unit\"]}\n", "pdm run test"),
            ("pyproject.toml", "[tool.poe.tasks]\nunit = {cmd = \"pytest -q\"}\ntest = [\"unit\"]\n", "uv run poe test"),
            (
                "Makefile",
                "PYTHON ?= python3\n.PHONY: test\ntest: unit ## all\nunit:\n\t@$(PYTHON) -m pytest $(ARGS)\n",
                "make test",
            ),
            ("GNUmakefile", "lint test:\n\t-cd . && $(MAKE) unit\nunit:\n\tpytest\n", "make -j2 test"),
            ("justfile", "set shell := [\"sh\"]\n@test *ARGS: build\n    pytest {{ARGS}}\nbuild:\n    echo x\n", "just test"),
            (
                "Taskfile.yml",
                "version: '3'\ntasks:\n  lint: ruff check\n  test:\n    desc: x\n    cmds:\n      - task: unit\n  unit:\n    cmds:\n      - pytest -q\n",
                "task test",
            ),
        ] {
            let missing = Some(format!("\"test\" of {file} (pytest)"));
            assert_eq!(said(&[(file, text)], &[": ruff check"]), missing, "{file}: {text}");
            assert_eq!(said(&[(file, text)], &[": ruff check", &format!(": {caller}")]), None, "{caller}");
            assert_eq!(said(&[(file, text)], &[": .venv/bin/python -m pytest"]), None, "{file}: {text}");
        }
    }

    #[test]
    fn several_files_name_the_same_tests_and_package_json_comes_first() {
        let make = ("Makefile", "test:\n\ttox\n");
        let tox = ("tox.ini", "[testenv:test]\ncommands = stestr run\n");
        assert_eq!(said(&[make, tox], &[": make test"]), None);
        assert!(said(&[make, tox], &[": ruff check"]).is_some_and(|text| text.contains("tox.ini (stestr run)")));
        let node = ("package.json", r#"{"scripts": {"test": "mocha"}}"#);
        assert_eq!(said(&[make, tox, node], &[": make test"]), Some("\"test\" of package.json (mocha)".to_owned()));
        assert_eq!(said(&[("Makefile", "all:\n\tcc a.c\n"), ("tox.ini", "[testenv]\ncommands = pytest\n")], &[]), None);
    }

    #[test]
    fn scripts_that_call_each_other_and_files_that_are_no_settings_end() {
        let circle = r#"{"scripts": {"test": "npm run a", "a": "npm run test && npm run a"}}"#;
        assert_eq!(said(&[("package.json", circle)], &[": npm run a"]), None);
        for text in ["test:", "\ttest", "test: test\n\tmake test\n", "$(", "test:\n\t$(X\n\t${", "[testenv:", "tasks:\n test"] {
            for file in ["Makefile", "justfile", "tox.ini", "Taskfile.yml", "noxfile.py", "pyproject.toml", "package.json"] {
                said(&[(file, text)], &[": make test", ": tox", ": nox", ": task test"]);
            }
        }
    }
}
