"""Notes of a store: what is known of a study without determining its results.

``count`` is the largest number of task sets of a point that was asked for, ``axes`` the values of
each parameter of the grid, ``stop`` the width at which a point's sampling ends, ``name`` the name
of the function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusched._support.text import shown

__all__ = ["joined_notes", "plain_point", "plain_value", "shown_value"]

Notes = Mapping[str, Any]


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
        if values != more:
            union = {repr(value): value for value in [*values, *more]}
            values = sorted(union.values(), key=_order)
        joined[name] = values
    return joined


def _order(value: Any) -> tuple[int, float, str]:
    number = isinstance(value, (int, float))
    return (0, float(value), "") if number else (1, 0.0, repr(value))


def plain_point(point: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a point as JSON holds them."""
    return {name: plain_value(value) for name, value in point.items()}


def plain_value(value: Any) -> Any:
    """A parameter's value as JSON holds it; an object becomes a text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return {"object": shown(value)}


def shown_value(value: Any) -> Any:
    """A value that `plain_value` made, with the text of an object instead of the object."""
    return value["object"] if isinstance(value, dict) else value
