"""Parts of a study that its function does not show: declared files, modules, environment variables.

They are named as the caller names them: a path, a module, or "$NAME" for a variable.
"""

from __future__ import annotations

import hashlib
import os
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from gpusched._support.text import shown
from gpusched.study.identity.function_identity import value_digest

__all__ = ["Declared", "declared", "declared_parts"]

_PIECE = 1 << 20


class Declared(NamedTuple):
    """A declared part: its kind ("file", "module", "environment"), name, and where it is."""

    kind: str
    name: str
    place: str


def declared(depends: Any) -> tuple[Declared, ...]:
    """The argument ``depends``; TypeError for what is no path, module or name of a variable."""
    if isinstance(depends, (str, os.PathLike, types.ModuleType)) or not isinstance(
        depends, Iterable
    ):
        raise TypeError(f"depends: got {shown(depends)}, expected a list")
    found = []
    for i, one in enumerate(depends):
        if isinstance(one, types.ModuleType):
            found.append(Declared("module", one.__name__, one.__name__))
        elif isinstance(one, str) and one.startswith("$") and len(one) > 1:
            found.append(Declared("environment", one, one[1:]))
        elif isinstance(one, (str, os.PathLike)) and os.fspath(one) not in ("", "$"):
            name = os.fsdecode(one)
            found.append(Declared("file", name, os.path.abspath(name)))
        else:
            raise TypeError(
                f"depends[{i}]: got {shown(one)}, expected a path, a module, or '$NAME' for a "
                "variable of the environment"
            )
    return tuple(found)


def declared_parts(parts: Iterable[Declared]) -> dict[str, str]:
    """Digests of the declared parts by kind and name, as `function_parts` has them.

    Raises
    ------
    OSError
        A file is not there, or cannot be read.
    ImportError
        A module is not there.
    IdentityError
        A module has a variable without an identity.
    """
    return {f"{part.kind} {part.name}": _digest(part) for part in parts}


def _digest(part: Declared) -> str:
    if part.kind == "environment":
        value = os.environ.get(part.place)
        return _hash(b"unset" if value is None else b"set " + os.fsencode(value))
    if part.kind == "module":
        import importlib

        module = sys.modules.get(part.place) or importlib.import_module(part.place)
        return value_digest(module, f"module {part.name}")
    path = Path(part.place)
    if not path.is_dir():
        return _file(path)
    files = sorted(inner for inner in path.rglob("*") if inner.is_file())
    return _hash("".join(f"{f.relative_to(path).as_posix()}\0{_file(f)}\0" for f in files).encode())


def _file(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
