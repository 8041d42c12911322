#!/usr/bin/env python3
"""Writes the bill of materials of the program, in the format CycloneDX 1.6: every Rust crate that it is built from.

    packaging/bill_of_materials.py [PROGRAM]

Writes to standard output. PROGRAM is the file whose digest the document names. The same lock file and program give the same bytes, so the
document has no time and no number of its own.
"""

import hashlib
import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import archive  # noqa: E402
import third_party_notices  # noqa: E402


def reference(name, version):
    """Returns the package URL of a crate."""
    return f"pkg:cargo/{name}@{version}"


def checksums():
    """Returns the SHA-256 of each crate's archive, by name and version, as Cargo.lock has it."""
    lock = (archive.ROOT / "Cargo.lock").read_text()
    block = re.compile(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]{64})"')
    return {(name, version): digest for name, version, digest in block.findall(lock)}


def document(program=None):
    """Returns the document as text."""
    digests = checksums()

    def component(package):
        name, version = package["name"], package["version"]
        digest = digests.get((name, version))
        found = {
            "type": "library",
            "bom-ref": reference(name, version),
            "name": name,
            "version": version,
            "purl": reference(name, version),
            "licenses": [{"expression": package["license"].replace("/", " OR ")}] if package["license"] else None,
            "hashes": [{"alg": "SHA-256", "content": digest}] if digest else None,
        }
        return {key: value for key, value in found.items() if value}

    version = archive.manifest()["version"]
    itself = {"type": "application", "bom-ref": reference("proctor", version), "name": "proctor", "version": version, "purl": reference("proctor", version)}
    if program:
        itself["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()}]
    components = [component(package) for package in third_party_notices.linked_crates()]
    whole = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": itself},
        "components": components,
        "dependencies": [{"ref": itself["bom-ref"], "dependsOn": [one["bom-ref"] for one in components]}],
    }
    return json.dumps(whole, indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document(*sys.argv[1:2]))
