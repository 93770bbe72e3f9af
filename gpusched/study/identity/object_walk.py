"""Graph of everything that decides a value or the results of a function.

Each object becomes a node with a label (its type and what has no parts) and edges to the objects
that it consists of. Functions, classes and modules of the user are *units*: a function consists of
its code, defaults, closure, attributes and the globals that the code reads, a class of its bases
and attributes, a module of its variables. Whatever belongs to a library (Python, an installed
distribution, gpusched) is named and not followed; the versions of these libraries are collected.
Other objects consist of what ``__reduce_ex__`` says.
"""

from __future__ import annotations

import abc
import copyreg
import dataclasses
import enum
import functools
import hashlib
import itertools
import marshal
import random
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gpusched.study.identity.code_reads import code_digest
from gpusched.study.identity.function_reads import (
    ABSENT,
    UnloadedModule,
    hidden_way,
    variables_read,
)
from gpusched.study.identity.graph_digests import Vertex, digest_of
from gpusched.study.identity.module_origins import extension_file, origin

__all__ = ["SELF", "IdentityError", "Node", "Walk"]


class IdentityError(ValueError):
    """A part of a function, or of a value, that has no identity that could be compared later."""


@dataclasses.dataclass(slots=True)
class Node(Vertex):
    """A vertex with names for reports.

    Attributes
    ----------
    kind
        "function", "class", "module": units; "fields": each child has a name; "data": others.
    display
        Name of a unit.
    head
        The label without the keys of the children.
    names
        Per child the text before and after the path below it, ("global X", " read by f"), or for
        "fields" the path itself, (".scale", ""); empty for data.
    parent, position
        The node that was first found to refer to it, and by which child.
    reductions
        Number of nodes above it whose parts were made by a ``__reduce__`` of their own.
    """

    kind: str = "data"
    display: str = ""
    head: bytes = b""
    names: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    parent: int = -1
    position: int = 0
    reductions: int = 0

    @property
    def unit(self) -> bool:
        return self.kind in ("function", "class", "module")


@dataclasses.dataclass(slots=True)
class _Shape:
    """Label and parts of an object. A part is its key, which is hashed, and the object."""

    label: bytes
    parts: Iterable[tuple[str, Any]] = ()
    kind: str = "data"
    display: str = ""
    unordered: bool = False
    reduced: bool = False
    titles: list[tuple[str, str]] | None = None  # of the parts of a unit


@dataclasses.dataclass(frozen=True, slots=True)
class _Traits:
    """Traits of a class: why its objects are refused, and how they are reduced."""

    refused: str | None
    is_library: bool
    plain: bool
    caches: frozenset[str]

    @classmethod
    def of(cls, kind: type) -> _Traits:
        refused = None
        for base in kind.__mro__:
            name = f"{base.__module__}.{base.__qualname__}"
            refused = refused or _REFUSED.get(name)
            if base.__module__ == "itertools":
                refused = "an iterator"
        library = isinstance(kind.__module__, str) and origin(kind.__module__) is not None
        return cls(refused, library, _is_plain(kind), _cached(kind))


_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, type(...)})
_SCALARS = frozenset(np.dtype(code).type for code in "?bBhHiIlLqQefdFD")
_MOST_REDUCTIONS = 500
_MOST_ITEMS = 10_000_000
_LONG = 256  # bytes of a value beyond which its digest is kept

_MISSING = b"missing"

SELF = "\0"  # stands in the names of a unit's parts for the name of the unit

_NEW_OBJECT = getattr(copyreg, "__newobj__")  # noqa: B009, not in the types of copyreg

_BUILTIN = (
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)

# Attributes of a class that say where its source is or are made by the machinery of classes.
_CLASS_NOTES = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__"),
    *("__static_attributes__", "__annotations__", "__annotate__", "__annotate_func__"),
    *("__annotations_cache__", "__conditional_annotations__", "__slotnames__"),
    *("__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__", "__type_params__"),
    "__dataclass_params__",
}
_ENUM_NOTES = {"_member_map_", "_member_names_", "_value2member_map_"} | {
    *("_unhashable_values_", "_hashable_values_", "_unhashable_values_map_", "_sort_order_"),
}

# State that a call changes although the next call's results are the same.
_CACHES: dict[tuple[str, str], frozenset[str]] = {
    ("numpy", "vectorize"): frozenset({"_ufunc"}),
}

# The hidden generators of the modules random and numpy.random: their functions go by name.
_SHARED = {id(getattr(call, "__self__", None)) for call in (random.random, np.random.rand)}

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


class Walk:
    """Graph of the objects reached from one.

    Parameters
    ----------
    root
        The object.
    module
        Name of the module whose units are named without it.
    title
        Text before and after the path of a part of ``root``.

    Attributes
    ----------
    nodes
        The nodes; the first has ``root`` as its only child.
    versions
        Libraries that are referred to, by name.
    reduced
        True when a class of the user says by itself what its objects consist of.
    """

    def __init__(self, root: Any, module: str, title: tuple[str, str]) -> None:
        self.nodes = [Node(b"root", [], kind="root", names=[title])]
        self.versions: dict[str, str] = {}
        self.reduced = False
        self._module = module
        self._objects: list[Any] = [None]
        self._index: dict[int, int] = {}
        self._traits: dict[int, _Traits] = {}
        self._kept: list[type] = []
        self._guarded(0, lambda: self.nodes[0].children.append(self._child(root, 0, 0)))
        done = 1
        while done < len(self.nodes):
            self._guarded(done, functools.partial(self._expand, done))
            done += 1

    def title(self, number: int, position: int | None = None) -> str:
        """Name of a node, or of one of its children, for a message."""
        path: list[str] = []
        node = self.nodes[number]
        while True:
            if position is not None:
                before, after = self._step(node, position)
                path.append(before)
                if node.unit or node.kind == "root":
                    if len(path) > 8:
                        path[4:-4] = ["..."]
                    return ("".join(reversed(path)) + after).replace(SELF, node.display)
            position, node = node.position, self.nodes[node.parent]

    def _step(self, node: Node, position: int) -> tuple[str, str]:
        if node.names:
            return node.names[position]
        if node.label == b"dict":
            key = node.children[position - 1] if position % 2 else None
            known = isinstance(key, bytes) and key[:1] == b"a"
            return (f"[{marshal.loads(key[1:])!r}]" if known else "[...]"), ""  # type: ignore[index]
        return f"[{position}]", ""

    def _guarded(self, number: int, step: Callable[[], object]) -> None:
        """Run a step; errors of the user's own methods become refusals."""
        try:
            step()
        except (IdentityError, MemoryError):
            raise
        except Exception as error:
            text = str(error) or type(error).__name__
            raise self._refusal(number, self._objects[number], f": {text}") from error

    def _refusal(self, number: int, value: Any, why: str) -> IdentityError:
        where = self.title(number) if number else "".join(self.nodes[0].names[0])
        return IdentityError(
            f"{where}: got a {type(value).__name__}, expected something that can be identified"
            f"{why[:300]}; pass key=... to identify the function yourself"
        )

    def _expand(self, number: int) -> None:
        node = self.nodes[number]
        shape = self._shape(self._objects[number], number)
        parts = list(shape.parts)
        node.kind, node.display, node.unordered = shape.kind, shape.display, shape.unordered
        node.head = node.label = shape.label
        if shape.kind != "data":
            keys = [key.encode("utf-8", "surrogatepass") for key, _ in parts]
            node.label = digest_of(shape.label, *keys)
            node.names = shape.titles or [(key, "") for key, _ in parts]
        reductions = node.reductions + shape.reduced
        if reductions > _MOST_REDUCTIONS:
            raise self._refusal(number, self._objects[number], ": __reduce__ has no end")
        for position, (_, part) in enumerate(parts):
            node.children.append(self._child(part, number, position, reductions))

    def _child(self, value: Any, parent: int, position: int, reductions: int = 0) -> int | bytes:
        """The value itself in bytes when it is simple, else the index of its node."""
        cls = type(value)
        if (
            cls in _ATOMS
            or ((cls is list or cls is tuple) and _ATOMS.issuperset(map(type, value)))
            or (cls is dict and _ATOMS.issuperset(map(type, value)) and _simple(value))
        ):
            # Version 2 writes numbers in binary and has no references to equal objects.
            data = marshal.dumps(value, 2)
            return b"a" + data if len(data) <= _LONG else b"d" + digest_of(data)
        if cls in _SCALARS:
            return b"n" + bytes(value.dtype.str.encode() + value.tobytes())
        if value is ABSENT:
            return _MISSING
        number = self._index.get(id(value))
        if number is None:
            number = self._index[id(value)] = len(self.nodes)
            self.nodes.append(
                Node(b"", [], parent=parent, position=position, reductions=reductions)
            )
            self._objects.append(value)  # keeps it, so that no other object gets its id
        return number

    # Shapes of objects, the common ones first.

    def _shape(self, value: Any, number: int) -> _Shape:
        cls = type(value)
        if cls is list or cls is tuple:
            return _Shape(cls.__name__.encode(), (("", item) for item in value))
        if cls is dict:
            return _Shape(b"dict", (("", part) for item in value.items() for part in item))
        if cls is set or cls is frozenset:
            parts = (("", item) for item in value)
            return _Shape(cls.__name__.encode(), parts, unordered=True)
        if hidden := hidden_way(value):
            raise ValueError(hidden)
        if cls is types.FunctionType:
            return self._function(value)
        if cls is types.MethodType:
            return _Shape(b"method", [(" method", value.__func__), ("", value.__self__)], "fields")
        if cls is UnloadedModule:
            self._library(value.name)
            return _Shape(b"module " + value.name.encode())
        if issubclass(cls, types.ModuleType):
            return self._whole_module(value)
        if issubclass(cls, type):
            return self._class(value)
        if cls is types.CodeType:
            return _Shape(b"code" + code_digest(value))
        if issubclass(cls, _BUILTIN):
            return self._builtin(value, number)
        if issubclass(cls, (np.ndarray, np.generic, np.dtype, np.ufunc)):
            shape = self._numpy(value, number)
            if shape is not None:
                return shape
        traits = self._traits.get(id(cls))
        if traits is None:
            traits = self._traits[id(cls)] = _Traits.of(cls)
            self._kept.append(cls)
        if traits.refused:
            raise self._refusal(number, value, f", but it is {traits.refused}")
        shape = self._wrapper(value, cls)
        if shape is None:
            return self._instance(value, cls, traits)
        if attributes := _wrapper_attributes(value):
            inner = [item for _, item in shape.parts]
            added = [(f".{name}", item) for name, item in attributes]
            return _Shape(shape.label, [("", cls), (" parts", inner), *added], "fields")
        return shape

    def _wrapper(self, value: Any, cls: type) -> _Shape | None:
        """Objects of the standard library around functions and attributes, without the attributes
        that were added to them.
        """
        if issubclass(cls, functools.partial):
            parts = [
                ("", cls),
                (" function", value.func),
                *((f" argument {i}", item) for i, item in enumerate(value.args)),
                *((f" argument {name}", item) for name, item in sorted(value.keywords.items())),
            ]
            return _Shape(b"partial", parts, "fields")
        if cls is functools._lru_cache_wrapper:
            parts = [
                (".__wrapped__", value.__wrapped__),
                (".cache_parameters()", tuple(value.cache_parameters().items())),
            ]
            return _Shape(b"lru_cache", parts, "fields")
        if issubclass(cls, functools.cached_property):  # not its lock
            return _Shape(b"cached_property", [("", cls), ("", value.func), ("", value.attrname)])
        if issubclass(cls, property):
            accessors = (cls, value.fget, value.fset, value.fdel)
            return _Shape(b"property", (("", item) for item in accessors))
        if issubclass(cls, (staticmethod, classmethod)):
            return _Shape(b"method of a class", (("", item) for item in (cls, value.__func__)))
        if issubclass(cls, functools.singledispatchmethod):  # not its cache
            return _Shape(b"singledispatchmethod", [("", cls), ("", value.dispatcher)])
        if cls is types.MappingProxyType:
            return _Shape(b"mapping", (("", part) for item in value.items() for part in item))
        if cls is types.CellType:
            return _Shape(b"cell", [("", _cell(value))])
        if cls is dataclasses.Field:
            names = ("name", "default", "default_factory", "init", "repr", "hash", "compare")
            parts = [(f".{name}", getattr(value, name)) for name in (*names, "kw_only")]
            return _Shape(b"field", [*parts, (".metadata", dict(value.metadata))], "fields")
        return None

    def _instance(self, value: Any, cls: type, traits: _Traits) -> _Shape:
        if issubclass(cls, enum.Enum):
            state = [("", cls), (".name", value._name_), (".value", value._value_)]
            return _Shape(b"member", state, "fields")
        if traits.is_library and (known := self._library_name(value)):
            return _Shape(b"library " + known)
        if issubclass(cls, (set, frozenset)) and cls.__reduce__ in (
            set.__reduce__,
            frozenset.__reduce__,
        ):
            items = frozenset(set.__iter__(value) if issubclass(cls, set) else value)
            fields = [(f".{k}", v) for k, v in sorted(getattr(value, "__dict__", {}).items())]
            return _Shape(b"set of a class", [("", cls), (" items", items), *fields], "fields")
        return self._reduced(value, cls, traits)

    def _reduced(self, value: Any, cls: type, traits: _Traits) -> _Shape:
        """An object by ``__reduce_ex__``: class and attributes, or what its class says."""
        reduce = copyreg.dispatch_table.get(cls)
        answer = reduce(value) if reduce is not None else value.__reduce_ex__(4)
        if isinstance(answer, str):  # the name of a global variable
            module = getattr(value, "__module__", None)
            return _Shape(b"named " + f"{module}:{answer}".encode())
        made, arguments, state, items, pairs, *setter = (*answer, None, None, None, None)[:6]
        self.reduced |= not traits.is_library and not traits.plain
        parts: list[tuple[str, Any]]
        if made is _NEW_OBJECT and arguments[:1] == (cls,):
            parts = [("", cls)]
            arguments = arguments[1:]
        else:
            parts = [(" constructor", made)]
        fields_of = dataclasses.fields(cls) if made is cls and dataclasses.is_dataclass(cls) else ()
        if len(fields_of) == len(arguments):
            parts += [(f".{f.name}", item) for f, item in zip(fields_of, arguments, strict=True)]
        else:
            parts += [(f" argument {i}", item) for i, item in enumerate(arguments)]
        slots: Any = None
        if type(state) is tuple and len(state) == 2 and type(state[1]) is dict:
            state, slots = state
        for fields in (state, slots):
            if type(fields) is dict and all(type(name) is str for name in fields):
                parts += [
                    (f".{name}", v)
                    for name, v in sorted(fields.items())
                    if name not in traits.caches
                ]
            elif fields is not None:
                parts.append((" state", fields))
        if issubclass(cls, np.ndarray) and cls.__reduce__ is np.ndarray.__reduce__:
            parts += [(f".{name}", v) for name, v in sorted(vars(value).items())]
        for what, content in ((" items", items), (" pairs", pairs)):
            if content is not None:
                content = list(itertools.islice(content, _MOST_ITEMS + 1))
                if len(content) > _MOST_ITEMS:
                    raise ValueError("__reduce__ gives items without end")
                parts.append((what, content))
        parts += [(" setter", one) for one in setter if one is not None]
        return _Shape(b"object", parts, "fields", reduced=not traits.plain)

    def _numpy(self, value: Any, number: int) -> _Shape | None:
        cls = type(value)
        if issubclass(cls, np.dtype):
            if value.names is not None or value.subdtype is not None or value.kind == "T":
                return None
            return _Shape(b"dtype " + value.str.encode())
        if cls is np.ufunc:
            title = str(getattr(value, "__name__", ""))
            for name in ("numpy", "scipy.special", *list(sys.modules)):
                held: dict[str, Any] = getattr(sys.modules.get(name), "__dict__", {})
                if held.get(title) is value and self._library(name):
                    return _Shape(b"ufunc " + f"{name}.{title}".encode())
            raise self._refusal(number, value, ", but it is a ufunc of no library")
        array: Any = np.asarray(value)
        if cls not in (np.ndarray, np.memmap, array.dtype.type):
            return None
        head = b"scalar " if isinstance(value, np.generic) else b"array "
        head += repr(array.shape).encode()
        if array.dtype.names is not None:  # not the bytes between the fields
            fields = [(name, array[name]) for name in array.dtype.names]
            return _Shape(head, [("", array.dtype), *fields], "fields")
        if array.dtype.kind in "OT":
            parts = [("", array.dtype), *(("", item) for item in array.ravel().tolist())]
            return _Shape(head, parts)
        if array.dtype.itemsize == 0:
            return _Shape(head, [("", array.dtype)])
        data: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if array.dtype.kind in "fc" and np.finfo(array.dtype).nmant == 63:  # 80 bits and padding
            data = np.ascontiguousarray(data.reshape(-1, np.dtype(np.longdouble).itemsize)[:, :10])
        return _Shape(head + hashlib.blake2b(data, digest_size=32).digest(), [("", array.dtype)])

    def _builtin(self, value: Any, number: int) -> _Shape:
        """A function or attribute made in C: its name, and what it belongs to."""
        owner = getattr(value, "__self__", None)
        if owner is None:
            owner = getattr(value, "__objclass__", None)
        name = value.__qualname__.encode()
        if owner is None or isinstance(owner, types.ModuleType) or id(owner) in _SHARED:
            module = value.__module__ or getattr(owner, "__name__", type(owner).__module__)
            if not self._library(module):
                held = sys.modules.get(module)
                if held is None:
                    raise self._refusal(number, value, ", but it belongs to no module")
                return _Shape(b"builtin " + name, [("", held)])
            return _Shape(b"builtin " + module.encode() + b"." + name)
        return _Shape(b"builtin " + value.__name__.encode(), [(".__self__", owner)], "fields")

    # Units.

    def _named(self, module: Any, name: str) -> str:
        """Name of a unit for reports, with its module unless that is the root's."""
        name = name.replace(".<locals>", "")
        return name if module in (self._module, None) else f"{module}.{name}"

    def _library(self, module: str) -> bool:
        """Whether a module belongs to a library, whose version then counts."""
        found = origin(module)
        if found is not None:
            self.versions[found.name] = found.version
        return found is not None

    def _library_name(self, value: Any) -> bytes | None:
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
        if found is not value or not self._library(module):
            return None
        return f"{module}:{name}".encode()

    def _class(self, cls: type) -> _Shape:
        if cls in _PLAIN_TYPES:
            return _Shape(b"type " + cls.__name__.encode())
        if known := self._library_name(cls):
            return _Shape(b"library " + known)
        if not cls.__flags__ & 1 << 9 and self._library(cls.__module__):  # made in C, not named
            return _Shape(b"type " + f"{cls.__module__}:{cls.__qualname__}".encode())
        display = self._named(cls.__module__, cls.__qualname__)
        content = dict(cls.__dict__)
        hidden = set(_CLASS_NOTES)
        parts: list[tuple[str, Any]] = [(f"base {i}", base) for i, base in enumerate(cls.__bases__)]
        titles = [(f"{name} of {SELF}", "") for name, _ in parts]
        if type(cls) is not type:
            parts.append(("metaclass", type(cls)))
            titles.append((f"metaclass of {SELF}", ""))
        if issubclass(cls, enum.Enum):
            hidden |= _ENUM_NOTES | set(cls.__members__)
            for name, member in cls.__members__.items():
                state = {k: v for k, v in vars(member).items() if k not in _MEMBER_NOTES}
                parts.append((f"member {name}", (member._name_, member._value_, state)))
                titles.append((f"{SELF}.{name}", ""))
        if virtual := _virtual_subclasses(cls):
            parts.append(("virtual subclasses", virtual))
            titles.append((f"virtual subclasses of {SELF}", ""))
        for name in sorted(content):
            value = content[name]
            if name in hidden or (name == "__subclasshook__" and _of_typing(value)):
                continue
            if type(value) is types.MemberDescriptorType:
                value = "slot"
            elif name == "__dataclass_fields__":
                value = {key: item for key, item in value.items()}
            parts.append((f"attribute {name}", value))
            titles.append((f"{SELF}.{name}", ""))
        label = b"class " + cls.__name__.encode()
        return _Shape(label, parts, "class", display, titles=titles)

    def _whole_module(self, module: types.ModuleType) -> _Shape:
        """A library by name, a module of the user with all its variables."""
        name = module.__name__
        if self._library(name):
            return _Shape(b"module " + name.encode())
        label = b"module "
        if (place := extension_file(module)) is not None:
            with open(place, "rb") as file:
                label += hashlib.file_digest(file, "blake2b").digest()
        parts, titles = [], []
        for key, value in sorted(vars(module).items()):
            if not key.startswith("__") or key == "__getattr__":
                parts.append((key, value))
                titles.append((f"{name}.{key}", ""))
        return _Shape(label, parts, "module", f"module {name}", titles=titles)

    def _function(self, function: types.FunctionType) -> _Shape:
        library = origin(str(function.__globals__.get("__name__")))
        if library is not None and (known := self._library_name(function)):
            return _Shape(b"library " + known)
        display = self._named(function.__globals__.get("__name__"), function.__qualname__)
        code = function.__code__
        parts: list[tuple[str, Any]] = []
        titles: list[tuple[str, str]] = []

        def add(what: str, name: str, value: Any, of: str) -> None:
            parts.append((f"{what}{name}", value))
            titles.append((f"{what}{name}", f" {of} {SELF}"))

        if library is not None and (registry := _registry(function)) is not None:
            add("", "registry", registry, "of")
            for name, value in _wrapper_attributes(function):
                add("attribute ", name, value, "of")
            return _Shape(b"singledispatch", parts, "function", display, titles=titles)
        defaults = function.__defaults__ or ()
        arguments = code.co_varnames[: code.co_argcount]
        for name, value in zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True):
            add("default ", name, value, "of")
        for name, value in sorted((function.__kwdefaults__ or {}).items()):
            add("default ", name, value, "of")
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            add("closure variable ", name, _cell(cell), "of")
        for name, value in sorted(function.__dict__.items()):
            add("attribute ", name, value, "of")
        if library is None:
            for name, value in variables_read(function, self._library).items():
                add("", name, value, "read by")
        else:
            self.versions[library.name] = library.version
        label = b"function " + code_digest(code)
        return _Shape(label, parts, "function", display, titles=titles)


_MEMBER_NOTES = {"_name_", "_inverted_", "_value_", "_sort_order_", "__objclass__"}
_PLAIN_TYPES = {*_ATOMS, object, list, tuple, dict, set, frozenset, type, bytearray}


def _simple(value: dict[Any, Any]) -> bool:
    return _ATOMS.issuperset(map(type, value.values()))


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return ABSENT


def _wrapper_attributes(value: Any) -> list[tuple[str, Any]]:
    """Attributes of an object around a function that the standard library did not set itself."""
    cls = type(value)
    if cls is dataclasses.Field:
        return []
    held = dict(getattr(value, "__dict__", {}))
    for name in getattr(copyreg, "_slotnames")(cls):  # noqa: B009, not in its types
        held[name] = getattr(value, name, ABSENT)
    notes = _WRAPPER_NOTES.union(*(_NOTES_OF.get(base, ()) for base in cls.__mro__))
    return sorted((name, item) for name, item in held.items() if name not in notes)


_WRAPPER_NOTES = {
    *("__module__", "__name__", "__qualname__", "__doc__", "__wrapped__", "__annotations__"),
    *("__annotate__", "__type_params__"),
}
_NOTES_OF: dict[type, set[str]] = {
    functools._lru_cache_wrapper: {"cache_parameters"},
    functools.cached_property: {"func", "attrname", "lock"},
    functools.singledispatchmethod: {"dispatcher", "func"},
    types.FunctionType: {"register", "dispatch", "registry", "_clear_cache"},  # of singledispatch
}


def _virtual_subclasses(cls: type) -> set[type]:
    """Classes that were registered with an abstract one."""
    dump = getattr(abc, "_get_dump", None)
    if dump is None or "_abc_impl" not in vars(cls):
        return set()
    return {found for one in dump(cls)[0] if (found := one()) is not None}


def _of_typing(value: Any) -> bool:
    """Whether the check of subclasses of a class is that of protocols."""
    return getattr(getattr(value, "__func__", value), "__module__", None) == "typing"


def _registry(function: types.FunctionType) -> Any:
    """The functions of a ``functools.singledispatch``, None for other functions."""
    if function.__globals__ is vars(functools) and hasattr(function, "dispatch"):
        return getattr(function, "registry", None)
    return None


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
