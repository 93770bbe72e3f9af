"""Methods, enumerations and limits as the C core defines them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Any, SupportsIndex, overload

from gpusched import _core
from gpusched._support.text import xml


def enumeration(name: str) -> tuple[str, ...]:
    """Names of an enumeration of the core, by value or, for flags, by bit."""
    return _core.ENUMERATIONS[name]


def limit(name: str) -> int:
    """A limit of the core."""
    return _core.LIMITS[name]


@dataclass(frozen=True)
class Option:
    """An option of a method, or a parameter of a way of sharing the GPU.

    >>> option = gs.ways.Mpcp().parameters[0]
    >>> option.name, option.choices, option.default
    ('mode', ('suspend', 'busy', 'spin'), 'suspend')

    Attributes
    ----------
    name, meaning
        The name, and what it is.
    type
        "choice", "boolean", "integer", "positive integer", "number", "time" or "positive time" (in
        ticks, or text with a unit where the length of a tick is known), "integers" (one for each
        task), "times" (one, or one for each context), "way" (a way of sharing the GPU), or "data"
        (see the docstring of the function).
    choices
        The choices; empty for other types.
    default
        The default as text; None if there is none.
    """

    name: str
    type: str
    choices: tuple[str, ...]
    default: str | None
    meaning: str

    @cached_property
    def standard(self) -> Any:
        """The default as a value of its type; None if there is none."""
        if self.default is None or self.type in ("choice", "way"):
            return self.default
        return ast.literal_eval(self.default)

    @property
    def least(self) -> int:
        """The smallest number that is allowed: 1 if it must be positive."""
        return int(self.type.startswith("positive"))

    @property
    def unit(self) -> str | None:
        """ "ticks" for a time, None for other types."""
        return "ticks" if self.type.endswith("time") else None


@dataclass(frozen=True)
class Method:
    """Description of a method that analyses or simulates GPU sharing: model, claim, options.

    >>> method = gs.methods()["mpcp"]
    >>> method.model, method.claim, method.choices("mode")
    ('HostTasks', 'sufficient', ('suspend', 'busy', 'spin'))

    Attributes
    ----------
    name
        Name of the method, unique among all methods.
    model
        Class of its input: "KernelTasks", "KernelChains", "BatchTable", "HostTasks", "Launches" or
        "Workload".
    function
        Its function in the package, such as "analysis.mpcp" or "mig".
    claim
        "exact", "sufficient" (accepted sets meet all deadlines), "necessary" (rejected sets miss a
        deadline) or "simulation".
    source
        Keys of papers, with sections or equations.
    summary
        Description in one sentence.
    options
        Its options, in addition to the input and the platform.
    """

    name: str
    model: str
    function: str
    claim: str
    source: str
    summary: str
    options: tuple[Option, ...]

    def option(self, name: str) -> Option:
        """The option of this name; KeyError if there is none."""
        return self._by_name[name]

    def choices(self, name: str) -> tuple[str, ...]:
        """The choices of an option; empty if the method does not have it."""
        option = self._by_name.get(name)
        return () if option is None else option.choices

    @cached_property
    def _by_name(self) -> dict[str, Option]:
        return {option.name: option for option in self.options}


class Methods(tuple[Method, ...]):
    """All methods; prints as a table, and is indexed by name."""

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> Method: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Method, ...]: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key in self._by_name:
                return self._by_name[key]
            raise KeyError(f"unknown method {key!r}; one of {', '.join(self._by_name)}")
        return super().__getitem__(key)

    @cached_property
    def _by_name(self) -> dict[str, Method]:
        return {method.name: method for method in self}

    def _rows(self) -> list[tuple[str, ...]]:
        head = ("method", "model", "claim", "function", "source")
        return [head, *((m.name, m.model, m.claim, m.function, m.source) for m in self)]

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join(
            "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[4]])
            for row in rows
        )

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        cells = "".join(f"<th>{xml(cell)}</th>" for cell in head)
        body = "".join(
            "<tr>" + "".join(f"<td>{xml(cell)}</td>" for cell in row) + "</tr>" for row in rows
        )
        return f"<table><tr>{cells}</tr>{body}</table>"


def _read(fields: dict[str, Any]) -> Method:
    options = tuple(
        Option(**(option | {"choices": option["choices"] or ()})) for option in fields["options"]
    )
    return Method(**(fields | {"options": options}))


_METHODS = Methods(_read(fields) for fields in _core.METHODS)


def methods() -> Methods:
    """Return all methods, with model, claim, options and source.

    Examples
    --------
    >>> import gpusched as gs
    >>> gs.methods()["fmlp_plus"].choices("mode")
    ('suspend', 'busy')
    """
    return _METHODS
