"""A soak of the service by hand: five projects, saves by vim, nvim and emacs, storms of git, floods, a clock that jumps where libfaketime is
installed, and a service that a signal stops for a minute.

`python3 tests/soak/editors.py PROCTOR [MINUTES [SEED]]` prints what the service holds at start and end. After each burst, a bare run of the
check on a copy of the files judges the verdict. The exit code is 1 if one differs, a wait is not answered, or something is left.
"""

import glob
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
MINUTES, SEED = float([*sys.argv, "10"][2]), int([*sys.argv, "10", "1"][3]) if len(sys.argv) != 3 else 1
SLOW = 15
# The check fails where the words of all files, counted, are a multiple of three.
CHECK = "n=$(cat src/*.txt src/*/*.txt 2>/dev/null | wc -w); [ $((n % 3)) -ne 0 ]\n"
SETTINGS = '[[check]]\nname = "words"\ncommand = ["sh", "check.sh"]\n[evidence]\nlink = ""\n'
dice = random.Random(SEED)
CLOCK = next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")), None)
# The ways of the saves since the last question, to be told where an answer takes long.
done = []
root = pathlib.Path(tempfile.mkdtemp(prefix="proctor-soak-", dir=os.environ.get("PROCTOR_SOAK_DIRECTORY", "/var/tmp")))
environment = {"PATH": os.environ["PATH"], "HOME": str(root / "home"), "XDG_STATE_HOME": str(root / "state"), "XDG_RUNTIME_DIR": str(root / "run")}


def run(*words, at=root, **more):
    return subprocess.run(words, cwd=at, env=environment, capture_output=True, text=True, check=False, **more)


def git(at, *words):
    return run("git", "-c", "user.name=soak", "-c", "user.email=soak@example.org", "-c", "commit.gpgsign=false", *words, at=at)


def make(name):
    at = root / name
    (at / "src/deep").mkdir(parents=True)
    (at / "proctor.toml").write_text(SETTINGS)
    (at / "check.sh").write_text(CHECK)
    for number in range(20):
        (at / f"src/{number}.txt").write_text("word " * (number + 1))
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"], ["checkout", "-qb", "side"]):
        git(at, *words)
    for number in range(10):
        (at / f"src/deep/{number}.txt").write_text("more words\n")
    for words in (["add", "-A"], ["commit", "-qm", "two"], ["checkout", "-q", "main"]):
        git(at, *words)
    return at


def edit(at):
    file = at / f"src/{dice.randrange(20)}.txt"
    words = " ".join(["word"] * dice.randrange(1, 9))
    vim = ["-Nu", "NONE", "-i", "NONE", "-es", "-c", f"normal ggO{words}", "-c", "wq", str(file)]
    way = dice.randrange(10)
    done.append(way)
    if way < 2:
        run(shutil.which("vim") or "true", *vim)
    elif way == 2:
        run(shutil.which("nvim") or "true", *vim)
    elif way == 9:
        run(shutil.which("emacs") or "true", "-Q", "--batch", str(file), "--eval", f'(progn (insert "{words}\n") (save-buffer))')
    elif way == 3:
        new = file.with_suffix(".new")
        file.parent.mkdir(exist_ok=True)
        new.write_text(words)
        new.rename(file)
    elif way == 4:
        for _ in range(5):
            git(at, "stash", "-uq")
            git(at, "checkout", "-q", dice.choice(["main", "side"]))
    elif way == 5:
        git(at, "reset", "-q", "--hard", dice.choice(["main", "side"]))
    elif way == 6:
        (at / "src/deep").mkdir(parents=True, exist_ok=True)
        for number in range(300):
            (at / f"src/deep/flood{number}.txt").write_text(words)
        if dice.random() < 0.7:
            git(at, "clean", "-fdq")
    elif way == 7:
        if (at / "src/deep").exists() and not (at / "src/moved").exists():
            (at / "src/deep").rename(at / "src/moved")
    else:
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as open_file:
            open_file.write(words)


def bare(at):
    copy = root / "bare"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(at, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    return run("sh", "check.sh", at=copy).returncode


def holds(pid):
    children = [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    number = lambda key: int(next(line for line in status.splitlines() if line.startswith(key)).split()[1])
    size = lambda path: sum(found.stat().st_blocks * 512 for found in path.rglob("*") if found.is_file() and not found.is_symlink())
    log = sum(found.stat().st_size for found in (root / "state/proctor/log").rglob("*"))
    ticks = sum(int(part) for part in pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])
    return {
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")), "threads": number("Threads:"), "rss MB": number("VmRSS:") // 1024,
        "children": len(children), "mounts": len(pathlib.Path("/proc/self/mounts").read_text().splitlines()),
        "journal B": log, "state MB": size(root / "state") >> 20, "cpu s": ticks / os.sysconf("SC_CLK_TCK"),
    }


def jump(by):
    new = root / "clock.new"
    new.write_text(by)
    new.rename(root / "clock")


def main():
    for name in ("home", "state", "run"):
        (root / name).mkdir()
    projects = [make(name) for name in ("one", "two", "three", "four", "five")]
    jump("+0")
    faked = {"LD_PRELOAD": CLOCK, "FAKETIME_TIMESTAMP_FILE": str(root / "clock"), "FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1"}
    of_service = {**environment, **(faked if CLOCK else {})}
    service = subprocess.Popen([PROGRAM, "service", "daemon"], cwd=root, env=of_service, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return soak(projects, service)
    finally:
        service.kill()
        shutil.rmtree(root, ignore_errors=True)


def soak(projects, service):
    for at in projects:
        while run(PROGRAM, "service", "add", str(at)).returncode != 0:
            time.sleep(0.2)
    wait = lambda at: run(PROGRAM, "wait", "--timeout", "120s", "--json", at=at)
    for at in projects:
        wait(at)
    begin, end = holds(service.pid), time.monotonic() + 60 * MINUTES
    stops = [time.monotonic() + 60 * MINUTES * part for part in (0.3, 0.7)]
    wrong, bursts, latencies = [], 0, []
    while time.monotonic() < end:
        if stops and time.monotonic() > stops[0]:
            stops.pop(0)
            service.send_signal(signal.SIGSTOP)
            edit(projects[0])
            time.sleep(60)
            service.send_signal(signal.SIGCONT)
        done.clear()
        # What is dated ahead of the real clock would be a fault for `verify`.
        jump(dice.choice(["+0", "+0", "-60", "-3600", "-2d", "-40d"]))
        for at in dice.sample(projects, dice.randrange(1, 4)):
            for _ in range(dice.choice([1, 1, 3, 8])):
                edit(at)
        bursts += 1
        for at in projects:
            begun = time.monotonic()
            answer, expected = wait(at), bare(at)
            latencies.append(time.monotonic() - begun)
            if latencies[-1] > SLOW:
                print(f"{at.name}: {latencies[-1]:.1f} s after the saves {done}", flush=True)
            if answer.returncode != expected:
                wrong.append(f"{at.name}: wait says {answer.returncode}, the bare run {expected}: {answer.stdout[:600]}{answer.stderr[:300]}")
    finish = holds(service.pid)
    runs = [json.loads(run(PROGRAM, "log", "--json", "--limit", "100000", at=at).stdout or "{}") for at in projects]
    results = [entry.get("result") or entry.get("status") for log in runs for entry in log.get("runs", [])]
    counts = {str(result): results.count(result) for result in sorted(set(results), key=str)}
    verified = run(PROGRAM, "verify", "--all").returncode
    service.send_signal(signal.SIGTERM)
    service.wait(60)
    left = subprocess.run(["pgrep", "-f", str(root)], capture_output=True, text=True, check=False).stdout.split()
    latencies.sort()
    print(json.dumps({"seed": SEED, "minutes": MINUTES, "bursts": bursts, "comparisons": len(latencies), "wrong": len(wrong), "runs": counts,
                      "wait and bare run s, median and most": [round(latencies[len(latencies) // 2], 2), round(latencies[-1], 2)],
                      "verify": verified, "processes left": len(left), "start": begin, "end": finish}, indent=1))
    print("\n".join(wrong[:20]))
    return 1 if wrong or verified or left else 0


if __name__ == "__main__":
    sys.exit(main())
