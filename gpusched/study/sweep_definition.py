"""Definition of a sweep, and the verification of it in stores and workers.

A definition has all that determines the results, with declared parts that the function does not
show: files, modules, environment variables, named as the caller names them (a path, a module, or
"$NAME" for a variable). A store is resumed only with the same definition.

A worker verifies every part. A process that was started before a global changed, imports a module
that was edited since, or runs on a machine with another version of a library would give the numbers
of another study.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gpusched._support.arguments import seed_key
from gpusched._support.text import shown
from gpusched.study import reductions
from gpusched.study.identity.function_identity import function_parts, value_digest
from gpusched.study.identity.module_origins import package_version, python_version
from gpusched.study.point_results import PerSet
from gpusched.study.points import identifies_itself

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


_CLOSE = 1e-9  # relative difference of floats, which other loops and libraries may round


class Identity(NamedTuple):
    """Parts of a study as the caller has them, and those that were declared.

    ``digest`` stands for all of them. ``follows``: the parts are those of the function, which a
    worker then finds by itself; otherwise the function was identified by a key.
    """

    digest: str
    follows: bool
    declared: tuple[Declared, ...]
    parts: Mapping[str, str]

    def found(self, function: Callable[..., Any]) -> dict[str, str]:
        """The parts as this process has them."""
        of_function = function_parts(function) if self.follows else {}
        package = package_version()
        return {**of_function, package.name: package.version, **declared_parts(self.declared)}


_equal: set[str] = set()  # identities that this process has


def foreign_parts(function: Callable[..., Any], identity: Identity) -> dict[str, str] | None:
    """The parts of this process where they are not those of the caller; looked at once."""
    if identity.digest in _equal:
        return None
    found = identity.found(function)
    if found == identity.parts:
        _equal.add(identity.digest)
        return None
    return found


@functools.cache
def machine() -> tuple[tuple[str, str], ...]:
    """Name, system and versions of this process's machine, for the record."""
    return (
        ("machine", platform.node()),
        ("system", platform.platform()),
        ("processor", platform.machine()),
        ("Python", python_version().version),
        ("numpy", np.__version__),
        ("gpusched", package_version().version),
    )


def irreproducible(
    call: Callable[[int, int], Mapping[str, Any]],
    arrays: Mapping[str, Any],
    first: int,
    size: int,
    most: int,
) -> str | None:
    """Compare a set with the same set in another chunk; text about a difference.

    Parameters
    ----------
    call
        Gives the arrays of ``count`` sets from ``first`` on: ``call(first, count)``.
    arrays, first, size
        The arrays of a chunk, and its sets.
    most
        Number of sets of the study; none beyond it is asked for.
    """
    at, other = (size - 1, 1) if size > 1 else (0, 2)
    if first + at + other > most:
        return None
    held = {name: values[at].copy() for name, values in arrays.items()}
    again = call(first + at, other)
    for name, value in held.items():
        found = again[name][0] if name in again else None
        if found is None or not _equal_values(value, found):
            return (
                f"{name!r}: got {value} for set {first + at} in a chunk of {size} sets, {found} in "
                f"one of {other}: a set must depend on its seed and number alone (draw each "
                "with a generator of its own: gs.generate.rngs(seed, first, count); "
                "spot_check=False leaves this check out)"
            )
    return None


def _equal_values(one: Any, other: Any) -> bool:
    if one.dtype.kind != "f":
        return bool(one == other)
    return bool(np.isclose(one, other, rtol=_CLOSE, atol=0, equal_nan=True))


Definition = Mapping[str, Any]
"""All that determines the results of a study, by names, of values that JSON holds."""


def definition_of(
    function: Callable[..., Any],
    axes: Mapping[str, Sequence[Any]],
    seed: Any,
    root: np.random.SeedSequence,
    seed_by: Sequence[str] | None,
    accumulator: PerSet,
    keep: bool,
    key: str | None,
    depends: Any = (),
) -> tuple[dict[str, Any], Identity]:
    """Definition of a sweep, and what workers verify; ``root`` is the ``SeedSequence`` of ``seed``.

    Values of the grid are part of it if they are objects. Numbers, text and truth values identify
    themselves, so that a grid of these can grow.

    Raises ValueError for a seed that is not reproducible, and for a function, an object in the grid
    or a reduction that cannot be identified.
    """
    if key is not None and not isinstance(key, str):
        raise TypeError(f"key: got {shown(key)}, expected a string")
    parts = declared(depends)
    follows = key is None
    found = Identity("", follows, parts, {}).found(function)
    of_function = found if follows else {"key": key, **found}
    objects = {
        f"grid[{name!r}], value {index}": value_digest(value, f"grid[{name!r}]")
        for name, values in axes.items()
        for index, value in enumerate(values)
        if not identifies_itself(value)
    }
    definition: dict[str, Any] = {
        "study": "gs.sweep",
        "gpusched": package_version().version,
        "function": of_function,
        "parameters": sorted(axes),
        "objects": objects,
        "seed": seed_words(seed, root),
        "seed_by": seed_by,
        "keep": bool(keep),
        "reduce": {
            name: [_described(one, name) for one in chosen]
            for name, chosen in accumulator.reduce.items()
        },
    }
    held: dict[str, Any] = json.loads(json.dumps(definition))  # as a store has it
    digest = hashlib.blake2b(json.dumps(found).encode(), digest_size=16).hexdigest()
    return held, Identity(digest, follows, parts, found)


def experiment_identity() -> Identity:
    """The identity that workers of an experiment verify: the package's."""
    package = package_version()
    return Identity(package.version, False, (), {package.name: package.version})


def seed_words(seed: Any, root: np.random.SeedSequence) -> list[str]:
    """The words of a seed; ``ValueError`` for one that differs from run to run."""
    if seed is None or isinstance(seed, np.random.Generator):
        raise ValueError(
            f"seed: got {shown(seed)}, expected an int or a SeedSequence for a study with a store"
        )
    return [f"{word:016x}" for word in seed_key(root).tolist()]


def _described(reduction: Any, name: str) -> list[Any]:
    """A reduction: its class and attributes, and a digest when it is not one of the package's."""
    kind = type(reduction)
    if _OWN.get(kind.__name__) is kind:
        return [kind.__name__, asdict(reduction)]
    return [kind.__name__, value_digest(reduction, f"reduce[{name!r}]")]


def reductions_of(described: Mapping[str, Any]) -> dict[str, list[reductions.Reduction]] | None:
    """The reductions of a definition; None when some are not the package's.

    Raises ValueError or TypeError for attributes that none of the package's can have.
    """
    found: dict[str, list[reductions.Reduction]] = {}
    for name, chosen in described.items():
        for kind, attributes in chosen:
            if not isinstance(attributes, dict):
                return None
            if kind not in _OWN:
                raise ValueError(f"got the reduction {shown(kind)}, expected one of the package")
            named = dict(attributes)
            positional = named.pop("shares", ()) if kind == "Quantiles" else ()
            found.setdefault(name, []).append(_OWN[kind](*positional, **named))
    return found


_OWN = {
    kind.__name__: kind
    for kind in (
        reductions.Extremes,
        reductions.Histogram,
        reductions.Mean,
        reductions.Quantiles,
        reductions.Share,
        reductions.Weighted,
    )
}
