"""Verifies evidence by docs/reference/evidence-format.md alone: `verify.py store DIRECTORY` or `verify.py export PATH KEYS`.

Prints a line for each fault; the exit code is 6 if there is one. Needs `cryptography`, and tar with zstd for archives."""
import base64, hashlib, json, pathlib, re, subprocess, sys, tempfile, zlib
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
faults = []
sha = lambda data: hashlib.sha256(data).hexdigest()
b64 = lambda text: base64.b64decode(text, validate=True)
node = lambda left, right: hashlib.sha256(b"\1" + left + right).digest()
pae = lambda kind, body: b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(body), body)
string = lambda data: len(data).to_bytes(4, "big") + data
key_id = lambda key: sha(b'{"keytype":"ed25519","keyval":{"public":"%s"},"scheme":"ed25519"}' % key.hex().encode())
def check(holds, *what):
    return faults.extend([] if holds else [": ".join(map(str, what))]) or holds
def verifies(key, message, signature):
    try: return Ed25519PublicKey.from_public_bytes(key).verify(signature, message) is None
    except InvalidSignature: return False
def ssh_key(line):
    blob = b64(line.split("ssh-ed25519 ")[1].split()[0])
    assert blob[:-32] == string(b"ssh-ed25519") + (32).to_bytes(4, "big"), "no Ed25519 key"
    return blob[-32:]
class Key:
    def __init__(self, record):
        self.record, self.statement = record, record["key"]
        self.number, self.raw = self.statement["number"], ssh_key(self.statement["publicKey"])
        text = json.dumps(self.statement, separators=(",", ":"), ensure_ascii=False)
        self.message = pae("application/vnd.proctor.key+json", text.encode())
    def is_own(self, before):
        ids = self.statement["previous"], self.statement["keyId"]
        return ids == (before and key_id(before.raw), key_id(self.raw)) and verifies(self.raw, self.message, b64(self.record["signature"]))
    def is_endorsed(self, before):
        signature = self.record["endorsement"]
        return signature is None if before is None else bool(signature) and verifies(before.raw, self.message, b64(signature))
    def end(self, project):
        ledgers = self.statement["ledgers"]
        return ledgers.get(sha(project.encode())) or ledgers.get(project) or {"sequence": 0}
def key_at(keys, project, line):
    return next((key for key in reversed(keys) if key.end(project)["sequence"] < line), None)
def read_keys(text):
    return [Key(json.loads(line)) for line in text.replace("# {", "{").splitlines() if line.startswith("{")]
def trusted_keys(text, carried):
    """The keys that follow from a file of keys and the history that an export carries."""
    known = read_keys(text)
    if not known:
        alone = load_pem_public_key(text.encode()).public_bytes_raw() if "PUBLIC KEY" in text else ssh_key(text)
        known = carried[:1 + next((i for i, key in enumerate(carried) if key.raw == alone), -1)]
        check(known, "keys.jsonl", "it does not have the trusted key")
    for i, (before, key) in enumerate(zip([None, *known], known), 1):
        check(key.number == i and key.is_own(before), "key", key.number, "its record is wrong")
        check(i > len(carried) or key.raw == (mine := carried[i - 1]).raw and mine.statement["keyId"] == key_id(key.raw), "keys.jsonl", "another key", i)
    for key in carried[len(known):]:
        if not (known and key.number == len(known) + 1 and key.is_own(known[-1]) and key.is_endorsed(known[-1])): break
        known = known + [key]
    return known
def canonical(value):
    """RFC 8785."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e21
    return json.dumps(int(value) if is_whole else value, ensure_ascii=False)
def check_line(line, parsed, key, where):
    cut = re.fullmatch(rb'(.*),"signature":"([A-Za-z0-9+/=]+)"\}', line, re.S)
    if key is None: return check("signature" not in parsed, where, "it is signed, and there was no key")
    is_signed = cut and verifies(key.raw, pae("application/vnd.proctor.ledger-line+json", cut[1] + b"}"), b64(cut[2]))
    check(is_signed, where, "its signature is not by key", key.number)
def check_run(directory, body, key, where):
    """Verifies a run by its line and the key in force at the line."""
    files = {path.name: path.read_bytes() if path.is_file() and not path.is_symlink() else b"" for path in directory.iterdir()}
    listed = {}
    check(sha(files["SHA256SUMS"]) == body["manifestHash"], where, "SHA256SUMS is another one")
    for line in files["SHA256SUMS"].decode().splitlines():
        digest, name = line.removeprefix("\\").split("  ", 1)
        unescape = lambda match: {"n": "\n", "r": "\r"}.get(match[1], match[1])
        listed[re.sub(r"\\(.)", unescape, name) if line.startswith("\\") else name] = digest
    check(set(files) == set(listed) | {"SHA256SUMS"}, where, "it has other files than SHA256SUMS lists")
    for name, digest in listed.items():
        check(sha(files.get(name, b"")) == digest, where, name, "it was changed")
    report, covered = files["execution-report.json"], json.loads(files["execution-report.json"])
    said = covered["authenticity"].pop("reportHash")
    covered["authenticity"].pop("signature", None)
    check(said == body["reportHash"] == sha(canonical(covered).encode()), where, "the hash of the report is wrong")
    if key is None: return
    public, kind, method = string(string(b"ssh-ed25519") + string(key.raw)), string(b"ssh-ed25519"), string(b"sha512")
    space = string(b"proctor-evidence@v1") + string(b"")
    blob = b64(files["execution-report.json.sig"].decode().split("-----")[2].replace("\n", ""))
    head = b"SSHSIG" + (1).to_bytes(4, "big") + public + space + method + (len(kind) + 68).to_bytes(4, "big") + kind + (64).to_bytes(4, "big")
    signed = b"SSHSIG" + space + method + string(hashlib.sha512(report).digest())
    check(blob[:-64] == head and verifies(key.raw, signed, blob[-64:]), where, "the signature of the report is wrong")
    name, payloads = body["runId"] + ".intoto.jsonl", []
    for line in files[name].splitlines():
        envelope = json.loads(line)
        payload, kind, [signature] = b64(envelope["payload"]), envelope["payloadType"], envelope["signatures"]
        is_named = kind == "application/vnd.in-toto+json" and signature["keyid"] == key_id(key.raw)
        check(is_named and verifies(key.raw, pae(kind, payload), b64(signature["sig"])), where, "a statement is not signed")
        payloads.append(json.loads(payload))
    (test, slsa), kinds = payloads, ("https://in-toto.io/attestation/test-result/v0.1", "https://slsa.dev/provenance/v1")
    named, details, tree = [{"name": "execution-report.json", "digest": {"sha256": sha(report)}}], slsa["predicate"]["runDetails"], body.get("treeDigest")
    is_old, own = "proctor_verdict" in details, {"execution-report.json", "execution-report.json.sig", name}
    subject = named if is_old or not tree else [{"name": body.get("treeFormat", "proctor-tree-v1"), "digest": {"sha256": tree}}]
    is_about = (test["predicateType"], slsa["predicateType"]) == kinds and test["subject"] == slsa["subject"] == subject
    attested = named[is_old:] + [{"name": name, "digest": {"sha256": digest}} for name, digest in listed.items() if name not in own]
    is_about &= details["byproducts"] == attested and details["metadata"]["invocationId"] == body["runId"]
    check(is_about, where, "the statements are about something else")
def unpacked(archive, into):
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", into], check=True, stderr=subprocess.DEVNULL); return next(pathlib.Path(into).iterdir())
def verify_store(root):
    keys = [Key(json.loads(path.read_bytes())) for path in sorted((root / "keys").glob("key-*.json"))]
    for i, (before, key) in enumerate(zip([None, *keys], keys), 1):
        check(key.number == i and key.is_own(before) and key.is_endorsed(before), "key", key.number, "it is not proven")
    projects = [path.stem for path in root.glob("ledger/*.jsonl")] + [path.parts[-4] for path in root.glob("evidence/*/*/runs/*")]
    for project in sorted(set(projects)):
        verify_project(root, project, keys)
def ledger_bytes(path):
    whole = bytearray(path.read_bytes() if check(not path.is_symlink(), path.name, "it is a link") else b"")
    for segment in path.parent.glob(path.name + ".*-*.zlib"):
        (start, end), held = map(int, segment.name.split(".")[-2].split("-")), zlib.decompress(segment.read_bytes())
        check(len(held) == end - start <= len(whole) - start, segment.name, "it holds other bytes than its name says")
        whole[start:end] = bytes(mine or its for mine, its in zip(whole[start:end], held))
    return bytes(whole)
def verify_project(root, project, keys):
    bodies, hashes, time = [], [sha(b"")], ""
    *lines, torn = ledger_bytes(root / "ledger" / (project + ".jsonl")).split(b"\n")
    for number, line in enumerate(lines, 1):
        parsed, where = json.loads(line), f"{project} line {number}"
        is_next = (parsed["schema"], parsed["sequence"], parsed["previous"]) == ("proctor-ledger-v1", number, hashes[-1])
        check(is_next and parsed["time"] >= time, where, "it does not follow the line before")
        check_line(line, parsed, key_at(keys, project, number), where)
        bodies.append(parsed["body"]); hashes.append(sha(line)); time = parsed["time"]
    due = b'{"schema":"proctor-ledger-v1","sequence":%d,"previous":"%s","time":' % (len(hashes), hashes[-1].encode())
    check(all(byte in (0, its) for byte, its in zip(torn, due)), project, "there is something behind the last line")
    told = {at: body for at, body in enumerate(bodies, 1) if body["kind"] == "keyReplaced"}
    for key in keys:
        at, is_last = key.end(project)["sequence"], not any(it.end(project) == key.end(project) for it in keys[key.number:])
        check(at == 0 or hashes[at:at + 1] == [key.end(project)["hash"]], project, "key", key.number, "it took over after another line")
        if key.record["schema"] == "proctor-key-v2" and key.number > 1 and is_last and 0 < at < len(bodies) and bodies[at - 1]["kind"] != "purged":
            expected = {**key.record, "checkpoints": {name: note for name, note in key.record["checkpoints"].items() if name == project}}
            check(told.pop(at + 1, None) == {"kind": "keyReplaced", **expected}, project, "no line tells of key", key.number)
    check(not told, project, "a line tells of a key that did not take over there")
    runs, gone = {}, {}
    for number, body in enumerate(bodies, 1):
        if body["kind"] in ("run", "superseded"):
            check(body["runId"] not in runs, project, "two lines are about", body["runId"])
            runs[body["runId"]] = number, body
        for run in body["runs"] if body["kind"] in ("pruned", "purged", "archived") else []:
            check(runs.get(run["runId"], (0, {}))[1].get("manifestHash") == run["manifestHash"], project, body["kind"], "an unknown run")
            check(body["kind"] != "archived" or run["runId"] not in gone, project, "archived twice", run["runId"])
            gone[run["runId"]] = body["kind"], run
    is_real = lambda path: path.resolve() == root.resolve() / path.relative_to(root)  # No link is followed.
    there = {path.name: path for path in (root / "evidence" / project).glob("*/runs/*") if is_real(path)}
    for name, (number, body) in runs.items():
        kind, packed = gone.get(name, (body["kind"], None))
        place = root / "evidence" / project / body["task"] / "runs" / (name + (".tar.zst" if kind == "archived" else ""))
        if kind not in ("run", "archived") or not check(there.pop(place.name, None) == place, project, name, "it is not in its place"):
            continue
        with tempfile.TemporaryDirectory() as into:
            if kind == "run" or check(sha(place.read_bytes()) == packed["archiveHash"], name, "another archive"):
                check_run(place if kind == "run" else unpacked(place, into), body, key_at(keys, project, number), name)
    check(not there, project, "no line is about", sorted(there))
def check_proof(text, line, number, keys):
    head, body, signatures = text.split("\n\n")
    (magic, index, *path), (origin, size, root) = head.split("\n"), body.split("\n")
    index, project, found = int(index.removeprefix("index ")), origin.removeprefix("proctor/"), hashlib.sha256(b"\0" + sha(line).encode()).digest()
    fn, sn = index, int(size) - 1
    for other in map(b64, path):
        check(sn > 0, "ledger.tlog-proof", "its path is too long")
        if fn % 2 or fn == sn:
            found = node(other, found)
            while fn and not fn % 2: fn, sn = fn >> 1, sn >> 1
        else: found = node(found, other)
        fn, sn = fn >> 1, sn >> 1
    is_right = magic == "c2sp.org/tlog-proof@v1" and index == number - 1 < int(size) and sn == 0 and found == b64(root)
    check(is_right, "ledger.tlog-proof", "it does not lead to the root")
    hint = lambda key: hashlib.sha256(origin.encode() + b"\n\1" + key.raw).digest()[:4]
    signed = [(name, b64(blob)) for _, name, blob in (line.split(" ") for line in signatures.splitlines())]
    may_sign = [key for key in keys if key.number >= getattr(key_at(keys, project, int(size)), "number", 1)]
    is_by = lambda key: any(name == origin and blob[:4] == hint(key) and verifies(key.raw, (body + "\n").encode(), blob[4:]) for name, blob in signed)
    check(any(map(is_by, may_sign)), "ledger.tlog-proof", "its checkpoint is not signed by a key that was in use")
    return project
def verify_export(top, trusted):
    keys = trusted_keys(trusted, [Key(json.loads(line)) for line in carried.read_text().splitlines()] if (carried := top / "keys.jsonl").exists() else [])
    whole = (top / "ledger.jsonl").read_bytes()
    check(whole.count(b"\n") == 1 and whole.endswith(b"\n"), "ledger.jsonl", "it is not one line")
    parsed = json.loads(whole)
    project = check_proof((top / "ledger.tlog-proof").read_text(), whole[:-1], parsed["sequence"], keys)
    check_line(whole[:-1], parsed, key := key_at(keys, project, parsed["sequence"]), "ledger.jsonl")
    check_run(top / "run", parsed["body"], key, "run")
try:
    kind, path = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as into:
        top = path if path.is_dir() else unpacked(path, into)
        verify_store(path) if kind == "store" else verify_export(top, pathlib.Path(sys.argv[3]).read_text())
except Exception as error:  # What cannot be read is not verified.
    check(False, type(error).__name__, error)
print("\n".join(faults) or "verified")
sys.exit(6 if faults else 0)
