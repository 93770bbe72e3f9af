"""Copy engines: the directions of the copies that each of them serves.

One engine serves both directions. Of several, one serves copies from the host and one copies to it:
the further engines of today's GPUs do not make copies of one direction overlap (three copies to an
H100, which has three engines, run one after the other).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from gpusched._support.arguments import integer, is_sequence, one_of
from gpusched._support.text import shown

__all__ = [
    "DIRECTIONS",
    "CopyEngines",
    "copy_engines_of",
    "engine_directions",
    "engines_text",
    "fewer_engines",
    "possible_directions",
    "share_an_engine",
]

DIRECTIONS = ("in", "out", "both")
"""Copies from the host to the device, to the host, and of both directions."""

CopyEngines = int | tuple[str, ...] | None
"""A number of engines, the direction of each, or None if unknown."""

_MOST = 64


def copy_engines_of(given: Any, *, complete: bool = True) -> CopyEngines:
    """The argument ``copy_engines``: a number of engines, the direction of each, or None.

    ``complete``: directions must include both.
    """
    if given is None:
        return None
    if isinstance(given, str):
        raise TypeError(
            f"copy_engines: got {shown(given)}, expected a number, or a sequence of "
            f"{', '.join(DIRECTIONS)}"
        )
    if isinstance(given, (Set, Mapping)):
        raise TypeError(f"copy_engines: got {shown(given)}, expected a number or a sequence")
    if not is_sequence(given):
        count = integer(given, "copy_engines")
        if not 0 <= count < 2**31:
            raise ValueError(f"copy_engines: got {count}, expected 0 to {2**31 - 1}")
        return count
    found = tuple(given)
    if not 1 <= len(found) <= _MOST:
        raise ValueError(f"copy_engines: got {len(found)} engines, expected 1 to {_MOST}")
    for i, direction in enumerate(found):
        one_of(direction, DIRECTIONS, f"copy_engines[{i}]")
    found = tuple(map(str, found))
    missing = [one for one in ("in", "out") if one not in found and "both" not in found]
    if missing and complete:
        raise ValueError(
            f"copy_engines: got {shown(found)}, expected an engine for copies {missing[0]}"
        )
    return found


def engine_directions(engines: CopyEngines) -> tuple[str, ...]:
    """The direction of each engine; of an unknown number, those of one engine."""
    if isinstance(engines, tuple):
        return engines
    count = 1 if engines is None else engines
    return () if count == 0 else ("both",) if count == 1 else ("in", "out")


def possible_directions(engines: CopyEngines) -> tuple[str, ...]:
    """Directions of engines with which as many copies overlap as the GPU may allow.

    An unknown number of engines may be any, and engines beyond two may serve both directions: only
    reports on single GPUs tell that they do not.
    """
    count = _MOST if engines is None else engines
    if isinstance(count, int) and count > 2:
        return ("in", "out", *("both" for _ in range(min(count, _MOST) - 2)))
    return engine_directions(count)


def share_an_engine(engines: CopyEngines) -> bool:
    """Whether copies in and copies out may wait for each other; so too if it is unknown.

    They do not if each direction has an engine of its own. Then a copy waits for no more than those
    of its direction that joined before it, also if they can use further engines: its own engine
    serves them in this order, and is busy all the time.
    """
    directions = engine_directions(engines)
    return not ("in" in directions and "out" in directions)


def fewer_engines(stated: CopyEngines, of_instance: CopyEngines) -> CopyEngines:
    """Engines of a GPU instance where a platform states those of its GPU: the fewer of both."""
    if stated is None or of_instance is None:
        return of_instance if stated is None else stated
    count, most = (e if isinstance(e, int) else len(e) for e in (stated, of_instance))
    return stated if count <= most else of_instance


def engines_text(engines: CopyEngines) -> str:
    """The engines in words."""
    if engines is None:
        return "unknown"
    return f"{engines:,}" if isinstance(engines, int) else f"{len(engines)}: {', '.join(engines)}"
