"""Watches what code does while it is loaded, and finds what it keeps and what a process is like.

An interpreter that is started early may only have loaded what is the same in the check's own start. So a rehearsal watches the code that
is executed when a module is loaded: it may not look at the project, write, start a program or use the network. It also watches what hooks
do between two loads: the list ends where one changes what a module can see, because the modules behind it would be loaded before the change.
As a script (`-S`, arguments: descriptor, root, environments) it watches what `.pth` files execute, which are read before anything else
could watch.
"""

import _frozen_importlib
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
# What an object of these types holds is a cache, or cannot change.
LEAVES = frozenset(
    "ModuleSpec SourceFileLoader _lru_cache_wrapper builtin_function_or_method classmethod_descriptor code getset_descriptor "
    "member_descriptor method_descriptor wrapper_descriptor".split()
)
ATOMS = frozenset((str, int, float, bool, bytes, complex, type(None)))
# How far what modules hold is followed: from a name to its object, its attributes, and what these hold.
DEPTH = 4
NETWORK = "socket.bind socket.connect socket.getaddrinfo socket.gethostbyaddr socket.gethostbyname socket.gethostname socket.sendto".split()


class Watch:
    """Names the first thing that a module did (`why`), the files that were opened or looked at, the names that were not found, and the
    modules behind which nothing can be loaded early (`ended`)."""

    def __init__(self, root, environments, others):
        self.root, self.environments, self.others = root, environments, others
        self.why, self.opened, self.looked, self.missing, self.ended = None, [], set(), set(), None
        # How many modules are being loaded, and how many hooks of plugins are being called.
        self.loads, self.hooks = 0, 0
        self.find_and_load = _frozen_importlib._find_and_load
        # What modules held before a hook did whatever it does; None if none was called since the last load.
        self.before = None
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
        self.watch_loads()
        watch = self

        class Main(type(sys)):
            def __getattribute__(self, name):
                watch.blame("looks at `__main__`")
                return super().__getattribute__(name)

        sys.modules["__main__"].__class__ = Main

    def watch_loads(self):
        watch, find_and_load = self, self.find_and_load

        def load(*words):
            watch.loads += 1
            try:
                if watch.loads == 1:
                    watch.before_load()
                return find_and_load(*words)
            finally:
                if watch.loads == 1 and watch.hooks:
                    watch.look_at_all()
                watch.loads -= 1

        _frozen_importlib._find_and_load = load

    def end(self):
        _frozen_importlib._find_and_load = self.find_and_load
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name, path=None, target=None):
        """Whoever asks for this has found the name nowhere."""
        if path is None and (self.hooks or self.loading(True)):
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
            if self.reads_modules(file):
                if not is_machinery:
                    return None
            elif frame.f_code.co_name == "<module>" and file != OWN:
                return None if name == "__main__" else str(name)
            frame = frame.f_back
        return None

    def blame(self, what):
        module = self.loading()
        if module is None:
            # What a hook loads behind this may depend on it.
            if self.hooks and not self.is_machinery():
                self.end_list()
        elif self.why is None:
            self.why = "`%s` %s when it is loaded" % (module, what)

    def end_list(self):
        if self.ended is None:
            self.ended = list(sys.modules)

    def is_machinery(self):
        """Whether the machinery of imports does this, to find or read a module."""
        frame = sys._getframe(1)
        while frame.f_code.co_filename == OWN:
            frame = frame.f_back
        return self.reads_modules(frame.f_code.co_filename)

    @staticmethod
    def reads_modules(file):
        return file.startswith(("<frozen importlib", "<frozen zipimport")) or file.endswith("_pytest/assertion/rewrite.py")

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
        elif event in LOOKS:
            self.look("." if not words or words[0] is None else words[0], True)
        elif event in WRITES:
            self.blame("writes a file")
        elif event in PROGRAMS:
            self.blame("starts a program")
        elif event in NETWORK:
            self.blame("uses the network")

    @staticmethod
    def of_plugins(implementations):
        """The functions that are not pytest's own. What its own do is known for the versions that were tried."""
        functions = [one.function for one in implementations]
        return [one for one in functions if not str(getattr(one, "__module__", None)).startswith("_pytest.")]

    def before_hook(self, name, implementations, words):
        foreign = self.of_plugins(implementations)
        if any("modules" in getattr(getattr(one, "__code__", None), "co_names", ()) for one in foreign):
            # It may ask which modules are loaded.
            self.end_list()
        self.hooks += bool(foreign)
        if foreign and self.before is None and not self.loads:
            self.look_at_all()

    def after_hook(self, result, name, implementations, words):
        self.hooks -= bool(self.of_plugins(implementations))

    def look_at_all(self):
        if self.ended is None:
            # Nothing that is loaded for this is a load of the command.
            self.loads += 1
            self.before = everything_held()
            self.loads -= 1

    def before_load(self):
        if self.before is not None and self.ended is None:
            if first_change(self.before) is not None:
                self.end_list()
        self.before = None


def everything_held():
    """What code can see of the modules and of the process. It keeps all that alive, so that no other object gets its number."""
    gc, found, seen = built_in("gc"), [], set()
    was_enabled = gc.isenabled()
    gc.disable()
    level = [object.__getattribute__(module, "__dict__") for module in list(sys.modules.values()) if issubclass(type(module), type(sys))]
    for _ in range(DEPTH):
        further = []
        for one in level:
            kind = type(one)
            if kind in ATOMS or kind is Watch or id(one) in seen or kind.__name__ in LEAVES:
                continue
            seen.add(id(one))
            held = names_and_values(one) if kind is dict else gc.get_referents(one)
            # A tuple holds for ever what it holds.
            if kind is not tuple:
                found.append((one, held))
            further += held
        level = further
    if was_enabled:
        gc.enable()
    return found, of_process()


def names_and_values(one):
    """What a dictionary holds. The caches of the standard library are left out: they have what is computed again without them."""
    module = one.get("__name__")
    if type(module) is str and module.partition(".")[0] in getattr(sys, "stdlib_module_names", ()):
        one = {name: value for name, value in one.items() if type(name) is not str or "cache" not in name}
    return [*one, *one.values()]


def first_change(before):
    """Returns something that is no longer as it was; None if all is."""
    referents = built_in("gc").get_referents
    for one, held in before[0]:
        now = names_and_values(one) if type(one) is dict else referents(one)
        if len(held) != len(now):
            return one
        for old, new in zip(held, now):
            if old is not new and not (type(old) is type(new) and type(old) in ATOMS and old == new):
                return one
    return None if before[1] == of_process() else "the process"


def of_process():
    random, atexit, signal = (sys.modules.get(name) for name in ("random", "atexit", "_signal"))
    mask = os.umask(0)
    os.umask(mask)
    handlers = signal and [signal.getsignal(number) for number in sorted(signal.valid_signals())]
    return os.getcwd(), mask, state(), has_timer(), random and random.getstate(), atexit and atexit._ncallbacks(), handlers


def built_in(name):
    """A module that is built in, so that nothing is read for it. It is not left among the modules."""
    is_loaded = name in sys.modules
    module = __import__(name)
    if not is_loaded:
        del sys.modules[name]
    return module


def state():
    """What an interpreter is like, beside its modules."""
    locale = built_in("_locale")
    finders = [finder if isinstance(finder, type) else type(finder) for finder in sys.meta_path]
    finders = [finder.__name__ for finder in finders if finder.__name__ != "AssertionRewritingHook"]
    streams = [(stream.encoding, stream.errors, stream.line_buffering) for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__) if stream]
    return repr((sys.flags, sys._xoptions, sys.warnoptions, finders, len(sys.path_hooks), locale.setlocale(locale.LC_ALL),
                 sys.getfilesystemencoding(), sys.getdefaultencoding(), streams, sys.dont_write_bytecode, sys.executable, sys.prefix,
                 sys.base_prefix, sys.pycache_prefix, sys.getrecursionlimit(), sys.gettrace(), sys.getprofile()))


def has_timer():
    """Whether a signal will come."""
    signal = built_in("_signal")
    return any(signal.getitimer(which) != (0.0, 0.0) for which in (0, 1, 2))


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
