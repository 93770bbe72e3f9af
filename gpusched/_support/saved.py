"""Base classes of results: frozen dataclasses of read-only arrays, and objects that are saved.

The reading and writing of files is in ``saved_files``, which is imported with the first file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

import numpy as np

from gpusched._support.arguments import MAX_BYTES, frozen


def same(one: Any, other: Any) -> bool:
    """True when two fields are equal; arrays are compared by their contents."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one is other or bool(one == other)


class Frozen:
    """Base class of frozen dataclasses that hold arrays.

    Arrays are made read-only. Objects are compared by their contents, but for fields that are
    declared with ``compare=False``, and therefore have no hash.
    Unpickling calls the constructor, so that the arrays are read-only again.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                frozen(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(
            same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self) if f.compare
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (type(self), tuple(getattr(self, f.name) for f in fields(self)))


Made = TypeVar("Made", bound="Saved")


class Saved:
    """Base of classes whose objects can be saved; a mixin for dataclasses.

    A class sets ``_KIND``, the kind in its files, ``_VERSION``, the version that is written, and
    ``_PARTS``, the classes of objects inside its own; ``_OLD_NAMES`` has the names of fields in
    files of version 0.1 that have other names now. ``_fields`` gives the values to be saved and
    ``_from_fields`` makes an object of them, by the constructor, which checks them; both serve
    dataclasses as they are.
    """

    _KIND: ClassVar[str]
    _VERSION: ClassVar[int] = 1
    _PARTS: ClassVar[tuple[type[Saved], ...]] = ()
    _OLD_NAMES: ClassVar[Mapping[str, str]] = {}

    def _fields(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def _from_fields(cls: type[Made], values: dict[str, Any]) -> Made:
        return cls(**values)

    @classmethod
    def _from_file(cls: type[Made], values: Mapping[str, Any]) -> Made:
        """An object of the values in a file of this or an earlier version."""
        return cls._from_fields({cls._OLD_NAMES.get(name, name): values[name] for name in values})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `load` reads back as an equal object.

        An existing file is replaced only when the new one is complete. Raises OSError if it cannot
        be written.
        """
        from gpusched._support.saved_files import save_arrays

        save_arrays(path, self._KIND, self._VERSION, self._fields())

    @classmethod
    def load(cls: type[Made], path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Made:
        """Read a file written by `save`, of at most ``max_bytes`` bytes unpacked (default: 4 GiB).

        Raises OSError if the file cannot be read or is not a regular file. Raises ValueError, with
        the path, if it does not contain such an object, is damaged, too large, or of an unknown
        version.
        """
        from gpusched._support.saved_files import load_object

        made: Made = load_object(path, cls, cls._PARTS, max_bytes)
        return made
