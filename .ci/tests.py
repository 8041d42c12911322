"""Runs a tier of the tests (house style T15), and the tests that failed once more, one at a time (T16).

A test that passes the second time is called flaky: it is listed in the closing lines, both its outputs are kept below `flaky` in cargo's
target directory, and it does not fail the tier. A test that fails twice does.

The tests are run by cargo's own runner and not by cargo-nextest: the command is that of the README, which a newcomer can run without
installing anything, and one process runs the thousands of short unit tests. What nextest tells besides (the seconds of each test, its
output, which one failed) libtest tells too: see `.ci/runner.py`, which cargo starts in the place of each test executable.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

# So many failures have one cause, which a second run will not change but would take very long to find again.
MOST_REPEATED = 20
SLOWEST = 10


def host():
    """Returns the name of this platform, as cargo's variables have it."""
    said = subprocess.run(["rustc", "--version", "--verbose"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"^host: (.+)$", said, re.MULTILINE)[1].upper().replace("-", "_")


def target_directory():
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    return pathlib.Path(json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)["target_directory"])


def run_all(tier, command):
    """Runs the command for the tests of a tier. Returns what `.ci/runner.py` recorded of each test executable, and the exit status."""
    with tempfile.TemporaryDirectory() as records:
        runner = {f"CARGO_TARGET_{host()}_RUNNER": ".ci/runner.py", "PROCTOR_CI_TIER": tier, "PROCTOR_CI_RECORDS": records}
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", command], check=False, env={**os.environ, **runner})
        return [json.loads(path.read_text()) for path in sorted(pathlib.Path(records).iterdir())], ran.returncode


def run_again(record, test):
    """Runs one test alone. Returns whether it passed, and what it printed."""
    command = [record["executable"], "--exact", test["name"], "--include-ignored", "--show-output", "--test-threads=1"]
    ran = subprocess.run(
        command, cwd=record["directory"], env=record["environment"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", check=False,
    )
    # A test that is called by another name than before would not be run, and the executable would still end with 0.
    return ran.returncode == 0 and "test result: ok. 1 passed" in ran.stdout, ran.stdout


def keep(directory, test, first, second):
    """Keeps both outputs of a flaky test."""
    directory.mkdir(parents=True, exist_ok=True)
    name = test["name"].replace("::", ".")
    for kind, text in (("first", first), ("second", second)):
        (directory / f"{name}.{kind}.txt").write_text(text)


def repeat_failed(records, directory):
    """Runs the failed tests again. Returns the names of those that passed then, and of those that did not."""
    failed = [(record, test) for record in records for test in record["tests"] if not test["passed"]]
    if len(failed) > MOST_REPEATED:
        print(f"\n{len(failed)} tests failed; more than {MOST_REPEATED} are not run again")
        return [], [test["name"] for _, test in failed]
    flaky, still_failed = [], []
    for record, test in failed:
        print(f"\nonce more, alone: {test['name']}", flush=True)
        passed, output = run_again(record, test)
        if passed:
            keep(directory, test, test["output"], output)
            print(f"    passed this time; both outputs are in {directory}")
            flaky.append(test["name"])
        else:
            print(output, flush=True)
            still_failed.append(test["name"])
    return flaky, still_failed


def closing_lines(tier, records, flaky, seconds):
    """Returns what the gate closes with for a tier: counts, the slowest tests, and those that passed only the second time."""
    tests = [test for record in records for test in record["tests"]]
    left_out = sum(record["left_out"] for record in records)
    lines = [f"the {tier} tier: {len(tests)} tests in {seconds:.0f} s, {left_out} left out, {len(flaky)} flaky; the slowest:"]
    slowest = sorted(tests, key=lambda test: test["seconds"], reverse=True)[:SLOWEST]
    lines += [f"    {test['seconds']:7.1f} s  {test['name']}" for test in slowest]
    return lines + [f"    flaky: {name} (failed, then passed alone)" for name in flaky]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("tier", choices=["default", "long", "wide"])
    arguments.add_argument("--command", default="cargo test --locked --workspace", help="how cargo is called")
    arguments.add_argument("--closing", type=pathlib.Path, help="a file that gets the closing lines")
    options = arguments.parse_args()

    directory = target_directory() / "flaky" / options.tier
    shutil.rmtree(directory, ignore_errors=True)
    started = time.monotonic()
    records, status = run_all(options.tier, options.command)
    flaky, failed = repeat_failed(records, directory)
    count = sum(len(record["tests"]) for record in records)
    closing = closing_lines(options.tier, records, flaky, time.monotonic() - started)
    print("", *closing, sep="\n")
    print(f"{count - len(failed)} passed, {len(failed)} failed", flush=True)
    if options.closing:
        options.closing.write_text("\n".join(closing) + "\n")
        options.closing.with_suffix(".count").write_text(f"{count - len(failed)}\n")
    if failed:
        sys.exit("tests: these failed twice, or were not run again: " + ", ".join(failed))
    if status != 0:
        sys.exit(f"tests: `{options.command}` ended with {status}")
    if count == 0:
        sys.exit(f"tests: `{options.command}` ran no test of the {options.tier} tier")


if __name__ == "__main__":
    main()
