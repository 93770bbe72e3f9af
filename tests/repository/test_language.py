"""Language of docstrings, comments and messages: openings and phrases that must not return."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.source

ROOT = Path(__file__).parents[2]

# A docstring, or the first comment of a C file, opens with a noun phrase or an imperative.
OPENING = re.compile(
    r"(What|Which|Who|Whose|How|Where|When|Why|Is|Are|Does|Do|In which)\b(?!-)", re.ASCII
)

PHRASES = re.compile(
    r"beyond the clock|\bfor ever\b|is no preset|\bpaper 00[0-4]\b|\bcomes of\b"
    r"|the others are out to|room for a number of",
    re.IGNORECASE,
)

SUFFIXES = (".py", ".pyi", ".c", ".h", ".cu", ".toml", ".ipynb", ".md")
COMMENT = re.compile(r"/\*+\s*(.*?)\*/|//\s*([^\n]*)", re.DOTALL)


def _files() -> Iterator[str]:
    """Paths of all checked files, relative to the root."""
    for folder in ("csrc", "gpusched", "tests", "benchmarks", "notebooks"):
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            hidden = any(part.startswith((".", "_build")) for part in path.parts[len(ROOT.parts) :])
            if path.suffix in SUFFIXES and not hidden and "/results/" not in name:
                yield name
    yield from ("README.md", "CONTRIBUTING.md")


FILES = [name for name in _files() if name != Path(__file__).relative_to(ROOT).as_posix()]


def _openings(name: str, text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each docstring, also of constants, or of the C comments outside of code."""
    if name.endswith((".py", ".pyi")):
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield node.lineno, node.value.value.strip()
    elif name.endswith((".c", ".h", ".cu")):
        for comment in COMMENT.finditer(text):
            if comment.start() == 0 or text[comment.start() - 1] == "\n":
                words = (comment[1] or comment[2] or "").lstrip("* \n")
                yield text.count("\n", 0, comment.start()) + 1, words


def _text(name: str) -> str:
    """The text of a file; of a notebook, that of its cells without their output."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if name.endswith(".ipynb"):
        return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text


@pytest.mark.parametrize("name", FILES)
def test_plain_language(name: str) -> None:
    text = _text(name)
    wrong = [
        f"{name}:{line}: opens with {match[0]!r}"
        for line, words in _openings(name, text)
        if (match := OPENING.match(words))
    ]
    joined = re.sub(r"\s+(?:#|\*|//)?\s*", " ", text)  # a phrase may go over the end of a line
    wrong += [f"{name}: contains {match[0]!r}" for match in PHRASES.finditer(joined)]
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", '"""Which rules does it break?"""'),
        ("a.py", 'class A:\n    def f(self):\n        """How late it is."""'),
        ("a.py", 'ENDS = ("done",)\n"""How it ends."""'),
        ("a.c", "/* Where a block goes. */\nint x;"),
        ("a.h", "/* Blocks. */\nint x;\n\n/* How many fit. */\nint y;"),
        ("a.h", "#include <x.h>\n/*\n * Does it fit?\n */"),
    ],
)
def test_questions_are_found(name: str, text: str) -> None:
    assert any(OPENING.match(words) for _, words in _openings(name, text))
