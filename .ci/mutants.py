"""Asks whether the simulators find faults: it plants each row of their `mutants.json` in a copy of the repository, one at a time, and runs
the simulator there until a schedule fails.

`python3 .ci/mutants.py` does it in `target/mutants`, where the first build takes a while. `--here` plants the faults in this repository and
takes them out again. The exit code is 1 if a fault is not found within `PROCTOR_SCHEDULES` (100,000) schedules.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The tables of the simulators, each with the directory of its files, the crate, and the test that tries schedules.
SIMULATORS = [
    ("crates/service/src/service/simulator/mutants.json", "crates/service/src", "proctor-service", "simulator::no_order"),
    ("crates/project/src/simulator/mutants.json", "crates", "proctor-project", "simulator::what_was_sealed_stays_sealed_wherever"),
]


def copy_of(root):
    copy = root / "target/mutants/proctor"
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns("target", ".git")
    shutil.copytree(root, copy, symlinks=True, ignore=ignored)
    return copy


def seed_that_finds(root, mutant, directory, crate, test):
    file = root / directory / mutant["file"]
    text = file.read_text()
    if text.count(mutant["old"]) != 1:
        return f"does not fit: {text.count(mutant['old'])} places"
    file.write_text(text.replace(mutant["old"], mutant["new"]))
    try:
        environment = {"PROCTOR_SCHEDULES": "100000", **os.environ}
        command = ["cargo", "test", "--quiet", "-p", crate, "--lib", test, "--", "--nocapture"]
        ended = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    finally:
        file.write_text(text)
    if "error" in ended.stderr and "could not compile" in ended.stderr:
        return "does not compile: " + ended.stderr[:600]
    found = re.search(r"^seed (\d+)", ended.stdout + ended.stderr, re.MULTILINE)
    return int(found.group(1)) if found else "not found"


def main():
    root = ROOT if "--here" in sys.argv else copy_of(ROOT)
    missed = 0
    for table, *simulator in SIMULATORS:
        for mutant in json.loads((ROOT / table).read_text()):
            seed = seed_that_finds(root, mutant, *simulator)
            missed += not isinstance(seed, int)
            print(f"{mutant['file']}: {mutant['what']}: {seed}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
