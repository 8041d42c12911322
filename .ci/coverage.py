"""Measures which lines of a module the module's own tests run, and fails below a minimum.

The module is a crate of `crates/`, or a folder of one. Only that crate is compiled with instrumentation, in the build directory the tests
use. Lines of test items are not
counted, and neither are lines without code. A file with functions that the data do not know of fails the check:
it is uncovered, whatever the reader makes of it.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def build(manifest):
    """Compiles the tests of a package's library with instrumentation and returns the executable."""
    command = ["cargo", "rustc", "--quiet", "--lib", "--profile", "test", "--locked", "--message-format=json"]
    # What a debugger needs is not needed here, and takes time to write.
    options = ["-C", "instrument-coverage", "-C", "debuginfo=0"]
    ran = subprocess.run([*command, "--manifest-path", str(manifest), "--", *options], stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode != 0:
        sys.exit("coverage: the library's tests do not compile")
    messages = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    executables = [message["executable"] for message in messages if message.get("executable")]
    if len(executables) != 1:
        sys.exit(f"coverage: expected one test executable, cargo named {executables}")
    return executables[0]


def measure(reader, executable, selection):
    """Runs the tests whose names contain one of `selection`, or all of them if it is empty. Returns for each file how often each of its lines
    with code was run."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {"LLVM_PROFILE_FILE": f"{directory}/%p.profraw", "PATH": "/usr/bin:/bin"}
        ran = subprocess.run([executable, *selection], stdout=subprocess.PIPE, text=True, check=False, env=environment)
        if ran.returncode != 0:
            sys.exit(f"coverage: the tests fail:\n{ran.stdout}")
        if not re.search(r"^test result: ok\. [1-9]", ran.stdout, re.M):
            sys.exit("coverage: the module has no tests")
        profiles = [argument for path in pathlib.Path(directory).glob("*.profraw") for argument in ("--instr-profile", str(path))]
        shown = subprocess.run([reader, "show", *profiles, "--object", executable], stdout=subprocess.PIPE, text=True, check=True)
    files, current = {}, {}
    for line in shown.stdout.splitlines():
        row = re.match(r" *(\d+)\| *(\d*)\|", line)
        if row is None:
            current = files.setdefault(line.rstrip(":"), {})
        elif row[2]:
            current[int(row[1])] = int(row[2])
    return files


def production_lines(text):
    """Returns the numbers of the lines that are not part of a test item in the first column."""
    numbers, test_item = set(), False
    for number, line in enumerate(text.splitlines(), 1):
        test_item = test_item or line == "#[cfg(test)]"
        if not test_item:
            numbers.add(number)
        if test_item and not line.startswith((" ", "\t", "#")) and line.endswith((";", "}")):
            test_item = False
    return numbers


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("module", help="a crate of crates/, or a folder of one: CRATE/FOLDER")
    arguments.add_argument("--reader", required=True, help="the program `cov` of the crate llvm_profparser")
    arguments.add_argument("--minimum", type=float, required=True, help="per cent of the lines")
    options = arguments.parse_args()

    root = pathlib.Path.cwd().resolve()
    crate, _, folder = options.module.partition("/")
    crate = root / "crates" / crate
    sources, manifest, selection = crate / "src" / folder, crate / "Cargo.toml", [f"{folder}::"] if folder else []
    files = measure(options.reader, build(manifest), selection)
    covered = counted = 0
    faults = []
    for path in sorted(sources.rglob("*.rs")):
        name = path.relative_to(root)
        text = path.read_text()
        production = production_lines(text)
        if path.name.endswith("tests.rs") or "tests" in name.parts:
            continue
        hits = {number: count for number, count in files.get(str(path), {}).items() if number in production}
        code = [line for number, line in enumerate(text.splitlines(), 1) if number in production]
        if not hits and any(re.match(r"\s*(pub(\([a-z]+\))? )?(const )?fn ", line) for line in code):
            faults.append(f"{name}: has functions, and no line of it was measured")
            continue
        missed = sorted(number for number, count in hits.items() if count == 0)
        covered, counted = covered + len(hits) - len(missed), counted + len(hits)
        if hits:
            share = 100 * (len(hits) - len(missed)) / len(hits)
            print(f"    {share:5.1f} %  {name}" + (f"  not run: {', '.join(map(str, missed))}" if missed else ""))
    share = 100 * covered / counted if counted else 0.0
    print(f"    {share:5.1f} %  {sources.relative_to(root)}/, {covered} of {counted} lines; at least {options.minimum:g} % are asked for")
    if counted == 0 or share < options.minimum:
        faults.append(f"{sources.relative_to(root)}/ is covered too little")
    if faults:
        sys.exit("coverage: " + "\n".join(faults))


main()
