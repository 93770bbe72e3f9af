"""Saved answers about workloads: exact round trips of all public facts, refusal of other files."""

from __future__ import annotations

import copy
import functools
import json
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from native import CSRC
from test_saved import header, npy, refused, rewritten
from workload_strategies import random_workload

import gpusched as gs
from gpusched.comparison.saved_values import FieldValues, platform_values, workload_values
from gpusched.ways import WAYS

sys.path.append(str(CSRC.parent / "benchmarks"))
from random_workloads import random_case

pytestmark = pytest.mark.python

ORIN = gs.Platform("AGX Orin", cpus=2, launch_latency="1us", server_overhead="10us")
H100 = gs.Platform("H100", cpus=4, timeslice="2.5ms", green_contexts={("a", "b"): 64, "c": 68})
SMALL = gs.Budget(states=3000, seconds=60.0)


def program() -> gs.Workload:
    """Three tasks that all ways can express, but for their copies, with a note."""
    return gs.Workload(
        [
            gs.Task("a", rate="30Hz", segments=[
                gs.CPU("2ms"), gs.CopyIn("300us"), gs.Kernel("5ms", blocks=32, threads=256)]),
            gs.Task("b", "80ms", [
                gs.CPU("9ms"), gs.Kernel("8ms", blocks=8, threads=128), gs.CPU("1ms")],
                deadline="60ms"),
            gs.Task("c", "50ms", [
                gs.CPU("1ms"), gs.Kernel("2ms", blocks=60, threads=128),
                gs.Kernel("3ms", sms={1: "9ms", 4: "3ms"}, blocks=160, threads=128)]),
        ],
        tick="us",
        notes=["measured"],
    )  # fmt: skip


@functools.cache
def plain() -> gs.Workload:
    """Two tasks of one kernel each, for the ways that know nothing else."""
    return gs.Workload(
        [
            gs.Task("a", 40, [gs.CPU(2), gs.Kernel(10, blocks=4, threads=256)], core=0),
            gs.Task("b", 80, [gs.Kernel(20, blocks=4, threads=256), gs.CPU(3)], core=1),
        ]
    )


def later() -> gs.Workload:
    return gs.Workload([task.replace(offset=900) for task in plain()])


@functools.cache
def compared() -> gs.Comparison:
    return gs.compare(program(), H100, until="500ms", budget=SMALL)


@functools.cache
def allocation() -> gs.MigAllocation:
    return gs.mig(program(), H100)


ANSWERS = {
    "mpcp": lambda: gs.analyze(program(), ORIN, "mpcp", mode="busy"),
    "gpu_server": lambda: gs.analyze(program(), ORIN, "gpu_server"),
    "stgm": lambda: gs.analyze(program(), ORIN, "stgm"),
    "srm": lambda: gs.analyze(program(), ORIN, "srm", lock="omlp"),
    "streams": lambda: gs.analyze(program(), ORIN.replace(cpus=3), "streams"),
    "whole programs": lambda: gs.analyze(program(), ORIN, "one_stream"),
    "fifo": lambda: gs.analyze(plain(), ORIN.replace(slowdown=None), "streams"),
    "edf_serial": lambda: gs.analyze(plain(), ORIN, "edf_serial"),
    "pbs": lambda: gs.analyze(plain(), ORIN, "pbs"),
    "pbs, rejected": lambda: gs.analyze(plain().scaled(kernels=3), ORIN, "pbs"),
    "pbs, spent": lambda: gs.analyze(program(), ORIN, "pbs", budget=gs.Budget(states=1)),
    "mig": lambda: gs.analyze(program(), H100, "mig"),
    "mig, none": lambda: gs.analyze(program().scaled(kernels=9), H100, "mig", within="pbs"),
}
RUNS = {
    "one_stream": lambda: gs.observe(program(), ORIN, "one_stream", until="300ms"),
    "green_contexts": lambda: gs.observe(
        program(), H100, "green_contexts", until="300ms", queues="shared"
    ),
    "streams": lambda: gs.observe(plain(), ORIN.replace(launch_latency=0), "streams", until=300),
    "stgm": lambda: gs.observe(program(), ORIN, "stgm", until="300ms"),
    "driver": lambda: gs.observe(program(), ORIN, "driver", until="300ms"),
    "no timeline": lambda: gs.observe(program(), ORIN, "mpcp", until="300ms", timeline=False),
    "no jobs": lambda: gs.observe(later(), ORIN, "mpcp", until=300),
    "container": lambda: gs.observe(program(), ORIN, "container", until="300ms"),
    "instances": lambda: gs.observe(program(), H100, "mig", until="300ms"),
    "mig": lambda: gs.observe(plain(), H100, "mig", until=300, within="edf_serial"),
    "spent": lambda: gs.observe(plain(), ORIN, "mpcp", until=900, budget=gs.Budget(states=3)),
}
OTHERS = {
    "margin": lambda: gs.margin(program(), ORIN, "mpcp"),
    "margin, steps": lambda: gs.margin(program(), ORIN, "streams", "b"),
    "margin, none": lambda: gs.margin(plain().scaled(kernels=9), ORIN, "mpcp"),
    "comparison": compared,
    "comparison, tests": lambda: gs.compare(plain(), ORIN, simulate=False, budget=SMALL),
    "allocation": allocation,
}
MAKERS: dict[str, Callable[[], Any]] = {
    **{f"answer, {name}": make for name, make in ANSWERS.items()},
    **{f"run, {name}": make for name, make in RUNS.items()},
    **OTHERS,
}


@functools.cache
def made(name: str) -> Any:
    return MAKERS[name]()


def back(answer: Any, path: Path) -> Any:
    """The answer from its file, whose bytes are those of its own file again."""
    answer.save(path)
    again = type(answer).load(path)
    data = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == data
    return again


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, also in type; arrays with their masks."""
    if isinstance(one, np.ndarray):
        masks = np.array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other))
        frozen = not other.flags.writeable or not other.size or one.flags.writeable
        return (
            (type(one), one.dtype, one.shape) == (type(other), other.dtype, other.shape)
            and masks
            and frozen
            and np.array_equal(np.ma.getdata(one), np.ma.getdata(other))
        )
    return type(one) is type(other) and bool(one == other)


def check(one: Any, other: Any) -> None:
    """All that the public interface shows of two answers is the same."""
    assert type(one) is type(other) and one == other and not one != other
    names = [name for name in dir(type(one)) if not name.startswith("_")]
    names += [name for name in vars(one) if not name.startswith("_")]
    for name in dict.fromkeys(names):
        value = getattr(one, name)
        if not callable(value):
            assert same(value, getattr(other, name)), name
    assert repr(one) == repr(other) and str(one) == str(other)
    if hasattr(one, "workload"):
        assert one.workload.notes == other.workload.notes and one.seconds == other.seconds
        assert one._repr_html_() == other._repr_html_() and one.why() == other.why()
        assert repr(one.platform) == repr(other.platform)
    if hasattr(one, "to_frame"):
        frame = pytest.importorskip("pandas").testing.assert_frame_equal
        frame(one.to_frame(), other.to_frame())
    if isinstance(one, (gs.WorkloadAnswer, gs.WorkloadRun, gs.MigAllocation)):
        for task in one.workload.names:
            assert one.why(task) == other.why(task)


@pytest.mark.long
@pytest.mark.parametrize("name", MAKERS)
def test_round_trip(name: str, tmp_path: Path) -> None:
    answer = made(name)
    again = back(answer, tmp_path / "answer")
    check(answer, again)
    for way in (pickle.loads(pickle.dumps(again)), copy.deepcopy(again)):
        assert way == answer
    with pytest.raises(ValueError, match=r"expected a saved GPU$"):
        gs.GPU.load(tmp_path / "answer")
    for kind in (gs.WorkloadAnswer, gs.WorkloadRun, gs.Margin, gs.Comparison, gs.MigAllocation):
        if kind is not type(answer):
            refused(kind, tmp_path / "answer", f"a saved {type(answer).__name__!r}")


def test_answers_of_every_kind_are_among_them() -> None:
    details = {type(made(f"answer, {name}").detail).__name__ for name in ANSWERS}
    assert details == {
        *("Verdict", "GedfVerdict", "PriorityStreamsBound", "FifoBound", "Edf", "Search"),
        *("MigAllocation", "HolisticBound"),
    }
    runs = {type(made(f"run, {name}").detail).__name__ for name in RUNS}
    assert runs == {"InstanceRuns", "MachineRun"}
    assert {made(f"answer, {name}").schedulable for name in ANSWERS} == {True, False, None}
    rows = compared().rows
    assert {row.way for row in rows} == set(WAYS)
    assert any(row.why_no_answer for row in rows) and any(row.run is None for row in rows)
    assert len(allocation().parts) > 0 and made("answer, pbs, rejected").certificate is not None


@pytest.mark.long
def test_pictures_are_the_same(tmp_path: Path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")

    def pixels(answer: Any) -> Any:
        drawn = answer.plot()
        figure = np.ravel(drawn)[0].figure
        figure.canvas.draw()
        image = np.array(figure.canvas.buffer_rgba())
        plt.close(figure)
        return image

    for name in ("answer, mpcp", "answer, pbs", "answer, mig", "run, streams", "run, mig"):
        answer = made(name)
        again = back(answer, tmp_path / "answer")
        assert np.array_equal(pixels(answer), pixels(again)), name
        if isinstance(answer, gs.WorkloadRun):
            assert answer.to_svg() == again.to_svg()
            for one, file in ((answer, "one"), (again, "other")):
                one.to_chrome_trace(tmp_path / file)
            assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    again = back(compared(), tmp_path / "answer")
    assert np.array_equal(pixels(compared()), pixels(again))


@pytest.mark.long
def test_a_loaded_comparison_goes_on(tmp_path: Path) -> None:
    """Margins, documents and pages ask the methods again, with the options and budgets kept."""
    c = gs.compare(plain(), ORIN, ways=["mpcp", "streams", "pbs"], budget=SMALL)
    again = back(c, tmp_path / "answer")
    assert again.best() == c.best() and again[0].margin("kernels") == c[0].margin("kernels")
    assert json.dumps(again.document()) == json.dumps(c.document())
    assert again.to_html(margin=False) == c.to_html(margin=False)
    assert again["mpcp (busy)"].budget == SMALL and again.why() == c.why()
    shared = [again.workload is row.workload is row.answer.workload for row in again]
    assert all(shared)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_random_workloads(seed: int, tmp_path: Path) -> None:
    w, platform = random_case(Random(seed))
    c = gs.compare(w, platform, until=max(task.period for task in w), budget=SMALL)
    again = back(c, tmp_path / "answer")
    check(c, again)
    for row, other in zip(c, again, strict=True):
        assert row == other and repr(row) == repr(other) and row.why() == other.why()
        for answer, loaded in ((row.answer, other.answer), (row.run, other.run)):
            if answer is not None:
                assert loaded is not None
                check(answer, loaded)
                check(answer, back(answer, tmp_path / "answer"))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200))
def test_inputs_come_back(seed: int) -> None:
    """Workloads of all facts and ticks, and platforms, as values and back."""
    w, random = random_workload(seed), Random(seed)
    _, platform = random_case(random)
    if seed % 2:
        platform = platform.replace(timeslice="1.5us", mig=None).at(w.tick)
    values = {"workload": workload_values(w), "platform": platform_values(platform)}
    given = FieldValues(values)
    again, other = given.workload(), given.platform()
    assert again == w and again.notes == w.notes and repr(again) == repr(w)
    assert other == platform and repr(other) == repr(platform) and other.tick == platform.tick


def test_answers_are_compared_by_contents() -> None:
    one, other = (gs.analyze(plain(), ORIN, "mpcp") for _ in range(2))
    assert one == other and one.seconds != other.seconds
    assert one != gs.analyze(plain(), ORIN, "mpcp", mode="busy") and one != 3
    assert one != gs.analyze(plain().scaled(cpu=2), ORIN, "mpcp")
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_an_answer_is_loaded_in_a_new_process(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    made("answer, mig").save(path)
    code = "import sys, gpusched as gs; print(gs.WorkloadAnswer.load(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(made("answer, mig"))


# Files that hold something else


@pytest.mark.long
@pytest.mark.parametrize("name", ["answer, mig", "run, streams", "margin", "comparison, tests"])
def test_damaged_files(name: str, tmp_path: Path) -> None:
    answer, path = made(name), tmp_path / "answer"
    answer.save(path)
    data = path.read_bytes()
    for size in range(0, len(data), max(1, len(data) // 40)):
        path.write_bytes(data[:size])
        refused(type(answer), path, "cannot be read")
    random = Random(name)
    for _ in range(150):
        changed = bytearray(data)
        changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
        path.write_bytes(changed)
        try:  # a date, say, is not of the object
            assert type(answer).load(path) == answer
        except ValueError as error:
            assert str(error).startswith(f"{path}: got ")


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["answer, mig", "answer, pbs", "answer, stgm", "run, streams", "margin", "comparison, tests"],
)
def test_wrong_values_are_refused_or_shown(name: str, tmp_path: Path) -> None:
    """Each value of a header in turn is another one, with right checksums.

    The file is refused with its path, or it is of an answer that says what it holds.
    """
    answer, path = made(name), tmp_path / "answer"
    answer.save(path)
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        content = json.loads(archive.read("header.json"))
    places = list(_places(content["fields"]))
    random = Random(name)
    loaded = 0
    for holder, key in random.sample(places, min(100, len(places))):
        old = holder[key]
        holder[key] = random.choice([None, -1, 2**70, "x", True, 0.5, [], {"tuple": []}])
        path.write_bytes(data)
        text = json.dumps(content).encode()
        rewritten(path, lambda m, text=text: m.update({"header.json": text}))
        holder[key] = old
        try:
            again = type(answer).load(path)
        except ValueError as error:
            assert str(error).startswith(f"{path}: got ")
            assert str(error).endswith(f", expected a saved {type(answer).__name__}")
            continue
        loaded += 1
        for text_of in (repr, str):
            assert isinstance(text_of(again), str)
    assert loaded < 90


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield value, key
        if isinstance(item, (dict, list)):
            yield from _places(item)


def fields(**changes: Any) -> Callable[[dict[str, bytes]], object]:
    return header(lambda h: h["fields"].update(changes))


def inside(*path: Any, value: Any) -> Callable[[dict[str, bytes]], object]:
    """A header with a value in it changed; names in dicts and objects, numbers in lists."""

    def change(found: dict[str, Any]) -> None:
        at: Any = found["fields"]
        for name in path[:-1]:
            at = _inner(at[_place(at, name)])
        if isinstance(at, list) and at and isinstance(at[0], list):
            next(pair for pair in at if pair[0] == path[-1])[1] = value
        else:
            at[path[-1]] = value

    return header(change)


def _place(at: Any, name: Any) -> Any:
    if isinstance(at, list) and isinstance(name, str):
        return next(i for i, pair in enumerate(at) if pair[0] == name)
    return name


def _inner(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
        value = value[1]  # of a dict
    if isinstance(value, dict) and len(value) == 1:
        [(kind, content)] = value.items()
        if kind == "object":
            return content[2]
        if kind in ("tuple", "dict"):
            return content
    return value


HOSTILE = {
    "answer, mpcp": [
        (fields(way="mpc"), "way: got 'mpc'"),
        (fields(method=3), "method: got int"),
        (fields(claim="proven"), "claim: got 'proven'"),
        (fields(accepted=1), "accepted: got 1"),
        (fields(accepted=True, rejected=True), "rejected: got True of an accepted answer"),
        (fields(derivation=["a"]), "derivation: got list, expected tuple"),
        (fields(derivation={"tuple": [1]}), "derivation[0]: got int"),
        (fields(options={"dict": [["mode", {"tuple": []}]]}), "options.mode: got tuple"),
        (fields(options={"dict": [[3, 4]]}), "options: got int"),
        (fields(seconds="x"), "seconds: got 'x'"),
        (fields(seconds=True), "seconds: got True"),
        (fields(color=1), "'color': got an unknown field"),
        (header(lambda h: h["fields"].pop("claim")), "claim: got none"),
        (fields(detail=None), "detail: got NoneType, expected Verdict"),
        (fields(detail={"object": ["GPU", 1, {}]}), ""),
        (fields(detail={"object": ["Workload", 1, {}]}), "'Workload'"),
        (inside("detail", "hosts", value=3), "detail: 'int' object has no attribute"),
        (inside("detail", "hosts", "name", value={"tuple": ["a", "b", "x"]}), "detail.tasks: got"),
        (inside("detail", "_failed", value=7), "detail"),
        (fields(workload=3), "workload.document: got 3"),
        (inside("workload", "version", value=3), "workload.version: got 3"),
        (inside("workload", "task", 0, "rate", value="fast"), "workload.task[0].rate: got 'fast'"),
        (
            inside("workload", "task", 1, "segments", 0, "cpu", value="0ms"),
            "workload.task[1].segments[0].cpu: got '0ms'",
        ),
        (
            header(lambda h: h["fields"]["workload"]["dict"].append(["color", 2])),
            "workload.color: got an unknown key",
        ),
        (inside("platform", "cpus", value=0), "platform.cpus: got 0"),
        (inside("platform", "tick", value="h"), "platform.tick: got 'h'"),
        (inside("platform", "gpu", value=3), "platform.gpu: got"),
        (inside("platform", "slowdown", value=0.5), "platform.slowdown: got 0.5"),
        (lambda m: m.update({"response.npy": npy(np.zeros(2, np.int64))}), "response: got int64"),
        (lambda m: m.update({"response.npy": npy(np.zeros(3))}), "response: got float64 of"),
        (lambda m: m.update({"known.npy": npy(np.zeros((3, 1), bool))}), "known: got bool of"),
        (lambda m: m.update({"bounded.npy": npy(np.zeros(3, np.int8))}), "bounded: got int8"),
    ],
    "answer, mig": [
        (inside("detail", "parts", 0, "tasks", value={"tuple": [0, 0]}), "parts[0].tasks: got"),
        (inside("detail", "parts", 0, "tasks", value={"tuple": [3]}), "parts[0].tasks: got"),
        (inside("detail", "parts", 0, "tasks", value={"tuple": []}), "parts[0].answer: got one"),
        (inside("detail", "parts", 0, "start", value=63), "parts[0].start: got 63"),
        (inside("detail", "parts", 0, "profile", "sms", value=-1), "parts[0].profile.sms: got -1"),
        (inside("detail", "parts", 0, "profile", value=3), "parts[0].profile: got int"),
        (inside("detail", "parts", 0, "answer", value=None), "parts[0].answer: got NoneType"),
        (inside("detail", "parts", 0, "answer", "way", value="pbs"), "parts[0].answer: got one"),
        (inside("detail", "within", value="none"), "within: got 'none'"),
        (
            inside("detail", "_left_out", value={"tuple": [1]}),
            "_left_responses: got another number",
        ),
        (inside("detail", "rejected", value=True), "rejected: got True"),
        (inside("detail", "tested", value=-1), "tested: got -1"),
    ],
    "run, streams": [
        (fields(until=-1), "until: got -1"),
        (fields(now=2**70), "now: got 1180591620717411303424"),
        (fields(assumptions={"tuple": [None]}), "assumptions[0]: got NoneType"),
        (fields(detail=None), "detail: got NoneType, expected InstanceRuns or MachineRun"),
        (lambda m: m.update({"task.npy": npy(np.array([0]))}), "job: got int64 of shape"),
        (lambda m: m.update({"task.npy": npy(np.array(0))}), "task: got int64 of shape ()"),
        (
            lambda m: m.update({"task.npy": m["task.npy"][:-8] + b"\2" + b"\0" * 7}),
            "task: got entries out of range, expected 0 to 1",
        ),
        (
            lambda m: m.update({"end.npy": m["end.npy"][:-8] + b"\xfe" + b"\xff" * 7}),
            "end: got entries out of range",
        ),
    ],
    "run, mig": [
        (inside("detail", "runs", value=3), "runs: got int"),
        (inside("detail", "runs", value={"dict": [["x", 3]]}), "runs.x: got int"),
    ],
    "margin": [
        (fields(factor=1.5), "factor: got float, expected Fraction or NoneType"),
        (fields(factor={"fraction": "1/0"}), ""),
        (fields(what=None), "what: got NoneType"),
        (fields(exact=0), "exact: got 0"),
        (fields(tested=-1), "tested: got -1"),
        (fields(way=None), "way: got None"),
        (fields(more=1), "'more': got an unknown field"),
    ],
    "comparison, tests": [
        (fields(rows=3), "rows: got int, expected tuple"),
        (fields(rows={"tuple": [3]}), "rows[0]: got int, expected dict"),
        (fields(impossible="no"), "impossible: got str"),
        (inside("rows", 2, "way", value="x"), "rows[2].way: got 'x'"),
        (inside("rows", 2, "way", value="pbs"), "rows[2].answer.way: got another way"),
        (inside("rows", 2, "gaps", value="x"), "rows[2].gaps: got 'x'"),
        (inside("rows", 2, "budget", "states", value=0), "rows[2].budget.states: got 0"),
        (inside("rows", 2, "budget", value=3), "rows[2].budget: got int"),
        (inside("rows", 2, "answer", value=3), "rows[2].answer: got int"),
        (inside("rows", 2, "answer", "claim", value="x"), "rows[2].answer.claim: got 'x'"),
        (inside("rows", 2, "why_no_run", value=None), "rows[2].why_no_run: got NoneType"),
    ],
}


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [(name, change, text) for name, cases in HOSTILE.items() for change, text in cases],
)
def test_hostile_files(
    name: str, change: Callable[[dict[str, bytes]], object], text: str, tmp_path: Path
) -> None:
    answer, path = made(name), tmp_path / "answer"
    answer.save(path)
    rewritten(path, change)
    rewritten(path, without_orphans)
    refused(type(answer), path, text)


def without_orphans(members: dict[str, bytes]) -> None:
    """Remove the arrays that the header does not name, which are refused before it is read."""
    text = members["header.json"].decode()
    for name in [name for name in members if name.endswith(".npy")]:
        if json.dumps(name.removesuffix(".npy")) not in text:
            members.pop(name)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    for name in ("answer, mpcp", "run, streams", "margin", "comparison, tests"):
        answer = made(name)
        path.write_bytes(pickle.dumps(answer))
        refused(type(answer), path, "a file that cannot be read")
        answer.save(path)
        objects = npy(np.array([Fraction(1, 2)], object), allow_pickle=True)
        rewritten(path, lambda m, objects=objects: m.update({"x.npy": objects}))
        refused(type(answer), path, "an array of type dtype('O')")
    made("margin").save(path)
    with pytest.raises(ValueError, match="more than"):
        gs.Margin.load(path, max_bytes=100)
