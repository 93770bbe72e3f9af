"""Code objects: a digest that does not depend on lines, and the names that the code reads."""

from __future__ import annotations

import dis
import marshal
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from gpusched.study.identity.graph_digests import digest_of

__all__ = ["CodeReads", "Import", "NameRead", "code_digest", "code_reads"]

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
