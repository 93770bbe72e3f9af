"""Traits of classes: which objects have no identity, and how the others are reduced."""

from __future__ import annotations

import copyreg
import dataclasses
import functools

from gpusched.study.identity.module_origins import origin

__all__ = ["Traits"]

# State that a call changes although the next call's results are the same.
_CACHES: dict[tuple[str, str], frozenset[str]] = {
    ("numpy", "vectorize"): frozenset({"_ufunc"}),
}

# Classes whose objects have no identity, by name; their subclasses, too.
_REFUSED = {
    **dict.fromkeys(("_io._IOBase", "io.IOBase"), "an open file or stream"),
    **dict.fromkeys(("_thread.lock", "_thread.RLock", "threading.Condition"), "a lock"),
    **dict.fromkeys(("threading.Event", "threading.Semaphore", "threading.Barrier"), "a lock"),
    **dict.fromkeys(("threading.Thread", "multiprocessing.process.BaseProcess"), "a thread"),
    **dict.fromkeys(("_thread._local", "_contextvars.ContextVar"), "the state of a thread"),
    **dict.fromkeys(("builtins.generator", "builtins.async_generator"), "a generator"),
    **dict.fromkeys(("builtins.coroutine", "builtins.frame"), "a running function"),
    **dict.fromkeys(("weakref.ReferenceType", "weakref.ref"), "a weak reference"),
    **dict.fromkeys(("weakref.ProxyType", "weakref.CallableProxyType"), "a weak reference"),
    **dict.fromkeys(("_socket.socket", "socket.socket"), "a socket"),
    **dict.fromkeys(("ctypes.CDLL", "_ctypes.CFuncPtr"), "a loaded library"),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Traits:
    """Traits of a class: why its objects are refused, and how they are reduced."""

    refused: str | None
    is_library: bool
    plain: bool
    caches: frozenset[str]

    @classmethod
    def of(cls, kind: type) -> Traits:
        refused = None
        for base in kind.__mro__:
            name = f"{base.__module__}.{base.__qualname__}"
            refused = refused or _REFUSED.get(name)
            if base.__module__ == "itertools":
                refused = "an iterator"
        library = isinstance(kind.__module__, str) and origin(kind.__module__) is not None
        return cls(refused, library, _is_plain(kind), _cached(kind))


def _cached(cls: type) -> frozenset[str]:
    """Attributes that hold cached values of an object."""
    names = _CACHES.get((cls.__module__, cls.__qualname__), frozenset())
    for base in cls.__mro__:
        for name, value in vars(base).items():
            if isinstance(value, functools.cached_property):
                names |= {name}
    return names


def _is_plain(cls: type) -> bool:
    """Whether the objects of a class consist of its attributes, by the rules of ``object``."""
    methods = ("__reduce_ex__", "__reduce__", "__getstate__")
    return (
        cls not in copyreg.dispatch_table
        and all(getattr(cls, name) is getattr(object, name) for name in methods)
        and not hasattr(cls, "__getnewargs__")
        and not hasattr(cls, "__getnewargs_ex__")
    )
