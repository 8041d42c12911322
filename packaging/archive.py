"""Writes archives and reads versions for the scripts of this directory."""

import gzip
import io
import pathlib
import re
import struct
import tarfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def manifest():
    """Returns the `[package]` of the program's manifest, with what it inherits from the workspace."""
    read = tomllib.loads((ROOT / "Cargo.toml").read_text())
    inherited = read["workspace"]["package"]
    return {name: inherited[name] if value == {"workspace": True} else value for name, value in read["package"].items()}


def document(name):
    """Returns a file of the source for a package without the other pages, as bytes. A link of a page to another one leads to the repository,
    or becomes plain words where none is named."""
    package, text = manifest(), (ROOT / name).read_text(encoding="utf-8")
    source = f"{package['repository']}/blob/v{package['version']}/" if package["repository"] else None
    if name.endswith(".md"):
        led = lambda link: f"[{link[1]}]({source}{link[2]})" if source else link[1]
        text = re.sub(r"\[([^\]]+)\]\((?![a-z]+:|#)([^)\s]+)\)", led, text)
    return text.encode()


def machine(program):
    """Returns what the kernel calls the machine that an ELF file, given as bytes, is for."""
    return {62: "x86_64", 183: "aarch64"}[struct.unpack_from("<H", program, 18)[0]]


def needs_interpreter(program):
    """Returns whether an ELF file of 64 bits, given as bytes, names a dynamic linker (a program header of type 3, PT_INTERP)."""
    (at,), (size, count) = struct.unpack_from("<Q", program, 32), struct.unpack_from("<HH", program, 54)
    return any(struct.unpack_from("<I", program, at + number * size)[0] == 3 for number in range(count))


def write_archive(path, files):
    """Writes a `.tar.gz` of files, given as `{name: (bytes, mode)}`, and of links: `{name: (target, None)}`. The same give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (data, mode) in files.items():
            entry = tarfile.TarInfo(name)
            if mode is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, data
                archive.addfile(entry)
                continue
            entry.size, entry.mode = len(data), mode
            archive.addfile(entry, io.BytesIO(data))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
