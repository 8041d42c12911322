//! Scenarios in which pytest ends with exit code 0 and proves nothing. None of these runs may be a success.

use super::{Form, PLAIN, Scenario};

type Files = &'static [(&'static str, &'static [u8])];

const BAD: &[u8] = b"def test_bad():\n    assert 1 == 2\n";

/// A module in place of pytest that writes a report of one passed test.
const FORGER: &[u8] = b"import sys\n\nfor word in sys.argv:\n    if word.startswith('--junitxml='):\n        with open(word.split('=', 1)[1], 'w') as file:\n            file.write('<testsuites><testsuite tests=\"1\"><testcase classname=\"test_a\" name=\"test_x\"/></testsuite></testsuites>')\n";

/// A module that pytest imports: it forges the report and prints what pytest prints.
const HIDING: &[u8] = b"import os\nimport sys\n\nfor word in sys.argv:\n    if word.startswith('--junitxml='):\n        with open(word.split('=', 1)[1], 'w') as file:\n            file.write('<testsuites><testsuite tests=\"1\"><testcase classname=\"test_a\" name=\"test_x\"/></testsuite></testsuites>')\nprint('============================= test session starts ==============================')\nprint('============================== 1 passed in 0.01s ===============================', flush=True)\nos._exit(0)\n";

/// A `conftest.py` that takes the failures out of the written report and ends the process with 0.
const REMOVER: &[u8] = b"import atexit\nimport os\nimport re\nimport sys\n\n\ndef remove():\n    path = next(word.split('=', 1)[1] for word in sys.argv if word.startswith('--junitxml='))\n    text = open(path).read()\n    text = re.sub('<failure.*?</failure>', '', text, flags=re.S).replace('failures=\"1\"', 'failures=\"0\"')\n    with open(path, 'w') as file:\n        file.write(text)\n    sys.stdout.flush()\n    os._exit(0)\n\n\natexit.register(remove)\n";

/// A test that runs a second pytest, which passes, and then ends its own process.
const NESTED: &[u8] = b"import os\nimport subprocess\nimport sys\n\n\ndef test_x():\n    subprocess.run([sys.executable, '-m', 'pytest', 'inner/check_inner.py'])\n    os._exit(0)\n";
const INNER: &[u8] = b"def test_inner():\n    pass\n";

const fn green(name: &'static str, expected: &'static [&'static str], files: Files) -> Scenario {
    Scenario { name, files, expected, exit: Some(0), ..PLAIN }
}

pub(super) const SCENARIOS: &[Scenario] = &[
    green("G1 06h conftest sys.exit(0) at import", &["REPORT_MISSING"], &[
        ("conftest.py", b"import sys\n\nsys.exit(0)\n"),
        ("test_a.py", BAD),
    ]),
    green("G1 31f conftest os._exit(0) at import", &["REPORT_MISSING"], &[
        ("conftest.py", b"import os\n\nos._exit(0)\n"),
        ("test_a.py", BAD),
    ]),
    green("G2 32 a local pytest.py shadows pytest", &["REPORT_MISSING"], &[
        ("pytest.py", b"print('===== 999 passed in 0.01s =====')\n"),
        ("test_a.py", BAD),
    ]),
    green("G2 V5 a local pytest.py writes a passing report", &["INCONSISTENT"], &[("pytest.py", FORGER), ("test_a.py", BAD)]),
    green("G2 a local iniconfig.py writes a passing report", &["INCONSISTENT"], &[("iniconfig.py", HIDING), ("test_a.py", BAD)]),
    green("G2 a local argparse.py writes a passing report", &["INCONSISTENT"], &[("argparse.py", HIDING), ("test_a.py", BAD)]),
    Scenario {
        environment: &[("PYTHONPATH", "vendor")],
        ..green("G2 V21 a pytest in PYTHONPATH writes a passing report", &["INCONSISTENT"], &[
            ("vendor/pytest/__init__.py", b""),
            ("vendor/pytest/__main__.py", FORGER),
            ("test_a.py", BAD),
        ])
    },
    green("V6 an exit handler removes the failures from the report", &["INCONSISTENT"], &[
        ("conftest.py", REMOVER),
        ("test_a.py", b"def test_ok():\n    pass\n\n\ndef test_bad():\n    assert 1 == 2\n"),
    ]),
    green("G3 15b os._exit(0) in a test", &["REPORT_MISSING"], &[(
        "test_a.py",
        b"import os\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    os._exit(0)\n",
    )]),
    green("G4 17d pytest.exit(returncode=0) in a test", &["REPORT_INCOMPLETE"], &[(
        "test_a.py",
        b"import pytest\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    pytest.exit('x', returncode=0)\n\n\ndef test_bad():\n    assert 0\n",
    )]),
    green("G5 31e conftest ends the run after collection", &["NO_TESTS_EXECUTED"], &[
        ("conftest.py", b"import pytest\n\n\ndef pytest_collection_finish(session):\n    pytest.exit('x', returncode=0)\n"),
        ("test_a.py", BAD),
    ]),
    Scenario {
        arguments: &["--collect-only"],
        ..green("G6 10f --collect-only with tests", &["NO_TESTS_EXECUTED"], &[("test_a.py", BAD)])
    },
    Scenario {
        environment: &[("PYTEST_ADDOPTS", "--collect-only")],
        ..green("G6 10h PYTEST_ADDOPTS=--collect-only", &["NO_TESTS_EXECUTED"], &[("test_a.py", BAD)])
    },
    green("G6 ini addopts = --collect-only", &["NO_TESTS_EXECUTED"], &[
        ("pytest.ini", b"[pytest]\naddopts = --collect-only\n"),
        ("test_a.py", BAD),
    ]),
    Scenario {
        arguments: &["--setup-plan"],
        ..green("G7 10j --setup-plan (no test body executed)", &["NO_TESTS_EXECUTED", "REPORT_INCOMPLETE"], &[("test_a.py", BAD)])
    },
    Scenario {
        arguments: &["--setup-only"],
        ..green("G7 --setup-only", &["NO_TESTS_EXECUTED", "REPORT_INCOMPLETE"], &[("test_a.py", BAD)])
    },
    green("G8 10c all skipped", &["NO_TESTS_EXECUTED"], &[(
        "test_a.py",
        b"import pytest\n\n\n@pytest.mark.skip(reason='r')\ndef test_a():\n    pass\n\n\n@pytest.mark.skip\ndef test_b():\n    pass\n",
    )]),
    green("G8 10g all xfail", &["NO_TESTS_EXECUTED"], &[(
        "test_a.py",
        b"import pytest\n\n\n@pytest.mark.xfail\ndef test_a():\n    assert 0\n",
    )]),
    green("G8 34 empty parametrize", &["NO_TESTS_EXECUTED"], &[(
        "test_a.py",
        b"import pytest\n\n\n@pytest.mark.parametrize('x', [])\ndef test_x(x):\n    pass\n",
    )]),
    green("G9 31 conftest sets session.exitstatus = 0", &["INCONSISTENT"], &[
        ("conftest.py", b"def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"),
        ("test_a.py", BAD),
    ]),
    green("G10 31b atexit os._exit(0)", &["INCONSISTENT"], &[
        ("conftest.py", b"import atexit\nimport os\n\natexit.register(os._exit, 0)\n"),
        ("test_a.py", BAD),
    ]),
    Scenario {
        arguments: &["--junitxml=own.xml"],
        ..green("G12 the command's own report is there already, and the run dies", &["REPORT_MISSING"], &[
            (
                "own.xml",
                b"<testsuites><testsuite tests=\"1\"><testcase classname=\"test_a\" name=\"test_x\"/></testsuite></testsuites>",
            ),
            ("test_a.py", b"import os\n\n\ndef test_x():\n    os._exit(0)\n"),
        ])
    },
    green("G16 ini addopts = -p no:junitxml", &["REPORT_MISSING"], &[
        ("pytest.ini", b"[pytest]\naddopts = -p no:junitxml\n"),
        ("test_a.py", b"def test_ok():\n    pass\n"),
    ]),
    green("G17 nested pytest and os._exit(0)", &["REPORT_MISSING"], &[("test_a.py", NESTED), ("inner/check_inner.py", INNER)]),
    Scenario {
        form: Form::Shell,
        ..green("G17b nested pytest and os._exit(0), behind a shell", &["REPORT_MISSING"], &[("test_a.py", NESTED), ("inner/check_inner.py", INNER)])
    },
];
