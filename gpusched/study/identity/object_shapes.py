"""Label and parts of an object, and of units: the functions, classes and modules of the user.

Objects consist of data, wrapped functions, and what ``__reduce_ex__`` says. The traits of a class
say which objects have no identity, and how the others are reduced.
"""

from __future__ import annotations

import abc
import copyreg
import dataclasses
import enum
import functools
import hashlib
import itertools
import random
import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from gpusched.study.identity.function_reads import ABSENT, code_digest, variables_read
from gpusched.study.identity.module_origins import Libraries, extension_file, origin

ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, type(...)})
"""Types of simple values."""

_MOST_ITEMS = 10_000_000

_NEW_OBJECT = getattr(copyreg, "__newobj__")  # noqa: B009, not in the types of copyreg

# The hidden generators of the modules random and numpy.random: their functions go by name.
_SHARED = {id(getattr(call, "__self__", None)) for call in (random.random, np.random.rand)}


class Unidentifiable(Exception):
    """Object without an identity; the message says why."""


@dataclasses.dataclass(slots=True)
class Shape:
    """Label and parts of an object. A part is its key, which is hashed, and the object."""

    label: bytes
    parts: Iterable[tuple[str, Any]] = ()
    kind: str = "data"
    display: str = ""
    unordered: bool = False
    reduced: bool = False
    titles: list[tuple[str, str]] | None = None  # of the parts of a unit


def wrapped_shape(value: Any, cls: type) -> Shape | None:
    """Objects of the standard library around functions and attributes, None for others."""
    shape = _wrapper(value, cls)
    if shape is not None and (attributes := wrapper_attributes(value)):
        inner = [item for _, item in shape.parts]
        added = [(f".{name}", item) for name, item in attributes]
        return Shape(shape.label, [("", cls), (" parts", inner), *added], "fields")
    return shape


def _wrapper(value: Any, cls: type) -> Shape | None:
    """The same without the attributes that were added to such an object."""
    if issubclass(cls, functools.partial):
        parts = [
            ("", cls),
            (" function", value.func),
            *((f" argument {i}", item) for i, item in enumerate(value.args)),
            *((f" argument {name}", item) for name, item in sorted(value.keywords.items())),
        ]
        return Shape(b"partial", parts, "fields")
    if cls is functools._lru_cache_wrapper:
        parts = [
            (".__wrapped__", value.__wrapped__),
            (".cache_parameters()", tuple(value.cache_parameters().items())),
        ]
        return Shape(b"lru_cache", parts, "fields")
    if issubclass(cls, functools.cached_property):  # not its lock
        return Shape(b"cached_property", [("", cls), ("", value.func), ("", value.attrname)])
    if issubclass(cls, property):
        accessors = (cls, value.fget, value.fset, value.fdel)
        return Shape(b"property", (("", item) for item in accessors))
    if issubclass(cls, (staticmethod, classmethod)):
        return Shape(b"method of a class", (("", item) for item in (cls, value.__func__)))
    if issubclass(cls, functools.singledispatchmethod):  # not its cache
        return Shape(b"singledispatchmethod", [("", cls), ("", value.dispatcher)])
    if cls is types.MappingProxyType:
        return Shape(b"mapping", (("", part) for item in value.items() for part in item))
    if cls is types.CellType:
        return Shape(b"cell", [("", cell_content(value))])
    if cls is dataclasses.Field:
        names = ("name", "default", "default_factory", "init", "repr", "hash", "compare")
        parts = [(f".{name}", getattr(value, name)) for name in (*names, "kw_only")]
        return Shape(b"field", [*parts, (".metadata", dict(value.metadata))], "fields")
    return None


def instance_shape(value: Any, cls: type, traits: Traits, libraries: Libraries) -> Shape:
    """Any other object, by its state."""
    if issubclass(cls, enum.Enum):
        state = [("", cls), (".name", value._name_), (".value", value._value_)]
        return Shape(b"member", state, "fields")
    if traits.is_library and (known := libraries.name_of(value)):
        return Shape(b"library " + known)
    if issubclass(cls, (set, frozenset)) and cls.__reduce__ in (
        set.__reduce__,
        frozenset.__reduce__,
    ):
        items = frozenset(set.__iter__(value) if issubclass(cls, set) else value)
        fields = [(f".{k}", v) for k, v in sorted(getattr(value, "__dict__", {}).items())]
        return Shape(b"set of a class", [("", cls), (" items", items), *fields], "fields")
    return _reduced(value, cls, traits)


def _reduced(value: Any, cls: type, traits: Traits) -> Shape:
    """An object by ``__reduce_ex__``: class and attributes, or what its class says."""
    reduce = copyreg.dispatch_table.get(cls)
    answer = reduce(value) if reduce is not None else value.__reduce_ex__(4)
    if isinstance(answer, str):  # the name of a global variable
        module = getattr(value, "__module__", None)
        return Shape(b"named " + f"{module}:{answer}".encode())
    made, arguments, state, items, pairs, *setter = (*answer, None, None, None, None)[:6]
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
                (f".{name}", v) for name, v in sorted(fields.items()) if name not in traits.caches
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
    return Shape(b"object", parts, "fields", reduced=not traits.plain)


def numpy_shape(value: Any, libraries: Libraries) -> Shape | None:
    """Arrays, scalars, types and ufuncs of NumPy; None for those that are reduced."""
    cls = type(value)
    if issubclass(cls, np.dtype):
        if value.names is not None or value.subdtype is not None or value.kind == "T":
            return None
        return Shape(b"dtype " + value.str.encode())
    if cls is np.ufunc:
        title = str(getattr(value, "__name__", ""))
        for name in ("numpy", "scipy.special", *list(sys.modules)):
            held: dict[str, Any] = getattr(sys.modules.get(name), "__dict__", {})
            if held.get(title) is value and libraries.holds(name):
                return Shape(b"ufunc " + f"{name}.{title}".encode())
        raise Unidentifiable("it is a ufunc of no library")
    array: Any = np.asarray(value)
    if cls not in (np.ndarray, np.memmap, array.dtype.type):
        return None
    head = b"scalar " if isinstance(value, np.generic) else b"array "
    head += repr(array.shape).encode()
    if array.dtype.names is not None:  # not the bytes between the fields
        fields = [(name, array[name]) for name in array.dtype.names]
        return Shape(head, [("", array.dtype), *fields], "fields")
    if array.dtype.kind in "OT":
        parts = [("", array.dtype), *(("", item) for item in array.ravel().tolist())]
        return Shape(head, parts)
    if array.dtype.itemsize == 0:
        return Shape(head, [("", array.dtype)])
    data: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if array.dtype.kind in "fc" and np.finfo(array.dtype).nmant == 63:  # 80 bits and padding
        data = np.ascontiguousarray(data.reshape(-1, np.dtype(np.longdouble).itemsize)[:, :10])
    return Shape(head + hashlib.blake2b(data, digest_size=32).digest(), [("", array.dtype)])


def builtin_shape(value: Any, libraries: Libraries) -> Shape:
    """A function or attribute made in C: its name, and what it belongs to."""
    owner = getattr(value, "__self__", None)
    if owner is None:
        owner = getattr(value, "__objclass__", None)
    name = value.__qualname__.encode()
    if owner is None or isinstance(owner, types.ModuleType) or id(owner) in _SHARED:
        module = value.__module__ or getattr(owner, "__name__", type(owner).__module__)
        if not libraries.holds(module):
            held = sys.modules.get(module)
            if held is None:
                raise Unidentifiable("it belongs to no module")
            return Shape(b"builtin " + name, [("", held)])
        return Shape(b"builtin " + module.encode() + b"." + name)
    return Shape(b"builtin " + value.__name__.encode(), [(".__self__", owner)], "fields")


def cell_content(cell: types.CellType) -> Any:
    """The object of a closure's cell, ``ABSENT`` where there is none yet."""
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return ABSENT


def wrapper_attributes(value: Any) -> list[tuple[str, Any]]:
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


# Traits of classes --------------------------------------------------------------------------------

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


SELF = "\0"  # stands in the names of a unit's parts for the name of the unit

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

_MEMBER_NOTES = {"_name_", "_inverted_", "_value_", "_sort_order_", "__objclass__"}
_PLAIN_TYPES = {*ATOMS, object, list, tuple, dict, set, frozenset, type, bytearray}


def class_shape(cls: type, libraries: Libraries) -> Shape:
    """A class: its bases and attributes; one of a library by its name."""
    if cls in _PLAIN_TYPES:
        return Shape(b"type " + cls.__name__.encode())
    if known := libraries.name_of(cls):
        return Shape(b"library " + known)
    if not cls.__flags__ & 1 << 9 and libraries.holds(cls.__module__):  # made in C, not named
        return Shape(b"type " + f"{cls.__module__}:{cls.__qualname__}".encode())
    display = libraries.unit_name(cls.__module__, cls.__qualname__)
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
    return Shape(label, parts, "class", display, titles=titles)


def module_shape(module: types.ModuleType, libraries: Libraries) -> Shape:
    """A library by name, a module of the user with all its variables."""
    name = module.__name__
    if libraries.holds(name):
        return Shape(b"module " + name.encode())
    label = b"module "
    if (place := extension_file(module)) is not None:
        with open(place, "rb") as file:
            label += hashlib.file_digest(file, "blake2b").digest()
    parts, titles = [], []
    for key, value in sorted(vars(module).items()):
        if not key.startswith("__") or key == "__getattr__":
            parts.append((key, value))
            titles.append((f"{name}.{key}", ""))
    return Shape(label, parts, "module", f"module {name}", titles=titles)


def function_shape(function: types.FunctionType, libraries: Libraries) -> Shape:
    """A function: its code, defaults, closure, attributes and the globals that it reads."""
    library = origin(str(function.__globals__.get("__name__")))
    if library is not None and (known := libraries.name_of(function)):
        return Shape(b"library " + known)
    display = libraries.unit_name(function.__globals__.get("__name__"), function.__qualname__)
    code = function.__code__
    parts: list[tuple[str, Any]] = []
    titles: list[tuple[str, str]] = []

    def add(what: str, name: str, value: Any, of: str) -> None:
        parts.append((f"{what}{name}", value))
        titles.append((f"{what}{name}", f" {of} {SELF}"))

    if library is not None and (registry := _registry(function)) is not None:
        add("", "registry", registry, "of")
        for name, value in wrapper_attributes(function):
            add("attribute ", name, value, "of")
        return Shape(b"singledispatch", parts, "function", display, titles=titles)
    defaults = function.__defaults__ or ()
    arguments = code.co_varnames[: code.co_argcount]
    for name, value in zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True):
        add("default ", name, value, "of")
    for name, value in sorted((function.__kwdefaults__ or {}).items()):
        add("default ", name, value, "of")
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        add("closure variable ", name, cell_content(cell), "of")
    for name, value in sorted(function.__dict__.items()):
        add("attribute ", name, value, "of")
    if library is None:
        for name, value in variables_read(function, libraries.holds).items():
            add("", name, value, "read by")
    else:
        libraries.versions[library.name] = library.version
    label = b"function " + code_digest(code)
    return Shape(label, parts, "function", display, titles=titles)


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
