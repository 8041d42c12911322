"""Sends requests to the control socket from inside of a check, in every way that a process has to hide where it comes from.

Arguments: the socket, and the directory of a project that nobody has registered. Prints one line for each attempt and ends with 1 if
one of them got an answer."""
import ctypes
import json
import os
import socket
import sys
import time

SOCKET, STRANGER = sys.argv[1:3]
REQUESTS = [
    ("GET", "/v1/status", ""),
    ("GET", "/v1/nothing", ""),
    ("POST", "/v1/projects", json.dumps({"root": STRANGER})),
    ("POST", "/v1/projects/nobody-00000000/phase", json.dumps({"verb": "reset", "task": "default"})),
    ("DELETE", "/v1/projects/nobody-00000000", ""),
]


def talk(client, method, path, body):
    client.settimeout(60)
    head = f"{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    try:
        client.sendall(head.encode())
        answer = b""
        while part := client.recv(65536):
            answer += part
    except (BrokenPipeError, ConnectionResetError):
        return "closed"
    if not answer:
        return "closed"
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split()[1].decode() + " " + json.loads(body).get("error", {}).get("kind", "an answer")


def connected():
    client = socket.socket(socket.AF_UNIX)
    client.connect(SOCKET)
    return client


def ask(method, path, body):
    try:
        client = connected()
    except OSError as error:
        return "unreachable " + str(error.errno)
    return talk(client, method, path, body)


def in_child(act):
    """Runs `act` in a process that has left its parents and its session, and returns what it says."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        middle = os.getpid()
        if os.fork() == 0:
            os.close(reading)
            begun = time.monotonic()
            while os.getppid() == middle and time.monotonic() - begun < 30:
                time.sleep(0.001)
            os.write(writing, act().encode())
        os._exit(0)
    os.close(writing)
    os.wait()
    with os.fdopen(reading) as said:
        return said.read()


def in_user_namespace(method, path, body):
    def act():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(0x10000000) != 0:
            return "no namespace"
        return ask(method, path, body)

    return in_child(act)


def hiding_its_memory(method, path, body):
    def act():
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
        return ask(method, path, body)

    return in_child(act)


def by_a_connection_of_somebody_who_has_ended(method, path, body):
    client = socket.socket(socket.AF_UNIX)
    if os.fork() == 0:
        try:
            client.connect(SOCKET)
        except OSError:
            os._exit(1)
        os._exit(0)
    _, status = os.wait()
    return talk(client, method, path, body) if status == 0 else "unreachable"


WAYS = {
    "itself": ask,
    "an orphan": lambda *request: in_child(lambda: ask(*request)),
    "in a user namespace": in_user_namespace,
    "hiding its memory": hiding_its_memory,
    "with the connection of a dead process": by_a_connection_of_somebody_who_has_ended,
}
faults = 0
for name, way in WAYS.items():
    for request in REQUESTS:
        outcome = way(*request)
        is_fault = not (outcome == "closed" or outcome.startswith(("unreachable", "no namespace")))
        faults += is_fault
        print(f"{name}: {request[0]} {request[1]}: {outcome}{' FAULT' if is_fault else ''}", flush=True)
sys.exit(1 if faults else 0)
