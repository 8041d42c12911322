"""Lets pytest run one part (shard) of the tests that it collects, and lists which.

Every process collects all tests, so each computes the same division and writes the same list. Files of tests stay together, unless a
file is large: then its tests are divided. What took longest is placed first, always in the part that has the least to do so far.
"""

import json
import os

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))

# A file of tests that takes more than this share of what one part takes is divided.
LARGEST = 1 / 4

# Tests with one of these marks depend on others of their file.
TOGETHER = ("dependency", "incremental", "order", "run")


def group_of(item):
    """Returns the name of the tests that must run in one process with this one, or None."""
    group = item.get_closest_marker("xdist_group")
    if group is not None:
        name = group.args[0] if group.args else group.kwargs.get("name", "default")
        return "group %s" % (name,)
    if any(item.get_closest_marker(mark) is not None for mark in TOGETHER):
        return "file " + file_of(item.nodeid)
    return None


def file_of(test):
    return test.partition("::")[0]


def divide(tests, times, parts):
    """Returns the number of the part of each test. `tests` has the ids of the tests, each with its group or None."""
    known = [times[test] for test in tests if test in times]
    usual = max(sum(known) / len(known), 1) if known else 1
    weight = {test: max(times.get(test, usual), 1) for test in tests}
    largest = sum(weight.values()) / parts * LARGEST
    of_file = {}
    for test in tests:
        of_file[file_of(test)] = of_file.get(file_of(test), 0) + weight[test]
    grouped = {"file " + file_of(test) for test, group in tests.items() if group == "file " + file_of(test)}
    units = {}
    for test, group in tests.items():
        file = "file " + file_of(test)
        if group is None:
            group = file if file in grouped or of_file[file_of(test)] <= largest else "test " + test
        units.setdefault(group, []).append(test)
    loads = [0] * parts
    placed = {}
    for weighs, unit in sorted((-sum(weight[test] for test in units[unit]), unit) for unit in units):
        part = loads.index(min(loads))
        loads[part] -= weighs
        placed.update((test, part + 1) for test in units[unit])
    return {test: placed[test] for test in tests}


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    # What the project's own hooks and options leave out is left out before.
    yield
    with open(os.path.join(HERE, "proctor-shard.json"), encoding="utf-8") as file:
        plan = json.load(file)
    placed = divide({item.nodeid: group_of(item) for item in items}, plan["times"], plan["of"])
    own = [item for item in items if placed[item.nodeid] == plan["number"]]
    others = [item for item in items if placed[item.nodeid] != plan["number"]]
    numbers = {test: number for number, test in enumerate(placed)}
    written = {"tests": list(placed), "own": sorted({numbers[item.nodeid] for item in own})}
    # Each worker of pytest-xdist collects too, and writes the same.
    new = os.path.join(HERE, "new-" + os.environ.get("PYTEST_XDIST_WORKER", "list"))
    with open(new, "w", encoding="utf-8", errors="backslashreplace") as file:
        json.dump(written, file)
    os.replace(new, os.path.join(HERE, "collected.json"))
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = own
