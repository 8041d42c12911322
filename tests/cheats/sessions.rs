//! Tries cheats that put the report of another session, or a changed one, in the place of the report of the session that was started.

use crate::cheats::{code, command, reason};
use crate::common::{Project, python_plain};

const TESTS: &str = "def test_ok():\n    assert 1 == 1\n\n\ndef test_bad():\n    assert 1 == 2\n";
const GREEN: &str = "def test_ok():\n    assert 1 == 1\n";

/// Starts pytest once more in the same process, with the arguments of the command, and ends the process.
const MAIN: &str = "import os, sys, pytest\nif not os.environ.get('INNER'):\n    os.environ['INNER'] = '1'\n    pytest.main(sys.argv[1:] + ['-k', 'ok'])\n    os._exit(0)\n";

/// The same in a child process.
const CHILD: &str = "import os, subprocess, sys\nif not os.environ.get('INNER'):\n    os.environ['INNER'] = '1'\n    subprocess.run([sys.executable, '-m', 'pytest', *sys.argv[1:], '-k', 'ok'])\n    os._exit(0)\n";

/// The same in a test.
const IN_TEST: &str = "import os, sys, pytest\n\n\ndef test_first():\n    if not os.environ.get('INNER'):\n        os.environ['INNER'] = '1'\n        pytest.main(sys.argv[1:] + ['-k', 'ok'])\n        os._exit(0)\n\n\ndef test_ok():\n    pass\n\n\ndef test_bad():\n    assert 1 == 2\n";

/// The same after the session has ended with its failures.
const AFTER: &str = "import os, sys, pytest\n\n\ndef pytest_unconfigure(config):\n    if not os.environ.get('INNER'):\n        os.environ['INNER'] = '1'\n        pytest.main(sys.argv[1:] + ['-k', 'ok'])\n        os._exit(0)\n";

/// Starts another session while the one of the check configures itself, and ends the process. What it prints and reports agrees.
const CONFIGURING: &str = "import os, sys, pytest\n\n\ndef pytest_configure(config):\n    if not os.environ.get('INNER'):\n        os.environ['INNER'] = '1'\n        pytest.main(sys.argv[1:] + ['-k', 'ok'])\n        os._exit(0)\n";

/// The same without the arguments of the command, in a child process, and ended by pytest itself.
const CONFIGURING_CHILD: &str = "import os, subprocess, sys, pytest\n\n\ndef pytest_sessionstart(session):\n    if not os.environ.get('INNER'):\n        os.environ['INNER'] = '1'\n        report = '--junitxml=' + session.config.option.xmlpath\n        subprocess.run([sys.executable, '-m', 'pytest', '-k', 'ok', report])\n        pytest.exit('done', returncode=0)\n";

/// Starts another session without the failing test while pytest reads this file, and ends as that session does.
const WITHOUT_ONE: &str = "import os, subprocess, sys\nif not os.environ.get('INNER'):\n    os.environ['INNER'] = '1'\n    sys.exit(subprocess.call([sys.executable, '-m', 'pytest', *sys.argv[1:], '--deselect', 'test_a.py::test_bad']))\n";

/// Starts another session in a fixture, in a child process, and ends the process.
const IN_FIXTURE: &str = "import os, subprocess, sys, pytest\n\n\n@pytest.fixture(autouse=True, scope='session')\ndef inner():\n    if not os.environ.get('INNER'):\n        os.environ['INNER'] = '1'\n        subprocess.run([sys.executable, '-m', 'pytest', *sys.argv[1:], '-k', 'ok'])\n        os._exit(0)\n\n\ndef test_ok():\n    pass\n\n\ndef test_bad():\n    assert 1 == 2\n";

/// Starts another session of the failing test with the same arguments in a test, and passes.
const HONEST: &str = "import os, subprocess, sys\n\n\ndef test_inner():\n    if not os.environ.get('INNER'):\n        environment = {**os.environ, 'INNER': '1'}\n        inner = subprocess.run([sys.executable, '-m', 'pytest', *sys.argv[1:]], env=environment)\n        assert inner.returncode == 1\n\n\ndef test_bad():\n    assert not os.environ.get('INNER')\n";

/// Writes the report once more, with the counts that were printed and other content.
const REWRITTEN: &str = "import atexit\n\n\ndef pytest_configure(config):\n    path = config.option.xmlpath\n\n    def late():\n        text = open(path).read()\n        open(path, 'w').write(text.replace('test_ok', 'test_more'))\n\n    atexit.register(late)\n";

/// Keeps pytest from writing a report, and writes one long after pytest's last line.
const LATE: &str = "import atexit, time, pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_configure(config):\n    path, config.option.xmlpath = config.option.xmlpath, None\n\n    def late():\n        time.sleep(0.1)\n        open(path, 'w').write('<testsuites><testsuite tests=\"1\"><testcase classname=\"test_a\" name=\"test_ok\"/></testsuite></testsuites>')\n\n    atexit.register(late)\n";

/// Keeps pytest from writing a report, and leaves a process behind that writes one.
const LEFT: &str = "import os, time, pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_configure(config):\n    config.kept, config.option.xmlpath = config.option.xmlpath, None\n\n\ndef pytest_unconfigure(config):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(0.2)\n        open(config.kept, 'w').write('<testsuites><testsuite tests=\"1\"><testcase classname=\"test_a\" name=\"test_ok\"/></testsuite></testsuites>')\n        time.sleep(60)\n";

/// Runs pytest in its own tests, in the same process and in another one.
const PYTESTER: &str = "pytest_plugins = 'pytester'\n\n\ndef test_it(pytester):\n    pytester.makepyfile('def test_x(): assert 0')\n    pytester.runpytest().assert_outcomes(failed=1)\n    pytester.runpytest('-q').assert_outcomes(failed=1)\n    pytester.runpytest_subprocess().assert_outcomes(failed=1)\n";

fn with_options(options: &[&str]) -> Project {
    let python = python_plain().to_string_lossy().into_owned();
    let words: Vec<String> = [python.as_str(), "-m", "pytest"].iter().chain(options).map(|word| format!("{word:?}")).collect();
    command(&format!("[{}]", words.join(", ")), "")
}

#[test]
#[ignore = "long tier"]
fn t20_v7_a_report_of_another_session_or_of_later_is_no_success() {
    let nothing = "printed nothing at all";
    let rows: [(&str, &[&str], &str, &str, &str); 8] = [
        ("conftest.py", &[], MAIN, TESTS, nothing),
        ("conftest.py", &["-q"], MAIN, TESTS, nothing),
        ("tests/conftest.py", &["-v"], MAIN, TESTS, nothing),
        ("conftest.py", &["-q"], CHILD, TESTS, nothing),
        ("conftest.py", &[], AFTER, TESTS, "the end of its session and then another session"),
        ("conftest.py", &["-q"], AFTER, TESTS, "was written 2 times"),
        ("conftest.py", &["-q"], REWRITTEN, GREEN, "was written 2 times"),
        ("conftest.py", &["-q"], LATE, GREEN, "ms later"),
    ];
    for (conftest, options, cheat, tests, part) in rows {
        let directory = if conftest.starts_with("tests/") { "tests/" } else { "" };
        let project = with_options(options).file(conftest, cheat).file(&format!("{directory}test_a.py"), tests);
        let report = project.proctor(["run"]).failure().report();
        let said = reason(&report);
        assert_eq!(code(&report), "INCONSISTENT", "{conftest} {options:?} {cheat}: {said}");
        assert!(said.contains(part) && said.contains("1 passed"), "{conftest} {options:?} {cheat}: {said}");
    }
}

#[test]
fn t20_v7_a_session_that_begins_while_pytest_configures_itself_never_decides() {
    let started = |options: &[&str], conftest: &str| {
        let project = with_options(options).file("conftest.py", conftest).file("test_a.py", TESTS).file("plug.py", CONFIGURING);
        project.proctor(["run"]).failure().report()
    };
    for (options, conftest) in [(&["-q"][..], CONFIGURING), (&["-v"], CONFIGURING_CHILD), (&["-q", "-p", "plug"], "")] {
        let report = started(options, conftest);
        assert_eq!(code(&report), "INCONSISTENT", "{options:?} {conftest}: {}", reason(&report));
        assert!(reason(&report).contains("The control does not hold"), "{options:?} {conftest}: {}", reason(&report));
    }
    let goes_on = CONFIGURING.replace("        os._exit(0)\n", "");
    assert_eq!(code(&started(&["-q"], &goes_on)), "TESTS_FAILED", "the outer session ends, and its report decides");
}

#[test]
fn t20_v7_a_session_before_the_tests_is_seen_wherever_its_code_is() {
    let rows: [(&str, &[(&str, &str)]); 4] = [
        ("", &[("conftest.py", WITHOUT_ONE)]),
        ("", &[("conftest.py", "from helper import *\n"), ("helper.py", CONFIGURING)]),
        ("environment = { PYTEST_PLUGINS = \"plug\" }\n", &[("plug.py", CONFIGURING)]),
        ("environment = { PYTEST_ADDOPTS = \"-p plug\" }\n", &[("plug.py", CONFIGURING)]),
    ];
    let python = python_plain().to_string_lossy().into_owned();
    for (lines, files) in rows {
        let project = command(&format!("[{python:?}, \"-m\", \"pytest\", \"-q\"]"), lines).file("test_a.py", TESTS);
        let project = files.iter().fold(project, |project, (path, text)| project.file(path, text));
        let report = project.proctor(["run"]).failure().report();
        assert_eq!(code(&report), "INCONSISTENT", "{lines} {files:?}: {}", reason(&report));
        assert!(reason(&report).contains("The control does not hold"), "{lines} {files:?}: {}", reason(&report));
    }
}

#[test]
fn t20_v7_behind_another_program_such_code_is_named_and_nothing_is_taken_back() {
    let python = python_plain().to_string_lossy().into_owned();
    let wrapped = |conftest: &str| {
        let script = "#!/bin/sh\nexec \"$1\" -m pytest -q\n";
        let project = command(&format!("[\"sh\", \"tests.sh\", {python:?}]"), "tool = \"pytest\"\n").file("tests.sh", script);
        let project = project.file("test_a.py", GREEN).file("conftest.py", conftest);
        project.proctor(["run"]).any_status().report().to_string()
    };
    let told = "the command is not pytest itself";
    assert!(wrapped("import pytest\nimport os\n\n\ndef never():\n    os._exit(0)\n").contains(told));
    assert!(!wrapped("import pytest\nfrom os.path import join\n").contains(told));
}

#[test]
fn t20_v7_a_session_that_a_test_or_a_fixture_starts_writes_another_report() {
    for (options, tests) in [(&[][..], IN_TEST), (&["-q", "-s"], IN_TEST), (&["-q", "-s"], IN_FIXTURE)] {
        let report = with_options(options).file("test_a.py", tests).proctor(["run"]).failure().report();
        assert_eq!(code(&report), "REPORT_MISSING", "{tests}: {}", reason(&report));
    }
    let report = with_options(&["-q"]).file("test_a.py", HONEST).proctor(["run"]).success().report();
    assert_eq!(code(&report), "TESTS_PASSED", "{}", reason(&report));
    assert!(reason(&report).contains("2 passed"), "{}", reason(&report));
}

#[test]
fn t25_v7_a_report_of_a_process_that_was_left_behind_is_no_success() {
    let project = with_options(&["-q"]).file("conftest.py", LEFT).file("test_a.py", GREEN);
    let report = project.proctor(["run"]).failure().report();
    assert!(["INCONSISTENT", "REPORT_MISSING"].contains(&code(&report)), "{}: {}", code(&report), reason(&report));
}

#[test]
#[ignore = "long tier"]
fn t20_v7_tests_that_run_pytest_themselves_and_quiet_runs_keep_their_pass() {
    for (options, tests) in [
        (&[][..], PYTESTER),
        (&["-s"], PYTESTER),
        (&["-q", "-rA"], PYTESTER),
        (&["-q", "-q"], GREEN),
        (&["--no-header", "--no-summary"], GREEN),
        (&["-p", "no:terminal"], GREEN),
    ] {
        let report = with_options(options).file("test_a.py", tests).proctor(["run"]).success().report();
        assert_eq!(code(&report), "TESTS_PASSED", "{options:?}: {}", reason(&report));
    }
}
