#!/usr/bin/env python3
"""Writes the licences and notices of what the program has of others: the Rust crates it is built from, and the page's programs.

    packaging/third_party_notices.py [FILE]

Writes to standard output without FILE. The crates are those of Cargo.lock on Linux, with the sources that cargo has of them; cargo
fetches what is missing. The same lock file gives the same bytes. Fails for a crate of which no licence text is known. The standard
library is enough.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PLATFORM = "x86_64-unknown-linux-gnu"
LICENCE_FILE = re.compile(r"(un)?licen[cs]e|copying|copyright|notice|authors|patents", re.I)
# Texts in these directories are of what is not linked in.
NOT_LINKED = {"tests", "test", "benches", "benchmarks", "examples", "fuzz", "target", "docs", "doc", ".github"}
# Debian's notices of musl, the C library that a static program has in it.
LIBRARY_NOTICES = pathlib.Path("/usr/share/doc/musl/copyright")
# How deep below a crate's directory the sources of others lie, such as `ring/third_party/fiat`.
DEEPEST = 3
LONGEST = 1 << 20


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def linked_crates():
    """Returns the packages that the program is built from, itself left out, sorted by name and version."""
    tree = cargo("tree", "--package", "proctor", "--locked", "--target", PLATFORM, "--edges", "normal", "--prefix", "none", "--format", "{p}")
    wanted = {tuple(line.split(" ")[:2]) for line in tree.splitlines() if line}
    metadata = json.loads(cargo("metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM))
    found = [package for package in metadata["packages"] if (package["name"], "v" + package["version"]) in wanted and package["source"]]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def required_licences():
    """Returns the licences that hold for a part of the program, without those of crates that may be had under MIT or Apache-2.0."""
    required = set()
    for package in linked_crates():
        expression = (package["license"] or "").replace("/", " OR ")
        for part in re.split(r"\bAND\b", expression):
            choices = re.findall(r"[A-Za-z0-9.-]+", part.replace(" OR ", " "))
            if choices and not {"MIT", "Apache-2.0"}.intersection(choices):
                required.add(choices[0])
    return sorted(required)


def texts_of(package):
    """Returns the texts of a package's licence files and notices by their paths in it."""
    directory = pathlib.Path(package["manifest_path"]).parent
    named = {directory / package["license_file"]} if package["license_file"] else set()
    for path in directory.rglob("*"):
        place = path.relative_to(directory)
        is_near = len(place.parts) <= DEEPEST and not NOT_LINKED.intersection(place.parts[:-1])
        is_text = path.suffix.lower() in {"", ".md", ".txt", ".html"} or LICENCE_FILE.match(path.suffix[1:])
        if is_near and is_text and LICENCE_FILE.match(path.name) and path.is_file():
            named.add(path)
    read = {path.relative_to(directory).as_posix(): path.read_bytes()[:LONGEST] for path in sorted(named)}
    texts = {name: text.decode(errors="replace").replace("\r\n", "\n").strip("\n") for name, text in read.items()}
    # Where a licence may be chosen, it is another one than this.
    return {name: text for name, text in texts.items() if not text.lstrip().startswith("GNU GENERAL PUBLIC LICENSE")}


def plain(text):
    """Returns a text without what a terminal would take for a command."""
    return "".join(character for character in text if character in "\n\t" or character.isprintable())


def standard_texts(package):
    """Returns the text of a licence that a package names without having a file of it."""
    expression = package["license"] or ""
    if "Apache-2.0" in expression:
        return {"Apache-2.0": (ROOT / "LICENSE-APACHE").read_text().strip("\n")}
    if "MIT" in expression:
        holder = ", ".join(package["authors"]) or f"the developers of {package['name']}"
        text = (ROOT / "LICENSE-MIT").read_text()
        return {"MIT": re.sub(r"(?im)^copyright .*$", f"Copyright (c) {holder}", text, count=1).strip("\n")}
    sys.exit(f"packaging/third_party_notices.py: {package['name']} {package['version']} (`{expression}`) has no licence text")


def notices(is_static=False):
    """Returns the text. A static program has the C library in it too."""
    heads, texts = [], {}

    def add(who, found):
        for name, text in found.items():
            texts.setdefault(text, []).append(f"{who}: {name}")

    for package in linked_crates():
        who = f"{package['name']} {package['version']}"
        heads.append(f"{who} · {package['license'] or 'see the text'} · {package['repository'] or 'https://crates.io/crates/' + package['name']}")
        add(who, texts_of(package) or standard_texts(package))
    if is_static:
        heads.append("musl, the C library · MIT · https://musl.libc.org")
        add("musl", {LIBRARY_NOTICES.name: LIBRARY_NOTICES.read_text().strip("\n")})
    for path in sorted((ROOT / "crates/api/src/page/assets/vendor").glob("LICENSE-*")):
        add(f"{path.name.removeprefix('LICENSE-')}, in the page", {path.name: path.read_text().strip("\n")})
    line = "=" * 100
    written = [
        "What proctor has of others",
        "\nRust crates that the program is built from, some of them only to build it:\n",
        *heads,
        "\nThe texts of their licences and notices follow, each once, after the names of those that have it.",
    ]
    for text, names in texts.items():
        written += [line, *names, line, text]
    return plain("\n".join(written) + "\n")


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] == ["--help"]:
        sys.exit("usage: packaging/third_party_notices.py [FILE]")
    text = notices()
    if sys.argv[1:]:
        pathlib.Path(sys.argv[1]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.reconfigure(encoding="utf-8")
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
