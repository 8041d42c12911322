"""Writes lines to `proctor mcp` as no client of good manners would, and prints what comes back as JSON."""

import json
import os
import select
import signal
import subprocess
import sys
import time

CASE, PROCTOR = sys.argv[1], sys.argv[2]
LATE = 60


class Server:
    def __init__(self):
        self.process = subprocess.Popen([PROCTOR, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.read = b""

    def write(self, line):
        self.process.stdin.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
        self.process.stdin.flush()

    def answer(self):
        """Returns the next line that is no notification."""
        end = time.monotonic() + LATE
        while True:
            while b"\n" in self.read:
                line, self.read = self.read.split(b"\n", 1)
                message = json.loads(line)
                if "method" not in message:
                    return message
            ready, _, _ = select.select([self.process.stdout], [], [], end - time.monotonic())
            assert ready, f"no answer in {LATE} s; the last bytes are {self.read!r}"
            piece = os.read(self.process.stdout.fileno(), 65536)
            assert piece, "the server has ended"
            self.read += piece

    def begin(self):
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
        self.write({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})
        begun = self.answer()
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return begun

    def call(self, number, name, arguments):
        self.write({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})


def children(of):
    """Returns the ids of all descendants of a process."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(of)], stdout=subprocess.PIPE, text=True).stdout.split()
    return [int(pid) for pid in found] + [below for pid in found for below in children(pid)]


def wait_until(what, holds):
    end = time.monotonic() + LATE
    while not holds():
        assert time.monotonic() < end, f"{what} within {LATE} s"
        time.sleep(0.02)


def wrong_lines():
    server = Server()
    answers = [server.begin()]
    for line in [
        b"{",
        b"\xff\xfe",
        b"[]",
        b"x" * (3 << 20),
        b"",
        {"jsonrpc": "2.0", "id": 7},
        {"jsonrpc": "2.0", "id": 8, "method": "nothing/such"},
        {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": 5}},
        {"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": {"name": "approve", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 11, "method": "tools/call", "params": {"name": "why", "arguments": {"wrong": 1}}},
        {"jsonrpc": "2.0", "id": 12, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}},
    ]:
        server.write(line)
        if line != b"":
            answers.append(server.answer())
    # It is as well as before.
    server.call(13, "verdict", {"wait_s": 0})
    answers.append(server.answer())
    server.process.stdin.close()
    return {"answers": answers, "code": server.process.wait(LATE)}


def many_at_once():
    server = Server()
    server.begin()
    for number in range(1, 41):
        server.call(number, "why", {"path": f"file{number}.txt"})
    answers = {}
    while len(answers) < 40:
        answer = server.answer()
        answers[answer["id"]] = answer["result"]["structuredContent"]
    server.process.stdin.close()
    return {"paths": {str(number): answer.get("path") for number, answer in answers.items()}, "code": server.process.wait(LATE)}


def cancelled():
    server = Server()
    server.begin()
    server.call(1, "verdict", {"wait_s": 600})
    wait_until("the check is under way", lambda: os.path.exists("../shared/started"))
    server.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    wait_until("no process is left of the call", lambda: not children(server.process.pid))
    server.call(2, "why", {"path": "a.txt"})
    answer = server.answer()
    server.process.stdin.close()
    begun = time.monotonic()
    code = server.process.wait(LATE)
    return {"id": answer["id"], "code": code, "seconds": time.monotonic() - begun}


def ended(how):
    server = Server()
    server.begin()
    server.call(1, "verdict", {"wait_s": 600})
    wait_until("the check is under way", lambda: os.path.exists("../shared/started"))
    family = [server.process.pid, *children(server.process.pid)]
    if how == "client killed":
        # What the kernel does when a client is killed: its ends of the pipes are closed.
        print(json.dumps({"family": family}), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    begun = time.monotonic()
    if how == "killed":
        server.process.kill()
    elif how == "terminated":
        server.process.send_signal(signal.SIGTERM)
    else:
        server.process.stdin.close()
    code = server.process.wait(LATE)
    return {"code": code, "seconds": time.monotonic() - begun, "family": family}


def piped():
    """Requests and the end of input at once, as from a shell."""
    server = Server()
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    lines = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    output, _ = server.process.communicate(text.encode(), LATE)
    return {"answers": [json.loads(line) for line in output.splitlines()], "code": server.process.returncode}


def gate():
    server = Server()
    server.begin()
    answers = []
    for number, arguments in enumerate([{}, {"commit": "HEAD~1"}, {"commit": "no-such-branch"}]):
        server.call(number + 1, "gate", arguments)
        answers.append(server.answer()["result"])
    server.process.stdin.close()
    server.process.wait(LATE)
    return {"answers": [answer["structuredContent"] for answer in answers[:2]], "unknown": answers[2]["isError"]}


def prove():
    server = Server()
    server.begin()
    server.call(1, "prove", {"range": "HEAD"})
    proved = server.answer()["result"]
    server.call(2, "prove", {"range": "no-such-branch"})
    refused = server.answer()["result"]
    server.process.stdin.close()
    server.process.wait(LATE)
    return {"answer": proved.get("structuredContent"), "text": proved["content"][0]["text"], "unknown": refused["isError"]}


CASES = {"gate": gate, "prove": prove, "wrong lines": wrong_lines, "many": many_at_once, "cancelled": cancelled, "piped": piped}
print(json.dumps(CASES[CASE]() if CASE in CASES else ended(CASE)))
