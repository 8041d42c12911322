"""Puts one test that must fail into the first module of each directory, in the place of all other tests."""

import pytest

# So many directories get one.
MOST_DIRECTORIES = 64


def must_fail():
    assert [] == ["{nonce}"], "{nonce} must fail"


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    modules = {}
    for item in items:
        module = item.getparent(pytest.Module)
        if module is not None:
            modules.setdefault(module.nodeid.rpartition("/")[0], module)
    chosen = [modules[directory] for directory in sorted(modules)[:MOST_DIRECTORIES]]
    items[:] = [pytest.Function.from_parent(module, name="test_{nonce}", callobj=must_fail) for module in chosen]
    yield
