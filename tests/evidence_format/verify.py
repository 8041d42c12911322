"""Verifies evidence: `verify.py store DIRECTORY` or `verify.py export PATH KEYS`. Written from docs/reference/evidence-format.md alone."""
import base64, decimal, functools, hashlib, json, os, re, stat, subprocess, sys, tempfile, zlib
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
NOTHING, REPORT, PEM = hashlib.sha256(b"").hexdigest(), "execution-report.json", "-----BEGIN PUBLIC KEY-----\n(.*?)-----END PUBLIC KEY-----"
TIME, RUN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.A), re.compile(r"exec-\d{8}T\d{6}\.\d{3}Z-\d{6,}", re.A)
PROJECT, TASK, faults = re.compile(r"[\w.-]+-[0-9a-f]{8}"), re.compile(r"(?!\.\.?$)[\w.-]+"), []
TYPES, FIELDS = ["https://in-toto.io/attestation/test-result/v0.1", "https://slsa.dev/provenance/v1"], ["endorsement", "key", "keyId", "ledgers", "made", "number", "previous", "publicKey", "schema", "signature"]
TOP = "ledger keys evidence locks state.db trees approved-trees fetched-notes environments toolchains snapshots copying out scratch archiving workflows replaced-links reserve log hooks agents"
def need(ok, text):
    if not ok: raise ValueError(text)
def attempt(where, step, *arguments):
    try: return step(*arguments)
    except Exception as error: faults.append(f"{where}: {str(error) or type(error).__name__}")
def sha(data): return hashlib.sha256(data).hexdigest()
def field(data): return len(data).to_bytes(4, "big") + data
def pae(kind, body): return b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(body), body)
def compact(value): return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
def b64(text, size=None):
    data = base64.b64decode(text, validate=True)
    return data if base64.b64encode(data).decode() == text and size in (None, len(data)) else need(False, "base64 is wrong")
def unique(items): return dict(items) if len(dict(items)) == len(items) else need(False, "a key of an object is there twice")
def parse(data): return json.loads(data.decode(), object_pairs_hook=unique, parse_constant=lambda name: need(False, name + " is not JSON"))
def canonical(value):  # RFC 8785
    if isinstance(value, dict):
        return "{" + ",".join(canonical(k) + ":" + canonical(value[k]) for k in sorted(value, key=lambda k: k.encode("utf-16-be"))) + "}"
    if isinstance(value, list): return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, (str, bool)) or value is None: return json.dumps(value, ensure_ascii=False)
    text = repr(float(value))
    return format(decimal.Decimal(text).normalize(), "f") if 1e-6 <= abs(float(value)) < 1e21 else re.sub(r"e([+-])0*", r"e\1", text) if value else "0"
def read(path, of=lambda file: file.read(1 << 30), most=1 << 30):  # a regular file, and no link
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        return of(file) if stat.S_ISREG((at := os.fstat(file.fileno())).st_mode) and at.st_size <= most else need(False, "is not a file, or too large")
def digest(file): return hashlib.file_digest(file, "sha256").hexdigest()
def listed(path, wanted=True):  # the names in a directory that is no link
    return [] if not wanted and not os.path.lexists(path) else sorted(os.listdir(path)) if stat.S_ISDIR(os.lstat(path).st_mode) else need(0, path + ": no directory")
class Key:  # its record is well formed, signed by its own key, and follows upon the key before
    def __init__(self, record, before=None):
        self.record, self.says, self.hashed, self.endorsement = record, record["key"], record["schema"] == "proctor-key-v2", record["endorsement"]
        self.number, self.id, self.raw = self.says["number"], self.says["keyId"], b64(self.says["publicKey"][12:], 51)[19:]
        self.message, ssh = pae("application/vnd.proctor.key+json", compact(self.says)), field(b"ssh-ed25519") + field(self.raw)
        self.ssh, self.pem = ("ssh-ed25519 " + base64.b64encode(ssh).decode(), base64.b64encode(bytes.fromhex("302a300506032b6570032100") + self.raw).decode())
        need(sorted([*self.says, *record.keys() - {"checkpoints"}]) == FIELDS and {name for at in self.says["ledgers"].values() for name in at} <= {"sequence", "hash"}, "other keys")
        need((self.hashed or record["schema"] == "proctor-key-v1") and self.ssh == self.says["publicKey"] and self.id == sha(b'{"keytype":"ed25519","keyval":{"public":"%s"},"scheme":"ed25519"}' % self.raw.hex().encode()), "its id")
        need((self.number, self.says["previous"]) == (before.number + 1 if before else 1, before and before.id), f"key {self.number}: is not the next one")
        need(self.signed(b64(record["signature"]), self.message) and (self.endorsement is None or before.signed(b64(self.endorsement), self.message)), "no signature")
    def signed(self, signature, message): return Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message) is None  # or raises InvalidSignature
    def took(self, project, what="sequence"): return self.says["ledgers"].get(sha(project.encode()) if self.hashed else project, {"sequence": 0})[what]
def chain(records): return functools.reduce(lambda keys, record: [*keys, Key(record, *keys[-1:])], records, [])
def in_force(keys, project, number): return next((key for key in reversed(keys) if key.took(project) < number), None)
def checkpoint(text, project, keys, signers):  # its size and root; signed by a signer that is in force at its last line, or a later one
    head, signatures = text.split("\n\n")
    (origin, size, root), marks = head.split("\n"), [line.split(" ") for line in signatures.removesuffix("\n").split("\n")]
    need(origin == "proctor/" + project and re.fullmatch("[1-9][0-9]*", size) and text[-1] == "\n", "a checkpoint is not one of this project")
    may = [key for key in signers if key.number >= getattr(in_force(keys, project, int(size)), "number", 0)]
    need(any(mark == "—" and name == origin and b64(value)[:4] == hashlib.sha256(origin.encode() + b"\n\1" + key.raw).digest()[:4]
             and key.signed(b64(value)[4:], (head + "\n").encode()) for mark, name, value in marks for key in may), "a checkpoint is not signed by a key that may")
    return int(size), b64(root, 32)
def handed_over(keys, project, lines=None):  # the checkpoints in the records: by the key before, or by the key itself if that one was lost
    for key in (key for key in keys if "checkpoints" in key.record and (lines is None or project in key.record["checkpoints"])):
        need(lines is not None or [*key.record["checkpoints"]] == [project], "a key record has a checkpoint of another project")
        size, root = checkpoint(key.record["checkpoints"][project], project, keys, [keys[key.number - 2] if key.endorsement else key])
        need(lines is None or size <= len(lines) and tree_root([*map(leaf, lines[:size])]) == root, f"the checkpoint of key {key.number} is of another ledger")
def node(left, right): return hashlib.sha256(b"\1" + left + right).digest()
def leaf(line): return hashlib.sha256(b"\0" + sha(line).encode()).digest()
def tree_root(leaves):
    return node(tree_root(leaves[:(half := 1 << (len(leaves) - 1).bit_length() >> 1)]), tree_root(leaves[half:])) if len(leaves) > 1 else leaves[0]
def ledger_line(line, number, key, previous=None, time=""):
    entry = parse(line)
    cut, names = b',"signature":"%s"}' % entry.get("signature", "").encode(), ["schema", "sequence", "previous", "time", "asker", "body", "signature"]
    need(list(entry) == names[:7 if key else 6] and entry["schema"] == "proctor-ledger-v1" and type(entry["sequence"]) is int and entry["sequence"] == number
         and TIME.fullmatch(entry["time"]) and isinstance(entry["body"]["kind"], str) and previous in (None, entry["previous"]) and time <= entry["time"], "is wrong")
    signed = not key or line.endswith(cut) and key.signed(b64(entry["signature"]), pae("application/vnd.proctor.ledger-line+json", line[:-len(cut)] + b"}"))
    return entry if signed else need(False, "is not signed by the key in force")
def run(path, body, key):  # a run's directory against its line
    where, sums, names, own = "run " + body["runId"], read(f"{path}/SHA256SUMS"), {}, [REPORT + ".sig", body["runId"] + ".intoto.jsonl"]
    for flag, value, name in re.findall(r"(\\?)([0-9a-f]{64})  (.+)\n", sums.decode("utf-8", "surrogateescape")):
        names[re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m[1], m[1]), name) if flag else name] = value
    need(sha(sums) == body["manifestHash"] and len(names) == sums.count(b"\n") and [*names] == sorted(names, key=os.fsencode), where + ": SHA256SUMS")
    faults.extend(f"{where}: {name} is missing or was added" for name in {*listed(path)} ^ {*names, "SHA256SUMS"})
    for name, value in names.items(): attempt(f"{where}: {name}", lambda: need(read(f"{path}/{name}", digest, 1 << 36) == value, "has another digest"))
    report, document = read(f"{path}/{REPORT}"), parse(read(f"{path}/{REPORT}"))
    plain = {name: value for name, value in document["authenticity"].items() if name not in ("reportHash", "signature")}
    need(body["reportHash"] == document["authenticity"]["reportHash"] == sha(canonical(document | {"authenticity": plain}).encode()), "the report's hash")
    if key is None: return need(not {*own} & {*names}, "has signatures though it is older than the first key")
    armored = re.fullmatch("-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)\n-----END SSH SIGNATURE-----\n?", read(f"{path}/{own[0]}").decode())
    blob, kind = b64(armored[1].replace("\n", "") if armored else ""), field(b"ssh-ed25519")
    space, signature = field(b"proctor-evidence@v1") + field(b"") + field(b"sha512"), field(kind + field(blob[-64:]))
    need(blob == b"SSHSIG\0\0\0\1" + field(kind + field(key.raw)) + space + signature and key.signed(
        blob[-64:], b"SSHSIG" + space + field(hashlib.sha512(report).digest())), f"{own[0]} is not a signature by the key in force")
    says, entry = [], lambda name, value: {"name": name, "digest": {"sha256": value}}
    for envelope in map(parse, read(f"{path}/{own[1]}").removesuffix(b"\n").split(b"\n")):
        payload, kind, [signature] = b64(envelope["payload"]), envelope["payloadType"], envelope["signatures"]
        need(key.signed(b64(signature["sig"]), pae(kind, payload)) and signature["keyid"] == key.id, f"{own[1]} is not signed by the key in force")
        says.append(kind == "application/vnd.in-toto+json" and parse(payload))
    need([s["predicateType"] for s in says] == TYPES, f"{own[1]} has not the two statements")
    details, report, new = says[1]["predicate"]["runDetails"], [entry(REPORT, names[REPORT])], "proctor_verdict" not in says[1]["predicate"]["runDetails"]
    subject = [entry(body.get("treeFormat", "proctor-tree-v1"), body["treeDigest"])] if new and body.get("treeDigest") else report
    files = report * new + [entry(name, value) for name, value in names.items() if name not in [REPORT] + own]
    need(all(s["subject"] == subject for s in says) and details["byproducts"] == files and details["metadata"]["invocationId"] == body["runId"], own[1])
def unpacked(path, dir, inner, archive, step):  # extracts an archive whose members are files in one directory, and has `step` look at it
    def extracted(file):
        need(archive is None or (digest(file), file.tell()) == (archive["archiveHash"], archive["archiveBytes"]), "is not the archive of the ledger")
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        options = ["-xvvkf", "-", "-C", place, "--numeric-owner", "--no-same-owner", "--no-same-permissions"]  # -k: a name twice is an error
        done = subprocess.run(["tar", "--zstd", *options], stdin=file, capture_output=True, env={"PATH": os.environ["PATH"], "LC_ALL": "C"})
        members = re.sub(r"(?m)^d\S+ +Creating directory: .*\n", "", done.stdout.decode())
        names = re.findall(rf"(?m)^-\S+ +\S+ +\d+ \S+ \S+ ({dir})/{inner}[^/\n]+$", members)
        need(not done.returncode and not done.stderr and len(names) == members.count("\n") and len({*names}) == 1, "is no archive of files in one directory")
        step(f"{place}/{names[0]}", names[0])
    with tempfile.TemporaryDirectory() as place: read(path, extracted, 1 << 36)
def stored_run(path, body, key, state):
    need(body, "does not belong there")
    if state == "sealed": run(path, body, key)
    else: unpacked(path, re.escape(body["runId"]), "", state, lambda place, name: run(place, body, key))
def fill(data, path, start, end):  # puts a segment in the place of zero bytes
    stream, old = zlib.decompressobj(), bytes(data[start:end])
    new = stream.decompress(read(path), len(old) + 1)
    need(stream.eof and not stream.unused_data and len(new) == len(old) == end - start > 0 and new[-1] == 10 and data[start - 1:start] in (b"", b"\n"), "wrong")
    data[start:end] = bytes(byte or put for byte, put in zip(old, new))
def effects(body, kind, number, project, runs, record, before):  # what a line says of runs and keys
    if kind in ("run", "superseded"):
        need(RUN.fullmatch(body["runId"]) and TASK.fullmatch(body["task"]) and body["runId"] not in runs, "has a run that was there before, or no id")
        runs[body["runId"]] = ["sealed" if kind == "run" else "gone", number, body]
    for of in body["runs"] if kind in ("pruned", "purged", "archived") else []:
        run = runs.get(of["runId"], ["", 0, {}])
        need([run[2].get(k) for k in ("kind", "task", "manifestHash")] == ["run", of["task"], of["manifestHash"]], "has a run that was not sealed before")
        run[0] = "gone" if kind != "archived" else of if run[0] == "sealed" else need(False, "archives what is no longer there")
    need(kind != "registered" or body["projectId"] == project, "registers another project")
    need(body | {"checkpoints": body.get("checkpoints", {})} == record if kind == "keyReplaced" else not record or before == "purged", "keyReplaced")
def ledger(store, project, keys, segments):
    data, previous, time, before, runs, records = bytearray(read(f"{store}/ledger/{project}.jsonl")), NOTHING, "", "", {}, {}
    for segment, start, end in segments: attempt(segment, fill, data, f"{store}/ledger/{segment}", int(start), int(end))
    base, lines = f"{store}/evidence/{project}", bytes(data).split(b"\n")
    tail = lines.pop() or (lines.pop() if lines and b"\0" in lines[-1] else b"")
    due = b'{"schema":"proctor-ledger-v1","sequence":%d,"previous":"%s","time":"2' % (len(lines) + 1, sha(b"".join(lines[-1:])).encode())
    need(all(byte in (0, right) for byte, right in zip(tail, due)), "its end is not the line that is due")
    for key in (key for key in keys if key.took(project)):
        after, records[key.took(project) + 1] = key.took(project), {"kind": "keyReplaced"} | key.record | {"checkpoints": {
            name: text for name, text in key.record.get("checkpoints", {}).items() if name == project}} if key.hashed else None
        if after > len(lines) or sha(lines[after - 1]) != key.took(project, "hash"): faults.append(f"ledger {project}: key {key.number} took over after another line")
    for number, line in enumerate(lines, 1):
        where, key = f"ledger {project}, line {number}", in_force(keys, project, number)
        entry = attempt(where, ledger_line, line, number, key, previous, time) or {"time": time, "body": {"kind": ""}}
        if "schema" in entry: attempt(where, effects, entry["body"], entry["body"]["kind"], number, project, runs, records.get(number), before)
        previous, time, before = sha(line), entry["time"], entry["body"]["kind"]
    attempt(f"ledger {project}", handed_over, keys, project, lines)
    wanted = {f'{base}/{body["task"]}/runs/{id}' + ".tar.zst" * (state != "sealed"): (body, in_force(keys, project, number), state)
              for id, (state, number, body) in runs.items() if state != "gone"}
    for path in (f"{base}/{task}" for task in listed(base, False)):
        for name in {*listed(path)} - {"runs"}:
            need(os.readlink(f"{path}/{name}") == "latest/" + name or name == "latest" and RUN.fullmatch(os.readlink(f"{path}/{name}")[5:]), f"{path}/{name}: a stray")
        for found in (f"{path}/runs/{name}" for name in listed(path + "/runs", False)): attempt(found, stored_run, found, *wanted.pop(found, (None, None, None)))
    faults.extend(f"ledger {project}: {missing} is missing" for missing in wanted)
def store(path):
    found = [name for name in listed(path + "/keys", False) if re.fullmatch(r"key-\d{4}\.json", name)]
    keys, projects = chain([parse(read(f"{path}/keys/{name}")) for name in found]), {}
    need(all((key.endorsement or key.number == 1) and found[key.number - 1] == "key-%04d.json" % key.number for key in keys), "a key is not endorsed, or its name")
    expected = {"": {*TOP.split(), *(name for name in listed(path) if re.match(r"state\.db|checkpoints\.db|examination-", name))}, "keys": {*found, *("private-%s.pem" % key.id[:16] for key in keys[-1:])}}
    for name in listed(path + "/ledger"):
        file = re.fullmatch(rf"({PROJECT.pattern})(\.torn-\d+|\.jsonl(\.(\d{{12}})-(\d{{12}})\.zlib)?)", name) or need(False, f"ledger/{name} is a stray")
        if not file[2].startswith(".torn"): projects.setdefault(file[1], []).extend([(name, file[4], file[5])] if file[3] else [])
    expected["evidence"], known = {*projects}, {*projects, *(sha(project.encode()) for project in projects)}
    faults.extend(f"{folder}/{name} does not belong there" for folder in expected for name in {*listed(os.path.join(path, folder).rstrip("/"), False)} - expected[folder])
    named = {name for key in keys for name, at in key.says["ledgers"].items() if at["sequence"]}.union(*(key.record.get("checkpoints", ()) for key in keys))
    faults.extend(f"the ledger {name}, which a key names, is missing" for name in named - known)
    for project in projects: attempt("ledger " + project, ledger, path, project, keys, projects[project])
def trusted(text, path):  # the keys that a reader can trust who has this text
    ssh, own = re.findall(r"^(?![#{]).*?(ssh-ed25519 \S+)", text, re.M), re.findall(r"^(?:# )?(\{.*\})$", text, re.M)
    known = {*ssh, *(pem.replace("\n", "") for pem in re.findall(PEM, text, re.S))}
    need(len(ssh + own) == len(re.findall("^(?:# *[{]|[^#\n]).*$", re.sub(PEM, "", text, flags=re.S), re.M)), "the keys of the reader cannot be read")
    shown = read(path).decode().removesuffix("\n").split("\n") if os.path.lexists(path) or not own else []
    need(all(compact(parse(record.encode())) == record.encode() for record in own + shown), "a key record is not compact")
    own, shown = (chain(parse(record.encode()) for record in records) for records in (own, shown))
    end = len(own) or max((key.number for key in shown if {key.ssh, key.pem} & known), default=0)
    need(end and (not own or known <= {form for key in own for form in (key.ssh, key.pem)}) and all(a.message == b.message for a, b in zip(own, shown)), "keys")
    return [key for key in [*own, *shown[len(own):]] if all(later.endorsement for later in shown[end:key.number])]
def export(path, name, text):
    line, (head, note) = read(path + "/ledger.jsonl"), read(path + "/ledger.tlog-proof").decode().split("\n\n", 1)
    keys, project, number = trusted(text, path + "/keys.jsonl"), note.split("\n")[0].removeprefix("proctor/"), parse(line)["sequence"]
    key, (size, root), (title, index, *others) = in_force(keys, project, number), checkpoint(note, project, keys, keys), head.split("\n")
    body, at, last, value = ledger_line(line[:-1], number, key)["body"], number - 1, size - 1, leaf(line[:-1])
    need(line[-1:] == b"\n" and PROJECT.fullmatch(project) and body["kind"] == "run" and RUN.fullmatch(body["runId"]) and name in ("", body["runId"]), "the run")
    need([title, index] == ["c2sp.org/tlog-proof@v1", f"index {at}"] and 0 <= at <= last, "ledger.tlog-proof is the proof of another line")
    for other in others:
        value = (node(b64(other, 32), value) if at & 1 or at == last else node(value, b64(other, 32))) if last else need(False, "the path is too long")
        while at == last and at and not at & 1: at, last = at >> 1, last >> 1
        at, last = at >> 1, last >> 1
    need(last == 0 and value == root, "ledger.tlog-proof proves something else")
    handed_over(keys, project)
    shown = b"".join(read(f"{path}/{name}") for name in ("proctor.pub", "allowed_signers") if os.path.lexists(f"{path}/{name}")).decode()
    need(all(key and form.strip() in (key.pem, key.ssh) for form in re.findall("(?<=BEGIN PUBLIC KEY-----\n)[^-]+|ssh-ed25519 .*", shown)), "the keys beside it")
    run(path + "/run", body, key)
if __name__ == "__main__":
    command, path, keys, *more = sys.argv[1:] + [""] * 3
    if command == "store": attempt(path, store, path)
    elif command != "export": faults.append("usage: verify.py store DIRECTORY | verify.py export PATH KEYS")
    elif os.path.isdir(path): attempt(path, lambda: listed(path) and export(path, "", read(keys).decode()))
    else: attempt(path, unpacked, path, "[^/\n]+", "(?:run/)?", None, lambda *found: export(*found, read(keys).decode()))
    print(*[fault.encode("unicode_escape").decode() for fault in faults] or ["verified"], sep="\n")
    sys.exit(6 if faults else 0)
