"""Verification in a worker: it must compute the function of the caller, by every part of it.

A process that was started before a global changed, imports a module that was edited since, or runs
on a machine with another version of a library would give the numbers of another study.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gpusched.study.identity.declared_parts import Declared, declared_parts
from gpusched.study.identity.function_identity import function_parts
from gpusched.study.identity.module_origins import package_version, python_version

__all__ = ["Identity", "foreign_parts", "irreproducible", "machine"]

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
