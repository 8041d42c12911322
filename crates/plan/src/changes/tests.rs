//! Edits that make a commit green in another way, and edits that do not: each of the first kind is named, and none of the second is asked
//! about.

use super::{ChangeKind, ChangedFile, GateChange, Started, find_gate_changes};
use proctor_model::WeakenedChanges;

mod further;

fn changes(files: &[(&str, &str, &str)], started: &[&str]) -> Vec<GateChange> {
    let files: Vec<ChangedFile<'_>> = files
        .iter()
        .map(|(path, before, after)| ChangedFile {
            path,
            before: Some(*before).filter(|text| !text.is_empty()),
            after: Some(*after).filter(|text| !text.is_empty()),
            is_there: (!before.is_empty(), !after.is_empty()),
        })
        .collect();
    let files_of_checks = started.iter().map(|path| (*path).to_owned()).collect();
    let words = ["npm", "test", "unit"].map(str::to_owned).into();
    find_gate_changes(&files, &Started { files: files_of_checks, words })
}

const TESTS: &str = "def test_a():\n    assert f() == 1\n\ndef test_b():\n    assert f() == 2\n";
const RUFF: &str = "[tool.ruff.lint]\nselect = [\"E\", \"F\"]\n";

/// An edit: what it is, the file, its text before and after, and the kind that has to be among those that are found.
type Edit = (&'static str, &'static str, &'static str, &'static str, ChangeKind);

const WEAKER: &[Edit] = &[
    (
        "PHPStan from its highest level",
        "phpstan.neon",
        "parameters:\n    level: max\n",
        "parameters:\n    level: 0\n",
        ChangeKind::SwitchedOff,
    ),
    (
        "a rule called like an option of form",
        ".eslintrc.json",
        "{\"rules\": {\"semi\": \"error\"}}",
        "{\"rules\": {\"semi\": \"off\"}}",
        ChangeKind::SwitchedOff,
    ),
    ("a test is removed", "tests/test_a.py", TESTS, "def test_a():\n    assert f() == 1\n", ChangeKind::TestGone),
    ("a file of tests is removed", "tests/test_a.py", TESTS, "", ChangeKind::TestGone),
    (
        "a test is renamed so that it is not collected",
        "test_a.py",
        TESTS,
        "def test_a():\n    assert f() == 1\n\ndef xtest_b():\n    assert 0\n",
        ChangeKind::TestGone,
    ),
    (
        "a test in JavaScript is removed",
        "a.test.js",
        "it('adds', () => {\n  expect(1)\n})\n",
        "it('other', () => {\n})\n",
        ChangeKind::TestGone,
    ),
    (
        "a test in Rust is removed",
        "src/a.rs",
        "#[test]\nfn adds() {\n    assert!(x());\n}\n",
        "fn other() {}\n",
        ChangeKind::TestGone,
    ),
    ("a test in Go is removed", "a_test.go", "func TestAdds(t *testing.T) {\n\tf()\n}\n", "package a\n", ChangeKind::TestGone),
    (
        "a test is skipped",
        "test_a.py",
        TESTS,
        "@pytest.mark.skip\ndef test_a():\n    assert f() == 1\n\ndef test_b():\n    assert f() == 2\n",
        ChangeKind::TestSkipped,
    ),
    (
        "a test is expected to fail",
        "test_a.py",
        TESTS,
        "def test_a():\n    pytest.xfail('later')\n    assert f() == 1\n\ndef test_b():\n    assert f() == 2\n",
        ChangeKind::TestSkipped,
    ),
    (
        "only one test runs",
        "a.test.js",
        "it('a', () => {})\nit('b', () => {})\n",
        "it.only('a', () => {})\nit('b', () => {})\n",
        ChangeKind::TestSkipped,
    ),
    (
        "a test in Rust is ignored",
        "src/a.rs",
        "#[test]\nfn adds() {}\n",
        "#[test]\n#[ignore]\nfn adds() {}\n",
        ChangeKind::TestSkipped,
    ),
    (
        "files are not collected",
        "conftest.py",
        "import x\n",
        "import x\ncollect_ignore = ['test_a.py']\n",
        ChangeKind::TestSkipped,
    ),
    ("a conftest changes", "conftest.py", "a = 1\n", "a = 2\n", ChangeKind::Program),
    ("a target does nothing", "Makefile", "test:\n\tpytest\n", "test:\n\t-pytest\n", ChangeKind::Command),
    ("a new file of targets is read first", "ci/GNUmakefile", "", "test:\n\ttrue\n", ChangeKind::Command),
    ("a recipe does nothing", "justfile", "test:\n  pytest\n", "test:\n  true\n", ChangeKind::Command),
    ("a session of nox does nothing", "noxfile.py", "a\n", "b\n", ChangeKind::Command),
    ("a task does nothing", "Taskfile.yml", "a\n", "b\n", ChangeKind::Command),
    ("a started script ends well", "scripts/check.sh", "pytest\n", "pytest; exit 0\n", ChangeKind::Command),
    (
        "a script of npm does nothing",
        "package.json",
        "{\"scripts\": {\"test\": \"jest\"}}",
        "{\"scripts\": {\"test\": \"true\"}}",
        ChangeKind::Command,
    ),
    ("fewer rules are selected", "pyproject.toml", RUFF, "[tool.ruff.lint]\nselect = [\"E\"]\n", ChangeKind::SwitchedOff),
    (
        "a rule is ignored",
        "pyproject.toml",
        RUFF,
        "[tool.ruff.lint]\nselect = [\"E\", \"F\"]\nignore = [\"F401\"]\n",
        ChangeKind::SwitchedOff,
    ),
    (
        "a rule is ignored in some files",
        "ruff.toml",
        "line-length = 80\n",
        "line-length = 80\n[lint.per-file-ignores]\n\"a.py\" = [\"F401\"]\n",
        ChangeKind::SwitchedOff,
    ),
    ("mypy is not strict any more", "mypy.ini", "[mypy]\nstrict = true\n", "[mypy]\nstrict = false\n", ChangeKind::SwitchedOff),
    (
        "mypy ignores errors of a module",
        "mypy.ini",
        "[mypy]\nstrict = true\n",
        "[mypy]\nstrict = true\n[mypy-a.*]\nignore_errors = True\n",
        ChangeKind::SwitchedOff,
    ),
    (
        "strict is removed",
        "tsconfig.json",
        "{\"compilerOptions\": {\"strict\": true}}",
        "{\"compilerOptions\": {}}",
        ChangeKind::SwitchedOff,
    ),
    (
        "tests are deselected",
        "pytest.ini",
        "[pytest]\naddopts = -q\n",
        "[pytest]\naddopts = -q --deselect test_a.py::test_b\n",
        ChangeKind::SwitchedOff,
    ),
    (
        "tests are chosen by a word",
        "pyproject.toml",
        "[tool.pytest.ini_options]\naddopts = \"-q\"\n",
        "[tool.pytest.ini_options]\naddopts = \"-q -k fast\"\n",
        ChangeKind::SwitchedOff,
    ),
    (
        "fewer directories have tests",
        "setup.cfg",
        "[tool:pytest]\ntestpaths = tests more\n",
        "[tool:pytest]\ntestpaths = tests\n",
        ChangeKind::SwitchedOff,
    ),
    (
        "the bar of the coverage is lower",
        ".coveragerc",
        "[report]\nfail_under = 90\n",
        "[report]\nfail_under = 10\n",
        ChangeKind::SwitchedOff,
    ),
    (
        "a rule of eslint is off",
        ".eslintrc.json",
        "{\"rules\": {\"eqeqeq\": \"error\"}}",
        "{\"rules\": {\"eqeqeq\": \"off\"}}",
        ChangeKind::SwitchedOff,
    ),
    (
        "a rule of eslint is removed",
        ".eslintrc.json",
        "{\"rules\": {\"eqeqeq\": [\"error\", \"smart\"]}}",
        "{\"rules\": {}}",
        ChangeKind::SwitchedOff,
    ),
    (
        "paths of tests are ignored",
        "package.json",
        "{\"jest\": {}}",
        "{\"jest\": {\"testPathIgnorePatterns\": [\"a\"]}}",
        ChangeKind::SwitchedOff,
    ),
    ("files are not linted", ".eslintignore", "a\n", "a\nbuild/\n", ChangeKind::SwitchedOff),
    (
        "a lint of clippy is allowed",
        "Cargo.toml",
        "[lints.clippy]\nunwrap_used = \"deny\"\n",
        "[lints.clippy]\nunwrap_used = \"allow\"\n",
        ChangeKind::SwitchedOff,
    ),
    ("a configuration is broken", "pyproject.toml", RUFF, "[tool", ChangeKind::SwitchedOff),
    ("a program of settings changes", "eslint.config.js", "a\n", "b\n", ChangeKind::Program),
    ("a finding is silenced", "a.py", "x = 1\n", "x = 1  # noqa\n", ChangeKind::Suppression),
    ("a type error is silenced", "a.py", "x = 1\n", "x = 1  # type: ignore\n", ChangeKind::Suppression),
    ("a module is not type-checked", "a.py", "x = 1\n", "# mypy: ignore-errors\nx = 1\n", ChangeKind::Suppression),
    ("a file is not linted", "a.ts", "x\n", "/* eslint-disable */\nx\n", ChangeKind::Suppression),
    ("a file is not compiled", "a.ts", "x\n", "// @ts-nocheck\nx\n", ChangeKind::Suppression),
    ("a stub stands beside a module", "a.pyi", "", "x: int\n", ChangeKind::Suppression),
    ("a file is removed", "data/cases.json", "{}", "", ChangeKind::FileGone),
    (
        "Cargo builds a test without its runner",
        "Cargo.toml",
        "[package]\n",
        "[package]\n[[test]]\nharness = false\n",
        ChangeKind::SwitchedOff,
    ),
    (
        "Cargo finds no tests",
        "Cargo.toml",
        "[package]\nname = \"a\"\n",
        "[package]\nautotests = false\n",
        ChangeKind::SwitchedOff,
    ),
    ("Cargo tests no library", "Cargo.toml", "[lib]\n", "[lib]\ntest = false\n", ChangeKind::SwitchedOff),
    ("Cargo starts another program", "a/.cargo/config.toml", "", "[target.x86_64]\nrunner = \"true\"\n", ChangeKind::Command),
    (
        "lints are capped",
        ".cargo/config.toml",
        "[a]\n",
        "[build]\nrustflags = [\"--cap-lints\", \"allow\"]\n",
        ChangeKind::SwitchedOff,
    ),
    ("pytest reads another file", "pytest.ini", "", "[pytest]\n", ChangeKind::Setting),
    (
        "a test in Rust is not built",
        "a.rs",
        "#[test]\nfn a() {}\n",
        "#[cfg(any())]\n#[test]\nfn a() {}\n",
        ChangeKind::TestSkipped,
    ),
    ("a file in Go is not built", "a_test.go", "package a\n", "//go:build never\npackage a\n", ChangeKind::TestSkipped),
    ("a test in Ruby is left out", "a_spec.rb", "it \"x\" do\n", "xit \"x\" do\n", ChangeKind::TestSkipped),
    ("a class is no test", "test_a.py", "class A:\n", "class A:\n    __test__=False\n", ChangeKind::TestSkipped),
    ("a linter of Go is off", ".golangci.yml", "linters:\n  enable:\n", "linters:\n  disable:\n", ChangeKind::SwitchedOff),
    ("Maven skips tests", "pom.xml", "<a>\n", "<a>\n<skipTests>true</skipTests>\n", ChangeKind::SwitchedOff),
    ("Gradle leaves tests out", "build.gradle", "test {}\n", "test { exclude '**' }\n", ChangeKind::SwitchedOff),
    ("RSpec leaves tests out", ".rspec", "--order rand\n", "--tag ~slow\n", ChangeKind::SwitchedOff),
    ("a workspace of Vitest is gone", "vitest.workspace.json", "[\"a\", \"b\"]", "[\"a\"]", ChangeKind::SwitchedOff),
    ("npm runs another shell", ".npmrc", "a=1\n", "a=1\nscript-shell=/bin/true\n", ChangeKind::Setting),
    ("Python runs a file first", "sitecustomize.py", "", "import os\n", ChangeKind::Program),
    (
        "a test ends as skipped",
        "test_a.py",
        TESTS,
        "def test_a():\n    raise SkipTest\n\ndef test_b():\n    assert f() == 2\n",
        ChangeKind::TestSkipped,
    ),
    (
        "rules of Biome are off",
        "biome.json",
        "{\"linter\": {\"rules\": {\"recommended\": true}}}",
        "{\"linter\": {\"rules\": {\"recommended\": false}}}",
        ChangeKind::SwitchedOff,
    ),
    (
        "a rule of pyright is off",
        "pyrightconfig.json",
        "{\"reportMissingImports\": \"error\"}",
        "{\"reportMissingImports\": \"none\"}",
        ChangeKind::SwitchedOff,
    ),
    ("PHPStan asks for less", "phpstan.neon", "parameters:\n  level: 8\n", "parameters:\n  level: 1\n", ChangeKind::SwitchedOff),
    ("Mocha chooses tests", ".mocharc.json", "{}", "{\"grep\": \"good\"}", ChangeKind::SwitchedOff),
    (
        "a script of Composer",
        "composer.json",
        "{\"scripts\": {\"test\": \"phpunit\"}}",
        "{\"scripts\": {\"test\": \"true\"}}",
        ChangeKind::Command,
    ),
    ("CMake registers fewer tests", "CMakeLists.txt", "add_test(NAME a COMMAND a)\n", "project(a)\n", ChangeKind::Program),
    ("a configuration that nobody knows", "stylelint.config.json", "{\n}\n", "{\n\"rules\": null\n}\n", ChangeKind::Setting),
    ("a dotfile that nobody knows", ".hadolint.yaml", "ignored: []\n", "ignored:\n- DL3008\n", ChangeKind::Setting),
];

#[test]
fn what_makes_a_commit_green_in_another_way_is_named() {
    for (what, file, before, after, kind) in WEAKER {
        let found = changes(&[(file, before, after)], &["scripts/check.sh", "ci/Makefile"]);
        assert!(found.iter().any(|change| change.kind == *kind && change.file == *file), "{what}: {found:?}");
    }
}

/// Edits of an ordinary day.
const HONEST: &[(&str, &str, &str, &str)] = &[
    ("Jest tells less", "jest.config.json", "{\"verbose\": true}", "{\"verbose\": false, \"testTimeout\": 20000}"),
    ("another form", ".prettierrc.json", "{\"semi\": true}", "{\"semi\": false, \"singleQuote\": false}"),
    ("PHPStan asks for more", "phpstan.neon", "parameters:\n  level: 5\n", "parameters:\n  level: 6\n"),
    ("a dotfile of something else", ".travis.yml", "jobs: 1\n", "jobs: 2\nallow_failures: skip\n"),
    ("a dependency of PHP", "composer.json", "{\"require\": {\"a\": \"1\"}}", "{\"require\": {\"a\": \"2\"}}"),
    ("a test is added", "test_a.py", "def test_a():\n    pass\n", TESTS),
    ("a test is renamed", "test_a.py", TESTS, "def test_first():\n    assert f() == 1\n\ndef test_b():\n    assert f() == 2\n"),
    ("a test is mended", "test_a.py", TESTS, "def test_a():\n    assert f() == 3\n\ndef test_b():\n    assert f() == 2\n"),
    (
        "tests are formatted",
        "test_a.py",
        TESTS,
        "def test_a():\n    assert  f()  ==  1\n\n\ndef test_b():\n    assert f() == 2\n",
    ),
    (
        "a marked test moves",
        "test_a.py",
        "@pytest.mark.skip\ndef test_a(): ...\ndef test_b(): ...\n",
        "def test_b(): ...\n@pytest.mark.skip\ndef test_a(): ...\n",
    ),
    ("a test runs again", "test_a.py", "@pytest.mark.skip\ndef test_a():\n    pass\n", "def test_a():\n    pass\n"),
    ("a stricter linter", "pyproject.toml", RUFF, "[tool.ruff.lint]\nselect = [\"E\", \"F\", \"B\"]\n"),
    ("a rule is not ignored any more", "ruff.toml", "ignore = [\"F401\"]\n", "ignore = []\n"),
    ("mypy becomes strict", "mypy.ini", "[mypy]\nstrict = false\n", "[mypy]\nstrict = true\n"),
    ("a longer line", "ruff.toml", "line-length = 80\n", "line-length = 100\n"),
    ("quieter tests", "pytest.ini", "[pytest]\naddopts = -ra\n", "[pytest]\naddopts = -ra -q\n"),
    ("a higher bar", ".coveragerc", "[report]\nfail_under = 80\n", "[report]\nfail_under = 90\n"),
    ("a new dependency", "pyproject.toml", "[project]\ndependencies = [\"a\"]\n", "[project]\ndependencies = [\"a\", \"b\"]\n"),
    (
        "a new script of npm",
        "package.json",
        "{\"scripts\": {\"test\": \"jest\"}}",
        "{\"scripts\": {\"test\": \"jest\", \"dev\": \"vite\"}}",
    ),
    ("a version", "package.json", "{\"version\": \"1\"}", "{\"version\": \"2\"}"),
    ("code", "src/a.py", "x = 1\n", "x = 2\n"),
    ("a page", "docs/a.md", "a\n", "b\n"),
    ("a word like a mark", "a.py", "x\n", "sys.exit(1)\nprofit(2)\nedit.only(3)\n"),
    ("a new file", "src/b.ts", "", "export const x = 1\n"),
    ("a new Makefile", "Makefile", "", "all:\n\ttrue\n"),
    ("a new file of targets of another program", "ci/justfile", "", "all:\n  true\n"),
    ("a new configuration of pytest", "conftest.py", "", "import pytest\n"),
    (
        "a rule of eslint is an error",
        ".eslintrc.json",
        "{\"rules\": {\"eqeqeq\": \"warn\"}}",
        "{\"rules\": {\"eqeqeq\": \"error\"}}",
    ),
    (
        "a lint of clippy is denied",
        "Cargo.toml",
        "[lints.clippy]\nunwrap_used = \"allow\"\n",
        "[lints.clippy]\nunwrap_used = \"deny\"\n",
    ),
    (
        "a TypeScript target",
        "tsconfig.json",
        "{\"compilerOptions\": {\"target\": \"es2020\"}}",
        "// newer\n{\"compilerOptions\": {\"target\": \"es2022\"}}",
    ),
    ("a moved comment", "a.py", "  x = f()  # noqa\n", "if y:\n    x = f()  # noqa\n"),
    ("a comment that silences goes", "a.py", "x = f()  # noqa\n", "x = f()\n"),
    (
        "a test gets cases",
        "test_a.py",
        "def test_a():\n    assert f(1)\n",
        "@pytest.mark.parametrize('n', [1, 2])\ndef test_a(n):\n    assert f(n)\n",
    ),
    (
        "a test in JavaScript is renamed",
        "a.test.js",
        "it('adds', () => {\n  expect(1)\n})\n",
        "it('sums', () => {\n  expect(1)\n})\n",
    ),
    ("a test in Rust is added", "src/a.rs", "fn x() {}\n", "fn x() {}\n#[test]\nfn adds() {\n    assert!(x());\n}\n"),
    (
        "a test in Go is formatted",
        "a_test.go",
        "func TestAdds(t *testing.T) {\nf()\n}\n",
        "func TestAdds(t *testing.T) {\n\tf()\n}\n",
    ),
    ("a mark of pytest", "pytest.ini", "[pytest]\nmarkers =\n    slow\n", "[pytest]\nmarkers =\n    slow\n    db\n"),
    ("a log of pytest", "pyproject.toml", "[tool.pytest.ini_options]\n", "[tool.pytest.ini_options]\nlog_level = \"INFO\"\n"),
    ("another Python for mypy", "mypy.ini", "[mypy]\npython_version = 3.11\n", "[mypy]\npython_version = 3.12\n"),
    (
        "a stricter compiler",
        "tsconfig.json",
        "{\"compilerOptions\": {\"strict\": true}}",
        "{\"compilerOptions\": {\"strict\": true, \"noUnusedLocals\": true}}",
    ),
    ("a new rule of eslint", ".eslintrc.json", "{\"rules\": {}}", "{\"rules\": {\"eqeqeq\": \"error\"}}"),
    ("locked packages", "package-lock.json", "{\"lockfileVersion\": 2}", "{\"lockfileVersion\": 3}"),
    ("a workflow", ".github/workflows/ci.yml", "on: push\n", "on: [push, pull_request]\n"),
    ("a crate", "Cargo.toml", "[dependencies]\na = \"1\"\n", "[dependencies]\na = \"1\"\nb = \"2\"\n"),
    ("branches are covered", ".coveragerc", "[run]\nbranch = false\n", "[run]\nbranch = true\n"),
    ("a new program", "Cargo.toml", "[package]\nversion = \"1\"\n", "[package]\nversion = \"2\"\n[[bin]]\nname = \"b\"\n"),
    ("tests of a module", "a.rs", "fn a() {}\n", "fn a() {}\n#[cfg(test)]\nmod tests {}\nlet b = c.skip(1);\n"),
    ("code for one system", "a.go", "package a\n", "//go:build linux\npackage a\n"),
    ("a dependency of Maven", "pom.xml", "<version>1</version>\n", "<version>2</version>\n"),
    ("another linter of Go", ".golangci.yml", "enable:\n- govet\n", "enable:\n- govet\n- gosec\n"),
    ("the highest level of PHPStan", "phpstan.neon", "parameters:\n    level: 8\n", "parameters:\n    level: max\n"),
    ("a comment in settings", "setup.cfg", "[flake8]\nmax-line-length = 80\n", "# by hand\n[flake8]\nmax-line-length = 80\n"),
];

#[test]
fn what_makes_nothing_weaker_is_not_asked_about() {
    assert!(WEAKER.len() >= 40 && HONEST.len() >= 40, "{} and {}", WEAKER.len(), HONEST.len());
    for (what, file, before, after) in HONEST {
        let found = changes(&[(file, before, after)], &["scripts/check.sh", "ci/Makefile"]);
        let asked: Vec<_> = found.iter().filter(|change| change.kind.asks(WeakenedChanges::Ask)).collect();
        assert!(asked.is_empty(), "{what}: {asked:?}");
    }
    let ignored = changes(&[(".gitignore", "a\n", "a\ndist/\n"), ("old.py", "x\n", "")], &[]);
    assert!(ignored.iter().all(|change| !change.kind.asks(WeakenedChanges::Ask)), "{ignored:?}");
    // A test that moves to another file is the same test.
    let moved = changes(
        &[
            ("test_a.py", TESTS, "def test_a():\n    assert f() == 1\n"),
            ("test_b.py", "", "def test_b():\n    assert f() == 2\n"),
        ],
        &[],
    );
    assert!(moved.iter().all(|change| !change.kind.asks(WeakenedChanges::Ask)), "{moved:?}");
}

#[test]
fn a_file_that_is_removed_and_ignored_left_the_tree() {
    for rule in ["kept/", "/kept/", "*.py", "settings.py", "kept/settings.py", "kept"] {
        let found = changes(&[(".gitignore", "a\n", &format!("a\n{rule}\n")), ("kept/settings.py", "x\n", "")], &[]);
        assert_eq!(found.len(), 1, "{rule}: {found:?}");
        assert_eq!((found[0].kind, found[0].file.as_str()), (ChangeKind::LeftTree, "kept/settings.py"), "{rule}");
    }
}

#[test]
fn a_setting_is_named_by_its_key_with_both_values() {
    let found = changes(&[("pyproject.toml", RUFF, "[tool.ruff.lint]\nselect = [\"E\"]\n")], &[]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, "tool.ruff.lint.select: [\"E\",\"F\"] → [\"E\"]");
}

#[test]
fn the_setting_says_which_changes_are_asked_about() {
    let all = [ChangeKind::TestGone, ChangeKind::SwitchedOff, ChangeKind::Setting, ChangeKind::Suppression, ChangeKind::FileGone];
    let asked = |policy| all.into_iter().filter(|kind| kind.asks(policy)).count();
    assert_eq!([WeakenedChanges::Say, WeakenedChanges::Ask, WeakenedChanges::AskAll].map(asked), [0, 2, 5]);
}
