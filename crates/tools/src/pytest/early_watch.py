"""Watches what code does while it is loaded, and finds what it keeps and what a process is like.

An interpreter that is started early may only have loaded what is the same in the check's own start. So a rehearsal watches the code that
is executed when a module is loaded: it may not look at the project, write, start a program or use the network. As a script
(`-S`, arguments: descriptor, root, environments) it watches what `.pth` files execute, which are read before anything else could watch.
"""

import os
import posix
import sys

OWN = __file__
LOOKS = ("os.listdir", "os.scandir", "os.chdir", "os.getxattr", "os.listxattr")
WRITES = (
    "os.chmod os.chown os.link os.mkdir os.mkfifo os.remove os.rename os.rmdir os.setxattr os.symlink os.truncate os.utime sqlite3.connect "
    "tempfile.mkdtemp tempfile.mkstemp"
).split()
PROGRAMS = "os.exec os.fork os.forkpty os.posix_spawn os.spawn os.system pty.spawn subprocess.Popen".split()
NETWORK = "socket.bind socket.connect socket.getaddrinfo socket.gethostbyaddr socket.gethostbyname socket.gethostname socket.sendto".split()


class Watch:
    """Names the first thing that a module did (`why`), the files that were opened or looked at, the names that were not found, and the
    modules that were there when a hook of a plugin first loaded another one (`ended`)."""

    def __init__(self, root, environments, others):
        self.root, self.environments, self.others = root, environments, others
        self.why, self.opened, self.looked, self.missing, self.ended = None, [], set(), set(), None
        self.around = set()
        for path in [root, os.getcwd(), *environments]:
            while path not in self.around:
                self.around.add(path)
                path = os.path.dirname(path)

    def begin(self):
        for name in ("stat", "lstat", "access", "readlink", "statvfs"):
            wrapped = self.wrap(getattr(posix, name))
            setattr(os, name, wrapped)
            setattr(posix, name, wrapped)
        sys.meta_path.append(self)
        sys.addaudithook(self.audit)
        watch = self

        class Main(type(sys)):
            def __getattribute__(self, name):
                watch.blame("looks at `__main__`")
                return super().__getattribute__(name)

        sys.modules["__main__"].__class__ = Main

    def end(self):
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name, path=None, target=None):
        """Whoever asks for this has found the name nowhere."""
        if path is None and self.loading(True):
            self.missing.add(name)

    def wrap(self, function):
        def wrapped(path, *words, **named):
            if not isinstance(path, int) and named.get("dir_fd") is None:
                self.look(path, False)
            return function(path, *words, **named)

        return wrapped

    def loading(self, is_machinery=False):
        """The module whose code does this while it is loaded; None if it is a function that is called later, or the machinery of imports."""
        frame = sys._getframe(1)
        while frame:
            file, name = frame.f_code.co_filename, frame.f_globals.get("__name__")
            if file in self.others:
                return None
            if file.startswith(("<frozen importlib", "<frozen zipimport")) or file.endswith("_pytest/assertion/rewrite.py"):
                if not is_machinery:
                    return None
            elif frame.f_code.co_name == "<module>" and file != OWN:
                return None if name == "__main__" else str(name)
            frame = frame.f_back
        return None

    def blame(self, what):
        if self.why is None:
            module = self.loading()
            if module is not None:
                self.why = "`%s` %s when it is loaded" % (module, what)

    def look(self, path, is_read):
        try:
            path = os.path.abspath(os.fsdecode(path))
        except (TypeError, ValueError):
            return
        if path.startswith(tuple(os.path.dirname(one) + "/" for one in self.others)):
            return
        if path.startswith(("/proc/", "/sys/")):
            self.blame("looks at `%s`" % path)
        in_environment = any(path == one or path.startswith(one + "/") for one in self.environments)
        if (path == self.root or path.startswith(self.root + "/")) and not in_environment:
            if is_read or path not in self.around:
                self.blame("looks at `%s` in the project" % path)
        elif self.loading() is not None:
            self.looked.add(path)

    def audit(self, event, words):
        if event == "open":
            path, _, flags = words
            self.opened.append(path)
            if isinstance(path, (str, bytes)):
                self.look(path, True)
                if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not os.fsdecode(path).startswith("/dev/"):
                    self.blame("writes a file")
        elif event == "import":
            self.opened.append(words[1])
            if self.ended is None and self.in_a_hook():
                self.ended = list(sys.modules)
        elif event in LOOKS:
            self.look("." if not words or words[0] is None else words[0], True)
        elif event in WRITES:
            self.blame("writes a file")
        elif event in PROGRAMS:
            self.blame("starts a program")
        elif event in NETWORK:
            self.blame("uses the network")

    def in_a_hook(self):
        """Whether a hook of a plugin is called: it may have changed before what the module reads that it loads. pytest parses its command
        in a hook of its own."""
        frame, before = sys._getframe(1), None
        while frame:
            if frame.f_code.co_name == "_multicall" and before is not None:
                if not before.f_globals.get("__name__", "").startswith("_pytest."):
                    return True
            before, frame = frame, frame.f_back
        return False


def state():
    """What an interpreter is like, beside its modules. `_locale` and `_warnings` are built in, so nothing is loaded for it."""
    is_loaded = "_locale" in sys.modules
    import _locale

    if not is_loaded:
        del sys.modules["_locale"]
    finders = [finder if isinstance(finder, type) else type(finder) for finder in sys.meta_path]
    finders = [finder.__name__ for finder in finders if finder.__name__ != "AssertionRewritingHook"]
    streams = [(stream.encoding, stream.errors, stream.line_buffering) for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__) if stream]
    return repr((sys.flags, sys._xoptions, sys.warnoptions, finders, len(sys.path_hooks), _locale.setlocale(_locale.LC_ALL),
                 sys.getfilesystemencoding(), sys.getdefaultencoding(), streams, sys.dont_write_bytecode, sys.executable, sys.prefix,
                 sys.base_prefix, sys.pycache_prefix, sys.getrecursionlimit(), sys.gettrace(), sys.getprofile()))


def has_timer():
    """Whether a signal will come. `_signal` is built in."""
    is_loaded = "_signal" in sys.modules
    import _signal

    if not is_loaded:
        del sys.modules["_signal"]
    return any(_signal.getitimer(which) != (0.0, 0.0) for which in (0, 1, 2))


def remember(argv, environment):
    """Writes the arguments and variables where the kernel shows them as those of the process. The variables of before are longer."""
    with open("/proc/self/stat", "rb") as file:
        first, end, variables, variables_end = (int(word) for word in file.read().rpartition(b")")[2].split()[45:49])
    memory = os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)
    old = os.pread(memory, end - first, first).split(b"\0")
    new = [os.fsencode(word) for word in argv.split("\0")]
    count = min(len(old) - 1, len(new)) - 1
    words = b"\0".join(old[: len(old) - 1 - count] + new[len(new) - count:]) + b"\0"
    block = os.fsencode(environment) + b"\0"
    fits = len(words) == end - first and len(block) <= variables_end - variables
    if fits:
        os.pwrite(memory, words, first)
        os.pwrite(memory, block.ljust(variables_end - variables, b"\0"), variables)
    os.close(memory)
    return fits


def find_kept(modules, begun, output):
    """Says which value of a module was made of the time since `begun` (in seconds), or of the output directory that is not known yet."""
    import time

    now = time.time()
    span = now - begun
    clocks = [(begun, now)] + [(clock() - span, clock()) for clock in (time.monotonic, time.perf_counter)]
    days = (int(begun // 86400) + 719162, int(now // 86400) + 719164)
    texts = [str(int(now))[:7], str(int(begun))[:7]]
    for clock in (time.localtime, time.gmtime):
        for at in (begun, (begun + now) / 2, now):
            texts += [time.strftime(form, clock(at)) for form in ("%Y-%m-%d", "%Y%m%d", "%Y/%m/%d", "%d/%m/%Y", "%b %d", "%b %e", "%H:%M", "%I:%M")]
    environment, seen = os.environ, set()

    def is_kept(value, depth):
        kind = type(value)
        if kind is float:
            return any(first <= value <= last for first, last in clocks)
        if kind is int:
            return value > 10**8 and any(
                int(first * factor) <= value <= last * factor for factor in (1, 10**3, 10**6, 10**9) for first, last in clocks
            )
        if kind is str:
            return output in value or (len(value) < 100 and any(text in value for text in texts))
        if kind is bytes:
            return output.encode() in value
        if kind.__module__ == "datetime":
            if kind.__name__ == "datetime" and 1970 < value.year < 9000:
                return begun - 50400 <= value.replace(tzinfo=None).timestamp() <= now + 50400
            return kind.__name__ == "date" and days[0] <= value.toordinal() <= days[1]
        if kind.__name__ == "struct_time":
            return abs(time.mktime(value) - now) < 50400 + span
        if not depth or value is environment or id(value) in seen or kind.__name__ == "module":
            return False
        seen.add(id(value))
        if kind in (list, tuple, set, frozenset):
            inner = list(value)
        elif isinstance(value, dict):
            inner = [*dict.keys(value), *dict.values(value)]
        else:
            inner = [getattr(value, "__defaults__", None), getattr(value, "__kwdefaults__", None)] if kind.__name__ == "function" else []
            try:
                inner += list(object.__getattribute__(value, "__dict__").values()) if not isinstance(value, type) else list(type.__dict__["__dict__"].__get__(value).values())
            except AttributeError:
                pass
        return len(inner) < 5000 and any(is_kept(one, depth - 1) for one in inner)

    for name, module in modules:
        if name in ("sys", "os", "posix", "__main__", "time", "logging", "sitecustomize"):
            continue
        values = getattr(module, "__dict__", None)
        for key, value in list(values.items()) if type(values) is dict else []:
            if not key.startswith("__") and is_kept(value, 3):
                return "`%s.%s`" % (name, key)
    return None


if __name__ == "__main__":
    channel, project, *environments = sys.argv[1:]
    sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))]
    watch = Watch(project, environments, ())
    watch.begin()
    import site

    site.main()
    watch.end()
    files = [path for path in watch.opened if isinstance(path, str)]
    text = "\n\n".join([watch.why or "", "\n".join(files), "\n".join(watch.looked), "\n".join(watch.missing)])
    os.write(int(channel), text.encode("utf-8", "surrogateescape"))
