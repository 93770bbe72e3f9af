"""What makes a sweep the same sweep: by this a store knows whether it may be gone on with.

The function counts by its name and its compiled body, so that a function that was changed does not
go on with numbers of the old one; what it calls is not looked at. Values of the grid count as they
are where they are numbers or text, otherwise by their pickles. Whatever is in doubt is another
sweep: its store is refused, never mixed.
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
    """The study that a sweep is, as `open_store` takes it; ``root`` is what ``seed`` became.

    Raises ValueError for a seed that names no numbers, and for values that cannot be told apart.
    """
    if seed is None or isinstance(seed, np.random.Generator):
        raise ValueError(f"seed = {seed!r}: a sweep with a store needs an int or a SeedSequence")
    bound: list[Any] = []
    while isinstance(function, functools.partial):
        words = {name: _value(v, name) for name, v in sorted(function.keywords.items())}
        bound.append([[_value(v, "function") for v in function.args], words])
        function = function.func
    call: Any = getattr(function, "__func__", function)
    owner = getattr(function, "__self__", None)
    if not hasattr(call, "__code__"):  # an object that can be called
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
    """A value as JSON holds it: itself, or the digest of its pickle."""
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
            f"{where}: a store cannot tell a {type(value).__name__} from another: {error}"
        ) from None


def _closure(call: Any) -> Iterable[Any]:
    cells = getattr(call, "__closure__", None) or ()
    for cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:  # not bound yet
            yield None


def _body(code: CodeType) -> bytes:
    """A function's instructions and constants, without where they stand in a file."""
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
