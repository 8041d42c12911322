"""Reads attestations: `attestations.py note|bundle FILE KEY GIT-TREE`. KEY is a file with the trusted key as `ssh-ed25519 …`, GIT-TREE the
tree that the reader has. Prints a word for each envelope, as docs/reference/evidence-format.md says, and exits with 6 if one is a refusal."""
import json, re, sys
from verify import b64, need, pae, parse, read, sha, TIME, RUN, TASK
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
HEX, ID, TYPE = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{40}"), "application/vnd.in-toto+json"
LEVELS = {"namespace", "cgroup", "landlock", "process-group"}
class Refused(Exception): pass
def known(ok):
    if not ok: raise Refused("unknown-format")
def keys(value, names, optional=()): known(isinstance(value, dict) and set(names.split()) <= set(value) <= {*names.split(), *optional})
def texts(value): known(isinstance(value, list) and all(isinstance(text, str) for text in value))
def matches(pattern, value): known(isinstance(value, str) and pattern.fullmatch(value))
def origin(value):
    keys(value, "conditions ended id isolation")
    matches(TIME, value["ended"]), matches(RUN, value["id"])
    known(value["isolation"] in LEVELS and (value["conditions"] is None or isinstance(value["conditions"], dict)))
def claim(statement, key):
    tree, project, *commit = statement["subject"]
    known(tree["name"] == "git-tree" and [one["name"] for one in commit] in ([], ["git-commit"]))
    known(re.fullmatch("proctor-tree-v[23](:.+)?", project["name"]) and HEX.fullmatch(project["digest"]["sha256"]))
    for one in commit: matches(ID, one["digest"]["gitCommit"])
    predicate, [configuration] = statement["predicate"], statement["predicate"]["configuration"]
    keys(predicate, "configuration failedTests passedTests result warnedTests"), keys(configuration, "annotations digest name")
    for name in ("failedTests", "passedTests", "warnedTests"): texts(predicate[name])
    known(predicate["result"] in ("PASSED", "WARNED", "FAILED") and (predicate["result"] == "FAILED" or bool(predicate["warnedTests"]) == (predicate["result"] == "WARNED")))
    known(configuration["name"] == "report" and HEX.fullmatch(configuration["digest"]["sha256"]))
    noted, names = configuration["annotations"], []
    keys(noted, "checks exit format key plan run task", ["environment", "flipped"]), origin(noted["run"]), matches(TASK, noted["task"])
    known(noted["format"] == "proctor-attestation-v1" and (noted["plan"] is None or HEX.fullmatch(noted["plan"])))
    told = noted.get("environment", {"installed": {}, "programs": []})
    keys(told, "installed programs")
    for digest in [*told["programs"], *told["installed"].values()]: matches(HEX, digest)
    for check in noted["checks"]:
        keys(check, "name result", ["reusedFrom"]), names.append(check["name"])
        known(check["result"] in ("passed", "warned", "allowed", "failed", "not-run"))
        if check.get("reusedFrom"): origin(check["reusedFrom"])
    known(len({*names}) == len(names) and noted["key"] == key)
    return "claim"
def acceptance(statement, key):
    [tree], said = statement["subject"], statement["predicate"]
    keys(said, "accepted changes key project trustedCommit"), texts(said["changes"]), matches(TIME, said["accepted"]), matches(ID, said["trustedCommit"])
    known(tree["name"] == "git-tree" and isinstance(said["project"], str) and said["key"] == key)
    return "acceptance"
def accepted_file(statement, key):
    [blob], said = statement["subject"], statement["predicate"]
    keys(said, "accepted after before changes key project"), texts(said["changes"]), matches(TIME, said["accepted"])
    for object in (said["before"], said["after"]): object is None or matches(ID, object)
    known(blob == {"digest": {"gitBlob": said["after"] or said["before"]}, "name": "git-blob"} and blob["digest"]["gitBlob"])
    known(isinstance(said["project"], str) and said["key"] == key)
    return "acceptance"
def summary(statement, key): return "summary"
KINDS = {"https://in-toto.io/attestation/test-result/v0.1": claim, "urn:proctor:accepted-changes:v1": acceptance,
         "urn:proctor:accepted-file:v1": accepted_file,
         "https://slsa.dev/verification_summary/v1": summary}
def word(line, raw, git_tree):
    try:
        envelope = parse(line)
        keys(envelope, "payload payloadType signatures")
        [signature] = envelope["signatures"]
        keys(signature, "keyid sig"), known(envelope["payloadType"] == TYPE), matches(HEX, signature["keyid"])
        if signature["keyid"] != sha(b'{"keytype":"ed25519","keyval":{"public":"%s"},"scheme":"ed25519"}' % raw.hex().encode()): return "foreign"
        try:
            payload = b64(envelope["payload"])
            Ed25519PublicKey.from_public_bytes(raw).verify(b64(signature["sig"], 64), pae(TYPE, payload))
        except Exception: return "tampered"
        statement = parse(payload)
        keys(statement, "_type predicate predicateType subject"), known(statement["_type"] == "https://in-toto.io/Statement/v1")
        same = json.dumps(statement, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode()
        kind = KINDS[statement["predicateType"]](statement, signature["keyid"])
        known(kind == "summary" or same == payload)
        return kind if statement["subject"][0]["digest"] == {"gitTree": git_tree} else "another-tree"
    except Exception: return "unknown-format"  # what is not understood wholly does not count
def envelopes(kind, data):
    if kind == "note": return [line for line in data.split(b"\n") if line.strip()]
    bundle = parse(data)
    need({*bundle} == {"schema", "envelopes"} and bundle["schema"] == "proctor-attestation-bundle-v1", "is no bundle that can be read")
    return [json.dumps(envelope).encode() for envelope in bundle["envelopes"]]
if __name__ == "__main__":
    kind, path, key, git_tree = sys.argv[1:]
    raw = b64(re.search(r"ssh-ed25519 (\S+)", read(key).decode())[1], 51)[19:]
    try: words = [word(line, raw, git_tree) for line in envelopes(kind, read(path))]
    except ValueError: words = ["no-bundle"]
    print(*words, sep="\n")
    sys.exit(0 if {*words} <= {"claim", "acceptance", "summary"} else 6)
