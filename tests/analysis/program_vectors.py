"""Systems with CPUs, copies and kernels, and the response times that tests of programs give them.

A job is written as in "C2 I1 K(2,3,4) O1": CPU work of 2, a copy to the GPU of 1, a kernel of 2
blocks of 3 threads for 4, a copy from the GPU of 1; without spaces inside of a segment.  With one
engine all copies are on it, with two each direction has its own.

VECTORS: bounds of three systems in every way, with the largest responses that a search found.
COUNTEREXAMPLES: systems in which a plausible rule gives too small a bound.
DETAILS: small systems whose bounds are worked out by hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from reference.program import Copy, Cpu, Kernel, Machine, Task

OWN = None  # channels: one for each task


def job(text: str, engines: int = 1) -> tuple:
    found = []
    for segment in text.split():
        numbers = [int(x) for x in re.findall(r"\d+", segment)]
        match segment[0]:
            case "C":
                found.append(Cpu(*numbers))
            case "I":
                found.append(Copy(*numbers, engine=0))
            case "O":
                found.append(Copy(*numbers, engine=engines - 1))
            case "K":
                found.append(Kernel(*numbers))
    return tuple(found)


def task(period: int, text: str, engines: int = 1, deadline: int | None = None, **other) -> Task:
    """A task, with its period as deadline unless given."""
    return Task(period, deadline or period, job(text, engines), **other)


# Three systems in every way -----------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """Task n has the CPU priority n and is in partition, or client, n % 2."""

    machine: Machine
    tasks: tuple


GPU = Machine(2, 4, slice=3, switch=1, parts=(1, 1), limits=(1, 2))

H1 = Program(
    GPU,
    (
        task(90, "C2 I2 K(2,3,4) O1 C1", priority=0, level=0, part=0),
        task(120, "C3 K(3,2,5) K(1,4,3) C2", priority=1, level=1, part=1),
        task(150, "C1 I3 K(4,2,6) O2", jitter=5, core=1, priority=2, level=2, part=0),
    ),
)
H2 = Program(
    GPU,
    (
        task(60, "C4", priority=0, level=0, part=0),
        task(200, "C2 K(2,2,3) C2 K(1,3,2) C1", 2, priority=1, level=0, part=1),
        task(220, "C3 I4 K(3,3,4) K(2,1,5) O3", 2, core=1, priority=2, level=1, part=0),
        task(240, "K(4,1,7) O2 C5", 2, core=1, priority=3, level=2, part=1),
    ),
)
H3 = Program(
    replace(GPU, latency=1),
    (
        task(40, "C1 K(1,2,3) C1", deadline=80, jitter=4, priority=0, level=0, part=0),
        task(70, "I2 K(2,2,4) O2", deadline=140, core=1, priority=1, level=1, part=1),
        task(90, "C5 K(2,3,5) K(2,3,5)", deadline=180, priority=2, level=1, part=0),
    ),
)
PROGRAMS = (H1, H2, H3)


@dataclass(frozen=True)
class Vector:
    """Bounds, and largest responses seen, of H1, H2 and H3.

    `channels`: task n has the channel n % channels; `levels`: whether streams have priorities.
    """

    name: str
    way: str
    launches: str
    bounds: tuple
    seen: tuple
    waiting: str = "suspend"
    channels: int | None = OWN
    levels: bool = False

    def system(self, n: int) -> tuple[Machine, list[Task]]:
        machine, tasks = PROGRAMS[n].machine, list(PROGRAMS[n].tasks)
        if self.way == "gcaps":
            machine = replace(machine, latency=0, switch=0)
        if self.way == "edf_serial":  # deadlines up to the period; kernels without CPU work between
            tasks = [replace(t, deadline=t.period) for t in tasks]
            if PROGRAMS[n] is H2:
                tasks[1] = replace(tasks[1], segments=job("C2 K(2,2,3) K(1,3,2) C3"))
        for i, t in enumerate(tasks):
            channel = i if self.channels is OWN else i % self.channels
            tasks[i] = replace(t, channel=channel, level=t.level if self.levels else 0)
        return machine, tasks


def numbers(text: str) -> tuple:
    """Numbers of three systems, separated by semicolons."""
    return tuple([int(x) for x in some.split()] for some in text.split(";"))


def vector(name: str, way: str, launches: str, bounds: str, seen: str, **other) -> Vector:
    return Vector(name, way, launches, numbers(bounds), numbers(seen), **other)


VECTORS = [
    vector(
        "one stream, sync", "one_stream", "sync",
        "29 31 32; 4 36 37 35; 19 24 33",
        "29 30 32; 4 34 37 34; 19 23 25",
    ),
    vector(
        "one stream, graph", "one_stream", "graph",
        "29 34 32; 4 43 35 40; 28 22 29",
        "27 32 31; 4 43 33 40; 28 22 27",
    ),
    vector(
        "one stream, sync, spin", "one_stream", "sync",
        "26 34 32; 4 36 35 42; 19 24 31",
        "24 34 31; 4 27 31 42; 18 23 28",
        waiting="spin",
    ),
    vector(
        "streams, graph", "streams", "graph",
        "37 39 42; 4 34 39 37; 21 20 32",
        "22 25 25; 4 24 29 23; 19 14 23",
    ),
    vector(
        "streams, 2 channels, sync", "streams", "sync",
        "40 39 45; 4 34 39 39; 21 22 35",
        "25 25 27; 4 24 29 23; 19 16 23",
        channels=2,
    ),
    vector(
        "streams, 2 channels, graph", "streams", "graph",
        "43 39 47; 4 34 39 39; 34 20 31",
        "25 25 27; 4 24 29 23; 24 14 23",
        channels=2,
    ),
    vector(
        "streams, 1 channel, graph", "streams", "graph",
        "48 56 54; 4 46 38 51; 38 32 37",
        "23 27 27; 4 32 25 32; 25 19 24",
        channels=1,
    ),
    vector(
        "streams, graph, spin", "streams", "graph",
        "37 67 42; 4 34 39 61; 21 20 65",
        "20 30 25; 4 20 26 40; 18 14 26",
        waiting="spin",
    ),
    vector(
        "priority streams, graph", "streams", "graph",
        "23 39 45; 4 28 39 41; 15 20 32",
        "18 24 29; 4 20 29 25; 14 14 23",
        levels=True,
    ),
    vector(
        "priority streams, 2 channels, sync", "streams", "sync",
        "40 39 45; 4 34 39 39; 21 22 35",
        "25 24 28; 4 24 29 23; 19 16 23",
        channels=2, levels=True,
    ),
    vector(
        "priority streams, 2 channels, graph", "streams", "graph",
        "43 39 47; 4 34 39 39; 34 21 31",
        "25 24 28; 4 24 29 23; 24 14 23",
        channels=2, levels=True,
    ),
    vector(
        "priority streams, graph, spin", "streams", "graph",
        "23 53 45; 4 28 39 62; 15 20 49",
        "17 30 28; 4 20 26 40; 14 14 26",
        waiting="spin", levels=True,
    ),
    vector(
        "time slices, sync", "time_slices", "sync",
        "33 33 36; 4 32 47 42; 19 25 39",
        "29 32 32; 4 29 45 35; 19 24 31",
    ),
    vector(
        "time slices, graph", "time_slices", "graph",
        "33 33 36; 4 32 47 42; 19 23 36",
        "29 32 32; 4 29 45 36; 19 23 30",
    ),
    vector(
        "time slices, graph, spin", "time_slices", "graph",
        "33 41 36; 4 32 47 52; 19 23 33",
        "27 35 32; 4 25 35 48; 18 23 32",
        waiting="spin",
    ),
    vector(
        "parts, own queues, graph", "own_parts", "graph",
        "25 21 50; 4 28 30 39; 15 9 39",
        "21 21 31; 4 20 29 21; 14 9 29",
        levels=True,
    ),
    vector(
        "parts, shared queues, graph", "shared_parts", "graph",
        "25 41 60; 4 28 44 54; 15 27 39",
        "22 29 36; 4 20 33 29; 14 17 29",
        levels=True,
    ),
    vector(
        "clients with limits, graph", "limits", "graph",
        "60 77 66; 4 54 58 54; 33 31 55",
        "32 34 35; 4 28 33 27; 24 19 33",
    ),
    vector(
        "gcaps, graph", "gcaps", "graph",
        "15 28 32; 4 14 30 42; 9 11 28",
        "13 24 32; 4 14 28 42; 9 11 26",
    ),
    vector(
        "gcaps, sync", "gcaps", "sync",
        "15 28 32; 4 14 30 42; 9 11 28",
        "13 24 32; 4 14 28 42; 9 11 26",
    ),
    vector(
        "EDF, one at a time, graph", "edf_serial", "graph",
        "90 120 150; 60 200 220 240; 40 70 90",
        "20 31 32; 4 33 33 42; 19 21 27",
    ),
]  # fmt: skip


# Plausible rules that are wrong -------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A system with what is known of its tasks, by their numbers.

    `wrong`: the rule that fails; `claimed`: what it gives; `seen`: a response found; `bound`: of
    the right rule (None: the system is not accepted); `tempting`: the rule as another way, machine
    and tasks, where it can be written so, with the bounds in `claimed`.
    """

    name: str
    wrong: str
    way: str
    machine: Machine
    tasks: Sequence[Task]
    bound: dict
    claimed: dict = field(default_factory=dict)
    seen: dict = field(default_factory=dict)
    tempting: tuple | None = None
    options: dict = field(default_factory=dict)


SYNC = {"launches": "sync"}
GRAPH = {"launches": "graph"}


def own_channels(tasks: Sequence[Task]) -> list[Task]:
    return [replace(t, channel=i) for i, t in enumerate(tasks)]


# Two engines: with one the wrong rule would claim 18.  Task 0 is behind task 1 on the core.
ONE_CHANNEL = [
    task(74, "C2 I1 K(1,4,6) K(1,4,1) O2 C3", 2, priority=1),
    task(25, "C1 I3 K(1,3,6) K(2,1,1)", 2, jitter=5, priority=0),
]
SLICED = [
    task(39, "C4 I1 K(1,2,1) C2", priority=0),
    task(241, "C4 K(4,1,1) K(2,4,6) I4 K(3,4,6)", core=1, priority=1),
]
LIMITED = [task(21, "K(4,2,1) O4")]
# Two engines: with one the wrong rule would claim 20, and the bound would be 30.
TWO_PARTS = own_channels(
    [
        task(147, "C3 K(3,2,5) K(1,4,3) O1", 2, priority=1, part=0),
        task(23, "C3", 2, priority=2, part=0),
        task(201, "C3 I3 K(4,2,2) C2 K(1,1,6)", 2, priority=0, part=1),
    ]
)

COUNTEREXAMPLES = [
    Case(
        "channel",
        "shared channels change the order of kernels only",
        "streams",
        Machine(1, 8),
        ONE_CHANNEL,
        # Task 0 misses its deadline of 74, so that the system is not accepted.
        bound={0: 91, 1: 24},
        claimed={1: 17},
        seen={1: 19},
        tempting=("streams", Machine(1, 8), own_channels(ONE_CHANNEL)),
        options={"launches": "graph", "waiting": "spin"},
    ),
    Case(
        "copies beside slices",
        "copies of other tasks do not delay a task with time slices",
        "time_slices",
        Machine(2, 4, latency=1, slice=2, switch=2),
        SLICED,
        bound={0: 19},
        claimed={0: 15},
        seen={0: 16},
        tempting=(
            "time_slices",
            Machine(2, 4, latency=1, slice=2, switch=2),
            [SLICED[0], replace(SLICED[1], segments=job("C4 K(4,1,1) K(2,4,6) C1 K(3,4,6)"))],
        ),
        options=GRAPH,
    ),
    Case(
        "empty pieces",
        "no CPU is needed between two kernels",
        "streams",
        Machine(1, 4),
        own_channels(
            [
                task(164, "K(1,2,2) K(1,2,5) C2 I3 K(3,1,1) C2", priority=1),
                task(8, "C1", priority=0),
                task(22, "C5", priority=2),
            ]
        ),
        bound={0: 18},
        claimed={0: 17},
        seen={0: 18},
        options=SYNC,
    ),
    Case(
        "residue",
        "less urgent kernels are in the way once per job",
        "streams",
        Machine(2, 4, latency=2),
        own_channels(
            [
                task(64, "C1 K(1,4,5) K(3,4,3) C2 K(1,4,5)", priority=0, level=0),
                task(84, "C4 K(1,4,3) K(3,2,4) C1 I1 K(2,4,3) C1", core=1, priority=1, level=1),
            ]
        ),
        bound={0: 37},
        claimed={0: 29},
        seen={0: 30},
        options=SYNC,
    ),
    Case(
        "limit of SMs",
        "the limit of a client does not matter",
        "limits",
        Machine(3, 3, latency=1, limits=(1, 2)),
        LIMITED,
        bound={0: 9},
        claimed={0: 7},
        seen={0: 9},
        tempting=("streams", Machine(3, 3, latency=1), LIMITED),
        options=GRAPH,
    ),
    Case(
        "shared queues",
        "partitions with shared queues are GPUs by themselves",
        "shared_parts",
        Machine(2, 4, parts=(1, 1)),
        TWO_PARTS,
        bound={2: 29},
        claimed={2: 19},
        seen={2: 20},
        tempting=("own_parts", Machine(2, 4, parts=(1, 1)), TWO_PARTS),
        options=SYNC,
    ),
    Case(
        "turns",
        "one kernel of each other stream per kernel, although channels are shared",
        "streams",
        Machine(1, 2),
        [
            task(47, "K(3,2,3)", core=0, channel=0),
            task(60, "K(1,2,5) K(1,2,3)", core=1, channel=1),
            task(44, "K(1,2,4)", core=2, channel=0),
        ],
        bound={0: 21},
        claimed={0: 18},
        seen={0: 19},
        options=SYNC,
    ),
    Case(
        "launch at a release",
        "a release preempts the launch of work that has just ended",
        "streams",
        Machine(1, 1),
        own_channels([task(3, "C1", priority=0), task(40, "C2 K(1,1,11) C1", priority=1)]),
        bound={0: 1, 1: 16},
    ),
    Case(
        "spinning",
        "a spinning thread launches although a more urgent one has its core",
        "one_stream",
        Machine(1, 1),
        [task(40, "K(1,1,1) O1", priority=0), task(40, "O2 K(1,1,4) K(1,1,4)", priority=1)],
        bound={0: 6},
        options={"launches": "sync", "waiting": "spin"},
    ),
    Case(
        "section",
        "a section ends at a copy",
        "one_stream",
        Machine(1, 1),
        [task(4, "C2", priority=0), task(40, "K(1,1,1) O1 I1 K(1,1,1)", priority=1)],
        bound={1: 6},
        options=GRAPH,
    ),
    Case(
        "end of a slice",
        "a slice goes on if the thread launches at the instant at which its kernel ends",
        "time_slices",
        Machine(1, 1, slice=3),
        [task(40, "K(1,1,1)", core=0), task(40, "K(1,1,2) K(1,1,2)", core=1)],
        bound={0: 3},
        options=SYNC,
    ),
    Case(
        "key of EDF",
        "units are ordered by the deadlines of their jobs",
        "edf_serial",
        Machine(1, 1),
        [
            task(18, "K(1,1,4) C10", core=0),
            task(17, "K(1,1,3)", core=1),
            task(17, "K(1,1,3)", core=2),
        ],
        bound={0: 18, 1: 17, 2: 17},
    ),
    Case(
        "latency of EDF",
        "a unit does not have the GPU while it is launched",
        "edf_serial",
        Machine(1, 1, latency=2),
        [
            task(30, "K(1,1,3)", deadline=8, core=0),
            task(30, "K(1,1,3)", deadline=20, core=1),
        ],
        bound={0: None, 1: None},
        claimed={0: 8, 1: 20},
        tempting=(
            "edf_serial",
            Machine(1, 1),
            [
                task(30, "K(1,1,3)", deadline=8, core=0),
                task(30, "K(1,1,3)", deadline=20, core=1),
            ],
        ),
    ),
    Case(
        "latency of gcaps",
        "a task does not own the GPU while it launches",
        "gcaps",
        Machine(1, 1, latency=2),
        [task(40, "K(1,1,1)", core=0, priority=0), task(40, "K(1,1,1)", core=1, priority=1)],
        bound={0: 3, 1: 6},
        claimed={0: 1, 1: 2},
        seen={0: 3, 1: 4},
        tempting=(
            "gcaps",
            Machine(1, 1),
            [task(40, "K(1,1,1)", core=0, priority=0), task(40, "K(1,1,1)", core=1, priority=1)],
        ),
    ),
    Case(
        "origin",
        "a response from the arrival, less the jitter, is one from the release",
        "one_stream",
        Machine(1, 1),
        [task(10, "C8", jitter=5)],
        bound={0: 11},
        claimed={0: 13 - 5},
        options={"origin": "release"},
    ),
]


# Small systems worked out by hand -----------------------------------------------------------------

BEHIND_ONE = [task(100, "K(1,2,3)", core=0), task(100, "K(1,2,5) K(1,2,4)", core=1)]
CROSSING = [
    task(100, "K(1,2,3)", core=0, part=0, channel=0),
    task(100, "K(1,2,4)", core=1, part=1, channel=0),
    task(100, "K(1,2,5)", core=2, part=1, channel=1),
    task(100, "K(1,2,2)", core=3, part=0, channel=2),
]

OWNERS = [
    task(100, "K(1,1,4)", core=0, priority=0),
    task(100, "K(1,1,2)", core=1, priority=1),
]

DETAILS = [
    # Task 1: 2, behind 2 + 4 of task 0, whose copy waits for that of task 2, which task 1 never
    # meets on an engine.  Task 2: 5 + 3, all of the others, and no copy of theirs in addition.
    Case(
        "gcaps, the owner's copy waits",
        "only the copies of a task wait for those of less urgent ones",
        "gcaps",
        Machine(1, 1),
        [
            task(100, "I2 K(1,1,4)", core=0, priority=0),
            task(100, "K(1,1,2)", core=1, priority=1),
            task(200, "I5 K(1,1,3)", core=2, priority=2),
        ],
        {0: 11, 1: 13, 2: 16},
        seen={0: 11, 1: 13},
    ),
    # Task 1: 2 and a switch, 4 of task 0 with a switch to it and one back.
    Case(
        "gcaps, switches",
        "a preemption costs one switch",
        "gcaps",
        Machine(1, 1, switch=1),
        OWNERS,
        {0: 5, 1: 9},
        seen={0: 5, 1: 9},
    ),
    # Task 0: 4, two updates, each behind one of task 1.  Task 1: 2 + 4, and task 0 with two updates
    # and one of task 1 before its second one.
    Case("gcaps, updates", "", "gcaps", Machine(1, 1, update=1), OWNERS, {0: 8, 1: 13}),
    # With `stall` both updates of task 1 stop the kernel of task 0, too.
    Case(
        "gcaps, updates that stall",
        "",
        "gcaps",
        Machine(1, 1, update=1, stall=True),
        OWNERS,
        {0: 10, 1: 13},
    ),
    # Task 1 owns the GPU while its call waits for task 0: 2 + 1, and 1 + 4 + 4 on that core.
    Case(
        "gcaps, calls",
        "an owner never waits for its core",
        "gcaps",
        Machine(1, 1, graph_launch_cpu=1),
        [
            task(100, "C4", core=0, priority=0),
            task(100, "K(1,1,4)", core=0, priority=1),
            task(100, "K(1,1,2)", core=1, priority=2),
        ],
        {0: 4, 1: 9, 2: 12},
    ),
    # Three jobs of task 1 end 6 + 3, 12 + 6 and 18 + 6 after the first one of them has arrived.
    Case(
        "gcaps, a deadline beyond the period",
        "a job of each run is the first one",
        "gcaps",
        Machine(1, 1),
        [
            task(12, "K(1,1,3)", core=0, priority=0),
            task(8, "K(1,1,6)", core=1, priority=1, deadline=20),
        ],
        {0: 3, 1: 10},
    ),
    # Tasks 0 and 1 have a process.  Task 0: 4, and 2 * 2 of task 1, as a thread is busy while one
    # of both waits; so three own slices with a switch each, and both of task 2, 4 + 3.  Task 1: 2,
    # and 4 of task 0.  Task 2: 5 in two slices with switches, and two of the process, 2 * 4.
    Case(
        "a process of two tasks",
        "",
        "processes",
        Machine(1, 2, slice=3, switch=1, parts=(1, 1)),
        [
            task(100, "K(1,1,4)", core=0, channel=0, part=0),
            task(100, "K(1,2,2)", core=1, channel=1, part=0),
            task(100, "K(1,1,5)", core=2, channel=2, part=1),
        ],
        {0: 18, 1: 15, 2: 15},
        options=GRAPH,
    ),
    # A core of spinning tasks: 2 and 5 of task 0; task 2 of another core waits for both.
    Case(
        "gcaps, busy",
        "",
        "gcaps",
        Machine(1, 1),
        [
            task(100, "C1 K(1,1,4)", core=0, priority=0),
            task(100, "K(1,1,2)", core=0, priority=1),
            task(200, "I3 K(1,1,1)", core=1, priority=2),
        ],
        {0: 5, 1: 7, 2: 11},
        options={"waiting": "spin"},
    ),
    # Task 0: 3, and the larger kernel of task 1.  Task 1: 5 + 4, and 3.
    Case("mate, sync", "", "streams", Machine(1, 2), BEHIND_ONE, {0: 8, 1: 12}, options=SYNC),
    # Task 0: 3, all of task 1, and the tail of its first kernel once more, with an idle channel.
    Case("mate, graph", "", "streams", Machine(1, 2), BEHIND_ONE, {0: 17, 1: 12}, options=GRAPH),
    # A kernel of task 2 keeps out the mate, and then another one task 0: 1 + 2 + 2 * 10.  To count
    # all jobs of task 2 would not be better.  Task 2: 10 + 1 + 2, and 20 + 3 in a second job.
    Case(
        "joins of mates",
        "less urgent kernels are in the way of the task's own kernels only",
        "streams",
        Machine(1, 4),
        [
            task(1000, "K(1,4,1)", core=0, level=0, channel=0),
            task(1000, "K(1,4,2)", core=1, level=0, channel=0),
            task(12, "K(1,4,10)", core=2, level=1, channel=1, deadline=24),
        ],
        {0: 23, 1: 23, 2: 13},
        options=SYNC,
    ),
    # Task 1 has no kernels, so that it is nobody's mate: 3 and one kernel of task 2.
    Case(
        "channel without kernels",
        "a task without kernels makes its channel less urgent",
        "streams",
        Machine(1, 2),
        [
            task(100, "K(1,2,3)", core=0, level=0, channel=0),
            task(100, "C1", core=1, level=1, channel=0),
            task(100, "K(1,2,4) K(1,2,4)", core=2, level=1, channel=1),
        ],
        {0: 7, 1: 1},
        options=SYNC,
    ),
    # While task 1 is looked at, task 0 is not there.  Task 0: 4, and 3 of task 1; task 1: 3, and
    # those 7.
    Case(
        "spinning in streams",
        "",
        "streams",
        Machine(1, 2),
        own_channels(
            [
                task(100, "K(1,2,4)", priority=0, level=1),
                task(100, "K(1,2,3)", priority=1, level=0),
            ]
        ),
        {0: 7, 1: 10},
        options={"waiting": "spin"},
    ),
    # One task uses the GPU: no switches.
    Case("no switch", "", "time_slices", Machine(1, 1, slice=3, switch=5), [task(40, "K(1,1,4)")],
         {0: 4}),
    # Two blocks of task 1 fit at a time: its job works for 10 at least, so that a late one counts
    # once.  Task 1: 5, 3 of task 0, 15 of its own for 2 threads; task 0: 3, and 20 for 1 thread.
    Case(
        "room",
        "all blocks of a kernel run side by side",
        "streams",
        Machine(1, 2),
        own_channels(
            [
                task(1000, "K(1,2,3)", core=0, level=1),
                task(28, "K(4,1,5)", core=1, level=0),
            ]
        ),
        {0: 23, 1: 15},
    ),
    # Task 0 waits behind task 1, which waits for task 2, and for task 3: 3 + 4 + 5 + 2.
    # Task 1 waits for task 2, and behind task 0, which waits for task 3: 4 + 5 + 3 + 2.
    Case("channel across parts", "", "channel_parts", Machine(2, 2, parts=(1, 1)), CROSSING,
         {0: 14, 1: 14, 2: 9, 3: 5}, options=SYNC),
    Case("channels of parts", "", "own_parts", Machine(2, 2, parts=(1, 1)), CROSSING,
         {0: 5, 1: 9, 2: 9, 3: 5}, options=SYNC),
    # Task 1 has more work than time.  In one stream it has one section in front of task 0; on the
    # core of task 2 it leaves nothing.
    Case(
        "no bound",
        "",
        "one_stream",
        Machine(1, 1),
        [
            task(100, "K(1,1,3)", core=0),
            task(10, "C6 K(1,1,7)", core=1, priority=0),
            task(100, "C1", core=1, priority=1),
        ],
        {0: 10, 1: None, 2: None},
    ),
]  # fmt: skip
