"""Paths: lists of tasks in which each one is released by the one before it, or reads it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal, TypedDict, Unpack

from gpusched._support.arguments import one_of
from gpusched._support.text import shown
from gpusched.model.workload.facts import Facts, label
from gpusched.model.workload.periodic_task import names_of
from gpusched.model.workload.time_units import Stored, Time, as_time

__all__ = ["KINDS", "PHASES", "Kind", "Path", "Phases"]

Kind = Literal["latency", "reaction", "age", "held age"]
"""Times of a path; see `Path`."""

Phases = Literal["any", "given"]
"""Whether the sources of a path have any phases, or the offsets of the workload on one clock."""

KINDS: tuple[Kind, ...] = ("latency", "reaction", "age", "held age")
PHASES: tuple[Phases, ...] = ("any", "given")


class _Changes(TypedDict, total=False):
    name: str
    tasks: Iterable[str]
    deadline: Time | None
    kind: Kind
    phases: Phases


class Path(Facts):
    """A path through tasks of a workload, and the time that it may take.

    >>> work = [gs.CPU("2ms")]
    >>> w = gs.Workload([
    ...     gs.Task("camera", "40ms", work), gs.Task("detector", segments=work, after="camera"),
    ...     gs.Task("control", "10ms", work, reads="detector"),
    ... ], paths=[gs.Path("frame to command", ["camera", "detector", "control"], "100ms")])
    >>> w.path("frame to command").deadline
    100000000

    Parameters
    ----------
    name
        Name of the path. It must differ from the names of the other paths in the workload.
    tasks
        Names of different tasks, each of which is released by the one before it (``after``) or
        reads it (``reads``).
    deadline
        Largest time allowed, in ticks or as text with a unit. None: the time is only reported.
    kind
        "latency": from the arrival of a sample, or from the release of the first task if that one
        has ``after``, to the first output that is based on it or on a newer one. "reaction": from
        an event that is just too late for a sample to the first output that reflects it. "age":
        from the sample that an output is based on to that output. "held age": from that sample to
        the next output, which replaces it.
    phases
        "any": sources run freely, at any phases. "given": the sources have the offsets of the
        workload, on one clock. Phases count as any if the period of a source is that of a rate and
        no whole number of ticks.

    Raises
    ------
    ValueError, TypeError
        An argument is invalid; the message names it.

    Times are those after each task has read once: the start of the program is left out.
    """

    __slots__ = ("_deadline", "kind", "name", "phases", "tasks")

    _KEYS: ClassVar[tuple[str, ...]] = ("name", "tasks", "_deadline", "kind", "phases")
    _TIMES: ClassVar[frozenset[str]] = frozenset({"_deadline"})

    name: str
    tasks: tuple[str, ...]
    kind: Kind
    phases: Phases
    _deadline: Stored | None

    def __init__(
        self,
        name: str,
        tasks: Iterable[str],
        deadline: Time | None = None,
        kind: Kind = "latency",
        phases: Phases = "any",
    ) -> None:
        found = names_of(tasks, "tasks")
        if not found:
            raise ValueError(f"tasks: got {shown(tasks)}, expected the name of at least one task")
        one_of(kind, KINDS, "kind")
        one_of(phases, PHASES, "phases")
        due = None if deadline is None else as_time(deadline, "deadline")
        self._put((label(name, "name"), found, due, kind, phases))

    @property
    def deadline(self) -> int | None:
        """Largest time allowed, in ticks; None where there is no limit."""
        return None if self._deadline is None else self._ticks(self._deadline, "deadline")

    def replace(self, **changes: Unpack[_Changes]) -> Path:
        """Return a copy of the path with some arguments changed; numbers are ticks as before.

        >>> gs.Path("a to b", ["a", "b"], 30).replace(kind="age")
        Path('a to b', tasks=('a', 'b'), deadline=30, kind='age')
        """
        made = Path(**{**self._given(), **changes})  # type: ignore[arg-type]
        return made if self._tick is None else made._at(self._tick)

    @classmethod
    def _unsaid(cls, name: str) -> object:
        return {"kind": "latency", "phases": "any"}.get(name)
