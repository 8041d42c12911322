//! The bundled projects, projects whose checks are found from their files, and cycles of RED, GREEN and REFACTOR.

use crate::recording::scenario::{Scenario, Step, everything, file, latest, play, proctor, scenario, screens, toml};

const PYTEST: &str = ".venv/bin/python";
const TSC: &str = "node_modules/.bin/tsc";
const ESLINT: &str = "node_modules/.bin/eslint";

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        scenario(
            "projects/quotes",
            [
                vec![Step::Bundled("quotes")],
                quotes("pass", "clean", "clean"),
                // What installs the real tools is no prerequisite here.
                toml(QUOTES),
                proctor("run"),
                everything(),
                screens(),
                quotes("fail", "findings", "findings"),
                proctor("status"),
                proctor("run"),
                latest(),
                proctor("history diff 1"),
                proctor("history diff 1 --json"),
                proctor("history test_bad"),
                quotes("pass", "clean", "warnings"),
                proctor("run --check eslint --check pytest"),
                latest(),
                proctor("history flaky"),
                proctor("log --failed"),
                proctor("log --test test_bad"),
            ],
        ),
        scenario(
            "projects/quotes without its programs",
            [vec![Step::Bundled("quotes")], proctor("plan"), proctor("run"), everything()],
        ),
        scenario(
            "projects/invoices",
            [
                vec![Step::Bundled("invoices")],
                proctor("run"),
                proctor("run --task T101"),
                proctor("run --task *"),
                everything(),
                proctor("plan --task T101"),
                proctor("plan --task T101 --json"),
                file("data/totals.txt", "2.67\n"),
                proctor("status"),
                proctor("run --task * --json"),
                proctor("status --json"),
                proctor("show --json"),
                proctor("log"),
                proctor("verify"),
            ],
        ),
        scenario(
            "found/python",
            [
                toml(ONE_BY_ONE),
                file("pyproject.toml", "[tool.pytest.ini_options]\n\n[tool.mypy]\n\n[tool.ruff]\n"),
                file("tests/test_a.py", "def test_ok():\n    assert True\n"),
                play(PYTEST, "pytest/9.2.0/pass.txt"),
                play(".venv/bin/mypy", "mypy/2.4.1/findings.txt"),
                play(".venv/bin/ruff", "ruff/0.17.6/findings-json.txt"),
                proctor("plan"),
                proctor("run"),
                everything(),
                proctor("init --print"),
            ],
        ),
        scenario(
            "found/node",
            [
                toml(ONE_BY_ONE),
                file("package.json", PACKAGE),
                file("tsconfig.json", "{\"compilerOptions\":{\"strict\":true}}\n"),
                file("eslint.config.mjs", "export default []\n"),
                file("a.test.js", "test('a', () => {})\n"),
                play("node_modules/.bin/jest", "jest/30.5.2/fail.txt"),
                play(TSC, "tsc/5.9.3/findings.txt"),
                play(ESLINT, "eslint/10.15.0/findings-json.txt"),
                proctor("plan"),
                proctor("run"),
                everything(),
            ],
        ),
        scenario(
            "found/rust and go",
            [
                file("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\n"),
                file("src/lib.rs", "#[test]\nfn a() {}\n"),
                file("go.mod", "module a\n\ngo 1.23\n"),
                file("a_test.go", "package a\n"),
                proctor("plan"),
                proctor("run"),
                everything(),
            ],
        ),
        scenario("found/nothing", [file("notes.txt", "nothing to check\n"), proctor("run"), everything()]),
        scenario(
            "tdd/cycle",
            [
                toml("[[check]]\nname = \"tests\"\ncommand = [\"./tests/pytest\"]\n"),
                tests_are("all-skipped"),
                proctor("tdd show"),
                proctor("run --phase RED"),
                proctor("tdd start"),
                tests_are("fail"),
                proctor("run"),
                everything(),
                proctor("run"),
                tests_are("pass"),
                proctor("run"),
                proctor("run --json"),
                proctor("tdd show"),
                latest(),
            ],
        ),
        scenario(
            "tdd/limits",
            [
                toml(
                    "[[check]]\nname = \"tests\"\ncommand = [\"./tests/pytest\"]\n\n[tdd]\nmax_attempts = 2\nmax_scaffold_retries = 2\n",
                ),
                tests_are("missing-module"),
                proctor("tdd start"),
                proctor("run"),
                proctor("run"),
                everything(),
                proctor("tdd reset"),
                proctor("tdd start GREEN"),
                tests_are("fail"),
                proctor("run"),
                proctor("run"),
                proctor("tdd show"),
                proctor("tdd phase GREEN"),
                latest(),
            ],
        ),
    ]
}

/// Where checks run at the same time, the order of the lines about them depends on the machine.
const ONE_BY_ONE: &str = "[run]\nparallel = false\n";

const PACKAGE: &str = r#"{
  "name": "a",
  "scripts": { "test": "jest", "lint": "eslint ." },
  "devDependencies": { "jest": "30.5.2", "typescript": "5.9.3", "eslint": "10.15.0" }
}
"#;

/// The checks of the bundled project, without the prerequisites that install real tools.
const QUOTES: &str = r#"
[[check]]
name = "pytest"
tool = "pytest"
command = ".venv/bin/python -m pytest"

[[check]]
name = "tsc"
tool = "tsc"
command = "./node_modules/.bin/tsc --noEmit -p web"

[[check]]
name = "eslint"
tool = "eslint"
command = "./node_modules/.bin/eslint web"

[policy.eslint]
block_on = "errors-only"

[run]
parallel = false
"#;

fn quotes(pytest: &str, tsc: &str, eslint: &str) -> Vec<Step> {
    [
        play(PYTEST, format!("pytest/9.2.0/{pytest}.txt")),
        play(TSC, format!("tsc/5.9.3/{tsc}.txt")),
        play(ESLINT, format!("eslint/10.15.0/{eslint}.txt")),
    ]
    .concat()
}

fn tests_are(output: &str) -> Vec<Step> {
    play("tests/pytest", format!("pytest/9.2.0/{output}.txt"))
}
