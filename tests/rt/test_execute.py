"""``gs.rt.execute``: ways run for real keep their answers, and faults are named.

Times are 10 ms and more. What the machine adds is known from the control threads of the same run,
and only runs in which they were in time are judged by times; the order of grants, the time on the
stand-in GPU and the CPU time do not depend on it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import refused
from commands import run as command

import gpusched as gs
from gpusched.comparison.deployments import deployment_of
from gpusched.comparison.workload_answer import finer_tick

MS = 10**6
ALLOWED = 3 * MS  # on top of every limit
QUIET = MS // 2  # delay of control threads up to which times are judged
ATTEMPTS = 5
WAYS = (
    *("one_stream", "streams", "priority_streams", "green_contexts", "mps", "mps_static", "mig"),
    *("mpcp", "fmlp_plus", "stgm", "gpu_server", "edf_serial", "edf_parallel", "pbs"),
)
OF_KERNELS = ("mig", "edf_parallel")  # their answers assume a CPU for each thread
ORDER = {"order", "urgency", "two holders", "holder died", "batch", "plan", "skipped", "stopped"}

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux"),
    pytest.mark.skipif(
        sys.platform == "linux" and len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs"
    ),
]


def program(draw: random.Random, way: str) -> gs.Workload:
    """Two to four tasks with little work, so that most answers accept."""
    tasks = []
    for i in range(draw.randint(2, 4)):
        segments: list[Any] = []
        if way not in OF_KERNELS and draw.random() < 0.7:
            segments.append(gs.CPU(f"{draw.randint(1, 4)}ms"))
        if draw.random() < 0.4:
            segments.append(gs.CopyIn(f"{draw.randint(1, 3)}ms"))
        time, blocks = draw.randint(10, 14), draw.choice([1, 4, 16])
        segments.append(gs.Kernel(f"{time}ms", blocks=blocks, threads=64))
        if way not in OF_KERNELS and draw.random() < 0.4:
            segments.append(gs.CPU(f"{draw.randint(1, 2)}ms"))
        more: dict[str, Any] = {}
        if way == "priority_streams":
            more["stream_priority"] = draw.randint(0, 2)
        if way in ("mps", "mps_static"):
            more["process"] = draw.choice(["x", "y"])
        tasks.append(gs.Task(f"t{i}", draw.choice(["200ms", "400ms"]), segments, **more))
    return gs.Workload(tasks, tick="us")


def platform(way: str, workload: gs.Workload) -> gs.Platform:
    gpu, more = "AGX Orin", dict[str, Any]()
    if way in ("mig", "mps", "mps_static"):
        gpu = "A100"
    if way == "stgm":
        gpu = "Pascal 5 SM"  # green contexts of single SMs
    if way == "mps_static":
        more["mps_partitions"] = dict.fromkeys({str(task.process) for task in workload}, 8)
    if way == "green_contexts":
        more["green_contexts"] = {workload.names[0]: 8, workload.names[1:]: 8}
    return gs.Platform(gpu, cpus=1, launch_latency="500us", **more)


def answer_of(way: str, seed: int, **options: Any) -> gs.WorkloadAnswer:
    """An answer that accepts a random program."""
    draw = random.Random(f"{way} {seed}")
    for _ in range(50):
        workload = program(draw, way)
        try:
            found = gs.analyze(workload, platform(way, workload), way, **options)
        except gs.NotApplicable:
            continue
        if found.accepted or (found.conditional and way in OF_KERNELS):
            return found
    raise AssertionError("no program of 50 is accepted")


def executed(answer: gs.WorkloadAnswer, **more: Any) -> gs.rt.Execution:
    return gs.rt.execute(answer.workload, answer.platform, answer, **more)


def rules_of(found: gs.Kept) -> set[str]:
    return {finding.rule for finding in (*found.broken, *found.exceeded)}


def exact(run: gs.rt.Execution) -> None:
    """Properties at any speed of the machine: the order, all jobs, their CPU time."""
    found = run.kept(tolerance="1000s")
    assert not rules_of(found) & ORDER, found
    assert run.log.lost == 0
    released = np.bincount(run.log.of("release").task, minlength=len(run.name))
    done = np.bincount(run.log.of("complete").task, minlength=len(run.name))
    assert released.tolist() == done.tolist() and done.min() >= 1
    work = {
        task.name: sum(part.time for part in task.segments if isinstance(part, gs.CPU)) * 1000
        for task in run.answer.workload
    }
    cpu = run.log.of("cpu")
    for row, took in zip(cpu.task.tolist(), cpu.value.tolist(), strict=True):
        assert took * run.stretch >= work[run.log.name[row]]


def in_time(
    once: Callable[[], gs.rt.Execution], late: Callable[[gs.rt.Execution], Any]
) -> gs.rt.Execution:
    """The first of several runs in which nothing was ``late``.

    A fault is late in each of them. A test fails only if the machine was quiet in all, and is
    skipped otherwise: a busy machine proves nothing.
    """
    quiet, delay = True, 0
    for _ in range(ATTEMPTS):
        run = once()
        if not (found := late(run)):
            return run
        quiet = quiet and run.realtime and run.delay <= QUIET
        delay = max(delay, run.delay)
    if not quiet:
        pytest.skip(f"this machine was busy: {found}")
    return pytest.fail(f"{found}, control threads were up to {delay} ns late", pytrace=False)


def broken(run: gs.rt.Execution) -> gs.Kept | None:
    """The verdict of a run that did not keep its answer."""
    found = run.kept(tolerance=ALLOWED)
    return None if found.kept else found


def run_exactly(answer: gs.WorkloadAnswer, **more: Any) -> gs.rt.Execution:
    run = executed(answer, **more)
    exact(run)
    return run


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(2))
def test_a_way_keeps_its_answer(way: str, seed: int) -> None:
    answer = answer_of(way, seed)
    in_time(lambda: run_exactly(answer, jobs=2), broken)


def test_a_schedule_with_chains_and_copies() -> None:
    """Copies between kernels are in the frames; those around them are, or the task waits."""
    kernel = gs.Kernel("10ms", blocks=4, threads=64)
    parts: list[Any] = [
        gs.CPU("1ms"),
        gs.CopyIn("1ms"),
        kernel,
        gs.CopyOut("2ms"),
        kernel,
        gs.CopyOut("1ms"),
    ]
    workload = gs.Workload(
        [gs.Task("a", "200ms", parts), gs.Task("b", "400ms", [kernel])], tick="us"
    )
    answer = gs.analyze(workload, MACHINE, "pbs")
    assert answer.accepted
    in_time(lambda: run_exactly(answer, jobs=2), broken)


def test_requests_are_ordered_by_the_instants_at_which_they_are_due() -> None:
    """To the nanosecond, and however long a program runs."""
    kernel = gs.Kernel("10ms", blocks=4, threads=64)
    tasks = [
        gs.Task("a", "100ms", [kernel, gs.CPU("1234567ns")], deadline="60ms"),
        gs.Task("b", "50ms", [kernel]),
    ]
    answer = gs.analyze(gs.Workload(tasks, tick="ns"), MACHINE, "edf_serial")
    assert answer.accepted
    run = executed(answer, jobs=3)
    due = {place.name: place.due for place in deployment_of(answer).places}
    assert due == {"a": 60 * MS - 1_234_567, "b": 50 * MS}
    released, requests = run.log.of("release"), run.log.of("request")
    release = {
        (task, job): time
        for task, job, time in zip(
            released.task.tolist(), released.job.tolist(), released.value.tolist(), strict=True
        )
    }
    rows = (requests.task.tolist(), requests.job.tolist(), requests.value.tolist())
    starts = {
        release[task, job] + due[run.log.name[task]] * run.stretch + urgency
        for task, job, urgency in zip(*rows, strict=True)
    }
    assert len(rows[0]) == 9 and starts == {0}


@pytest.mark.parametrize("mode", ["suspend", "busy", "spin"])
def test_modes_of_waiting(mode: str) -> None:
    answer = answer_of("mpcp", 7, mode=mode)
    assert answer.label.startswith(f"mpcp ({mode}")
    exact(executed(answer, jobs=2))


def tasks_of(*, kernel: str = "10ms", period: str = "100ms") -> gs.Workload:
    parts: list[Any] = [gs.CPU("2ms"), gs.Kernel(kernel, blocks=16, threads=64)]
    return gs.Workload(
        [gs.Task("a", period, parts), gs.Task("b", "200ms", parts, deadline="150ms")], tick="us"
    )


MACHINE = gs.Platform("AGX Orin", cpus=1, launch_latency="500us")


@pytest.mark.parametrize("tick", ["100us", "1us"])
def test_a_schedule_is_played_as_often_whatever_the_tick(tick: str) -> None:
    """Jobs are counted in the ticks of the program, hyperperiods in those of the answer."""
    kernel = gs.Kernel("1ms", blocks=1, threads=64)
    tasks = [gs.Task("a", "20ms", [kernel]), gs.Task("b", "40ms", [kernel])]
    answer = gs.analyze(gs.Workload(tasks, tick="10us"), MACHINE, "pbs")
    found = gs.rt.execute(gs.Workload(tasks, tick=tick), MACHINE, answer, jobs=2)
    assert [len(found.responses(name)) for name in "ab"] == [4, 2]


@pytest.mark.parametrize("way", ["mpcp", "fmlp_plus", "gpu_server", "pbs", "streams"])
def test_a_kernel_that_takes_three_times_as_long(way: str) -> None:
    """The stand-in takes its time exactly, so that no tolerance below it hides the fault."""
    answer = gs.analyze(tasks_of(), MACHINE, way)
    assert answer.accepted
    slow = tasks_of(kernel="30ms")
    run = gs.rt.execute(slow, MACHINE, answer, jobs=2)
    expected = {"pbs": "batch length", "streams": "response"}.get(way, "segment")
    limit = 19 * MS if way != "streams" else 3 * MS
    assert expected in rules_of(run.kept(tolerance=limit))


@pytest.mark.parametrize("way", ["mpcp", "fmlp_plus", "gpu_server", "streams"])
def test_releases_that_come_too_early(way: str) -> None:
    answer = gs.analyze(tasks_of(), MACHINE, way)
    run = gs.rt.execute(tasks_of(period="60ms"), MACHINE, answer, jobs=1)
    found = run.kept(tolerance=39 * MS)
    (early,) = [finding for finding in found.broken if finding.rule == "release"]
    assert early.task == "a" and -early.value == 60 * MS and early.count >= 2


@pytest.mark.parametrize("way", ["mpcp", "fmlp_plus", "gpu_server"])
def test_grants_follow_the_protocol_under_contention(way: str) -> None:
    """All tasks ask while the first one holds the GPU; the grants are judged by their order."""
    kernel = gs.Kernel("12ms", blocks=16, threads=64)
    tasks = [gs.Task(f"t{i}", "400ms", [kernel, gs.CPU("1ms"), kernel]) for i in range(5)]
    answer = gs.analyze(gs.Workload(tasks, tick="us"), MACHINE, way)

    def apart(run: gs.rt.Execution) -> Any:
        waits = run.log.spans("request", "acquire")
        assert len(waits["task"]) == 5 * 2 * 2
        waited = np.asarray(waits["end"] - waits["start"])
        return waited if (waited > 5 * MS).sum() < 5 else None  # no contention it was

    in_time(lambda: run_exactly(answer, jobs=2), apart)


def spans(run: gs.rt.Execution) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    log = run.log.spans("gpu_begin", "gpu_end")
    for task, start, end in zip(
        *(log[key].tolist() for key in ("task", "start", "end")), strict=True
    ):
        found.setdefault(run.log.name[task], []).append((start, end))
    return found


def test_the_standin_takes_exact_times() -> None:
    run = gs.rt.execute(tasks_of(), MACHINE, "mpcp", jobs=2)
    assert {end - start for own in spans(run).values() for start, end in own} == {10 * MS}


def test_the_standin_obeys_streams_and_the_one_stream() -> None:
    """Kernels of half of the SMs overlap in streams of their own, and never in one stream."""
    parts = [gs.Kernel("20ms", blocks=8, threads=1024)]
    workload = gs.Workload([gs.Task(name, "200ms", parts) for name in "ab"], tick="us")

    def apart(run: gs.rt.Execution) -> Any:
        found = spans(run)
        (a,), (b,) = found["a"], found["b"]
        assert a[1] - a[0] == b[1] - b[0] == 20 * MS
        return found if a[1] <= b[0] or b[1] <= a[0] else None

    in_time(lambda: gs.rt.execute(workload, MACHINE, "streams", jobs=1), apart)
    for _ in range(ATTEMPTS):
        assert apart(gs.rt.execute(workload, MACHINE, "one_stream", jobs=1))


def test_slow_motion() -> None:
    """All times are ``stretch`` times as long, and divided by it in the log."""
    run = gs.rt.execute(tasks_of(), MACHINE, "mpcp", jobs=1, stretch=3)
    exact(run)
    lengths = {end - start for own in spans(run).values() for start, end in own}
    assert lengths <= {10 * MS - 1, 10 * MS, 10 * MS + 1}
    releases = run.log.of("release")
    first, second = releases.value[releases.task == 0].tolist()[:2]
    assert abs(second - first - 100 * MS) <= 1


def test_a_run_has_its_numbers(tmp_path: Path) -> None:
    run = gs.rt.execute(tasks_of(), MACHINE, "mpcp", jobs=2)
    assert [len(run.responses(name)) for name in "ab"] == [4, 2]
    assert run.percentile(100).tolist() == [run.responses(name).max() for name in "ab"]
    assert run.responses("a").min() >= 12 * MS
    frame = run.to_frame()
    assert list(frame.columns) == ["task", "jobs", "P50", "P99", "worst", "bound"]
    assert frame["jobs"].tolist() == [4, 2]
    assert repr(run) == "<Execution: mpcp (suspend); 6 jobs of 2 tasks>"
    assert "stand-in for the GPU in real time" in str(run)
    run.log.to_chrome_trace(tmp_path / "trace.json")
    assert (tmp_path / "trace.json").stat().st_size > 0
    with pytest.raises(KeyError, match="task: got 'c'"):
        run.responses("c")


def test_the_command(tmp_path: Path) -> None:
    tasks_of().save(tmp_path / "program.toml")
    given = ("execute", "program.toml", "--gpu", "AGX Orin", "--cpus", "1", "--jobs", "1")
    files = ("--log", "run.gslog", "--trace", "trace.json")
    done = command(tmp_path, *given, "--way", "mpcp", "--tolerance", "1000s", *files)
    assert done.returncode == 0, done
    assert "mpcp (suspend): kept. 3 jobs kept their bounds" in done.stdout
    assert len(gs.io.read_run_log(tmp_path / "run.gslog").of("complete")) == 3
    assert (tmp_path / "trace.json").stat().st_size > 0
    done = command(tmp_path, *given, "--way", "mpcp", "--tolerance", "1000s", "--json")
    assert json.loads(done.stdout)["verdict"] == "kept"
    done = command(tmp_path, *given, "--way", "time_slices", "--timeslice", "2ms")
    assert done.returncode == 3 and "the stand-in GPU has no time slices" in done.stdout
    assert "stretch: got 0" in refused(tmp_path, *given, "--way", "mpcp", "--stretch", 0)


# Pipelines

EXAMPLES = Path(__file__).parents[2] / "notebooks"


@pytest.mark.parametrize("way", ["one_stream", "mpcp", "gpu_server"])
def test_the_lidar_example_keeps_its_paths(way: str) -> None:
    """Ten sweeps of the lidar, from the point to the brake, in a second."""
    workload = gs.Workload.load(EXAMPLES / "lidar_to_brake.toml")
    answer = gs.analyze(workload, gs.Platform("AGX Orin", cpus=2), way)
    assert answer.accepted
    run = in_time(lambda: run_exactly(answer, until="1s"), broken)
    found = run.kept(tolerance=ALLOWED)
    assert [len(path) >= 5 for path in found.paths] == [True] * 3
    for path, bound in zip(found.paths, found.path_bound.tolist(), strict=True):
        least = {
            "obstacle to brake": 100 + 94,
            "traffic light to brake": 30,
            "cloud to objects": 51,
        }
        assert least[path.path.name] * MS <= (path.largest or 0) <= bound + 6 * ALLOWED
        assert run.path(path.path.name) == path
    with pytest.raises(KeyError):
        run.path("nosuch")


def released(run: gs.rt.Execution, name: str) -> dict[int, int]:
    """Instants at which the jobs of a task say that they were released."""
    of = run.log.of("release")
    mine = of.task == run.log.name.index(name)
    return dict(zip(of.job[mine].tolist(), of.value[mine].tolist(), strict=True))


def ended(run: gs.rt.Execution, name: str) -> dict[int, int]:
    of = run.log.of("complete")
    mine = of.task == run.log.name.index(name)
    return dict(zip(of.job[mine].tolist(), of.time[mine].tolist(), strict=True))


def chain(*, jitter: str = "0us", kernel: str = "10ms") -> gs.Workload:
    part = gs.Kernel(kernel, blocks=16, threads=64)
    tasks = [
        gs.Task("frame", "100ms", [gs.CPU("1ms")], jitter=jitter, offset="5ms"),
        gs.Task("net", segments=[part, gs.CPU("1ms")], after="frame"),
        gs.Task("side", segments=[gs.CPU("2ms")], after="frame"),
        gs.Task("both", segments=[gs.CPU("1ms")], after=["net", "side"], every=2),
        gs.Task("act", "50ms", [gs.CPU("1ms")], reads="net"),
    ]
    paths = [
        gs.Path("frame to act", ["frame", "net", "act"]),
        gs.Path("both", ["frame", "net", "both"]),
    ]
    return gs.Workload(tasks, tick="us", paths=paths)


@pytest.mark.parametrize(
    "way", ["streams", "one_stream", "mpcp", "fmlp_plus", "gpu_server", "stgm"]
)
@pytest.mark.parametrize("stretch", [1, 2])
def test_jobs_are_released_by_the_ends_of_others(way: str, stretch: int) -> None:
    platform = gs.Platform("Pascal 5 SM" if way == "stgm" else "AGX Orin", cpus=2)
    run = gs.rt.execute(chain(), platform, way, until="300ms", stretch=stretch)
    ends = {name: ended(run, name) for name in run.name}
    assert [len(ends[name]) for name in run.name] == [3, 3, 3, 2, 6]
    assert released(run, "net") == released(run, "side") == ends["frame"]
    later = {job: max(ends["net"][2 * job], ends["side"][2 * job]) for job in range(2)}
    assert released(run, "both") == later
    assert run.responses("net").min() >= 11 * MS - 1
    found = run.kept(tolerance="1000s")
    assert not rules_of(found) & (ORDER | {"release", "phase"}), found
    assert found.paths[1].jobs.tolist() == [[0, 0, 0], [2, 2, 1]]


def test_releases_have_the_jitter_of_a_simulation() -> None:
    """The same seed gives the delays that ``gs.observe`` draws."""
    workload = chain(jitter="30ms")
    answer = gs.analyze(workload, MACHINE.replace(cpus=2), "mpcp")
    seen = gs.observe(workload, answer.platform, "mpcp", until="500ms", seed=7)
    assert isinstance(seen.detail, gs.simulate.MachineRun)
    jobs = seen.detail.jobs
    drawn = ((jobs.release - jobs.arrival)[jobs.task == 0] // seen.grain * 1000).tolist()
    assert len(drawn) == 5 and max(drawn) - min(drawn) > 5 * MS and min(drawn) > ALLOWED

    def late(run: gs.rt.Execution) -> Any:
        of = run.log.of("release")
        later = (of.time - of.value)[of.task == 0] - np.array(drawn)
        assert later.min() >= 0
        assert np.diff(of.value[of.task == 0]).tolist() == [100 * MS] * 4
        found = run.kept(tolerance=ALLOWED)
        return found if later.max() > ALLOWED or "release jitter" in rules_of(found) else None

    def late_at_once(run: gs.rt.Execution) -> Any:
        of = run.log.of("release")
        later = (of.time - of.value)[of.task == 0]
        return later if later.max() >= min(drawn) else None

    in_time(lambda: executed(answer, until="500ms", seed=7), late)
    in_time(lambda: executed(answer, jobs=2, seed=None), late_at_once)


def test_a_stage_that_takes_longer_exceeds_the_path() -> None:
    """The stand-in takes its time exactly, so that no tolerance below it hides the fault."""
    answer = gs.analyze(chain(), MACHINE.replace(cpus=2), "streams")
    assert answer.accepted

    def late(run: gs.rt.Execution) -> Any:
        rules = rules_of(run.kept(tolerance=10 * MS))
        assert {"path", "response"} <= rules
        return rules & {"release", "phase"}

    slow = chain(kernel="60ms")
    run = in_time(lambda: gs.rt.execute(slow, answer.platform, answer, jobs=3), late)
    assert "both: latency " in run.kept().why("both")


def test_links_that_the_core_refuses(tmp_path: Path) -> None:
    from gpusched.rt.real_runs import _Run

    for change, text in (
        ({"jobs": [3, 4, 3, 2, 6]}, r"jobs\[1\]: got 4, expected at most as many as the tasks"),
        ({"jobs": [3, 3, 3, 3, 6]}, r"jobs\[3\]: got 3"),
        ({"sharing": 3, "cycles": 1}, r"after\[0\]: got 0, expected none with a plan"),
    ):
        answer = gs.analyze(chain(), MACHINE.replace(cpus=2), "mpcp")
        run = _Run(answer.workload, answer, 300_000, 1, None, realtime=False, key=None)
        arguments = {**run._arguments(), "plan": "", "stop": None, **change}
        with pytest.raises(ValueError, match=text):
            run._opened(None).execute(str(tmp_path / "log"), run.workload.names, **arguments)


def test_one_thread_for_a_group() -> None:
    workload = chain()
    run = gs.rt.execute(workload, MACHINE.replace(cpus=2), "mpcp", until="200ms", triggered="one")
    assert run.name == workload.in_one_thread().names and len(run.name) == 2
    exact(run)


def differences(run: gs.rt.Execution) -> list[int]:
    """By how many ns each job ended later than in the simulation of its releases."""
    seen = run.replay()
    first = run.workload[0]
    of = run.log.of("release")
    row = run.log.name.index(first.name)
    origin = int(of.value[of.task == row][0]) - first.offset * 1000
    if (schedule := run.answer.schedule) is not None:  # with the start of the first frame
        tick = finer_tick(run.answer.workload, run.answer.grain)
        origin = int(run.log.of("frame").value[0]) - int(schedule.start[0] * tick)
    found = []
    for task, job, end in zip(*(x.tolist() for x in (seen.task, seen.job, seen.end)), strict=True):
        found.append(ended(run, run.workload.names[task])[job] - origin - end * 1000)
    assert len(found) == int((run.log.kind == run.log.of("complete").kind[0]).sum())
    return found


@pytest.mark.parametrize("way", [way for way in WAYS if way != "edf_serial"])
def test_a_run_agrees_with_the_simulation_of_its_releases(way: str) -> None:
    """The stand-in and the simulator have the same rules; the machine adds little."""
    found = answer_of(way, 3)  # the stand-in has no launch latency of its own
    answer = gs.analyze(found.workload, found.platform.replace(launch_latency=0), way)

    def late(run: gs.rt.Execution) -> Any:
        ns = differences(run)
        assert min(ns) > -2_000 or max(ns) > ALLOWED  # ends are rounded up to us
        return max(ns) if max(ns) > ALLOWED else None

    in_time(lambda: executed(answer, jobs=2), late)


def test_a_pipeline_agrees_with_the_simulation_of_its_releases() -> None:
    platform = MACHINE.replace(cpus=2, launch_latency=0)
    answer = gs.analyze(chain(jitter="30ms"), platform, "mpcp")

    def late(run: gs.rt.Execution) -> Any:
        ns = max(differences(run))
        return ns if ns > ALLOWED else None

    run = in_time(lambda: executed(answer, until="300ms", seed=3), late)
    path = run.replay().path("both")
    assert path.jobs.tolist() == run.path("both").jobs.tolist()
    assert abs((path.largest or 0) * 1000 - (run.path("both").largest or 0)) <= ALLOWED


def test_responses_under_a_plan_count_from_arrivals() -> None:
    """A task without CPU work has no thread: the player logs the release of its GPU work, which the
    plan has behind the CPU work of others. Its response counts from its arrival all the same."""
    for seed in range(3, 40):
        answer = answer_of("pbs", seed)
        assert answer.schedule is not None
        planned = answer.schedule.tasks
        late = [
            name
            for name, offset in zip(planned.name, planned.offset.tolist(), strict=True)
            if offset and not any(isinstance(s, gs.CPU) for s in answer.workload[name].segments)
        ]
        if late:
            break
    name, offset = late[0], int(planned.offset[planned.name.index(late[0])])
    run = executed(answer, jobs=1)
    tick = finer_tick(answer.workload, answer.grain)
    frames, done = run.log.of("frame"), ended(run, name)
    origin = int(frames.value[0]) - int(answer.schedule.start[0] * tick)
    took = done[0] - origin - answer.workload[name].offset * 1000
    assert run.responses(name)[0] == took > offset * tick
    found = run.kept(tolerance="10s")
    assert found.kept and found.response[found.name.index(name)] >= took


def held() -> tuple[int, int, int]:
    """Threads, open files and shared memory of this process."""
    shared = [name for name in os.listdir("/dev/shm") if name.startswith(f"gpusched-{os.getpid()}")]
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), len(shared)


@pytest.mark.parametrize("way", ["mpcp", "gpu_server", "pbs", "streams"])
def test_a_run_can_be_stopped(way: str) -> None:
    answer = gs.analyze(tasks_of(), MACHINE, way)
    stop = bytearray(1)
    before = held()
    timer = threading.Timer(0.3, lambda: stop.__setitem__(0, 1))
    timer.start()
    with pytest.raises(gs.Cancelled):
        executed(answer, until="100s", stop=stop)
    timer.join()
    assert held() == before


def test_ctrl_c_ends_a_run() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    answer = gs.analyze(tasks_of(), MACHINE, "fmlp_plus")
    old = signal.signal(signal.SIGALRM, interrupt)
    before = held()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            executed(answer, until="100s")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert held() == before


def test_what_is_not_executed() -> None:
    w = tasks_of()
    with pytest.raises(gs.NotApplicable, match="time_slices: the stand-in GPU has no time slices"):
        gs.rt.execute(w, MACHINE.replace(timeslice="2ms"), "time_slices")
    with pytest.raises(gs.NotApplicable, match="srm: no stock Linux"):
        gs.rt.execute(w, MACHINE, "srm")
    apart = gs.Workload([task.replace(process=task.name) for task in w], tick="us")
    with pytest.raises(ValueError, match="one context on a device"):
        gs.rt.execute(apart, MACHINE, "mpcp")


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"jobs": 0}, "jobs: got 0, expected a positive number"),
        ({"jobs": 1, "until": "1s"}, "jobs: got both jobs and until"),
        ({"until": "0s"}, "until: got '0s', expected a positive time"),
        ({"jobs": 10**6}, "jobs: got .* jobs, whose log has up to"),
        ({"stretch": 0}, "stretch: got 0, expected 1 to 1000000"),
        ({"gpu": "cuda"}, "gpu: got 'cuda', expected"),
        ({"cores": [0, 0]}, "cores: got "),
        ({"mode": "busy"}, "mode: got an option beside an answer"),
    ],
)
def test_refusals(more: dict[str, Any], text: str) -> None:
    answer = gs.analyze(tasks_of(), MACHINE, "mpcp")
    with pytest.raises(ValueError, match=text):
        executed(answer, **more)


def test_more_cpus_than_there_are() -> None:
    with pytest.raises(ValueError, match="cores: got "):
        gs.rt.execute(tasks_of(), MACHINE.replace(cpus=4096), "mpcp")
    other = gs.Workload([gs.Task("c", "9ms", [gs.Kernel("1ms", blocks=1, threads=64)])], tick="us")
    with pytest.raises(ValueError, match="workload: got the tasks"):
        gs.rt.execute(other, MACHINE, gs.analyze(tasks_of(), MACHINE, "mpcp"))


def opened() -> tuple[Any, dict[str, Any]]:
    """A machine and the arguments of its execution."""
    from gpusched.rt.real_runs import _Run

    answer = gs.analyze(tasks_of(), MACHINE, "mpcp")
    run = _Run(answer.workload, answer, 10**5, 1, None, realtime=False, key=None)
    return run._opened(None), {**run._arguments(), "plan": "", "stop": None}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("row", [0, 0], r"row\[1\]: got 0, expected a row that no task has"),
        ("row", [0, 2], r"row\[1\]: got 2, expected a row of the log"),
        ("jobs", [1, -1], r"jobs\[1\]: got -1"),
        ("jobs", [1, 2**40], r"jobs\[1\]: got 1099511627776"),
        ("cpu", [0, 2**40], r"cpu\[1\]: got 1099511627776"),
        ("fifo", [100, 0], r"fifo\[0\]: got 100, expected 0 to 99"),
        ("ceiling", [0, -1], r"ceiling\[1\]: got -1, expected 0 to 99"),
        ("urgency", [0, -1], r"urgency\[1\]: got -1"),
        ("lock", [64, 0], r"lock\[0\]: got 64, expected -1 to 63"),
        ("due", [2**62, 0], r"due\[0\]: got 4611686018427387904"),
        ("sharing", 4, "sharing: got 4, expected a known sharing"),
        ("events", 2**40, "events: got 1099511627776"),
        ("lead", -1, "lead: got -1"),
        ("supervisor", 100, "supervisor: got 100, expected 0 to 99"),
        ("row", [0], r"row: got shape \(1,\)|row: got 1|row"),
        ("kernel", [0], "kernel"),
    ],
)
def test_hostile_arguments_of_the_core(name: str, value: Any, text: str, tmp_path: Path) -> None:
    simulation, arguments = opened()
    with pytest.raises(ValueError, match=text):
        simulation.execute(str(tmp_path / "log"), ("a", "b"), **{**arguments, name: value})


def test_the_core_passes_errors_of_the_runtime_on(tmp_path: Path) -> None:
    for more, text in (
        ({"cpu": np.array([2**20, 0])}, "cpu: "),
        ({"events": 1000}, "events: got 1000, expected a power of 2"),
        ({"sharing": 3, "cycles": 1}, "error 2"),
        ({"order": 7}, "order: got 7"),
    ):
        simulation, arguments = opened()
        with pytest.raises(OSError, match=text):
            simulation.execute(str(tmp_path / "log"), ("a", "b"), **{**arguments, **more})
    simulation, arguments = opened()
    with pytest.raises(OSError, match="log: error"):
        simulation.execute(str(tmp_path / "no/log"), ("a", "b"), **arguments)
    with pytest.raises(ValueError, match="expected one that has not run"):
        simulation.execute(str(tmp_path / "log"), ("a", "b"), **arguments)
