//! Scenarios by what the tests themselves do: pass, fail, raise in fixtures, print too much, warn.

use super::{PLAIN, Scenario};

type Files = &'static [(&'static str, &'static [u8])];

const fn passes(name: &'static str, files: Files) -> Scenario {
    Scenario { name, files, expected: &["TESTS_PASSED"], exit: Some(0), ..PLAIN }
}

const fn fails(name: &'static str, files: Files) -> Scenario {
    Scenario { name, files, expected: &["TESTS_FAILED"], exit: Some(1), ..PLAIN }
}

pub(super) const SCENARIOS: &[Scenario] = &[
    passes("01 pass", &[("test_a.py", b"def test_ok():\n    pass\n")]),
    fails("02 fail", &[("test_a.py", b"def test_ok():\n    pass\n\n\ndef test_bad():\n    assert 1 == 2\n")]),
    fails("10k ini addopts=--version", &[
        ("pytest.ini", b"[pytest]\naddopts = --version\n"),
        ("test_a.py", b"def test_bad():\n    assert 1 == 2\n"),
    ]),
    fails("10m async test, no plugin", &[("test_a.py", b"async def test_x():\n    pass\n")]),
    fails("11 fixture error (set-up)", &[(
        "test_a.py",
        b"import pytest\n\n\n@pytest.fixture\ndef fx():\n    raise RuntimeError('fx')\n\n\ndef test_x(fx):\n    pass\n",
    )]),
    fails("11a missing fixture", &[("test_a.py", b"def test_x(no_such_fixture):\n    pass\n")]),
    fails("11b tear-down error, test passed", &[(
        "test_a.py",
        b"import pytest\n\n\n@pytest.fixture\ndef td():\n    yield\n    raise RuntimeError('td')\n\n\ndef test_x(td):\n    pass\n",
    )]),
    fails("11c test fails and tear-down errors", &[(
        "test_a.py",
        b"import pytest\n\n\n@pytest.fixture\ndef td():\n    yield\n    raise RuntimeError('td')\n\n\ndef test_x(td):\n    assert 0\n",
    )]),
    fails("11d session fixture tear-down error", &[(
        "test_a.py",
        b"import pytest\n\n\n@pytest.fixture(scope='session')\ndef td():\n    yield\n    raise RuntimeError('td')\n\n\ndef test_x(td):\n    pass\n\n\ndef test_y(td):\n    pass\n",
    )]),
    fails("18 strict xfail passes", &[(
        "test_a.py",
        b"import pytest\n\n\n@pytest.mark.xfail(strict=True)\ndef test_a():\n    pass\n",
    )]),
    passes("18b xfail that is not strict passes (XPASS)", &[(
        "test_a.py",
        b"import pytest\n\n\n@pytest.mark.xfail\ndef test_a():\n    pass\n",
    )]),
    fails("23 sys.exit(0) inside a test", &[(
        "test_a.py",
        b"import sys\n\n\ndef test_x():\n    sys.exit(0)\n\n\ndef test_y():\n    pass\n",
    )]),
    fails("23e SystemExit in fixture tear-down", &[(
        "test_a.py",
        b"import sys\n\nimport pytest\n\n\n@pytest.fixture\ndef td():\n    yield\n    sys.exit(0)\n\n\ndef test_x(td):\n    pass\n",
    )]),
    Scenario {
        arguments: &["-W", "error"],
        ..fails("24 -W error in a test", &[(
            "test_a.py",
            b"import warnings\n\n\ndef test_x():\n    warnings.warn('w', DeprecationWarning)\n",
        )])
    },
    passes("24c plain warning", &[("test_a.py", b"import warnings\n\n\ndef test_x():\n    warnings.warn('w')\n")]),
    Scenario {
        name: "24d --max-warnings=0",
        files: &[("test_a.py", b"import warnings\n\n\ndef test_x():\n    warnings.warn('w')\n")],
        arguments: &["--max-warnings=0"],
        expected: &["MAX_WARNINGS"],
        exit: Some(6),
        ..PLAIN
    },
    fails("25 recursion error", &[("test_a.py", b"def test_x():\n    test_x()\n")]),
    fails("25c MemoryError by rlimit", &[(
        "test_a.py",
        b"import resource\n\n\ndef test_x():\n    before = resource.getrlimit(resource.RLIMIT_AS)\n    resource.setrlimit(resource.RLIMIT_AS, (2**30, before[1]))\n    try:\n        bytearray(2**34)\n    finally:\n        resource.setrlimit(resource.RLIMIT_AS, before)\n",
    )]),
    passes("26 passing test prints much (captured)", &[("test_a.py", b"def test_x():\n    print('x' * 12_000_000)\n")]),
    fails("26b failing test prints much", &[("test_a.py", b"def test_x():\n    print('x' * 12_000_000)\n    assert 0\n")]),
    Scenario {
        arguments: &["-s"],
        ..passes("26c -s prints much", &[("test_a.py", b"def test_x():\n    print('x' * 12_000_000)\n")])
    },
    Scenario {
        arguments: &["-o", "junit_logging=all"],
        ..fails("26d failing test prints much with junit_logging=all", &[(
            "test_a.py",
            b"def test_x():\n    print('x' * 12_000_000)\n    assert 0\n",
        )])
    },
    fails("26e invalid bytes, control characters and colours in the output", &[(
        "test_a.py",
        b"import sys\n\n\ndef test_x():\n    sys.stdout.buffer.write(b'\\x00\\xff\\x1b[31m')\n    assert '\\x00\\x1b[31m' == '\\ud800'\n",
    )]),
    fails("33 subTest failing (unittest)", &[(
        "test_a.py",
        b"import unittest\n\n\nclass T(unittest.TestCase):\n    def test_x(self):\n        for i in range(3):\n            with self.subTest(i=i):\n                self.assertNotEqual(i, 1)\n",
    )]),
    passes("35 test changes into and removes its directory", &[(
        "test_a.py",
        b"import os\nimport shutil\nimport tempfile\n\n\ndef test_x():\n    place = tempfile.mkdtemp()\n    os.chdir(place)\n    shutil.rmtree(place)\n\n\ndef test_y():\n    pass\n",
    )]),
    passes("36 test closes descriptors 1 and 2", &[(
        "test_a.py",
        b"import os\n\n\ndef test_x():\n    os.close(1)\n    os.close(2)\n\n\ndef test_y():\n    pass\n",
    )]),
];
