"""Examples of docstrings as calls that can be made again, in any thread, on the same objects.

An example keeps the names that the examples before it in its docstring have defined: the task
sets, tables and results of the documentation. Running it again works on these very objects.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

import numpy as np

import gpusched as gs

HAS_XARRAY = importlib.util.find_spec("xarray") is not None


@dataclass(frozen=True)
class Example:
    """One example: where it stands, its code, and the objects that it works on."""

    place: str
    code: CodeType
    names: dict[str, Any]

    def run(self) -> str:
        """Run it with names of its own: what it shows, prints and defines, or its error."""
        shown: list[str] = []
        names = dict(self.names)
        names["print"] = lambda *values, **_: shown.append(" ".join(map(str, values)))
        try:
            result = eval(self.code, names)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        defined = [
            repr(value)
            for key, value in names.items()
            if key not in ("print", "__builtins__") and value is not self.names.get(key)
        ]
        return re.sub(r" at 0x[0-9a-f]+", "", "\n".join([*shown, repr(result), *defined]))


def modules_of(package: ModuleType) -> Iterator[str]:
    """Names of a package's modules, in order."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not info.ispkg:
            yield info.name


def examples_of(name: str) -> Iterator[Example]:
    """The examples of a module, each of them run once in the order of its docstring.

    Docstrings with files of their own are left out: each call would write the files anew.
    """
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder().find(module, extraglobs={"gs": gs, "np": np}):
        text = test.docstring or ""
        if "tempfile" in text or (".to_xarray(" in text and not HAS_XARRAY):
            continue
        names = dict(test.globs)
        for number, example in enumerate(test.examples):
            source = example.source.strip()
            try:
                ast.parse(source, mode="eval")
                mode = "eval"
            except SyntaxError:
                mode = "exec"
            code = compile(source, f"<{test.name}[{number}]>", mode)
            yield Example(f"{test.name}[{number}]", code, dict(names))
            if mode == "exec":
                exec(code, names)
