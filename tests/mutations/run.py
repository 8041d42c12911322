#!/usr/bin/env python3
"""Breaks real projects in many small ways, and compares what proctor says of each with what the bare tool says.

Every case is a fresh copy of a project with one mutation. The project's own command is run by hand in one copy, and `proctor run` in
another one. proctor is right if it is green exactly where the bare tool ends with exit code 0 and at least one test passed, or, for some
mutations, where their row says so. Exit code 0 if there is no false green and no false red, else 1.

The projects are fetched once, into `target/mutations`. Nothing of the user's own proctor is touched.
"""

import sys

sys.dont_write_bytecode = True

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import javascript
import linters
import projects
import sources
import suites
from judge import Bare, Colour, Expect, Outcome, Proctor, compare, expected, passed_tests
from projects import Project

# Mutations of each Python project: of its sources, and of its suite.
OF_SOURCES, OF_SUITE = 12, 8
BARE_SECONDS, PROCTOR_SECONDS = 60, 180


@dataclass(frozen=True)
class Case:
    number: int
    project: Project
    name: str
    # A place in a source file, a row, or None for the project as it is.
    mutation: sources.Place | suites.Row | None

    @property
    def expect(self) -> Expect:
        return self.mutation.expect if isinstance(self.mutation, suites.Row) else Expect.AS_BARE

    def apply(self, directory: Path) -> tuple[str, ...]:
        """Mutates a copy of the project. Returns the command that runs its suite."""
        if isinstance(self.mutation, sources.Place):
            path = directory / self.mutation.path
            path.write_bytes(self.mutation.apply(path.read_bytes()))
        if not isinstance(self.mutation, suites.Row):
            return self.project.command
        for edit in self.mutation.edits:
            edit(directory, self.project)
        command = self.mutation.command or self.project.command
        control = "control = true\n" if self.mutation.control else ""
        (directory / "proctor.toml").write_text(projects.configuration(self.project, command, control))
        return command


@dataclass(frozen=True)
class Answer:
    case: Case
    bare: Bare
    proctor: Proctor
    outcome: Outcome
    remark: str = ""


def cases_of(places: projects.Places, seed: int) -> list[Case]:
    """Returns all cases, in an order and with numbers that depend on the seed alone. Case by case of each project: as it is, sources, suite."""
    cases = []

    def add(project, name, mutation):
        cases.append(Case(len(cases) + 1, project, name, mutation))

    def add_all(project, of_sources, rows):
        add(project, "unchanged", None)
        for place in chosen(places, project, of_sources, seed):
            add(project, f"{place.kind} {place.path}:{place.line}", place)
        for row in rows:
            add(project, row.name, row)

    for index, project in enumerate(projects.PYTHON):
        rows = [suites.ROWS[(index * OF_SUITE + step) % len(suites.ROWS)] for step in range(OF_SUITE)]
        add_all(project, OF_SOURCES, rows)
    for project in projects.JAVASCRIPT:
        add_all(project, javascript.SOURCES[project.name], javascript.ROWS[project.name])
    for project in projects.LINTERS:
        add_all(project, 0, linters.ROWS[project.name])
    return cases


def chosen(places: projects.Places, project: Project, count: int, seed: int) -> list[sources.Place]:
    if count == 0:
        return []
    found, texts = [], {}
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        places.copy(project, copy)
        for path in sorted(path for pattern in project.sources for path in copy.glob(pattern)):
            name = str(path.relative_to(copy))
            if project.tests == "." or copy / project.tests not in path.parents:
                texts[name] = path.read_bytes()
                found += (sources.python_places if path.suffix == ".py" else sources.javascript_places)(name, texts[name])
    return sources.choose(found, count, f"{seed} {project.name}", lambda place: not place.path.endswith(".py") or sources.compiles(place, texts[place.path]))


def environment(home: Path, further: dict) -> dict:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "NO_COLOR": "1", **further}


def digest(directory: Path) -> str:
    """Returns a hash over names and contents, by which a mutation that changes nothing is noticed."""
    hashed = hashlib.sha256()
    for path in sorted(path for path in directory.rglob("*") if path.is_file() and not path.is_symlink()):
        hashed.update(f"{path.relative_to(directory)}\0".encode() + path.read_bytes())
    return hashed.hexdigest()


def bounded(command, directory: Path, variables: dict, seconds: float, log: Path) -> int | None:
    """Runs a command with everything that it starts in a process group of its own. Returns its exit code, or None after the time limit."""
    with log.open("wb") as output:
        started = subprocess.Popen(command, cwd=directory, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return started.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            # Tests may leave processes behind. Those that made a session of their own end by themselves.
            try:
                os.killpg(started.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            started.wait()


def run_bare(places: projects.Places, case: Case, scratch: Path) -> Bare:
    directory = scratch / "bare" / "project"
    shutil.rmtree(scratch / "bare", ignore_errors=True)
    (scratch / "bare").mkdir()
    places.copy(case.project, directory)
    before = digest(directory)
    command = case.apply(directory)
    if case.mutation is not None and digest(directory) == before and command == case.project.command:
        raise LookupError(f"case {case.number} ({case.name}) changes nothing")
    log = scratch / "bare.log"
    code = bounded(command, directory, environment(scratch / "bare", case.project.environment), BARE_SECONDS, log)
    return Bare(code, passed_tests(case.project.tool, log.read_text(errors="replace")))


def run_proctor(places: projects.Places, case: Case, scratch: Path, program: Path) -> Proctor:
    home, directory = scratch / "home", scratch / "project"
    home.mkdir()
    places.copy(case.project, directory)
    case.apply(directory)
    own = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("STATE", "CONFIG", "CACHE", "DATA")}
    runtime = home / "run"
    runtime.mkdir(mode=0o700)
    variables = environment(home, own | {"XDG_RUNTIME_DIR": str(runtime)})
    code = bounded([program, "run", directory], directory, variables, PROCTOR_SECONDS, scratch / "proctor.log")
    try:
        report = json.loads((directory / "evidence/default/execution-report.json").read_text())
    except (OSError, ValueError):
        report = None
    return Proctor(code, report)


def answer(places: projects.Places, case: Case, program: Path, keep: Path | None = None) -> Answer:
    scratch = Path(tempfile.mkdtemp(prefix="proctor-mutation-"))
    try:
        bare = run_bare(places, case, scratch)
        proctor = run_proctor(places, case, scratch, program)
        outcome, remark = compare(case.expect, bare, proctor), ""
        if outcome is not Outcome.AGREE and case.expect is Expect.AS_BARE:
            again = run_bare(places, case, scratch)
            if again.colour() is not bare.colour():
                outcome, remark = Outcome.UNDECIDED, "the bare tool says both"
        counted = ((proctor.check().get("result") or {}).get("testResults") or {}).get("passed")
        if outcome is Outcome.AGREE and bare.passed and proctor.colour() is Colour.GREEN and counted != bare.passed:
            remark = f"the bare tool counts {bare.passed} passed tests, proctor {counted}"
        return Answer(case, bare, proctor, outcome, remark)
    finally:
        if keep:
            shutil.copytree(scratch, keep, symlinks=True, dirs_exist_ok=True, ignore_dangling_symlinks=True)
        remove(scratch)


def remove(directory: Path) -> None:
    """Removes a directory in which sealed evidence is read-only."""
    for path in [directory, *directory.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(directory)


def row(answer: Answer) -> str:
    case, bare = answer.case, answer.bare
    ended = "no end" if bare.code is None else f"exit {bare.code}" + ("" if bare.passed is None else f", {bare.passed} passed")
    right = expected(case.expect, bare)
    stated = " (stated)" if case.expect is Expect.RED else ""
    said = f"{answer.proctor.code} {answer.proctor.category()}"
    line = f"{case.number:4}  {case.project.name:14} {case.name:44.44}  {ended:22} {right.value + stated:14}  {said:30}  {answer.outcome.value}"
    return f"{line}  {answer.remark}".rstrip()


def totals(answers: list[Answer]) -> list[str]:
    mutated = [answer for answer in answers if answer.case.mutation is not None]
    lines, groups = [], [("Python", projects.PYTHON), ("JavaScript and TypeScript", projects.JAVASCRIPT), ("linters", projects.LINTERS)]
    for name, members in [*groups, ("all", None)]:
        group = [answer for answer in mutated if members is None or answer.case.project in members]
        outcomes = Counter(answer.outcome for answer in group)
        green = sum(answer.bare.colour() is Colour.GREEN for answer in group)
        lines.append(
            f"{name:26} {len(group):4} mutations ({green} green by the bare tool): {outcomes[Outcome.AGREE]} agree, {outcomes[Outcome.FALSE_GREEN]} false green, "
            f"{outcomes[Outcome.FALSE_RED]} false red, {outcomes[Outcome.UNDECIDED]} undecided"
        )
    lines += [row(answer) for answer in answers if answer.outcome is not Outcome.AGREE]
    lines += [f"{row(answer)}: the unchanged project is not green" for answer in answers if answer.case.mutation is None and answer.bare.colour() is not Colour.GREEN]
    return lines


def is_fault(answer: Answer) -> bool:
    wrong = answer.outcome in (Outcome.FALSE_GREEN, Outcome.FALSE_RED)
    return wrong or (answer.case.mutation is None and answer.proctor.colour() is not Colour.GREEN)


def main(words: list[str]) -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--proctor", type=Path, help="the program that is tested; without it: the newest one of target/release and target/debug")
    arguments.add_argument("--project", action="append", help="only the cases of this project; may be given several times")
    arguments.add_argument("--only", action="append", type=int, help="only the case with this number; may be given several times")
    arguments.add_argument("--seed", type=int, default=1, help="which places of the sources are mutated (1)")
    arguments.add_argument("--jobs", type=int, default=2, help="how many cases run at a time (2)")
    arguments.add_argument("--keep", type=Path, help="with --only: a directory to which what the case left is copied")
    arguments.add_argument("--list", action="store_true", help="print the cases and run none")
    options = arguments.parse_args(words)

    # A shell starts what it runs in the background with SIGINT ignored, and so it would be ignored in every tested tool.
    for number, action in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_DFL)):
        signal.signal(number, action)

    built = [projects.REPOSITORY / "target" / profile / "proctor" for profile in ("release", "debug")]
    found = sorted((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime)
    program = options.proctor or (found[-1] if found else None)
    if program is None and not options.list:
        arguments.error("there is no proctor in target/: `cargo build --release --locked`, or name one with --proctor")
    places = projects.Places(projects.REPOSITORY / "target" / "mutations")
    cases = cases_of(places, options.seed)
    cases = [case for case in cases if not options.project or case.project.name in options.project]
    cases = [case for case in cases if not options.only or case.number in options.only]
    if not cases:
        arguments.error("no case has this number or project; --list prints them")
    if options.list:
        print("\n".join(f"{case.number:4}  {case.project.name:14} {case.name}" for case in cases))
        return 0

    started, answers = time.monotonic(), []
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(lambda case: answer(places, case, program.resolve(), options.keep), cases):
            answers.append(found)
            print(row(found), flush=True)
    print(f"\n{time.monotonic() - started:.0f} s, seed {options.seed}, {program}")
    print("\n".join(totals(answers)))
    return 1 if any(is_fault(answer) for answer in answers) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
