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
    words(".venv/bin/pytest", ".venv/bin/pytest --maxfail=1"),
    words(".venv/bin/pytest", ".venv/bin/pytest -rfE --showlocals"),
    words(".venv/bin/pytest src", ".venv/bin/pytest ./src/"),
    words(".venv/bin/ruff check src", ".venv/bin/ruff check ./src"),
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
    lines("paths = [\"src/**\"]", ""),
    words(".venv/bin/pytest -vv tests", ".venv/bin/pytest -v -ra --tb=short --color=yes --durations=5 -x tests"),
    words(".venv/bin/pytest tests/unit tests/more", ".venv/bin/pytest tests/unit tests/more --exitfirst"),
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
    lines("", "environment = { PYTEST_ADDOPTS = \"--co\" }"),
    lines("", "directory = \"src\""),
    lines("", "retries = 3"),
    lines("", "reuse = \"always\""),
    lines("", "snapshot = \"off\""),
    lines("", "writes = [\"src/**\"]"),
    ((".venv/bin/pytest", "control = true"), (".venv/bin/pytest", "")),
    lines("on_survivors = \"fail\"", "on_survivors = \"report\""),
    lines("max_output = \"1MB\"", ""),
    lines("idle_timeout = \"1m\"", ""),
    words(".venv/bin/pytest", "env PYTEST_ADDOPTS=--co .venv/bin/pytest"),
    words(".venv/bin/pytest", ".venv/bin/pytest --deselect=tests/test_a.py::test_a"),
    words(".venv/bin/pytest", ".venv/bin/pytest --ignore=tests"),
    words(".venv/bin/pytest", ".venv/bin/pytest --lf"),
    words(".venv/bin/pytest", ".venv/bin/pytest -c other.ini"),
    words(".venv/bin/pytest", ".venv/bin/pytest -o xfail_strict=false"),
    words(".venv/bin/pytest", ".venv/bin/pytest --maxfail=2"),
    words(".venv/bin/pytest", ".venv/bin/pytest -m fast"),
    words(".venv/bin/pytest tests/a tests/b", ".venv/bin/pytest tests/a"),
    words(".venv/bin/pytest -x tests", ".venv/bin/pytest -x"),
    words(".venv/bin/ruff check src tests", ".venv/bin/ruff check src"),
    words(".venv/bin/ruff check src", ".venv/bin/ruff check src --ignore=F401"),
    words(".venv/bin/ruff check src", ".venv/bin/ruff check src --fix"),
    words("node_modules/.bin/eslint src", "node_modules/.bin/eslint src --max-warnings=99"),
    words("node_modules/.bin/eslint src", "node_modules/.bin/eslint --no-ignore src"),
    words("node_modules/.bin/tsc --noEmit", "node_modules/.bin/tsc --noEmit --skipLibCheck"),
    words("node_modules/.bin/prettier --check src", "node_modules/.bin/prettier --write src"),
    words(".venv/bin/mypy src", ".venv/bin/mypy src --ignore-missing-imports"),
];

/// An edit of one place of [`FILE`]: what is edited, the text before and the text now. With an empty text before, the new text
/// is added at the end.
type FileEdit = (&'static str, &'static str, &'static str);

/// A whole `proctor.toml`, with settings of most tables.
const FILE: &str = "\
[project]
name = \"shop\"

[[check]]
name = \"unit\"
command = [\".venv/bin/pytest\", \"tests\"]
timeout = \"60s\"
paths = [\"src/**\", \"tests/**\"]
retries = 1

[[check]]
name = \"lint\"
command = [\".venv/bin/ruff\", \"check\", \"src\"]

[[prerequisite]]
name = \"packages\"
command = [\"true\"]

[defaults]
on_survivors = \"fail\"

[run]
order = \"plan\"

[watch]
quiet = \"20ms\"
include = [\"generated/**\"]

[evidence]
keep_runs = 100

[sandbox]
memory = \"4GiB\"
caches = \"fresh\"

[tdd]
max_attempts = 5

[approval]
protect = [\"tests/**\"]
on_protected_change = \"human-review\"

[policy]
linting = \"errors-and-warnings\"
";

const HONEST_FILE_EDITS: &[FileEdit] = &[
    ("a comment", "[project]", "# The checks of the shop.\n[project]"),
    ("a comment behind a value", "retries = 1", "retries = 1 # slow machines"),
    ("other quotation marks", "\"tests\"]\ntimeout", "'tests']\ntimeout"),
    ("a list over several lines", "[\"src/**\", \"tests/**\"]\nretries", "[\n  \"src/**\",\n  \"tests/**\",\n]\nretries"),
    ("another unit of time", "\"60s\"", "\"1m\""),
    (
        "another order of keys",
        "name = \"unit\"\ncommand = [\".venv/bin/pytest\", \"tests\"]\ntimeout = \"60s\"",
        "timeout = \"60s\"\ncommand = [\".venv/bin/pytest\", \"tests\"]\nname = \"unit\"",
    ),
    ("the default time-out", "timeout = \"60s\"\n", ""),
    ("fewer attempts", "retries = 1\n", ""),
    ("a new name of the project", "\"shop\"", "\"store\""),
    ("a new name of a check", "name = \"unit\"", "name = \"tests\""),
    ("a further check", "", "[[check]]\nname = \"types\"\ncommand = [\"true\"]\n"),
    (
        "a further check before the others",
        "[[check]]\nname = \"unit\"",
        "[[check]]\nname = \"new\"\ncommand = [\"true\"]\n\n[[check]]\nname = \"unit\"",
    ),
    ("the order of the checks", "retries = 1\n", "retries = 1\nafter = [\"lint\"]\n"),
    ("which check is first", "order = \"plan\"", "order = \"failed-first\""),
    ("checks at the same time", "order = \"plan\"", "order = \"plan\"\nparallel = false"),
    ("another pause", "quiet = \"20ms\"", "quiet = \"200ms\"\nnotify = true\nclear = true"),
    ("more that belongs to the tree", "[\"generated/**\"]", "[\"generated/**\", \"more/**\"]"),
    ("more evidence", "keep_runs = 100", "keep_runs = 500"),
    ("all evidence", "keep_runs = 100\n", ""),
    ("less memory", "\"4GiB\"", "\"1GiB\""),
    ("required isolation", "memory = ", "mode = \"require\"\nmemory = "),
    ("fewer attempts of a cycle", "max_attempts = 5", "max_attempts = 3"),
    ("more protected files", "protect = [\"tests/**\"]", "protect = [\"tests/**\", \"conftest.py\"]"),
    ("a new name of a prerequisite", "\"packages\"", "\"dependencies\""),
    ("a neutral word", "\"tests\"]\ntimeout", "\"-v\", \"tests\"]\ntimeout"),
    ("a further path of a linter", "\"check\", \"src\"]", "\"check\", \"src\", \"tests\"]"),
    ("more time", "timeout = \"60s\"", "timeout = \"4m\""),
    ("a time without output", "retries = 1", "retries = 1\nidle_timeout = \"30s\""),
    ("less output", "retries = 1", "retries = 1\nmax_output = \"1MB\""),
];

/// An edit that is refused before anything is compared with the approved plan.
const HIDES_EXIT_CODE: &str = "a shell that hides the exit code";

const WEAKER_FILE_EDITS: &[FileEdit] = &[
    ("a check is removed", "[[check]]\nname = \"lint\"\ncommand = [\".venv/bin/ruff\", \"check\", \"src\"]\n", ""),
    (
        "a check is a comment",
        "name = \"lint\"\ncommand = [\".venv/bin/ruff\", \"check\", \"src\"]",
        "name = \"lint\"\ncommand = \"true\" # ruff check src",
    ),
    (
        "a check has a new name and does less",
        "name = \"lint\"\ncommand = [\".venv/bin/ruff\", ",
        "name = \"style\"\ncommand = [\"true\", ",
    ),
    ("two checks change places", "[\".venv/bin/ruff\", \"check\", \"src\"]", "[\".venv/bin/pytest\", \"tests\"]"),
    (
        HIDES_EXIT_CODE,
        "command = [\".venv/bin/pytest\", \"tests\"]",
        "command = \".venv/bin/pytest tests || exit 0\"\nshell = true",
    ),
    ("a command that is a success", "[\".venv/bin/pytest\", \"tests\"]", "[\"sh\", \"-c\", \"exit 0\"]"),
    ("fewer paths trigger a check", "[\"src/**\", \"tests/**\"]", "[\"tests/**\"]"),
    ("more attempts", "retries = 1", "retries = 5"),
    ("another directory", "retries = 1", "retries = 1\ndirectory = \"src\""),
    ("a variable", "retries = 1", "retries = 1\nenvironment = { PYTEST_ADDOPTS = \"-k fast\" }"),
    ("another tool reads the output", "retries = 1", "retries = 1\ntool = \"generic\""),
    ("failures are expected", "command = [\"true\"]", "command = [\"true\"]\nexpected_exit_codes = [0, 1]"),
    ("survivors of a check", "on_survivors = \"fail\"", "on_survivors = \"report\""),
    ("survivors of all checks", "[defaults]\non_survivors = \"fail\"\n", ""),
    ("far more time", "[defaults]\n", "[defaults]\nidle_timeout = \"off\"\ntimeout = \"2h\"\n"),
    ("earlier results", "order = \"plan\"", "order = \"plan\"\nreuse = \"always\""),
    ("a smaller tree", "quiet = \"20ms\"", "ignore = [\"src/\"]"),
    ("less that belongs to the tree", "include = [\"generated/**\"]\n", ""),
    ("less evidence", "keep_runs = 100", "keep_runs = 1"),
    ("more memory", "memory = \"4GiB\"\n", ""),
    ("kept caches", "\"fresh\"", "\"kept\""),
    ("no isolation", "memory = ", "mode = \"off\"\nmemory = "),
    ("no snapshot", "memory = ", "snapshot = \"off\"\nmemory = "),
    ("more that is visible", "memory = ", "visible = [\"~/.ssh\"]\nmemory = "),
    ("more that is writable", "memory = ", "writable = [\"~/.config\"]\nmemory = "),
    ("a writable home", "memory = ", "home = \"overlay\"\nmemory = "),
    ("no filter of system calls", "memory = ", "system_call_filter = \"off\"\nmemory = "),
    ("more attempts of a cycle", "max_attempts = 5", "max_attempts = 50"),
    ("no protected files", "protect = [\"tests/**\"]\n", ""),
    ("nobody looks at protected files", "on_protected_change = \"human-review\"\n", ""),
    ("a weaker policy", "\"errors-and-warnings\"", "\"never\""),
    ("no policy", "[policy]\nlinting = \"errors-and-warnings\"\n", ""),
    ("another prerequisite", "name = \"packages\"\ncommand = [\"true\"]", "name = \"packages\"\ncommand = [\"sh\", \"evil.sh\"]"),
    ("no prerequisite", "[[prerequisite]]\nname = \"packages\"\ncommand = [\"true\"]\n", ""),
    ("a further prerequisite", "", "[[prerequisite]]\nname = \"evil\"\ncommand = [\"true\"]\n"),
    (
        "a service",
        "",
        "[[prerequisite]]\nname = \"evil\"\ncommand = [\"sleep\", \"9\"]\nservice = true\nready = { port = 4173 }\n",
    ),
    ("a clean-up", "", "[[cleanup]]\nname = \"evil\"\ncommand = [\"true\"]\n"),
    ("a variable of the person", "", "[environment]\npass_environment = [\"PYTEST_ADDOPTS\"]\n"),
    ("a file of variables", "", "[environment]\nenv_file = \".env\"\n"),
    ("an empty file", FILE, ""),
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

/// Returns a project of [`FILE`] whose tools are there, of a user who allows nothing, after its first run.
fn project_of_file() -> Project {
    let project =
        Project::new().allowing_nothing().toml(FILE).file("src/a.py", "").file("tests/test_a.py", "").file(".env", "A=b\n");
    let tools = [".venv/bin/pytest", ".venv/bin/ruff"];
    let project = tools.into_iter().fold(project, |project, path| project.executable(path, "#!/bin/sh\nexit 1\n"));
    let first = project.proctor(["run"]).any_status();
    assert_ne!(first.status, 3, "{}", first.snapshot());
    project
}

/// Saves one edit of [`FILE`].
#[track_caller]
fn save_edit(project: &Project, (what, before, now): &FileEdit) {
    let edited = if before.is_empty() { format!("{FILE}\n{now}") } else { FILE.replacen(before, now, 1) };
    assert_ne!(edited, FILE, "{what}: the place is there");
    project.save("proctor.toml", &edited);
}

#[test]
#[ignore = "long tier"]
fn edits_of_a_whole_file_by_honest_people_go_through_without_a_question() {
    assert!(HONEST_FILE_EDITS.len() >= 25);
    for edit in HONEST_FILE_EDITS {
        let project = project_of_file();
        let runs = project.store().committed_runs().len();
        save_edit(&project, edit);
        let edited = project.proctor(["run"]).any_status();
        assert_ne!(edited.status, 3, "{}: {}", edit.0, edited.snapshot());
        assert!(project.store().committed_runs().len() > runs, "{}: {}", edit.0, edited.snapshot());
    }
}

#[test]
fn edits_of_a_whole_file_that_weaken_are_asked_for_one_by_one() {
    assert!(WEAKER_FILE_EDITS.len() >= 25);
    let project = project_of_file();
    let runs = project.store().committed_runs().len();
    for edit in WEAKER_FILE_EDITS {
        save_edit(&project, edit);
        let refused = project.proctor(["run"]).any_status();
        // A script that hides its exit code is no right configuration, whoever approves it.
        let said = if edit.0 == HIDES_EXIT_CODE { (4, "turns every failure into success") } else { (3, "than was approved") };
        assert_eq!(refused.status, said.0, "{}: {}", edit.0, refused.snapshot());
        assert!(refused.stderr.contains(said.1), "{}: {}", edit.0, refused.snapshot());
        assert_eq!(project.store().committed_runs().len(), runs, "{}: nothing was run", edit.0);
    }
    // The file as it was approved is no question.
    project.save("proctor.toml", FILE);
    assert_ne!(project.proctor(["run"]).any_status().status, 3);
}
