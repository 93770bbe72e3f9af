"""The ways of sharing the GPU, from the table of the core (``csrc/ways/``), as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, Self, TypeAlias

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, flag, int_array, integer, one_of
from gpusched._support.registry import Method, Option, methods
from gpusched._support.results import Saved
from gpusched._support.text import clip, shown

__all__ = [
    "OUTSIDE",
    "WAYS",
    "OptionValue",
    "Way",
    "as_way",
    "label_of",
    "placed_way",
    "placed_ways",
]


class Way(Saved):
    """A way of sharing the GPU between tasks, with its parameters: an immutable value.

    >>> way = gs.ways.Mpcp(mode="busy")
    >>> way
    gs.ways.Mpcp(mode='busy')
    >>> way.title, way.mode, way.fixed_point
    ('a lock on the GPU, the most urgent waiting job next', 'busy', 'joint')
    >>> way == gs.ways.Mpcp(mode="busy"), way.replace(mode="spin")
    (True, gs.ways.Mpcp(mode='spin'))

    A name, such as ``"mpcp"``, stands for the value without parameters. A parameter that is given
    wins over the platform's; one that is not given has the platform's value if it has one there,
    and its default otherwise. Costs are ticks, or text with a unit where the function knows the
    length of a tick, as in ``gs.analyze``.

    Attributes
    ----------
    name, title, source
        The name in tables and as an argument, the rule in a phrase, and papers or documentation.
    test
        Name of its test in ``gs.methods()``; None if the package has no test for it.
    family
        Kind of its test of tasks with cores: "lock" (one task at a time uses the GPU), "contexts"
        (a context per task) or "divided" (kernels run on the SMs of their tasks); None for another
        test, or without one. ``placed`` and ``divided`` ask for any of them, and for the last.
    monotone
        Whether that test is proven to accept shorter times where it accepts longer ones, as
        ``gs.analysis.breakdown`` requires.
    in_turns
        Whether no two kernels of different tasks run at once.
    global_edf
        Whether jobs run on any CPU, the earliest deadline first; otherwise tasks have cores.
    modes
        Choices of the option ``mode`` of its test, each of which is a row of a comparison.
    parameters
        What it takes, as ``gs.Option``; their values are attributes.
    premises
        Names of the facts about the rest of the machine that the test takes for granted.
    given
        The parameters that were given, by name.
    """

    _KIND: ClassVar[str] = "Way"

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    source: ClassVar[str] = ""
    test: ClassVar[str | None] = None
    family: ClassVar[str | None] = None
    placed: ClassVar[bool] = False
    divided: ClassVar[bool] = False
    monotone: ClassVar[bool] = False
    in_turns: ClassVar[bool] = False
    global_edf: ClassVar[bool] = False
    modes: ClassVar[tuple[str, ...]] = ()
    parameters: ClassVar[tuple[Option, ...]] = ()
    premises: ClassVar[tuple[str, ...]] = ()
    _options: ClassVar[Mapping[str, Option]] = {}  # parameters by name

    given: Mapping[str, Any]

    def __init__(self, **parameters: Any) -> None:
        """Take the parameters; None for one that is not given.

        ValueError for one that the way lacks, and for a value that is not allowed.
        """
        known = self._options
        given: dict[str, Any] = {}
        for name, value in parameters.items():
            if name not in known:
                takes = ", ".join(known) or "none"
                raise ValueError(
                    f"{name}: got an unknown option of {self.name}, expected one of {takes}"
                )
            if value is not None:
                given[name] = _taken(known[name], value)
        object.__setattr__(self, "given", MappingProxyType(given))

    def _per_set(self) -> list[str]:
        """Parameters that are given for each set of a stack."""
        by_task = {option.name for option in self.parameters if option.type == "integers"}
        return [n for n, value in self.given.items() if np.ndim(value) > (n in by_task)]

    @property
    def is_stack(self) -> bool:
        """Whether a parameter is given for each set of a stack."""
        return bool(self._per_set())

    def _sets(self, at: Any) -> Self:
        """The way for one set of a stack, or for some."""
        return self.replace(**{name: self.given[name][at] for name in self._per_set()})

    @property
    def test_method(self) -> Method | None:
        """Its test as listed by ``gs.methods()``."""
        return None if self.test is None else methods()[self.test]

    def replace(self, **changes: Any) -> Self:
        """Return the same way with some parameters changed."""
        return type(self)(**{**self.given, **changes})

    def _with(self, name: str, value: Any) -> Self:
        """Return the same way with a value of a parameter that is known to be right."""
        made = object.__new__(type(self))
        object.__setattr__(made, "given", MappingProxyType({**self.given, name: value}))
        return made

    def without(self, *names: str) -> Self:
        """Return the same way with these parameters not given."""
        kept = {name: value for name, value in self.given.items() if name not in names}
        return type(self)(**kept)

    def __getattr__(self, name: str) -> Any:
        """The value of a parameter: the given one, or the default."""
        option = type(self)._options.get(name)
        if option is not None:
            return self.given[name] if name in self.given else option.standard
        raise AttributeError(f"{type(self).__name__} has no parameter {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._options})

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name}: a way of sharing the GPU cannot be changed; use replace()")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name}: a way of sharing the GPU cannot be changed; use replace()")

    def _key(self) -> tuple[object, ...]:
        return tuple(
            (name, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else (name, value)
            for name, value in sorted(self.given.items())
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Way):
            return NotImplemented
        return self.name == other.name and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.name, self._key()))

    def __repr__(self) -> str:
        def value(given: Any) -> str:
            return repr(given.tolist() if isinstance(given, np.ndarray) else given)

        inside = ", ".join(f"{name}={value(given)}" for name, given in self.given.items())
        return f"gs.ways.{type(self).__name__}({inside})"

    def __str__(self) -> str:
        return label_of(self.name, self.given)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.name, dict(self.given))

    def _fields(self) -> dict[str, Any]:
        return {"name": self.name, "given": dict(self.given)}

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Any:
        return _made(values["name"], values["given"])


Way._PARTS = (Way,)  # a parameter may be a way

OptionValue: TypeAlias = str | int | Sequence[int] | Int64Array | Way
"""A value of a parameter: text, a number, a truth value, numbers of tasks, or another way."""


def label_of(way: str, options: Mapping[str, Any]) -> str:
    """Name of a way with the options that were given, the mode first."""
    told = [str(options["mode"])] if "mode" in options else []
    told += [f"{name}={clip(str(options[name]), 40)}" for name in options if name != "mode"]
    return f"{way} ({', '.join(told)})" if told else way


def _made(name: str, given: dict[str, Any]) -> Way:
    return type(as_way(name))(**given)


def _taken(option: Option, value: Any) -> Any:
    """The value of a parameter, checked as far as its type says; ValueError or TypeError."""
    if option.type == "choice":
        one_of(value, option.choices, option.name)
    elif option.type == "way":
        return as_way(value, argument=option.name)
    elif option.type == "boolean":
        return flag(value, option.name)
    elif option.type != "data" and not isinstance(value, str) and np.ndim(value):
        return _frozen_array(value, option.name)
    elif option.type in ("integer", "positive integer"):
        return _at_least(integer(value, option.name), option)
    elif option.type in ("time", "positive time") and not isinstance(value, str):
        return _at_least(integer(value, option.name), option)
    return value


def _at_least(value: int, option: Option) -> int:
    if value < option.least:
        raise ValueError(f"{option.name}: got {shown(value)}, expected {option.least} or more")
    return value


def _frozen_array(value: Any, name: str) -> Int64Array:
    array = int_array(value, name).copy()
    array.flags.writeable = False
    return array


# Table --------------------------------------------------------------------------------------------

OUTSIDE = {
    "fifo_limit": "its limit is no guarantee, and fifo_bound rejects all that it rejects",
    "partition": "it chooses the cores of tasks for the tests of ways, whose rows use it",
    "stgm_allocate": "it chooses the cores and SMs of stgm, whose row uses it",
    "stgm_exhaustive": "it tries all allocations of stgm, which takes too long for most workloads",
    "breakdown": "it finds factors for tests of ways; gs.margin has them for a workload",
    "challenge": "it looks for late jobs where tests do not accept",
    "assign_priorities": "it chooses the priorities of tests of ways",
    "gedf_tardiness": "it takes the time that jobs wait for the GPU from srm or container",
    "cpu_only": "it has kernels run on the CPUs, whose times a workload does not state",
    "fifo": "it plays the way streams",
    "hierarchy": "it plays streams of one process or several, and time slices",
    "host": "it plays gcaps, locks, servers, divided SMs and global EDF",
    "pbs_partition": "it is about several GPUs, and a platform has one; ask gs.pbs.partition",
}
"""Methods of ``gs.methods()`` that are not tests of a way of sharing a GPU, and why."""


def _parameters(row: dict[str, Any]) -> tuple[Option, ...]:
    """Those of the way's test, less some, then its own, which replace those of the same name."""
    found = {}
    if row["test"] is not None:
        left_out = row["without"]
        found = {o.name: o for o in methods()[row["test"]].options if o.name not in left_out}
    own = [Option(**(option | {"choices": option["choices"] or ()})) for option in row["options"]]
    return tuple((found | {option.name: option for option in own}).values())


def _modes(row: dict[str, Any]) -> tuple[str, ...]:
    single = row["test"] is None or row["one_row"] or "mode" in row["without"]
    return () if single else methods()[row["test"]].choices("mode")


def _class_name(row: dict[str, Any]) -> str:
    return "".join(part.capitalize() for part in row["name"].split("_"))


def _docstring(row: dict[str, Any], parameters: tuple[Option, ...]) -> str:
    """Docstring of a way's class."""
    lines = [f"{row['title'][0].upper()}{row['title'][1:]}.", ""]
    lines += [
        f"A `Way` of sharing the GPU, ``{row['name']!r}`` for short. Source: {row['source']}.",
        "",
        f">>> gs.ways.as_way({row['name']!r})",
        f"gs.ways.{_class_name(row)}()",
    ]
    if parameters:
        lines += ["", "Parameters", "----------"]
    for option in parameters:
        kind = ", ".join(map(repr, option.choices)) or option.type
        standard = "" if option.default is None else f" Default: {option.default}."
        lines += [
            option.name,
            f"    {option.meaning[0].upper()}{option.meaning[1:]} ({kind}).{standard}",
        ]
    return "\n".join(lines) + "\n"


def _class_of(row: dict[str, Any]) -> type[Way]:
    parameters = _parameters(row)
    same = ("name", "title", "source", "test", "family", "monotone", "in_turns", "global_edf")
    body = {key: row[key] for key in same}
    return type(
        _class_name(row),
        (Way,),
        {
            **body,
            "placed": row["family"] is not None,
            "divided": row["family"] == "divided",
            "modes": _modes(row),
            "parameters": parameters,
            "_options": {option.name: option for option in parameters},
            "premises": tuple(row["premises"]),
            "__doc__": _docstring(row, parameters),
            "__module__": "gpusched.ways",
        },
    )


_CLASSES: dict[str, type[Way]] = {row["name"]: _class_of(row) for row in _core.WAYS}
_BY_NAME = {way.test: way for way in reversed(_CLASSES.values()) if way.test is not None} | _CLASSES

WAYS: tuple[Way, ...] = tuple(way() for way in _CLASSES.values())
"""All ways without parameters, in the order of a comparison."""


def placed_ways() -> tuple[str, ...]:
    """Names of the ways with a test of tasks with cores."""
    return tuple(way.name for way in WAYS if way.placed)


def as_way(way: object, /, *, argument: str = "way", **parameters: Any) -> Way:
    """The way itself, or that of a name (or the first one whose test has it), with parameters.

    >>> gs.ways.as_way("mpcp", mode="busy")
    gs.ways.Mpcp(mode='busy')

    ``argument`` is its name in messages. Raises ValueError for another name (if it is the name of a
    method, with the reason), for parameters that the way lacks, and for another type.
    """
    if isinstance(way, Way):
        return way.replace(**parameters) if parameters else way
    if isinstance(way, str):
        if way in _BY_NAME:
            return _BY_NAME[way](**parameters)
        if way in OUTSIDE:
            raise ValueError(
                f"{argument}: got {way!r}, expected a way of sharing the GPU; {OUTSIDE[way]}"
            )
    known = ", ".join(_CLASSES)
    raise ValueError(f"{argument}: got {shown(way)}, expected one of {known}")


def placed_way(way: object, **parameters: Any) -> Way:
    """As `as_way`, for a way with a test of tasks with cores; ValueError for another."""
    found = as_way(way, **parameters)
    if not found.placed:
        known = ", ".join(placed_ways())
        raise ValueError(f"way: got {found.name!r}, expected one of {known}")
    return found
