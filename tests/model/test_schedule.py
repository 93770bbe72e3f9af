"""Schedules: properties, validation, files."""

import gzip
import itertools
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from reference import edf, pbs_brute

import gpusched as gs
from gpusched.model.jobs import Jobs
from gpusched.model.schedule import Schedule, ScheduleError

# [RTNS24], section 3.1: Figure 1's tasks, completion by mask.
TASKS = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3], name=["t1", "t2", "t3"])
COMPLETION = [0, 1, 3, 4, 3, 4, 4, 6]
TABLE = gs.BatchTable(completion=COMPLETION)


def schedule(frames, tasks=TASKS, table=TABLE, **options):
    start, end, batch = zip(*frames, strict=True) if frames else ((), (), ())
    return Schedule(start, end, batch, tasks, table, **options)


def frames_of(*batches):
    """Frames back to back; what waits for nothing, as all batches here do."""
    ends = np.cumsum([COMPLETION[batch] for batch in batches]).tolist()
    return list(zip([0, *ends[:-1]], ends, batches, strict=True))


# Figure 2d: J1, then J6 with J10, then J2, J7, ...
D = frames_of(1, 6, 1, 2, 1, 6, 1, 2, 1)
# Another one: J1, J6, J2, then J7 with J10, ...
C = frames_of(1, 2, 1, 6, 1, 6, 1, 2, 1)


@pytest.mark.parametrize("frames", [C, D])
def test_the_papers_schedules_are_valid(frames):
    s = schedule(frames)
    assert s.validate() is s
    jobs = s.jobs()
    assert len(jobs) == 11, "J1 to J11 of section 3.1"
    assert len(s.late_jobs()) == 0
    assert not jobs.late.any()
    assert np.array_equal(jobs.response, jobs.end - jobs.release)
    assert s.makespan == frames[-1][1]
    assert s.horizon == 20
    assert s.idle == 20 - sum(end - start for start, end, _ in frames)
    assert s.utilization == 1 - s.idle / 20


def test_figure_2c_as_described_is_late_by_the_papers_own_table():
    """J2 and J7 share a frame from 5 that ends at 9 by Figure 1's table; J2 is due at 8."""
    with pytest.raises(ScheduleError, match=r"frame 2 misses a deadline \(t1\), at 8"):
        schedule(frames_of(1, 6, 3)).validate()


def test_jobs_of_a_schedule():
    jobs = schedule(D[:4]).jobs()
    assert jobs.task.tolist() == [0, 1, 2, 0, 1]
    assert jobs.job.tolist() == [0, 0, 0, 1, 1]
    assert jobs.release.tolist() == [0, 0, 0, 4, 5]
    assert jobs.deadline.tolist() == [4, 5, 10, 8, 10]
    assert jobs.start.tolist() == [0, 1, 1, 5, 6]
    assert jobs.end.tolist() == [1, 5, 5, 6, 9]


def test_tardiness_and_a_table_for_notebooks():
    times = {"task": [0, 0, 1], "job": [0, 1, 0], "release": [0, 5, 0], "deadline": [4, 9, 6]}
    jobs = Jobs(
        **{k: np.array(v) for k, v in times.items()},
        start=np.array([0, 4, -1]),
        end=np.array([4, 12, -1]),
    )
    assert jobs.tardiness.tolist() == [0, 3, -1] and jobs.late.tolist() == [False, True, True]
    assert "<th>end</th><th>response</th>" in jobs._repr_html_()
    assert "<td>12</td><td>7</td>" in jobs._repr_html_()
    many = Jobs(*(np.zeros(10**5, np.int64) for _ in Jobs.COLUMNS))
    assert len(many._repr_html_()) < 10_000 and "and 99960 more rows" in many._repr_html_()
    run = gs.simulate.fifo(gs.KernelTasks([4], [1]), 1, until=8)
    assert run._repr_svg_().startswith("<svg") and run._repr_svg_() in run._repr_html_()
    assert run.tardiness.tolist() == [0, 0]


def test_late_jobs_end_late_or_wait_at_their_deadline():
    rows = schedule(frames_of(1, 6, 3)).late_jobs().to_frame()
    assert rows[["task", "job", "deadline", "end"]].values.tolist() == [[0, 1, 8, 9]]
    waiting = schedule([(0, 3, 2), (3, 6, 4)]).late_jobs()
    frame = waiting.to_frame()
    assert frame[["task", "job", "deadline"]].values.tolist() == [[0, 0, 4]]
    assert frame[["start", "end", "response"]].isna().all(axis=None)
    assert waiting.response.tolist() == [-1]


def test_offsets_count():
    tasks = gs.KernelTasks(period=[4, 4], wcet=[1, 1], offset=[2, 0])
    s = Schedule([0, 2], [1, 3], [2, 1], tasks, gs.BatchTable(completion=[0, 1, 1, 2]))
    assert s.validate().jobs().release.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("frames", "rule", "frame", "task", "time"),
    [
        ([(0, 1, 1), (0, 3, 2)], "overlap", 1, None, 0),
        ([(0, 0, 0)], "ineligible", 0, None, 0),
        ([(0, 2, 1)], "length", 0, None, 2),
        ([(0, 1, 1), (1, 2, 1)], "not ready", 1, 0, 1),
        ([(0, 6, 7)], "miss", 0, 0, 4),
        ([(0, 3, 4), (3, 6, 2)], "miss", 1, 0, 4),
        ([(0, 1, 1), (2, 5, 2)], "idle", 1, 1, 1),
        (D[:-1], "unfinished", 8, 0, 16),
        ([], "unfinished", 0, 0, 0),
    ],
)
def test_validate_names_rule_frame_task_and_time(frames, rule, frame, task, time):
    with pytest.raises(ScheduleError) as caught:
        schedule(frames).validate()
    error = caught.value
    assert (error.rule, error.frame, error.task, error.time) == (rule, frame, task, time)
    assert isinstance(error, ValueError)
    text = str(error)
    assert text.startswith(f"frame {frame} ")
    assert text.endswith(f", at {time}")
    assert task is None or f"(t{task + 1})" in text
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.rule, again.time) == (text, rule, time)


def test_validate_agrees_with_the_reference_on_random_changes():
    """A frame moved, stretched or with another batch: right and wrong as the twin says."""
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(300):
        frames = [list(frame) for frame in (C, D)[rng.integers(2)]]
        frame = frames[rng.integers(len(frames))]
        match rng.integers(4):
            case 0:
                frame[2] = int(rng.integers(1, 8))
                frame[1] = frame[0] + COMPLETION[frame[2]]
            case 1:
                frame[0] += 1
                frame[1] += 1
            case 2:
                frame[1] += 1
            case 3:
                pass
        wrong = pbs_brute.replay(frames, [4, 5, 10], [4, 5, 10], COMPLETION)
        try:
            schedule(frames).validate()
            assert not wrong
        except ScheduleError as error:
            assert wrong, error
            seen.add(error.rule)
    assert len(seen) >= 4


def test_idling_schedules_may_wait():
    tasks = gs.KernelTasks(period=[10, 10], wcet=[2, 2], offset=[0, 1])
    table = gs.BatchTable(completion=[0, 2, 2, 3])
    frames = dict(start=[1], end=[4], batch=[3], tasks=tasks, table=table)
    assert Schedule(**frames, idling=True).validate().idle == 7
    with pytest.raises(ScheduleError, match="frame 0 starts although the GPU idled"):
        Schedule(**frames).validate()


def test_validate_needs_its_table():
    with pytest.raises(
        ValueError, match="table: got None, expected a table to validate the schedule"
    ):
        schedule(C, table=None).validate()
    with pytest.raises(ValueError, match="table: got one of 2 tasks, expected 3 as in the set"):
        schedule(C, table=gs.BatchTable(completion=[0, 1, 1, 1]))
    with pytest.raises(ValueError, match="table: got a stack, expected one table"):
        schedule(C, table=gs.BatchTable(completion=[COMPLETION]))


def test_missed_jobs_of_both_edf_strategies():
    """Section 3.1: EDFserial misses at 10, EDFParallel at once."""
    period = TASKS.period.tolist()
    ok, frames = edf.edf_serial(period, period, COMPLETION)
    assert not ok
    late = schedule(frames).late_jobs()
    # J10 and J7 are both due at 10 and cannot both make it: the tie decides which one is late.
    assert late.to_frame()[["task", "job", "deadline"]].values.tolist() == [[2, 0, 10]]
    ok, frames = edf.edf_parallel(period, period, COMPLETION)
    assert not ok
    late = schedule(frames).late_jobs()
    assert late.task.tolist() == [0, 1]
    assert late.end.tolist() == [6, 6]


def test_members_are_in_submission_order():
    assert [schedule(C, table=None).members(f) for f in range(3)] == [(0,), (1,), (0,)]
    assert schedule(C, table=None).members(3) == (1, 2)
    gpu = gs.GPU(sms=2, threads_per_sm=256, blocks_per_sm=32)
    tasks = gs.KernelTasks(period=[10, 10], wcet=[1, 1], blocks=[4, 1], threads=[64, 192])
    table = gs.BatchTable.from_gpu(tasks, gpu, slowdown=(1, 1))
    # Example 2.1: the large block has to be submitted first.
    assert Schedule([0], [1], [3], tasks, table).validate().members(0) == (1, 0)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0], [1, 2], [1]), "end: got 2 entries, expected 1 as of start"),
        (([[0]], [[1]], [[1]]), "start: got 2 dimensions, expected 1"),
        (([-1], [1], [1]), r"start\[0\]: got -1, expected a non-negative number"),
        (([0, 5], [1, 4], [1, 1]), r"end\[1\]: got 4, expected at least the start, 5"),
        (([0], [1], [8]), r"batch\[0\]: got 8, expected a bit mask of 3 tasks"),
        (([0], [1], [-1]), r"batch\[0\]: got -1, expected a non-negative number"),
        (([0], [1], [2**40 + 1]), r"batch\[0\]: got 1099511627777, expected a bit mask of 3 tasks"),
        (([0.5], [1], [1]), r"start\[0\]: got 0\.5, expected a whole number"),
        ((["x"], [1], [1]), r"start\[0\]: got 'x', expected a number"),
    ],
)
def test_refusals(columns, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Schedule(*columns, TASKS, TABLE)


def test_a_schedule_belongs_to_one_set():
    with pytest.raises(ValueError, match="tasks: got a stack, expected one task set"):
        Schedule([0], [1], [1], gs.KernelTasks(period=[[4, 5], [4, 5]], wcet=1))


def test_schedules_are_values():
    s = schedule(C)
    assert s == schedule(C)
    assert s != schedule(D)
    assert s != schedule(C, table=None)
    assert s != schedule(C, idling=True)
    assert pickle.loads(pickle.dumps(s)) == s
    with pytest.raises(ValueError, match="read-only"):
        s.start[0] = 1
    with pytest.raises(AttributeError):
        s.start = s.end
    assert repr(s) == "<Schedule: 9 frames of 3 tasks, busy 95.0% of 20 ticks>"
    frame = s.to_frame()
    assert list(frame.columns) == ["start", "end", "tasks", "names"]
    assert frame["tasks"][3] == (1, 2) and frame["names"][3] == ("t2", "t3")
    jobs = s.jobs()
    assert jobs == s.jobs()
    assert isinstance(pickle.loads(pickle.dumps(jobs)), Jobs)
    assert pickle.loads(pickle.dumps(jobs)) == jobs


# Files


@pytest.mark.parametrize("table", [TABLE, None])
def test_save_and_load_lose_nothing(tmp_path, table):
    tasks = gs.KernelTasks(
        period=[4, 5, 10],
        wcet=[1, 3, 3],
        deadline=[4, 5, 10],
        priority=[-1, 0, 1],
        blocks=[2**40, 1, 1],
        name=['<"ä">', "\x00\u2028", ""],
    )
    s = schedule(C, tasks=tasks, table=table, idling=True)
    s.save(tmp_path / "s.json")
    again = Schedule.load(tmp_path / "s.json")
    assert again == s
    assert again.tasks.name == tasks.name
    assert [p.name for p in tmp_path.iterdir()] == ["s.json"]
    if table is not None:
        assert again.validate() == s
    s.save(tmp_path / "s.json")  # over an older one


def test_save_keeps_the_submission_orders(tmp_path):
    gpu = gs.GPU(sms=2, threads_per_sm=256, blocks_per_sm=32)
    tasks = gs.KernelTasks(period=[10, 10], wcet=[1, 1], blocks=[4, 1], threads=[64, 192])
    table = gs.BatchTable.from_gpu(tasks, gpu, slowdown=(1, 1))
    Schedule([0], [1], [3], tasks, table).save(tmp_path / "s.json")
    assert Schedule.load(tmp_path / "s.json").members(0) == (1, 0)


def test_save_is_whole_or_not_at_all(tmp_path, monkeypatch):
    s = schedule(C)
    s.save(tmp_path / "s.json")
    before = (tmp_path / "s.json").read_bytes()
    monkeypatch.setattr(json, "dump", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        s.save(tmp_path / "s.json")
    assert (tmp_path / "s.json").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.json"]
    with pytest.raises(FileNotFoundError):
        s.save(tmp_path / "no" / "s.json")


def change(path, *keys, to):
    document = json.loads(path.read_text())
    inner = document
    for key in keys[:-1]:
        inner = inner[key]
    if to is KeyError:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = to
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("keys", "to", "field"),
    [
        (("format",), "other", "format"),
        (("version",), 5, "version"),
        (("tasks",), KeyError, "tasks: got None, expected an object"),
        (("tasks",), [], r"tasks: got \[\], expected an object"),
        (("tasks", "period"), KeyError, "tasks.period: got None, expected a list"),
        (("tasks", "period"), [4, 5, 0], r"tasks: period\[2\]: got 0"),
        (
            ("tasks", "period"),
            [4, 5, 2.5],
            "tasks.period: got other entries, expected a list of int",
        ),
        (
            ("tasks", "period"),
            [4, 5, True],
            "tasks.period: got other entries, expected a list of int",
        ),
        (("tasks", "period"), [4, 5, 2**70], r"tasks: period\[2\]"),
        (("tasks", "name"), [1, 2, 3], "tasks.name: got other entries, expected a list of str"),
        (("tasks", "colour"), [], "tasks: got 'colour', expected one of period"),
        (("frames", "end"), [1], "frames: end: got 1 entries, expected 9"),
        (("frames", "batch"), "x", "frames.batch: got 'x', expected a list"),
        (("frames", "start"), ["0"] * 9, "frames.start: got other entries, expected a list of int"),
        (("idling",), 1, "idling: got 1, expected true or false"),
        (("table",), {}, "table: got {}, expected a list"),
        (("table", 0), 5, r"table\[0\]: got 5, expected an object"),
        (("table", 0, "completion"), 1.5, r"table\[0\].completion: got 1.5, expected an int"),
        (("table", 0, "completion"), -1, "table: "),
        (("table", 0, "tasks"), [0.0], r"table\[0\].tasks: got .*, expected a list of int"),
        (("table", 0, "tasks"), [7], "table: "),
    ],
)
def test_load_names_file_and_field(tmp_path, keys, to, field):
    path = tmp_path / "s.json"
    schedule(C).save(path)
    change(path, *keys, to=to)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: {field}"):
        Schedule.load(path)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[1]", b"null", b"[" * 100_000])
def test_load_refuses_what_is_no_schedule(tmp_path, data):
    path = tmp_path / "s.json"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: (file|format)"):
        Schedule.load(path)


def test_chrome_trace(tmp_path):
    s = schedule(D)
    s.to_chrome_trace(tmp_path / "t.json", tick=1000)
    document = json.loads((tmp_path / "t.json").read_text())
    events = document["traceEvents"]
    lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert [lanes[tid] for tid in sorted(lanes)] == ["frames", "t1", "t2", "t3"]
    runs = [e for e in events if e["ph"] == "X" and e["tid"] > 0]
    assert len(runs) == 11
    j2 = next(e for e in runs if e["name"] == "t1 #1")
    assert (j2["ts"], j2["dur"]) == (5, 1)  # µs: a tick is 1,000 ns
    assert j2["args"]["release"] == 4000
    assert j2["args"]["deadline"] == 8000
    assert j2["args"]["response"] == 2000
    frames = [e for e in events if e["ph"] == "X" and e["tid"] == 0]
    assert [(e["ts"], e["dur"]) for e in frames] == [(a, b - a) for a, b, _ in D]
    assert frames[1]["args"]["submission order"] == ["t2", "t3"]
    running = {e["ts"]: e["args"]["running"] for e in events if e["ph"] == "C"}
    assert all(running[start] == batch.bit_count() for start, _, batch in D)
    assert running[D[-1][1]] == 0
    # Lanes hold one thing at a time.
    for lane in lanes:
        spans = sorted(
            (e["ts"], e["ts"] + e["dur"]) for e in events if e.get("tid") == lane and e["ph"] == "X"
        )
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    s.to_chrome_trace(tmp_path / "t.json.gz", tick=1000)
    assert json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes())) == document
    with pytest.raises(ValueError, match="tick: got 0, expected at least 1 ns"):
        s.to_chrome_trace(tmp_path / "t.json", tick=0)


# Version 3


def needing():
    """Two branches between a task and another one, with a tick."""
    tasks = gs.KernelTasks([10] * 4, [2, 3, 3, 2], deadline=8, name=["in", "a", "b", "out"])
    times = {(0,): 2, (1,): 3, (2,): 3, (3,): 2, (1, 2): 4}
    graph = gs.KernelGraph(tasks, [[], "in", "in", ["a", "b"]])
    return gs.pbs.search(graph, gs.BatchTable.from_dict(tasks, times)).schedule.with_tick("ms")


def played(chains=False):
    if chains:
        tasks = gs.KernelChains(period=[8, 8], block_time=[[2, 1], [3]], name=["a", "b"])
        return Schedule([0, 2, 3], [2, 3, 6], [1, 2, 4], tasks).with_tick(1000, overhead=1)
    tasks = gs.KernelTasks(
        [10, 10, 10], wcet=[4, 3, 2], name=["a", '\xfc"\\', "c"], priority=[2, 1, 0]
    )
    times = {(0,): 4, (1,): 3, (2,): 2, (1, 0): 5, (0, 2): 6, (1, 2): 4, (1, 0, 2): 6}
    return Schedule([1], [7], [7], tasks, gs.BatchTable.from_dict(3, times)).with_tick("us")


@pytest.mark.parametrize("chains", [False, True])
def test_a_schedule_with_a_tick_is_version_3(tmp_path, chains):
    made = played(chains)
    made.save(tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    assert (document["version"], document["tick"]) == (3, 1000)
    again = Schedule.load(tmp_path / "s.json")
    assert again == made and again.overhead == made.overhead
    assert again != Schedule(*(getattr(made, k) for k in ("start", "end", "batch", "tasks")))
    assert pickle.loads(pickle.dumps(made)) == made


def test_jobs_that_a_batch_may_lack(tmp_path):
    """Those without which the rest is in the table, takes no longer, and keeps its order."""
    played().save(tmp_path / "s.json")
    (frame,) = json.loads((tmp_path / "s.json").read_text())["frames"]
    assert frame["batch"] == [[1, 0], [0, 0], [2, 0]]
    assert frame["may_lack"] == [[0], [1], [2], [0, 1], [0, 2], [1, 2]]
    slow = {(0,): 4, (1,): 9, (2,): 2, (0, 1): 5, (0, 2): 7, (2, 1): 4, (1, 0, 2): 6}
    tasks = played().tasks
    made = Schedule([1], [7], [7], tasks, gs.BatchTable.from_dict(3, slow)).with_tick("us")
    made.save(tmp_path / "s.json")
    (frame,) = json.loads((tmp_path / "s.json").read_text())["frames"]
    # Without b, a and c take longer; b alone takes longer; a, b and b, c have other orders.
    assert frame["may_lack"] == [[0, 1], [0, 2]]


def test_the_schema_names_what_is_written(tmp_path):
    path = Path(gs.__file__).parent / "model/schedule.schema.json"
    schema = json.loads(path.read_text())
    for made in (played(), played(chains=True), needing()):
        made.save(tmp_path / "s.json")
        document = json.loads((tmp_path / "s.json").read_text())
        assert set(schema["required"]) <= set(document) <= set(schema["properties"])
        for key in ("tasks", "frames"):
            known = schema["properties"][key]["items"]
            for item in document[key]:
                assert set(known["required"]) <= set(item) <= set(known["properties"])
        kernels = schema["properties"]["tasks"]["items"]["properties"]["kernels"]["items"]
        for task in document["tasks"]:
            for kernel in task["kernels"]:
                assert set(kernels["required"]) <= set(kernel) <= set(kernels["properties"])


def test_needs_follow_the_schema(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    path = Path(gs.__file__).parent / "model/schedule.schema.json"
    checker = jsonschema.Draft202012Validator(json.loads(path.read_text()))
    for made, version in ((played(), 3), (played(chains=True), 3), (needing(), 4)):
        made.save(tmp_path / "s.json")
        document = json.loads((tmp_path / "s.json").read_text())
        assert document["version"] == version and checker.is_valid(document)
        assert not checker.is_valid(document | {"version": 7 - version})


@pytest.mark.parametrize(
    ("keys", "to", "field"),
    [
        (("version",), 5, "version: got 5, expected 1, 2, 3 or 4"),
        (("tick",), 0, "tick: got 0, expected an int of at least 1"),
        (("tick",), 1.5, "tick: got 1.5, expected an int of at least 1"),
        (("overhead",), -1, "overhead: got -1, expected an int of at least 0"),
        (("colour",), 1, "file: got 'colour', expected one of"),
        (("chains",), 1, "chains: got 1, expected true or false"),
        (("tasks",), {}, "tasks: got {}, expected a list"),
        (("tasks", 0), 3, r"tasks\[0\]: got 3, expected an object"),
        (("tasks", 1, "name"), 3, r"tasks\[1\].name: got 3, expected text"),
        (("tasks", 1, "period"), "3", r"tasks\[1\].period: got '3', expected an int"),
        (("tasks", 1, "kernels"), [], r"tasks\[1\].kernels: got 0, expected one"),
        (("tasks", 1, "kernels", 0), 7, r"tasks\[1\].kernels\[0\]: got 7, expected an object"),
        (("tasks", 1, "kernels", 0, "regs"), None, r"tasks\[1\].kernels\[0\].regs: got None"),
        (("frames", 0), [], r"frames\[0\]: got \[\], expected an object"),
        (("frames", 0, "start"), -1, r"frames\[0\].start: got -1, expected an int"),
        (("frames", 0, "batch", 0), [9, 0], r"frames\[0\].batch: got \[9, 0\], expected each"),
        (("frames", 0, "batch", 1), [1, 0], r"frames\[0\].batch: got \[1, 0\], expected each"),
        (("idling",), 1, "idling: got 1, expected true or false"),
    ],
)
def test_version_3_names_file_and_field(tmp_path, keys, to, field):
    path = tmp_path / "s.json"
    played().save(path)
    change(path, *keys, to=to)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: {field}"):
        Schedule.load(path)


@pytest.mark.parametrize(
    ("keys", "to", "field"),
    [
        (("version",), 3, r"tasks\[0\]: got 'needs', expected one of"),
        (("chains",), True, "chains: got True in version 4, expected false"),
        (("tasks", 1), 3, r"tasks\[1\]: got 3, expected an object"),
        (("tasks", 1, "needs"), KeyError, r"tasks\[1\].needs: got None, expected a list"),
        (("tasks", 1, "needs"), 0, r"tasks\[1\].needs: got 0, expected a list"),
        (("tasks", 1, "needs"), [True], r"tasks\[1\].needs: got \[True\], expected a list of int"),
        (("tasks", 1, "needs"), ["in"], r"tasks\[1\].needs: got \['in'\], expected a list of int"),
        (("tasks", 1, "needs"), [4], r"tasks: needs\[1\]: got 4, expected a task below 4"),
        (("tasks", 1, "needs"), [-1], r"tasks: needs\[1\]: got -1, expected a task below 4"),
        (("tasks", 1, "needs"), [2**70], r"tasks: needs\[1\]: got"),
        (("tasks", 0, "needs"), [3], r"tasks: needs\[0\]: got a cycle"),
        (("tasks", 0, "period"), 20, r"tasks: needs\[1\]: got a task with period 20, expected 10"),
    ],
)
def test_version_4_names_file_and_field(tmp_path, keys, to, field):
    path = tmp_path / "s.json"
    needing().save(path)
    change(path, *keys, to=to)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: {field}"):
        Schedule.load(path)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda path: schedule(C).save_header(path), "tick: got None, expected its length"),
        (lambda path: played().save_header(path, "1a"), "name: got '1a', expected an identifier"),
        (lambda path: played().with_tick("week"), "tick: "),
        (lambda path: played().with_tick(0), "tick: got 0, expected at least 1"),
        (lambda path: played().with_tick(1, overhead=-1), "overhead: got -1, expected at least 0"),
    ],
)
def test_schedules_that_cannot_be_played(tmp_path, call, text):
    with pytest.raises(ValueError, match=text):
        call(tmp_path / "plan.h")
    assert list(tmp_path.iterdir()) == []
