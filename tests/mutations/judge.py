"""Decides what a case amounts to: what the bare tool says, what proctor says, and whether the two agree. Nothing here runs anything."""

import enum
import re
from dataclasses import dataclass


class Colour(enum.Enum):
    GREEN = "green"
    RED = "red"
    NEITHER = "neither"


class Outcome(enum.Enum):
    AGREE = "agree"
    FALSE_GREEN = "FALSE GREEN"
    FALSE_RED = "FALSE RED"
    UNDECIDED = "undecided"


class Expect(enum.Enum):
    """What the right answer is: that of the bare tool, or one that the row of the mutation states."""

    AS_BARE = "as bare"
    RED = "red"


@dataclass(frozen=True)
class Bare:
    """How the bare tool ended: exit code, or None after the time limit; and the passed tests that it printed, or None for a tool without tests."""

    code: int | None
    passed: int | None

    def colour(self) -> Colour:
        return Colour.GREEN if self.code == 0 and self.passed != 0 else Colour.RED


@dataclass(frozen=True)
class Proctor:
    """How `proctor run` ended: its exit code, and what execution-report.json says."""

    code: int | None
    report: dict | None

    def colour(self) -> Colour:
        return {0: Colour.GREEN, 1: Colour.RED}.get(self.code, Colour.NEITHER)

    def check(self) -> dict:
        results = ((self.report or {}).get("stepExecution") or {}).get("results") or [{}]
        return results[0]

    def category(self) -> str:
        return (self.check().get("classification") or {}).get("code") or "no report"

    def contradicts_itself(self, counts_tests: bool) -> bool:
        """Returns whether the report says something else than the exit code, or is green without a passed test."""
        if self.colour() is Colour.NEITHER:
            return False
        status = ((self.report or {}).get("executionSummary") or {}).get("overallStatus")
        if self.colour() is Colour.RED:
            return status not in ("FAILED", "PARTIAL_SUCCESS", "SPECIFICATION_ERROR")
        passed = ((self.check().get("result") or {}).get("testResults") or {}).get("passed", 0)
        return status not in ("SUCCESS", "PARTIAL_SUCCESS") or self.check().get("blocking") is not False or (counts_tests and passed < 1)


def expected(expect: Expect, bare: Bare) -> Colour:
    return Colour.RED if expect is Expect.RED else bare.colour()


def compare(expect: Expect, bare: Bare, proctor: Proctor) -> Outcome:
    """Compares proctor's answer with the right one. An exit code that is no verdict is undecided, and so is a report that contradicts a red."""
    right, said = expected(expect, bare), proctor.colour()
    contradiction = proctor.contradicts_itself(bare.passed is not None)
    if said is Colour.GREEN and (right is Colour.RED or contradiction):
        return Outcome.FALSE_GREEN
    if said is Colour.RED and right is Colour.GREEN:
        return Outcome.FALSE_RED
    if said is Colour.NEITHER or contradiction:
        return Outcome.UNDECIDED
    return Outcome.AGREE


COLOURS_OF_TERMINALS = re.compile(r"\x1b\[[0-9;]*m")
# The line in which each test runner counts, and in it the tests that passed. pytest calls a test that was expected to fail and passed `xpassed`.
COUNTING = {
    "pytest": (re.compile(r"\b(?:passed|failed|skipped|deselected|xfailed|xpassed|errors?|no tests ran)\b.* in [0-9.]+s"), re.compile(r"\b(\d+) x?passed\b")),
    "jest": (re.compile(r"^Tests:"), re.compile(r"\b(\d+) passed\b")),
    "vitest": (re.compile(r"^\s*Tests\s"), re.compile(r"\b(\d+) passed\b")),
    "node": (re.compile(r"^(?:#|ℹ) pass \d+$"), re.compile(r"\bpass (\d+)\b")),
}


def passed_tests(tool: str, output: str) -> int | None:
    """Returns how many tests the bare tool says passed, 0 if it says nothing; None for a tool without tests."""
    if tool not in COUNTING:
        return None
    line, count = COUNTING[tool]
    counting = [text for text in COLOURS_OF_TERMINALS.sub("", output).splitlines() if line.search(text)]
    return sum(int(found) for found in count.findall(counting[-1])) if counting else 0
