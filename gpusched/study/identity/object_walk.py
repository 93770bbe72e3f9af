"""Graph of everything that decides a value or the results of a function.

Each object becomes a node with a label (its type and what has no parts) and edges to the objects
that it consists of. Functions, classes and modules of the user are *units*: a function consists of
its code, defaults, closure, attributes and the globals that the code reads, a class of its bases
and attributes, a module of its variables. Whatever belongs to a library (Python, an installed
distribution, gpusched) is named and not followed; the versions of these libraries are collected.
Other objects consist of what ``__reduce_ex__`` says.
"""

from __future__ import annotations

import dataclasses
import functools
import marshal
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from gpusched.study.identity.code_reads import code_digest
from gpusched.study.identity.function_reads import (
    ABSENT,
    UnloadedModule,
    hidden_way,
)
from gpusched.study.identity.graph_digests import Vertex, digest_of
from gpusched.study.identity.module_origins import Libraries
from gpusched.study.identity.object_shapes import (
    ATOMS,
    Shape,
    Traits,
    Unidentifiable,
    builtin_shape,
    instance_shape,
    numpy_shape,
    wrapped_shape,
)
from gpusched.study.identity.unit_shapes import SELF, class_shape, function_shape, module_shape

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


_SCALARS = frozenset(np.dtype(code).type for code in "?bBhHiIlLqQefdFD")
_MOST_REDUCTIONS = 500
_LONG = 256  # bytes of a value beyond which its digest is kept

_MISSING = b"missing"

_BUILTIN = (
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


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
        self.reduced = False
        self._libraries = Libraries(module)
        self._objects: list[Any] = [None]
        self._index: dict[int, int] = {}
        self._traits: dict[int, Traits] = {}
        self._kept: list[type] = []
        self._guarded(0, lambda: self.nodes[0].children.append(self._child(root, 0, 0)))
        done = 1
        while done < len(self.nodes):
            self._guarded(done, functools.partial(self._expand, done))
            done += 1

    @property
    def versions(self) -> dict[str, str]:
        return self._libraries.versions

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
        except Unidentifiable as error:
            raise self._refusal(number, self._objects[number], f", but {error}") from None
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
        shape = self._shape(self._objects[number])
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
            cls in ATOMS
            or ((cls is list or cls is tuple) and ATOMS.issuperset(map(type, value)))
            or (cls is dict and ATOMS.issuperset(map(type, value)) and _simple(value))
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

    def _shape(self, value: Any) -> Shape:
        cls = type(value)
        if cls is list or cls is tuple:
            return Shape(cls.__name__.encode(), (("", item) for item in value))
        if cls is dict:
            return Shape(b"dict", (("", part) for item in value.items() for part in item))
        if cls is set or cls is frozenset:
            parts = (("", item) for item in value)
            return Shape(cls.__name__.encode(), parts, unordered=True)
        if hidden := hidden_way(value):
            raise ValueError(hidden)
        if cls is types.FunctionType:
            return function_shape(value, self._libraries)
        if cls is types.MethodType:
            return Shape(b"method", [(" method", value.__func__), ("", value.__self__)], "fields")
        if cls is UnloadedModule:
            self._libraries.holds(value.name)
            return Shape(b"module " + value.name.encode())
        if issubclass(cls, types.ModuleType):
            return module_shape(value, self._libraries)
        if issubclass(cls, type):
            return class_shape(value, self._libraries)
        if cls is types.CodeType:
            return Shape(b"code" + code_digest(value))
        if issubclass(cls, _BUILTIN):
            return builtin_shape(value, self._libraries)
        if issubclass(cls, (np.ndarray, np.generic, np.dtype, np.ufunc)):
            shape = numpy_shape(value, self._libraries)
            if shape is not None:
                return shape
        traits = self._traits.get(id(cls))
        if traits is None:
            traits = self._traits[id(cls)] = Traits.of(cls)
            self._kept.append(cls)
        if traits.refused:
            raise Unidentifiable(f"it is {traits.refused}")
        shape = wrapped_shape(value, cls)
        if shape is None:
            shape = instance_shape(value, cls, traits, self._libraries)
            self.reduced |= shape.reduced and not traits.is_library
        return shape


def _simple(value: dict[Any, Any]) -> bool:
    return ATOMS.issuperset(map(type, value.values()))
