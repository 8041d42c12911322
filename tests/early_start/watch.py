"""Hooks that do something between two loads of modules: the list of what is loaded early ends behind those that a module can see."""

import os
import random
import re
import sys
import tempfile
import types

watching = {"__name__": "early_watch", "__file__": "early_watch.py"}
with open(sys.argv[1], encoding="utf-8") as file:
    exec(compile(file.read(), "early_watch.py", "exec"), watching)
directory = tempfile.mkdtemp(dir=sys.argv[2])
sys.path.insert(0, directory)
FIRST = """
class Registry:
    def __init__(self):
        self.rows = []
REGISTRY, LIST, FLAG = Registry(), [1], False
def function(): pass
"""


def write(name, text):
    with open(os.path.join(directory, name + ".py"), "w", encoding="utf-8") as file:
        file.write(text)


write("first", FIRST)
import first


def reads_modules():
    return "later" in sys.modules


def replaces():
    first.LIST[0] = int("7")


# What a hook does, and whether loading can go on behind it.
HOOKS = [
    (lambda: None, True),
    (lambda: __import__("inner"), True),
    (lambda: [__import__("inner"), __import__("outer")], True),
    (lambda: {"a": 1}.update(b=2), True),
    (lambda: re.compile("a+b|c{3,}"), True),
    (lambda: os.environ.update(SEEN="1"), False),
    (lambda: [os.environ.update(SEEN="2"), __import__("inner")], False),
    (lambda: [__import__("inner"), os.environ.update(SEEN="3")], False),
    (lambda: first.REGISTRY.rows.append(1), False),
    (lambda: setattr(first, "FLAG", True), False),
    (lambda: setattr(first.Registry, "row", 1), False),
    (lambda: setattr(first.function, "mark", 1), False),
    (lambda: sys.path.append("/nowhere"), False),
    (lambda: random.seed(4), False),
    (lambda: os.umask(0o77), False),
    (lambda: watch.look("/project/flag", False), False),
    (lambda: watch.look("/usr/flag", False), True),
    (lambda: watch.audit("subprocess.Popen", ()), False),
    (reads_modules, False),
    (replaces, False),
]

wrong = []
for number, (hook, goes_on) in enumerate(HOOKS):
    write("inner", "")
    write("outer", "import inner\n")
    write("later", "import second\n")
    write("second", "")
    for name in ("inner", "outer", "later", "second"):
        sys.modules.pop(name, None)
    hook.__module__ = "plugin"
    watch = watching["Watch"]("/project", [], ())
    watch.watch_loads()
    calls = "hook", [types.SimpleNamespace(function=hook)], {}
    watch.before_hook(*calls)
    hook()
    watch.after_hook(None, *calls)
    import later

    watch.end()
    if (watch.ended is None) != goes_on:
        wrong.append(number)
    elif not goes_on and "later" in watch.ended:
        wrong.append((number, "the list ends too late"))
    elif "missing" in watch.missing:
        wrong.append((number, "a name that no hook asked for"))
assert not wrong, wrong

watch = watching["Watch"]("/project", [], ())
sys.meta_path.append(watch)
watch.hooks = 1
try:
    import missing
except ImportError:
    pass
watch.end()
assert "missing" in watch.missing
print("right")
