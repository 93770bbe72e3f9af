"""Offsets and priorities for paths (gs.choose): enumeration, examples, runs, errors."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import gpusched as gs
from gpusched.comparison.choosing.offset_choice import OffsetChoice
from gpusched.comparison.choosing.open_values import OPEN
from tests.reference import choosing as twin
from tests.reference.pipelines import Leg, given_phases

pytestmark = [pytest.mark.python, pytest.mark.numbers]

EXAMPLES = Path(__file__).parents[2] / "notebooks"
ORIN = gs.Platform(
    "AGX Orin", cpus=4, launch_latency="10us", slowdown=1.05, context_switch="100us",
    update_cost="50us", server_overhead="20us",
)  # fmt: skip
KINDS = ("latency", "reaction", "age", "held age")


def program(seed: int, rings: bool = False) -> tuple[gs.Workload, gs.Platform]:
    """2 to 4 sources that read each other, some with a stage behind; with few offsets in all.

    ``rings``: links may close a ring, or go both ways between two sources.
    """
    random = Random(seed)
    periods = random.choice(([4, 6, 8, 4], [6, 4, 6, 9], [10, 4, 6, 5], [8, 8, 4, 12]))
    n = random.choice((2, 3, 3)) if rings else random.choice((2, 3, 3, 4))
    last: list[str] = []  # of each source's group
    tasks: list[gs.Task] = []
    reads: dict[str, list[str]] = defaultdict(list)
    for i in range(n):
        jitter = random.choice((0, 0, 1))
        tasks.append(gs.Task(f"s{i}", periods[i], [gs.CPU(random.choice((1, 2)))], jitter=jitter))
        last.append(f"s{i}")
        if random.random() < 0.3:
            every = random.choice((1, 2)) if n == 2 else 1
            tasks.append(gs.Task(f"t{i}", segments=[gs.CPU(1)], after=f"s{i}", every=every))
            last[-1] = f"t{i}"
    links = [(random.randrange(i), i) for i in range(1, n)]
    if rings:
        links.append(random.choice([(b, a) for a, b in links] + [(0, n - 1)]))
    for a, b in links:
        reads[f"s{b}"].append(random.choice((last[a], f"s{a}")))
    w = gs.Workload([t.replace(reads=dict.fromkeys(reads[t.name]) or None) for t in tasks])
    paths = []
    for _ in range(random.randint(1, 3)):
        names = [random.choice(w.names)]
        while before := [t for t in (*w[names[0]].after, *w[names[0]].reads) if t not in names]:
            names.insert(0, random.choice(before))
        deadline = random.choice((None, random.randint(8, 40)))
        paths.append(
            gs.Path(f"p{len(paths)}", names, deadline, random.choice(KINDS), "given")  # type: ignore[arg-type]
        )
    whole = [f"s{i}" for i in range(n)]
    if n > 1:  # so that there is one with a deadline from one source to another
        a, b = links[-1] if rings else links[0]
        read = reads[f"s{b}"][-1 if rings else 0]
        names = [read, f"s{b}"] if read == f"s{a}" else [f"s{a}", f"t{a}", f"s{b}"]
        paths.append(gs.Path("whole", names, 30, random.choice(KINDS), "given"))  # type: ignore[arg-type]
    random.shuffle(whole)
    platform = gs.Platform(gs.GPU(1, 1024, 8), cpus=len(w), slowdown=None)
    return w.replace(paths=paths), platform


def every_bound(answer: gs.WorkloadAnswer) -> list[tuple[Fraction, list[int]]]:
    """The largest share of a deadline and the bounds of all paths, for all offsets on ticks."""
    found = []
    for one in twin.with_offsets(answer.workload):
        bounds = []
        for path in answer.paths:
            legs = [
                Leg(leg.period, leg.end, leg.earliest, source_of(one, leg.tasks[0]).offset)
                for leg in path.legs
            ]
            bounds.append(given_phases(legs)[KINDS.index(path.path.kind)])
        due = [path.path.deadline for path in answer.paths]
        share = max(Fraction(b, d) for b, d in zip(bounds, due, strict=True) if d is not None)
        found.append((share, bounds))
    return found


def source_of(w: gs.Workload, name: str) -> gs.Task:
    return source_of(w, w[name].after[0]) if w[name].after else w[name]


def shares(answer: gs.WorkloadAnswer) -> Fraction:
    return max(path.share for path in answer.paths if path.share is not None)


@pytest.mark.parametrize("seed", range(40))
def test_offsets_equal_an_enumeration(seed: int) -> None:
    w, p = program(seed)
    start = gs.analyze(w, p, "mpcp")
    assert start.bounded.all()
    choice = OffsetChoice(w)
    assert choice.whole and choice.names
    found = gs.analyze(choice.applied(choice.best(start), w), p, "mpcp")
    every = every_bound(start)
    assert shares(found) == min(share for share, _ in every)
    number = Random(seed).randrange(len(w.paths))
    short = OffsetChoice(w, of=w.paths[number].name)
    of = gs.analyze(short.applied(short.best(start), w), p, "mpcp")
    late = max(Fraction(1), shares(found))
    assert of.paths[number].bound == min(b[number] for share, b in every if share <= late)


def test_a_local_search_where_links_close_a_ring() -> None:
    """It is never worse than the start, and here as good as an enumeration nearly always."""
    equal = tried = 0
    for seed in range(24):
        w, p = program(seed, rings=True)
        start = gs.analyze(w, p, "mpcp")
        choice = OffsetChoice(w)
        if choice.whole:  # both links go the same way
            continue
        tried += 1
        found = gs.analyze(choice.applied(choice.best(start), w), p, "mpcp")
        least = min(share for share, _ in every_bound(start))
        assert least <= shares(found) <= shares(start)
        equal += shares(found) == least
    assert tried >= 10 and equal >= tried - 1


def given(w: gs.Workload) -> gs.Workload:
    """The sources of the first path on one clock."""
    return w.replace(paths=[w.path(0).replace(phases="given"), *w.paths[1:]])


def lidar() -> gs.Workload:
    return gs.Workload.load(EXAMPLES / "lidar_to_brake.toml")


@pytest.mark.parametrize(
    ("way", "one", "bounds"),
    [
        ("mpcp", True, (336_250, 252_000, 226_250)),
        ("gcaps", True, (320_330, 252_000, 210_330)),
        ("one_stream", False, (338_220, 252_000, 228_220)),
        ("mpcp", False, (338_250, 252_000, 228_250)),
    ],
)
def test_a_lidar_point_to_the_brake(way: str, one: bool, bounds: tuple[int, ...]) -> None:
    """With free clocks, with all offsets 0, and with those that are chosen."""
    w = lidar().in_one_thread() if one else lidar()
    assert gs.analyze(w, ORIN, way).path(0).bound == bounds[0]
    triggered: Any = "one" if one else "apart"
    found = gs.choose(given(lidar()), ORIN, way, what=["offsets"], aim="paths", triggered=triggered)
    assert found == gs.choose(given(w), ORIN, way, what=["offsets"], aim="paths")
    assert found.before is not None and found.before.path(0).bound == bounds[1]
    assert found.answer.path(0).bound == bounds[2] and found.optimal
    assert found.workload["lidar" if not one else 0].offset == 0
    assert len(found.changes) == 2 and found.changes[0].startswith("planner: offset ")
    said = 'sources of "obstacle to brake" release a job every period from their offsets, on one'
    assert f"{said} clock" in found.answer.assumptions
    assert f"of 500ms; before: {bounds[1] // 1000}ms" in str(found)
    assert (
        found.why()
        == "Of all offsets, none has shorter paths, by the largest share of a deadl\
ine."
    )


def test_whole_milliseconds_of_the_lidar() -> None:
    """Offsets of 78 and 15 ms give 227 ms; the best ones save what was rounded up."""
    w = given(lidar().in_one_thread())
    at = {"planner": "78ms", "control": "15ms"}
    stated = w.replace(tasks=[t.replace(offset=at.get(t.name, 0)) for t in w])
    assert gs.analyze(stated, ORIN, "mpcp").path(0).bound == 227_000
    assert gs.choose(stated, ORIN, "mpcp", what=["offsets"]).changes == ()  # its margin is as large
    shorter = gs.choose(stated, ORIN, "mpcp", what=["offsets"], aim="paths")
    assert shorter.answer.path(0).bound == 226_250


def three(deadline: int, kind: Any = "latency") -> tuple[gs.Workload, gs.Platform]:
    """Three tasks on cores of their own, whose ends are 4, 2 and 1."""
    tasks = [
        gs.Task("a", 20, [gs.CPU(1), gs.Kernel(3)], core=0),
        gs.Task("b", 20, [gs.CPU(2)], core=1, reads="a"),
        gs.Task("c", 10, [gs.CPU(1)], core=2, reads="b"),
    ]
    path = gs.Path("a to c", ["a", "b", "c"], deadline, kind, "given")
    return gs.Workload(tasks, paths=[path]), gs.Platform(gs.GPU(1, 1024, 8), cpus=3)


def test_offsets_of_the_ends_before_them() -> None:
    for kind, bound, at_zero in zip(KINDS, (7, 27, 17, 27), (31, 51, 41, 51), strict=True):
        w, p = three(40, kind)
        found = gs.choose(w, p, "mpcp", what=["offsets"], aim="paths")
        assert found.answer.path(0).bound == bound and found.optimal
        assert [t.offset for t in found.workload] == [0, 4, 6]
        assert found.before is not None and found.before.path(0).bound == at_zero


def test_a_deadline_that_offsets_alone_meet() -> None:
    w, p = three(30)
    assert gs.analyze(w, p, "mpcp").schedulable is None
    found = gs.choose(w, p, "mpcp")
    assert found.what == ("priorities", "offsets") and found.accepted
    with pytest.raises(ValueError, match=r"what\[0\]: got 'offsets', expected the aim 'margin' or"):
        gs.choose(w, p, "mpcp", what=["offsets"], aim="change")
    assert gs.choose(w, p, "mpcp", aim="change").what == ("priorities",)


@pytest.mark.parametrize(("way", "deadline"), [("mpcp", 20), ("gcaps", 16), ("one_stream", 16)])
def test_the_largest_margin_of_all_offsets(way: str, deadline: int) -> None:
    """It has room behind the ends: the best offsets for the largest factor."""
    tasks = [
        gs.Task("a", 12, [gs.CPU(1), gs.Kernel(2)], core=0),
        gs.Task("b", 4, [gs.CPU(2)], core=1, reads="a"),
    ]
    w = gs.Workload(tasks, paths=[gs.Path("a to b", ["a", "b"], deadline, "age", "given")])
    p = gs.Platform(gs.GPU(1, 1024, 8), cpus=2)
    found = gs.choose(w, p, way, what=["offsets"])
    factors = [gs.margin(one, p, way).factor for one in twin.with_offsets(w)]
    assert found.optimal and found.margin.factor == max(one for one in factors if one is not None)
    assert len(set(factors)) > 1
    shortest = gs.choose(w, p, way, what=["offsets"], aim="paths")
    assert shortest.accepted and shortest.margin.factor <= found.margin.factor  # type: ignore[operator]


def test_priorities_for_paths_equal_an_enumeration() -> None:
    """On one core: the longest path decides, and not the margin."""
    differ = 0
    for seed in range(6):
        random = Random(seed)
        tasks = [
            gs.Task("a", 40, [gs.CPU(random.randint(1, 6)), gs.Kernel(random.randint(1, 4))]),
            gs.Task("b", 40, [gs.CPU(random.randint(1, 6))], reads="a"),
            gs.Task("c", 20, [gs.CPU(random.randint(1, 6))], reads="b"),
        ]
        tasks = [t.replace(core=0, priority=i) for i, t in enumerate(tasks)]
        paths = [
            gs.Path("long", ["a", "b", "c"], 140, random.choice(KINDS), "given"),  # type: ignore[arg-type]
            gs.Path("short", ["b", "c"], random.randint(45, 90)),
        ]
        w, p = gs.Workload(tasks, paths=paths), gs.Platform(gs.GPU(1, 1024, 8), cpus=1)
        found = gs.choose(w, p, "mpcp", what=["priorities"], aim="paths")
        ranked = [twin.longest(one, "mpcp") for one in twin.choices(w, p, "mpcp", ["priorities"])]
        least = min((one for one in ranked if one is not None), default=None)
        assert found.accepted == (least is not None)
        if least is not None:
            assert found.optimal and shares(found.answer) == least
            both = gs.choose(w, p, "mpcp", what=["priorities", "offsets"], aim="paths")
            assert both.optimal and shares(both.answer) <= least
            differ += shares(both.answer) < least
            assert "of all 6 choices, each with any offsets, none has" in both.why().lower()
    assert differ > 0


def test_ends_do_not_depend_on_offsets() -> None:
    """So that offsets are chosen for the ends of an answer."""
    ways = [name for name, kinds in OPEN.items() if "offsets" in kinds]
    assert set(OPEN) - set(ways) == {"mig", "edf_serial", "edf_parallel", "pbs"}
    random = Random(3)
    w = given(lidar())
    later = w.replace(
        tasks=[t if t.after else t.replace(offset=random.randrange(t.period)) for t in w]
    )
    for way in set(ways) - {"mps_static", "green_contexts"}:  # which need parts of the GPU
        for one, two in ((w, later), (w.in_one_thread(), later.in_one_thread())):
            a, b = (gs.analyze(each, ORIN, way) for each in (one, two))
            assert a.response.tolist() == b.response.tolist()
            assert a.bounded.tolist() == b.bounded.tolist()


def test_runs_of_programs_with_chosen_offsets_keep_their_bounds() -> None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    from pipeline_falsification import attack_offsets

    seen: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    counts: Counter[str] = Counter()
    assert [found for seed in range(10) for found in attack_offsets(seed, seen, counts)] == []
    assert counts["one_stream runs"] > 10 and counts["mpcp runs"] > 10
    assert max(row["latency"] for row in seen.values()) > 0.9


def test_observed_times_with_offsets_are_bounds_of_the_lidar() -> None:
    w = given(lidar())
    found = gs.choose(w, ORIN, "mpcp", what=["offsets"], aim="paths")
    run = gs.observe(found.workload, ORIN, "mpcp", until="3s")
    free = gs.observe(w, ORIN, "mpcp", until="3s")
    assert run.path(0).largest is not None and free.path(0).largest is not None
    assert run.path(0).largest <= 228_250 and run.path(0).largest < free.path(0).largest


def test_refused_and_saved(tmp_path: Path) -> None:
    w, p = three(30)
    free = w.replace(paths=[w.path(0).replace(phases="any")])
    for program_, more, error, text in (
        (
            free,
            {"what": ["offsets"]},
            ValueError,
            r"what\[0\]: got 'offsets', expected a path with",
        ),
        (
            w,
            {"aim": "paths", "of": "x"},
            ValueError,
            r"of: got 'x', expected 'all' or a path: a to c",
        ),
        (w, {"of": "a to c"}, ValueError, r"of: got 'a to c' with the aim 'margin', expected"),
        (w, {"aim": "paths", "of": 3}, TypeError, r"of: got 3, expected 'all' or the name"),
        (
            w.replace(paths=()),
            {"aim": "paths"},
            ValueError,
            r"aim: got 'paths' of a workload whose",
        ),
        (
            w,
            {"way": "edf_serial", "what": ["offsets"]},
            ValueError,
            r"what\[0\]: got 'offsets', exp",
        ),
    ):
        asked: dict[str, Any] = {"way": "mpcp", **more}
        with pytest.raises(error, match=text):
            gs.choose(program_, p, **asked)
    open_ended = w.replace(paths=[w.path(0).replace(deadline=None)])
    found = gs.choose(open_ended, p, "mpcp", what=["offsets"], aim="paths", of="a to c")
    assert found.answer.path(0).bound == 7
    assert found.why() == "Of all offsets, none has a smaller bound of a to c."
    found.save(tmp_path / "choice")
    again = gs.Choice.load(tmp_path / "choice")
    assert again == found and again.of == "a to c" and str(again) == str(found)


def test_long_periods_and_long_hyperperiods() -> None:
    """Of sources whose arrivals repeat late, bounds are those of all phases; none overflows."""
    long = 2**56 - 1
    for a, b, every in ((10**6 + 1, 10**6 + 3, 1), (long, long - 2, 1), (2**55 + 1, 2**50, 7)):
        tasks = [
            gs.Task("a", a, [gs.CPU(5)]),
            gs.Task("b", after="a", every=every, segments=[gs.CPU(5)]),
            gs.Task("c", b, [gs.CPU(5)], reads=["a", "b"]),
            gs.Task("d", b, [gs.CPU(5)], reads="c"),
        ]
        paths = [
            gs.Path("x", ["a", "b", "c", "d"], 2**58, "age", "given"),
            gs.Path("y", ["a", "c"], 2**58, "reaction", "given"),
        ]
        w, p = gs.Workload(tasks, paths=paths), gs.Platform(gs.GPU(1, 1024, 8), cpus=4)
        found = gs.choose(w, p, "one_stream", what=["offsets"], aim="paths")
        assert found.before is not None and shares(found.answer) <= shares(found.before)


def test_many_paths_over_the_same_links_are_few_offsets() -> None:
    work = [gs.CPU(1)]
    tasks = [
        gs.Task("a", 30, work),
        gs.Task("b", 20, work, reads="a"),
        gs.Task("c", 12, work, reads="b"),
    ]
    paths = [gs.Path(f"p{i}", ["a", "b", "c"], 90 + i, phases="given") for i in range(40)]
    w, p = gs.Workload(tasks, paths=paths), gs.Platform(gs.GPU(1, 1024, 8), cpus=3)
    assert OffsetChoice(w).whole
    start = gs.analyze(w, p, "mpcp")
    with pytest.raises(gs.Cancelled):
        OffsetChoice(w).best(start, bytearray(b"\x01"))
    found = gs.choose(w, p, "mpcp", what=["offsets"], aim="paths")
    one = gs.analyze(w.replace(paths=paths[:1]), p, "mpcp")
    assert found.optimal and shares(found.answer) == min(share for share, _ in every_bound(one))


def test_the_clock_is_that_of_linked_sources_alone() -> None:
    """Sources that no path with given phases links keep their offsets, and so does a first one."""
    work = [gs.CPU(2)]
    tasks = [
        gs.Task("a", 40, work, offset=7),
        gs.Task("b", 40, work, reads="a"),
        gs.Task("c", 40, work, reads="b", offset=3),
        gs.Task("d", 40, work, offset=1),
        gs.Task("e", 40, work, reads="d"),
    ]
    paths = [
        gs.Path("a to b", ["a", "b"], 90, phases="given"),
        gs.Path("b to c", ["b", "c"], 90),
        gs.Path("d to e", ["d", "e"], 90, phases="given"),
    ]
    w = gs.Workload(tasks, paths=paths)
    assert OffsetChoice(w).names == ("b", "e")
    found = gs.choose(w, gs.Platform(gs.GPU(1, 1024, 8), cpus=5), "mpcp", what=["offsets"],
                      aim="paths")  # fmt: skip
    assert [t.offset for t in found.workload] == [7, 9, 3, 1, 3]
    assert [path.bound for path in found.answer.paths] == [4, 44, 4]
