//! The test command of a project, as its own files name it, and whether the checks run it.
//!
//! It is the script `test` of `package.json`, or without it what tox, nox, Hatch, PDM, poe, a makefile, a justfile or a Taskfile calls
//! `test`. A check covers it that calls it. So do checks that together run every known test runner which the command's text names; where
//! it names none, its last command has to be run.

use crate::discover::entries::{TASK_RUNNERS, TaskRunner};
use crate::discover::followed::{Entry, Followed, RunByChecks, RunCommand};
use crate::jsonc::scripts;
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
    let missing: Option<Vec<String>> = commands.iter().map(|command| command.part_without_check(&run)).collect();
    missing?.into_iter().next()
}

/// The command that a project's files call `test`.
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
        let followed = followed.or_unread();
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
    /// Returns the file of the test command and the part of it that no check runs; `None` if the checks run all of it.
    fn part_without_check(&self, run: &RunByChecks<'_>) -> Option<String> {
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
    fn a_member_does_not_run_the_tests_of_another_with_the_same_runner() {
        let root = r#"{"workspaces": ["packages/*"], "scripts": {"test": "npm test --workspaces"}}"#;
        let member = r#"{"scripts": {"test": "vitest run"}}"#;
        let files = [("package.json", root), ("packages/a/package.json", member), ("packages/b/package.json", member)];
        let missing = Some("\"test\" of package.json (vitest)".to_owned());
        assert_eq!(said(&files, &["packages/a: npx vitest run"]), missing);
        assert_eq!(said(&files, &[": npm test -w packages/a"]), missing);
        assert_eq!(said(&files, &["packages/a: npx vitest run", ": npm --prefix packages/b test"]), None);
        assert_eq!(said(&files, &[": npx vitest run"]), None, "the root's run reaches both");
        let argv = split_words("npm test -w packages/a").expect("words");
        let recognised = RunCommand { argv: &argv, directory: "", tool: Tool::Vitest };
        assert_eq!(tests_not_run(&FakeFiles::of(&files), &[recognised]), missing);
    }

    #[test]
    fn a_runner_of_environments_covers_what_it_runs_by_itself() {
        const TOX: &str =
            "[testenv]\ncommands = pytest\n[testenv:lint]\ncommands = ruff check\n[testenv:test]\ncommands = pytest -x\n";
        const NOX: &str = "@nox.session\ndef test(session):\n    session.run('pytest')\n@nox.session(python=['3.12'])\ndef lint(session):\n    session.run('ruff')\n";
        for (file, head, caller, is_covered) in [
            ("tox.ini", "[tox]\nenvlist = py{39,310}, lint\n", "tox", true),
            ("tox.ini", "[tox]\nenv_list =\n    lint  # only this\n", "tox", false),
            ("tox.ini", "[tox]\nenvlist = lint\n", "tox -e lint,test", true),
            ("tox.ini", "[tox]\nenvlist = {env:WHICH:test}\n", "tox", false),
            ("tox.ini", "", "tox", true),
            ("tox.ini", "[tox]\nenvlist = docs\n[testenv:{docs,web}]\ncommands = sphinx-build\n", "tox", false),
            ("noxfile.py", "nox.options.sessions = [\"lint-3.12\"]\n", "nox", false),
            ("noxfile.py", "nox.options.sessions = (\n    'lint', 'test'\n)\n", "nox", true),
            ("noxfile.py", "nox.options.sessions = NAMES\n", "nox", false),
            ("noxfile.py", "nox.options.tags = ['quick']\n", "nox", false),
            ("noxfile.py", "opts = nox.options\nopts.sessions = [\"lint\"]\n", "nox", false),
            ("noxfile.py", "nox.options . sessions = [\"lint\"]\n", "nox", false),
            ("noxfile.py", "nox.options.sessions += [\"test\"]\n", "nox", false),
            ("noxfile.py", "@nox.session(default = False)\ndef more(session):\n    session.run('ruff')\n", "nox", false),
            ("noxfile.py", "", "nox", true),
        ] {
            let text = format!("{head}{}", if file == "tox.ini" { TOX } else { NOX });
            let expected = (!is_covered).then(|| format!("\"test\" of {file} (pytest)"));
            assert_eq!(said(&[(file, &text)], &[&format!(": {caller}")]), expected, "{caller}: {head}");
        }
        let toml = |list: &str| {
            format!("{list}\n[env_run_base]\ncommands = [[\"pytest\"]]\n[env.test]\n[env.lint]\ncommands = [[\"ruff\"]]\n")
        };
        assert_eq!(
            said(&[("tox.toml", &toml("env_list = [\"lint\"]"))], &[": tox"]),
            Some("\"test\" of tox.toml (pytest)".to_owned())
        );
        assert_eq!(said(&[("tox.toml", &toml("env_list = [\"3.12\"]"))], &[": tox"]), None);
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
    fn a_check_of_another_directory_or_member_does_not_run_the_roots_tests() {
        let root = |test: &str| serde_json::json!({"workspaces": ["packages/*"], "scripts": {"test": test}}).to_string();
        let (mocha, every) = (root("mocha"), root("npm test --workspaces"));
        let files = |root: &str| {
            let others = [
                ("web/package.json", r#"{"scripts": {"test": "vitest run"}}"#),
                ("packages/a/package.json", r#"{"name": "@x/a", "scripts": {"test": "vitest run"}}"#),
                ("packages/b/package.json", r#"{"scripts": {"test": "ava"}}"#),
            ];
            others.iter().fold(FakeFiles::of(&[("package.json", root)]), |files, (path, text)| files.and(path, text))
        };
        let missing = |root: &str, check: &str| {
            let (directory, command) = check.split_once(": ").expect("a directory and a command");
            let argv = split_words(command).expect("words");
            tests_not_run(&files(root), &[RunCommand { argv: &argv, directory, tool: Tool::Generic }])
                .map(|text| text.replace("\"test\" of package.json ", ""))
        };
        for check in [
            ": npm --prefix web test",
            ": npm test --prefix=web",
            ": pnpm -C web test",
            ": pnpm --dir web test",
            ": yarn --cwd web test",
            ": bun --cwd=web run test",
            ": npm --prefix .. test",
            ": npm --prefix /srv test",
            ": bun test",
            ": sh -c 'cd web && npm test'",
            ": npm test -w packages/b",
            ": pnpm -r test",
            "web: npm test",
        ] {
            assert_eq!(missing(&mocha, check), Some("(mocha)".to_owned()), "{check}");
        }
        for check in [
            ": npm test -- -r ./r.js",
            ": npm test -- -w 2",
            ": npm run --silent test -- --prefix web",
            ": pnpm test -- -r x",
            ": pnpm run test -r x",
            ": yarn test -w 2",
            "web: npm --prefix .. test",
            "packages/a: pnpm -w test",
            "web: sh -ec 'cd .. && npm test'",
            ": npm test --loglevel silent",
            ": npm test -r ./r.js",
            ": env CI=1 npm test",
        ] {
            assert_eq!(missing(&mocha, check), None, "{check}");
        }
        for (check, lacks) in [
            (": npm test -w packages/a", Some("(ava)")),
            (": npm test -w @x/a", Some("(ava)")),
            (": npm test --workspace=./packages/b", Some("(vitest)")),
            (": npm test -w b -w @x/a", None),
            (": pnpm --filter '@x/*' test", Some("(ava)")),
            (": pnpm --filter './packages/*' test", None),
            (": pnpm -F '!b' test", Some("(ava)")),
            (": pnpm --filter ...b test", Some("(vitest)")),
            (": pnpm --filter '[origin/main]' test", Some("(ava, vitest)")),
            (": npm test -w none", Some("(ava, vitest)")),
            (": yarn workspace b test", Some("(vitest)")),
            (": yarn workspaces foreach --since run test", Some("(ava, vitest)")),
            (": turbo run test --filter=b", Some("(vitest)")),
            (": turbo run test", None),
            (": turbo run test --affected", Some("(ava, vitest)")),
            (": lerna run test --scope b", Some("(vitest)")),
            (": nx test b", Some("(vitest)")),
            (": nx run b:test", Some("(vitest)")),
            (": nx run-many -t test -p b,@x/a", None),
            (": nx affected --target=test", Some("(ava, vitest)")),
            (": npm test -ws", None),
        ] {
            assert_eq!(missing(&every, check), lacks.map(str::to_owned), "{check}");
        }
        // What a text chooses without being read leads to all members; what leads to no script has to be run as it is.
        assert_eq!(missing(&root("nx affected -t test"), ": npx ava"), Some("(vitest)".to_owned()));
        assert_eq!(missing(&root("npm --prefix none test"), ": npx ava"), Some("(npm --prefix none test)".to_owned()));
        assert_eq!(missing(&root("npm --prefix none test"), ": npm --prefix none test"), None);
    }

    #[test]
    fn a_task_runner_is_followed_into_the_directory_and_names_of_its_call() {
        let web = ("web/Makefile", "test:\n\tvitest run\n");
        let make = ("Makefile", "test: \n\tpytest\nbuild:\n\tcc a.c\n");
        let missing = |file: &str, what: &str| Some(format!("\"test\" of {file} ({what})"));
        for check in [
            ": make -C web test",
            ": make -sC web test",
            ": make -Cweb test",
            ": make --directory=web test",
            ": make build TARGET=test",
            ": make -f other.mk test",
            ": make -n test",
            ": sh -c 'make -C web test'",
            ": env -C web make test",
            ": uv run --directory web make test",
            ": poetry -C web run make test",
        ] {
            assert_eq!(said(&[make, web], &[check]), missing("Makefile", "pytest"), "{check}");
        }
        for check in
            ["web: make -C .. test", ": make -j 2 -f Makefile X=1 test", ": make -C web -C .. test", ": make -k test build"]
        {
            assert_eq!(said(&[make, web], &[check]), None, "{check}");
        }
        for test in ["$(MAKE) -C web test", "cd web && $(MAKE) test", "@make --directory web X=test test"] {
            let text = format!("test:\n\t{test}\n");
            assert_eq!(said(&[("Makefile", &text), web], &[": ruff check"]), missing("Makefile", "vitest"), "{test}");
            assert_eq!(said(&[("Makefile", &text), web], &["web: npx vitest run"]), None, "{test}");
        }
        let text = "test:\n\t$(MAKE) -C none test\n";
        assert_eq!(said(&[("Makefile", text)], &[": ruff check"]), missing("Makefile", "make -C none test"));

        let tox =
            ("tox.ini", "[testenv]\ncommands = ruff check\n[testenv:test]\ncommands = pytest\n[testenv:lint]\ncommands = x\n");
        let nox = ("noxfile.py", "@nox.session\ndef test(session):\n    session.run(\"pytest\")\n");
        let hatch = ("hatch.toml", "[envs.ci.scripts]\ntest = \"pytest\"\n");
        let poe = ("pyproject.toml", "[tool.poe.tasks]\ntest = \"pytest\"\nlint = \"ruff\"\n");
        let task = ("Taskfile.yml", "tasks:\n  test:\n    cmds:\n      - pytest\n");
        for (file, check, is_run) in [
            (tox, "tox -e py312", false),
            (tox, "tox -qe lint -- test", false),
            (tox, "tox -e=lint,test", true),
            (nox, "nox -s lint", false),
            (nox, "nox -k lint", false),
            (nox, "nox --session=test", true),
            (nox, "nox -s lint test", true),
            (hatch, "hatch test", false),
            (hatch, "hatch run lint test", false),
            (hatch, "hatch run +py=3.12 ci:test -x", true),
            (poe, "poe lint test", false),
            (poe, "poe test lint", true),
            (task, "task web:test", false),
            (task, "task -d web test", false),
            (task, "task test -- x", true),
        ] {
            let lacks = (!is_run).then(|| format!("\"test\" of {} (pytest)", file.0));
            assert_eq!(said(&[file], &[&format!(": {check}")]), lacks, "{check}");
        }
    }

    #[test]
    fn a_programs_own_path_is_compared_also_behind_a_shell() {
        let make = ("Makefile", "test:\n\t./scripts/test.sh\n");
        for check in [
            ": bash scripts/test.sh",
            ": sh -eu -o pipefail ./scripts/test.sh --fast",
            ": ./scripts/test.sh",
            ": scripts/../scripts/test.sh",
            "scripts: bash test.sh",
            ": sh -c 'cd scripts && ./test.sh'",
        ] {
            assert_eq!(said(&[make], &[check]), None, "{check}");
        }
        for check in [": bash other/test.sh", ": test.sh", ": bash test.sh", ": sh -c 'echo scripts/test.sh'", ": sh -n"] {
            let lacks = Some("\"test\" of Makefile (scripts/test.sh)".to_owned());
            assert_eq!(said(&[make], &[check]), lacks, "{check}");
        }
        assert_eq!(said(&[("Makefile", "test:\n\tstestr run\n")], &[": .venv/bin/stestr run"]), None);
    }

    #[test]
    fn a_known_runner_in_a_container_is_named() {
        for test in [
            "docker compose run --rm web pytest -q",
            "docker compose -f ci.yml exec -T web python -m pytest",
            "docker run --rm -v .:/app -e CI=1 python:3 sh -c 'cd /app && pytest'",
            "podman exec -it web .venv/bin/pytest",
            "docker-compose run web poetry run pytest",
        ] {
            let text = format!("test:\n\t{test}\n");
            let missing = Some("\"test\" of Makefile (pytest)".to_owned());
            assert_eq!(said(&[("Makefile", &text)], &[": ruff check"]), missing, "{test}");
            assert_eq!(said(&[("Makefile", &text)], &[": pytest"]), None, "{test}");
            assert_eq!(said(&[("Makefile", "test:\n\tpytest\n")], &[&format!(": {test}")]), None, "{test}");
        }
        // An image or a service is no program, and what else runs in a container is not read.
        for test in [
            "docker compose run --rm pytest",
            "docker run -e pytest web",
            "docker compose run web ./test.sh",
            "docker build pytest",
        ] {
            let text = format!("test:\n\t{test}\n");
            assert_eq!(
                said(&[("Makefile", "test:\n\tpytest\n")], &[&format!(": {test}")]).as_deref(),
                Some("\"test\" of Makefile (pytest)")
            );
            assert_eq!(said(&[("Makefile", &text)], &[": pytest"]), Some(format!("\"test\" of Makefile ({test})")));
        }
    }

    #[test]
    fn a_long_chain_is_read_once_and_followed_to_a_bound() {
        struct Counted(FakeFiles, std::cell::Cell<usize>);
        impl ProjectFiles for Counted {
            fn read(&self, path: &str) -> Option<Vec<u8>> {
                self.1.set(self.1.get() + 1);
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
        let chain = |length: usize| {
            let targets: String = (0..length).map(|at| format!("t{at}: t{}\n", at + 1)).collect();
            format!("test: t0\n{targets}t{length}:\n\tpytest\n")
        };
        for (length, lacks) in [(300, "pytest"), (5_000, "make t399")] {
            let files = Counted(FakeFiles::of(&[("Makefile", &chain(length))]), std::cell::Cell::default());
            let call = |words: &str| split_words(words).expect("words");
            let (lint, make) = (call("make t0 t1 t2"), call("make test"));
            let run = |argv: &[String]| tests_not_run(&files, &[RunCommand { argv, directory: "", tool: Tool::Generic }]);
            let said = run(&call("ruff check"));
            assert_eq!(said, Some(format!("\"test\" of Makefile ({lacks})")));
            assert_eq!(run(&make), None);
            files.1.set(0);
            run(&lint);
            assert!(files.1.get() < 20, "{} reads", files.1.get());
        }
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
