"""A consumer of Arrow data in ctypes: structures, what they say as Python values, their release.

Written from https://arrow.apache.org/docs/format/CDataInterface.html, without a library for Arrow.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

__all__ = ["Array", "Schema", "Stream", "entries", "from_capsule", "moved", "release", "table"]


class Schema(ctypes.Structure):
    """An ``ArrowSchema``."""


class Array(ctypes.Structure):
    """An ``ArrowArray``."""


class Stream(ctypes.Structure):
    """An ``ArrowArrayStream``."""


Schema._fields_ = [
    *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
    *((name, ctypes.c_int64) for name in ("flags", "n_children")),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    *((name, ctypes.c_void_p) for name in ("release", "private_data")),
]
_COUNTS = ("length", "null_count", "offset", "n_buffers", "n_children")
Array._fields_ = [
    *((name, ctypes.c_int64) for name in _COUNTS),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    *((name, ctypes.c_void_p) for name in ("release", "private_data")),
]
_CALLS = ("get_schema", "get_next", "get_last_error", "release", "private_data")
Stream._fields_ = [(name, ctypes.c_void_p) for name in _CALLS]

_LABELS: dict[Any, bytes] = {
    Schema: b"arrow_schema",
    Array: b"arrow_array",
    Stream: b"arrow_array_stream",
}
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]

_NUMBERS: dict[str, Any] = {
    "c": ctypes.c_int8,
    "C": ctypes.c_uint8,
    "s": ctypes.c_int16,
    "S": ctypes.c_uint16,
    "i": ctypes.c_int32,
    "I": ctypes.c_uint32,
    "l": ctypes.c_int64,
    "L": ctypes.c_uint64,
    "f": ctypes.c_float,
    "g": ctypes.c_double,
}


def from_capsule(capsule: object, kind: Any) -> Any:
    """The structure in a capsule; the capsule has to stay alive."""
    return kind.from_address(_pointer_of(capsule, _LABELS[kind]))


def moved(source: Any) -> Any:
    """The structure at another place; the one at the source is released then."""
    target = type(source)()
    ctypes.memmove(ctypes.byref(target), ctypes.byref(source), ctypes.sizeof(target))
    source.release = None
    return target


def release(structure: Any, *, call: int | None = None) -> None:
    """Call the release function, or the one of an earlier time, without the GIL."""
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(call or structure.release)(ctypes.addressof(structure))


def next_of(stream: Any) -> Any:
    """The next array of a stream; a released one at its end."""
    array = Array()
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(stream.get_next)
    assert call(ctypes.addressof(stream), ctypes.addressof(array)) == 0
    return array


def schema_of(stream: Any) -> Any:
    """The schema of a stream."""
    schema = Schema()
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(stream.get_schema)
    assert call(ctypes.addressof(stream), ctypes.addressof(schema)) == 0
    return schema


def _bits(address: int | None, length: int) -> list[bool]:
    if address is None:
        return [True] * length
    held = (ctypes.c_uint8 * (-(-length // 8))).from_address(address)
    return [bool(held[i // 8] >> i % 8 & 1) for i in range(length)]


def _values(schema: Any, array: Any) -> Iterator[Any]:
    """The entries of a column, whether or not they are there."""
    form, length = schema.format.decode(), array.length
    if form == "+s":
        names = [schema.children[i].contents.name.decode() for i in range(schema.n_children)]
        columns = [
            entries(schema.children[i].contents, array.children[i].contents)
            for i in range(schema.n_children)
        ]
        yield from (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    elif form == "b":
        yield from _bits(array.buffers[1], length)
    elif form in ("U", "+L"):
        place = list((ctypes.c_int64 * (length + 1)).from_address(array.buffers[1]))
        if form == "U":
            whole = ctypes.string_at(array.buffers[2], place[-1])
            yield from (whole[a:b].decode() for a, b in pairwise(place))
        else:
            items = entries(schema.children[0].contents, array.children[0].contents)
            yield from (tuple(items[a:b]) for a, b in pairwise(place))
    else:
        values = list((_NUMBERS[form] * length).from_address(array.buffers[1]))
        if schema.dictionary:
            words = entries(schema.dictionary.contents, array.dictionary.contents)
            values = [words[code] for code in values]
        yield from values


def entries(schema: Any, array: Any) -> list[Any]:
    """The entries of a column, None for missing ones."""
    assert array.offset == 0 and array.n_children == schema.n_children
    there = _bits(array.buffers[0], array.length)
    assert array.null_count in (-1, there.count(False))
    return [v if known else None for v, known in zip(_values(schema, array), there, strict=True)]


def table(held: Any) -> dict[str, list[Any]]:
    """The columns of an object that has the Arrow PyCapsule interface, read from its stream."""
    capsule = held.__arrow_c_stream__()
    stream = from_capsule(capsule, Stream)
    schema, array = schema_of(stream), next_of(stream)
    assert schema.format == b"+s" and schema.flags == 2
    assert next_of(stream).release is None  # the end
    found = {
        schema.children[i].contents.name.decode(): entries(
            schema.children[i].contents, array.children[i].contents
        )
        for i in range(schema.n_children)
    }
    assert all(len(column) == array.length for column in found.values())
    release(schema)
    release(array)
    return found
