"""GPU instances for the tasks of a workload: ``gs.mig``, and the way "mig"."""

from __future__ import annotations

import doctest
import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from reference.mig_twin import has_assignment

import gpusched as gs
from gpusched.cli.main import main
from gpusched.comparison.instances import instance_tests
from gpusched.comparison.instances.allocation_search import MOST_UNITS
from gpusched.comparison.instances.instance_runs import InstanceRuns

pytestmark = [pytest.mark.python, pytest.mark.numbers]

H100 = gs.Platform("H100", cpus=8)


def pair(deadline: str = "4ms") -> gs.Workload:
    """A small kernel that cannot wait for a large one."""
    return gs.Workload(
        [
            gs.Task("small", "8ms", [gs.Kernel("1ms", blocks=32, threads=256)], deadline=deadline),
            gs.Task("large", "80ms", [gs.Kernel("10ms", blocks=264, threads=1024)]),
        ],
        tick="us",
    )


def random_workload(rng: np.random.Generator, n: int, load: float, cpu: bool = True) -> gs.Workload:
    """Tasks of one kernel, some with CPU work around it, of very different sizes."""
    tasks = []
    for i in range(n):
        period = int(rng.integers(20, 400))
        time = max(1, int(period * load * rng.random()))
        blocks, threads = int(rng.integers(1, 500)), int(rng.integers(1, 1025))
        kernel = gs.Kernel(time, blocks=blocks, threads=threads)
        work = [gs.CPU(1)] if cpu and rng.random() < 0.3 else []
        offset = int(rng.integers(0, 5)) if rng.random() < 0.3 else 0
        tasks.append(gs.Task(f"t{i}", period, [*work, kernel], offset=offset))
    return gs.Workload(tasks, tick="us")


# Against brute force and simulations --------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("platform", "n", "count"),
    [
        (gs.Platform("A30", cpus=4), 4, 30),
        (gs.Platform("A30", cpus=4, mig=["2g.12gb", "1g.6gb"]), 4, 20),
        (gs.Platform("H100", cpus=4, mig=["3g.40gb", "1g.20gb", "1g.10gb"]), 3, 20),
        (gs.Platform("H100", cpus=4), 3, 6),
    ],
    ids=["A30", "A30 given", "H100 given", "H100"],
)
def test_all_assignments(platform: gs.Platform, n: int, count: int) -> None:
    rng = np.random.default_rng(n * count)
    outcomes = []
    for _ in range(count):
        w = random_workload(rng, int(rng.integers(1, n + 1)), float(rng.choice([0.2, 0.4, 0.7])))
        answer = gs.mig(w, platform)
        outcomes.append(answer.accepted)
        assert answer.accepted == has_assignment(w, platform, way="streams")
        assert answer.schedulable is (True if answer.accepted else None) and not answer.spent
        check_parts(answer)
    assert len(set(outcomes)) == 2 or count < 10


@pytest.mark.parametrize("within", ["edf_serial", "edf_parallel", "pbs"])
def test_all_assignments_of_exact_tests(within: str) -> None:
    rng = np.random.default_rng(3)
    platform = gs.Platform("A30", cpus=3, mig=["2g.12gb", "2g.12gb"])
    found = set()
    for _ in range(12):
        periods = rng.choice([20, 40, 80], 3).tolist()
        tasks = [
            gs.Task(f"t{i}", p, [gs.Kernel(int(rng.integers(4, p)), blocks=60, threads=512)])
            for i, p in enumerate(periods)
        ]
        w = gs.Workload(tasks)
        answer = gs.mig(w, platform, within)  # type: ignore[arg-type]
        assert bool(answer.parts) == has_assignment(w, platform, way=within)
        assert answer.claim == "exact" and not answer.rejected
        found.add(answer.verdict)
    met = "guaranteed" if within == "pbs" else "conditional"
    assert found <= {met, "guaranteed", "undecided"} and {met, "undecided"} <= found


@pytest.mark.parametrize("name", ["H100", "B200"])
def test_no_assignment_is_no_rejection(name: str) -> None:
    """Other ways of sharing may keep the deadlines that no assignment does."""
    tasks = [gs.Task(name, 10, [gs.Kernel(4, blocks=600, threads=1024)]) for name in "ab"]
    late = gs.Task("c", 10, [gs.Kernel(1, blocks=1, threads=32)], deadline=1)
    answer = gs.mig(
        gs.Workload([*tasks, late]),
        gs.Platform(name, mig=["1g.10gb"] if name == "H100" else ["1g.23gb"]),
        "pbs",
    )
    assert answer.verdict == "undecided" and not answer.spent


def check_parts(answer: gs.MigAllocation) -> None:
    """Every task with a kernel is in one instance, and the instances fit the GPU."""
    gpu, n = answer.platform.gpu, len(answer.workload)
    assert gpu is not None
    if not answer.accepted:
        assert answer.parts == () and answer.instance.tolist() == [-1] * n
        assert answer.why()
        return
    members = sorted(task for part in answer.parts for task in part.tasks)
    assert members == list(range(n))
    slices = [slice_ for part in answer.parts for slice_ in part.instance.slices]
    assert len(slices) == len(set(slices))
    gpu.mig_instances(answer.profiles)
    for part in answer.parts:
        assert part.instance.start in part.instance.profile.starts
        assert part.answer.accepted and part.answer.platform.sms == part.instance.profile.sms
        assert part.answer.workload.names == tuple(answer.workload.names[i] for i in part.tasks)
        bounds = [-(-bound // answer.grain) for bound in part.answer.response.tolist()]
        assert answer.response[list(part.tasks)].tolist() == bounds
    assert (answer.slack >= 0).all()


@pytest.mark.long
@pytest.mark.parametrize("name", ["A30", "H100", "A100", "B200"])
def test_no_simulated_response_above_its_bound(name: str) -> None:
    rng = np.random.default_rng(11)
    platform, seen = gs.Platform(name, cpus=8), 0
    for _ in range(12):
        w = random_workload(rng, int(rng.integers(2, 7)), float(rng.choice([0.1, 0.3, 0.5])))
        answer = gs.analyze(w, platform, "mig")
        if not answer.accepted:
            continue
        run = gs.observe(w, platform, "mig", until=3000)
        assert run.late_count.sum() == 0
        worst = run.worst
        assert (worst.compressed() <= answer.response[~np.ma.getmaskarray(worst)]).all()
        jobs = [max(0, -(-(3000 - task.offset) // task.period)) for task in w]
        assert np.bincount(run.task, minlength=len(w)).tolist() == jobs
        seen += 1
    assert seen >= 3


@pytest.mark.long
def test_many_sets_in_one_call_are_those_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams test many sets in one call of the core; the verdicts are those of ``gs.analyze``."""
    rng = np.random.default_rng(8)
    tests: list[instance_tests.InstanceTests] = []
    make = instance_tests.InstanceTests.__init__

    def kept(self: instance_tests.InstanceTests, *given: object) -> None:
        make(self, *given)  # type: ignore[arg-type]
        tests.append(self)

    monkeypatch.setattr(instance_tests.InstanceTests, "__init__", kept)
    for _ in range(12):
        w = random_workload(rng, 4, float(rng.choice([0.3, 0.6])))
        gs.mig(w, gs.Platform("H100", cpus=1))
    checked = 0
    for one in tests:
        for kind, known in enumerate(one._known):
            for mask, verdict in known.items():
                try:
                    expected = one.answer(kind, mask).accepted
                except ValueError:
                    expected = False
                assert verdict == expected
                checked += 1
    assert checked > 300


def test_cpu_work_that_offsets_hide() -> None:
    """Offsets of other tasks do not let a set with too much CPU work at once through."""
    kernel = gs.Kernel(1, blocks=1, threads=32)
    busy = [gs.Task(f"t{i}", 10, [gs.CPU(4), kernel]) for i in range(2)]
    late = gs.Task("late", 100, [kernel], offset=3)
    w = gs.Workload([*(task.replace(deadline=6) for task in busy), late])
    platform = gs.Platform("A30")
    found = gs.analyze(w[:2], platform, "streams")
    assert found.impossible and "8ns of CPU work must run within" in found.why()
    answer = gs.mig(w, platform)
    assert answer.verdict == "impossible" and "8ns of CPU work must run within" in answer.why()


# Times in an instance -----------------------------------------------------------------------------


def test_kernels_run_in_more_waves() -> None:
    """264 blocks, two of which fit an SM, take a wave on 132 SMs, and three on the 60 of 3g."""
    w = pair()[["large"]]
    given = gs.Platform("H100", mig=["3g.40gb"])
    assert gs.observe(w, given, "mig").worst.tolist() == [30_000]
    assert 30_000 <= gs.mig(w, given).response[0] < 32_000
    assert gs.mig(w, gs.Platform("H100", mig=["7g.80gb"])).response.tolist() == [10_000]


def test_measured_profiles_and_times_of_blocks() -> None:
    task = gs.Task("a", 1000, [gs.Kernel(sms={16: 90, 60: 40, 132: 20}, blocks=1, threads=32)])
    for profile, time in (("1g.10gb", 90), ("2g.20gb", 90), ("3g.40gb", 40), ("7g.80gb", 20)):
        platform = gs.Platform("H100", mig=[profile])
        assert gs.mig(gs.Workload([task]), platform).response.tolist() == [time]
    blocks = gs.Kernel(block_time=7, blocks=64, threads=1024)  # two on an SM
    w = gs.Workload([gs.Task("b", 1000, [blocks])])
    assert gs.observe(w, gs.Platform("H100", mig=["1g.10gb"]), "mig").worst.tolist() == [14]
    few = gs.Workload([gs.Task("c", 1000, [gs.Kernel(sms={60: 9}, blocks=1, threads=32)])])
    with pytest.raises(ValueError, match="a profile from 60 SMs on, expected one that includes 16"):
        gs.mig(few, gs.Platform("H100", mig=["1g.10gb"]))
    assert gs.mig(few, gs.Platform("H100")).accepted


def test_kernels_without_a_shape_take_longer_on_fewer_sms() -> None:
    w = gs.Workload([gs.Task("a", 100, [gs.Kernel(9)], core=0)])
    for gpu, time in (("H100", 9), ("A100", 18)):  # instances have 98 of 108 SMs of an A100
        for within in ("mpcp", "streams"):
            answer = gs.mig(w, gs.Platform(gpu), within)
            assert answer.accepted and answer.response.tolist() == [time]
            assert "as one of equal blocks does" in " ".join(answer.assumptions)
    halves = [gs.Task(name, 100, [gs.Kernel(9, sms=0.46)]) for name in "ab"]
    mine = gs.mig(gs.Workload(halves), gs.Platform("H100", mig=["3g.40gb", "4g.40gb"]))
    assert mine.accepted and sorted(mine.response.tolist()) == [9, 18]  # 61 SMs, of 60 and 64


def test_copy_engines_of_instances() -> None:
    few = gs.mig(pair(), gs.Platform("H100", copy_engines=1))
    assert [part.answer.platform.copy_engines for part in few.parts] == [1, 1]
    many = gs.mig(pair(), gs.Platform("H100", mig=["3g.40gb", "4g.40gb"]))
    assert sorted(part.answer.platform.copy_engines for part in many.parts) == [3, 4]
    assert all(part.answer.platform.mig is None for part in many.parts)


# Cores and processes ------------------------------------------------------------------------------


def test_tasks_of_a_core_stay_together() -> None:
    kernel = gs.Kernel("1ms", blocks=32, threads=256)
    tasks = [
        gs.Task("a", "8ms", [gs.CPU("1ms"), kernel], deadline="5ms", core=0),
        gs.Task("b", "80ms", [gs.Kernel("10ms", blocks=264, threads=1024)], core=1),
        gs.Task("c", "90ms", [gs.CPU("2ms")], core=0),
    ]
    w = gs.Workload(tasks, tick="us")
    assert not gs.analyze(w, gs.Platform("H100", cpus=2), "mpcp").accepted
    answer = gs.mig(w, gs.Platform("H100", cpus=2), "mpcp", mode="suspend")
    assert answer.accepted
    assert answer.instance[0] == answer.instance[2] != answer.instance[1]
    assert answer.parts[0].answer.options == {"mode": "suspend"}
    run = gs.observe(w, gs.Platform("H100", cpus=2), "mig", within="mpcp", mode="suspend")
    assert isinstance(run.detail, InstanceRuns) and "CPU 0" in run.to_svg(until=50_000)
    assert (run.worst <= answer.response).all()
    both = w.replace(tasks=[task.replace(core=0) for task in w])
    assert not gs.mig(both, gs.Platform("H100", cpus=1), "mpcp").accepted
    with pytest.raises(ValueError, match="a: got no core, expected one for every task"):
        gs.mig(gs.Workload([task.replace(core=None) for task in tasks]), H100, "mpcp")


def test_processes_in_instances_of_their_own() -> None:
    """Streams refuse several processes, instances may have one each."""
    w = gs.Workload([task.replace(process=task.name) for task in pair()], tick="us")
    with pytest.raises(ValueError, match="expected one process for all tasks"):
        gs.analyze(w, H100, "streams")
    assert len(gs.mig(w, H100).parts) == 2
    late = gs.Workload([gs.Task("a", 9, [gs.Kernel(1, blocks=1, threads=1)], jitter=1)])
    with pytest.raises(ValueError, match="a: got a jitter"):  # refused in every instance
        gs.mig(late, H100, "edf_parallel")
    assert gs.mig(late, H100).response.tolist() == [2]  # by the test of whole programs


def test_tasks_without_kernels_are_left_out() -> None:
    w = pair() + gs.Workload([gs.Task("host", "1s", [gs.CPU("1ms")])], tick="us")
    answer = gs.mig(w, H100)
    assert answer.accepted and answer.instance[2] == -1
    assert answer.why("host") == "host: response at most 1ms; it has no GPU work."
    assert answer.response[2] == 1000 and answer.bounded.all()
    assert "response at most 1ms" in gs.analyze(w, H100, "mig").why("host")
    shared = gs.mig(w, H100.replace(cpus=1))
    assert shared.accepted and shared.response[2] == 1000 and shared.core == (0, 0, 0)
    shared = gs.mig(w, H100.replace(cpus=1), "edf_parallel")
    assert shared.verdict == "conditional" and shared.parts and not shared.accepted
    assert [each.premise for each in shared.conditions] == ["exact_times", "cpu_alone"]
    with pytest.raises(ValueError, match="tasks: got none with GPU segments"):
        gs.mig(w[["host"]], H100)


# Answers ------------------------------------------------------------------------------------------


def test_reasons() -> None:
    answer = gs.mig(pair(), gs.Platform("H100", mig=["4g.40gb"]))
    assert answer.schedulable is None and not answer.spent
    assert answer.why() == (
        "For small, large together the test of streams accepts no choice of GPU instances; every "
        "smaller set of tasks has one."
    )
    assert answer.why("small") == "small: without an instance; no assignment was found."
    alone = gs.mig(pair("1500us"), gs.Platform("H100", mig=["1g.10gb"]))
    assert alone.why().startswith("No GPU instance serves large, not even alone; in H100 1g.10gb: ")
    with pytest.raises(KeyError):
        answer.why("none")
    good = gs.mig(pair(), H100)
    assert good.why().startswith("Every job ends in time; ")
    at = good.parts[good.instance[0]].instance
    assert good.why("small").startswith(f"In {at}: small: response at most ")


def test_texts_and_tables() -> None:
    pytest.importorskip("pandas")
    answer, none = gs.mig(pair(), H100), gs.mig(pair("1500us"), H100.replace(mig=["1g.10gb"]))
    assert repr(answer).startswith("<MigAllocation: guaranteed (") and "2 tasks" in repr(answer)
    assert repr(none) == "<MigAllocation: undecided (2 tasks, streams in each)>"
    assert str(none).startswith("undecided. No GPU instance serves large")
    frame = answer.to_frame()
    assert frame["profile"].tolist() == [answer.profiles[i] for i in answer.instance]
    assert (frame["slack"] == frame["deadline"] - frame["response"]).all()
    assert none.to_frame()["start"].isna().all()
    assert "small" in answer._repr_html_() and "not even alone" in none._repr_html_()
    odd = gs.Workload([task.replace(name=f"<{task.name}>") for task in pair()], tick="us")
    assert "<small>" not in gs.mig(odd, H100)._repr_html_()
    assert any("bus" in text for text in answer.assumptions)
    setup = gs.analyze(pair(), H100, "mig").setup
    assert setup == tuple(
        f"{name}: {answer.parts[i].instance}"
        for name, i in zip(pair().names, answer.instance, strict=True)
    )
    assert gs.analyze(pair("500us"), H100, "mig").setup == ()
    least = gs.mig(pair(), gs.Platform("B200", mig=["3g.90gb", "1g.23gb"]))
    assert any("the least that are known of 3g.90gb" in text for text in least.assumptions)


@pytest.mark.long
def test_pictures(tmp_path: Path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    answer = gs.mig(pair(), H100)
    assert len(answer.plot().get_yticklabels()) == 2
    assert gs.mig(pair("500us"), H100).plot() is not None
    names = [str(part.instance) for part in answer.parts]
    joint = gs.observe(pair(), H100, "mig", until="100ms")
    assert isinstance(joint.detail, gs.simulate.MachineRun)
    assert [joint.detail.instances[i] for i in (1, 0)] == names
    assert all(name in joint.to_svg(until=50_000) for name in names)
    run = gs.observe(pair(), H100, "mig", until="100ms", within="edf_serial")
    assert isinstance(run.detail, InstanceRuns)
    names = list(run.detail.runs)
    labels = [label.get_text() for label in run.plot(until=50_000).get_yticklabels()]
    assert all(name in labels for name in names)
    plt.close("all")
    picture = run.to_svg(until=50_000)
    assert all(name in picture for name in names)
    assert all(name in run._repr_html_() for name in names)
    run.to_chrome_trace(tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["traceEvents"]
    groups = {event["args"]["name"] for event in events if event.get("name") == "process_name"}
    assert {f"{name} jobs" for name in names} <= groups
    hidden = gs.observe(pair(), H100, "mig", until="100ms", timeline=False)
    with pytest.raises(ValueError, match="timeline: got a run without its logs"):
        hidden.plot()


@pytest.mark.parametrize("within", ["streams", "priority_streams"])
def test_jobs_of_several_kernels_are_simulated(within: str, tmp_path: Path) -> None:
    tasks = [
        task.replace(segments=[part for part in task.segments for _ in range(2)]) for task in pair()
    ]
    run = gs.observe(pair().replace(tasks=tasks), H100, "mig", until="20ms", within=within)
    assert isinstance(run.detail, gs.simulate.MachineRun) and (run.worst > 0).all()
    assert all(name in run.to_svg(until=50_000) for name in run.detail.instances)
    run.to_chrome_trace(tmp_path / "run.json")


def test_budget_progress_and_stop() -> None:
    w = random_workload(np.random.default_rng(8), 8, 0.9)
    full = gs.mig(w, H100)
    assert not full.rejected
    assert not full.accepted and not full.spent and full.tested > 1000
    for budget in (gs.Budget(states=3), gs.Budget(states=500), gs.Budget(bytes=1000)):
        few = gs.mig(w, H100, budget=budget)
        assert few.spent and few.schedulable is None and not few.parts
        assert few.why() == "The budget was spent before all assignments were tried."
        assert budget.states is None or few.tested <= budget.states
    assert gs.mig(w, H100, budget=gs.Budget(states=full.tested)).why() == full.why()
    assert gs.mig(w, H100, budget=gs.Budget(seconds=1e-9)).spent
    seen: list[tuple[int, object]] = []
    gs.mig(w, H100, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (full.tested, None) and seen == sorted(seen)
    with pytest.raises(gs.Cancelled):
        gs.mig(w, H100, stop=bytearray(b"\1"))

    stop = bytearray(1)

    def later(done: int, total: object) -> None:
        stop[0] = done > 100

    with pytest.raises(gs.Cancelled):
        gs.mig(w, H100, stop=stop, progress=later)


@pytest.mark.long
def test_more_tasks_than_are_exhausted() -> None:
    kernel = gs.Kernel(1, blocks=1, threads=32)
    many = gs.Workload([gs.Task(f"t{i}", 1000, [kernel]) for i in range(MOST_UNITS)])
    assert gs.mig(many, H100).accepted  # 8 streams share each of its channels
    wide = gs.Platform(gs.GPU.preset("H100").replace(channels=32), cpus=8)
    assert gs.mig(many, wide).accepted
    one = gs.Kernel(2, blocks=132, threads=1056 // 2)  # beside one another, but slower
    late = gs.Workload([gs.Task(f"t{i}", 1000, [one], deadline=20) for i in range(17)])
    answer = gs.mig(late, gs.Platform("H100", mig=["7g.80gb"]))
    assert answer.spent and "all of them are tried for at most 16" in answer.why()
    more = many + gs.Workload([gs.Task("more", 1000, [kernel])])
    with pytest.raises(ValueError, match=f"got {MOST_UNITS + 1} tasks with GPU segments"):
        gs.mig(more, H100)


@pytest.mark.parametrize(
    ("how", "error", "text"),
    [
        ({"way": "stgm"}, ValueError, "way: got 'stgm', .* cores for the tasks of one"),
        ({"way": "gpu_server"}, ValueError, "each instance would need a server"),
        ({"way": "srm"}, ValueError, "share the CPUs under global EDF"),
        ({"way": "driver"}, ValueError, "it has no test of its own"),
        ({"way": "mig"}, ValueError, "way: got 'mig', expected one of streams"),
        ({"way": "x"}, ValueError, "way: got 'x', expected one of"),
        ({"way": None}, ValueError, "way: got None, expected one of"),
        ({"way": 10**5000}, ValueError, "way: got an integer of"),
        ({"gaps": "x"}, ValueError, "gaps: got 'x'"),
        ({"mode": "busy"}, ValueError, "mode: got an unknown option"),
        ({"order": "x"}, ValueError, "order: got 'x'"),
        ({"budget": 3}, TypeError, "budget: got int"),
        ({"stop": 3}, TypeError, "stop: got 3"),
        ({"progress": 3}, TypeError, "progress: got 3"),
    ],
)
def test_refused_arguments(how: dict, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        gs.mig(pair(), H100, **how)


def test_refused_workloads_and_platforms() -> None:
    with pytest.raises(TypeError, match="workload: got int"):
        gs.mig(3, H100)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="platform: got str"):
        gs.mig(pair(), "H100")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the GPU has no MIG profiles"):
        gs.mig(pair(), gs.Platform("AGX Orin"))
    with pytest.raises(ValueError, match="platform: got no GPU"):
        gs.mig(pair(), gs.Platform())
    parts = [gs.CPU(9), gs.Kernel(1, blocks=1, threads=1)]
    busy = gs.Workload([gs.Task(name, 10, parts) for name in "ab"])
    assert gs.mig(busy, gs.Platform("H100")).verdict == "impossible"
    huge = gs.Workload([gs.Task("a", 2**59, [gs.Kernel(2**58, blocks=2**20, threads=1024)])])
    with pytest.raises(OverflowError):
        gs.mig(huge, gs.Platform("H100", mig=["1g.10gb"]))


@pytest.mark.parametrize(
    ("mig", "error", "text"),
    [
        (["3g.40gb"] * 3, ValueError, r"mig\[2\]: got '3g.40gb', expected instances that fit H100"),
        ([], ValueError, "mig: got no profiles, expected at least one"),
        ("3g.40gb", TypeError, "mig: got '3g.40gb', expected names of profiles"),
        ([3], TypeError, "mig: got .*, expected names of profiles"),
        (["x"], ValueError, "mig: got 'x', expected one of 1g.10gb"),
    ],
)
def test_refused_instances(mig: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        gs.Platform("H100", mig=mig)  # type: ignore[arg-type]


def test_platforms_with_instances() -> None:
    platform = gs.Platform("H100", mig=iter(["3g.40gb", "4g.40gb"]))  # type: ignore[arg-type]
    assert platform.mig == ("3g.40gb", "4g.40gb")
    assert repr(platform).endswith("mig=('3g.40gb', '4g.40gb'))")
    assert platform.replace(cpus=2).mig == platform.mig
    assert platform != gs.Platform("H100") and gs.Platform("H100").mig is None
    assert "3g.40gb, 4g.40gb" in platform._repr_html_()
    with pytest.raises(ValueError, match="mig: got AGX Orin of 16 SMs"):
        platform.replace(gpu="AGX Orin")
    with pytest.raises(ValueError, match="without a GPU"):
        gs.Platform(mig=["3g.40gb"])


# The way "mig" ------------------------------------------------------------------------------------


@pytest.mark.long
def test_row_of_a_comparison(tmp_path: Path) -> None:
    c = gs.compare(pair(), H100, ways=["streams", "mig"])
    row = c["mig"]
    assert c.schedulable and row.label == "mig" and row.verdict == "guaranteed"
    assert row.answer is not None and row.run is not None
    assert isinstance(row.answer.detail, gs.MigAllocation)
    assert row.answer.response.tolist() == gs.mig(pair(), H100).response.tolist()
    assert (row.run.worst <= row.answer.response).all()
    best = c.best(progress=False)
    assert best is not None and best.label == "mig" and best.factor is not None
    assert best.factor > 1 and not best.exact
    document = c.document(margin=False)
    assert json.loads(json.dumps(document)) == document
    assert document["platform"]["mig"] is None  # type: ignore[index]
    page = c.to_html(margin=False)
    assert all(profile in page for profile in row.answer.detail.profiles)
    assert any(path.endswith("mig.trace.json") for path in c.save_report(tmp_path, margin=False))


def test_row_without_profiles_has_one_reason() -> None:
    row = gs.compare(pair(), gs.Platform("AGX Orin"), ways=["mig"])["mig"]
    assert row.verdict == "not applicable"
    assert row.why().count("the GPU has no MIG profiles") == 1


def test_row_without_an_assignment() -> None:
    row = gs.compare(pair("1500us"), H100.replace(mig=["1g.10gb"]), ways=["mig"])["mig"]
    assert row.verdict == "undecided" and "not even alone" in row.why()
    assert row.why_no_run.startswith("mig: got no instances for the tasks, expected some; ")


@pytest.mark.long
def test_options_of_the_way() -> None:
    answer = gs.analyze(pair(), H100, "mig", within="pbs")
    assert (answer.method, answer.claim, dict(answer.options)) == (
        "mig",
        "exact",
        {"within": gs.ways.Pbs()},
    )
    assert not gs.observe(pair(), H100, "mig", within="pbs").late.any()
    with pytest.raises(ValueError, match="depth: got an unknown option of streams"):
        gs.analyze(pair(), H100, "mig", depth=3)
    assert gs.margin(pair(), H100, "mig", "small").factor is not None


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "w.toml")
    pair().save(path)
    given = [path, "--gpu", "H100", "--cpus", "8"]
    assert main(["check", *given, "--way", "mig", "--option", "within=streams"]) == 0
    assert main(["check", *given, "--way", "mig", "--mig", "4g.40gb"]) == 3
    assert main(["simulate", *given, "--way", "mig", "--until", "100ms"]) in (0, 3)
    assert main(["compare", *given, "--way", "mig", "--mig", "3g.40gb,4g.40gb"]) == 0
    assert "mig" in capsys.readouterr().out
    assert main(["check", *given, "--way", "mig", "--mig", "9g"]) == 2
    assert "--mig: got '9g', expected one of 1g.10gb" in capsys.readouterr().err
    assert main(["methods"]) == 0
    assert "GPU instances, each with its tasks" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["mig_choice", "allocation_search"])
def test_examples(name: str) -> None:
    module = importlib.import_module(f"gpusched.comparison.instances.{name}")
    found = doctest.testmod(module, extraglobs={"gs": gs})
    assert found.attempted and not found.failed
