"""Variables that a function reads: globals, imports, and attributes of the user's modules."""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from gpusched.study.identity.code_reads import Import, NameRead, code_reads
from gpusched.study.identity.module_origins import origin

__all__ = ["ABSENT", "UnloadedModule", "hidden_way", "variables_read"]

# Ways to code and variables that cannot be seen in the code that takes them.
_HIDDEN_WAYS = {
    *("builtins.globals", "builtins.eval", "builtins.exec", "builtins.__import__"),
    *("importlib.import_module", "importlib.__import__", "importlib._bootstrap.__import__"),
    *("sys._getframe", "inspect.currentframe", "inspect.stack", "inspect.getclosurevars"),
    *("runpy.run_path", "runpy.run_module", "pkgutil.resolve_name", "pydoc.locate"),
    *("inspect.getmodule", "gc.get_objects", "gc.get_referrers", "gc.get_referents"),
}
_WHOLLY_HIDDEN = {"builtins", "importlib", "runpy"}
_HIDDEN_ATTRIBUTES = {
    *("__globals__", "__builtins__", "f_globals", "f_builtins", "f_locals", "__subclasses__"),
}

_UNSEEN = "reaches code and variables that cannot be seen"

# Those that the interpreter starts with; others were set from outside.
_STANDARD = {
    name: value
    for name, value in vars(builtins).items()
    if getattr(value, "__module__", None) in ("builtins", "_io", "_sitebuiltins")
    or value is NotImplemented
    or type(value) in (bool, type(None), type(...))
}


class _Absent:
    """Stands for a variable that has no value."""

    def __repr__(self) -> str:
        return "ABSENT"


class UnloadedModule:
    """Stands for a module of a library that has not been imported."""

    def __init__(self, name: str) -> None:
        self.name = name


ABSENT = _Absent()


def hidden_way(value: Any) -> str | None:
    """Reason to refuse a function, or ``sys.modules``, by which code is reached unseen."""
    if value is sys.modules:
        return f"sys.modules {_UNSEEN}"
    if type(value) in (types.BuiltinFunctionType, types.FunctionType):
        name = f"{value.__module__}.{value.__qualname__}"
        return f"{name.removeprefix('builtins.')} {_UNSEEN}" if name in _HIDDEN_WAYS else None
    return None


def variables_read(function: types.FunctionType, library: Callable[[str], bool]) -> dict[str, Any]:
    """Values of the variables that a function's code reads, by what they are: "global X".

    Parameters
    ----------
    function
        A function in Python.
    library
        Tells whether the module of a name belongs to a library. What is read of other modules has
        values of its own, "helpers.X"; a module whose attributes are not all named in the code is
        one value.

    Raises
    ------
    ValueError
        The code has access to other code or to all variables, such as by ``eval``.

    Examples
    --------
    >>> variables_read(lambda: math.pi * scale, lambda name: name == "math")
    {'global math': ABSENT, 'global scale': ABSENT}
    """
    reads = code_reads(function.__code__)
    for attribute in sorted(reads.attributes & _HIDDEN_ATTRIBUTES):
        raise ValueError(f"{attribute} {_UNSEEN}")
    found: dict[str, Any] = {}
    bound: dict[str, list[types.ModuleType]] = {}
    for one in reads.imports:
        for name, variable, value in _imported(one, function.__globals__):
            if variable is not None and isinstance(value, types.ModuleType):
                bound.setdefault(variable, []).append(value)
            elif hidden := hidden_way(value):
                raise ValueError(hidden)
            else:
                found[f"imported {name}"] = value
    names: Mapping[str, Any] = function.__globals__
    held = getattr(function, "__builtins__")  # noqa: B009, not in its type
    for read in (*reads.variables, *reads.local):
        for module in bound.get(read.name, ()):
            found |= _module_read("imported ", module.__name__, read, module, library)
    for read in reads.variables:
        name = read.name
        if name == "__name__":
            continue
        value = names.get(name, ABSENT)
        if value is ABSENT:
            value = held.get(name, ABSENT)
            if value is _STANDARD.get(name) and not hidden_way(value):
                continue  # the usual one
        if (hidden := hidden_way(value)) or name == "__builtins__":
            raise ValueError(hidden or f"{name} {_UNSEEN}")
        if isinstance(value, types.ModuleType):
            found |= _module_read("global ", name, read, value, library)
        else:
            found[f"global {name}"] = value
    return found


def _module_read(
    what: str, path: str, read: NameRead, value: Any, library: Callable[[str], bool]
) -> dict[str, Any]:
    """Values read of a module: an attribute if the code names one, else all of the module."""
    found: dict[str, Any] = {}
    known = library(value.__name__)
    if known:
        found[f"{what}{path}"] = value
    elif what == "global ":
        what = ""  # "helpers.X read by f" is clear
    if value.__name__ in _WHOLLY_HIDDEN and not read.attributes:
        raise ValueError(f"{value.__name__} {_UNSEEN}")
    for attribute in read.attributes:
        if attribute == "__dict__":
            break
        value = _attribute(value, attribute)
        path = f"{path}.{attribute}"
        if hidden := hidden_way(value):
            raise ValueError(hidden)
        if not isinstance(value, types.ModuleType):
            if not known or (value := _seen(value)) is not ABSENT:
                found[f"{what}{path}"] = value
            return found
        known = library(value.__name__)
    if not known and not read.stored:
        found[f"{what or 'all of '}{path}"] = value
    return found


def _seen(value: Any) -> Any:
    """The object by which an attribute of a library is recognised, which may have been set.

    A function or class goes by its name, of a method of a module's own object the function alone;
    ABSENT for other objects of the library, which change by themselves.
    """
    owner = getattr(value, "__self__", None)
    if type(value) is types.MethodType and not isinstance(owner, type):
        for name in (value.__module__, type(owner).__module__):
            held = getattr(sys.modules.get(str(name)), "__dict__", {})
            if any(owner is one for one in held.values()):
                return value.__func__
    named = callable(value) and isinstance(getattr(value, "__name__", None), str)
    simple = value is None or type(value) in (bool, int, float, complex, str, bytes)
    own = origin(str(type(value).__module__)) is None
    partial = type(value) is functools.partial
    return value if named or simple or own or partial else ABSENT


def _attribute(module: types.ModuleType, name: str) -> Any:
    held = vars(module)
    if name in held:
        return held[name]
    try:
        return getattr(module, name)
    except Exception:  # a missing name, or a module's own __getattr__
        return ABSENT


def _imported(one: Import, variables: Mapping[str, Any]) -> list[tuple[str, str | None, Any]]:
    """(name, variable, value) of what an import inside a function gives.

    Modules of the user are imported, as the function would do; one that cannot be is absent.
    """
    name = one.module
    try:
        if one.level:
            package = variables.get("__package__") or ""
            name = importlib.util.resolve_name("." * one.level + name, package)
        library = origin(name)
        if library is not None and library.name != "Python" and name not in sys.modules:
            return [(name, None, UnloadedModule(name))]  # its version is enough
        module: Any = importlib.import_module(name)
    except ImportError:
        module = ABSENT
    if not one.below and module is not ABSENT:
        module = sys.modules[name.partition(".")[0]]
    found = []
    for path, variable in one.names:
        value = module
        for attribute in path:
            if value is not ABSENT:
                value = _member(value, attribute)
        below = ".".join((name if one.below else name.partition(".")[0], *path))
        found.append((below, variable, value))
    return found


def _member(module: Any, name: str) -> Any:
    """An attribute of a package, or the module of that name in it."""
    value = _attribute(module, name)
    if value is ABSENT and hasattr(module, "__path__"):
        try:
            return importlib.import_module(f"{module.__name__}.{name}")
        except ImportError:
            pass
    return value
