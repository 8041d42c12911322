"""Tests of the lab itself, without a network and without any real tool: `python3 -B -m unittest` in this directory."""

import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True

import javascript
import linters
import projects
import run
import sources
import suites
from judge import Bare, Expect, Outcome, Proctor, compare, passed_tests

SOURCE = b'''"""Documentation."""


def price(count, *, each=12):
    """Returns a price."""
    if count > 10 and each in (1, 2):
        raise ValueError(f"{count} is more than {10}")
    try:
        total = count * each
    except TypeError:
        return None
    total += 1
    print("\xc3\xa9", total == 3)
    return total
'''
MINIFIED = b"'a === b' // 1 < 2\nif (a === 1 && b) {\n  return a + 22\n}\n`${a} === b`\n"

# A suite that needs nothing: it prints what pytest would, and fails if the sources are not as they should be.
SUITE = "import shop\nprint('1 passed in 0.01s' if shop.price() == 3 else '1 failed in 0.01s')\nraise SystemExit(shop.price() != 3)\n"
# Programs in place of proctor: they answer with an exit code of their own, or look at the sources as an honest one would.
FAKE = """#!/usr/bin/env python3
import json, pathlib, subprocess, sys
directory = pathlib.Path(sys.argv[2])
code = {code}
evidence = directory / "evidence/default"
evidence.mkdir(parents=True)
result = {{"testResults": {{"passed": {passed}}}}}
report = {{"executionSummary": {{"overallStatus": "SUCCESS" if code == 0 else "FAILED"}},
          "stepExecution": {{"results": [{{"blocking": code != 0, "result": result}}]}}}}
(evidence / "execution-report.json").write_text(json.dumps(report))
sys.exit(code)
"""
HONEST = "subprocess.run([sys.executable, '-B', 'suite.py'], cwd=directory, stdout=subprocess.DEVNULL).returncode"


def report(status, blocking, passed=1):
    check = {"blocking": blocking, "result": {"testResults": {"passed": passed}}}
    return {"executionSummary": {"overallStatus": status}, "stepExecution": {"results": [check]}}


class Sources(unittest.TestCase):
    def test_every_kind_of_change_is_found_and_compiles(self):
        places = [place for place in sources.python_places("shop.py", SOURCE) if sources.compiles(place, SOURCE)]
        kinds = Counter(place.kind for place in places)
        self.assertEqual(set(kinds), {"arithmetic", "branch", "comparison", "constant", "handler", "junction", "raise", "return", "statement"})
        changed = {place.apply(SOURCE) for place in places}
        self.assertEqual(len(changed), len(places))
        self.assertIn(SOURCE.replace(b"count > 10", b"(count <= 10)"), changed)
        self.assertIn(SOURCE.replace(b"total == 3", b"(total != 3)"), changed)
        self.assertFalse([place for place in places if "Documentation" in place.text or "Returns" in place.text])

    def test_texts_and_comments_of_javascript_stay(self):
        changed = [place.apply(MINIFIED) for place in sources.javascript_places("a.js", MINIFIED)]
        self.assertEqual(len(changed), 7)
        for text in changed:
            self.assertTrue(text.startswith(b"'a === b' // 1 < 2\n") and text.endswith(b"`${a} === b`\n"), text)

    def test_a_seed_gives_one_choice_and_takes_every_kind(self):
        places = sources.python_places("shop.py", SOURCE)
        first = sources.choose(places, 6, "1 shop")
        self.assertEqual(first, sources.choose(list(places), 6, "1 shop"))
        self.assertNotEqual(first, sources.choose(places, 6, "2 shop"))
        self.assertEqual([(place.kind, place.line) for place in first], CHOSEN)
        self.assertEqual(len({place.kind for place in first}), 6)


# What seed 1 chooses, on every machine and with every version of Python.
CHOSEN = [("raise", 7), ("return", 11), ("comparison", 6), ("arithmetic", 9), ("statement", 13), ("constant", 4)]


class Judging(unittest.TestCase):
    def test_every_answer_is_judged(self):
        green, red = report("SUCCESS", False), report("FAILED", True)
        rows = [
            (Expect.AS_BARE, Bare(0, 5), Proctor(0, green), Outcome.AGREE),
            (Expect.AS_BARE, Bare(0, 5), Proctor(1, red), Outcome.FALSE_RED),
            (Expect.AS_BARE, Bare(1, 5), Proctor(0, green), Outcome.FALSE_GREEN),
            (Expect.AS_BARE, Bare(1, 5), Proctor(1, red), Outcome.AGREE),
            (Expect.AS_BARE, Bare(0, 0), Proctor(0, green), Outcome.FALSE_GREEN),
            (Expect.AS_BARE, Bare(0, None), Proctor(0, report("SUCCESS", False, 0)), Outcome.AGREE),
            (Expect.AS_BARE, Bare(None, 5), Proctor(1, red), Outcome.AGREE),
            (Expect.RED, Bare(0, 5), Proctor(0, green), Outcome.FALSE_GREEN),
            (Expect.RED, Bare(0, 5), Proctor(1, red), Outcome.AGREE),
            # A green exit code needs a green report, and a passed test where tests are counted.
            (Expect.AS_BARE, Bare(0, 5), Proctor(0, None), Outcome.FALSE_GREEN),
            (Expect.AS_BARE, Bare(0, 5), Proctor(0, red), Outcome.FALSE_GREEN),
            (Expect.AS_BARE, Bare(0, 5), Proctor(0, report("SUCCESS", False, 0)), Outcome.FALSE_GREEN),
            (Expect.AS_BARE, Bare(1, 5), Proctor(1, green), Outcome.UNDECIDED),
            (Expect.AS_BARE, Bare(1, 5), Proctor(70, None), Outcome.UNDECIDED),
            (Expect.AS_BARE, Bare(0, 5), Proctor(5, None), Outcome.UNDECIDED),
            (Expect.AS_BARE, Bare(0, 5), Proctor(None, None), Outcome.UNDECIDED),
        ]
        for expect, bare, proctor, outcome in rows:
            self.assertIs(compare(expect, bare, proctor), outcome, (expect, bare, proctor))

    def test_passed_tests_are_read_as_each_tool_prints_them(self):
        rows = [
            ("pytest", "== 7 failed, 3 passed in 0.10s ==\n2434 passed, 24 skipped, 3 xpassed in 14.04s\n", 2437),
            ("pytest", "\x1b[32m\x1b[1m5 passed\x1b[0m in 0.01s\x1b[0m\n", 5),
            ("pytest", "5 tests passed the checks\n", 0),
            ("pytest", "no tests ran in 0.00s\n", 0),
            ("pytest", "3 skipped in 0.01s\n", 0),
            ("jest", "Test Suites: 1 passed, 1 total\nTests:       1 skipped, 3 passed, 4 total\n", 3),
            ("vitest", " Test Files  1 passed (1)\n      Tests  1 failed | 3 passed (4)\n", 3),
            ("node", "# tests 4\n# pass 3\n# fail 1\n", 3),
            ("tsc", "anything", None),
        ]
        for tool, output, passed in rows:
            self.assertEqual(passed_tests(tool, output), passed, output)


class Rows(unittest.TestCase):
    def test_there_are_enough_mutations_and_every_row_is_used(self):
        self.assertGreaterEqual(len(projects.PYTHON), 12)
        self.assertEqual(run.OF_SOURCES + run.OF_SUITE, 20)
        self.assertGreaterEqual(len(projects.PYTHON) * run.OF_SUITE, len(suites.ROWS))
        self.assertGreaterEqual(sum(map(len, javascript.ROWS.values())) + sum(javascript.SOURCES.values()), 40)
        self.assertGreaterEqual(sum(map(len, linters.ROWS.values())), 30)
        self.assertEqual(set(javascript.ROWS), {project.name for project in projects.JAVASCRIPT})
        self.assertEqual(set(linters.ROWS), {project.name for project in projects.LINTERS})
        for names in [[row.name for row in rows] for rows in (suites.ROWS, *javascript.ROWS.values(), *linters.ROWS.values())]:
            self.assertEqual([name for name, count in Counter(names).items() if count > 1], [])

    def test_every_row_of_a_python_suite_changes_a_project(self):
        project = projects.Project("shop", "pytest", "", projects.PYTEST, ("shop.py",))
        for row in suites.ROWS:
            with tempfile.TemporaryDirectory() as name:
                directory = Path(name)
                (directory / "tests").mkdir()
                for test in ("test_a.py", "test_b.py"):
                    (directory / "tests" / test).write_text("def test_it():\n    pass\n")
                before = run.digest(directory)
                for edit in row.edits:
                    edit(directory, project)
                self.assertNotEqual(run.digest(directory), before, row.name)

    def test_every_archive_is_pinned_by_a_hash(self):
        lines = (projects.PACKAGES / "sources.txt").read_text().splitlines()
        pinned = {line.split(" ")[0].replace("==", "-") for line in lines if " --hash=sha256:" in line}
        self.assertEqual(pinned, {project.origin.removeprefix("sdist ") for project in projects.PYTHON})


class Planted(unittest.TestCase):
    """The lab with a project of its own and programs in place of proctor, one of which is always green and one always red."""

    def answers(self, code, passed=1):
        with tempfile.TemporaryDirectory() as name:
            scratch = Path(name)
            shop = scratch / "shop"
            shop.mkdir()
            (shop / "shop.py").write_text("def price():\n    return 1 + 2\n")
            (shop / "suite.py").write_text(SUITE)
            program = scratch / "proctor"
            program.write_text(FAKE.format(code=code, passed=passed))
            program.chmod(0o755)
            project = projects.Project("shop", "pytest", f"fixture {shop}", (sys.executable, "-B", "suite.py"), ("shop.py",))
            places = projects.Places(scratch / "fetched")
            places_of_shop = sources.python_places("shop.py", (shop / "shop.py").read_bytes())
            (broken,) = [place for place in places_of_shop if place.kind == "arithmetic"]
            cases = [run.Case(1, project, "unchanged", None), run.Case(2, project, "arithmetic", broken)]
            return [run.answer(places, case, program) for case in cases]

    def test_a_program_that_is_always_green_has_a_false_green(self):
        answers = self.answers("0")
        self.assertEqual([answer.outcome for answer in answers], [Outcome.AGREE, Outcome.FALSE_GREEN])
        self.assertEqual([run.is_fault(answer) for answer in answers], [False, True])
        self.assertIn("1 mutations (0 green by the bare tool): 0 agree, 1 false green, 0 false red, 0 undecided", run.totals(answers)[-2])
        self.assertIn("FALSE GREEN", run.totals(answers)[-1])

    def test_a_program_that_is_always_red_has_a_false_red(self):
        answers = self.answers("1")
        self.assertEqual([answer.outcome for answer in answers], [Outcome.FALSE_RED, Outcome.AGREE])
        self.assertEqual([run.is_fault(answer) for answer in answers], [True, False])

    def test_a_program_without_a_verdict_is_undecided_and_an_honest_one_agrees(self):
        self.assertEqual([answer.outcome for answer in self.answers("70")], [Outcome.UNDECIDED, Outcome.UNDECIDED])
        self.assertEqual([answer.outcome for answer in self.answers(HONEST)], [Outcome.AGREE, Outcome.AGREE])
        self.assertEqual([answer.outcome for answer in self.answers(HONEST, passed=0)], [Outcome.FALSE_GREEN, Outcome.AGREE])


if __name__ == "__main__":
    unittest.main()
