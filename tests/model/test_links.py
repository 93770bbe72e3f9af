"""Tasks that release or read others, and paths: messages, cuts, files, frames, refusals."""

from __future__ import annotations

import json
import pickle
import tomllib
from pathlib import Path as FilePath
from random import Random
from typing import Any

import pytest

import gpusched as gs
from gpusched.model.views.derived_view import refuse_triggers
from gpusched.model.workload.links import groups_of, sources_of
from gpusched.model.workload.workload_document import workload_parts

pytestmark = pytest.mark.python

LIDAR = """\
version = 2
tick = "us"

[[task]]
name = "lidar"
rate = "10Hz"
jitter = "2ms"
segments = [{ cpu = "9ms" }, { copy_in = "1ms" }, { kernel = "3ms", blocks = 96, threads = 256 }]

[[task]]
name = "detector"
after = "lidar"
best = "1ms"
segments = [{ cpu = "1ms" }, { kernel = "14ms", blocks = 320, threads = 256 }]

[[task]]
name = "recorder"
after = ["lidar"]
every = 2
queue = 4
segments = [{ cpu = "6ms" }]

[[task]]
name = "tracker"
after = ["lidar", "detector"]
reads = "planner"
segments = [{ cpu = "16ms" }]

[[task]]
name = "planner"
period = "50ms"
reads = ["tracker", "recorder"]
segments = [{ cpu = "7ms" }]

[[path]]
name = "obstacle to brake"
tasks = ["lidar", "detector", "tracker", "planner"]
kind = "reaction"
deadline = "500ms"

[[path]]
name = "cloud to objects"
tasks = ["lidar", "tracker"]
phases = "given"
"""


def lidar() -> gs.Workload:
    return gs.Workload._made(*workload_parts(tomllib.loads(LIDAR)))


def cpu(name: str, period: Any = None, **other: Any) -> gs.Task:
    return gs.Task(name, period, [gs.CPU(1)], **other)


def test_a_triggered_task_has_the_period_of_its_source() -> None:
    w = lidar()
    assert [task.period for task in w] == [100_000, 100_000, 200_000, 100_000, 50_000]
    assert w["detector"].deadline == 100_000 and not w["detector"].has_deadline
    assert w["tracker"].after == ("lidar", "detector") and w["tracker"].reads == ("planner",)
    assert w["detector"].best == 1000 and w["recorder"].queue == 4 and w["recorder"].every == 2
    assert w.path("obstacle to brake").deadline == 500_000 and w.path(1).deadline is None
    assert w.path(1).phases == "given" and w.path(0).kind == "reaction"
    assert sources_of(w.tasks)["tracker"] == "lidar"
    groups = {name: [task.name for task in group] for name, group in groups_of(w.tasks).items()}
    assert groups == {
        "lidar": ["lidar", "detector", "recorder", "tracker"], "planner": ["planner"],
    }  # fmt: skip
    slower = w.with_task(w["lidar"].replace(period="200ms"))
    assert slower["tracker"].period == 200_000 and slower["recorder"].period == 400_000
    with pytest.raises(ValueError, match="period: got none of 'b', a task with after"):
        _ = cpu("b", after="a").period
    with pytest.raises(KeyError, match="paths: got 'x', expected one of obstacle to brake"):
        w.path("x")


def test_changes_keep_links_and_paths() -> None:
    w = lidar()
    for made in (w.scaled(kernels=2), w.replace(notes=["n"]), w.replace(tick="ns")):
        assert made.path(0).tasks == w.path(0).tasks and made["tracker"].after == w["tracker"].after
    assert w.replace(tick="ns").path(0).deadline == 500_000_000
    assert w.replace(paths=[w.path(1)]).paths == (w.path(1),)
    part = w[["lidar", "detector"]]
    assert part.paths == () and part["detector"].period == 100_000
    assert w[["lidar", "detector", "recorder"]].paths == ()
    for names, said in (
        (["detector"], "tasks: got detector, which is after lidar, without lidar"),
        (["planner"], "tasks: got planner, which reads tracker, without tracker"),
    ):
        with pytest.raises(ValueError, match=said):
            w[names]
    other = gs.Workload([cpu("x", 50)], tick="us", paths=[gs.Path("alone", ["x"])])
    joined = w + other
    assert [path.name for path in joined.paths] == [*(p.name for p in w.paths), "alone"]
    with pytest.raises(ValueError, match="name: got 'alone', expected another name"):
        gs.Workload([cpu("y", 5)], paths=[gs.Path("alone", ["y"])] * 2)
    assert hash(w) == hash(lidar()) and w == lidar() and w != w.replace(paths=())
    assert pickle.loads(pickle.dumps(w)) == w
    assert pickle.loads(pickle.dumps(w)).path(0) == w.path(0)


def test_texts_name_links_and_paths() -> None:
    w = lidar()
    text = str(w)
    assert "after lidar, detector, reads planner" in text and "every 2" in text
    assert "path obstacle to brake: reaction at most 500ms: lidar -> detector -> tr" in text
    assert "path cloud to objects: latency, with the offsets given: lidar -> tracker" in text
    assert "obstacle to brake" in w._repr_html_()
    small = gs.Workload([cpu("a", 9), cpu("b", after="a")], paths=[gs.Path("p", ["a", "b"], 9)])
    assert "after='a'" in repr(small) and "paths=[Path('p'" in repr(small)
    names = {name: getattr(gs, name) for name in ("Workload", "Task", "Path", "CPU")}
    assert eval(repr(small), names) == small


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_files_and_frames_are_exact(tmp_path: FilePath, suffix: str) -> None:
    for seed in range(40):
        w = random_links(Random(f"{suffix} {seed}"))
        path = tmp_path / f"w.{suffix}"
        w.save(path)
        again = gs.Workload.load(path)
        assert again == w and [t.period for t in again] == [t.period for t in w]
        document = (tomllib.loads if suffix == "toml" else json.loads)(path.read_text("utf-8"))
        linked = w.paths or any(task.after or task.reads or task.best for task in w)
        assert document["version"] == (2 if linked else 1)
        pytest.importorskip("pandas")
        assert gs.Workload.from_frame(w.to_frame(), paths=w.paths_frame()) == w
        assert gs.Workload.from_frame(w.to_frame()) == w.replace(paths=())


def random_links(random: Random) -> gs.Workload:
    names = random.sample(["a", "b c", 'q"x', "d,e", " f ", "g,", "ü", "→h"], random.randint(2, 6))
    tasks: list[gs.Task] = []
    for name in names:
        timed = [t.name for t in tasks if not t.after and not t.reads]
        link: dict[str, Any] = {"period": random.randint(5, 90)}
        if timed and random.random() < 0.5:
            link = {"after": random.choice(timed), "every": random.randint(1, 3)}
            link["queue"] = random.choice((None, 3))
        link["best"] = random.choice((0, 1))
        others = [n for n in names if n != name and n != link.get("after")]
        if others and random.random() < 0.5:
            link["reads"] = random.sample(others, random.randint(1, len(others)))
        tasks.append(gs.Task(name, segments=[gs.CPU(random.randint(1, 4))], **link))
    links = [(a, t.name) for t in tasks for a in (*t.after, *t.reads)]
    kinds: Any = ("latency", "reaction", "age", "held age")
    paths = [
        gs.Path(f"path {i}", link, random.choice((None, 50)), random.choice(kinds),
                random.choice(("any", "given")))
        for i, link in enumerate(random.sample(links, min(2, len(links))))
    ]  # fmt: skip
    return gs.Workload(tasks, random.choice(("ns", "us")), paths=paths)


def test_a_written_file_follows_the_schema(tmp_path: FilePath) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = FilePath(gs.__file__).parent / "model" / "workload" / "workload.schema.json"
    checker = jsonschema.Draft202012Validator(json.loads(schema.read_text("utf-8")))
    checker.validate(tomllib.loads(LIDAR))
    for seed in range(20):
        random_links(Random(seed)).save(tmp_path / "w.json")
        checker.validate(json.loads((tmp_path / "w.json").read_text("utf-8")))
    assert not checker.is_valid(tomllib.loads(LIDAR.replace("version = 2", "version = 1")))
    assert not checker.is_valid(tomllib.loads(LIDAR.replace('"lidar"\nbest', '"lidar"\noffset')))


def document(*tasks: dict[str, Any], path: Any = None) -> dict[str, Any]:
    rows = [{"segments": [{"cpu": 1}]} | task for task in tasks]
    return {"version": 2, "task": rows} | ({} if path is None else {"path": path})


A = {"name": "a", "period": 9}
B = {"name": "b", "after": "a"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (document(A, {"name": "b", "after": "c"}),
         "task[1].after: got 'c', expected the name of a task"),
        (document(A, B | {"period": "5ms"}),
         "task[1].period: got '5ms' of a task with after, expected none; its jobs are released by "
         "those of a"),
        (document(A, {"name": "b"}),
         "task[1].period: got none, expected a period, a rate, or after"),
        (document(A, {"name": "b", "after": "c"}, {"name": "c", "after": "b"}),
         "task[1].after: got a cycle of b, c; feedback is a value that is read: reads"),
        (document(A, {"name": "b", "period": 9}, {"name": "c", "after": ["a", "b"]}),
         "task[2].after: got tasks of different sources (a, b), expected one source; let one of "
         "them release the jobs, and read the others"),
        (document(A, B | {"every": 2}, {"name": "c", "after": ["a", "b"]}),
         "task[2].after: got tasks of different rates, expected one rate"),
        (document(A | {"every": 2}),
         "task[0].every: got 2, expected after; a period says how often a timed task reads"),
        (document(A, B | {"reads": "a"}),
         "task[1].reads: got 'a', which is in after, too; a triggered job has the result that "
         "released it"),
        (document(A, B | {"jitter": "1ms"}),
         "task[1].jitter: got '1ms' of a task with after, expected none"),
        (document({"name": "camera", "period": 9}, {"name": "detector", "after": "camera"},
                  {"name": "planner", "after": "detector"},
                  path=[{"name": "p", "tasks": ["camera", "planner"]}]),
         "path[0].tasks[1]: got 'planner' behind 'camera', expected a task that is after camera or "
         "reads it; camera -> detector -> planner is a path"),
        (document(A, path=[{"name": "p", "tasks": ["a"], "kind": "delay"}]),
         "path[0].kind: got 'delay', expected one of latency, reaction, age, held age"),
        (document(A, path=[{"name": "p", "tasks": ["x"]}]),
         "path[0].tasks[0]: got 'x', expected the name of a task"),
        (document(A, path=[{"name": "p", "tasks": []}]), "path[0].tasks: got [], expected"),
        (document(A, path=[{"name": "p"}]), "path[0].tasks: got none, expected one"),
        (document(A, path=[{"name": "p", "tasks": "a"}]), "path[0].tasks: got 'a', expected a"),
        (document(A, path=[{"name": "p", "tasks": ["a", "a"]}]),
         "path[0].tasks: got 'a' twice, expected it once"),
        (document(A, path=[{"name": "p", "tasks": ["a"], "deadlin": 3}]),
         "path[0].deadlin: got an unknown key, expected deadline"),
        (document(A, path=[{"name": "p", "tasks": ["a"]}] * 2),
         "path[1].name: got 'p', expected another name than that of path[0]"),
        (document(A, path=[{"name": "p", "tasks": ["a"], "phases": "some"}]),
         "path[0].phases: got 'some', expected one of any, given"),
        (document(A, path=[{"name": "p", "tasks": ["a"], "deadline": 0}]),
         "path[0].deadline: got 0"),
        (document(A, B | {"every": 0}), "task[1].every: got 0, expected 1 to 1000000"),
        (document(A, B | {"queue": 0}), "task[1].queue: got 0, expected 1 to"),
        (document(A | {"queue": 1}), "task[0].queue: got 1, expected after"),
        (document(A | {"best": 2}), "task[0].best: got 2ns, expected at most the time of a job"),
        (document(A, B | {"after": []}), "task[1].after: got [], expected at least one name"),
        (document(A, B | {"after": ["a", "a"]}), "task[1].after: got 'a' twice, expected it once"),
        (document(A, B | {"after": 3}), "task[1].after: got 3, expected the name of a task"),
        (document(A, B | {"after": [3]}), "task[1].after: got 3, expected text"),
        (document(A, B | {"reads": "b2"}), "task[1].reads: got 'b2', expected the name of a task"),
        (document({"name": "a", "period": 2**59}, B | {"every": 10}),
         "task[1].every: got 10, expected a period below 2**60 ticks"),
        (document(A) | {"version": 1, "path": []}, "path: got a key of version 2"),
    ],
)  # fmt: skip
def test_a_document_that_is_refused(given: Any, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        workload_parts(given)
    assert str(caught.value).startswith(said)


def test_workloads_that_are_refused() -> None:
    with pytest.raises(ValueError, match=r"tasks\['b'\].after: got 'c', expected the name of a t"):
        gs.Workload([cpu("a", 9), cpu("b", after="c")])
    with pytest.raises(ValueError, match=r"paths\['p'\].tasks\[1\]: got 'b' behind 'a', expected"):
        gs.Workload([cpu("a", 9), cpu("b", 9)], paths=[gs.Path("p", ["a", "b"])])
    with pytest.raises(TypeError, match=r"paths\[0\]: got "):
        gs.Workload([cpu("a", 9)], paths=["p"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"paths\['p'\].deadline: got '1ns', expected a whole num"):
        gs.Workload([cpu("a", 9)], "us", paths=[gs.Path("p", ["a"], "1ns")])
    with pytest.raises(ValueError, match=r"tasks\['a'\].best: got 9us, expected at most the time"):
        gs.Workload([cpu("a", 9, best=9)], "us")


CALLS: dict[str, Any] = {
    "kernels": lambda w, p: w.kernels(p),
    "chains": lambda w, p: w.chains(p),
    "batches": lambda w, p: w.batches(p),
    "hosts": lambda w, p: w.hosts(p),
    "programs": lambda w, p: w.programs(p),
    "launches": lambda w, p: w.launches(p, "1ms"),
    "mig": lambda w, p: gs.mig(w, p.replace(gpu="A100-40GB")),
    "job set": lambda w, p: gs.io.write_job_set(w, "/nowhere/jobs.csv"),
    **{
        f"analyze {way}": lambda w, p, way=way: gs.analyze(w, p, way)
        for way in ("srm", "container", "edf_parallel")
    },
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_model_without_triggers_says_so(call: str) -> None:
    w = lidar().replace(paths=())
    no_jitter = w.with_task(w["lidar"].replace(jitter=0))
    platform = gs.Platform("AGX Orin", cpus=4)
    with pytest.raises(ValueError, match="detector: got a task after lidar, expected a period; "):
        CALLS[call](no_jitter, platform)


def test_values_that_are_read_make_no_difference_to_models() -> None:
    kernel = gs.Kernel("5ms", blocks=8, threads=256)
    plain = [gs.Task("a", "40ms", [kernel]), gs.Task("b", "60ms", [kernel])]
    read = [plain[0], plain[1].replace(reads="a")]
    platform = gs.Platform("Xavier", cpus=2)
    refuse_triggers(read)
    for way in ("streams", "mpcp", "pbs", "mig"):
        at: Any = platform.replace(gpu="A100-40GB") if way == "mig" else platform
        one, two = (gs.analyze(gs.Workload(t, tick="us"), at, way) for t in (plain, read))
        assert one.response.tolist() == two.response.tolist()
    assert gs.margin(gs.Workload(read, tick="us"), platform, "streams", what="b").factor > 1


def test_a_long_cycle_is_refused() -> None:
    many = [cpu(f"t{i}", after=f"t{(i or 3000) - 1}") for i in range(3000)]
    with pytest.raises(ValueError, match="got a cycle of t0, t1, t2"):
        gs.Workload(many)
