"""Runs scenarios of the protocol's conformance suite against `proctor mcp`, and prints what they came to as JSON.

The suite speaks HTTP, so a small server on loopback stands between: it starts `proctor mcp` for each client, writes what the client posts as
a line to its standard input, and answers with the line that has the same id.
"""

import http.server
import json
import subprocess
import sys
import threading
import uuid

PROCTOR, NODE, SUITE, SCENARIOS = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
LATE = 60


class Server:
    """A process of `proctor mcp` for one client."""

    def __init__(self):
        self.process = subprocess.Popen([PROCTOR, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answers, self.changed = {}, threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" not in message:
                with self.changed:
                    self.answers[json.dumps(message.get("id"))] = message
                    self.changed.notify_all()

    def ask(self, message):
        """Writes a message, and returns the answer to a request; None for a notification."""
        with self.changed:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
            if "id" not in message or "method" not in message:
                return None
            key = json.dumps(message["id"])
            assert self.changed.wait_for(lambda: key in self.answers, LATE), f"no answer to {message}"
            return self.answers.pop(key)

    def end(self):
        self.process.stdin.close()
        return self.process.wait(LATE)


SERVERS = {}


class Shim(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, document=None, session=None):
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if session is not None:
            self.send_header("mcp-session-id", session)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        session = self.headers.get("mcp-session-id")
        if message.get("method") == "initialize":
            session = uuid.uuid4().hex
            SERVERS[session] = Server()
        if session not in SERVERS:
            self.answer(404)
            return
        answer = SERVERS[session].ask(message)
        self.answer(202 if answer is None else 200, answer, session)

    def do_GET(self):
        # This server begins no stream of its own.
        self.answer(405)

    def do_DELETE(self):
        server = SERVERS.pop(self.headers.get("mcp-session-id"), None)
        if server is not None:
            server.end()
        self.answer(200 if server is not None else 404)


def suite(*words):
    ran = subprocess.run([NODE, SUITE, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LATE, check=False)
    return ran.returncode, ran.stdout


def main():
    shim = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shim)
    threading.Thread(target=shim.serve_forever, daemon=True).start()
    _, listed = suite("list", "--server")
    known = [line.split()[1] for line in listed.splitlines() if line.startswith("  - ")]
    url = f"http://127.0.0.1:{shim.server_address[1]}/mcp"
    results = {}
    for scenario in SCENARIOS:
        code, output = suite("server", "--url", url, "--scenario", scenario)
        results[scenario] = {"code": code, "output": output}
    codes = [server.end() for server in list(SERVERS.values())]
    shim.shutdown()
    print(json.dumps({"known": known, "results": results, "codes": codes}))


main()
