"""Tries to get into the page from inside of a check that has the network.

Arguments: the directory of the control socket, and a file with the page's address. Prints a line for each attempt, and how many won."""
import glob
import json
import os
import re
import socket
import sys
import urllib.error
import urllib.request

RUNTIME, ADDRESS_FILE = sys.argv[1:3]
won = 0

try:
    address = open(ADDRESS_FILE).read()
except OSError:
    print("nothing to attack yet")
    sys.exit(0)


def ask(path, headers):
    request = urllib.request.Request(f"http://{address}{path}", headers=headers)
    try:
        return urllib.request.urlopen(request, timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError as error:
        return f"unreachable: {error}"


def report(name, answer, is_won):
    global won
    won += is_won
    print(f"{name}: {answer}{' WON' if is_won else ''}", flush=True)


for path in ["/v1/status", "/v1/projects", "/ticket"]:
    answer = ask(path, {})
    report("reached the page", answer, answer == 200)
answer = ask("/v1/status", {"Authorization": "Bearer " + "0" * 64})
report("a guessed token", answer, answer == 200)

client = socket.socket(socket.AF_UNIX)
try:
    client.connect(RUNTIME + "/control.sock")
    client.sendall(b"POST /v1/page HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}")
    text = b""
    while part := client.recv(65536):
        text += part
    report("a ticket from the socket", text.split()[1].decode(), b"ticket\"" in text)
except OSError as error:
    report("a ticket from the socket", f"403 (unreachable: {error})", False)

found = []
for place in glob.glob(RUNTIME + "/page-*.html") + glob.glob(f"/proc/*/root{RUNTIME}/page-*.html"):
    try:
        found.append(open(place).read())
    except OSError:
        pass
report("a file with a ticket", len(found), bool(found))
for entry in os.listdir("/proc"):
    try:
        arguments = open(f"/proc/{entry}/cmdline").read()
    except OSError:
        continue
    if re.search(r"(ticket=|Bearer |Ticket )[0-9a-f]{64}", arguments):
        report("arguments of a process", arguments[:80], True)
print(f"{won} won")
sys.exit(1 if won else 0)
