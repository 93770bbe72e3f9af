"""Base of segments and tasks: immutable objects whose times become ticks within a workload."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn, Self

from gpusched._support.arguments import integer, integer64
from gpusched._support.text import shown
from gpusched.model.workload.time_units import (
    MOST_TICKS,
    Duration,
    Rate,
    Stored,
    TickLength,
    in_ticks,
    tick_text,
    time_with_unit,
)


class Facts:
    """Base of segments and tasks.

    A subclass defines in ``_KEYS`` the attributes that hold the arguments, in the order of the
    constructor's arguments, in ``_TIMES`` those of them that are times, and in ``_NESTED`` those
    that contain times. A time is stored as ticks or as a `Duration`. ``_tick`` is the length of a
    tick in ns, None before the object is part of a workload.
    Objects are equal when their class, tick and stored facts are equal.
    """

    __slots__ = ("_tick",)

    _KEYS: ClassVar[tuple[str, ...]] = ()
    _TIMES: ClassVar[frozenset[str]] = frozenset()
    _NESTED: ClassVar[frozenset[str]] = frozenset()

    _tick: TickLength | None

    @property
    def tick(self) -> str | None:
        """The length of a tick, such as ``"us"``; None before the object is part of a workload."""
        return None if self._tick is None else tick_text(self._tick)

    def _put(self, values: Iterable[object], tick: TickLength | None = None) -> None:
        for key, value in zip(self._KEYS, values, strict=True):
            object.__setattr__(self, key, value)
        object.__setattr__(self, "_tick", tick)

    def _stored(self) -> tuple[object, ...]:
        return tuple([getattr(self, key) for key in self._KEYS])

    def _given(self) -> dict[str, object]:
        """Arguments that make an equal object, in the same ticks."""
        return {key.removeprefix("_"): getattr(self, key) for key in self._KEYS}

    def _at(self, tick: TickLength) -> Self:
        """The object with its times in ticks of ``tick`` ns.

        Raises ValueError for a time that is not a whole number of ticks, and OverflowError.
        """
        if self._tick == tick:
            return self
        made = object.__new__(type(self))
        values = []
        for key in self._KEYS:
            value = getattr(self, key)
            if key in self._TIMES and value is not None:
                if type(value) is not int or self._tick is not None:
                    value = self._converted(key, value, tick)
            elif key in self._NESTED:
                value = self._converted(key, value, tick)
            values.append(value)
        made._put(values, tick)
        made._check()
        return made

    def _ticks_as(self, tick: TickLength) -> Self:
        """The object with the same numbers of ticks, in ticks of another length."""
        made = object.__new__(type(self))
        values = []
        for key in self._KEYS:
            value = getattr(self, key)
            if key == "segments":
                value = tuple(segment._ticks_as(tick) for segment in value)
            values.append(value)
        made._put(values, tick)
        return made

    def _converted(self, key: str, value: Any, tick: TickLength) -> object:
        """A stored time, or what contains times, in ticks of ``tick`` ns."""
        return in_ticks(value, self._tick, tick, key.removeprefix("_"))

    def _check(self) -> None:
        """Raise ValueError for facts that contradict each other."""

    def _ticks(self, time: Stored | None, name: str) -> int:
        """A time as ticks; ValueError for text before a workload has the object."""
        if type(time) is int:
            return time
        if time is None:
            raise ValueError(f"{name}: got None, expected ticks; this was derived or not given")
        raise ValueError(
            f"{name}: got {stored_text(time, None)}, expected ticks; text has none before the "
            "object is in a Workload"
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{name}: got {shown(value)}, expected no change of an immutable object; see replace()"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name}: expected no change of an immutable object; see replace()")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Facts)
        return self._tick == other._tick and self._stored() == other._stored()

    def __hash__(self) -> int:
        return hash((type(self), self._tick, self._stored()))

    def __reduce__(self) -> tuple[object, ...]:
        return (_unpickled, (type(self), self._stored(), self._tick))

    def __repr__(self) -> str:
        parts = []
        for place, key in enumerate(self._KEYS):
            if (text := self._argument(key)) is not None:
                parts.append(text if place == 0 else f"{key.removeprefix('_')}={text}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _argument(self, key: str) -> str | None:
        """The text of an argument in a repr; None for one that is left out."""
        value = getattr(self, key)
        if value is None or value == self._unsaid(key.removeprefix("_")):
            return None
        return stored_text(value, self._tick if key in self._TIMES else None)

    @classmethod
    def _unsaid(cls, name: str) -> object:
        """The default of an argument, which a repr leaves out."""
        numbers = {
            "offset": 0,
            "jitter": 0,
            "best": 0,
            "repeat": 1,
            "every": 1,
            "regs": 0,
            "smem": 0,
        }
        return "" if name == "name" else numbers.get(name)


def _unpickled(kind: type[Facts], values: tuple[object, ...], tick: TickLength | None) -> Facts:
    made = object.__new__(kind)
    made._put(values, tick)
    return made


def stored_text(value: object, tick: TickLength | None) -> str:
    """The repr of a stored value; of ticks of a known length, that of text with a unit."""
    if isinstance(value, (Duration, Rate)):
        return repr(value.text)
    if tick is not None and type(value) is int:
        return repr(time_with_unit(value, tick))
    return repr(value)


def count(value: object, name: str, least: int, most: int = MOST_TICKS) -> int:
    """A whole number from ``least`` to ``most``."""
    number = value if type(value) is int else integer(value, name)
    if not least <= number <= most:
        limit = "2**60 - 1" if most == MOST_TICKS else most
        raise ValueError(f"{name}: got {shown(number)}, expected {least} to {limit}")
    return number


def optional_number(value: object, name: str) -> int | None:
    """None, or an integer of 64 bits."""
    return None if value is None else integer64(value, name)


def label(value: object, name: str, *, empty: bool = False) -> str:
    """Text that UTF-8 can encode; not empty unless ``empty``."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: got {shown(value)}, expected text")
    if not value and not empty:
        raise ValueError(f"{name}: got '', expected at least one character")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise ValueError(f"{name}: got {shown(value)}, expected text that UTF-8 can encode")
    return value
