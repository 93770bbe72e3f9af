"""Folders and compiler options of the runtime library that is installed with the package."""

from __future__ import annotations

import shlex
from pathlib import Path

__all__ = ["cflags", "get_include", "get_library_dir", "libs"]

_PACKAGE = Path(__file__).resolve().parents[1]


def get_include() -> str:
    """The folder to pass to a compiler with -I, for ``#include <gpusched/rt.h>``.

    >>> gs.rt.get_include().endswith("include")
    True

    Raises FileNotFoundError if the package was built without the library.
    """
    return str(_part("include", "gpusched/rt.h"))


def get_library_dir() -> str:
    """The folder with ``libgpusched_rt.a`` and the files for pkg-config and CMake.

    >>> gs.rt.get_library_dir().endswith("lib")
    True

    Raises FileNotFoundError if the package was built without the library.
    """
    return str(_part("lib", "libgpusched_rt.a"))


def cflags() -> str:
    """Options for compiling, quoted for a shell.

    >>> gs.rt.cflags() == f"-I{gs.rt.get_include()}"
    True
    """
    return shlex.join([f"-I{get_include()}"])


def libs() -> str:
    """Options for linking, quoted for a shell. The library is static: nothing is needed later.

    >>> gs.rt.libs().endswith("libgpusched_rt.a -lpthread")
    True
    """
    return shlex.join([f"{get_library_dir()}/libgpusched_rt.a", "-lpthread"])


def _part(folder: str, file: str) -> Path:
    found = _PACKAGE / folder
    if not (found / file).is_file():
        raise FileNotFoundError(
            f"{found / file} is not there: build the package again (pip install .)"
        )
    return found
