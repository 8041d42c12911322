"""Tests of tests.py and runner.py, on a project of their own. `python3 -B -m unittest discover .ci` runs them."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import runner
import tests

MANIFEST = '[package]\nname = "tried"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n'
LOCK = 'version = 4\n\n[[package]]\nname = "tried"\nversion = "0.0.0"\n'
# `flaky` fails when it is run for the first time. `fails` fails as long as the variable says so.
SOURCE = """
#[test]
fn passes() { print!("no end of line"); }
#[test]
fn flaky() {
    let mark = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("mark");
    let was_there = mark.exists();
    std::fs::write(mark, "").unwrap();
    println!("was there: {was_there}");
    assert!(was_there, "the first time");
}
#[test]
fn fails() { assert!(std::env::var_os("LET_IT_FAIL").is_none(), "always"); }
#[test]
fn aborts() { if std::env::var_os("LET_IT_ABORT").is_some() { std::process::abort(); } }
#[test]
#[ignore = "long tier"]
fn takes_long() {}
#[test]
#[ignore = "wide tier"]
fn takes_long_and_is_wide() {}
#[test]
#[ignore = "run by another test in a user namespace"]
fn inner() { panic!(); }
"""


class Project(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="proctor test ")
        self.root = pathlib.Path(self.directory.name)
        (self.root / "src").mkdir()
        for name, text in {"Cargo.toml": MANIFEST, "Cargo.lock": LOCK, "src/lib.rs": SOURCE}.items():
            (self.root / name).write_text(text)
        shutil.copytree(pathlib.Path(__file__).parent, self.root / ".ci")

    def tearDown(self):
        self.directory.cleanup()

    def run_tier(self, tier, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO_TARGET", "CARGO_BUILD"))}
        command = [sys.executable, "-B", ".ci/tests.py", tier, "--closing", "closing", "--command", "cargo test --quiet --locked --lib"]
        ran = subprocess.run(
            command, cwd=self.root, env={**environment, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        return ran.returncode, ran.stdout

    def test_a_tier_runs_its_own_tests_and_repeats_those_that_failed(self):
        status, said = self.run_tier("default")
        self.assertEqual(status, 0, said)
        closing = (self.root / "closing").read_text()
        self.assertIn("the default tier: 4 tests in", closing)
        self.assertIn("3 left out, 1 flaky", closing)
        self.assertIn("flaky: flaky (failed, then passed alone)", closing)
        self.assertIn("\n4 passed, 0 failed\n", said)
        self.assertIn("the first time", said)
        kept = self.root / "target/flaky/default"
        self.assertIn("was there: false", (kept / "flaky.first.txt").read_text())
        self.assertIn("was there: true", (kept / "flaky.second.txt").read_text())

        status, said = self.run_tier("default", LET_IT_FAIL="1")
        self.assertEqual(status, 1, said)
        self.assertIn("\n3 passed, 1 failed\n", said)
        self.assertIn("failed twice, or were not run again: fails", said)
        self.assertFalse(kept.exists())

        status, said = self.run_tier("default", LET_IT_ABORT="1", RUST_TEST_THREADS="1")
        self.assertEqual(status, 1, said)
        self.assertIn("before its tests had ended", said)

        for tier, name in (("long", "takes_long"), ("wide", "takes_long_and_is_wide")):
            status, said = self.run_tier(tier)
            self.assertEqual(status, 0, said)
            self.assertIn(f"test {name} ... ok", said)
            self.assertIn("\n1 passed, 0 failed\n", said)

        (self.root / "src/lib.rs").write_text(SOURCE.replace("wide tier", "wild tier"))
        status, said = self.run_tier("default")
        self.assertEqual(status, 1, said)
        self.assertIn("is ignored with the reason `wild tier`, which names no tier", said)


class Parts(unittest.TestCase):
    def test_an_event_is_found_behind_what_a_test_printed(self):
        event, other = runner.event_of('abc{ "type": "test", "event": "ok", "name": "a" }\n')
        self.assertEqual((event["name"], other), ("a", "abc"))
        self.assertEqual(runner.event_of("abc\n"), (None, "abc\n"))
        self.assertEqual(runner.event_of('{ "type": "te\n')[0], None)

    def test_many_failures_are_not_repeated(self):
        failed = [{"name": str(number), "passed": False} for number in range(tests.MOST_REPEATED + 1)]
        flaky, still_failed = tests.repeat_failed([{"tests": failed}], pathlib.Path("unused"))
        self.assertEqual((flaky, len(still_failed)), ([], tests.MOST_REPEATED + 1))


if __name__ == "__main__":
    unittest.main()
