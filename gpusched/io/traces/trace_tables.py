"""Parts common to the tables of traces: columns, selection, frames, the GPU, patterns, labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array, frozen
from gpusched._support.tabular import optional
from gpusched._support.text import shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from gpusched.model.gpu import GPU

Names = NDArray[np.object_]

INT64_MAX = 2**63 - 1


class Shaped(Protocol):
    """Columns of threads, registers and shared memory."""

    @property
    def threads(self) -> Int64Array:
        """Threads of one block."""

    @property
    def regs(self) -> Int64Array:
        """Registers of one thread."""

    @property
    def smem(self) -> Int64Array:
        """Bytes of shared memory of one block."""


def known_gpu(gpu: GPU | None) -> GPU:
    """``gpu``, or a ``ValueError`` when it is None."""
    if gpu is None:
        raise ValueError("gpu: got None, expected the GPU of the trace (read the trace with gpu=)")
    return gpu


def occupancy_of(gpu: GPU | None, shapes: Shaped) -> Int64Array:
    """Number of blocks of each launch or kernel that an empty SM can host; 0 without a shape."""
    from gpusched.model.gpu import occupancy

    gpu = known_gpu(gpu)
    threads = np.maximum(shapes.threads, 1)
    resident = occupancy(gpu, threads=threads, regs=shapes.regs, smem=shapes.smem)
    return np.where(shapes.threads > 0, resident, 0)


def gpu_text(gpu: GPU | None) -> str:
    if gpu is None:
        return "an unknown GPU"
    return f"{str(gpu.name)[:60] or 'a GPU'} ({gpu.sms} SMs)"


Table = TypeVar("Table", bound="DataclassInstance")


def column(values: Iterable[Any], dtype: Any = np.int64) -> Any:
    """A read-only one-dimensional array."""
    if isinstance(values, np.ndarray):
        return frozen(values.astype(dtype))
    values = list(values)
    array = np.empty(len(values), dtype=dtype)
    array[:] = values
    return frozen(array)


def total(times: Int64Array) -> int:
    """The sum of times, which may exceed 64 bits."""
    return sum(times.tolist())


def take(table: Table, chosen: NDArray[Any]) -> Table:
    """The table restricted to the chosen entries of every array."""
    columns = {}
    for field in fields(table):
        value = getattr(table, field.name)
        if isinstance(value, np.ndarray):
            columns[field.name] = column(value[chosen], value.dtype)
    return replace(table, **columns)


def table_of(table: Any, missing: Sequence[str] = ()) -> dict[str, Any]:
    """The arrays of a table by name.

    ``missing``: names of the arrays in which -1 stands for nothing, masked here.
    """
    columns = {f.name: getattr(table, f.name) for f in fields(table)}
    arrays = {k: v for k, v in columns.items() if isinstance(v, np.ndarray)}
    return {k: optional(v) if k in missing else v for k, v in arrays.items()}


def searcher(pattern: str | re.Pattern[str]) -> Callable[[str], bool]:
    """Whether a text contains a match of a regular expression."""
    search = compiled(pattern, "pattern").search
    return lambda name: search(name) is not None


def compiled(pattern: str | re.Pattern[str], name: str) -> re.Pattern[str]:
    """The argument ``name`` as a regular expression; ``ValueError`` for a malformed one."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(
            f"{name}: got {shown(written(pattern))}, expected a regular expression: {error}"
        ) from error


def written(pattern: str | re.Pattern[str]) -> str:
    """The text of a regular expression."""
    return pattern if isinstance(pattern, str) else pattern.pattern


LABEL_LENGTH = 40
_NESTED = {"<": ">", "(": ")", "[": "]", "{": "}"}


def labels(names: Iterable[str]) -> list[str]:
    """Short names, all different, of at most ``LABEL_LENGTH`` characters."""
    used: set[str] = set()
    last: dict[str, int] = {}
    chosen = []
    for name in names:
        short = _fit(_short(name), LABEL_LENGTH)
        label, number = short, last.get(short, 1)
        while label in used:
            number += 1
            suffix = f"#{number}"
            label = _fit(short, LABEL_LENGTH - len(suffix)) + suffix
        last[short] = number
        used.add(label)
        chosen.append(label)
    return chosen


def _short(name: str) -> str:
    """A kernel's own name, without return type, namespaces, template arguments, parameters."""
    text = re.sub(r"\((anonymous namespace|anonymous)\)|<unnamed>", "anonymous", name)
    kept: list[str] = []
    closing: list[str] = []
    for character in text:
        if closing:
            # Inside parentheses < and > may be comparisons; templates there are dropped anyway.
            if character in _NESTED and not (character == "<" and closing[-1] == ")"):
                closing.append(_NESTED[character])
            elif character == closing[-1]:
                closing.pop()
        elif character == "(" and kept:
            break
        elif character in _NESTED:
            closing.append(_NESTED[character])
        elif character.isprintable():
            kept.append(character)
    words = "".join(kept).split()
    parts = [part for part in words[-1].split("::") if part] if words else []
    short = parts[-1] if parts else ""
    if short.lower() == "kernel":
        # Not distinctive: take the_real_name of cutlass::Kernel<the_real_name>, or the namespace.
        named = re.search(rf"\b{short}<([A-Za-z]\w*_\w*)[,>]", text)
        short = named[1] if named else "::".join(parts[-2:])
    return short or "".join(c for c in name if c.isprintable()).strip() or "kernel"


def _fit(text: str, length: int) -> str:
    """``text`` cut to ``length`` characters in its middle; similar names differ at their ends."""
    if len(text) <= length:
        return text
    tail = (length - 2) // 2
    return f"{text[: length - 2 - tail]}..{text[-tail:]}"
