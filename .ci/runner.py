#!/usr/bin/env python3
"""Runs one test executable in cargo's place, and records for each of its tests how it ended, in how many seconds, and what it printed.

`.ci/tests.py` has cargo start it instead of every test executable (cargo's setting `runner`), so that the command of the README is run as
it is. libtest tells such things in JSON, and only where the variable RUSTC_BOOTSTRAP is set. It is set here, for the test executable
alone: were it set for cargo, build scripts that read it would run again, and compile their crates anew. The tests start programs with an
environment of their own, so that these do not see it.

Ends with 0 when the tests ran, whether they passed or not, because cargo would not start the next executable after another status.
"""

import json
import os
import pathlib
import subprocess
import sys

# The marks of tests that `cargo test` leaves out, and the tier that runs them. A mark that is not here fails the gate: a test must not be
# left out of every tier by a slip of the pen.
TIER_OF_MARK = {
    "long tier": "long",
    "wide tier": "wide",
    "run by another test in a user namespace": None,
}
JSON = ["-Z", "unstable-options", "--format", "json"]


def listed(executable, environment):
    """Returns the tests of an executable, as libtest describes them."""
    ran = subprocess.run([executable, "--list", *JSON], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    events = (json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{"))
    return [event for event in events if event["type"] == "test" and event["event"] == "discovered"]


def of_tier(tests, tier):
    """Returns the names of the ignored tests that belong to a tier. A mark without a tier is an error."""
    names = []
    for test in tests:
        if test["ignore"]:
            mark = test.get("ignore_message") or ""
            if mark not in TIER_OF_MARK:
                sys.exit(f"`{test['name']}` is ignored with the reason `{mark}`, which names no tier; .ci/runner.py knows {list(TIER_OF_MARK)}")
            if TIER_OF_MARK[mark] == tier:
                names.append(test["name"])
    return names


def event_of(line):
    """Returns the event in a line of output, and what a test printed before it without ending its line. None: it is no event."""
    start = line.find('{ "type": "')
    if start < 0:
        return None, line
    try:
        event = json.loads(line[start:])
    except ValueError:
        return None, line
    return event, line[:start]


def run(command, environment, tell):
    """Runs tests and prints a line for each of them, as libtest does. Returns the tests that ended, the names of those that were still
    running when the executable ended, how many were left out, and the exit status."""
    running, ended, left_out = [], [], 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True, errors="replace") as child:
        for line in child.stdout:
            event, other = event_of(line)
            if other.strip():
                tell(other.rstrip("\n"))
            if event is None or event["type"] != "test":
                continue
            name, what = event["name"], event["event"]
            if what == "started":
                running.append(name)
            elif what == "timeout":
                tell(f"test {name} has been running for over 60 seconds")
            elif what == "ignored":
                running.remove(name)
                left_out += 1
            else:
                running.remove(name)
                seconds = float(event.get("exec_time", 0))
                passed = what == "ok"
                output = event.get("stdout", "") + event.get("message", "")
                ended.append({"name": name, "passed": passed, "seconds": seconds, "output": output})
                tell(f"test {name} ... {'ok' if passed else 'FAILED'} <{seconds:.3f}s>")
    return ended, running, left_out, child.returncode


def main():
    executable, arguments = sys.argv[1], sys.argv[2:]
    tier, records = os.environ["PROCTOR_CI_TIER"], pathlib.Path(os.environ["PROCTOR_CI_RECORDS"])
    # A cargo that a test starts must not take this program for its runner.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PROCTOR_CI_") and not name.endswith("_RUNNER")
    }
    environment["RUSTC_BOOTSTRAP"] = "1"

    def tell(line):
        print(line, flush=True)

    marked = of_tier(listed(executable, environment), tier)
    selection = []
    if tier != "default":
        if not marked:
            return
        selection = ["--ignored", "--exact", *marked]
    ended, running, left_out, status = run([executable, *arguments, *selection, *JSON, "--report-time"], environment, tell)
    for test in ended:
        if not test["passed"]:
            tell(f"\n---- {test['name']} stdout ----\n{test['output']}")
    record = {
        "executable": executable,
        "directory": os.getcwd(),
        "environment": environment,
        "tests": ended,
        "left_out": left_out,
        "ended_within": running,
        "status": status,
    }
    records.mkdir(parents=True, exist_ok=True)
    (records / f"{pathlib.Path(executable).name}.json").write_text(json.dumps(record))
    failed = sum(1 for test in ended if not test["passed"])
    word = "FAILED" if failed or running else "ok"
    tell(f"test result: {word}. {len(ended) - failed} passed; {failed} failed; {left_out} ignored")
    # libtest ends with 101 when a test failed. With any other status, or in the middle of a test, it did not run all of them.
    if status not in (0, 101) or running:
        sys.exit(f"`{executable}` ended with {status} before its tests had ended; it was running {running}")


if __name__ == "__main__":
    main()
