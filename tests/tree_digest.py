"""Recomputes a `proctor-tree-v1` digest, independently of proctor, for a tree without rules files: tree_digest.py DIRECTORY"""
import hashlib, os, stat, sys


def digest(directory):
    text = b"proctor-tree-v1\n"
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            letter, value = b"d", digest(path)
        elif stat.S_ISLNK(mode):
            letter, value = b"l", hashlib.sha256(os.readlink(path)).hexdigest()
        elif stat.S_ISREG(mode):
            with open(path, "rb") as file:
                letter, value = b"x" if mode & 0o100 else b"f", hashlib.sha256(file.read()).hexdigest()
        else:
            continue
        if value is not None:
            text += letter + b" " + value.encode() + b" " + name + b"\0"
    is_empty = text == b"proctor-tree-v1\n" and directory != root
    return None if is_empty else hashlib.sha256(text).hexdigest()


root = os.fsencode(sys.argv[1])
print(digest(root))
