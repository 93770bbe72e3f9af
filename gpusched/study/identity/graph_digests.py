"""Digests of the nodes of a directed graph that may have cycles.

Two nodes have one digest when the trees that unfold from them are equal: labels, numbers and order
of the children. It makes no difference whether equal parts are one node or several.

Nodes outside cycles are digested after their children. The nodes of a strongly connected component
are digested together by refinement of colours: the next colour of a node is the digest of its own
and its children's colours, until the number of colours no longer grows. The digest of a node is its
last colour with the set of all last colours of the component, which determine the component up to
bisimulation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Most steps of a refinement, some seconds.
_MOST_STEPS = 3_000_000


class CycleError(ValueError):
    """A cyclic component that is too large to be digested; ``vertex`` is one of its nodes."""

    def __init__(self, vertex: int) -> None:
        super().__init__("a cyclic structure that is too large")
        self.vertex = vertex


@dataclass(slots=True)
class Vertex:
    """A node: its label, and its children, each the index of a node or a value in bytes."""

    label: bytes
    children: list[int | bytes]
    unordered: bool = False


def digest_of(*parts: bytes) -> bytes:
    """Digest of a sequence of byte strings, 16 bytes."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


def digests(vertices: Sequence[Vertex], leaves: Mapping[int, bytes]) -> list[bytes]:
    """Digests of all nodes, 16 bytes each.

    Parameters
    ----------
    vertices
        The nodes.
    leaves
        Digests that are given; the children of these nodes are not followed.

    Raises
    ------
    CycleError
        A cyclic component is too large.

    Examples
    --------
    >>> pair = [Vertex(b"list", [1, 1]), Vertex(b"leaf", [])]
    >>> copies = [Vertex(b"list", [1, 2]), Vertex(b"leaf", []), Vertex(b"leaf", [])]
    >>> digests(pair, {})[0] == digests(copies, {})[0]
    True
    """
    count = len(vertices)
    found = [b""] * count
    order = [0] * count  # order of the first visit, from 1
    lowest = [0] * count
    visits = 0
    component: list[int] = []
    for given, digest in leaves.items():
        found[given] = digest
    for start in range(count):
        if found[start]:
            continue
        path = [(start, 0)]
        while path:
            here, position = path.pop()
            if position == 0:
                visits += 1
                order[here] = lowest[here] = visits
                component.append(here)
            children = vertices[here].children
            while position < len(children):
                child = children[position]
                position += 1
                if isinstance(child, bytes) or found[child]:
                    continue
                if order[child]:
                    lowest[here] = min(lowest[here], order[child])
                    continue
                path.append((here, position))
                path.append((child, 0))
                break
            else:
                if lowest[here] == order[here]:
                    first = len(component) - 1
                    while component[first] != here:
                        first -= 1
                    _finish(vertices, component[first:], found)
                    del component[first:]
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[here])
    return found


def _finish(vertices: Sequence[Vertex], members: list[int], found: list[bytes]) -> None:
    """Set the digests of a component whose other children have theirs."""
    one = members[0]
    cyclic = any(child == one for child in vertices[one].children if isinstance(child, int))
    if len(members) == 1 and not cyclic:
        found[one] = _combined(vertices[one], found, {})
        return
    colours = dict.fromkeys(members, b"")
    number, steps = 0, 0
    while True:
        colours = {
            one: digest_of(colours[one], _combined(vertices[one], found, colours))
            for one in members
        }
        steps += len(members)
        different = len(set(colours.values()))
        if different == number:
            break
        number = different
        if steps > _MOST_STEPS:
            raise CycleError(members[0])
    whole = digest_of(*sorted(set(colours.values())))
    for one in members:
        found[one] = digest_of(b"cycle", colours[one], whole)


def _combined(vertex: Vertex, found: Sequence[bytes], colours: Mapping[int, bytes]) -> bytes:
    """Digest of a node from those of its children, or from their colours."""
    parts = []
    for child in vertex.children:
        if isinstance(child, bytes):
            parts.append(b"value" + child)
        elif child in colours:
            parts.append(b"colour" + colours[child])
        else:
            parts.append(b"node" + found[child])
    if vertex.unordered:
        parts.sort()
    return digest_of(vertex.label, *parts)
