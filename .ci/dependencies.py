"""Holds the dependencies to their limits: how many, no name twice, licences that suit ours, a lock file that is up to date."""

import re
import subprocess
import sys

# Crates that the program is built from on Linux, with what their macros need. The crates of this repository count as one: they are
# proctor, in however many parts. A new crate is a decision: raise this in the commit that adds it, and say there what it replaces.
#
# 55 of them came with ureq (HTTP and, with the feature `tls`, rustls and ring) and jsonschema (no default features, nothing is
# fetched): what they replace is an HTTP and TLS client and a validator of JSON Schemas of our own. Five came with ed25519-dalek, which
# signs evidence; the formats of keys and signatures are our own, which saves as many again. Three are for reading and writing git's
# objects without running git: sha1, and miniz_oxide with adler2. Five are for runs in one file: zstd with zstd-safe and zstd-sys (its own C
# code, nothing of the system), and tar with filetime; they replace a compressor and a reader and writer of a format that every machine has.
# 19 came with rmcp, the official SDK of the Model Context Protocol (no HTTP, no macros of its own): schemars and chrono are the larger ones.
# They replace the protocol's revisions, negotiation, progress and cancellation. clap_complete writes the completions of three shells from the
# table of arguments, and clap_mangen with roff a manual page for every command: they replace three scripts and some eighty pages of our own that
# nothing would keep true. They bring nothing else, for they are clap's own and use what is there. jsonc-parser says where each part of a JSON text
# with comments stands, so that hooks go into the settings of agents: it replaces a reader of our own that knew no comments.
MOST_CRATES = 203
# Names that may be there in several versions, and why.
TWICE = {
    "base64": "tonic, which only the feature `remote` brings in, has the generation before ours",
    "syn": "macros only: two generations of derive crates, nothing of it is in the program",
    "getrandom": "ring, the hash tables of jsonschema and tempfile each have their generation of it",
}
LICENCES = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
    "CDLA-Permissive-2.0", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Unlicense", "Zlib",
}
# What a verifier of evidence must be able to do without: a runtime, a database, and our own crates that start or judge anything.
VERIFIER_LACKS = re.compile(r"tokio|rusqlite|libsqlite3-sys|proctor-(?!evidence$|git$|model$|wire$).*")
PLATFORM = "x86_64-unknown-linux-gnu"


def crates(kinds, *of):
    """Returns `(name, version, licence)` of the crates that packages reach over dependencies of `kinds`, themselves included."""
    command = ["cargo", "tree", *of, "--locked", "--target", PLATFORM, "--edges", kinds, "--prefix", "none", "--format", "{p}|{l}"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode != 0:
        sys.exit("dependencies: `cargo tree --locked` failed; is Cargo.lock up to date?")
    rows = (re.fullmatch(r"(\S+) v(\S+).*?\|(.*?)(?: \(\*\))?", line) for line in ran.stdout.splitlines() if line)
    return {row.groups() for row in rows}


def is_allowed(expression):
    """Evaluates an SPDX expression: `OR` needs one side, `AND` both."""
    text = expression.replace("/", " OR ")
    tokens = re.findall(r"\(|\)|\bOR\b|\bAND\b|[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.-]+)?", text)

    def alternatives(position):
        value, position = conjunction(position)
        while position < len(tokens) and tokens[position] == "OR":
            right, position = conjunction(position + 1)
            value = value or right
        return value, position

    def conjunction(position):
        value, position = term(position)
        while position < len(tokens) and tokens[position] == "AND":
            right, position = term(position + 1)
            value = value and right
        return value, position

    def term(position):
        if tokens[position] == "(":
            value, position = alternatives(position + 1)
            return value, position + 1
        return tokens[position] in LICENCES, position + 1

    return bool(tokens) and alternatives(0)[0]


def main():
    assert is_allowed("MIT/Apache-2.0") and is_allowed("(MIT OR GPL-3.0-only) AND Unicode-3.0")
    assert not is_allowed("GPL-3.0-only") and not is_allowed("MIT AND GPL-3.0-only") and not is_allowed("")
    faults = []

    all_crates = crates("normal", "--package", "proctor")
    own = {row for row in all_crates if row[0].startswith("proctor-")}
    built_from = all_crates - own
    if len(built_from) > MOST_CRATES:
        faults.append(f"{len(built_from)} crates, {MOST_CRATES} are the limit of .ci/dependencies.py")

    verifier = {name for name, _, _ in crates("normal,build", "--package", "proctor-evidence")}
    faults += [f"proctor-evidence depends on {name}: a verifier does without it" for name in sorted(verifier) if VERIFIER_LACKS.fullmatch(name)]

    versions = {}
    for name, version, licence in crates("normal,build,dev", "--workspace"):
        versions.setdefault(name, set()).add(version)
        if not is_allowed(licence):
            faults.append(f"{name} {version}: licence `{licence}` is not in the list")
    for name, found in sorted(versions.items()):
        if len(found) > 1 and name not in TWICE:
            faults.append(f"{name} is there in versions {', '.join(sorted(found))}")
    for name in TWICE:
        if len(versions.get(name, ())) < 2:
            faults.append(f"{name} is there once: take it out of the list of exceptions")

    if faults:
        sys.exit("dependencies:\n" + "\n".join(faults))
    print(f"    {len(built_from)} crates of at most {MOST_CRATES}; {len(versions)} with those of the tests, all of them of allowed licences")


main()
