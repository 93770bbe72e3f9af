"""Stand-in for the CUDA driver: build, configuration, and check for leaks."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from native import CSRC, Compiler

FOLDER = Path(__file__).parent / "c" / "standin"


@functools.cache
def build() -> Path:
    """The built library, in a folder that goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="gpusched-standin-"))
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not in what was forked from it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    compiler = Compiler(tuple(shlex.split(os.environ.get("CC", "cc"))), "")
    target = folder / "libstandin.so"
    sources = sorted(FOLDER.glob("*.c"))
    compiler.run("-shared", "-fPIC", "-pthread", f"-I{CSRC}", *sources, "-o", target)
    return target


class Standin:
    """The stand-in of this process; the same one that gpusched opens."""

    def __init__(self) -> None:
        self.path = str(build())
        self._library = ctypes.CDLL(self.path)
        self._library.standin_graph.restype = ctypes.c_void_p
        self._library.standin_graph.argtypes = [ctypes.c_int64]
        self._library.standin_set.argtypes = [ctypes.c_char_p, ctypes.c_int64]
        self.reset()

    def reset(self) -> None:
        self._library.standin_reset()

    def set(self, **values: int) -> None:
        for name, value in values.items():
            self._library.standin_set(name.encode(), value)

    def fail(self, function: str, call: int, code: int) -> None:
        """Lets that call of a function, counted from now on, answer with a code."""
        self._library.standin_fail(function.encode(), call, code)

    def calls(self, function: str) -> int:
        return int(self._library.standin_calls(function.encode()))

    def graph(self, ns: int) -> int:
        """The handle of a captured graph that takes so long."""
        return int(self._library.standin_graph(ns))

    @property
    def live(self) -> int:
        """Handles, memory and contexts that were not given back."""
        return int(self._library.standin_live())
