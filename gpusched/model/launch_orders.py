"""Columns of launches that change the order in a stream: graphs, programmatic kernels, triggers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array, int_array

__all__ = ["check_orders", "switches"]


def switches(value: Any, name: str) -> Int64Array:
    """Truth values, or the numbers 0 and 1, as such numbers."""
    listed = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    if listed.size and all(isinstance(item, (bool, np.bool_)) for item in listed.ravel().tolist()):
        value = listed.astype(np.int64)
    found = int_array(value, name)
    for at in np.argwhere((found < 0) | (found > 1))[:1].tolist():
        where = f"[{at[0]}]" if at else ""
        raise ValueError(f"{name}{where}: got {found[tuple(at)]}, expected True or False")
    return found


def check_orders(rows: dict[str, Int64Array], after: tuple[tuple[int, ...], ...]) -> None:
    """Refuse graphs with several times or streams, and programmatic nodes without a primary.

    ``rows`` by the names of the columns; values that mean nothing for copies are removed.
    """
    graph = rows["graph"]
    copies = rows["kind"] > 0
    rows["programmatic"][copies] = 0
    rows["trigger"][copies] = -1
    nodes = np.flatnonzero(graph >= 0)
    if not len(nodes):
        return
    _, first, which = np.unique(graph[nodes], return_index=True, return_inverse=True)
    for key in ("time", "stream"):
        expected = rows[key][nodes[first]][which]
        for k in np.flatnonzero(rows[key][nodes] != expected)[:1].tolist():
            i = nodes[k]
            raise ValueError(
                f"{key}[{i}]: got {rows[key][i]}, expected {expected[k]} as of launch "
                f"{nodes[first][which[k]]}, which is in the same graph ({graph[i]})"
            )
    for i in nodes[rows["programmatic"][nodes] > 0].tolist():
        primary = set(after[i])
        known = all(j != i and graph[j] == graph[i] and not copies[j] for j in primary)
        if len(primary) != 1 or not known:
            raise ValueError(
                f"programmatic[{i}]: got True in graph {graph[i]} with {after[i]!r:.60} in after, "
                "expected one kernel of the graph there"
            )
