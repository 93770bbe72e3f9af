"""Definition of a sweep, by which a store decides whether it may be resumed.

The function is identified by its name and compiled body, so that a changed function does not resume
from results of the old one; functions that it calls are not compared. Values of the grid are
identified by themselves when they are numbers or text, otherwise by their pickles. In case of doubt
two sweeps are different, and the store is rejected.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from gpusched._support.arguments import seed_key
from gpusched._version import __version__

__all__ = ["definition"]


def definition(
    function: Callable[..., Any],
    axes: Mapping[str, list[Any]],
    seed: Any,
    root: np.random.SeedSequence,
) -> dict[str, Any]:
    """Definition of a sweep for ``open_store``; ``root`` is the ``SeedSequence`` of ``seed``.

    Raises ``ValueError`` for a seed that is not reproducible, and for values without a pickle.
    """
    if seed is None or isinstance(seed, np.random.Generator):
        raise ValueError(
            f"seed: got {seed!r}, expected an int or a SeedSequence for a sweep with a store"
        )
    bound: list[Any] = []
    while isinstance(function, functools.partial):
        words = {name: _value(v, name) for name, v in sorted(function.keywords.items())}
        bound.append([[_value(v, "function") for v in function.args], words])
        function = function.func
    call: Any = getattr(function, "__func__", function)
    owner = getattr(function, "__self__", None)
    if not hasattr(call, "__code__"):  # a callable object
        call, owner = type(function).__call__, function
    code = getattr(call, "__code__", None)
    return {
        "study": "sweep",
        "numbers": __version__,
        "function": getattr(function, "__qualname__", type(function).__qualname__),
        "body": None if code is None else _digest(_body(code)),
        "bound": [bound, None if owner is None else _value(owner, "function")],
        "defaults": [
            [_value(v, "function") for v in getattr(call, "__defaults__", None) or ()],
            {k: _value(v, k) for k, v in (getattr(call, "__kwdefaults__", None) or {}).items()},
            [_value(v, "function") for v in _closure(call)],
        ],
        "grid": {
            name: [_value(v, f"grid[{name!r}]") for v in choice] for name, choice in axes.items()
        },
        "seed": [f"{word:016x}" for word in seed_key(root).tolist()],
    }


def _value(value: Any, where: str) -> Any:
    """A value for JSON: itself, or the digest of its pickle."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, ModuleType):
        return ["module", value.__name__]
    if isinstance(getattr(value, "__code__", None), CodeType):
        return [value.__qualname__, _digest(_body(value.__code__))]
    try:
        return [type(value).__name__, _digest(pickle.dumps(value))]
    except Exception as error:
        raise ValueError(
            f"{where}: got a {type(value).__name__}, expected a value that can be pickled: {error}"
        ) from None


def _closure(call: Any) -> Iterable[Any]:
    cells = getattr(call, "__closure__", None) or ()
    for cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:  # not bound yet
            yield None


def _body(code: CodeType) -> bytes:
    """A function's instructions and constants, without its place in a file."""
    constants = []
    for item in code.co_consts:
        if isinstance(item, CodeType):
            constants.append(_body(item).hex())
        elif isinstance(item, frozenset):  # in an order that differs from run to run
            constants.append(repr(sorted(map(repr, item))))
        else:
            constants.append(repr(item))
    parts = (code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, constants)
    return repr(parts).encode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
