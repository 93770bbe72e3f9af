"""Tables for other libraries: the Arrow PyCapsule interface, without a library for Arrow.

Polars, DuckDB, PyArrow, pandas from 3.0 on and others take an object that has these methods, as in
``polars.DataFrame(tasks)``. Numbers are not copied: the receiver points into the arrays of the
object and keeps them alive. Truth values become bits, and strings and tuples are copied.

Source: the Arrow PyCapsule interface and the Arrow C data and C stream interfaces,
https://arrow.apache.org/docs/format/CDataInterface.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.missing_values import Coded
from gpusched._support.text import shown

__all__ = ["Tabular"]

_FORMATS = {
    "int8": "c",
    "uint8": "C",
    "int16": "s",
    "uint16": "S",
    "int32": "i",
    "uint32": "I",
    "int64": "l",
    "uint64": "L",
    "float32": "f",
    "float64": "g",
}
_Node = tuple[str, str, int, tuple[Any, ...], tuple[Any, ...], Any]
"""A column as ``csrc/python/arrow/arrow_data.h`` describes it."""


class Tabular:
    """Base class of tables, which other libraries take through the Arrow PyCapsule interface.

    A class has ``_table``, from which ``to_frame`` is made, too.
    """

    __slots__ = ()

    def _table(self) -> Mapping[str, Any]:
        """Columns of equal length by name.

        A column is an array, a masked array where values are missing, `Coded`, or a sequence of
        strings, of tuples of whole numbers or of strings, or of None for what is missing.
        """
        raise NotImplementedError

    def __arrow_c_schema__(self) -> object:
        """Names and types of the columns, a capsule of an ``ArrowSchema``."""
        return _core.arrow_schema(_rows_of(self._table()))

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The rows as one struct array: capsules of an ``ArrowSchema`` and an ``ArrowArray``.

        ``requested_schema`` is not followed, as the interface allows: columns have their own types.
        """
        return _core.arrow_array(_rows_of(self._table()))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of one batch, a capsule of an ``ArrowArrayStream``.

        ``requested_schema`` is not followed, as the interface allows: columns have their own types.
        """
        return _core.arrow_stream(_rows_of(self._table()))


def _rows_of(columns: Mapping[str, Any]) -> _Node:
    """A table as a column of structures."""
    nodes = tuple(_node(str(name), column) for name, column in columns.items())
    length = nodes[0][2] if nodes else 0
    for name, _, found, *_ in nodes:
        if found != length:
            raise ValueError(f"columns: got {found} rows of {name!r}, expected {length}")
    return ("", "+s", length, (None,), nodes, None)


def _node(name: str, column: Any) -> _Node:
    if isinstance(column, Coded):
        codes = np.ascontiguousarray(column.codes, np.int8)
        return (name, "c", len(codes), (None, codes), (), _node(name, column.words))
    if not isinstance(column, np.ndarray):
        return _of_objects(name, column)
    if column.dtype.kind in "OU":
        return _of_objects(name, column.tolist())  # with None for what is masked
    mask = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
    valid = _bits(~mask) if mask is not None and mask.any() else None
    return _of_array(name, np.ma.getdata(column), valid)


def _bits(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    return np.packbits(flags, bitorder="little")


def _of_array(name: str, values: npt.NDArray[Any], valid: npt.NDArray[np.uint8] | None) -> _Node:
    if values.dtype.kind == "b":
        return (name, "b", len(values), (valid, _bits(values)), (), None)
    if (form := _FORMATS.get(values.dtype.name)) is None:
        raise _refused(name, f"values of type {values.dtype}")
    native = np.require(values, values.dtype.newbyteorder("="), ["C", "A"])
    return (name, form, len(values), (valid, native), (), None)


def _of_objects(name: str, entries: Sequence[Any]) -> _Node:
    """A column of strings or of tuples, which are lists in Arrow; of strings if all are missing."""
    kinds = set(map(type, entries))
    valid = None
    if type(None) in kinds:
        valid = _bits(np.array([entry is not None for entry in entries], np.bool_))
        kinds.discard(type(None))
    if kinds == {tuple}:
        sizes = [len(entry or ()) for entry in entries]
        flat = list(chain.from_iterable(entry or () for entry in entries))
        whole = all(isinstance(item, int) for item in flat)
        first = next((type(item) for item in flat if item is not None), str)
        item_kind = (first if first in (str, tuple) else (), type(None))
        if not whole and not all(isinstance(item, item_kind) for item in flat):
            raise _mixed(name, entries, lambda e: all(isinstance(i, item_kind) for i in e or ()))
        items = ("item", *_node(name, _whole(name, flat) if whole else flat)[1:])
        return (name, "+L", len(entries), (valid, _offsets(sizes)), (items,), None)
    if not all(issubclass(kind, str) for kind in kinds):
        raise _mixed(name, entries, lambda entry: isinstance(entry, (str, type(None))))
    # A lone surrogate is not a valid character and becomes a question mark.
    words = {entry: (entry or "").encode("utf-8", "replace") for entry in set(entries)}
    encoded = [words[entry] for entry in entries]
    text = np.frombuffer(b"".join(encoded), np.uint8)
    return (name, "U", len(entries), (valid, _offsets(map(len, encoded)), text), (), None)


def _offsets(sizes: Any) -> npt.NDArray[np.int64]:
    return np.cumsum(np.fromiter(chain([0], sizes), np.int64))


def _whole(name: str, numbers: list[int]) -> npt.NDArray[np.int64]:
    try:
        return np.array(numbers, np.int64)
    except OverflowError:
        raise _refused(name, "a whole number of more than 64 bits") from None


def _mixed(name: str, entries: Sequence[Any], fits: Callable[[Any], bool]) -> TypeError:
    row = next(row for row, entry in enumerate(entries) if not fits(entry))
    return _refused(f"{name}[{row}]", f"{shown(entries[row])} in a column of objects")


def _refused(name: str, found: str) -> TypeError:
    return TypeError(
        f"{name}: got {found}, expected a column of numbers, truth values, strings or tuples of "
        "them; to_frame() makes a pandas table of any values"
    )
