//! Scenarios with modules that cannot be collected, and conftest files that cannot be imported.

use super::{PLAIN, Scenario};

const COLLECTION: &[&str] = &["COLLECTION_ERROR"];
const CONFTEST: &[&str] = &["CONFTEST_ERROR"];
const OK: &[u8] = b"def test_ok():\n    pass\n";
const SYNTAX: &[u8] = b"def test_x(:\n    pass\n";
const MISSING: &[u8] = b"from not_there import thing\n\n\ndef test_x():\n    pass\n";

/// Returns a scenario in which `test_a.py` cannot be collected.
const fn broken(name: &'static str, files: &'static [(&'static str, &'static [u8])]) -> Scenario {
    Scenario { name, files, expected: COLLECTION, exit: Some(2), ..PLAIN }
}

/// Returns a scenario in which a conftest keeps pytest from starting.
const fn conftest(name: &'static str, files: &'static [(&'static str, &'static [u8])]) -> Scenario {
    Scenario { name, files, expected: CONFTEST, exit: Some(4), ..PLAIN }
}

pub(super) const SCENARIOS: &[Scenario] = &[
    broken("03 syntax error, only file", &[("test_a.py", SYNTAX)]),
    broken("03b syntax error and a good file", &[("test_a.py", SYNTAX), ("test_b.py", OK)]),
    Scenario {
        arguments: &["--continue-on-collection-errors"],
        exit: Some(1),
        ..broken("03c the same with --continue-on-collection-errors", &[("test_a.py", SYNTAX), ("test_b.py", OK)])
    },
    Scenario {
        arguments: &["test_a.py::test_x"],
        exit: Some(4),
        ..broken("03d syntax error in a file given as node id", &[("test_a.py", SYNTAX)])
    },
    broken(
        "04 ImportError (cannot import name)",
        &[("m.py", b"\n"), ("test_a.py", b"from m import thing\n\n\ndef test_x():\n    pass\n")],
    ),
    broken("05 module under test missing (module-level import)", &[("test_a.py", MISSING)]),
    Scenario {
        name: "05b module under test missing (import inside test)",
        files: &[("test_a.py", b"def test_x():\n    import not_there\n")],
        expected: &["TESTS_FAILED"],
        exit: Some(1),
        ..PLAIN
    },
    Scenario {
        arguments: &["test_a.py::test_x"],
        exit: Some(4),
        ..broken("05c missing module, node id argument", &[("test_a.py", MISSING)])
    },
    broken("05d module-level NameError", &[("test_a.py", b"nowhere\n")]),
    broken("05e module-level assert False", &[("test_a.py", b"assert False\n")]),
    Scenario {
        arguments: &["-x"],
        exit: Some(1),
        ..broken("05f -x with a collection error, another file after it", &[("test_a.py", MISSING), ("test_b.py", OK)])
    },
    Scenario { arguments: &["-x"], ..broken("05g -x with a collection error in the only file", &[("test_a.py", MISSING)]) },
    conftest("06 conftest syntax error (rootdir)", &[("conftest.py", SYNTAX), ("test_a.py", OK)]),
    conftest("06b conftest ImportError (rootdir)", &[("conftest.py", MISSING), ("test_a.py", OK)]),
    broken("06c conftest ImportError in a subdirectory, no arguments", &[("sub/conftest.py", MISSING), ("sub/test_a.py", OK)]),
    Scenario {
        arguments: &["sub"],
        ..conftest(
            "06d conftest ImportError in a subdirectory, path argument",
            &[("sub/conftest.py", MISSING), ("sub/test_a.py", OK)],
        )
    },
    broken("10n yield test", &[("test_a.py", b"def test_x():\n    yield 1\n")]),
    Scenario {
        arguments: &["-W", "error"],
        ..broken("24b -W error at import", &[("test_a.py", b"import warnings\n\nwarnings.warn('w', DeprecationWarning)\n")])
    },
    broken("28 duplicate basename (import file mismatch)", &[("a/test_a.py", OK), ("b/test_a.py", OK)]),
    Scenario {
        name: "28b the same in packages",
        files: &[("a/__init__.py", b""), ("a/test_a.py", OK), ("b/__init__.py", b""), ("b/test_a.py", OK)],
        expected: &["TESTS_PASSED"],
        exit: Some(0),
        ..PLAIN
    },
    Scenario { arguments: &["--doctest-modules"], ..broken("37 doctest import failure", &[("m.py", b"import not_there\n")]) },
    broken("38 null byte in test file", &[("test_a.py", b"def test_x():\n    pass\n\0\n")]),
    broken("38b test file that is not UTF-8", &[("test_a.py", b"def test_x():\n    '\xff\xfe'\n")]),
    broken("38c UTF-16 test file", &[("test_a.py", b"\xff\xfed\0e\0f\0 \0t\0e\0s\0t\0_\0x\0(\0)\0:\0\n\0 \0p\0a\0s\0s\0\n\0")]),
];
