"""Recomputes a proctor-tree-v2 or -v3 digest without proctor: tree_digest.py DIRECTORY [PATTERN OF watch.ignore]..."""
import hashlib, os, re, stat, subprocess, sys

ALWAYS_OUT = re.compile(
    rb"\.(git|hg|jj|svn|pytest_cache|mypy_cache|dmypy\.json|ruff_cache|pytype|pyre|hypothesis|tox|nox|venv|coverage|coverage\..*"
    rb"|ipynb_checkpoints|eslintcache|stylelintcache|parcel-cache|turbo|nyc_output|#.*|goutputstream-.*|DS_Store|fuse_hidden.*"
    rb"|nfs0.*)|__pycache__|pytest-cache-files-.*|node_modules|4913|#.+#"
    rb"|.+(\.pyc|\.pyo|\.before-proctor|\.tsbuildinfo|\.sw[opx]|~|___jb_(tmp|old|bak)___|\.kate-swp)", re.S)
TOKEN = re.compile(rb"^\*\*/|/\*\*/|/\*\*$|\*+|\?|\[[!^]?\]?[^\]]*\]|\\.|.", re.S)
OWN_TARGET = re.compile(rb"(/.*)?/proctor/evidence/[^/]+\Z", re.S)
WILD = {b"**/": b"(?:.*/)?", b"/**/": b"/(?:.*/)?", b"/**": b"/.+", b"?": b"[^/]"}


def translate(match):
    token = match[0]
    if token[:1] == b"[" and token[1:]:
        inside = token[1:-1].replace(b"[", b"\\[").replace(b"!", b"^", 1 if token[1:2] == b"!" else 0)
        return b"(?!/)[" + inside + b"]"
    return WILD.get(token) or (b"[^/]*" if token[:1] == b"*" else re.escape(token[-1:]))


def patterns(lines):
    for line in lines:
        line = re.sub(rb"(?<!\\)[ \t]+$", b"", line.rstrip(b"\r"))
        if line and not line.startswith(b"#"):
            is_kept, line = line.startswith(b"!"), line[line.startswith(b"!"):]
            needs_directory, line = line.endswith(b"/"), line.rstrip(b"/")
            way = b"" if b"/" in line else b"(?:.*/)?"
            yield is_kept, needs_directory, re.compile(way + TOKEN.sub(translate, line.lstrip(b"/")), re.S)


def read_rules(directory):
    paths = [directory + b"/.gitignore", directory + b"/.ignore"]
    return list(patterns(line for path in paths if os.path.isfile(path) and not os.path.islink(path)
                         for line in open(path, "rb").read().split(b"\n")))


def is_own_link(path):
    found = os.path.join(root, path)
    return os.path.islink(found) and OWN_TARGET.match(os.readlink(found))


def read_tracked():
    listed = subprocess.run(["git", "-C", root, "ls-files", "-c", "-z"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    files = set(listed.stdout.split(b"\0")) if listed.returncode == 0 else set()
    return files, {path[:slash.start()] for path in files for slash in re.finditer(b"/", path)}


def is_out(path, is_directory, rules):
    for prefix, lines in [settings] + rules[::-1]:
        for is_kept, needs_directory, pattern in reversed(lines):
            if is_directory >= needs_directory and pattern.fullmatch(path[len(prefix):]):
                return not is_kept
    return False


def digest_file(path):
    hasher = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            hasher.update(block)
    return hasher.hexdigest()


def digest(prefix, rules, is_around_excluded=False):
    rules = rules + ([] if is_around_excluded else [(prefix, read_rules(os.path.join(root, prefix)))])
    text = b""
    for name in sorted(os.listdir(os.path.join(root, prefix))):
        path = prefix + name
        mode = os.lstat(os.path.join(root, path)).st_mode
        is_directory = stat.S_ISDIR(mode)
        if ALWAYS_OUT.fullmatch(name) or is_own_link(path) or path == task_list:
            continue
        is_excluded = is_around_excluded or is_out(path, is_directory, rules)
        if is_excluded and path not in tracked[is_directory]:
            continue
        if is_directory:
            letter, value = b"d", digest(path + b"/", rules, is_excluded)
        elif stat.S_ISLNK(mode):
            letter, value = b"l", hashlib.sha256(os.readlink(os.path.join(root, path))).hexdigest()
        elif stat.S_ISREG(mode):
            letter, value = b"x" if mode & 0o100 else b"f", digest_file(os.path.join(root, path))
        else:
            continue
        text += b"%s %s %s\0" % (letter, value.encode(), name) if value else b""
    return hashlib.sha256(b"proctor-tree-v2\n" + text).hexdigest() if text or not prefix else None


def digest_tree(directory, ignored, tasks):
    global root, settings, task_list, tracked
    root, settings, task_list = directory, (b"", list(patterns(ignored))), tasks
    tracked = read_tracked()
    return digest(b"", [])


def digest_input(path):
    global root, settings, task_list, tracked
    above = path
    while above != b"/" and not os.path.exists(above + b"/.git"):
        above = os.path.dirname(above)
    root, settings, task_list = above if os.path.exists(above + b"/.git") else path, (b"", []), b""
    tracked, prefix, rules, is_excluded = read_tracked(), b"", [], False
    for name in filter(None, path[len(root):].split(b"/")):
        rules = rules + ([] if is_excluded else [(prefix, read_rules(os.path.join(root, prefix)))])
        is_excluded = is_excluded or is_out(prefix + name, True, rules)
        prefix += name + b"/"
    if is_excluded and prefix[:-1] not in tracked[True]:
        rules, is_excluded = [], False
    return digest(prefix, rules, is_excluded) or hashlib.sha256(b"proctor-tree-v2\n").hexdigest()


def input_record(name):
    path = os.path.realpath(os.path.join(project, os.path.expanduser(name)))
    mode = os.stat(path).st_mode if os.path.exists(path) else 0
    if stat.S_ISDIR(mode):
        letter, value = b"d", digest_input(path)
    elif stat.S_ISREG(mode):
        letter, value = b"x" if mode & 0o100 else b"f", digest_file(path)
    else:
        letter, value = b"u", "0" * 64
    return b"%s %s %s\0" % (letter, value.encode(), name)


project = os.fsencode(sys.argv[1])
own = digest_tree(project, map(os.fsencode, sys.argv[2:]), os.fsencode(os.environ.get("TASK_LIST", "")))
inputs = sorted(filter(None, os.fsencode(os.environ.get("INPUTS", "")).split(b":")))
text = b"proctor-tree-v3\nd %s .\0" % own.encode() + b"".join(map(input_record, inputs))
print(hashlib.sha256(text).hexdigest() if inputs else own)
