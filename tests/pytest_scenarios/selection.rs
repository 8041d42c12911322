//! Scenarios in which pytest selects no test, skips all tests, or stops early on purpose.

use super::{PLAIN, Scenario};

type Files = &'static [(&'static str, &'static [u8])];

const OK: &[u8] = b"def test_ok():\n    pass\n";
const THREE: &[u8] = b"def test_a():\n    pass\n\n\ndef test_b():\n    assert 0\n\n\ndef test_c():\n    assert 0\n";

const fn nothing(name: &'static str, files: Files, arguments: &'static [&'static str]) -> Scenario {
    Scenario { name, files, arguments, expected: &["NO_TESTS_COLLECTED"], exit: Some(5), ..PLAIN }
}

pub(super) const SCENARIOS: &[Scenario] = &[
    nothing("10 no tests (empty directory)", &[], &[]),
    nothing("10a file without tests", &[("test_a.py", b"x = 1\n")], &[]),
    nothing("10b -k deselects everything", &[("test_a.py", OK)], &["-k", "nothing"]),
    nothing(
        "10d module-level skip",
        &[("test_a.py", b"import pytest\n\npytest.skip('no', allow_module_level=True)\n\n\ndef test_a():\n    pass\n")],
        &[],
    ),
    nothing(
        "10e importorskip of something missing",
        &[("test_a.py", b"import pytest\n\npytest.importorskip('not_there')\n\n\ndef test_a():\n    pass\n")],
        &[],
    ),
    Scenario {
        environment: &[("PYTEST_ADDOPTS", "-k nothing")],
        ..nothing("10i PYTEST_ADDOPTS=-k nothing", &[("test_a.py", OK)], &[])
    },
    nothing(
        "10l class with __init__ (not collected)",
        &[("test_a.py", b"class TestX:\n    def __init__(self):\n        pass\n\n    def test_a(self):\n        pass\n")],
        &[],
    ),
    nothing(
        "10o --lf with nothing failing in the cache, --lfnf=none",
        &[("test_a.py", OK), (".pytest_cache/v/cache/lastfailed", b"{}")],
        &["--lf", "--lfnf=none"],
    ),
    Scenario {
        name: "17 -x",
        files: &[("test_a.py", THREE)],
        arguments: &["-x"],
        expected: &["TESTS_FAILED"],
        exit: Some(1),
        ..PLAIN
    },
    Scenario {
        name: "17b --maxfail=2",
        files: &[("test_a.py", THREE)],
        arguments: &["--maxfail=2"],
        expected: &["TESTS_FAILED"],
        exit: Some(1),
        ..PLAIN
    },
    Scenario {
        name: "17f session.shouldstop set by a plugin",
        files: &[
            ("conftest.py", b"def pytest_runtest_logfinish(nodeid):\n    if SESSION:\n        SESSION[0].shouldstop = 'enough'\n\n\nSESSION = []\n\n\ndef pytest_sessionstart(session):\n    SESSION.append(session)\n"),
            ("test_a.py", b"def test_ok():\n    pass\n\n\ndef test_after():\n    pass\n"),
        ],
        expected: &["INTERRUPTED"],
        exit: Some(2),
        ..PLAIN
    },
    Scenario {
        name: "17g --stepwise",
        files: &[("test_a.py", THREE)],
        arguments: &["--stepwise"],
        expected: &["INTERRUPTED"],
        exit: Some(2),
        ..PLAIN
    },
    Scenario {
        name: "39 symlink loop (one test seen many times)",
        files: &[("test_a.py", OK)],
        links: &[("selfdir", ".")],
        expected: &["TESTS_PASSED"],
        exit: Some(0),
        ..PLAIN
    },
];
