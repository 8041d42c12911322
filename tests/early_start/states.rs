//! The states in which a naive early start was wrong, or could be.

use crate::common::{python_pytest_7, python_pytest_8, python_suites};
use crate::early_start::{Expected, PLAIN, State};

/// The content that stands for a library of machine code.
pub(super) const LIBRARY: &str = "{library}";

const TEST_B: &str = "def test_b(): assert 1\n";
const CONFTEST: &str = "from judge import pytest_sessionstart\n";
const METADATA: &str = "Metadata-Version: 2.1\nName: seenplug\nVersion: 1.0\n";
const ENTRY: &str = "[pytest11]\nseenplug = seenplug\n";
/// Shows what depends on variables that an interpreter reads when it starts.
const SHOWS: &str = "import locale, sys, time\ndef test_a():\n    print(time.tzname, time.timezone, sys.flags, locale.getlocale(), sys.warnoptions, \
                     sys._xoptions)\n    assert 0\n";
/// A test that starts a process by the given method.
macro_rules! started_by {
    ($method:literal) => {
        concat!(
            "import multiprocessing, sys\ndef work(queue): queue.put('pytest' in sys.modules)\ndef test_a():\n    context = ",
            "multiprocessing.get_context('",
            $method,
            "')\n    queue = context.Queue()\n    process = context.Process(target=work, args=(queue,))\n    process.start()\n    ",
            "print(queue.get(timeout=60))\n    process.join()\n    assert process.exitcode == 0\n    assert ",
            "sys.modules['__main__'].__spec__.name == 'pytest.__main__'\n"
        )
    };
}

/// A plugin in the directory of installed packages, whose module does something when it is loaded.
macro_rules! plugin {
    ($text:expr) => {
        &[
            ("seenplug.py", $text),
            ("seenplug-1.0.dist-info/METADATA", METADATA),
            ("seenplug-1.0.dist-info/entry_points.txt", ENTRY),
            ("seenplug-1.0.dist-info/RECORD", "seenplug.py,,\n"),
        ]
    };
}

/// Two plugins, the first of which has this text. They are loaded in this order.
macro_rules! two_plugins {
    ($text:expr) => {
        &[
            ("firstplug.py", $text),
            ("secondplug.py", "import os\nX = os.environ.get('LATER')\n"),
            ("seenplug-1.0.dist-info/METADATA", METADATA),
            ("seenplug-1.0.dist-info/entry_points.txt", "[pytest11]\nfirstplug = firstplug\nsecondplug = secondplug\n"),
        ]
    };
}

/// Modules of the project with the name of one that is loaded before.
pub(super) const SHADOWS: &[State] = &[
    State { name: "wrong", files: &[("json.py", "loads = dumps = None\n")], expected: Expected::Refused("json.py"), ..PLAIN },
    State {
        name: "broken",
        files: &[("calendar.py", "raise SystemExit('broken')\n")],
        expected: Expected::Refused("calendar.py"),
        ..PLAIN
    },
    State {
        name: "package",
        files: &[("pluggy/__init__.py", "raise RuntimeError\n")],
        expected: Expected::Refused("pluggy"),
        ..PLAIN
    },
    State { name: "not loaded before", files: &[("turtle.py", "raise RuntimeError\n")], ..PLAIN },
    State {
        name: "on a path of a variable",
        files: &[("src/logging/__init__.py", "x = 1\n")],
        variables: &[("PYTHONPATH", "src")],
        expected: Expected::Refused("src/logging"),
        ..PLAIN
    },
    State {
        name: "saved while it waits",
        changes: &[("json.py", "x = {save}\n")],
        expected: Expected::Refused("json.py"),
        ..PLAIN
    },
];

/// Ways in which the project's modules get on the path.
pub(super) const EDITABLE: &[State] = &[
    State {
        name: "a line of a path file",
        files: &[("src/shop/__init__.py", "x = 1\n"), ("test_a.py", "import shop\ndef test_a(): assert shop.x\n")],
        packages: &[("shop.pth", "{project}/src\n")],
        ..PLAIN
    },
    State {
        name: "a finder",
        files: &[("src/shop/__init__.py", "x = 1\n"), ("test_a.py", "import shop\ndef test_a(): assert shop.x\n")],
        packages: &[
            ("shop_finder.pth", "import shop_finder; shop_finder.install()\n"),
            (
                "shop_finder.py",
                "import sys\nfrom importlib.util import spec_from_file_location\nclass Finder:\n    @classmethod\n    def find_spec(cls, name, \
                 path=None, target=None):\n        if name == 'shop':\n            return spec_from_file_location(name, \
                 '{project}/src/shop/__init__.py')\ndef install():\n    sys.meta_path.append(Finder)\n",
            ),
        ],
        ..PLAIN
    },
    State {
        name: "a variable",
        files: &[("src/shop.py", "x = 1\n"), ("test_a.py", "import shop\ndef test_a(): assert shop.x\n")],
        variables: &[("PYTHONPATH", "src")],
        ..PLAIN
    },
    State {
        name: "the plugin under test is the project",
        files: &[
            ("src/seenplug.py", "import pytest\n@pytest.fixture\ndef mine(): return 3\n"),
            ("test_a.py", "def test_a(mine): assert mine == 3\n"),
        ],
        packages: &[
            ("seen.pth", "{project}/src\n"),
            ("seenplug-1.0.dist-info/METADATA", METADATA),
            ("seenplug-1.0.dist-info/entry_points.txt", ENTRY),
            ("seenplug-1.0.dist-info/RECORD", "seen.pth,,\n"),
        ],
        ..PLAIN
    },
    State {
        name: "a plugin in the root",
        files: &[
            ("seenplug.py", "import pytest\n@pytest.fixture\ndef mine(): return 3\n"),
            ("seenplug.egg-info/PKG-INFO", METADATA),
            ("seenplug.egg-info/entry_points.txt", ENTRY),
            ("test_a.py", "def test_a(mine): assert mine == 3\n"),
        ],
        expected: Expected::Refused("seenplug.egg-info"),
        ..PLAIN
    },
];

/// Files and arguments that decide which plugins are loaded.
pub(super) const SETTINGS: &[State] = &[
    State {
        name: "settings below the root",
        files: &[
            ("tests/pytest.ini", "[pytest]\naddopts = -p no:unittest -p no:doctest -p no:faulthandler\n"),
            ("tests/conftest.py", CONFTEST),
            ("tests/test_b.py", TEST_B),
        ],
        command: "python -m pytest -q tests",
        ..PLAIN
    },
    State {
        name: "settings beside a named file",
        files: &[
            ("tests/pytest.ini", "[pytest]\naddopts = -p no:unittest -p no:doctest\n"),
            ("tests/conftest.py", CONFTEST),
            ("tests/test_b.py", TEST_B),
        ],
        command: "python -m pytest -q tests/test_b.py::test_b",
        ..PLAIN
    },
    State {
        name: "a named file of settings",
        files: &[("etc/my.ini", "[pytest]\naddopts = -p no:doctest\n")],
        command: "python -m pytest -q -c etc/my.ini --rootdir=.",
        ..PLAIN
    },
    State {
        name: "settings that appear while it waits",
        files: &[("tests/conftest.py", CONFTEST), ("tests/test_b.py", TEST_B)],
        changes: &[("tests/tox.ini", "[pytest]\naddopts = -p no:doctest -v\n# {save}\n")],
        command: "python -m pytest -q tests",
        expected: Expected::Refused("another command was started"),
        ..PLAIN
    },
    State { name: "warnings are errors", files: &[("pytest.ini", "[pytest]\nfilterwarnings = error\n")], ..PLAIN },
    State {
        name: "a plugin named early",
        files: &[("early_one.py", "def pytest_report_header(): return 'early one'\n")],
        command: "python -m pytest -p early_one",
        ..PLAIN
    },
    State { name: "options of a variable", variables: &[("PYTEST_ADDOPTS", "-q -p no:doctest -p pytester")], ..PLAIN },
    State {
        name: "plugins of a variable",
        files: &[("my_plugin.py", "def pytest_report_header(): return 'from a variable'\n")],
        variables: &[("PYTEST_PLUGINS", "my_plugin,pytester")],
        command: "python -m pytest",
        ..PLAIN
    },
    State {
        name: "options of the project's file",
        files: &[("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-p no:doctest -p no:unittest'\n")],
        ..PLAIN
    },
    State { name: "the script", command: "pytest -q", ..PLAIN },
];

/// Variables and options that are read when the interpreter starts.
pub(super) const VARIABLES: &[State] = &[
    State { name: "time zone", files: &[("test_a.py", SHOWS)], variables: &[("TZ", "Asia/Tokyo")], ..PLAIN },
    State { name: "locale", files: &[("test_a.py", SHOWS)], variables: &[("LANG", "C"), ("LC_ALL", "POSIX")], ..PLAIN },
    State { name: "UTF-8", files: &[("test_a.py", SHOWS)], variables: &[("PYTHONUTF8", "1"), ("LANG", "C")], ..PLAIN },
    State { name: "warnings", files: &[("test_a.py", SHOWS)], variables: &[("PYTHONWARNINGS", "error")], ..PLAIN },
    State { name: "optimised", command: "python -O -m pytest -q", ..PLAIN },
    State {
        name: "development mode",
        command: "python -X dev -m pytest -q",
        expected: Expected::Refused("development mode"),
        ..PLAIN
    },
    State {
        name: "hash seed",
        files: &[("test_a.py", "def test_a():\n    print(hash('a'))\n    assert 0\n")],
        variables: &[("PYTHONHASHSEED", "7")],
        ..PLAIN
    },
    State { name: "safe path", variables: &[("PYTHONSAFEPATH", "1"), ("PYTHONPATH", ".")], ..PLAIN },
];

/// What a plugin does when it is loaded.
pub(super) const PLUGINS: &[State] = &[
    State {
        name: "it reads a file",
        packages: plugin!("import pathlib\nVALUE = pathlib.Path(__file__).with_name('METADATA.txt').exists()\n"),
        ..PLAIN
    },
    State {
        name: "its file changes",
        packages: plugin!("X = 1\n"),
        changes: &[(".venv/PACKAGES/seenplug.py", "X = 1{save}\n")],
        expected: Expected::Refused("seenplug.py"),
        ..PLAIN
    },
    State {
        name: "a package is installed",
        changes: &[
            (".venv/PACKAGES/new{save}-1.0.dist-info/METADATA", METADATA),
            (".venv/PACKAGES/new{save}-1.0.dist-info/entry_points.txt", "[pytest11]\nnew = newplug{save}\n"),
            (".venv/PACKAGES/newplug{save}.py", "def pytest_report_header(): return 'new'\n"),
        ],
        command: "python -m pytest",
        expected: Expected::Refused("has changed"),
        ..PLAIN
    },
    State { name: "it warns", packages: plugin!("import warnings\nwarnings.warn('old', DeprecationWarning)\n"), ..PLAIN },
    State {
        name: "it warns, and that is an error",
        files: &[("pytest.ini", "[pytest]\nfilterwarnings = error\n")],
        packages: plugin!("import warnings\nwarnings.warn('old', DeprecationWarning)\n"),
        ..PLAIN
    },
    State {
        name: "it starts a thread",
        packages: plugin!("import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"),
        expected: Expected::Refused("a thread"),
        ..PLAIN
    },
    State {
        name: "it opens a socket",
        packages: plugin!("import socket\nS = socket.socket()\n"),
        expected: Expected::Refused("a socket"),
        ..PLAIN
    },
    State {
        name: "it prints",
        packages: plugin!("import sys\nprint('hello')\nsys.stdout.flush()\n"),
        expected: Expected::Refused("prints"),
        ..PLAIN
    },
    State {
        name: "an untried version of pytest",
        packages: &[("_pytest/_version.py", "version = '6.2.5'\nversion_tuple = (6, 2, 5)\n")],
        expected: Expected::Refused("has not been tried"),
        ..PLAIN
    },
];

/// Processes, streams and clocks.
pub(super) const PROCESSES: &[State] = &[
    State { name: "spawn", files: &[("test_a.py", started_by!("spawn"))], command: "python -m pytest -q -s", ..PLAIN },
    State { name: "forkserver", files: &[("test_a.py", started_by!("forkserver"))], command: "python -m pytest -q -s", ..PLAIN },
    State {
        name: "the time since the start",
        files: &[(
            "test_a.py",
            "import logging\ndef test_a():\n    record = logging.LogRecord('a', 20, 'x', 1, 'm', (), None)\n    assert 0 <= \
             record.relativeCreated < 30000\n",
        )],
        ..PLAIN
    },
    State {
        name: "the standard streams",
        files: &[(
            "test_a.py",
            "import os, sys\ndef test_a(capfd):\n    os.write(1, b'x')\n    os.write(2, b'y')\n    assert capfd.readouterr() == ('x', 'y')\n    \
             assert os.read(0, 1) == b''\n",
        )],
        ..PLAIN
    },
    State {
        name: "the streams as they are",
        files: &[(
            "test_a.py",
            "import os, sys\ndef test_a():\n    os.write(1, b'x')\n    os.write(2, b'y')\n    print('z', flush=True)\n",
        )],
        command: "python -m pytest -q -s",
        ..PLAIN
    },
    State {
        name: "a new conftest",
        files: &[("sub/test_b.py", "def test_b(x): assert x\n")],
        changes: &[("sub/conftest.py", "import pytest\n@pytest.fixture\ndef x(): return {save} + 1\n")],
        ..PLAIN
    },
    State {
        name: "random numbers",
        files: &[("test_a.py", "import random\ndef test_a(): assert random.random() != 0\n")],
        ..PLAIN
    },
];

/// What code that is loaded sees of the project, of the clock and of the variables. In most of them an interpreter that did not look would be
/// green where a cold start is red.
pub(super) const SURPRISES: &[State] = &[
    State {
        name: "a plugin looks whether a file of the project is there",
        files: &[("flag", ""), ("test_a.py", "import seenplug\ndef test_a(): assert not seenplug.X\n")],
        packages: plugin!("import os\nX = os.path.exists('flag')\n"),
        expected: Expected::Refused("in the project"),
        ..PLAIN
    },
    State {
        name: "a plugin reads a file of the project by its absolute path",
        files: &[("flag", "1"), ("test_a.py", "import seenplug\ndef test_a(): assert not seenplug.X\n")],
        packages: plugin!("try:\n    X = open('{project}/flag').read()\nexcept OSError:\n    X = None\n"),
        expected: Expected::Refused("in the project"),
        ..PLAIN
    },
    State {
        name: "a plugin would load a module of the project",
        files: &[("shop.py", "raise SystemExit(3)\n")],
        packages: plugin!("try:\n    import shop\nexcept ImportError:\n    pass\n"),
        expected: Expected::Refused("shop.py"),
        ..PLAIN
    },
    State {
        name: "a plugin looks for a module of the project",
        files: &[("shop.py", ""), ("test_a.py", "import seenplug\ndef test_a(): assert not seenplug.X\n")],
        packages: plugin!("import importlib.util\nX = importlib.util.find_spec('shop') is not None\n"),
        expected: Expected::Refused("shop.py"),
        ..PLAIN
    },
    State {
        name: "a plugin looks for other entry points",
        files: &[
            ("shop.egg-info/PKG-INFO", METADATA),
            ("shop.egg-info/entry_points.txt", "[seen]\na = b\n"),
            ("test_a.py", "import seenplug\ndef test_a(): assert not seenplug.X\n"),
        ],
        packages: plugin!("from importlib.metadata import entry_points\nX = list(entry_points(group='seen'))\n"),
        expected: Expected::Refused("shop.egg-info"),
        ..PLAIN
    },
    State {
        name: "a plugin starts a program in the project",
        files: &[("test_a.py", "import seenplug\ndef test_a(): assert not seenplug.X\n")],
        packages: plugin!("import subprocess\nX = subprocess.run(['ls'], capture_output=True).stdout\n"),
        expected: Expected::Refused("starts a program"),
        ..PLAIN
    },
    State {
        name: "a plugin writes a file",
        packages: plugin!("import tempfile\nX = tempfile.mkdtemp()\n"),
        expected: Expected::Refused("writes a file"),
        ..PLAIN
    },
    State {
        name: "a plugin keeps the time",
        packages: plugin!("import time\ndef wait(since=time.monotonic()): pass\n"),
        expected: Expected::Refused("holds the time"),
        ..PLAIN
    },
    State {
        name: "a plugin keeps the day",
        packages: plugin!("import datetime\nclass Report:\n    day = datetime.date.today()\n"),
        expected: Expected::Refused("holds the time"),
        ..PLAIN
    },
    State {
        name: "a plugin sets a variable",
        files: &[("test_a.py", "import os\ndef test_a(): assert 'SEEN' not in os.environ\n")],
        packages: plugin!("import os\nos.environ['SEEN'] = '1'\n"),
        expected: Expected::Refused("the variables"),
        ..PLAIN
    },
    State {
        name: "a hook sets a variable that a module reads",
        files: &[("test_a.py", "import later\ndef test_a(): assert later.X\n")],
        packages: &[
            ("seenplug.py", "import os\ndef pytest_addoption(parser):\n    os.environ['LATER'] = '1'\n    import later\n"),
            ("later.py", "import os\nX = os.environ.get('LATER')\n"),
            ("seenplug-1.0.dist-info/METADATA", METADATA),
            ("seenplug-1.0.dist-info/entry_points.txt", ENTRY),
        ],
        ..PLAIN
    },
    State {
        name: "a hook sets a variable that a later plugin reads",
        files: &[("test_a.py", "import secondplug\ndef test_a(): assert secondplug.X == '1'\n")],
        packages: two_plugins!("import os\ndef pytest_addoption(parser):\n    os.environ['LATER'] = '1'\n"),
        ..PLAIN
    },
    State {
        name: "a hook loads a module, and another one counts what is loaded",
        files: &[("test_a.py", "import firstplug\ndef test_a(): assert firstplug.SEEN == [False]\n")],
        packages: two_plugins!(
            "import sys\nSEEN = []\ndef pytest_addhooks(pluginmanager):\n    import wave\ndef pytest_addoption(parser):\n    \
             SEEN.append('secondplug' in sys.modules)\n"
        ),
        ..PLAIN
    },
    State {
        name: "a hook only loads a module",
        packages: two_plugins!("def pytest_addhooks(pluginmanager):\n    import wave\n"),
        ..PLAIN
    },
    State {
        name: "a path file executes code that looks at the project",
        files: &[("flag", ""), ("test_a.py", "import sys\ndef test_a(): assert not sys.flag\n")],
        packages: &[("zz.pth", "import os, sys; sys.flag = os.path.exists('flag')\n")],
        expected: Expected::Refused("in the project"),
        ..PLAIN
    },
    State {
        name: "a path file executes code that keeps the time",
        packages: &[("zz.pth", "import zzclock\n"), ("zzclock.py", "import time\nT = time.time()\n")],
        expected: Expected::Refused("holds the time"),
        ..PLAIN
    },
    State {
        name: "the project customises the interpreter",
        files: &[
            ("src/sitecustomize.py", "import sys\nsys.customised = 1\n"),
            ("test_a.py", "import sys\ndef test_a(): assert not hasattr(sys, 'customised')\n"),
        ],
        variables: &[("PYTHONPATH", "src")],
        expected: Expected::Refused("sitecustomize.py"),
        ..PLAIN
    },
    State {
        name: "the project has a directory named like the package of a plugin",
        files: &[("nsp/other.py", "X = 1\n"), ("test_a.py", "import nsp.other\ndef test_a(): assert nsp.other.X\n")],
        packages: &[
            ("seenplug.py", "import nsp.inner\n"),
            ("nsp/inner.py", ""),
            ("seenplug-1.0.dist-info/METADATA", METADATA),
            ("seenplug-1.0.dist-info/entry_points.txt", ENTRY),
        ],
        expected: Expected::Refused("nsp"),
        ..PLAIN
    },
    State {
        name: "the project has a module named like a plugin",
        files: &[("seenplug.py", "X = 2\n"), ("test_a.py", "import seenplug\ndef test_a(): assert seenplug.X == 1\n")],
        packages: plugin!("X = 1\n"),
        expected: Expected::Refused("seenplug.py"),
        ..PLAIN
    },
    State {
        name: "a data file of a plugin changes",
        packages: &[
            ("seenplug.py", "import pathlib\nX = pathlib.Path(__file__).with_name('data.txt').read_text()\n"),
            ("data.txt", "0"),
            ("seenplug-1.0.dist-info/METADATA", METADATA),
            ("seenplug-1.0.dist-info/entry_points.txt", ENTRY),
        ],
        changes: &[(".venv/PACKAGES/data.txt", "{save}")],
        expected: Expected::Refused("data.txt"),
        ..PLAIN
    },
    State {
        name: "a plugin resolves its own path",
        packages: plugin!("import pathlib\nX = pathlib.Path(__file__).resolve()\nY = pathlib.Path.cwd() / 'x'\n"),
        ..PLAIN
    },
];

/// What a plugin sets or sees of its process when it is loaded.
pub(super) const PROCESS_WIDE: &[State] = &[
    State {
        name: "the words of the command and where modules are searched",
        files: &[("test_a.py", "import seenplug\ndef test_a():\n    print(seenplug.X)\n    assert 0\n")],
        packages: plugin!("import argparse, sys\nX = sys.argv[0], sys.path[0], argparse.ArgumentParser().prog\n"),
        ..PLAIN
    },
    State {
        name: "the same for the script",
        files: &[("test_a.py", "import seenplug\ndef test_a():\n    print(seenplug.X)\n    assert 0\n")],
        packages: plugin!("import argparse, sys\nX = sys.argv[0], sys.path[0], argparse.ArgumentParser().prog\n"),
        command: "pytest -q",
        ..PLAIN
    },
    State {
        name: "everything that stays set",
        files: &[(
            "test_a.py",
            "import decimal, os, random, seenplug\ndef test_a():\n    print(random.random(), seenplug.LOCAL.x, decimal.Decimal(1) / 3)\n    \
             print(seenplug.PARENT == os.getppid(), seenplug.PLACE == os.getcwd(), seenplug.V.get())\n    assert 0\n",
        )],
        packages: plugin!(
            "import atexit, contextvars, decimal, gc, locale, logging, os, random, resource, signal, socket, sys, threading\n\
             resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))\nos.umask(0o77)\nsys.setrecursionlimit(3000)\ngc.freeze()\n\
             gc.set_threshold(500)\nrandom.seed(4)\natexit.register(print, 'bye')\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\n\
             LOCAL = threading.local()\nLOCAL.x = 1\nlogging.basicConfig(level=10)\nlocale.setlocale(locale.LC_ALL, 'C')\n\
             decimal.getcontext().prec = 5\nsocket.setdefaulttimeout(3)\nPARENT, PLACE = os.getppid(), os.getcwd()\n\
             V = contextvars.ContextVar('v')\nV.set(3)\nsys.excepthook = sys.__excepthook__\nsys.path.append('/opt')\n\
             if hasattr(sys, 'monitoring'): sys.monitoring.use_tool_id(3, 'seen')\n"
        ),
        ..PLAIN
    },
    State {
        name: "what the kernel shows of the process",
        files: &[(
            "test_a.py",
            "def test_a():\n    for name in ('cmdline', 'environ'):\n        print(open('/proc/self/' + name).read().rstrip('\\0').split('\\0'))\n    \
             assert 0\n",
        )],
        variables: &[("PYTHONPATH", "src")],
        ..PLAIN
    },
    State {
        name: "a plugin looks at the main module",
        packages: plugin!("import sys\nX = sys.modules['__main__'].__spec__\n"),
        expected: Expected::Refused("`__main__`"),
        ..PLAIN
    },
    State {
        name: "a plugin puts a directory before all others",
        packages: plugin!("import sys\nsys.path.insert(0, '/opt')\n"),
        expected: Expected::Refused("searched first"),
        ..PLAIN
    },
    State {
        name: "a plugin puts a finder before all others",
        packages: plugin!(
            "import sys\nclass Finder:\n    @staticmethod\n    def find_spec(name, path=None, target=None): return None\n\
             sys.meta_path.insert(0, Finder)\n"
        ),
        expected: Expected::Refused("searched first"),
        ..PLAIN
    },
    State {
        name: "a plugin reads what the kernel says",
        packages: plugin!("with open('/proc/uptime') as file:\n    X = file.read()\n"),
        expected: Expected::Refused("/proc/uptime"),
        ..PLAIN
    },
    State {
        name: "a plugin keeps the time as text",
        packages: plugin!("import datetime, time\nX = time.strftime('%d/%m/%Y')\nY = datetime.datetime.now().isoformat()\n"),
        expected: Expected::Refused("holds the time"),
        ..PLAIN
    },
    State {
        name: "a plugin sets a timer",
        packages: plugin!("import signal\nsignal.setitimer(signal.ITIMER_REAL, 600)\n"),
        expected: Expected::Refused("a timer"),
        ..PLAIN
    },
    State {
        name: "a plugin closes the standard input",
        packages: plugin!("import os\nos.close(0)\n"),
        expected: Expected::Refused("a file"),
        ..PLAIN
    },
    State {
        name: "a plugin has had a child process",
        packages: plugin!("import os\np = os.fork()\nif not p:\n    os._exit(0)\nos.waitpid(p, 0)\n"),
        expected: Expected::Refused("starts a program"),
        ..PLAIN
    },
    State {
        name: "a library of machine code changes",
        packages: &[
            ("seenplug.py", "import ctypes, os\nX = ctypes.CDLL(os.path.dirname(__file__) + '/zz.so.1')\n"),
            ("zz.so.1", LIBRARY),
            ("seenplug-1.0.dist-info/METADATA", METADATA),
            ("seenplug-1.0.dist-info/entry_points.txt", ENTRY),
        ],
        changes: &[(".venv/PACKAGES/zz.so.1", LIBRARY)],
        expected: Expected::Refused("zz.so.1"),
        ..PLAIN
    },
];

/// The versions of pytest that are tried, beside the newest.
pub(super) const VERSIONS: &[State] = &[
    State { name: "pytest 7.4", python: python_pytest_7, ..PLAIN },
    State {
        name: "pytest 7.4 with a plugin and errors of warnings",
        python: python_pytest_7,
        files: &[("pytest.ini", "[pytest]\nfilterwarnings = error\n")],
        packages: plugin!("X = 1\n"),
        command: "pytest -v",
        ..PLAIN
    },
    State { name: "pytest 8.4", python: python_pytest_8, ..PLAIN },
    State {
        name: "pytest 8.4 with a plugin and errors of warnings",
        python: python_pytest_8,
        files: &[("pytest.ini", "[pytest]\nfilterwarnings = error\n")],
        packages: plugin!("X = 1\n"),
        command: "pytest -v",
        ..PLAIN
    },
];

const SUITE: State = State { python: python_suites, ..PLAIN };

/// Suites that use a plugin, while the others are loaded too.
pub(super) const SUITES: &[State] = &[
    State {
        name: "coverage",
        files: &[
            ("shop.py", "def f(x):\n    if x:\n        return 1\n    return 2\n"),
            ("test_a.py", "import shop\ndef test_a(): assert shop.f(1) == 1\n"),
        ],
        command: "python -m pytest -v -p no:randomly --cov=shop --cov-branch --cov-report=term-missing",
        ..SUITE
    },
    State {
        name: "several workers",
        files: &[("test_a.py", "import pytest\n@pytest.mark.parametrize('x', range(20))\ndef test_a(x): assert x != 20\n")],
        // Whichever worker is first prints first, so all tests pass.
        command: "python -m pytest -q -p no:randomly -n 2",
        ..SUITE
    },
    State {
        name: "coroutines",
        files: &[
            ("pytest.ini", "[pytest]\nasyncio_mode = auto\n"),
            (
                "test_a.py",
                "import asyncio, warnings\nasync def test_a(): await asyncio.sleep(0)\nasync def test_b():\n    warnings.warn('old')\n    assert 0\n",
            ),
        ],
        command: "python -m pytest -v -p no:randomly",
        ..SUITE
    },
    State {
        name: "django",
        files: &[
            ("pytest.ini", "[pytest]\nDJANGO_SETTINGS_MODULE = settings\n"),
            (
                "settings.py",
                "SECRET_KEY = 'x'\nDATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}}\n\
                 INSTALLED_APPS = ['django.contrib.contenttypes', 'django.contrib.auth']\n",
            ),
            (
                "test_a.py",
                "import pytest\n@pytest.mark.django_db\ndef test_a():\n    from django.contrib.auth.models import User\n    \
                 User.objects.create_user('a')\n    assert User.objects.count() == 1\n",
            ),
        ],
        command: "python -m pytest -v -p no:randomly",
        ..SUITE
    },
    State {
        name: "random order",
        files: &[(
            "test_a.py",
            "import pytest, random\n@pytest.mark.parametrize('x', range(20))\ndef test_a(x):\n    print(random.random())\n    assert x != 13\n",
        )],
        command: "python -m pytest -v -p randomly --randomly-seed=4711",
        ..SUITE
    },
    State {
        name: "properties",
        files: &[(
            "test_a.py",
            "from hypothesis import given, settings, strategies\n@settings(database=None, derandomize=True)\n@given(strategies.integers())\n\
             def test_a(x): assert x < 100\n",
        )],
        command: "python -m pytest -v -p no:randomly",
        ..SUITE
    },
];
