//! Scenarios in which a run of pytest does not finish normally: interrupts, signals, crashes, early exits with another
//! code than 0.

use super::{PLAIN, Scenario};

type Files = &'static [(&'static str, &'static [u8])];

const fn interrupted(name: &'static str, files: Files) -> Scenario {
    Scenario { name, files, expected: &["INTERRUPTED"], exit: Some(2), ..PLAIN }
}

const fn signalled(name: &'static str, files: Files) -> Scenario {
    Scenario { name, files, expected: &["SIGNALLED"], exit: None, ..PLAIN }
}

const fn exits(name: &'static str, code: i32, expected: &'static [&'static str], files: Files) -> Scenario {
    Scenario { name, files, expected, exit: Some(code), ..PLAIN }
}

pub(super) const SCENARIOS: &[Scenario] = &[
    interrupted("12 SIGINT in the middle", &[(
        "test_a.py",
        b"import os\nimport signal\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    os.kill(os.getpid(), signal.SIGINT)\n\n\ndef test_y():\n    pass\n",
    )]),
    interrupted("12b SIGINT during collection", &[(
        "test_a.py",
        b"import os\nimport signal\n\nos.kill(os.getpid(), signal.SIGINT)\n\n\ndef test_x():\n    pass\n",
    )]),
    interrupted("12c KeyboardInterrupt raised by test code", &[(
        "test_a.py",
        b"def test_ok():\n    pass\n\n\ndef test_x():\n    raise KeyboardInterrupt\n",
    )]),
    signalled("12d a second SIGINT during shutdown", &[
        (
            "conftest.py",
            b"import os\nimport signal\n\n\ndef pytest_unconfigure(config):\n    os.kill(os.getpid(), signal.SIGINT)\n",
        ),
        (
            "test_a.py",
            b"import os\nimport signal\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    os.kill(os.getpid(), signal.SIGINT)\n",
        ),
    ]),
    signalled("13 SIGTERM in the middle", &[(
        "test_a.py",
        b"import os\nimport signal\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    os.kill(os.getpid(), signal.SIGTERM)\n",
    )]),
    signalled("13b SIGHUP in the middle", &[(
        "test_a.py",
        b"import os\nimport signal\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    os.kill(os.getpid(), signal.SIGHUP)\n",
    )]),
    signalled("13c a test signals its whole group", &[(
        "test_a.py",
        b"import os\nimport signal\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    os.killpg(0, signal.SIGTERM)\n",
    )]),
    signalled("14 SIGKILL in the middle", &[(
        "test_a.py",
        b"import os\nimport signal\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    )]),
    exits("15 os._exit(7) in a test", 7, &["UNKNOWN_EXIT"], &[(
        "test_a.py",
        b"import os\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    os._exit(7)\n",
    )]),
    exits("15c os._exit(1) in a test", 1, &["REPORT_MISSING"], &[(
        "test_a.py",
        b"import os\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    os._exit(1)\n",
    )]),
    exits("15d os._exit(5) in a test", 5, &["REPORT_MISSING"], &[(
        "test_a.py",
        b"import os\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    os._exit(5)\n",
    )]),
    signalled("16 segmentation fault (ctypes)", &[(
        "test_a.py",
        b"import ctypes\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    ctypes.string_at(0)\n",
    )]),
    signalled("16b os.abort", &[("test_a.py", b"import os\n\n\ndef test_x():\n    os.abort()\n")]),
    signalled("16c segmentation fault at import", &[("test_a.py", b"import ctypes\n\nctypes.string_at(0)\n")]),
    interrupted("17c pytest.exit() in a test", &[(
        "test_a.py",
        b"import pytest\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    pytest.exit('x')\n",
    )]),
    exits("17e pytest.exit(returncode=1)", 1, &["REPORT_INCOMPLETE"], &[(
        "test_a.py",
        b"import pytest\n\n\ndef test_ok():\n    pass\n\n\ndef test_x():\n    pytest.exit('x', returncode=1)\n",
    )]),
    exits("23b unguarded unittest.main() at module level", 3, &["INTERNAL_ERROR"], &[(
        "test_a.py",
        b"import unittest\n\n\nclass T(unittest.TestCase):\n    def test_x(self):\n        pass\n\n\nunittest.main(argv=['x'])\n",
    )]),
    exits("23c sys.exit(0) at module import", 3, &["INTERNAL_ERROR"], &[("test_a.py", b"import sys\n\nsys.exit(0)\n")]),
    exits("23d sys.exit(0) at import and another file failing", 3, &["INTERNAL_ERROR"], &[
        ("test_a.py", b"import sys\n\nsys.exit(0)\n"),
        ("test_b.py", b"def test_bad():\n    assert 1 == 2\n"),
    ]),
    exits("32b a module of the project shadows the standard library", 1, &["REPORT_MISSING"], &[
        ("random.py", b"raise RuntimeError('shadow')\n"),
        ("test_a.py", b"def test_ok():\n    pass\n"),
    ]),
    exits("32c a package pytest without __main__", 1, &["TOOL_NOT_FOUND"], &[
        ("pytest/__init__.py", b""),
        ("test_a.py", b"def test_ok():\n    pass\n"),
    ]),
];
