//! Scenarios with command lines, settings and hooks that pytest refuses, or at which pytest fails.

use super::{PLAIN, Scenario};

type Files = &'static [(&'static str, &'static [u8])];

const OK: &[u8] = b"def test_ok():\n    pass\n";
const BAD: &[u8] = b"def test_bad():\n    assert 1 == 2\n";

/// Returns a scenario that pytest refuses with exit code 4.
const fn refused(name: &'static str, files: Files, arguments: &'static [&'static str]) -> Scenario {
    Scenario { name, files, arguments, expected: &["USAGE_ERROR"], exit: Some(4), ..PLAIN }
}

const fn passes(name: &'static str, files: Files, arguments: &'static [&'static str]) -> Scenario {
    Scenario { name, files, arguments, expected: &["TESTS_PASSED"], exit: Some(0), ..PLAIN }
}

/// Returns a scenario in which pytest itself fails, with exit code 3.
const fn internal(name: &'static str, files: Files) -> Scenario {
    Scenario { name, files, expected: &["INTERNAL_ERROR"], exit: Some(3), ..PLAIN }
}

/// Returns a scenario in which a hook raises after all tests: pytest ends with exit code 1 although no test failed.
const fn after_the_tests(name: &'static str, files: Files) -> Scenario {
    Scenario { name, files, expected: &["FAILED_OUTSIDE_TESTS"], exit: Some(1), ..PLAIN }
}

pub(super) const SCENARIOS: &[Scenario] = &[
    internal(
        "06e conftest pytest_configure raises",
        &[("conftest.py", b"def pytest_configure(config):\n    raise RuntimeError('no')\n"), ("test_a.py", OK)],
    ),
    refused(
        "06f conftest pytest_plugins missing",
        &[("conftest.py", b"pytest_plugins = ['not_there']\n"), ("test_a.py", OK)],
        &[],
    ),
    refused("06g -p missing plugin", &[("test_a.py", OK)], &["-p", "not_there"]),
    refused(
        "06i conftest pytest_configure raises UsageError",
        &[
            ("conftest.py", b"import pytest\n\n\ndef pytest_configure(config):\n    raise pytest.UsageError('no')\n"),
            ("test_a.py", OK),
        ],
        &[],
    ),
    internal(
        "06j conftest pytest_sessionstart raises",
        &[("conftest.py", b"def pytest_sessionstart(session):\n    raise RuntimeError('no')\n"), ("test_a.py", OK)],
    ),
    refused("07 nonexistent path", &[("test_a.py", OK)], &["nowhere.py"]),
    refused("07b nonexistent node id in a good file", &[("test_a.py", OK)], &["test_a.py::test_nowhere"]),
    refused("07c one good path and one missing", &[("test_a.py", OK)], &["test_a.py", "nowhere.py"]),
    refused("08 unknown option", &[("test_a.py", OK)], &["--no-such-option"]),
    refused("08b --cov when pytest-cov is not there", &[("test_a.py", OK)], &["--cov=m"]),
    refused("09 bad pytest.ini syntax", &[("pytest.ini", b"[pytest\n"), ("test_a.py", OK)], &[]),
    refused(
        "09b addopts with an unknown option in the ini",
        &[("pytest.ini", b"[pytest]\naddopts = --no-such-option\n"), ("test_a.py", OK)],
        &[],
    ),
    passes("09c unknown ini key", &[("pytest.ini", b"[pytest]\nno_such_key = 1\n"), ("test_a.py", OK)], &[]),
    refused(
        "09d unknown ini key with --strict-config",
        &[("pytest.ini", b"[pytest]\nno_such_key = 1\n"), ("test_a.py", OK)],
        &["--strict-config"],
    ),
    refused("09e bad pyproject.toml", &[("pyproject.toml", b"[tool.pytest.ini_options\n"), ("test_a.py", OK)], &[]),
    refused("09f minversion too high", &[("pytest.ini", b"[pytest]\nminversion = 999\n"), ("test_a.py", OK)], &[]),
    refused(
        "09g required_plugins missing",
        &[("pytest.ini", b"[pytest]\nrequired_plugins = pytest-not-there\n"), ("test_a.py", OK)],
        &[],
    ),
    passes("09h testpaths that do not exist", &[("pytest.ini", b"[pytest]\ntestpaths = nowhere\n"), ("test_a.py", OK)], &[]),
    Scenario {
        name: "09i unknown marker with --strict-markers",
        files: &[("test_a.py", b"import pytest\n\n\n@pytest.mark.no_such_marker\ndef test_ok():\n    pass\n")],
        arguments: &["--strict-markers"],
        expected: &["COLLECTION_ERROR"],
        exit: Some(2),
        ..PLAIN
    },
    refused("09j bad -m expression", &[("test_a.py", OK)], &["-m", "a and and"]),
    refused("09k bad -k expression", &[("test_a.py", OK)], &["-k", "a and and"]),
    internal(
        "22 pytest_runtest_protocol raises",
        &[("conftest.py", b"def pytest_runtest_protocol(item):\n    raise RuntimeError('no')\n"), ("test_a.py", OK)],
    ),
    internal(
        "22b pytest_collection_modifyitems raises",
        &[("conftest.py", b"def pytest_collection_modifyitems(items):\n    raise RuntimeError('no')\n"), ("test_a.py", OK)],
    ),
    after_the_tests(
        "22c pytest_sessionfinish raises",
        &[("conftest.py", b"def pytest_sessionfinish(session):\n    raise RuntimeError('no')\n"), ("test_a.py", OK)],
    ),
    after_the_tests(
        "22d pytest_terminal_summary raises",
        &[("conftest.py", b"def pytest_terminal_summary(terminalreporter):\n    raise RuntimeError('no')\n"), ("test_a.py", OK)],
    ),
    after_the_tests(
        "22e pytest_unconfigure raises",
        &[("conftest.py", b"def pytest_unconfigure(config):\n    raise RuntimeError('no')\n"), ("test_a.py", OK)],
    ),
    internal(
        "22f pytest_runtest_logreport raises",
        &[("conftest.py", b"def pytest_runtest_logreport(report):\n    raise RuntimeError('no')\n"), ("test_a.py", OK)],
    ),
    Scenario {
        name: "22g pytest_collect_file raises",
        files: &[("conftest.py", b"def pytest_collect_file(file_path):\n    raise RuntimeError('no')\n"), ("test_a.py", OK)],
        expected: &["COLLECTION_ERROR"],
        exit: Some(2),
        ..PLAIN
    },
    internal(
        "22h pytest_runtest_makereport raises",
        &[("conftest.py", b"def pytest_runtest_makereport(item):\n    raise RuntimeError('no')\n"), ("test_a.py", OK)],
    ),
    Scenario {
        name: "22i pytest_sessionfinish raises, with a failing test",
        files: &[("conftest.py", b"def pytest_sessionfinish(session):\n    raise RuntimeError('no')\n"), ("test_a.py", BAD)],
        expected: &["TESTS_FAILED"],
        exit: Some(1),
        ..PLAIN
    },
    passes("24g -W names a class that does not exist", &[("test_a.py", OK)], &["-W", "error::no_such.Thing"]),
    refused("24h -W names an action that does not exist", &[("test_a.py", OK)], &["-W", "no-such-action"]),
    Scenario {
        name: "30 the command's own report cannot be written (/dev/full)",
        files: &[("test_a.py", OK)],
        arguments: &["--junitxml=/dev/full"],
        expected: &["REPORT_UNREADABLE", "REPORT_MISSING"],
        exit: Some(1),
        ..PLAIN
    },
    Scenario {
        name: "30b the directory of the command's own report is a file",
        files: &[("test_a.py", OK), ("blocked", b"")],
        arguments: &["--junitxml=blocked/junit.xml"],
        expected: &["REPORT_MISSING", "REPORT_UNREADABLE"],
        exit: Some(1),
        ..PLAIN
    },
    Scenario {
        name: "30c the command's own report lies where nothing can be made",
        files: &[("test_a.py", OK)],
        arguments: &["--junitxml=/proc/nowhere/junit.xml"],
        expected: &["REPORT_MISSING", "REPORT_UNREADABLE"],
        exit: Some(1),
        ..PLAIN
    },
];
