"""Mutations of a pytest suite: of its tests, its conftest.py, its configuration, and of the way in which its process ends.

Each row is a name, the right answer, and the edits. A row says RED where the bare tool may end with exit code 0 although nothing, or not
everything, was tested, or although a test failed. Elsewhere the bare tool is right.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from judge import Expect
from projects import Project

Edit = Callable[[Path, Project], None]


@dataclass(frozen=True)
class Row:
    name: str
    expect: Expect
    edits: tuple[Edit, ...]
    # Whether the check asks for proctor's control test, which must fail (`control = true`).
    control: bool = False
    # The command in place of the project's own.
    command: tuple[str, ...] | None = None


def test_files(directory: Path, project: Project) -> list[Path]:
    found = [path for pattern in ("test_*.py", "*_test.py") for path in (directory / project.tests).rglob(pattern)]
    found = sorted(path for path in found if ".venv" not in path.parts)
    if not found:
        raise LookupError(f"{project.name} has no test files in {project.tests}")
    return found


def append(path: Path, code: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + "\n\n" + code)


def test(code: str) -> Edit:
    """Adds tests to the first file of tests."""
    return lambda directory, project: append(test_files(directory, project)[0], code)


def last_file(code: str) -> Edit:
    return lambda directory, project: append(test_files(directory, project)[-1], code)


def conftest(code: str) -> Edit:
    return lambda directory, project: append(directory / "conftest.py", code)


def ini(lines: str) -> Edit:
    """Gives the project a `pytest.ini`, which pytest prefers to every other configuration."""

    def edit(directory, project):
        (directory / "pytest.ini").write_text(f"[pytest]\ntestpaths = {project.tests}\n{lines.format(tests=project.tests)}\n")

    return edit


def file(path: str, text: str) -> Edit:
    return lambda directory, project: append(directory / path, text)


def each_file(change: Callable[[Path], None]) -> Edit:
    def edit(directory, project):
        for path in test_files(directory, project):
            change(path)

    return edit


def rename(path: Path) -> None:
    path.rename(path.with_name("checks_of_" + re.sub("test_?|_?test", "", path.stem) + ".py"))


def rename_first(directory: Path, project: Project) -> None:
    rename(test_files(directory, project)[0])


def red(name, *edits, **options):
    return Row(name, Expect.RED, edits, **options)


def bare(name, *edits, **options):
    return Row(name, Expect.AS_BARE, edits, **options)


FAILS = test("def test_lab_fails():\n    assert 1 == 2\n")
REPORT_EDITED = """
import atexit, re, pathlib

def pytest_configure(config):
    path = pathlib.Path(getattr(config.option, "xmlpath", None) or "none")

    def edit():
        if path.exists():
            text = re.sub(r"<failure.*?</failure>", "", path.read_text(), flags=re.DOTALL)
            path.write_text(re.sub('failures="[0-9]+"', 'failures="0"', text))

    atexit.register(edit)

def pytest_sessionfinish(session):
    session.exitstatus = 0
"""
REWRITTEN = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    made = yield
    made.get_result().outcome = "passed"
"""
FAKE_PYTEST = """
import sys

paths = [word.split("=", 1)[1] for word in sys.argv if word.startswith("--junit")]
for path in paths:
    open(path, "w").write('<testsuites><testsuite name="pytest" tests="1" errors="0" failures="0" skipped="0">'
                          '<testcase classname="test_a" name="test_a" time="0.1"/></testsuite></testsuites>')
print("1 passed in 0.01s")
"""
NESTED = """
import subprocess, sys

def test_lab_nested(tmp_path):
    (tmp_path / "test_inner.py").write_text("def test_inner():\\n    assert 0\\n")
    ended = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)])
    assert ended.returncode == 1
"""
NESTED_HERE = """
def test_lab_nested_here(tmp_path):
    import pytest

    (tmp_path / "test_inner_here.py").write_text("def test_inner():\\n    assert 0\\n")
    assert pytest.main(["-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]) == 1
"""
STRANGE_NAMES = """
import pytest

@pytest.mark.parametrize("text", ["a/b", "::", "\\x00", "\\ud800", "é" * 300, "]]>", "<failure>", "\\x1b[31m", "", "a\\nb"])
def test_lab_names(text, record_property, capsys):
    record_property("odd", "\\x01\\x1b]0;title\\x07")
    print("\\x1b[31m]]> \\x02 2 failed, 1 passed in 0.01s")
"""
FAKE_SUMMARY = """
def test_lab_prints_a_summary():
    print("\\n===== 7 failed, 3 passed in 0.10s =====")
"""

ROWS = [
    # The process ends early, or says something else than its tests.
    red("test-ends-process", test("def test_lab_ends():\n    import os\n    os._exit(0)\n")),
    red("last-import-ends-process", last_file("import os\nos._exit(0)\n")),
    red("conftest-ends-process", conftest("import os\nos._exit(0)\n")),
    red("conftest-system-exit", conftest("raise SystemExit(0)\n")),
    red("collection-hook-ends-process", conftest("def pytest_collection_finish():\n    import os\n    os._exit(0)\n")),
    red("thread-ends-process", test("def test_lab_thread():\n    import os, threading\n    threading.Thread(target=os._exit, args=(0,)).start()\n    threading.Event().wait(20)\n")),
    red("pytest-exit", test("def test_lab_exit():\n    import pytest\n    pytest.exit('enough', returncode=0)\n")),
    red("status-overwritten", FAILS, conftest("def pytest_sessionfinish(session):\n    session.exitstatus = 0\n")),
    red("unconfigure-ends-process", FAILS, conftest("def pytest_unconfigure():\n    import os\n    os._exit(0)\n")),
    red("exit-handler-ends-process", FAILS, conftest("import atexit, os\natexit.register(os._exit, 0)\n")),
    red("report-edited", FAILS, conftest(REPORT_EDITED)),
    red("fake-pytest-module", FAILS, file("pytest.py", FAKE_PYTEST)),
    red("fake-pytest-package", FAILS, file("pytest/__init__.py", ""), file("pytest/__main__.py", FAKE_PYTEST)),
    red("outcomes-rewritten", FAILS, conftest(REWRITTEN), control=True),
    red("tests-not-called", conftest("def pytest_pyfunc_call():\n    return True\n"), control=True),
    red("failure-hidden-from-report", FAILS, conftest("def pytest_runtest_logreport(report):\n    report.outcome = 'passed'\n"), control=True),
    bare("control-of-unchanged-suite", conftest("# Nothing is changed.\n"), control=True),
    bare("control-of-failing-suite", FAILS, control=True),
    # Nothing is collected, nothing is run.
    red("items-removed", conftest("def pytest_collection_modifyitems(items):\n    items.clear()\n")),
    red("items-removed-and-status", conftest("def pytest_collection_modifyitems(items):\n    items.clear()\ndef pytest_sessionfinish(session):\n    session.exitstatus = 0\n")),
    red("items-skipped", conftest("import pytest\ndef pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker(pytest.mark.skip(reason='later'))\n")),
    red("setup-skips", conftest("import pytest\n@pytest.fixture(autouse=True)\ndef lab_skip():\n    pytest.skip('later')\n")),
    red("modules-skipped", each_file(lambda path: append(path, "import pytest\npytest.skip('later', allow_module_level=True)\n"))),
    red("files-renamed", each_file(rename)),
    red("files-emptied", each_file(lambda path: path.write_text(""))),
    red("collection-ignored", conftest("def pytest_ignore_collect():\n    return True\n")),
    red("files-ignored", conftest("collect_ignore_glob = ['*']\n")),
    red("run-loop-replaced", conftest("def pytest_runtestloop():\n    return True\n")),
    red("protocol-replaced", conftest("def pytest_runtest_protocol():\n    return True\n")),
    red("keyword-matches-nothing", ini("addopts = -k nothing_has_this_name")),
    red("mark-matches-nothing", ini("addopts = -m nothing_has_this_mark\nmarkers = nothing_has_this_mark")),
    red("collect-only", ini("addopts = --collect-only")),
    red("setup-plan", ini("addopts = --setup-plan")),
    bare("version-where-it-has-no-effect", ini("addopts = --version")),
    red("help-only", ini("addopts = --help")),
    red("fixtures-only", ini("addopts = --fixtures")),
    red("markers-only", ini("addopts = --markers")),
    red("no-python-files", ini("python_files = nothing_*.py")),
    red("no-python-functions", ini("python_functions = nothing_*\npython_classes = Nothing")),
    red("all-deselected", ini("addopts = --deselect={tests}/ --deselect=test_")),
    red("last-failed-of-none", ini("addopts = --lf --lfnf none")),
    red("report-plugin-and-tests-off", ini("addopts = -p no:junitxml -k nothing_has_this_name")),
    # A suite that fails, in other ways than by an assertion.
    bare("failing-test", FAILS),
    bare("system-exit-in-test", test("def test_lab_system_exit():\n    import sys\n    sys.exit(0)\n")),
    bare("killed-in-test", test("def test_lab_killed():\n    import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)\n")),
    bare("terminated-in-test", test("def test_lab_terminated():\n    import os, signal\n    os.kill(os.getpid(), signal.SIGTERM)\n")),
    bare("syntax-error-in-tests", last_file("def test_lab_syntax(:\n")),
    bare("import-error-in-tests", last_file("import nothing_has_this_name\n")),
    bare("import-error-in-conftest", conftest("import nothing_has_this_name\n")),
    bare("tear-down-fails", test("import pytest\n@pytest.fixture\ndef lab_down():\n    yield\n    raise ValueError\ndef test_lab_down(lab_down):\n    pass\n")),
    bare("session-fixture-fails", conftest("import pytest\n@pytest.fixture(scope='session', autouse=True)\ndef lab_session():\n    raise ValueError\n")),
    bare("unknown-fixture", test("def test_lab_fixture(nothing_has_this_name):\n    pass\n")),
    bare("expected-failure-passes-strict", test("import pytest\n@pytest.mark.xfail(strict=True)\ndef test_lab_strict():\n    pass\n")),
    bare("unknown-option", ini("addopts = --nothing-has-this-name")),
    bare("unknown-plugin", ini("addopts = -p nothing_has_this_name")),
    bare("internal-error", conftest("def pytest_runtest_logfinish():\n    raise ValueError\n")),
    bare("too-few-recursions", test("def test_lab_deep():\n    def deeper():\n        return deeper()\n    deeper()\n")),
    bare("minimum-version", ini("minversion = 99")),
    bare("stops-at-first-failure", FAILS, ini("addopts = -x")),
    bare("unraisable-is-error", test("def test_lab_warns():\n    import warnings\n    warnings.warn('old')\n"), ini("filterwarnings = error")),
    # A suite that passes, with what could be taken for a failure.
    bare("passing-test", test("def test_lab_passes():\n    assert 1 == 1\n")),
    bare("one-file-renamed", rename_first),
    bare("one-test-skipped", test("import pytest\n@pytest.mark.skip(reason='later')\ndef test_lab_skipped():\n    assert 0\n")),
    bare("expected-failure", test("import pytest\n@pytest.mark.xfail\ndef test_lab_xfails():\n    assert 0\n")),
    bare("all-expected-to-fail", conftest("import pytest\ndef pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker(pytest.mark.xfail(strict=False))\n")),
    bare("own-report", ini("addopts = --junitxml=own.xml\njunit_family = xunit1\njunit_suite_name = lab\njunit_logging = all")),
    bare("quiet", ini("addopts = -q --no-header --no-summary")),
    bare("verbose", ini("addopts = -vv -rA --durations=0 --color=yes\nlog_cli = true")),
    bare("prints-a-failed-summary", test(FAKE_SUMMARY), ini("addopts = -s")),
    bare("exit-handler-prints-failures", conftest("import atexit\natexit.register(print, 'upload: 3 failed, 1 passed in 0.20s')\n")),
    bare("strange-names", test(STRANGE_NAMES)),
    bare("invalid-bytes-printed", test("def test_lab_bytes(capfd):\n    import os\n    os.write(1, bytes(range(256)))\n"), ini("addopts = -rP")),
    bare("much-output", test("def test_lab_prints():\n    print('x' * 5_000_000)\n"), ini("addopts = -s")),
    bare("child-left-behind", test("def test_lab_child():\n    import subprocess\n    global lab_child\n    lab_child = subprocess.Popen(['sleep', '30'])\n")),
    bare("forked-child-exits", test("def test_lab_fork():\n    import os\n    child = os.fork()\n    if child == 0:\n        os._exit(0)\n    assert os.waitpid(child, 0)[1] == 0\n")),
    bare("directory-changed", test("def test_lab_directory(tmp_path):\n    import os\n    os.chdir(tmp_path)\n")),
    bare("environment-cleared", last_file("def test_lab_environment():\n    import os\n    os.environ.pop('HOME', None)\n    os.environ.pop('PYTEST_ADDOPTS', None)\n")),
    bare("nested-process", test(NESTED)),
    bare("nested-session", test(NESTED_HERE)),
    bare("files-written", test("def test_lab_writes():\n    import pathlib\n    pathlib.Path('written.txt').write_text('a')\n    assert pathlib.Path('written.txt').exists()\n")),
    bare("loopback-used", test("def test_lab_loopback():\n    import socket\n    with socket.create_server(('127.0.0.1', 0)) as server:\n        socket.create_connection(server.getsockname()).close()\n")),
    bare("thread-raises", test("def test_lab_thread_raises():\n    import threading\n    thread = threading.Thread(target=lambda: 1 / 0)\n    thread.start()\n    thread.join()\n")),
    bare("unittest-cases", test("import unittest\nclass LabCases(unittest.TestCase):\n    def test_sub(self):\n        for number in range(3):\n            with self.subTest(number=number):\n                self.assertLess(number, 3)\n")),
    bare("unittest-case-fails", test("import unittest\nclass LabCases(unittest.TestCase):\n    def test_sub(self):\n        for number in range(3):\n            with self.subTest(number=number):\n                self.assertLess(number, 2)\n")),
    bare("import-mode", ini("addopts = --import-mode=importlib")),
    bare("terminal-hook-prints", conftest("def pytest_terminal_summary(terminalreporter):\n    terminalreporter.write_line('9 failed, 1 error in 3.00s')\n")),
    bare("interrupt-caught", test("def test_lab_interrupt():\n    import os, pytest, signal\n    with pytest.raises(KeyboardInterrupt):\n        os.kill(os.getpid(), signal.SIGINT)\n        import time\n        time.sleep(1)\n")),
]  # fmt: skip
