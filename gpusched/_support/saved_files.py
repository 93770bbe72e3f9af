"""Files of saved objects: a zip file of NumPy arrays and a JSON header with a kind and a version.

``save_arrays`` and ``load_arrays`` write and read the named values of one object. A file is an
``.npz`` archive: NumPy opens its arrays. Nothing in it is ever unpickled, and the same values give
the same bytes.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Container, Mapping, Sequence
from fractions import Fraction
from typing import IO, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import MAX_BYTES
from gpusched._support.files import replacing
from gpusched._support.input_files import TooLarge, check_size, opened, read_all, zip_members
from gpusched._support.text import path_text, shown

_FORMAT = "gpusched saved object"
_LAYOUT = 1  # version of the file layout, not of its content
_HEADER = "header.json"
_DTYPES = "biufU"
_PIECE = 1 << 20  # bytes

# Exceptions that constructors raise for invalid values.
_WRONG = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@runtime_checkable
class SavedObject(Protocol):
    """Protocol of an object that can be saved; see ``Saved``."""

    _KIND: ClassVar[str]
    _VERSION: ClassVar[int]

    def _fields(self) -> dict[str, Any]: ...
    @classmethod
    def _from_file(cls, values: Mapping[str, Any]) -> Any: ...


def save_arrays(
    path: str | os.PathLike[str], kind: str, version: int, fields: Mapping[str, Any]
) -> None:
    """Write named values as one file, for `load_arrays`.

    Parameters
    ----------
    path
        The file; an existing one is replaced once the new one is complete. The name is taken as it
        is, without a suffix being added.
    kind, version
        Kind of the values, such as ``"KernelTasks"``, and version of their names and meanings,
        from 1.
    fields
        Names and values: arrays of bool, integers, floats or strings, of any shape; None, bool,
        int, float, str, `Fraction` and NumPy's scalars, which come back as Python's; tuples, lists
        and dicts of such values; and objects of classes derived from ``Saved``.

    Raises
    ------
    TypeError
        A value of another type, with its name.
    OSError
        From the file system.
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    header = {
        "format": _FORMAT,
        "layout": _LAYOUT,
        "kind": kind,
        "version": version,
        "fields": {name: _encoded(value, name, arrays) for name, value in fields.items()},
    }
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        text = json.dumps(header, separators=(",", ":"))
        archive.writestr(_member(_HEADER), text, zipfile.ZIP_DEFLATED)
        for name, array in arrays.items():
            with archive.open(_member(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(_InPieces(member), array, allow_pickle=False)


def load_arrays(
    path: str | os.PathLike[str],
    kind: str,
    versions: Container[int],
    parts: Sequence[type[SavedObject]] = (),
    max_bytes: int = MAX_BYTES,
) -> dict[str, Any]:
    """Read named values from a file that `save_arrays` wrote.

    Parameters
    ----------
    path
        The file.
    kind, versions
        The kind that is expected and the versions that are known.
    parts
        The classes of objects among the values.
    max_bytes
        The largest size, unpacked, that is read.

    Returns
    -------
    dict
        Names and values, of the types that were saved; arrays are new and can be written to. The
        values are not checked beyond that: a constructor should do so.

    Raises
    ------
    ValueError
        A file of another kind or version, or one that is damaged or too large; the message has the
        path.
    OSError
        From the file system, and for what is not a regular file.
    """
    arrays = _members(path, kind, max_bytes)
    text = arrays.pop(_HEADER, None)
    try:
        header = json.loads(text) if isinstance(text, bytes) else None
        if not isinstance(header, dict) or header.get("format") != _FORMAT:
            raise ValueError("a file without the header of a saved object")
        if header.get("kind") != kind:
            raise ValueError(f"a saved {shown(header.get('kind'))}")
        if header.get("layout") != _LAYOUT:
            raise ValueError(f"layout {shown(header.get('layout'))}; known: {_LAYOUT}")
        version = header.get("version")
        if type(version) is not int or version not in versions:
            raise ValueError(f"version {shown(version)}; known: {_listed(versions)}")
        reader = _Decoder(arrays, {part._KIND: part for part in parts})
        values = reader.mapping(header.get("fields"))
        if arrays:
            raise ValueError(f"the array {shown(next(iter(arrays)))}, which has no place")
        return values
    except _WRONG as error:
        raise _refusal(path, str(error) or type(error).__name__, kind) from None


def load_object(
    path: str | os.PathLike[str],
    kind: type[SavedObject],
    parts: Sequence[type[SavedObject]],
    max_bytes: int,
) -> Any:
    """Make an object of the class ``kind`` from its file, by the values of `load_arrays`.

    Raises as `load_arrays` does, and ValueError with ``path`` for values that the class refuses.
    """
    versions = range(1, kind._VERSION + 1)
    values = load_arrays(path, kind._KIND, versions, parts, max_bytes)
    try:
        return kind._from_file(values)
    except _WRONG as error:
        raise _refusal(path, str(error), kind._KIND) from error


def saved_kind(path: str | os.PathLike[str], expected: str, max_bytes: int = MAX_BYTES) -> str:
    """The kind of object that a file holds, "" where it does not say one.

    Raises ValueError with ``path`` and what is ``expected`` for a file that cannot be read, and
    OSError.
    """
    text = _members(path, expected, max_bytes).get(_HEADER)
    try:
        header = json.loads(text) if isinstance(text, bytes) else None
    except _WRONG:
        header = None
    kind = header.get("kind") if isinstance(header, dict) else None
    return kind if isinstance(kind, str) else ""


def read_npz(
    path: str | os.PathLike[str], kind: str, max_bytes: int = MAX_BYTES
) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays of an ``.npz`` file; damage is found by the checksums of all bytes.

    Raises ValueError with ``path`` and ``kind`` for a file that is not such an archive, is damaged
    or has more than ``max_bytes`` bytes unpacked, and OSError.
    """
    members = _members(path, kind, max_bytes)
    for name, array in members.items():
        if not isinstance(array, np.ndarray):
            raise _refusal(path, f"a file with {shown(name)}", kind)
    return members


def _refusal(path: str | os.PathLike[str], found: str, kind: str) -> ValueError:
    return ValueError(f"{path_text(path)}: got {found}, expected a saved {kind}")


def _listed(versions: Container[int]) -> str:
    return ", ".join(str(version) for version in range(1, 100) if version in versions)


class _InPieces:
    """Writes in pieces: NumPy writes 16 MiB at once, which take a third of a second to compress."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, data: bytes) -> None:
        for begin in range(0, len(data), _PIECE):
            self._file.write(memoryview(data)[begin : begin + _PIECE])


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # of a fixed date, so that equal objects make equal files
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _members(path: str | os.PathLike[str], kind: str, max_bytes: int) -> dict[str, Any]:
    """The arrays of the members ``NAME.npy`` by NAME, and the bytes of other members."""
    found: dict[str, Any] = {}
    where = path_text(path)
    with opened(where) as given:
        check_size(where, os.fstat(given.fileno()).st_size, max_bytes)
        file = given if given.seekable() else io.BytesIO(read_all(given, where, max_bytes))
        try:
            for name, data in zip_members(file, where, max_bytes):
                if name in found or name.removesuffix(".npy") in found:
                    raise ValueError(f"the member {shown(name)} twice")
                if name.endswith(".npy"):
                    found[name.removesuffix(".npy")] = array_of(data, name)
                else:
                    found[name] = data
        except (MemoryError, TooLarge):
            raise
        except Exception as error:  # zipfile and zlib raise errors of many types
            text = str(error) or type(error).__name__
            raise _refusal(
                where, f"a file that cannot be read ({shown(text, 100)})", kind
            ) from None
    return found


def array_of(data: bytes, name: str) -> npt.NDArray[Any]:
    """The array of an ``.npy`` member; ``ValueError`` for a damaged one.

    Its size is compared before memory is taken for it.
    """
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        header: Any = None
        if version == (1, 0):
            header = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            header = np.lib.format.read_array_header_2_0(stream)
    except Exception:  # NumPy's own messages recommend to unpickle what is in the file
        raise ValueError(f"{shown(name)}: a damaged header of an array") from None
    if header is None:
        raise ValueError(f"{shown(name)}: version {version} of the array format")
    shape, columns_first, dtype = header
    if dtype.kind not in _DTYPES or dtype.hasobject:
        raise ValueError(f"{shown(name)}: an array of type {shown(dtype)}")
    if any(length < 0 for length in shape):
        raise ValueError(f"{shown(name)}: an array of shape {shown(shape)}")
    size = math.prod(shape) * dtype.itemsize
    if size != len(data) - stream.tell():
        raise ValueError(f"{shown(name)}: {len(data) - stream.tell()} bytes for {size}")
    array = np.zeros(shape, dtype.newbyteorder("="), "F" if columns_first else "C")
    if size:
        flat = np.frombuffer(data, dtype, offset=stream.tell())
        array[...] = flat.reshape(shape, order="F" if columns_first else "C")
    return array


# Values in the header: JSON's own for None, bool, int, float and str, a list for a list, and an
# object with one key, the type, for everything else.


def _encoded(value: Any, name: str, arrays: dict[str, npt.NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _DTYPES:
            raise TypeError(f"{name}: got an array of {value.dtype}, expected numbers or strings")
        key = name if name.replace(".", "").isidentifier() and name not in arrays else ""
        key = key or f"array {len(arrays)}"
        arrays[key] = np.asarray(value, order="C")
        return {"array": key}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, (tuple, list)):
        items = [_encoded(item, f"{name}.i{i}", arrays) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, Mapping):
        return {
            "dict": [
                [_encoded(k, name, arrays), _encoded(v, f"{name}.{k}", arrays)]
                for k, v in value.items()
            ]
        }
    if isinstance(value, SavedObject):
        inner = {k: _encoded(v, f"{name}.{k}", arrays) for k, v in value._fields().items()}
        return {"object": [value._KIND, value._VERSION, inner]}
    raise TypeError(f"{name}: got {type(value).__name__}, expected a value that can be saved")


class _Decoder:
    """Decoder of values encoded by `_encoded`; it takes each array from ``arrays`` once."""

    def __init__(self, arrays: dict[str, Any], parts: Mapping[str, type[SavedObject]]) -> None:
        self.arrays = arrays
        self.parts = parts

    def mapping(self, given: Any) -> dict[str, Any]:
        if not isinstance(given, dict):
            raise ValueError("a header without fields")
        return {name: self.value(value) for name, value in given.items()}

    def value(self, given: Any) -> Any:
        if isinstance(given, list):
            return [self.value(item) for item in given]
        if not isinstance(given, dict):
            return given
        if len(given) != 1:
            raise ValueError(f"a value of {len(given)} types")
        [(kind, content)] = given.items()
        if kind == "array":
            array = self.arrays.pop(content)
            if not isinstance(array, np.ndarray):
                raise ValueError(f"the member {shown(content)}, which is not an array")
            return array
        if kind == "fraction":
            return Fraction(content)
        if kind == "tuple":
            return tuple(self.value(item) for item in content)
        if kind == "dict":
            return {self.value(key): self.value(item) for key, item in content}
        if kind == "object":
            name, version, values = content
            part = self.parts[name]
            if type(version) is not int or not 1 <= version <= part._VERSION:
                raise ValueError(f"a {name} of version {shown(version)}")
            return part._from_file(self.mapping(values))
        raise ValueError(f"a value of type {shown(kind)}")
