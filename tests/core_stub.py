"""The functions of gpusched/_core.pyi, written from the signatures in csrc/python.

    python tests/core_stub.py

replaces all that follows the mention of this file in the stub.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parent.parent
STUB = ROOT / "gpusched" / "_core.pyi"
TYPES = {
    **{"L": "int", "i": "int", "p": "bool", "d": "float", "s": "str"},
    **{"A": "_In", "N": "_In | None", "S": "_Stop"},
}
STRINGS = r'((?:"(?:\\.|[^"\\])*"\s*)+)'
DOC = rf"GS_PYTHON_DOC\(\s*(\w+),\s*{STRINGS},\s*{STRINGS}"
SIGNATURE = rf"GS_PYTHON_SIGNATURE\(\s*(\w+),\s*{STRINGS},\s*{STRINGS},\s*{STRINGS}"

OWNER = r'gs_python_type_t \w+ = \{\s*"gpusched\._core\.(\w+)"[^}]*?(\w+),?\s*\};'


def text_of(literals: str) -> str:
    text: str = ast.literal_eval(f"({literals})")
    return text


def parameters_of(declared: str, types: str) -> list[str]:
    """The parameters of a stub, from "name(a, *, b=None)" and one letter for each."""
    found = []
    letters = re.findall(r"O<([^>]*)>|(\w)", types)
    for word in declared[declared.index("(") + 1 : -1].split(", "):
        if word in ("*", "$self"):
            found.append(word.lstrip("$"))
        elif word:
            name, _, default = word.partition("=")
            given, letter = letters.pop(0)
            kind = given or TYPES[letter]
            found.append(f"{name}: {kind}" + (f" = {default}" if default else ""))
    assert letters == [], declared
    return found


def definition(declared: str, types: str, result: str, indent: str) -> str:
    name = declared.partition("(")[0]
    parameters = parameters_of(declared, types)
    text = f"{indent}def {name}({', '.join(parameters)}) -> {result}: ..."
    if len(text) <= 100:
        return text
    wrapper = textwrap.TextWrapper(100, indent + "    ", indent + "    ", break_on_hyphens=False)
    whole = ", ".join(parameter.replace(" ", "\0") for parameter in parameters)
    lines = [line.replace("\0", " ") for line in wrapper.wrap(whole)]
    wrapper.initial_indent = indent
    return "\n".join([f"{indent}def {name}(", *lines, *wrapper.wrap(f") -> {result}: ...")])


def signatures() -> dict[str, tuple[str, str, str]]:
    """The declared parameters, types and result of every function in C."""
    found = {}
    for path in sorted((ROOT / "csrc/python").rglob("*.c")):
        text = path.read_text(encoding="utf-8")
        for function, declared, types, result in re.findall(SIGNATURE, text):
            found[function] = (text_of(declared), text_of(types), text_of(result))
        for function, declared, result in re.findall(DOC, text):
            letters = re.search(rf"\{{\s*{function}_doc,\s*{STRINGS}\}}", text)
            types = text_of(letters[1]) if letters else ""
            found[function] = (text_of(declared), types, text_of(result))
    return found


def generated() -> str:
    """Classes, then functions, by file."""
    known, classes, functions = signatures(), [], []
    for path in sorted((ROOT / "csrc/python").rglob("*.c")):
        text = path.read_text(encoding="utf-8")
        owners = dict(re.findall(OWNER, text))
        tables = {
            table: re.findall(r'"\w+", (\w+)', body)
            for table, body in re.findall(r"PyMethodDef (\w+)\[\] = \{(.*?)\n\};", text, re.S)
        }
        for name, table in owners.items():
            methods = [definition(*known[function], "    ") for function in tables.pop(table)]
            classes.append("\n".join(["", "@final", f"class {name}:", *methods]))
        lines = [definition(*known[name], "") for table in tables.values() for name in table]
        if lines:
            functions.append("\n".join(["", f"# {path.name}", "", *lines]))
    return "\n".join([*classes, *functions, ""])


def stub() -> str:
    """The text that the stub should have."""
    kept, mark, _ = STUB.read_text(encoding="utf-8").partition("by tests/core_stub.py.\n")
    return kept + mark + generated()


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
