"""gs.choose: equality with an enumeration, runs of guaranteed choices, budgets, errors."""

from __future__ import annotations

import shlex
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import gpusched as gs
from gpusched.comparison.choosing.choice_search import ChoiceSearch, Point, starting_points
from gpusched.comparison.choosing.chosen_models import ChosenModels
from gpusched.comparison.choosing.open_values import OPEN, open_values
from gpusched.comparison.choosing.quick_rejection import QuickRejection
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.margins import grown
from tests.reference import choosing as twin

pytestmark = [pytest.mark.python, pytest.mark.numbers]


def program(seed: int, tasks: int = 2, sms: int = 4) -> tuple[gs.Workload, gs.Platform]:
    """A small program on a small GPU; sizes of green contexts depend on its capability."""
    random = Random(seed)
    made = []
    for i in range(tasks):
        period = random.choice((1000, 2000, 3000))
        segments: list[gs.Segment] = [gs.CPU(random.randint(20, 150))]
        if random.random() < 0.4:
            segments.append(gs.CopyIn(random.randint(10, 50)))
        for _ in range(random.choice((1, 1, 2))):
            blocks = random.randint(1, 3 * sms)
            time = random.randint(20, period // 8)
            segments.append(gs.Kernel(time, blocks=blocks, threads=random.choice((256, 512))))
        segments.append(gs.CPU(random.randint(10, 80)))
        deadline = random.choice((period, period * 2 // 3))
        made.append(gs.Task(f"t{i}", period, segments, deadline=deadline))
    cc = random.choice(((8, 7), (9, 0))) if sms >= 8 else None
    gpu = gs.GPU(sms=sms, threads_per_sm=1024, blocks_per_sm=16, cc=cc)
    platform = gs.Platform(gpu, cpus=2, slowdown=random.choice((1, 1.4)), context_switch=7)
    return gs.Workload(made, tick="us"), platform


CASES = [
    ("priority_streams", ["levels"], 3, 4),
    ("priority_streams", ["levels", "cores"], 2, 4),
    ("one_stream", ["cores", "priorities"], 3, 4),
    ("streams", ["cores"], 3, 4),
    ("mps", ["sms"], 2, 4),
    ("mps", ["sms", "cores"], 2, 3),
    ("mps_static", ["sms"], 3, 3),
    ("green_contexts", ["sms"], 2, 12),
    ("green_contexts", ["sms", "levels"], 2, 3),
    ("time_slices", ["cores", "priorities"], 2, 4),
    ("gcaps", ["cores", "priorities"], 3, 4),
    ("mpcp", ["cores", "priorities"], 3, 4),
    ("gpu_server", ["priorities"], 3, 4),
    ("time_slices", ["slices"], 2, 4),
    ("gcaps", ["gpu_priorities", "cores"], 3, 4),
    ("edf_parallel", ["cores"], 2, 4),
    ("pbs", ["cores", "priorities"], 2, 4),
]


@pytest.mark.parametrize(("way", "what", "tasks", "sms"), CASES)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_equals_an_enumeration(way: str, what: list[str], tasks: int, sms: int, seed: int) -> None:
    w, p = program(seed, tasks, sms)
    found = gs.choose(w, p, way, what=what, budget=gs.Budget(states=5000))
    assert found.whole and found.total is not None and found.tested >= found.total
    rank = 1 + found.accepted if found.accepted or found.answer.conditional else 0
    expected = twin.best(w, p, way, what)
    assert (rank, found.margin.factor if rank else 0) == expected
    again = gs.analyze(found.workload, found.platform, way)
    assert again.verdict == found.verdict
    assert found.margin.factor == gs.margin(found.workload, found.platform, way).factor


@pytest.mark.parametrize("way", ["mpcp", "fmlp_plus", "gpu_server", "gcaps"])
def test_quick_rejections_change_nothing(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is that of a search in which each choice has a whole analysis for each factor."""
    asked: list[bool] = []
    rejects = QuickRejection.rejects

    def counted(self: QuickRejection, *arguments: Any) -> bool:
        asked.append(rejects(self, *arguments))
        return asked[-1]

    def without(self: QuickRejection, *arguments: Any) -> bool:
        return False

    init = ChoiceSearch.__init__

    def all_factors(self: ChoiceSearch, *arguments: Any) -> None:
        init(self, *arguments)
        self._monotone = False

    for seed in range(4):
        w, p = program(seed, 3)
        tasks = list(w)
        if seed == 1:
            tasks[2] = gs.Task("t2", segments=tasks[2].segments, after=["t0"])
        if seed == 2:
            tasks[1] = tasks[1].replace(jitter=40)
        if seed == 3:  # with least times no factor stands for smaller ones
            tasks[0] = tasks[0].replace(best=20)
            tasks = [task.replace(deadline=task.deadline // 3) for task in tasks]
        w = w.replace(tasks=[task.replace(core=0) for task in tasks])
        for what, states in ((["cores", "priorities"], 2000), (["priorities"], 5)):
            call: dict[str, Any] = {"what": what, "aim": "change" if seed % 2 else "margin"}
            call |= {"seed": seed, "budget": gs.Budget(states=states)}
            with monkeypatch.context() as patched:
                patched.setattr(QuickRejection, "rejects", counted)
                quick = gs.choose(w, p, way, **call)
            with monkeypatch.context() as patched:
                patched.setattr(QuickRejection, "rejects", without)
                patched.setattr(ChoiceSearch, "__init__", all_factors)
                assert gs.choose(w, p, way, **call) == quick
    assert False in asked
    assert (True in asked) == (way != "gcaps")  # which has a second test


@pytest.mark.parametrize(
    ("way", "what"),
    [
        ("streams", ["cores", "priorities"]),
        ("priority_streams", ["levels", "cores"]),
        ("mps", ["sms", "cores"]),
        ("green_contexts", ["sms", "cores", "priorities"]),
        ("time_slices", ["cores"]),
        ("gcaps", ["gpu_priorities", "priorities"]),
        ("stgm", ["priorities"]),
        ("edf_serial", ["cores"]),
        ("pbs", ["cores"]),
    ],
)
def test_shared_models_change_nothing(
    way: str, what: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is that of a search that derives the models of each choice and factor anew."""

    def anew(self: ChosenModels, point: Point, factor: Fraction | None) -> DerivedModels:
        w, p = self._program
        for one, value in zip(self._opens, point, strict=True):
            w, p = one.applied(value, w, p)
        return DerivedModels(w if factor is None else grown(w, "all", factor), p)

    def of_any_rank(self: ChoiceSearch) -> int:
        return max(1, self._rank)  # then the margin is found, and compared

    for seed in (1, 2):
        w, p = program(seed, 4)
        tasks = list(w)
        if seed == 1 and way not in ("time_slices", "gcaps", "edf_serial", "pbs"):
            tasks[2] = gs.Task("t2", segments=tasks[2].segments, after=["t0"])
        if seed == 2:  # none is guaranteed
            tasks = [task.replace(deadline=task.deadline // 3) for task in tasks]
        w = w.replace(tasks=tasks)
        call: dict[str, Any] = {"what": what, "seed": seed, "budget": gs.Budget(states=8)}
        shared = gs.choose(w, p, way, **call)
        with monkeypatch.context() as patched:
            patched.setattr(ChosenModels, "at", anew)
            patched.setattr(ChoiceSearch, "_counted", property(of_any_rank))
            assert gs.choose(w, p, way, **call) == shared


def test_the_number_of_choices_is_that_of_the_list() -> None:
    for seed in range(2):
        for sms in (3, 12):
            w, p = program(seed, 3, sms)
            for way in ("mps", "mps_static", "green_contexts", "priority_streams"):
                models = DerivedModels(w, p)
                for one in open_values(OPEN[way], models, gs.ways.as_way(way), None):
                    rows = list(one.every())
                    assert len(rows) == len(set(rows)) == one.count
                    random = Random(seed)
                    value = starting_points([one])[0][0]
                    for _ in range(200):  # moves stay among the choices
                        value = one.moved(value, random.choice(w.names), random)
                        assert value in rows
                        one.applied(value, w, p)


def test_time_slices_of_one_digit() -> None:
    """From a switch to the longest deadline; the stated length is among them, if it is ticks."""
    w, p = program(0, 2)
    longest = max(task.deadline for task in w)
    for given, start in (("2ms", (2000,)), (1234, (1234,)), ("2.5us", None)):
        platform = p.replace(timeslice=given)
        models = DerivedModels(w, platform)
        [slices] = open_values(["slices"], models, gs.ways.as_way("time_slices"), None)
        lengths = [length for (length,) in slices.every()]
        every = {n for n in range(7, longest + 1) if len(str(n).rstrip("0")) == 1}
        assert slices.start == start and slices.count == len(lengths)
        assert set(lengths) == every | set(start or ()) and lengths == sorted(lengths)
        random = Random(1)
        for value in map(lambda length: (length,), lengths):
            assert slices.moved(value, "t0", random)[0] in lengths
            assert slices.applied(value, w, platform)[1].timeslice == value[0]
    found = gs.choose(w, p.replace(timeslice="2.5us"), "time_slices", what=["slices"])
    assert found.refused and found.accepted and "--timeslice " in found.arguments
    state = shlex.split(found.arguments)[1]
    assert gs.Platform(timeslice=state).at("us").timeslice == found.platform.at("us").timeslice
    assert gs.choose(w, p, "time_slices", budget=gs.Budget(states=3)).what[0] == "slices"
    for other in (p.replace(timeslice="1ms"), p.replace(context_switch=0)):
        assert "slices" not in gs.choose(w, other, "time_slices", budget=gs.Budget(states=3)).what
    with pytest.raises(ValueError, match="context_switch: got 0, expected the time of a switch"):
        gs.choose(w, p.replace(context_switch=0), "time_slices", what=["slices"])
    with pytest.raises(ValueError, match=r"context_switch: got 9999, expected less than the"):
        free = p.replace(context_switch=9999, timeslice="2.5us")
        gs.choose(w, free, "time_slices", what=["slices"])


def test_gpu_priorities_that_are_not_those_of_cpus() -> None:
    """The task that is urgent on its core has long work on the GPU."""
    tasks = [
        gs.Task("plan", 300, [gs.CPU(5), gs.Kernel(100)], priority=0, core=0),
        gs.Task("camera", 120, [gs.CPU(5), gs.Kernel(20)], deadline=60, priority=1, core=1),
        gs.Task("log", 90, [gs.CPU(5)], priority=2, core=0),
    ]
    w, p = gs.Workload(tasks, "us"), gs.Platform("AGX Orin", cpus=2)
    found = gs.choose(w, p, "gcaps")
    assert found.what == ("gpu_priorities",) and found.total == 2 and found.whole
    assert found.before is not None and not found.before.accepted and found.accepted
    assert [task.gpu_priority for task in found.workload] == [1, 0, None]
    assert found.changes == (
        "plan: GPU priority 1 instead of 0",
        "camera: GPU priority 0 instead of 1",
    )
    none = gs.Workload([gs.Task("log", 90, [gs.CPU(5)])], "us")
    with pytest.raises(ValueError, match="tasks: got none with GPU work"):
        gs.choose(none, p, "gcaps", what=["gpu_priorities"])


@pytest.mark.parametrize(
    "way",
    ["priority_streams", "mps", "mps_static", "green_contexts", "time_slices", "gcaps", "pbs"],
)
def test_no_job_is_late_with_a_guaranteed_choice(way: str) -> None:
    guaranteed = 0
    for seed in range(3):
        w, p = program(seed, 3)
        found = gs.choose(w, p, way, budget=gs.Budget(states=30))
        if not found.accepted:
            continue
        guaranteed += 1
        again = gs.analyze(found.workload, found.platform, way)
        assert again.accepted
        draws: dict[str, Any] = {"seed": seed, "count": 5, "low": 0.3, "until": "60ms"}
        draws["gap"] = 0 if way == "pbs" else 0.5  # a plan is for periodic releases
        runs = gs.observe(found.workload, found.platform, way, **draws)
        assert runs.late_count.sum() == 0
        assert again.bounded.all() and (runs.worst <= again.response).all()
    assert guaranteed


def test_the_local_search_depends_on_its_seed_alone() -> None:
    w, p = program(3, 5)
    budget = gs.Budget(states=30)
    one, two = (gs.choose(w, p, "green_contexts", seed=7, budget=budget) for _ in range(2))
    assert one == two
    assert not one.whole and not one.optimal and one.tested == 30
    assert "30 tested choices of " in one.why()


def levelled() -> tuple[gs.Workload, gs.Platform]:
    """A program whose streams need another order than that of the deadlines."""
    return program(215, 3)


def test_levels_that_are_not_in_the_order_of_deadlines() -> None:
    w, p = levelled()
    found = gs.choose(w, p, "priority_streams", what=["levels"])
    assert found.before is not None and not found.before.accepted
    assert found.accepted and found.optimal and found.total == 13
    assert found.margin.factor is not None and found.margin.factor >= 1
    near = gs.choose(w, p, "priority_streams", what=["levels"], aim="change")
    assert near.accepted and len(near.changes) == 1


def test_stated_values_are_kept_unless_they_are_named() -> None:
    w, p = levelled()
    stated = w.replace(tasks=[t.replace(core=1, stream_priority=i) for i, t in enumerate(w)])
    found = gs.choose(stated, p, "priority_streams")
    assert found.what == ("priorities",)
    assert [t.core for t in found.workload] == [1, 1, 1]
    assert [t.stream_priority for t in found.workload] == [0, 1, 2]
    again = gs.choose(stated, p, "priority_streams", what=["levels", "cores"])
    assert again.accepted and again.what == ("levels", "cores")
    full = found.workload
    with pytest.raises(ValueError, match=r"what: got none, and the program states all of levels"):
        gs.choose(full, p, "priority_streams")


def test_the_fewest_changes() -> None:
    """Of cores: the start overloads one of them, and one move is enough."""
    tasks = [gs.Task(f"t{i}", 100, [gs.CPU(26)], core=1) for i in range(4)]
    w = gs.Workload(tasks, tick="us")
    p = gs.Platform("AGX Orin", cpus=3)
    found = gs.choose(w, p, "mpcp", what=["cores"], aim="change")
    assert found.accepted and found.whole and len(found.changes) == 1
    assert found.why() == (
        "No guaranteed choice has fewer changes, and none with as many a larger margin."
    )
    largest = gs.choose(w, p, "mpcp", what=["cores"])
    assert len(largest.changes) == 2  # of which two are left on one core
    assert (largest.margin.factor or 0) > (found.margin.factor or 0)
    local = gs.choose(w, p, "mpcp", what=["cores"], aim="change", budget=gs.Budget(states=6))
    assert not local.whole and local.tested <= 6


def test_none_is_guaranteed_and_impossible() -> None:
    kernel = gs.Kernel("6ms", blocks=64, threads=512)
    tasks = [gs.Task(f"t{i}", "20ms", [gs.CPU("1ms"), kernel], deadline="8ms") for i in range(2)]
    w, p = gs.Workload(tasks, tick="us"), gs.Platform("AGX Orin", cpus=2)
    hard = w.replace(tasks=[t.replace(deadline="6ms") for t in w])
    none = gs.choose(hard, p, "priority_streams")
    assert none.verdict == "impossible" and none.tested == 1
    assert none.why().startswith("No way keeps all deadlines")
    tasks = [
        gs.Task("camera", "10ms", [gs.CPU("1ms"), kernel.replace(time="2ms")], deadline="6ms"),
        gs.Task("map", "40ms", [gs.CPU("1ms"), kernel.replace(time="9ms")]),
    ]
    slow = gs.choose(gs.Workload(tasks, tick="us"), p, "mpcp")
    assert slow.verdict == "undecided"
    assert slow.why().startswith(f"None of all {slow.total} choices is guaranteed by this test;")
    assert slow.why().endswith("That a test accepts none does not show that a job is late.")
    assert "impossible" not in slow.why()


def test_instances() -> None:
    kernel = gs.Kernel("1ms", blocks=32, threads=256)
    w = gs.Workload([gs.Task("camera", "8ms", [kernel])], tick="us")
    for name in ("A30", "H100"):
        found = gs.choose(w, gs.Platform(name), "mig")
        assert found.accepted and found.optimal and found.platform.mig is not None
        for row in gs.GPU.preset(name).mig_configurations():
            gs.Platform(name, mig=sorted(one.profile.name for one in row))
    with pytest.raises(ValueError, match="MIG"):
        gs.choose(w, gs.Platform("AGX Orin"), "mig")


def test_budget_progress_and_stop() -> None:
    w, p = program(3, 5)
    seen: list[int] = []
    gs.choose(
        w, p, "mps", budget=gs.Budget(states=9), progress=lambda done, total: seen.append(done)
    )
    assert seen == list(range(1, 10))
    with pytest.raises(gs.Cancelled):
        gs.choose(w, p, "mps", stop=bytearray(b"\x01"))
    with pytest.raises(gs.Cancelled, match="seconds"):
        gs.choose(w, p, "mps", budget=gs.Budget(seconds=1e-9))
    short = gs.choose(w, p, "mps", budget=gs.Budget(states=10**6, seconds=1))
    assert 0 < short.tested < 10**6 and not short.whole


def test_errors() -> None:
    w, p = levelled()
    for more, error, text in (
        ({"way": "srm"}, ValueError, r"got 'srm', under which nothing .*; jobs run on any CPU"),
        (
            {"way": "time_slices", "what": ["processes"]},
            ValueError,
            r"what\[0\]: got 'processes', .*; tasks are in the processes that they are",
        ),
        (
            {"way": "pbs", "what": ["order"]},
            ValueError,
            r"got 'order', .*; its test is a search for the order",
        ),
        ({"what": "levels"}, TypeError, r"what: got 'levels', expected a list"),
        ({"what": []}, ValueError, r"what: got none, expected some of levels"),
        ({"what": ["sms"]}, ValueError, r"what\[0\]: got 'sms', expected one of levels, cores"),
        ({"what": [["a"]]}, ValueError, r"what\[0\]: got \['a'\], expected one of"),
        ({"aim": "speed"}, ValueError, r"aim: got 'speed'"),
        ({"seed": -1}, ValueError, r"seed: got -1, expected a non-negative integer"),
        ({"seed": 0.5}, ValueError, r"seed: got 0.5"),
        ({"budget": 5}, TypeError, r"budget: got int, expected Budget"),
        ({"mode": "busy"}, ValueError, r"mode"),
    ):
        with pytest.raises(error, match=text):
            gs.choose(w, p, **{"way": "priority_streams", **more})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="platform: got no GPU"):
        gs.choose(w, gs.Platform(), "priority_streams")
    with pytest.raises(ValueError, match="static partitions"):
        gs.choose(w, gs.Platform("Xavier"), "mps_static")


def test_saved_and_shown(tmp_path: Path) -> None:
    w, p = program(1, 2)
    found = gs.choose(w, p, "green_contexts", what=["sms"])
    found.save(tmp_path / "choice.npz")
    again = gs.Choice.load(tmp_path / "choice.npz")
    assert again == found and str(again) == str(found)
    assert found.before is None and found.refused
    assert found.verdict in found._repr_html_() and found.verdict in repr(found)
    option, value = shlex.split(found.arguments)
    assert option == "--green-contexts" and value.count("=") == len(found.changes)
    assert found.workload.names == w.names and found.way == "green_contexts"
    assert isinstance(found.margin.factor, Fraction)


@pytest.mark.parametrize("way", ["mps_static", "green_contexts"])
def test_parts_without_kernels_are_refused(way: str) -> None:
    w = gs.Workload([gs.Task("a", 10, [gs.CPU(1)])])
    with pytest.raises(ValueError, match="tasks: got none with kernels"):
        gs.choose(w, gs.Platform("A30"), way)


def test_a_gpu_that_is_smaller_than_a_partition_is_refused() -> None:
    gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8, cc=(8, 0))
    w = gs.Workload([gs.Task("a", 10, [gs.Kernel(1)])])
    with pytest.raises(ValueError, match="gpu: got 2 SMs, expected 4, the least of a partition"):
        gs.choose(w, gs.Platform(gpu), "mps_static")
