"""Identity of the function of a stored study: everything that determines its results.

A store is continued only by the function that began it. The name or the code of a function are not
sufficient to recognise it: its results depend on defaults, closures, the object of a method, the
globals that it reads and the functions that it calls. ``function_parts`` returns a digest of each
of these under a name, and ``difference`` tells which of them differ.

The parts are followed through the user's own code. Libraries are identified by their versions:
Python with its standard library, NumPy, installed distributions; gpusched, unless it is installed,
by its files. The docstring of ``gs.sweep`` lists what is not covered. Objects consist of what
pickling keeps of them, whatever the order of their attributes, but without the values of
``functools.cached_property``, even those that were assigned. An ``object()`` is identified by its
class alone. Annotations, docstrings, names of functions and line numbers are ignored.

A graph holds everything that decides a value or the results of a function.

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
import re
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpusched.study.identity.function_reads import ABSENT, UnloadedModule, code_digest, hidden_way
from gpusched.study.identity.graph_digests import CycleError, Vertex, digest_of, digests
from gpusched.study.identity.module_origins import Libraries, numpy_version, python_version
from gpusched.study.identity.object_shapes import (
    ATOMS,
    SELF,
    Shape,
    Traits,
    Unidentifiable,
    builtin_shape,
    class_shape,
    function_shape,
    instance_shape,
    module_shape,
    numpy_shape,
    wrapped_shape,
)


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


# Levels of attributes below a variable that are parts of their own.
_DEEPEST = 3
_DIGEST = re.compile("[0-9a-f]{32}")
_CODE = ("the code of ", "the class ", "the type of ", "the module ")


def function_parts(function: Callable[..., Any]) -> dict[str, str]:
    """Digests of all parts that determine what a function computes, and versions of libraries.

    Parameters
    ----------
    function
        Any callable: a function, method, ``functools.partial``, an object with ``__call__``.

    Returns
    -------
    dict
        By the name of the part, such as "the code of study", "default k of study",
        "closure variable f of study", "global THREADS read by study",
        "the code of helper (called by study)", "self.scale of A.m": 32 hexadecimal digits.
        By the name of a library: its version.

    Raises
    ------
    IdentityError
        A part cannot be identified, such as an open file, a lock, or ``eval``; the message names
        it.

    Notes
    -----
    Equal functions have equal parts in every process: nothing depends on addresses, hashing or the
    order of sets; the order of a dict counts. Modules that the function imports are imported.

    Examples
    --------
    >>> def study(*, level, k=2):
    ...     return k * level
    >>> list(function_parts(study))[:2]
    ['the code of study', 'default k of study']
    """
    known = _qualified_name(function)
    name = known or type(_function_of(function)).__qualname__
    if isinstance(function, functools.partial):
        title = ("partial", f" of {name}")
    elif type(function) is types.MethodType or known is None:
        title = ("self", f" of {name}")
    else:
        title = (name, "")
    walk, deep = _walked(function, _module_of(function), title)
    report = _Report(walk, deep)
    report.value(title, walk.nodes[0].children[0], 0)
    report.units()
    always = dict([numpy_version(), python_version()])
    versions = {name: walk.versions[name] for name in sorted(walk.versions) if name not in always}
    return {**report.parts, **versions, **always}


def value_digest(value: Any, name: str) -> str:
    """Digest of one value, 32 hexadecimal digits, by the rules of ``function_parts``.

    Parameters
    ----------
    value
        Any object. 1, 1.0, True and ``np.int64(1)`` are different values.
    name
        Its name in messages.

    Raises
    ------
    IdentityError
        A part of the value that cannot be identified. The message names it.

    Examples
    --------
    >>> value_digest({"a": [1, 2]}, "grid['x']") == value_digest({"a": [1, 2]}, "grid['x']")
    True
    """
    try:
        walk, deep = _walked(value, _module_of(value), (name, ""))
    except IdentityError as error:
        if str(error).startswith(name):
            raise
        raise IdentityError(f"{name}: {error}") from None
    versions = [f"{key} {walk.versions[key]}".encode() for key in sorted(walk.versions)]
    return digest_of(deep[0], *versions).hex()


def difference(held: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Parts that differ between two results of ``function_parts``, most specific first.

    A different version of Python, which changes all code, comes first; then changed values, changed
    code, other versions, and parts that were added or removed.

    Examples
    --------
    >>> held = {"the code of f": "0" * 32, "global K read by f": "1" * 32, "numpy": "2.0.0"}
    >>> difference(held, {**held, "global K read by f": "2" * 32, "numpy": "2.1.0"})
    ['global K read by f differs', 'numpy is 2.1.0, was 2.0.0']
    """
    found: list[tuple[int, str]] = []
    for name in dict.fromkeys((*held, *wanted)):
        one, other = held.get(name), wanted.get(name)
        if one == other:
            continue
        if one is None:
            found.append((4, f"{name} is new"))
        elif other is None:
            found.append((5, f"{name} is gone"))
        elif _DIGEST.fullmatch(one) and _DIGEST.fullmatch(other):
            found.append((2 if name.startswith(_CODE) else 1, f"{name} differs"))
        else:
            found.append((0 if name == "Python" else 3, f"{name} is {other}, was {one}"))
    return [text for _, text in sorted(found, key=lambda item: item[0])]


def _function_of(value: Any) -> Any:
    """The function below partial arguments and the object of a method."""
    while isinstance(value, functools.partial):
        value = value.func
    return value.__func__ if type(value) is types.MethodType else value


def _qualified_name(value: Any) -> str | None:
    try:
        name = _function_of(value).__qualname__
    except Exception:  # an object whose class looks for attributes in its own way
        return None
    return name.replace(".<locals>", "") if isinstance(name, str) else None


def _module_of(value: Any) -> str:
    value = _function_of(value)
    if type(value) is types.FunctionType:
        return str(value.__globals__.get("__name__"))
    return str((value if isinstance(value, type) else type(value)).__module__)


def _walked(value: Any, module: str, title: tuple[str, str]) -> tuple[Walk, list[bytes]]:
    """The graph of a value with the digests of its nodes.

    Where classes say by themselves what their objects consist of, they are asked twice.
    """
    walk = Walk(value, module, title)
    found = _digests(walk)
    if walk.reduced:
        again = Walk(value, module, title)
        if _digests(again)[0] != found[0]:
            raise IdentityError(
                f"{''.join(title)}: __reduce__ of an object in it gives other parts each time, "
                "expected the same; pass key=... to identify the function yourself"
            )
    return walk, found


def _digests(walk: Walk) -> list[bytes]:
    try:
        return digests(walk.nodes, {})
    except CycleError as error:
        raise IdentityError(
            f"{walk.title(error.vertex)}: is part of {error}; "
            "pass key=... to identify the function yourself"
        ) from None


class _Report:
    """Parts of a graph by name. A unit is one part where it is referred to, and has its own parts.

    Equal units are one unit. Those of one name are numbered in the order in which they are reached.
    """

    def __init__(self, walk: Walk, deep: list[bytes]) -> None:
        self.parts: dict[str, str] = {}
        self._nodes = walk.nodes
        self._deep = deep
        self._labels: dict[bytes, str] = {}  # of units, by digest
        self._order: list[tuple[int, str, str]] = []  # units: node, label, label of the first user
        self._find()
        leaves = {
            number: digest_of(b"unit", self._labels[deep[number]].encode())
            for number, node in enumerate(self._nodes)
            if node.unit
        }
        self._shallow = digests(self._nodes, leaves)

    def _find(self) -> None:
        """Name the units, in the order of a walk that is the same for equal graphs."""
        numbers: dict[str, int] = {}
        seen: set[bytes] = set()
        pending = [(0, "")]
        while pending:
            number, user = pending.pop()
            if self._deep[number] in seen:
                continue
            seen.add(self._deep[number])
            node = self._nodes[number]
            if node.unit:
                count = numbers[node.display] = numbers.get(node.display, 0) + 1
                label = node.display if count == 1 else f"{node.display} #{count}"
                self._labels[self._deep[number]] = label
                self._order.append((number, label, user))
                user = label
            inner = [child for child in node.children if isinstance(child, int)]
            if node.unordered:
                inner.sort(key=self._deep.__getitem__)
            pending += [(child, user) for child in reversed(inner)]

    def units(self) -> None:
        """Add the parts of all units."""
        for number, label, user in self._order:
            node = self._nodes[number]
            named = label.startswith(f"{user}.") or not user
            by = "" if named else f" ({'called' if node.kind == 'function' else 'used'} by {user})"
            kind = {"function": "the code of ", "class": "the class ", "module": "the "}[node.kind]
            self._add(f"{kind}{label}{by}", node.head)
            for (before, after), child in zip(node.names, node.children, strict=True):
                title = before.replace(SELF, label), after.replace(SELF, label)
                self.value(title, child, 0)

    def value(self, title: tuple[str, str], child: int | bytes, depth: int) -> None:
        """Add a value below a title: itself, or its attributes one by one."""
        before, after = title
        if isinstance(child, bytes):
            self._add(before + after, child)
            return
        node = self._nodes[child]
        if node.kind == "fields" and depth < _DEEPEST:
            for (path, _), inner in zip(node.names, node.children, strict=True):
                if path == "" and node.names[0][0] == "":
                    self.value((f"the class of {before}", after), inner, _DEEPEST)
                else:
                    self.value((before + path, after), inner, depth + 1)
        elif not (node.unit and depth == 0 and before + after == node.display):
            self._add(before + after, self._shallow[child])

    def _add(self, name: str, content: bytes) -> None:
        unique, count = name, 1
        while unique in self.parts:
            count += 1
            unique = f"{name} ({count})"
        self.parts[unique] = digest_of(content).hex()
