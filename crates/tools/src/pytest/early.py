"""Starts the interpreter of a check before the check's files are known.

The interpreter is started by the check's own command, with an empty directory in place of the project. It executes this file as its
`sitecustomize`. Without a list it is a rehearsal: the command goes on until it would execute the first code of the project, says
which modules it had loaded by then, in their order, and which files it had opened, and ends. With a list it loads these modules and
waits; if anything that the rehearsal has read differs from then, it asks for another rehearsal. The answer brings the descriptors,
directory, arguments and variables of the check; the project is mounted by then. If anything is not as it would be for an interpreter
that starts now, it ends, and the check is started as ever. Otherwise it forgets all this and returns, so that the interpreter goes on as
it does without it.
"""


def _start():
    import os
    import sys

    channel = int(os.environ.pop("PROCTOR_STARTED"))
    root = os.environ.pop("PROCTOR_STARTED_ROOT")
    here = os.path.dirname(os.path.abspath(__file__))
    before = os.environ.pop("PROCTOR_STARTED_PATH", None)
    if before is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = before
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    at_start = frozenset(sys.modules)
    path_at_start = list(sys.path)
    begun = os.stat(here).st_ctime_ns
    separator = "\n\n"
    endings = (".py", ".pyc", ".so")
    coerced = os.environ.get("LC_CTYPE")
    tried = ("7.4", "8.4", "9.")
    settings = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
    # Other work goes first until the check is requested.
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except OSError:
        pass

    environments = [line for line in open_text("environments") if line]
    named = [word for word in open_text("named") if word]
    held = {}
    for one in environments:
        try:
            held[one] = os.open(one, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            pass

    def stamp(path):
        """What changes with a file. One of the environment is looked at where it really lies, because the check sees it by a layer."""
        try:
            around = [one for one in held if path == one or path.startswith(one + "/")]
            seen = os.stat(path[len(around[0]) + 1:] or ".", dir_fd=held[around[0]]) if around else os.stat(path)
        except (OSError, ValueError):
            return None
        return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode

    def is_in_project(path):
        return (path == root or path.startswith(root + "/")) and not is_in_environment(path)

    def is_in_environment(path):
        return any(path == one or path.startswith(one + "/") for one in environments)

    def looked():
        """The settings that pytest may find: those beside and above the directory of the check and each path that the command names. A
        path also counts for being there; of a named file the content counts, unless it is a module."""
        seen, read = [], set()

        def look(path):
            if path not in read:
                read.add(path)
                try:
                    with open(path, "rb") as file:
                        seen.append((path, file.read()))
                except OSError as error:
                    seen.append((path, error.errno))

        for path in [os.getcwd()] + [os.path.abspath(word) for word in named]:
            is_directory = os.path.isdir(path)
            seen.append((path, is_directory, os.path.exists(path)))
            if not is_directory and not path.endswith(".py"):
                look(path)
            around = path if is_directory else os.path.dirname(path)
            while True:
                for name in settings:
                    look(os.path.join(around, name))
                if around == "/":
                    break
                around = os.path.dirname(around)
        return seen

    def presence(path):
        """What counts of something that was looked at and not read: of a directory, that it is one."""
        seen = stamp(path)
        return "directory" if seen and seen[5] & 0o170000 == 0o040000 else seen

    def fill_stamps(paths, looked):
        """Adds to the stamps: these files, and the directories in which modules are found. A file that appears there may be found first."""
        for path in looked:
            if path and not path.startswith((here, "/proc/", "/dev/", "/sys/")):
                present[path] = presence(path)
        for path in paths:
            if not path.startswith((here, "/proc/", "/dev/", "/sys/")) and not is_in_project(path):
                stamps.setdefault(path, stamp(path))
        directories = set(os.path.dirname(path) for path in stamps if path.endswith((".py", ".so")))
        for path in directories | set(path for path in path_at_start if not is_in_project(path)):
            stamps[path] = stamp(path)

    def basis():
        """A number that stands for all that was read so far. Nothing is loaded to make it."""
        text = repr((sorted(stamps.items()), sorted(present.items()), looked()))
        return str(int.from_bytes(text.encode("utf-8", "surrogateescape"), "little") % (2 ** 521 - 1))

    def newest():
        """A file that was changed so late that a further change might not be seen by its times."""
        return next((path for path, seen in stamps.items() if seen and seen[4] > begun - 2 * 10**9), None)

    def site_directories():
        site = sys.modules.get("site")
        found = [entry for entry in path_at_start if os.path.isdir(entry) and os.path.basename(entry) in ("site-packages", "dist-packages")]
        return [entry for entry in found if site is not None]

    def path_lines():
        """The directories that `.pth` files name, each site directory first, in the order in which `site` reads them."""
        order = []
        for directory in site_directories():
            order.append(directory)
            try:
                names = sorted(name for name in os.listdir(directory) if name.endswith(".pth"))
            except OSError:
                continue
            for name in names:
                try:
                    with open(os.path.join(directory, name), encoding="utf-8") as file:
                        lines = file.read().splitlines()
                except (OSError, UnicodeError):
                    continue
                for line in lines:
                    if line.strip() and not line.startswith(("#", "import ", "import\t")):
                        order.append(os.path.abspath(os.path.join(directory, line.rstrip())))
        return order

    def path_as_of_now():
        """`sys.path` as `site` makes it now; None if a `.pth` file changes it in a way of its own."""
        path, order = list(sys.path), path_lines()
        place = -1
        for entry in order:
            if entry in path:
                place = path.index(entry)
            elif os.path.exists(entry):
                if place < 0:
                    return None
                place += 1
                path.insert(place, entry)
        # What no file names and stands behind a site directory was added by code.
        first = path.index(order[0]) if order and order[0] in path else len(path)
        if path != sys.path and any(entry not in order for entry in path[first:]):
            return None
        return path

    def watch_site():
        """What `.pth` files execute was executed before anything could watch it, so another interpreter does it again."""
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            os.set_inheritable(theirs, True)
            words = [sys.executable, "-S", os.path.join(here, "early_watch.py"), str(theirs), root, *environments]
            os.execv(sys.executable, words)
        os.close(theirs)
        with open(ours, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        os.waitpid(child, 0)
        why, *lists = text.split(separator) if text else ["what `.pth` files execute cannot be watched", "", "", ""]
        return why, [[line for line in one.split("\n") if line] for one in lists]

    def rehearse(watch, site):
        patched, before_path = [], []

        def end(why=None):
            watch.end()
            why = why or site[0] or watch.why
            if why:
                os.write(channel, b"cold " + why.encode("utf-8", "surrogateescape"))
                os._exit(0)
            opened, looked, missing = ([*own, *of_site] for own, of_site in zip((watch.opened, watch.looked, watch.missing), site[1]))
            rewriter = "AssertionRewritingHook"
            listed = [(name, sys.modules[name]) for name in watch.ended or sys.modules if name in sys.modules]
            names = [name + "\t" + ("1" if type(getattr(module, "__loader__", None)).__name__ == rewriter else "0") for name, module in listed]
            opened.extend(getattr(module, "__file__", None) for module in list(sys.modules.values()))
            with open("/proc/self/maps", "rb") as file:
                # Libraries that another one has loaded.
                opened.extend(os.fsdecode(line.split(None, 5)[5][:-1]) for line in file if b" /" in line)
            files = sorted(set(os.path.abspath(path) for path in opened if isinstance(path, str)))
            looked = sorted(set(looked) - set(files))
            further = [path for path in sys.path if is_in_project(path)]
            of_project = [name for name, module in listed if is_in_project(getattr(module, "__file__", None) or "")]
            if of_project:
                end("`%s` is loaded from the project" % of_project[0])
            fill_stamps(files, looked)
            if newest() is not None:
                os.write(channel, b"later `%s` is new" % os.fsencode(newest()))
                os._exit(0)
            version = os.environ.get("PYTEST_VERSION", "")
            begins = "\n".join([sys.argv[0], *before_path])
            parts = [basis(), begins, version, "\n".join(further), watching["state"](), "\n".join(names), "\n".join(files), "\n".join(looked), "\n".join(sorted(set(missing)))]
            os.write(channel, b"list " + separator.join(parts).encode("utf-8", "surrogateescape"))
            os._exit(0)

        def patch(event, arguments):
            if event == "import" and arguments[0] == "pytest":
                before_path[:] = sys.path[: len(sys.path) - len(path_at_start)]
            configuration = sys.modules.get("_pytest.config")
            manager = getattr(configuration, "PytestPluginManager", None)
            if patched or event != "import" or manager is None or not hasattr(configuration, "Config"):
                return
            patched.append(True)
            version = sys.modules["_pytest._version"].version
            if not version.startswith(tried):
                end("pytest " + version + " has not been tried")
            consider, register = manager.consider_env, manager.register

            def registered(self, *words, **named):
                manager.register = register
                self.add_hookcall_monitoring(watch.before_hook, watch.after_hook)
                return register(self, *words, **named)

            def considered(self):
                try:
                    consider(self)
                finally:
                    end()

            manager.register, manager.consider_env = registered, considered

        import atexit

        atexit.register(end)
        forget("atexit")
        sys.addaudithook(patch)

    def rewriter(names):
        """A hook of pytest's own, so that plugins are loaded as pytest loads them. The session makes another one."""
        from _pytest.assertion import AssertionState
        from _pytest.assertion.rewrite import AssertionRewritingHook, assertstate_key

        class Trace:
            def get(self, name):
                return lambda *words: None

        class Configuration:
            def getini(self, name):
                return ["test_*.py", "*_test.py"]

        configuration, configuration.trace = Configuration(), Trace()
        configuration.trace.root = configuration.trace
        configuration.stash = {assertstate_key: AssertionState(configuration, "rewrite")}
        hook = AssertionRewritingHook(configuration)
        hook._must_rewrite.update(names)
        sys.meta_path.insert(0, hook)
        return hook

    def load(names):
        """Loads the modules. A warning is shown differently once pytest has its settings, so a module that warns ends the list."""
        hook, warned, kept = None, [], None
        for name, rewritten in names:
            if name in sys.modules or name == "__main__":
                continue
            if rewritten and hook is None:
                hook = rewriter([name for name, rewritten in names if rewritten])
            __import__(name)
            if name == "pytest" and version:
                os.environ["PYTEST_VERSION"] = version
            if kept is None and "warnings" in sys.modules:
                warnings = sys.modules["warnings"]
                kept = list(warnings.filters), warnings._showwarnmsg
                warnings.filters[:] = [("always", None, Warning, None, 0)]
                warnings._filters_mutated()
                warnings._showwarnmsg = warned.append
            if warned:
                shorter = names[: [one for one, _ in names].index(name)]
                parts[5] = "\n".join(one + "\t" + str(int(is_rewritten)) for one, is_rewritten in shorter)
                socket.send(b"list " + separator.join(parts).encode("utf-8", "surrogateescape"))
                os._exit(0)
        if version:
            del os.environ["PYTEST_VERSION"]
        if hook is not None:
            sys.meta_path.remove(hook)
        if kept is not None:
            if warnings.filters != [("always", None, Warning, None, 0)]:
                refuse("a module changes the filters of warnings")
            warnings.filters[:] = kept[0]
            warnings._filters_mutated()
            warnings._showwarnmsg = kept[1]

    def forget(name):
        """Lets a module take its place when the command loads it."""
        if name not in at_start:
            del sys.modules[name]

    def refuse(why):
        socket.send(b"cold " + why.encode("utf-8", "surrogateescape"))
        os._exit(0)

    def hidden_names(names):
        """The preloaded names that a directory of the project on `sys.path` has too: there they would have been found first."""
        loaded = set(name.partition(".")[0] for name in names if name not in sys.builtin_module_names)
        for directory in candidates():
            if not is_in_project(directory):
                continue
            if not os.path.isdir(directory):
                if os.path.exists(directory):
                    return directory
                continue
            for entry in os.listdir(directory):
                # A name without an ending may be a package.
                if entry.partition(".")[0] in loaded and (entry.endswith(endings) or "." not in entry):
                    return os.path.join(directory, entry)
                if entry.endswith((".egg-info", ".dist-info")):
                    try:
                        with open(os.path.join(directory, entry, "entry_points.txt"), encoding="utf-8") as file:
                            groups = [line.strip() for line in file if line.strip().startswith("[")]
                        if set(groups) - {"[console_scripts]", "[gui_scripts]"}:
                            return os.path.join(directory, entry)
                    except OSError:
                        pass
        return None

    def candidates():
        own = [] if getattr(sys.flags, "safe_path", False) else [os.getcwd()]
        return own + list(sys.path) + [path for path in further.split("\n") if path]

    def own_sitecustomize():
        del sys.modules["sitecustomize"]
        try:
            __import__("sitecustomize")
        except ImportError as error:
            if error.name != "sitecustomize":
                raise

    # What the interpreter has read before it came here.
    stamps, present = {}, {}
    early = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    early += [os.path.join(sys.prefix, "pyvenv.cfg"), os.path.join(os.path.dirname(sys.prefix), "pyvenv.cfg"), sys.executable, "/etc/localtime"]
    for directory in site_directories():
        early += [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".pth")]
    for path in early:
        if path and not path.startswith(here):
            stamps[path] = stamp(path)
    is_rehearsal = not os.path.exists(os.path.join(here, "list"))
    watching = {"__name__": "early_watch", "__file__": os.path.join(here, "early_watch.py")}
    exec(compile("\n".join(open_text("early_watch.py")), watching["__file__"], "exec"), watching)
    if is_rehearsal:
        site = watch_site()
        watch = watching["Watch"](root, environments, (os.path.join(here, "sitecustomize.py"),))
        watch.begin()
    own_sitecustomize()
    # As it is when `site` has ended.
    sys.modules["site"] = sys.modules.pop("site")
    if is_rehearsal:
        rehearse(watch, site)
        return
    import _socket

    forget("_socket")
    socket = _socket.socket(fileno=channel)
    with open(os.path.join(here, "list"), encoding="utf-8", errors="surrogateescape") as file:
        parts = file.read().split(separator)
    before_basis, begins, version, further, expected, names, files, looked_at, missing = parts
    names = [(line.split("\t")[0], line.endswith("1")) for line in names.split("\n")]
    if sys.gettrace() or sys.getprofile() or "coverage" in at_start:
        refuse("the interpreter is traced from its start")
    if sys.flags.dev_mode:
        refuse("the interpreter is in its development mode")
    fill_stamps(files.split("\n"), looked_at.split("\n"))
    if newest() is not None:
        socket.send(b"later `%s` is new" % os.fsencode(newest()))
        os._exit(0)
    if basis() != before_basis:
        socket.send(b"list ")
        os._exit(0)
    settings_before = looked()
    outside = os.getcwd(), sys.argv[:], dict(os.environ)
    # As the interpreter has them when it executes its command.
    first_word, *before_path = begins.split("\n")
    finders, argument, sys.argv[0] = sys.meta_path[:1], sys.argv[0], first_word
    sys.path[:0] = before_path
    load(names)
    if sys.path[: len(before_path)] != before_path or sys.meta_path[:1] != finders:
        refuse("a module changes where others are searched first when it is loaded")
    del sys.path[: len(before_path)]
    sys.argv[0] = argument
    if watching["has_timer"]():
        refuse("a module sets a timer when it is loaded")
    if outside != (os.getcwd(), sys.argv, dict(os.environ)):
        refuse("a module changes the directory, the arguments or the variables when it is loaded")
    kept = "time" in sys.modules and watching["find_kept"](list(sys.modules.items()), begun / 10**9, "/proctor-output")
    if kept:
        refuse("%s holds the time at which it was loaded, or a path of the check" % kept)
    open_before = set(os.listdir("/proc/self/fd"))
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    socket.send(b"ready")
    data, ancillary, _, _ = socket.recvmsg(1 << 20, 1024)
    received = memoryview(ancillary[0][2]).cast("i")
    for target, descriptor in enumerate(received):
        os.dup2(descriptor, target)
        os.close(descriptor)
    directory, argv, environment = (part.decode("utf-8", "surrogateescape") for part in data.split(b"\0\0"))
    os.chdir(directory)
    if len(os.listdir("/proc/self/task")) != 1:
        refuse("a module starts a thread when it is loaded")
    with open("/proc/self/task/%d/children" % os.getpid(), "rb") as file:
        if file.read().strip():
            refuse("a module starts a process when it is loaded")
    if len(open_before) != 5 + len(held):
        refuse("a module opens a file or a socket when it is loaded and keeps it open")
    changed = [path for path, seen in stamps.items() if seen != stamp(path)]
    changed += [path for path, seen in present.items() if seen != presence(path)]
    for path, seen in stamps.items():
        if held and is_in_environment(path) and seen and not os.path.isdir(path):
            by_path = os.stat(path) if os.path.exists(path) else None
            if by_path is None or (by_path.st_size, by_path.st_mtime_ns) != (seen[2], seen[3]):
                changed.append(path)
    for descriptor in held.values():
        os.close(descriptor)
    if changed:
        refuse("`%s` has changed" % changed[0])
    if looked() != settings_before:
        refuse("the settings that pytest finds are others")
    path = path_as_of_now()
    if path is None:
        refuse("a `.pth` file with code changes `sys.path`")
    sys.path[:] = path
    hides = hidden_names([name for name, _ in names] + ["sitecustomize"] + [name for name in missing.split("\n") if name])
    if hides is not None:
        refuse("`%s` has the name of a module that is loaded before" % hides)
    if watching["state"]() != expected:
        refuse("the interpreter is not as it was: %s, not %s" % (watching["state"](), expected))
    # The working directory was another one when these were looked at.
    for entry, finder in list(sys.path_importer_cache.items()):
        if is_in_project(entry):
            del sys.path_importer_cache[entry]
        elif finder is not None and hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()
    for finder in sys.meta_path:
        if getattr(finder, "__module__", "").startswith("importlib.metadata") or finder.__class__.__module__.startswith("importlib.metadata"):
            finder.invalidate_caches()
    given = argv.split("\0")
    for words in (sys.argv, sys.orig_argv) if hasattr(sys, "orig_argv") else (sys.argv,):
        count = min(len(words), len(given)) - 1
        if count:
            words[-count:] = given[-count:]
    os.environ.clear()
    for pair in environment.split("\0"):
        name, _, value = pair.partition("=")
        os.environ[name] = value
    # The variables of before have to be gone: children would get what stands in their place.
    if not watching["remember"](argv, environment):
        refuse("the words of the command have other lengths")
    # The interpreter sets it itself in the locale `C`.
    if coerced is not None:
        os.environ.setdefault("LC_CTYPE", coerced)
    if "time" in sys.modules:
        sys.modules["time"].tzset()
    logging = sys.modules.get("logging")
    if logging is not None:
        time = sys.modules["time"]
        logging._startTime = time.time_ns() if isinstance(logging._startTime, int) else time.time()
    try:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError:
        pass
    socket.send(b"going")
    # Without an answer the keeper has given up waiting, and has started the check anew.
    if socket.recv(2) != b"go":
        os._exit(0)
    socket.close()
    _keep_place(__spec__)
    _keep_place(sys.modules["site"].__spec__)


def open_text(name):
    with open(__file__.rpartition("/")[0] + "/" + name, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().split("\n")


def _keep_place(spec):
    """Lets the module that is being loaded keep its place among the modules. When it has been executed, the machinery of imports reads the
    name of its spec three times, and puts the module of that name behind all others: so it reads the name of the last one."""
    import sys

    plain, last, reads = type(spec), next(reversed(sys.modules)), [3]

    class Spec(plain):
        def __getattribute__(self, name):
            if name != "name":
                return super().__getattribute__(name)
            reads[0] -= 1
            if not reads[0]:
                self.__class__ = plain
            return last

    spec.__class__ = Spec


try:
    _start()
except BaseException:
    # Whatever went wrong, the check is started without this.
    import os

    os._exit(70)
