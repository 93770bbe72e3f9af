"""Points of a grid: canonical values, keys in a store, seeds; the notes of a store about them.

Notes are facts about a study that do not determine its results: ``count`` is the largest number of
task sets of a point that was asked for, ``axes`` the values of each parameter of the grid, ``stop``
the width at which a point's sampling ends, ``name`` the name of the function.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import spawn
from gpusched._support.text import shown

Point = Mapping[str, Any]

_DEEPEST = 50  # nesting of a value
_NUMBERS = (bool, int, float, np.number, np.bool_)  # of a column of numbers
_LARGEST = 10_000  # bits of a number as a decimal text, and exponent of a Decimal as a fraction


def axes_of(grid: Any, reserved: Iterable[str]) -> dict[str, list[Any]]:
    """The parameters of a grid, each with its list of values.

    Raises ``TypeError`` for what is not a dict of lists, and ``ValueError`` for a parameter without
    values, with a value given twice, or with a reserved name.
    """
    if not isinstance(grid, Mapping):
        raise TypeError(f"grid: got {type(grid).__name__}, expected a dict of lists")
    axes = {name: _values(name, given) for name, given in grid.items()}
    for name in reserved:
        if name in axes:
            raise ValueError(
                f"grid: got the parameter {name!r}, expected another name (the sweep passes it)"
            )
    return axes


def _values(name: Any, given: Any) -> list[Any]:
    if not isinstance(name, str):
        raise TypeError(f"grid: got the parameter {shown(name)}, expected a string")
    scalar = isinstance(given, (str, bytes)) or getattr(given, "ndim", 1) == 0
    if scalar or not isinstance(given, Iterable):
        raise TypeError(f"grid[{name!r}]: got {shown(given)}, expected a list of values")
    values = list(given)
    if not values:
        raise ValueError(f"grid[{name!r}]: got no values, expected at least one")
    first: dict[str, int] = {}
    for index, value in enumerate(values):
        before = first.setdefault(canonical(value, f"grid[{name!r}]"), index)
        if before != index:
            raise ValueError(
                f"grid[{name!r}]: got {shown(values[before])} and {shown(value)} (values {before} "
                f"and {index}), expected values that differ"
            )
    return values


def points_of(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations of the parameters' values, the last parameter varying fastest."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def key_of(point: Point) -> str:
    """Key of a point in a store: 32 hexadecimal digits of names, values and kinds of numbers.

    A function may compute other results of 1, 1.0 and ``np.uint8(1)``, or of 0.0 and -0.0.
    """
    kinds = {name: f"{type(value).__name__}{_sign(value)}" for name, value in point.items()}
    return _sha256(f"{_digest(point)} {json.dumps(kinds, sort_keys=True)}")[:32]


def _sign(value: Any) -> str:
    zero = isinstance(value, (float, np.floating)) and value == 0
    return "-" if zero and np.signbit(value) else ""


def seeds_of(
    root: np.random.SeedSequence, points: Sequence[Point], names: Iterable[str]
) -> list[np.random.SeedSequence]:
    """Seed of each point: a child of ``root`` that depends on the values of the named parameters.

    It does not depend on the point's place in the grid, nor on the order of the parameters.
    """
    chosen = list(names)
    seeds = []
    for point in points:
        digest = _digest({name: point[name] for name in chosen})
        words = [int(digest[k : k + 8], 16) for k in range(0, 32, 8)]
        seeds.append(spawn(root, *words))
    return seeds


def _digest(values: Point) -> str:
    text = json.dumps(
        {name: canonical(value, f"grid[{name!r}]") for name, value in values.items()},
        sort_keys=True,
    )
    return _sha256(text)


def _sha256(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


def canonical(value: Any, name: str) -> str:
    """A text that is equal for equal values: 1, 1.0 and ``np.int64(1)`` have the same.

    Numbers are compared by value; text, bytes, None, truth values, enumerations, functions and
    classes (by name), sequences, sets, dicts, arrays, dataclasses and other objects (by class and
    state) as what they are. ``name`` is used in the ``ValueError`` for a value that has no such
    text.
    """
    return _canonical(value, name, 0)


def _canonical(value: Any, name: str, depth: int) -> str:
    if depth > _DEEPEST:
        raise ValueError(f"{name}: got values nested more than {_DEEPEST} deep, expected fewer")
    if isinstance(value, (np.datetime64, np.timedelta64)):  # item() may be a bare number
        return f"time {value.dtype.str} {value.astype(np.int64)}"
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if isinstance(value, Decimal) and not value.is_finite():
        value = math.nan if value.is_nan() else float(value)
    if isinstance(value, (float, np.floating)) and not np.isfinite(value):  # also long doubles
        return f"number {float(value)}"
    if isinstance(value, Decimal) and abs(value.adjusted()) > _LARGEST:
        sign, numbers, exponent = value.as_tuple()
        digits = "".join(map(str, numbers))
        zeros = len(digits) - len(digits.rstrip("0"))
        return f"decimal {sign} {digits.rstrip('0')} {int(exponent) + zeros}"
    if isinstance(value, (int, float, Fraction, Decimal, np.floating)):
        number = Fraction(*value.as_integer_ratio())
        if max(number.numerator.bit_length(), number.denominator.bit_length()) > _LARGEST:
            return f"number {number.numerator:x}/{number.denominator:x}"
        return f"number {number}"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (bytes, bytearray)):
        return f"bytes {value.hex()}"

    def inside(one: Any) -> str:
        return _canonical(one, name, depth + 1)

    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        items = list(value.ravel()) if value.dtype.kind in "mM" else value.ravel().tolist()
        words = str([inside(one) for one in items])
        return f"array {value.shape} {_sha256(words)}"
    if isinstance(value, Mapping):
        return f"mapping {sorted((inside(k), inside(v)) for k, v in value.items())}"
    if isinstance(value, Set):
        return f"set {sorted(map(inside, value))}"
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return f"sequence {[inside(one) for one in value]}"
    if isinstance(value, functools.partial):
        held = [inside(one) for one in (value.func, value.args, value.keywords)]
        return f"partial {held}"
    return _object(value, name, inside)


def _object(value: Any, name: str, inside: Any) -> str:
    """The text of an object: its name, if it has one, or else its class and state."""
    owner = getattr(value, "__self__", None)
    if callable(value) and isinstance(getattr(value, "__qualname__", None), str):
        bound = "" if owner is None or hasattr(owner, "__name__") else f" of {inside(owner)}"
        return f"named {value.__qualname__}{bound}"
    kind = type(value).__qualname__
    if dataclasses.is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return f"{kind} {inside(parts)}"
    try:
        reduced = value.__reduce_ex__(4)
    except Exception as error:
        raise ValueError(
            f"{name}: got {shown(value)}, expected a value whose contents can be compared ({error})"
        ) from None
    if isinstance(reduced, str):
        return f"{kind} {reduced}"
    _, arguments, *state = reduced
    items = [list(part) for part in state[1:3] if part is not None]
    return f"{kind} {inside(arguments)} {inside(state[0] if state else None)} {inside(items)}"


def column_of(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Values of the grid as a column, of dtype object unless all are numbers, text or times.

    Values that an array would round or cut, such as 2**53 + 1 beside 0.5, or text that ends with a
    null character, stay as they are, too.
    """
    for kinds in (_NUMBERS, str, np.datetime64, np.timedelta64):
        if all(isinstance(value, kinds) for value in values):
            column: npt.NDArray[Any] = np.array(values)
            if all(a == b or (a != a and b != b) for a, b in zip(column, values, strict=True)):
                return column
    column = np.empty(len(values), dtype=object)
    for index, value in enumerate(values):  # a whole list of task sets is refused as an array
        column[index] = value
    return column


def describe(point: Point) -> str:
    """The parameters of a point for a message."""
    return ", ".join(f"{name}={shown(value)}" for name, value in point.items()) or "the only point"


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
    digest = _sha256(canonical(value, "grid"))
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
