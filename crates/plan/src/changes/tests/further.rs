//! More edits of both kinds, each of one or more files: one row for each rule of the readers.

use proctor_model::WeakenedChanges;

use super::changes;

/// An edit: what it is, and each file with its text before and after; an empty text is no file.
type Edit = (&'static str, &'static [(&'static str, &'static str, &'static str)]);

/// Each is asked about.
const ASKED: &[Edit] = &[
    (
        "a mark moves to another test",
        &[
            ("test_a.py", "@pytest.mark.skip\ndef test_a():\n    assert 1\n", "def test_a():\n    assert 1\n"),
            ("test_b.py", "def test_b():\n    assert 2\n", "@pytest.mark.skip\ndef test_b():\n    assert 2\n"),
        ],
    ),
    (
        "settings move and ask for less",
        &[("ruff.toml", "[lint]\nselect = [\"E\", \"F\"]\n", ""), ("pyproject.toml", "", "[tool.ruff.lint]\nselect = [\"E\"]\n")],
    ),
    (
        "errors of another module are ignored",
        &[("mypy.ini", "[mypy-a.*]\nignore_errors = true\n", "[mypy-b.*]\nignore_errors = true\n")],
    ),
    ("pytest only collects", &[("pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q --co\n")]),
    (
        "warnings no errors any more",
        &[(
            "pytest.ini",
            "[pytest]\nfilterwarnings =\n    error\n    ignore::ResourceWarning\n",
            "[pytest]\nfilterwarnings =\n    ignore::ResourceWarning\n",
        )],
    ),
    ("-W error to ignore", &[("pytest.ini", "[pytest]\naddopts = -W error\n", "[pytest]\naddopts = -W ignore\n")]),
    (
        "lower cov bar in addopts",
        &[(
            "pytest.ini",
            "[pytest]\naddopts = --cov=a --cov-fail-under=90\n",
            "[pytest]\naddopts = --cov=a --cov-fail-under=20\n",
        )],
    ),
    (
        "mypy does not follow imports",
        &[("mypy.ini", "[mypy]\nstrict = true\n", "[mypy]\nstrict = true\nfollow_imports = skip\n")],
    ),
    (
        "strictNullChecks off beside strict",
        &[(
            "tsconfig.json",
            "{\"compilerOptions\":{\"strict\":true}}",
            "{\"compilerOptions\":{\"strict\":true,\"strictNullChecks\":false}}",
        )],
    ),
    (
        "eslint extends less",
        &[(
            ".eslintrc.json",
            "{\"extends\":[\"eslint:recommended\",\"plugin:x/strict\"]}",
            "{\"extends\":[\"eslint:recommended\"]}",
        )],
    ),
    ("eslint error to warn", &[(".eslintrc.json", "{\"rules\":{\"eqeqeq\":\"error\"}}", "{\"rules\":{\"eqeqeq\":\"warn\"}}")]),
    ("eslint 2 to 1", &[(".eslintrc.json", "{\"rules\":{\"eqeqeq\":[2,\"smart\"]}}", "{\"rules\":{\"eqeqeq\":[1,\"smart\"]}}")]),
    (
        "clippy deny to warn",
        &[("Cargo.toml", "[lints.clippy]\nunwrap_used = \"deny\"\n", "[lints.clippy]\nunwrap_used = \"warn\"\n")],
    ),
    ("pyright basic", &[("pyrightconfig.json", "{\"typeCheckingMode\":\"strict\"}", "{\"typeCheckingMode\":\"basic\"}")]),
    ("tox ignores the end", &[("tox.ini", "[testenv]\ncommands = pytest\n", "[testenv]\ncommands = - pytest\n")]),
    (
        "tox ignore_outcome",
        &[("tox.ini", "[testenv]\ncommands = pytest\n", "[testenv]\ncommands = pytest\nignore_outcome = true\n")],
    ),
    (
        "hatch script",
        &[(
            "pyproject.toml",
            "[tool.hatch.envs.test.scripts]\nrun = \"pytest\"\n",
            "[tool.hatch.envs.test.scripts]\nrun = \"true\"\n",
        )],
    ),
    ("deno task", &[("deno.json", "{\"tasks\":{\"test\":\"deno test\"}}", "{\"tasks\":{\"test\":\"true\"}}")]),
    (
        "rust tests behind a feature",
        &[(
            "src/lib.rs",
            "pub fn a() {}\n#[cfg(test)]\nmod tests;\n",
            "pub fn a() {}\n#[cfg(all(test, feature = \"slow\"))]\nmod tests;\n",
        )],
    ),
    ("rust module of tests unplugged", &[("src/lib.rs", "pub fn a() {}\n#[cfg(test)]\nmod tests;\n", "pub fn a() {}\n")]),
    (
        "cargo test needs a feature",
        &[(
            "Cargo.toml",
            "[package]\nname=\"a\"\n[[test]]\nname=\"x\"\n",
            "[package]\nname=\"a\"\n[[test]]\nname=\"x\"\nrequired-features=[\"never\"]\n",
        )],
    ),
    ("workspace member less", &[("Cargo.toml", "[workspace]\nmembers=[\"a\",\"b\"]\n", "[workspace]\nmembers=[\"a\"]\n")]),
    (
        "overflow checks off",
        &[("Cargo.toml", "[package]\nname=\"a\"\n", "[package]\nname=\"a\"\n[profile.test]\noverflow-checks=false\n")],
    ),
    (
        "describe.skipIf",
        &[(
            "a.test.ts",
            "describe('a', () => { it('x', () => {}) })\n",
            "describe.skipIf(true)('a', () => { it('x', () => {}) })\n",
        )],
    ),
    ("it.skip.each", &[("a.test.ts", "it.each([1])('x %i', () => {})\n", "it.skip.each([1])('x %i', () => {})\n")]),
    ("each of nothing", &[("a.test.ts", "it.each([1,2])('x %i', () => {})\n", "it.each([])('x %i', () => {})\n")]),
    ("playwright fixme", &[("e2e/a.spec.ts", "test('x', () => {})\n", "test.fixme('x', () => {})\n")]),
    ("node:test skip option", &[("a.test.mjs", "test('x', () => {})\n", "test('x', { skip: true }, () => {})\n")]),
    (
        "mocha this.skip",
        &[("a.test.js", "it('x', function () {\n  go()\n})\n", "it('x', function () {\n  this.skip()\n  go()\n})\n")],
    ),
    (
        "parametrize nothing",
        &[(
            "test_a.py",
            "import pytest\n@pytest.mark.parametrize(\"n\", [1, 2])\ndef test_a(n):\n    assert n\n",
            "import pytest\n@pytest.mark.parametrize(\"n\", [])\ndef test_a(n):\n    assert n\n",
        )],
    ),
    (
        "unittest skip imported",
        &[(
            "test_a.py",
            "from unittest import *\nclass TestA(TestCase):\n    def test_a(self):\n        pass\n",
            "from unittest import *\n@skip(\"x\")\nclass TestA(TestCase):\n    def test_a(self):\n        pass\n",
        )],
    ),
    (
        "load_tests empty",
        &[(
            "test_a.py",
            "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n",
            "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n\n\ndef load_tests(loader, tests, pattern):\n    return type(tests)()\n",
        )],
    ),
    (
        "pytest.exit",
        &[(
            "test_a.py",
            "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n",
            "import pytest\npytest.exit(\"done\", 0)\ndef test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n",
        )],
    ),
    (
        "file renamed so that it is not collected",
        &[
            ("a_checks.py", "", "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n"),
            ("test_a.py", "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n", ""),
        ],
    ),
    (
        "class renamed",
        &[(
            "test_a.py",
            "class TestA:\n    def test_a(self):\n        assert 1\n",
            "class A:\n    def test_a(self):\n        assert 1\n",
        )],
    ),
    (
        "go TestMain",
        &[(
            "a_test.go",
            "package a\nfunc TestA(t *testing.T) {}\n",
            "package a\nfunc TestA(t *testing.T) {}\nfunc TestMain(m *testing.M) { os.Exit(0) }\n",
        )],
    ),
    (
        "junit assume",
        &[(
            "ATest.java",
            "class ATest {\n @Test void a() {\n }\n}\n",
            "class ATest {\n @Test void a() {\n  assumeTrue(false);\n }\n}\n",
        )],
    ),
    ("gtest skip", &[("a_test.cc", "TEST(A, B) {\n}\n", "TEST(A, B) {\n  GTEST_SKIP();\n}\n")]),
    ("gtest disabled", &[("a_test.cc", "TEST(A, B) {\n}\n", "TEST(A, DISABLED_B) {\n}\n")]),
    (
        "exunit module skip",
        &[(
            "a_test.exs",
            "defmodule A do\n test \"a\" do\n end\nend\n",
            "defmodule A do\n @moduletag :skip\n test \"a\" do\n end\nend\n",
        )],
    ),
    (
        "rubocop exclude item",
        &[(".rubocop.yml", "Style/X:\n  Exclude:\n    - a.rb\n", "Style/X:\n  Exclude:\n    - a.rb\n    - b.rb\n")],
    ),
    ("golangci without tests", &[(".golangci.yml", "run:\n  timeout: 5m\n", "run:\n  timeout: 5m\n  tests: false\n")]),
    (
        "codecov target",
        &[(
            "codecov.yml",
            "coverage:\n  status:\n    project:\n      target: 90%\n",
            "coverage:\n  status:\n    project:\n      target: 10%\n",
        )],
    ),
    ("jest testRegex", &[("package.json", "{\"jest\":{\"testRegex\":\"test/.*\"}}", "{\"jest\":{\"testRegex\":\"test/one\"}}")]),
    (
        "jest testRunner",
        &[("package.json", "{\"jest\":{\"verbose\":true}}", "{\"jest\":{\"verbose\":true,\"testRunner\":\"./fake.js\"}}")],
    ),
    ("pylint ignores paths", &[(".pylintrc", "[MAIN]\njobs=2\n", "[MAIN]\njobs=2\nignore-paths=src/.*\n")]),
    (
        "stylelint rule null",
        &[(".stylelintrc.json", "{\"rules\":{\"color-no-invalid-hex\":true}}", "{\"rules\":{\"color-no-invalid-hex\":null}}")],
    ),
    (
        "ava fails not without assertions",
        &[("package.json", "{\"ava\":{\"files\":[\"a\"]}}", "{\"ava\":{\"files\":[\"a\"],\"failWithoutAssertions\":false}}")],
    ),
    ("conftest by a plugin file", &[("pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q -p tools.fake\n")]),
    (
        "tests deselected by an unknown mark",
        &[(
            "pyproject.toml",
            "[tool.hatch.envs.hatch-test]\nextra-args = [\"-q\"]\n",
            "[tool.hatch.envs.hatch-test]\nextra-args = [\"-q\",\"-k\",\"fast\"]\n",
        )],
    ),
];

/// Each is named.
const NAMED: &[Edit] = &[
    ("inline eslint", &[("a.ts", "x()\n", "/* eslint no-undef: 0 */\nx()\n")]),
    ("no_type_check", &[("a.py", "def f(): ...\n", "@no_type_check\ndef f(): ...\n")]),
    ("mypy inline", &[("a.py", "x = 1\n", "# mypy: disallow-untyped-defs=False\nx = 1\n")]),
    ("pylint skip-file", &[("a.py", "x = 1\n", "# pylint: skip-file\nx = 1\n")]),
    ("deno-lint-ignore", &[("a.ts", "x\n", "// deno-lint-ignore no-explicit-any\nx\n")]),
    ("pragma warning", &[("a.cs", "x\n", "#pragma warning disable CS0168\nx\n")]),
    ("kotlin Suppress", &[("a.kt", "x\n", "@Suppress(\"UNCHECKED_CAST\")\nx\n")]),
    ("rust expect", &[("a.rs", "fn x() {}\n", "#[expect(clippy::unwrap_used)]\nfn x() {}\n")]),
    ("no space", &[("a.py", "x = 1\n", "x = 1  # type:ignore\n")]),
    ("ty", &[("a.py", "x = 1\n", "x = 1  # ty: ignore[unresolved]\n")]),
    ("ktlint", &[("a.kt", "x\n", "x // ktlint-disable no-wildcard-imports\n")]),
    ("semgrep", &[("a.go", "x\n", "x // nosemgrep\n")]),
    ("phpcs ignore", &[("a.php", "x\n", "// phpcs:ignore\nx\n")]),
];

/// None is asked about.
const HONEST: &[Edit] = &[
    (
        "a test moves with its mark",
        &[
            ("test_a.py", "@pytest.mark.skip\ndef test_a():\n    assert 1\n", ""),
            ("tests/test_a.py", "", "@pytest.mark.skip\ndef test_a():\n    assert 1\n"),
        ],
    ),
    (
        "settings move and ask for more",
        &[
            ("ruff.toml", "[lint]\nselect = [\"E\"]\n", ""),
            ("setup.cfg", "[tool:pytest]\naddopts = --strict-markers\n", ""),
            (
                "pyproject.toml",
                "",
                "[tool.ruff.lint]\nselect = [\"E\", \"F\"]\n[tool.pytest.ini_options]\naddopts = \"-q --strict-markers\"\n",
            ),
        ],
    ),
    (
        "dev script",
        &[(
            "package.json",
            "{\"scripts\":{\"test\":\"jest\",\"dev\":\"vite\"}}",
            "{\"scripts\":{\"test\":\"jest\",\"dev\":\"vite --port 3000\"}}",
        )],
    ),
    ("maxfail", &[("pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q --maxfail=1\n")]),
    ("no cacheprovider", &[("pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q -p no:cacheprovider\n")]),
    (
        "higher cov bar in addopts",
        &[(
            "pytest.ini",
            "[pytest]\naddopts = --cov=a --cov-fail-under=80\n",
            "[pytest]\naddopts = --cov=a --cov-fail-under=90\n",
        )],
    ),
    (
        "pytest settings move",
        &[
            (
                "pyproject.toml",
                "[project]\nname=\"a\"\n",
                "[project]\nname=\"a\"\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\naddopts = \"-q --strict-markers\"\n",
            ),
            (
                "setup.cfg",
                "[tool:pytest]\ntestpaths = tests\naddopts = -q --strict-markers\n[metadata]\nname = a\n",
                "[metadata]\nname = a\n",
            ),
        ],
    ),
    (
        "ruff settings move",
        &[
            (
                "pyproject.toml",
                "[project]\nname=\"a\"\n",
                "[project]\nname=\"a\"\n[tool.ruff]\nline-length = 100\n[tool.ruff.lint]\nselect = [\"E\",\"F\"]\nignore=[\"E501\"]\n",
            ),
            ("ruff.toml", "line-length = 100\n[lint]\nselect = [\"E\",\"F\"]\nignore=[\"E501\"]\n", ""),
        ],
    ),
    (
        "mypy settings move",
        &[
            ("mypy.ini", "[mypy]\nstrict = True\nwarn_unreachable = true\n", ""),
            (
                "pyproject.toml",
                "[project]\nname=\"a\"\n",
                "[project]\nname=\"a\"\n[tool.mypy]\nstrict = true\nwarn_unreachable = true\n",
            ),
        ],
    ),
    ("ruff fixes no more by itself", &[("ruff.toml", "fix = true\n", "fix = false\n")]),
    ("release profile", &[("Cargo.toml", "[profile.release]\nlto = true\ndebug = true\n", "[profile.release]\nlto = false\n")]),
    (
        "packages of setuptools",
        &[(
            "pyproject.toml",
            "[tool.setuptools.packages.find]\ninclude = [\"src*\",\"x*\"]\n",
            "[tool.setuptools.packages.find]\ninclude = [\"shop*\"]\nexclude=[\"tests*\"]\n",
        )],
    ),
    (
        "wheel of hatch",
        &[(
            "pyproject.toml",
            "[tool.hatch.build.targets.wheel]\npackages = [\"src/a\"]\n",
            "[tool.hatch.build.targets.wheel]\npackages = [\"src/b\"]\n[tool.hatch.build.targets.sdist]\nexclude = [\"/.github\"]\n",
        )],
    ),
    (
        "poetry bump",
        &[(
            "pyproject.toml",
            "[tool.poetry]\nversion=\"1\"\n[tool.poetry.group.dev.dependencies]\npytest=\"^8\"\n",
            "[tool.poetry]\nversion=\"2\"\n[tool.poetry.group.dev.dependencies]\npytest=\"^9\"\n",
        )],
    ),
    (
        "pre-commit autoupdate",
        &[(
            ".pre-commit-config.yaml",
            "repos:\n- repo: a\n  rev: v1\n  hooks:\n  - id: ruff\n",
            "repos:\n- repo: a\n  rev: v2\n  hooks:\n  - id: ruff\n",
        )],
    ),
    (
        "a new test only on linux",
        &[(
            "test_a.py",
            "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n",
            "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n\n\n@pytest.mark.skipif(sys.platform != \"linux\", reason=\"epoll\")\ndef test_epoll():\n    assert g()\n",
        )],
    ),
    (
        "a new file with a skipped test",
        &[(
            "test_new.py",
            "",
            "import pytest\n\n\n@pytest.mark.xfail(reason=\"bug 7, not mended yet\")\ndef test_bug():\n    assert g()\n",
        )],
    ),
    (
        "tsconfig of form",
        &[(
            "tsconfig.json",
            "{\"compilerOptions\":{\"esModuleInterop\":true,\"removeComments\":true,\"strict\":true}}",
            "{\"compilerOptions\":{\"module\":\"nodenext\",\"removeComments\":false,\"strict\":true}}",
        )],
    ),
    (
        "noEmit",
        &[(
            "tsconfig.json",
            "{\"compilerOptions\":{\"noEmit\":true}}",
            "{\"compilerOptions\":{\"noEmit\":false,\"outDir\":\"dist\"}}",
        )],
    ),
    (
        "turbo outputs",
        &[(
            "turbo.json",
            "{\"tasks\":{\"build\":{\"outputs\":[\"dist/**\"]},\"dev\":{\"persistent\":true,\"cache\":false}}}",
            "{\"tasks\":{\"build\":{\"outputs\":[\"dist/**\",\".next/**\"]},\"dev\":{\"cache\":false}}}",
        )],
    ),
    ("npmrc", &[(".npmrc", "save-exact=true\n", "save-exact=true\nfund=false\naudit=false\n")]),
    (
        "isort black",
        &[(
            "pyproject.toml",
            "[tool.black]\nline-length=88\n",
            "[tool.black]\nline-length=100\nskip-string-normalization=true\n[tool.isort]\nprofile=\"black\"\n",
        )],
    ),
    ("asyncio mode", &[("pytest.ini", "[pytest]\naddopts=-q\n", "[pytest]\naddopts=-q\nasyncio_mode=auto\nlog_cli=true\n")]),
    (
        "eslint plugin more",
        &[(
            ".eslintrc.json",
            "{\"extends\":[\"eslint:recommended\"]}",
            "{\"extends\":[\"eslint:recommended\",\"prettier\"],\"plugins\":[\"x\"]}",
        )],
    ),
    (
        "eslint warn to error",
        &[(".eslintrc.json", "{\"rules\":{\"a\":\"warn\",\"b\":1}}", "{\"rules\":{\"a\":\"error\",\"b\":2}}")],
    ),
    ("pyright stricter", &[("pyrightconfig.json", "{\"typeCheckingMode\":\"basic\"}", "{\"typeCheckingMode\":\"strict\"}")]),
    (
        "tests moved to a directory",
        &[
            ("test_a.py", "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n", ""),
            ("tests/unit/test_a.py", "", "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n"),
        ],
    ),
    (
        "tests split",
        &[
            ("tests/test_a.py", "", "def test_a():\n    assert f() == 1\n"),
            ("tests/test_all.py", "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n", ""),
            ("tests/test_b.py", "", "def test_b():\n    assert f() == 2\n"),
        ],
    ),
    (
        "tests in a class",
        &[(
            "test_a.py",
            "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n",
            "class TestF:\n    def test_a(self):\n        assert f() == 1\n\n    def test_b(self):\n        assert f() == 2\n",
        )],
    ),
    (
        "parametrised",
        &[(
            "test_a.py",
            "import pytest\n@pytest.mark.parametrize(\"n\", [1])\ndef test_a(n):\n    assert n\n",
            "import pytest\n@pytest.mark.parametrize(\"n\", [1, 2, 3])\ndef test_a(n):\n    assert n\n",
        )],
    ),
    (
        "js describe around",
        &[(
            "a.test.ts",
            "it('x', () => {\n  expect(1)\n})\n",
            "describe('a', () => {\n  it(\"x\", () => {\n    expect(1)\n  })\n})\n",
        )],
    ),
    (
        "rust tests in their own file",
        &[
            (
                "src/lib.rs",
                "pub fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n",
                "pub fn a() {}\n#[cfg(test)]\nmod tests;\n",
            ),
            ("src/tests.rs", "", "#[test]\nfn adds() {}\n"),
        ],
    ),
    ("cfg on code", &[("src/lib.rs", "pub fn a() {}\n", "pub fn a() {}\n#[cfg(feature = \"json\")]\npub fn b() {}\n")]),
    ("apollo skip", &[("src/a.ts", "useQuery(Q)\n", "useQuery(Q, { skip: true })\n")]),
    ("prisma only", &[("src/a.ts", "f()\n", "f({ only: true, ignore: true })\n")]),
    ("a tool script nobody starts", &[("tools/release.sh", "a\n", "b\n")]),
    (
        "jest more",
        &[(
            "package.json",
            "{\"jest\":{\"testTimeout\":1000}}",
            "{\"jest\":{\"testTimeout\":9000,\"collectCoverageFrom\":[\"src/**\"],\"transformIgnorePatterns\":[\"x\"]}}",
        )],
    ),
    (
        "golangci more",
        &[(".golangci.yml", "linters:\n  enable:\n    - govet\n", "linters:\n  enable:\n    - govet\n    - errcheck\n")],
    ),
    ("coverage branch", &[(".coveragerc", "[run]\nsource = a\n", "[run]\nsource = a\nbranch = True\nparallel = True\n")]),
    (
        "semantic release",
        &[(
            "pyproject.toml",
            "[tool.semantic_release]\nmajor_on_zero = true\n",
            "[tool.semantic_release]\nmajor_on_zero = false\n",
        )],
    ),
    (
        "editorconfig",
        &[(".editorconfig", "[*]\ninsert_final_newline = true\n", "[*]\ninsert_final_newline = true\nindent_size = 2\n")],
    ),
    ("prettierignore less", &[(".prettierignore", "dist\nvendor\n", "dist\n")]),
    ("python target of mypy", &[("mypy.ini", "[mypy]\nstrict=true\n", "[mypy]\nstrict=true\nplugins = pydantic.mypy\n")]),
    (
        "release script of npm",
        &[(
            "package.json",
            "{\"scripts\":{\"test\":\"jest\",\"prepublishOnly\":\"npm run build\",\"build\":\"tsc\"}}",
            "{\"scripts\":{\"test\":\"jest\",\"prepublishOnly\":\"npm run build\",\"build\":\"tsc -b\"}}",
        )],
    ),
    ("go integration test new", &[("b_test.go", "", "//go:build integration\n\npackage a\n\nfunc TestB(t *testing.T) {}\n")]),
];

#[test]
fn what_asks_for_less_is_asked_about_and_what_silences_a_finding_is_named() {
    let unseen = |of: &[Edit], is_seen: fn(WeakenedChanges) -> WeakenedChanges| -> Vec<&str> {
        let is_unseen = |edit: &&Edit| !changes(edit.1, &[]).iter().any(|change| change.kind.asks(is_seen(WeakenedChanges::Ask)));
        of.iter().filter(is_unseen).map(|edit| edit.0).collect()
    };
    assert_eq!(unseen(ASKED, |policy| policy), [""; 0]);
    assert_eq!(unseen(NAMED, |_| WeakenedChanges::AskAll), [""; 0]);
}

#[test]
fn what_a_day_brings_is_not_asked_about() {
    let asked = |edit: &Edit| {
        let found = changes(edit.1, &[]).into_iter().filter(|change| change.kind.asks(WeakenedChanges::Ask));
        found.map(|change| format!("{}: {change}", edit.0)).collect::<Vec<_>>()
    };
    assert_eq!(HONEST.iter().flat_map(asked).collect::<Vec<_>>(), [""; 0]);
}
