"""Warps, threads and blocks on each SM over time, instant by instant."""

from __future__ import annotations

from collections.abc import Iterable

Row = tuple[int, int, int, int, int]


def occupancy(spans: Iterable[tuple[int, int, int, int]]) -> list[Row]:
    """Rows (SM, time, warps, threads, blocks) for spans (SM, start, end, threads of a block)."""
    on: dict[int, list[tuple[int, int, int]]] = {}
    for sm, start, end, threads in spans:
        on.setdefault(sm, []).append((start, end, threads))
    rows: list[Row] = []
    for sm, here in sorted(on.items()):
        before = (0, 0, 0)
        for time in sorted({t for start, end, _ in here for t in (start, end)}):
            alive = [threads for start, end, threads in here if start <= time < end]
            held = (sum(-(-threads // 32) for threads in alive), sum(alive), len(alive))
            if held != before:
                rows.append((sm, time, *held))
            before = held
    return rows
