"""Writes what a session of pytest is like when it starts: an interpreter that was started early must not differ from one started late."""

import os
import re
import sys


def what_else_a_module_may_set():
    import atexit
    import decimal
    import faulthandler
    import gc
    import logging
    import resource
    import signal
    import socket

    lines = ["arguments %s %s" % (sys.argv, sys.orig_argv)]
    lines.append("gc %s %s %s" % (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count() > 0))
    limits = [name for name in dir(resource) if name.startswith("RLIMIT")]
    lines += ["limit %s %s" % (name, resource.getrlimit(getattr(resource, name))) for name in limits]
    lines += ["timer %d %s" % (which, signal.getitimer(which) == (0.0, 0.0)) for which in (0, 1, 2)]
    mask = os.umask(0)
    os.umask(mask)
    lines.append("umask %o" % mask)
    lines.append("at exit %s %s" % (atexit._ncallbacks(), faulthandler.is_enabled()))
    lines.append("log %s %s" % (logging.root.handlers, logging.root.level))
    lines.append("defaults %s %s" % (socket.getdefaulttimeout(), decimal.getcontext()))
    if hasattr(sys, "monitoring"):
        lines.append("monitoring %s" % [sys.monitoring.get_tool(number) for number in range(6)])
    lines.append("leads %s %s" % (os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid()))
    lines.append("parent %d" % os.getppid())
    lines.append("masked %s" % sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    with open("/proc/self/status") as file:
        kept = ("Cap", "NoNew", "Seccomp", "Sig", "Shd", "Groups", "Uid", "Gid", "Threads", "Umask", "Speculation", "CoreDump")
        lines += ["status " + line.strip() for line in file if line.startswith(kept)]
    for name in ("oom_score_adj", "coredump_filter", "cmdline", "environ"):
        with open("/proc/self/" + name) as file:
            # The kernel's copy of the variables may end with more zero bytes.
            lines.append("%s %r" % (name, file.read().rstrip("\0")))
    return lines


def pytest_sessionstart(session):
    # The workers of pytest-xdist write nothing.
    if hasattr(session.config, "workerinput"):
        return
    import locale
    import signal
    import threading
    import warnings

    lines = []
    for number, (name, module) in enumerate(list(sys.modules.items())):
        loader = getattr(module, "__loader__", None)
        loader = loader.__name__ if isinstance(loader, type) else type(loader).__name__
        spec = getattr(getattr(module, "__spec__", None), "name", None)
        file, cached = getattr(module, "__file__", None), getattr(module, "__cached__", None)
        lines.append("module %d %s %s %s %s %s" % (number, name, loader, file, spec, cached))
    asked = "getrecursionlimit getswitchinterval getdlopenflags getfilesystemencoding getfilesystemencodeerrors getdefaultencoding"
    for name in asked.split() + ["getprofile", "gettrace", "get_asyncgen_hooks", "get_int_max_str_digits"]:
        if hasattr(sys, name):
            lines.append("sys.%s() %s" % (name, getattr(sys, name)()))
    for name in sorted(dir(sys)):
        value = getattr(sys, name)
        if name not in ("modules", "__doc__") and not callable(value):
            lines.append("sys.%s %r" % (name, sorted(value) if isinstance(value, frozenset) else value))
    lines += ["filter %s" % (one,) for one in warnings.filters]
    lines += ["variable %s=%s" % pair for pair in os.environ.items()]
    # The numbers beyond the standard streams depend on how many were open once.
    targets = []
    for number in os.listdir("/proc/self/fd"):
        try:
            target = re.sub(r"(#|\[)\d+", r"\1", os.readlink("/proc/self/fd/" + number))
        except OSError:
            continue
        targets.append("descriptor %s %s" % (number if int(number) < 3 else "above", re.sub(r"/proc/\d+", "/proc", target)))
    lines += sorted(targets)
    lines += ["thread %s" % one for one in threading.enumerate()]
    lines.append("locale %s %s" % (locale.setlocale(locale.LC_ALL), locale.getpreferredencoding()))
    lines.append("plugins %s" % [name for name, _ in session.config.pluginmanager.list_name_plugin()])
    main = sys.modules["__main__"]
    lines.append("main %s %s" % (sorted(vars(main)), main.__spec__))
    frame, functions = sys._getframe(), []
    while frame:
        functions.append(frame.f_code.co_name)
        frame = frame.f_back
    lines.append("frames %s" % functions)
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, "__%s__" % name)
        lines.append("%s %r %s %s %r" % (name, stream, stream.seekable(), stream.line_buffering, stream.buffer))
    lines.append("directory " + os.getcwd())
    for number in range(1, 65):
        try:
            lines.append("signal %d %s" % (number, signal.getsignal(number)))
        except ValueError:
            pass
    lines.append("priority %d %d" % (os.nice(0), os.sched_getscheduler(0)))
    lines += what_else_a_module_may_set()
    text = re.sub(r"0x[0-9a-f]{6,}", "0x", "\n".join(lines))
    # The id of the run, and what pytest makes of the id of the process.
    text = re.sub(r"exec-\w+\.\w+-\d+", "RUN", re.sub(r"\d{12,}", "N", text))
    with open(os.environ["DUMP"], "w") as file:
        file.write(text)
