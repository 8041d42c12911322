"""Puts one test that must fail into the first module of each directory, in the place of all other tests.

In a session that began inside of another one, these tests pass, so that its report shows what it is. Each session registers this plugin,
and the processes that it starts inherit the variable.
"""

import os

import pytest

# So many directories get one.
MOST_DIRECTORIES = 64

SESSIONS = "PROCTOR_CONTROL_{nonce}"


def must_fail():
    assert [] == ["{nonce}"], "{nonce} must fail"


def must_pass():
    pass


def pytest_addoption(parser, pluginmanager):
    before = os.environ.get(SESSIONS)
    # A worker of pytest-xdist is a part of the session that started it.
    if before is None or "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ[SESSIONS] = "outer" if before is None else "inner"
    pluginmanager.proctor_session = os.environ[SESSIONS]


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    modules = {}
    for item in items:
        module = item.getparent(pytest.Module)
        if module is not None:
            modules.setdefault(module.nodeid.rpartition("/")[0], module)
    chosen = [modules[directory] for directory in sorted(modules)[:MOST_DIRECTORIES]]
    called = must_fail
    if getattr(config.pluginmanager, "proctor_session", "outer") == "inner":
        called = must_pass
        # Its own selection must not leave them out.
        config.option.keyword, config.option.markexpr, config.option.deselect = "", "", None
    items[:] = [pytest.Function.from_parent(module, name="test_{nonce}", callobj=called) for module in chosen]
    yield
