"""Warning for studied functions that draw the same task sets in every call."""

from __future__ import annotations

import dis
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

__all__ = ["warn_of_repeated_sets"]

_KINDS = ("FAST", "DEREF", "CLOSURE")  # of variables in the names of instructions


def warn_of_repeated_sets(function: Callable[..., Any], count: int) -> None:
    """Warn of a Python function of several sets that reads its ``seed`` but not its ``first``.

    Each of its calls would draw the sets from the first one on.
    """
    plain = function.__func__ if isinstance(function, MethodType) else function
    if count == 1 or not isinstance(plain, FunctionType):
        return
    code = plain.__code__
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if "first" in named and "seed" in _read(code) and "first" not in _read(code):
        warnings.warn(
            f"{plain.__qualname__}: reads its seed but not `first`, so all of its calls may draw "
            "the same task sets; pass first= on, as to gs.generate",
            stacklevel=3,
        )


def _read(code: CodeType) -> set[str]:
    """Names of local variables that the code reads, with those that inner functions read."""
    return set(_names(code))


def _names(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        name = instruction.opname  # also one that stores a variable and loads another
        if "LOAD_" in name and any(kind in name for kind in _KINDS):
            value = instruction.argval  # of several variables in one instruction: a tuple
            yield from value if isinstance(value, tuple) else (str(value),)
