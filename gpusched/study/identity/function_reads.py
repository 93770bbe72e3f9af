"""Names and variables that a function reads: its code, globals, imports, the user's modules.

The digest of a code object does not depend on lines.
"""

from __future__ import annotations

import builtins
import dis
import functools
import importlib
import importlib.util
import marshal
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from gpusched.study.identity.graph_digests import digest_of
from gpusched.study.identity.module_origins import origin

_HAS_DOCSTRING = 0x4000000  # a flag of Python 3.13 and later

# Instructions that name something, but not a global variable to be read.
_OTHER_NAMES = {
    *("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR"),
    *("STORE_NAME", "DELETE_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME", "IMPORT_FROM"),
}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_SILENT = {"CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL", "COPY"}
# What a class body notes about its own source.
_SOURCE_NOTES = {"__firstlineno__", "__static_attributes__"}
_FAST = re.compile("(LOAD|STORE)_FAST")


@dataclass(frozen=True, slots=True)
class NameRead:
    """A variable that is read, and the attributes read of it directly: ``name.a.b``.

    ``stored`` is true when an attribute of the last is assigned: ``name.a.b.c = ...``.
    """

    name: str
    attributes: tuple[str, ...]
    stored: bool


@dataclass(frozen=True, slots=True)
class Import:
    """An import in a function: per name, the attributes below the module and the variable bound.

    ``below`` tells whether they lie below the named module (``from a.b import c``) or below its
    first package (``import a.b``). A variable is None where the value is not stored at once.
    """

    module: str
    level: int
    below: bool
    names: tuple[tuple[tuple[str, ...], str | None], ...]


@dataclass(frozen=True, slots=True)
class CodeReads:
    """Everything that a code object and those inside it read by name, in order, once each.

    ``attributes`` also has the strings among the constants, which may be names of attributes.
    """

    variables: tuple[NameRead, ...]
    local: tuple[NameRead, ...]
    imports: tuple[Import, ...]
    attributes: frozenset[str]


def code_digest(code: CodeType) -> bytes:
    """Digest of instructions, exception table, constants, names, flags and argument counts.

    File names, lines, the function's own name and docstrings have no part in it. Constants stand in
    the instructions that load them, so that an unused one, a docstring, does not shift the others.

    Raises
    ------
    TypeError
        A constant that no compiler makes.

    Examples
    --------
    >>> one, other = compile("x + 1", "a", "eval"), compile("\\n\\nx + 1", "b", "eval")
    >>> code_digest(one) == code_digest(other)
    True
    """
    constants = code.co_consts
    digests = [_constant(item) for item in constants]
    loaded = set()
    stream: list[bytes] = []
    for step in dis.get_instructions(code):
        if step.opname == "STORE_NAME" and step.argval in _SOURCE_NOTES:
            stream.pop()
            continue
        if step.opcode in dis.hasconst and step.arg is not None:
            loaded.add(step.arg)
            stream.append(step.opname.encode() + digests[step.arg])
        elif step.opname != "EXTENDED_ARG":
            stream.append(f"{step.opname} {step.arg}".encode())
    rest = {
        digests[i]
        for i, item in enumerate(constants)
        if i not in loaded and not isinstance(item, (str, type(None)))
    }
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    words = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
    head = marshal.dumps((*counts, code.co_flags & ~_HAS_DOCSTRING, *words), 2)
    return digest_of(b"code", head, code.co_exceptiontable, *sorted(rest), b"steps", *stream)


def _constant(value: Any) -> bytes:
    if isinstance(value, CodeType):
        return code_digest(value)
    if type(value) is tuple:
        return digest_of(b"tuple", *map(_constant, value))
    if type(value) is frozenset:
        return digest_of(b"frozenset", *sorted(map(_constant, value)))
    if type(value) is slice:
        return digest_of(b"slice", *map(_constant, (value.start, value.stop, value.step)))
    if type(value) in (type(None), bool, int, float, complex, str, bytes, type(...)):
        return digest_of(b"constant", marshal.dumps(value, 2))
    raise TypeError(f"a constant of type {type(value).__name__}")


def code_reads(code: CodeType) -> CodeReads:
    """Names that a code object and those inside it read.

    Examples
    --------
    >>> reads = code_reads(compile("lambda x: helpers.scale * x", "", "eval"))
    >>> reads.variables
    (NameRead(name='helpers', attributes=('scale',), stored=False),)
    """
    variables: dict[NameRead, None] = {}
    local: dict[NameRead, None] = {}
    imports: dict[Import, None] = {}
    attributes: set[str] = set()
    pending = [code]
    while pending:
        code = pending.pop()
        pending += [item for item in reversed(code.co_consts) if isinstance(item, CodeType)]
        attributes.update(item for item in code.co_consts if isinstance(item, str))  # of getattr
        steps = list(_steps(code))
        for i, (kind, value) in enumerate(steps):
            if kind == "global":
                variables[_name_read(steps, i)] = None
            elif kind == "local":
                local[_name_read(steps, i)] = None
            elif kind == "attribute":
                attributes.add(value)
            elif kind == "import":
                imports[_import(steps, i)] = None
    return CodeReads(tuple(variables), tuple(local), tuple(imports), frozenset(attributes))


def _steps(code: CodeType) -> Iterator[tuple[str, Any]]:
    """Instructions as (kind, name), those of two variables as two."""
    cells = {*code.co_cellvars, *code.co_freevars}
    for step in dis.get_instructions(code):
        operation, value = step.opname, step.argval
        if operation in _SILENT:
            continue
        if _FAST.search(operation):
            names = value if isinstance(value, tuple) else (value,)
            for way, name in zip(_FAST.findall(operation), names, strict=True):
                if way == "STORE":
                    yield "store", name
                else:  # a cell itself is loaded to be given to an inner function
                    yield "cell" if name in cells else "local", name
        elif operation in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            yield "local", value
        elif operation in _ATTRIBUTES:
            yield "attribute", value
        elif operation in ("STORE_ATTR", "DELETE_ATTR"):
            yield "assign", value
        elif operation in ("STORE_DEREF", "STORE_GLOBAL", "STORE_NAME"):
            yield "store", value
        elif operation == "IMPORT_NAME":
            yield "import", value
        elif operation == "IMPORT_FROM":
            yield "from", value
        elif step.opcode in dis.hasname and operation not in _OTHER_NAMES:
            yield "global", value
        else:
            yield operation, value


def _name_read(steps: list[tuple[str, Any]], i: int) -> NameRead:
    end = i + 1
    while end < len(steps) and steps[end][0] == "attribute":
        end += 1
    stored = end < len(steps) and steps[end][0] == "assign"
    return NameRead(steps[i][1], tuple(name for _, name in steps[i + 1 : end]), stored)


def _import(steps: list[tuple[str, Any]], i: int) -> Import:
    """The import at step i; its level and list of names are loaded before it."""
    level, names = steps[i - 2][1], steps[i - 1][1]
    below = bool(names)
    found: list[tuple[tuple[str, ...], str | None]] = []
    path: tuple[str, ...] = ()
    for kind, value in steps[i + 1 :]:
        if kind == "from":
            if below and path:
                found.append((path, None))
            path = (value,) if below else (*path, value)
        elif kind == "store" and (path or not below):
            found.append((path, value))
            path = ()
            if not below:
                break
        elif kind not in ("SWAP", "POP_TOP") or (kind == "POP_TOP" and below):
            if path or not (below or found):
                found.append((path, None))
            break
    return Import(steps[i][1], level, below, tuple(found))


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
