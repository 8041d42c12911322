"""Speaks the Language Server Protocol with `proctor lsp` by a list of steps, and prints all that the server sent as one JSON list.

`["request", METHOD, PARAMETERS]` waits for the answer, `["wait", METHOD]` for the next notification of that method.
"""

import json
import queue
import subprocess
import sys
import threading

BOUND = 60
server = subprocess.Popen([sys.argv[1], "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
arrived: queue.Queue = queue.Queue()
said = []


def read():
    while head := server.stdout.readline():
        length = int(head.split(b":")[1])
        assert server.stdout.readline() == b"\r\n"
        arrived.put(json.loads(server.stdout.read(length)))


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    server.stdin.flush()


def wait(is_wanted):
    while True:
        message = arrived.get(timeout=BOUND)
        said.append(message)
        if is_wanted(message):
            return


threading.Thread(target=read, daemon=True).start()
steps = json.loads(sys.argv[2]) + [["request", "shutdown", None]]
for number, (kind, method, *parameters) in enumerate(steps):
    if kind == "wait":
        wait(lambda message, method=method: message.get("method") == method)
        continue
    message = {"method": method, "params": parameters[0]}
    if kind == "request":
        send({"id": number, **message})
        wait(lambda message, number=number: message.get("id") == number)
    else:
        send(message)
send({"method": "exit"})
code = server.wait(BOUND)
print(json.dumps(said))
sys.exit(code)
