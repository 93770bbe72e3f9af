"""Small pipelines with bounds that are worked out by hand, and the largest times that were seen.

A line is a task: core, priority ("p"; smaller is more urgent), segments with their least and most
times (C: CPU work, G: GPU work), and T, a period, or "after" with tasks that release it. J: jitter
of releases, O: offset. GPU work is served one segment at a time, in FIFO order; threads suspend.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from reference.pipelines import Stage


def stage(text: str) -> Stage:
    """A task from words such as "c0 p1 C1..2 G3 after 0,2 every 2 reads 1"."""
    words, found, segments = text.split(), {}, []
    for word, value in zip(words, [*words[1:], ""], strict=True):
        if match := re.fullmatch(r"([CG])(\d+)(?:\.\.(\d+))?", word):
            least, most = int(match[2]), int(match[3] or match[2])
            segments.append((match[1], least, most))
        elif match := re.fullmatch(r"([cpTJO])(\d+)", word):
            found[match[1]] = int(match[2])
        elif word in ("after", "reads"):
            found[word] = tuple(map(int, value.split(",")))
        elif word == "every":
            found[word] = int(value)
    return Stage(
        core=found["c"],
        priority=found.get("p", 0),
        segments=tuple(segments),
        period=found.get("T", 0),
        after=found.get("after", ()),
        every=found.get("every", 1),
        reads=found.get("reads", ()),
        jitter=found.get("J", 0),
        offset=found.get("O", 0),
    )


@dataclass(frozen=True)
class Vector:
    """A system, the latest ends of its tasks (with windows, and by jitter alone), and its paths:
    latency, reaction, age and held age as bounded and as seen; with offsets where there are any."""

    name: str
    stages: tuple[Stage, ...]
    end: tuple[int, ...]
    paths: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]]]
    by_jitter: tuple[int, ...] | None = None
    earliest: dict[int, int] = field(default_factory=dict)
    latest: dict[int, int] = field(default_factory=dict)
    given: bool = False


def vector(name: str, text: str, end: tuple, paths: dict, **other: object) -> Vector:
    stages = tuple(stage(line) for line in text.strip().splitlines())
    return Vector(name, stages, end, paths, **other)  # type: ignore[arg-type]


def same(*times: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return times, times


V9 = "c0 C1 G3 T20 O{}\nc1 C2 T20 reads 0 O{}\nc2 C1 T10 reads 1 O{}"

VECTORS = [
    vector(
        "V1",
        "c0 p0 C1..2 G1..3 T20\nc1 p1 C2..3 after 0\nc1 p2 C1..4 T15",
        (5, 8, 7),
        {(0, 1): same(8, 28, 8, 28), (2,): same(7, 22, 7, 22)},
        earliest={1: 2},
        latest={1: 5},
    ),
    vector(
        "V2",
        "c0 p0 C1 G1..6 T10\nc1 p1 C4 after 0\nc1 p2 C5 T40",
        (7, 11, 13),
        {(0, 1): ((11, 21, 11, 21), (11, 21, 11, 21))},
        earliest={1: 2},
        latest={1: 7},
    ),
    vector(
        "V3",
        "c0 p0 C1 T20\nc0 p1 C2 G2..4 C1 after 0\nc1 p2 C3..6 after 0\nc1 p3 C2 after 1,2",
        (1, 8, 7, 10),
        {(0, 1, 3): same(10, 30, 10, 30), (0, 2, 3): same(10, 30, 10, 30)},
        by_jitter=(1, 9, 7, 17),
        earliest={3: 6},
        latest={3: 8},
    ),
    vector(
        "V4",
        "c0 p0 C1 G2 T10\nc1 p1 C2 T7 reads 0\nc1 p2 C1 T4 reads 1",
        (3, 2, 3),
        {(0, 1, 2): ((19, 29, 25, 29), (13, 23, 19, 23))},
    ),
    vector(
        "V5",
        "c0 p1 C1 T10\nc0 p2 C1 G2..4 C1 after 0\nc1 p3 C2..3 T15 reads 1\nc1 p0 C1 after 2",
        (1, 7, 3, 4),
        {(0, 1, 2, 3): ((26, 36, 21, 36), (25, 35, 20, 35))},
        earliest={1: 1, 3: 2},
        latest={3: 3},
    ),
    vector(
        "V6",
        "c0 p0 C1 T5\nc0 p1 C1 G3 after 0 every 2\nc1 p2 C1 T6 reads 1",
        (1, 5, 1),
        {(0, 1): same(5, 15, 5, 15), (0, 1, 2): ((12, 22, 16, 22), (11, 21, 15, 21))},
    ),
    vector(
        "V7",
        "c0 p0 C1 G8 T20\nc0 p1 C1 T20 reads 0",
        (9, 2),
        {(0, 1): ((31, 51, 31, 51), (29, 49, 29, 49))},
    ),
    vector(
        "V7 smallest",
        "c0 p0 C1 G1 T4\nc0 p1 C1..2 T3 reads 0",
        (2, 3),
        {(0, 1): ((8, 12, 9, 12), (7, 11, 7, 11))},
    ),
    vector(
        "V8",
        "c0 p0 C1 T10 J15\nc0 p2 C1 G5 after 0",
        (16, 24),
        {(0, 1): ((24, 34, 24, 34), (23, 33, 23, 33))},
        earliest={1: 1},
        latest={1: 16},
    ),
    vector(
        "V9",
        V9.format(0, 0, 0),
        (4, 2, 1),
        {(0, 1, 2): ((37, 57, 47, 57), (35, 55, 45, 55))},
    ),
    *(
        vector(
            f"V9 {offsets}",
            V9.format(*offsets),
            (4, 2, 1),
            {(0, 1, 2): same(*times)},
            given=True,
        )
        for offsets, times in [
            ((0, 4, 6), (7, 27, 17, 27)),
            ((0, 3, 5), (26, 46, 36, 46)),
            ((0, 0, 0), (31, 51, 41, 51)),
        ]
    ),
    vector(
        "V10",
        "c0 p0 C2 G3 T24\nc0 p1 C3 G2 after 0\nc0 p2 C2 after 1\nc1 p3 C1 G2 T30",
        (7, 12, 14, 8),
        {(0, 1, 2): same(14, 38, 14, 38)},
        by_jitter=(9, 21, 28, 8),
    ),
    vector(
        "V11",
        "c0 p0 C1 T30\nc0 p1 C1 after 0\nc1 p2 C9 after 0\nc0 p3 C1 after 1,2",
        (1, 2, 10, 11),
        {(0, 1, 3): same(11, 41, 11, 41)},
    ),
    vector(
        "V12",
        "c0 C2 T10\nc1 p1 C1..2 T10\nc1 p2 C1 T10 reads 0",
        (2, 2, 3),
        {(0, 2): ((15, 25, 15, 25), (14, 24, 14, 24))},
    ),
    vector(
        "V13",
        "c0 p1 C1..2 T3\nc0 p0 C1 T6 reads 0",
        (3, 1),
        {(0, 1): ((10, 13, 7, 13), (8, 11, 5, 11))},
    ),
    vector(
        "V13 the other way",
        "c0 p1 C1..2 T3 reads 1\nc0 p0 C1 T6",
        (3, 1),
        {(1, 0): ((7, 13, 10, 13), (5, 11, 8, 11))},
    ),
    vector(
        "V14",
        "c0 p0 C1..2 T12 J2\nc0 p1 C1 G1..3 after 0\nc1 p2 C2 T9 reads 1\nc1 p3 C1..2 after 2",
        (4, 8, 2, 4),
        {(0, 1, 2, 3): ((21, 33, 24, 33), (20, 32, 23, 32))},
        earliest={1: 1, 3: 2},
        latest={1: 4, 3: 2},
    ),
]
