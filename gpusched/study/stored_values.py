"""Checks of the values in a store, before they are used: anyone may have written them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gpusched.study.width import Width

__all__ = ["decoded", "is_definition", "is_note", "is_point", "is_range", "is_time"]

_MOST_SETS = 1 << 62
_LATEST = 2.0**37  # seconds since 1970, in the year 6325
_KEY = re.compile("[0-9a-f]{32}")


def decoded(text: str | bytes) -> Any:
    """The value of a JSON text; ``ValueError`` for another text."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_definition(value: Any) -> bool:
    """Whether a value can be the definition of a study."""
    if not isinstance(value, dict) or not isinstance(value.get("study"), str):
        return False
    function, reductions = value.get("function", {}), value.get("reduce", {})
    parameters = value.get("parameters", [])
    return (
        isinstance(parameters, list)
        and all(isinstance(name, str) for name in parameters)
        and isinstance(function, dict)
        and all(isinstance(part, str) for part in function.values())
        and isinstance(reductions, dict)
        and all(isinstance(chosen, list) for chosen in reductions.values())
        and all(_is_reduction(one) for chosen in reductions.values() for one in chosen)
    )


def _is_reduction(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], (dict, str))
    )


def is_note(name: str, value: Any) -> bool:
    """Whether a value can be the note of this name."""
    if name == "count":
        return _is_count(value) and value > 0
    if name == "name":
        return isinstance(value, str)
    if name == "axes":
        return isinstance(value, dict) and all(
            isinstance(values, list) and all(map(_is_plain, values)) for values in value.values()
        )
    if name.startswith("machine "):
        return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
    return name != "stop" or value is None or _is_stop(value)


def _is_stop(value: Any) -> bool:
    try:
        return isinstance(value, list) and bool(Width(*value))
    except (TypeError, ValueError, OverflowError):
        return False


def is_point(key: Any, value: Any, definition: Mapping[str, Any]) -> bool:
    """Whether a value can be the parameters of a point of a study with this key."""
    return (
        isinstance(key, str)
        and _KEY.fullmatch(key) is not None
        and isinstance(value, dict)
        and definition.get("parameters") in (None, sorted(value))
        and all(map(_is_plain, value.values()))
    )


def _is_plain(value: Any) -> bool:
    """Whether `plain_value` can have made a value."""
    if isinstance(value, Mapping):
        texts = value.get("object"), value.get("digest")
        return len(value) == 2 and all(isinstance(text, str) for text in texts)
    return value is None or isinstance(value, (bool, int, float, str))


def is_range(first: Any, size: Any) -> bool:
    """Whether these can be the first and the number of the task sets of a chunk."""
    return _is_count(first) and _is_count(size) and 0 < size <= _MOST_SETS - first


def is_time(value: Any) -> bool:
    """Whether a value can be a time in seconds since 1970."""
    return isinstance(value, float) and 0 <= value < _LATEST


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST_SETS
