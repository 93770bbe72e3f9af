"""Notes of a store: facts about a study that do not determine its results.

``count`` is the largest number of task sets of a point that was asked for, ``axes`` the values of
each parameter of the grid, ``stop`` the width at which a point's sampling ends, ``name`` the name
of the function.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusched._support.text import shown
from gpusched.study.points import canonical

__all__ = ["identifies_itself", "joined_notes", "plain_point", "plain_value", "shown_value",
           "value_key"]  # fmt: skip

Notes = Mapping[str, Any]

_LONGEST = 10_000  # bits of an integer as JSON holds it


def joined_notes(one: Notes, other: Notes) -> dict[str, Any]:
    """Notes with the larger count and the values of both grids; otherwise those of ``other``."""
    joined = {**one, **other}
    if "count" in one and "count" in other:
        joined["count"] = max(one["count"], other["count"])
    if "axes" in one and "axes" in other:
        joined["axes"] = _joined_axes(one["axes"], other["axes"])
    return joined


def _joined_axes(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The values of each parameter in two grids: as they are if equal, otherwise in order."""
    joined = {}
    for name in dict.fromkeys([*one, *other]):
        values, more = one.get(name, []), other.get(name, [])
        if list(map(value_key, values)) != list(map(value_key, more)):
            union = {value_key(value): value for value in [*values, *more]}
            values = sorted(union.values(), key=_order)
        joined[name] = values
    return joined


def _order(value: Any) -> tuple[int, float, str]:
    number = isinstance(value, (int, float)) and value == value
    return (0, value, "") if number else (1, 0.0, repr(value))


def value_key(value: Any) -> str:
    """Text by which values that `plain_value` made are told apart."""
    return str(value["digest"]) if isinstance(value, dict) else repr(value)


def plain_point(point: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a point as JSON holds them."""
    return {name: plain_value(value) for name, value in point.items()}


def plain_value(value: Any) -> Any:
    """A parameter's value as JSON holds it; an object becomes its text and a digest."""
    time = isinstance(value, (np.datetime64, np.timedelta64))
    held = value.item() if isinstance(value, np.generic) and not time else value
    short = not isinstance(held, int) or held.bit_length() <= _LONGEST
    if held is None or (isinstance(held, (bool, int, float, str)) and short):
        return held
    digest = hashlib.sha256(canonical(value, "grid").encode()).hexdigest()
    return {"object": str(value) if time else shown(value), "digest": digest[:16]}


def identifies_itself(value: Any) -> bool:
    """Whether a parameter's value is a number, text, a truth value or None, and no object.

    Members of enumerations and objects of classes below ``int`` or ``str`` are objects.
    """
    if isinstance(value, np.generic):
        return not isinstance(plain_value(value), dict)
    return value is None or type(value) in (bool, int, float, str)


def shown_value(value: Any) -> Any:
    """A value that `plain_value` made, with the text of an object instead of the object."""
    return value["object"] if isinstance(value, dict) else value
