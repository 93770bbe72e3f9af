"""Mutants of a C file: single changes at places that clang's syntax tree names.

Operators, inside functions only and never inside macros:

relational     ``<`` becomes ``<=`` or ``>``, and so on; ``==`` becomes ``!=``
arithmetic     ``+`` and ``-``, ``*`` and ``/`` for each other, ``%`` by ``*``; also ``+=``, ``++``
constant       a decimal integer n becomes n + 1, and 0 where n is larger
statement      an expression, a jump, or an ``if`` without ``else`` is removed; not the last
               ``return`` of a function, nor ``(void)x``
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RELATIONAL = {
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "==": ("!=",),
    "!=": ("==",),
}
ARITHMETIC = {
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "*",
    "+=": "-=",
    "-=": "+=",
    "*=": "/=",
    "/=": "*=",
    "++": "--",
    "--": "++",
}
JUMPS = ("BreakStmt", "ContinueStmt", "GotoStmt", "ReturnStmt")
EXPRESSIONS = ("CallExpr", "BinaryOperator", "CompoundAssignOperator", "UnaryOperator")


@dataclass(frozen=True, order=True)
class Mutant:
    """Bytes ``first`` to ``last`` of ``file`` replaced by ``new``."""

    file: str
    first: int
    last: int
    new: str
    line: int
    operator: str
    old: str

    @property
    def key(self) -> str:
        return f"{self.file}:{self.line}:{self.first}:{self.operator}:{self.new}"

    def apply(self, source: bytes) -> bytes:
        """The text of the file with the change.

        Examples
        --------
        >>> Mutant("a.c", 2, 3, "<=", 1, "relational", "<").apply(b"a < b")
        b'a <= b'
        """
        return source[: self.first] + self.new.encode() + source[self.last :]


def _span(node: dict[str, Any]) -> tuple[int, int] | None:
    """First byte of a node and the one behind its last, or None where a macro is involved."""
    begin, end = node["range"]["begin"], node["range"]["end"]
    if "offset" not in begin or "offset" not in end:
        return None
    return begin["offset"], end["offset"] + end["tokLen"]


def _inner(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in node.get("inner", ()) if "kind" in one and "range" in one]


def _operators(node: dict[str, Any], source: bytes) -> Iterator[tuple[int, int, str, str]]:
    """Replaced operators and constants of one node: first and last byte, text, operator."""
    kind, inner, span = node["kind"], _inner(node), _span(node)
    if span is None:
        return
    if kind in ("BinaryOperator", "CompoundAssignOperator") and len(inner) == 2:
        left, right, old = _span(inner[0]), _span(inner[1]), node["opcode"]
        if left is None or right is None:
            return
        between = source[left[1] : right[0]]
        if between.strip() != old.encode():  # a comment, or a part of a macro
            return
        first = left[1] + between.index(old.encode())
        for new in RELATIONAL.get(old, ()):
            yield first, first + len(old), new, "relational"
        if old in ARITHMETIC:
            yield first, first + len(old), ARITHMETIC[old], "arithmetic"
    elif kind == "UnaryOperator" and node["opcode"] in ("++", "--"):
        old = node["opcode"]
        first = span[1] - 2 if node["isPostfix"] else span[0]
        if source[first : first + 2] == old.encode():
            yield first, first + 2, ARITHMETIC[old], "arithmetic"
    elif kind == "IntegerLiteral" and source[span[0] : span[1]].isdigit():
        value = int(source[span[0] : span[1]])
        yield *span, str(value + 1), "constant"
        if value > 0:
            yield *span, "0", "constant"


def _statements(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The statements directly in a block, a label, a branch or a loop."""
    kind, inner = node["kind"], _inner(node)
    if kind == "CompoundStmt":
        yield from inner
    elif kind in ("CaseStmt", "DefaultStmt", "LabelStmt", "ForStmt", "WhileStmt"):
        yield from inner[-1:]
    elif kind == "IfStmt":
        yield from inner[1:]
    elif kind == "DoStmt":
        yield from inner[:1]


def _removable(node: dict[str, Any]) -> bool:
    if node["kind"] == "IfStmt":
        return not node.get("hasElse", False)
    return node["kind"] in (*JUMPS, *EXPRESSIONS)


def _walk(node: dict[str, Any], source: bytes, last: int) -> Iterator[tuple[int, int, str, str]]:
    yield from _operators(node, source)
    for statement in _statements(node):
        span = _span(statement)
        if span is not None and _removable(statement) and span[0] != last:
            yield *span, ";", "statement"
    for one in _inner(node):
        yield from _walk(one, source, last)


def mutants_of(root: Path, file: str, flags: list[str]) -> list[Mutant]:
    """All mutants of one C file, by place.

    Parameters
    ----------
    root
        The checkout.
    file
        The file in it.
    flags
        Options that clang needs to read the file.
    """
    command = ["clang", "-std=c11", *flags, "-fsyntax-only", "-Xclang", "-ast-dump=json", file]
    done = subprocess.run(command, cwd=root, capture_output=True, check=True)
    source = (root / file).read_bytes()
    found = set()
    for node in json.loads(done.stdout)["inner"]:
        place = node.get("loc", {})
        name = node.get("name", "").encode()
        if node["kind"] != "FunctionDecl" or "offset" not in place:
            continue
        # Functions of headers have their names elsewhere.
        if source[place["offset"] : place["offset"] + place["tokLen"]] != name:
            continue
        for body in _inner(node):
            if body["kind"] != "CompoundStmt":
                continue
            ends = [one for one in _inner(body) if one["kind"] == "ReturnStmt"]
            span = _span(ends[-1]) if ends else None
            for first, last, new, operator in _walk(body, source, span[0] if span else -1):
                line = source.count(b"\n", 0, first) + 1
                old = source[first:last].decode()
                found.add(Mutant(file, first, last, new, line, operator, old))
    return sorted(found)
