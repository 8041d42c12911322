"""Finds the places of a source file where one small change can be made, and chooses among them in a repeatable way.

Nothing here touches a disk. A place knows which bytes are replaced by which text, so everything else of the file stays as it is.
Python is read with `ast`. JavaScript and TypeScript are read with patterns, after strings and comments were blanked out; such a change
may break the syntax, which is a mutation too.
"""

import ast
import random
import re
from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Place:
    """A change of one file: the bytes from `start` to `end` become `text`."""

    kind: str
    path: str
    line: int
    start: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


COMPARISONS = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "*"}


def python_places(path: str, source: bytes) -> list[Place]:
    """Returns all places of a Python file, in the order of the file."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def span(node):
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def segment(node):
        start, end = span(node)
        return source[start:end].decode()

    places = []

    def add(kind, node, text):
        places.append(Place(kind, path, node.lineno, *span(node), text))

    # A documentation text changes nothing, and the parts of an f-string have no positions of their own before Python 3.12.
    untouched = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            untouched.update(id(below) for below in ast.walk(node))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            untouched.add(id(node))
            untouched.add(id(node.value))

    for node in ast.walk(tree):
        if id(node) in untouched:
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            flipped = COMPARISONS[type(node.ops[0])]
            add("comparison", node, f"({segment(node.left)} {flipped} {segment(node.comparators[0])})")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            add("constant", node, str(not node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            add("constant", node, str(node.value + 1))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            add("constant", node, repr(node.value + "x"))
        elif isinstance(node, ast.Return) and node.value is not None:
            add("return", node, "return None")
        elif isinstance(node, ast.If):
            add("branch", node.test, f"(not ({segment(node.test)}))")
        elif isinstance(node, ast.Raise):
            add("raise", node, "pass")
        elif isinstance(node, (ast.Assign, ast.AugAssign)) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            add("statement", node, "pass")
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            add("arithmetic", node, f"({segment(node.left)} {ARITHMETIC[type(node.op)]} {segment(node.right)})")
        elif isinstance(node, ast.BoolOp):
            word = " or " if isinstance(node.op, ast.And) else " and "
            add("junction", node, f"({word.join(f'({segment(value)})' for value in node.values)})")
        elif isinstance(node, ast.ExceptHandler) and isinstance(node.body[-1], ast.stmt):
            body = node.body[0]
            places.append(Place("handler", path, body.lineno, span(body)[0], span(node.body[-1])[1], "pass"))
    return sorted(places, key=lambda place: (place.start, place.end, place.kind))


def compiles(place: Place, source: bytes) -> bool:
    """Returns whether a Python file can be compiled after the change, and is another one then. Some statements cannot be left out."""
    changed = place.apply(source)
    try:
        compile(changed, place.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return changed != source


STRINGS_AND_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`", re.DOTALL)
JAVASCRIPT = [
    ("comparison", r"===", "!=="), ("comparison", r"!==", "==="), ("comparison", r"(?<=\s)<(?=\s)", ">="), ("comparison", r"(?<=\s)>(?=\s)", "<="),
    ("comparison", r"(?<=\s)>=(?=\s)", "<"), ("comparison", r"(?<=\s)<=(?=\s)", ">"),
    ("junction", r"&&", "||"), ("junction", r"\|\|", "&&"), ("constant", r"\btrue\b", "false"), ("constant", r"\bfalse\b", "true"),
    ("constant", r"(?<![\w.$])\d+(?![\w.])", None), ("branch", r"\bif \((?=[^\n]*\) ?[{\n])", "if (!"), ("return", r"\breturn (?=[^\n;{(\[]+;?\n)", "return void "),
    ("raise", r"\bthrow new ", "void new "), ("arithmetic", r"(?<=\s)\+(?=\s)", "-"), ("arithmetic", r"(?<=\s)\*(?=\s)", "/"),
]  # fmt: skip


def javascript_places(path: str, source: bytes) -> list[Place]:
    """Returns all places of a JavaScript or TypeScript file, in the order of the file."""
    text = source.decode()
    blank = STRINGS_AND_COMMENTS.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    places = []
    for kind, pattern, replacement in JAVASCRIPT:
        for found in re.finditer(pattern, blank):
            start, end = (len(text[:offset].encode()) for offset in found.span())
            put = replacement if replacement is not None else str(int(found.group()) + 1)
            places.append(Place(kind, path, text.count("\n", 0, found.start()) + 1, start, end, put))
    return sorted(places, key=lambda place: (place.start, place.end, place.kind))


def choose(places: list[Place], count: int, seed: str, is_fit: Callable[[Place], bool] = lambda place: True) -> list[Place]:
    """Chooses `count` places that are fit, of every kind in turn. The same places, count and seed give the same choice on every machine."""
    order = random.Random(seed)
    kinds = {}
    for place in places:
        kinds.setdefault(place.kind, []).append(place)
    heaps = [kinds[kind] for kind in sorted(kinds)]
    for heap in heaps:
        order.shuffle(heap)
    order.shuffle(heaps)
    chosen, taken = [], set()
    while len(chosen) < count and any(heaps):
        for heap in heaps:
            if heap and len(chosen) < count:
                place = heap.pop()
                if (place.path, place.line) not in taken and is_fit(place):
                    taken.add((place.path, place.line))
                    chosen.append(place)
    return chosen
