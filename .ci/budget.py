"""Holds the production code to its limits: how many lines each crate has. Needs nothing but Python's standard library.

A line counts when a part of it is code: blank lines, comments and doc comments do not count. Tests are left out: every item under
`#[cfg(test)]`, `#[cfg(any(test, feature = "testing"))]` or `#[test]`, the files that such a `mod NAME;` declares, and the paths of
`NOT_PRODUCTION`. Below `src/` is the crate of the repository's root, below `crates/NAME/src/` the crate NAME.

`python3 .ci/budget.py --files` prints the lines of every file.
"""

import pathlib
import re
import sys

# The most lines of each crate. A number is raised only by a commit that says why the code is worth its lines; it is lowered by whoever
# takes code out. A crate that is missing here fails the check, and so does one that is here and no longer exists.
LIMITS = {
    "api": 1_880,
    "app": 10_940,
    "evidence": 16_610,
    "git": 1_970,
    "govern": 2_340,
    "index": 3_350,
    "lsp": 750,
    "model": 6_870,
    "plan": 15_660,
    "proctor": 10_120,
    "project": 13_320,
    "prove": 3_200,
    "remote": 1_460,
    "run": 11_510,
    "sandbox": 12_530,
    "service": 9_620,
    "tools": 17_950,
    "tree": 6_220,
    "wire": 170,
}

# Folders and files that belong to tests and measurements whatever they contain.
NOT_PRODUCTION = re.compile(r"(^|/)(tests|benches|examples|fuzz|fixtures)/|(^|/)tests\.rs$")

# The feature with which a crate hands its values for tests to the tests of other crates.
FOR_TESTS = '"testing"'

TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<line_comment>//[^\n]*)
      | (?P<block_comment>/\*)
      | (?P<raw_string>(?:br|cr|r)(?P<hashes>\#*)")
      | (?P<string>[bc]?"(?:[^"\\]|\\.)*")
      | (?P<character>b?'(?:[^'\\\n]|\\(?:u\{[0-9a-fA-F_]+\}|x[0-9a-fA-F]{2}|[^ux]))')
      | (?P<lifetime>'\w+)
      | (?P<word>(?:r\#)?\w+)
      | (?P<mark>[^\s\w"'])""",
    re.VERBOSE | re.DOTALL,
)
BLOCK_COMMENT_MARK = re.compile(r"/\*|\*/")
CLOSING = {"(": ")", "[": "]", "{": "}"}
# What these words begin ends at a semicolon, although braces may come before it.
ENDED_BY_SEMICOLON = {"const", "static", "use", "type", "let"}
# What these words begin ends at a semicolon or after its braces: a comma in its parameters does not end it.
ENDED_BY_BRACES = {"fn", "struct", "enum", "union", "trait", "impl", "mod", "extern", "macro_rules"}
# Words that may stand before the word that says what an item is.
QUALIFIERS = {"default", "unsafe", "async", "safe"}


class NotRust(Exception):
    """A text that cannot be divided into tokens. The check fails: it must not guess what it counts."""


class Token:
    """A part of the code with the lines on which it begins and ends. Lines are counted from 0."""

    __slots__ = ("kind", "text", "first", "last")

    def __init__(self, kind, text, first, last):
        self.kind, self.text, self.first, self.last = kind, text, first, last


def tokens_of(text):
    """Returns the tokens of a Rust file, without comments."""
    tokens, position, line = [], 0, 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise NotRust(f"line {line + 1}: `{text[position:position + 20]}` begins nothing that is known")
        kind, end = match.lastgroup, match.end()
        if kind == "block_comment":
            end = end_of_block_comment(text, end, line)
        elif kind == "raw_string":
            closing = text.find('"' + match["hashes"], end)
            if closing < 0:
                raise NotRust(f"line {line + 1}: a raw string does not end")
            end = closing + 1 + len(match["hashes"])
        token = text[position:end]
        last = line + token.count("\n")
        if kind not in ("space", "line_comment", "block_comment"):
            tokens.append(Token(kind, token, line, last))
        position, line = end, last
    return tokens


def end_of_block_comment(text, position, line):
    """Returns where the block comment ends whose first mark ends at `position`. Block comments contain others."""
    depth = 1
    while depth:
        match = BLOCK_COMMENT_MARK.search(text, position)
        if match is None:
            raise NotRust(f"line {line + 1}: a block comment does not end")
        depth += 1 if match[0] == "/*" else -1
        position = match.end()
    return position


def end_of_group(tokens, index):
    """Returns the index after the bracket that closes the one at `index`."""
    expected = []
    for position in range(index, len(tokens)):
        token = tokens[position]
        if token.kind != "mark":
            continue
        if token.text in CLOSING:
            expected.append(CLOSING[token.text])
        elif token.text in (")", "]", "}"):
            if token.text != expected.pop():
                raise NotRust(f"line {token.first + 1}: `{token.text}` closes another bracket")
            if not expected:
                return position + 1
    raise NotRust(f"line {tokens[index].first + 1}: `{tokens[index].text}` is never closed")


def end_of_item(tokens, index):
    """Returns the index after the item, field, variant, arm or statement that begins at `index`, where its attributes are over."""
    word = word_of_item(tokens, index)
    position = index
    while position < len(tokens):
        text = tokens[position].text if tokens[position].kind == "mark" else ""
        if text in CLOSING:
            position = end_of_group(tokens, position)
            if text == "{" and word not in ENDED_BY_SEMICOLON:
                return position
        elif text in CLOSING.values():
            return position
        elif text == ";" or (text == "," and word not in ENDED_BY_SEMICOLON | ENDED_BY_BRACES):
            return position + 1
        else:
            position += 1
    return position


def word_of_item(tokens, index):
    """Returns the word that says what the item at `index` is: `fn` for a `pub(super) const unsafe fn`."""
    if tokens[index].text == "pub":
        index += 1
        if tokens[index].text == "(":
            index = end_of_group(tokens, index)
    while tokens[index].text in QUALIFIERS or (tokens[index].text == "const" and tokens[index + 1].text in QUALIFIERS | {"fn", "extern"}):
        index += 1
    return tokens[index].text


def only_in_tests(attribute):
    """Returns whether what has this attribute exists in tests alone. `attribute` holds the tokens between the brackets."""
    words = [token.text for token in attribute if token.kind == "word"]
    if not words:
        return False
    if words[0] == "cfg":
        return condition(attribute, 2)[0]
    path = "".join(token.text for token in attribute).split("(")[0]
    return path == "test" or path.endswith("::test")


def condition(tokens, index):
    """Evaluates the condition of a `cfg` at `index`: is it false in every release? Returns the answer and the index after it."""
    name = tokens[index].text
    index += 1
    if index >= len(tokens) or tokens[index].text != "(":
        value = ""
        while index < len(tokens) and tokens[index].text not in (",", ")"):
            value = tokens[index].text
            index += 1
        return name == "test" or (name == "feature" and value == FOR_TESTS), index
    answers, index = [], index + 1
    while tokens[index].text != ")":
        answer, index = condition(tokens, index)
        answers.append(answer)
        if tokens[index].text == ",":
            index += 1
    if name == "all":
        return any(answers), index + 1
    if name == "any":
        return bool(answers) and all(answers), index + 1
    return False, index + 1


def count(text):
    """Returns how many lines of production code a Rust file has, and what it declares for tests: `(NAME, path or None)` of modules.

    None instead of a number: the whole file is for tests, by an inner attribute.
    """
    tokens = tokens_of(text)
    lines, modules, pending = set(), [], None
    all_lines = text.split("\n")
    index = 0
    while index < len(tokens):
        token = tokens[index]
        inner = token.text == "#" and index + 1 < len(tokens) and tokens[index + 1].text == "!"
        bracket = index + (2 if inner else 1)
        if token.kind == "mark" and token.text == "#" and bracket < len(tokens) and tokens[bracket].text == "[":
            end = end_of_group(tokens, bracket)
            attribute = tokens[bracket + 1:end - 1]
            if inner:
                if only_in_tests(attribute):
                    return None, []
                lines.update(range(token.first, tokens[end - 1].last + 1))
            else:
                pending = pending or []
                pending.append((index, end, attribute))
            index = end
            continue
        if pending and any(only_in_tests(attribute) for _, _, attribute in pending):
            end = end_of_item(tokens, index)
            modules += declared_module(tokens[index:end], [attribute for _, _, attribute in pending])
            pending, index = None, end
            continue
        if pending:
            lines.update(range(tokens[pending[0][0]].first, tokens[index - 1].last + 1))
            pending = None
        lines.update(range(token.first, token.last + 1))
        index += 1
    return sum(1 for line in lines if all_lines[line].strip()), modules


def declared_module(item, attributes):
    """Returns the module with a file of its own that an item declares, in a list, with the path of a `#[path = "…"]`."""
    if len(item) < 3 or item[-1].text != ";" or item[-3].text != "mod":
        return []
    paths = [a[2].text.strip('"') for a in attributes if len(a) == 3 and a[0].text == "path" and a[2].kind == "string"]
    return [(item[-2].text.removeprefix("r#"), paths[0] if paths else None)]


def files_of_module(declaring, name, path):
    """Returns the files and folders that a module may have which the file `declaring` declares."""
    if path:
        return [declaring.parent / path]
    parent = declaring.parent if declaring.name in ("mod.rs", "lib.rs", "main.rs") else declaring.with_suffix("")
    return [parent / f"{name}.rs", parent / name]


def crates(root):
    """Returns the folder of the sources of each crate, by its name."""
    found = {}
    if (root / "src").is_dir():
        found[package_name(root / "Cargo.toml")] = root / "src"
    for sources in sorted(root.glob("crates/*/src")):
        found[sources.parent.name] = sources
    return found


def package_name(manifest):
    match = re.search(r'^\[package\]\s*\nname = "([^"]+)"', manifest.read_text(), re.MULTILINE)
    if match is None:
        sys.exit(f"budget: {manifest} names no package in the first line of [package]")
    return match[1]


def measure(sources):
    """Returns the lines of production code of each file below the folder `sources`, by its path."""
    counted, test_only = {}, set()
    for path in sorted(sources.rglob("*.rs")):
        try:
            lines, modules = count(path.read_text())
        except NotRust as problem:
            sys.exit(f"budget: {path}: {problem}")
        for name, given in modules:
            test_only.update(files_of_module(path, name, given))
        if lines is not None and not NOT_PRODUCTION.search(path.relative_to(sources).as_posix()):
            counted[path] = lines
    return {path: lines for path, lines in counted.items() if path not in test_only and test_only.isdisjoint(path.parents)}


def faults_of(totals, limits):
    """Compares the lines of each crate with its limit and returns what is wrong, in sentences."""
    faults = []
    for name, lines in totals.items():
        if name not in limits:
            faults.append(f"the crate {name} has {lines:,} lines and no limit: give it one in .ci/budget.py")
        elif lines > limits[name]:
            faults.append(f"the crate {name} has {lines:,} lines, {limits[name]:,} are its limit in .ci/budget.py")
    return faults + [f"there is no crate {name}: take its limit out of .ci/budget.py" for name in limits if name not in totals]


def main():
    root = pathlib.Path.cwd()
    totals = {}
    for name, sources in crates(root).items():
        files = measure(sources)
        totals[name] = sum(files.values())
        if "--files" in sys.argv[1:]:
            for path, lines in files.items():
                print(f"{lines}\t{path.relative_to(root)}")
    for name, lines in sorted(totals.items()):
        print(f"    {lines:>9,} of at most {LIMITS.get(name, 0):>9,} lines  {name}")
    print(f"    {sum(totals.values()):>9,} lines of production code in {len(totals)} crates")
    faults = faults_of(totals, LIMITS)
    if faults:
        sys.exit("budget:\n" + "\n".join(faults))


if __name__ == "__main__":
    main()
