"""Label and parts of units: the functions, classes and modules of the user."""

from __future__ import annotations

import abc
import enum
import functools
import hashlib
import types
from typing import Any

from gpusched.study.identity.code_reads import code_digest
from gpusched.study.identity.function_reads import variables_read
from gpusched.study.identity.module_origins import Libraries, extension_file, origin
from gpusched.study.identity.object_shapes import ATOMS, Shape, cell_content, wrapper_attributes

__all__ = ["SELF", "class_shape", "function_shape", "module_shape"]

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
