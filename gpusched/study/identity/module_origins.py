"""Origin of a module: Python, an installed distribution, gpusched, or the user's own code.

Of what belongs to libraries, the names and the versions count.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.metadata
import importlib.util
import platform
import sys
import sysconfig
import types
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np

from gpusched._version import __version__

_INSTALLED = {"site-packages", "dist-packages"}


class Origin(NamedTuple):
    """A library and its version."""

    name: str
    version: str


def python_version() -> Origin:
    """The interpreter, which includes the standard library."""
    name = platform.python_implementation()
    return Origin("Python", platform.python_version() + ("" if name == "CPython" else f" {name}"))


def numpy_version() -> Origin:
    """NumPy, of which this package makes its random numbers and arrays."""
    return Origin("numpy", np.__version__)


@functools.cache
def package_version() -> Origin:
    """This package, with a digest of its files where it is not installed: these may change."""
    folder = Path(__file__).parent.parent.parent
    if not _INSTALLED.isdisjoint(folder.parts):
        return Origin("gpusched", __version__)
    files = [*folder.rglob("*.py"), *folder.rglob("*.so"), *folder.rglob("*.pyd")]
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(files):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)} ".encode())
        digest.update(content)
    return Origin("gpusched", f"{__version__} with files {digest.hexdigest()}")


def origin(name: str) -> Origin | None:
    """Library that a module belongs to, None for a module of the user.

    A module of the standard library is recognised by its name and place, an installed one by its
    place in ``site-packages`` or ``dist-packages`` and the metadata of a distribution. A module of
    an editable installation is the user's.

    Examples
    --------
    >>> origin("json.decoder").name, origin("numpy.linalg").name, origin("__main__")
    ('Python', 'numpy', None)
    """
    found = _known.get(name)
    if found is None and (found := _origin(name)) is not None:
        _known[name] = found
    return found


_known: dict[str, Origin] = {}  # libraries; a module of the user may become another


def _origin(name: str) -> Origin | None:
    top = name.partition(".")[0]
    if top == "gpusched":
        return package_version()
    place = _place(name, top)
    parts = PurePath(place).parts if place else ()
    if top in sys.stdlib_module_names:
        if not place or (_INSTALLED.isdisjoint(parts) and _within(place)):
            return python_version()
    if _INSTALLED.isdisjoint(parts):
        return None
    return _distribution(top)


def extension_file(module: Any) -> str | None:
    """Path of a module that is compiled, None for others."""
    place = getattr(module, "__file__", None)
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    return place if isinstance(place, str) and place.endswith(suffixes) else None


def _place(name: str, top: str) -> str | None:
    """Path of a module, imported or not; None for one that is built in or does not exist."""
    for loaded in (sys.modules.get(name), sys.modules.get(top)):
        if loaded is not None:
            place = getattr(loaded, "__file__", None)
            if isinstance(place, str):
                return place
            paths = list(getattr(loaded, "__path__", ()))
            return str(paths[0]) if paths else None
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.has_location:
        return None
    return spec.origin


def _within(place: str) -> bool:
    """Whether a path belongs to the standard library; frozen modules have no real path."""
    return not PurePath(place).is_absolute() or place.startswith(_library_folders())


@functools.cache
def _library_folders() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    dynload = [path for path in sys.path if PurePath(path).name == "lib-dynload"]
    return tuple(f"{path}" for path in (*paths, *dynload) if path)


@functools.cache
def _distribution(top: str) -> Origin | None:
    """The distribution of a top-level module; a package shared by several has all their names."""
    try:
        return Origin(top, importlib.metadata.version(top))
    except importlib.metadata.PackageNotFoundError:
        pass
    names = sorted(set(importlib.metadata.packages_distributions().get(top, ())))
    if not names:
        return None
    versions = [importlib.metadata.version(name) for name in names]
    return Origin(", ".join(names), ", ".join(versions))


class Libraries:
    """Libraries that objects refer to.

    Parameters
    ----------
    module
        Name of the module whose units are named without it.

    Attributes
    ----------
    versions
        The libraries that were asked for, by name.
    """

    def __init__(self, module: str) -> None:
        self.versions: dict[str, str] = {}
        self._module = module

    def holds(self, module: str) -> bool:
        """Whether a module belongs to a library, whose version then counts."""
        found = origin(module)
        if found is not None:
            self.versions[found.name] = found.version
        return found is not None

    def name_of(self, value: Any) -> bytes | None:
        """Module and name by which a library's object can be imported, None where there is none."""
        module = getattr(value, "__module__", None)
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if not isinstance(module, str) or not isinstance(name, str):
            return None
        found: Any = sys.modules.get(module)
        for step in name.split("."):
            found = getattr(found, step, None)
        if type(found) is types.MethodType and type(value) is types.FunctionType:
            found = found.__func__  # of a class method
        if found is not value or not self.holds(module):
            return None
        return f"{module}:{name}".encode()

    def unit_name(self, module: Any, name: str) -> str:
        """Name of a unit for reports, with its module unless that is the root's."""
        name = name.replace(".<locals>", "")
        return name if module in (self._module, None) else f"{module}.{name}"
