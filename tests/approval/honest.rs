//! Edits of the checks in `proctor.toml` through the program: what honest people edit goes through without a question, and
//! what weakens a check is asked for. Which words are neutral is tested row by row beside the table of neutral words.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::common::Project;

/// A check before and after an edit: command, and further lines of the check.
type Edit = ((&'static str, &'static str), (&'static str, &'static str));

const fn words(before: &'static str, now: &'static str) -> Edit {
    ((before, ""), (now, ""))
}

const fn lines(before: &'static str, now: &'static str) -> Edit {
    ((".venv/bin/tool", before), (".venv/bin/tool", now))
}

const HONEST: &[Edit] = &[
    words(".venv/bin/pytest", ".venv/bin/pytest -v"),
    words(".venv/bin/pytest", ".venv/bin/pytest -vv"),
    words(".venv/bin/pytest -v", ".venv/bin/pytest"),
    words(".venv/bin/pytest -q", ".venv/bin/pytest"),
    words(".venv/bin/pytest", ".venv/bin/pytest -ra"),
    words(".venv/bin/pytest -ra", ".venv/bin/pytest -rA"),
    words(".venv/bin/pytest tests", ".venv/bin/pytest --tb=short tests"),
    words(".venv/bin/pytest", ".venv/bin/pytest --tb long"),
    words(".venv/bin/pytest", ".venv/bin/pytest --color=no"),
    words(".venv/bin/pytest", ".venv/bin/pytest --durations=10"),
    words(".venv/bin/pytest", ".venv/bin/pytest -x"),
    words(".venv/bin/pytest -x", ".venv/bin/pytest"),
    words(".venv/bin/python -m pytest", ".venv/bin/python -m pytest -v"),
    words(".venv/bin/ruff check src", ".venv/bin/ruff check src tests"),
    words(".venv/bin/ruff check .", ".venv/bin/ruff check . --output-format=concise"),
    words(".venv/bin/ruff check .", ".venv/bin/ruff check --output-format json ."),
    words(".venv/bin/ruff format --check src", ".venv/bin/ruff format --check src tests"),
    words(".venv/bin/flake8 src", ".venv/bin/flake8 src tests"),
    words(".venv/bin/pylint src", ".venv/bin/pylint --output-format=json src"),
    words(".venv/bin/mypy src", ".venv/bin/mypy -v src"),
    words("node_modules/.bin/eslint src", "node_modules/.bin/eslint src test"),
    words("node_modules/.bin/eslint src", "node_modules/.bin/eslint --no-color src"),
    words("node_modules/.bin/prettier --check src", "node_modules/.bin/prettier --check src docs"),
    words("node_modules/.bin/tsc --noEmit", "node_modules/.bin/tsc --noEmit --pretty"),
    lines("timeout = \"20s\"", "timeout = \"40s\""),
    lines("timeout = \"20s\"", "timeout = \"5m\""),
    lines("timeout = \"8m\"", "timeout = \"16m\""),
    lines("timeout = \"5m\"", "timeout = \"10m\""),
    lines("timeout = \"5m\"", "timeout = \"1m\""),
    lines("paths = [\"src/**\"]", "paths = [\"src/**\", \"tests/**\"]"),
];

const WEAKER: &[Edit] = &[
    words(".venv/bin/pytest", ".venv/bin/pytest -q"),
    words(".venv/bin/pytest -q", ".venv/bin/pytest -qq"),
    words(".venv/bin/pytest", ".venv/bin/pytest -k fast"),
    words(".venv/bin/pytest -k slow", ".venv/bin/pytest -k -v"),
    words(".venv/bin/pytest", ".venv/bin/pytest --co"),
    words(".venv/bin/pytest", ".venv/bin/pytest --tb=no"),
    words(".venv/bin/pytest", ".venv/bin/pytest -rN"),
    words(".venv/bin/pytest tests", ".venv/bin/pytest tests other"),
    words(".venv/bin/pytest", ".venv/bin/pytest tests/good.py"),
    words(".venv/bin/pytest", ".venv/bin/pytest -p no:junitxml"),
    words(".venv/bin/python -m pytest", ".venv/bin/pytest"),
    words(".venv/bin/pytest", "./pytest"),
    words(".venv/bin/pytest", "true"),
    words(".venv/bin/pytest", "sh -c .venv/bin/pytest -k fast"),
    words(".venv/bin/ruff check .", ".venv/bin/ruff check src"),
    words(".venv/bin/ruff check", ".venv/bin/ruff check src"),
    words(".venv/bin/ruff check src", ".venv/bin/ruff check src @options"),
    words(".venv/bin/ruff check src", ".venv/bin/ruff check src --exit-zero"),
    words(".venv/bin/ruff check src", ".venv/bin/ruff check src --output-format=github"),
    words("node_modules/.bin/eslint src", "node_modules/.bin/eslint src --quiet"),
    words("node_modules/.bin/eslint src", "node_modules/.bin/eslint src !src/bad.js"),
    words("node_modules/.bin/eslint src", "node_modules/.bin/eslint src -f unix"),
    words("node_modules/.bin/tsc --noEmit", "node_modules/.bin/tsc --noEmit src/good.ts"),
    words(".venv/bin/mypy src", ".venv/bin/mypy src tests"),
    words(".venv/bin/pylint src", ".venv/bin/pylint src tests"),
    words("node_modules/.bin/jest src", "node_modules/.bin/jest src other"),
    words("node_modules/.bin/vitest run", "node_modules/.bin/vitest run --reporter=dot"),
    lines("timeout = \"20s\"", "timeout = \"301s\""),
    lines("timeout = \"8m\"", "timeout = \"961s\""),
    lines("paths = [\"src/**\", \"tests/**\"]", "paths = [\"src/**\"]"),
    lines("", "environment = { CI = \"1\" }"),
    lines("", "expected_exit_codes = [0, 1]"),
];

/// Returns a `proctor.toml` with one check for each edit, before or after the edit.
fn toml(edits: &[Edit], side: fn(&Edit) -> (&'static str, &'static str)) -> String {
    let mut text = String::new();
    for (number, edit) in edits.iter().enumerate() {
        let (command, lines) = side(edit);
        let words: Vec<&str> = command.splitn(if command.starts_with("sh ") { 3 } else { usize::MAX }, ' ').collect();
        writeln!(text, "[[check]]\nname = \"edit-{number}\"\ncommand = {words:?}\n{lines}\n").expect("it is a text");
    }
    text
}

fn before(edit: &Edit) -> (&'static str, &'static str) {
    edit.0
}

fn now(edit: &Edit) -> (&'static str, &'static str) {
    edit.1
}

#[test]
fn edits_of_honest_people_go_through_without_a_question() {
    assert!(HONEST.len() >= 25);
    let project = Project::new().toml(&toml(HONEST, before)).file("src/a.py", "");
    project.proctor(["run"]).any_status();
    project.save("proctor.toml", &toml(HONEST, now));
    let edited = project.proctor(["run"]).any_status();
    assert!(!edited.stderr.contains("than was approved"), "{}", edited.snapshot());
    assert!(edited.stderr.contains("asks for nothing less than before"), "{}", edited.snapshot());
}

#[test]
fn edits_that_weaken_are_asked_for() {
    assert!(WEAKER.len() >= 25);
    // The programs are there: a command whose program was never found may be corrected without a question.
    let programs: BTreeSet<&str> = WEAKER.iter().filter_map(|edit| before(edit).0.split(' ').next()).collect();
    let project = Project::new().toml(&toml(WEAKER, before)).file("src/a.py", "");
    let project = programs.into_iter().fold(project, |project, path| project.executable(path, "#!/bin/sh\nexit 1\n"));
    project.proctor(["run"]).any_status();
    let runs = project.store().committed_runs().len();
    project.save("proctor.toml", &toml(WEAKER, now));
    let refused = project.proctor(["run"]).status(3);
    for (number, edit) in WEAKER.iter().enumerate() {
        assert!(refused.stderr.contains(&format!("  edit-{number}: ")), "{edit:?} is asked for: {}", refused.snapshot());
    }
    assert!(refused.stderr.contains("(added `-k` `fast`)"), "{}", refused.snapshot());
    assert_eq!(project.store().committed_runs().len(), runs, "nothing was run");
}

#[test]
fn a_time_out_cannot_be_doubled_again_and_again() {
    let with = |timeout: &str| format!("[[check]]\nname = \"unit\"\ncommand = [\"true\"]\ntimeout = \"{timeout}\"\n");
    let project = Project::new().toml(&with("6m"));
    project.proctor(["run"]).success();
    project.save("proctor.toml", &with("12m"));
    project.proctor(["run"]).success();
    project.save("proctor.toml", &with("13m"));
    let refused = project.proctor(["run"]).status(3);
    assert!(refused.stderr.contains("timeout 13m instead of 6m"), "{}", refused.snapshot());
    project.save("proctor.toml", &with("12m"));
    project.proctor(["run"]).success();
}
