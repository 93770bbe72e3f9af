"""Files and frames of workloads: exact round trips, refusals with line or path, hostile input."""

from __future__ import annotations

import importlib.resources
import json
import pickle
import subprocess
import sys
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from amounts import cases
from hypothesis import HealthCheck, given, settings
from workload_strategies import random_workload, workloads

import gpusched as gs

pytestmark = pytest.mark.python

HEAD = 'version = 1\ntick = "us"\n'
TASK = '[[task]]\nname = "a"\nperiod = "1ms"\n'
EXAMPLE = """\
version = 1
tick = "us"
notes = ["measured on the desk"]

[[task]]
name = "detector"
period = "33ms"
deadline = "30ms"
priority = 1
process = "vision"
segments = [
    { cpu = "2ms", name = "resize" },
    { copy_in = "300us", by = "cpu" },
    { kernel = "4.1ms", blocks = 120, threads = 256, regs = 64, repeat = 2 },
    { sms = { 1 = "40ms", 4 = "11ms" } },
    { block_time = "1ms", blocks = 16, threads = 512, smem = 1024 },
    { copy_out = 120 },
]

[[task]]
name = "tracker"
rate = "60Hz"
offset = "5ms"
jitter = 100
core = 2
segments = [{ cpu = 1000 }]
"""


def load(tmp_path: Path, text: str | bytes, suffix: str = "toml") -> gs.Workload:
    path = tmp_path / f"w.{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return gs.Workload.load(path)


def schema() -> Any:
    found = importlib.resources.files("gpusched.model.workload") / "workload.schema.json"
    return json.loads(found.read_text(encoding="utf-8"))


def test_an_example_by_hand(tmp_path: Path) -> None:
    w = load(tmp_path, EXAMPLE)
    assert w.names == ("detector", "tracker")
    assert w.tick == "us" and w.tick_ns == 1000
    detector, tracker = w
    assert (detector.period, detector.deadline, detector.priority) == (33000, 30000, 1)
    assert [segment.name for segment in detector.segments] == ["resize", "", "", "", "", ""]
    assert detector.kernels[1].sms == {1: 40000, 4: 11000}
    assert detector.kernels[2].block_time == 1000
    assert (tracker.period, tracker.offset, tracker.jitter, tracker.core) == (16666, 5000, 100, 2)
    assert w.assumptions == (
        "measured on the desk",
        "tracker: the period of 60Hz is rounded down to 16.666ms",
    )


def check_copies(w: gs.Workload, folder: Path) -> None:
    """Round trips through files and pickles."""
    copies = [pickle.loads(pickle.dumps(w)), w.replace()]
    for suffix in ("toml", "json"):
        path = folder / f"w.{suffix}"
        w.save(path)
        copies.append(gs.Workload.load(path))
    for copy in copies:
        assert copy == w and copy.notes == w.notes and hash(copy) == hash(w)
        assert copy.assumptions == w.assumptions
        assert [task.period for task in copy] == [task.period for task in w]
    document = json.loads((folder / "w.json").read_bytes())
    assert tomllib.loads((folder / "w.toml").read_text(encoding="utf-8")) == document


def check_frames(w: gs.Workload) -> None:
    frame = w.to_frame()
    copy = gs.Workload.from_frame(frame)
    assert copy == w and copy.notes == w.notes


def check_frames_of_others(w: gs.Workload) -> None:
    frame = w.to_frame()
    assert gs.Workload.from_frame(frame.sample(frac=1, random_state=1)) == w
    assert gs.Workload.from_frame(frame.drop(columns="tick"), tick=w.tick) == w


MANY = cases(300)


@pytest.mark.long
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workloads())
def test_round_trips_are_exact(tmp_path: Path, w: gs.Workload) -> None:
    check_copies(w, tmp_path)


@pytest.mark.long
def test_many_round_trips_are_exact(tmp_path: Path) -> None:
    for seed in range(MANY):
        check_copies(random_workload(seed), tmp_path)


@pytest.mark.long
def test_frames_round_trip() -> None:
    pytest.importorskip("pandas")
    for seed in range(MANY):
        check_frames(random_workload(seed))
    for seed in range(MANY // 10):
        check_frames_of_others(random_workload(seed))


def test_written_files_follow_the_schema(tmp_path: Path) -> None:
    checker = validator()
    for seed in range(MANY // 5):
        random_workload(seed).save(tmp_path / "w.json")
        checker.validate(json.loads((tmp_path / "w.json").read_bytes()))


VERSION_2 = """\
version = 2
tick = "us"
launches = "sync"

[[task]]
name = "a"
period = "1ms"
segments = [{ kernel = "5us", repeat = 3 }]

[[task]]
name = "b"
period = "1ms"
launches = "graph"
segments = [{ kernel = "5us", repeat = 3 }]
"""


def test_version_2_is_written_for_new_keys_only(tmp_path: Path) -> None:
    w = load(tmp_path, VERSION_2)
    assert [task.launches for task in w] == ["sync", "graph"]
    validator().validate(tomllib.loads(VERSION_2))
    old = load(tmp_path, VERSION_2.replace("launches", "# launches").replace("= 2", "= 1"))
    assert [task.launches for task in old] == [None, None] and old != w
    for made, version in ((w, 2), (w[:1], 2), (old, 1), (old.replace(launches="async"), 2)):
        for suffix in ("toml", "json"):
            path = tmp_path / f"made.{suffix}"
            made.save(path)
            assert gs.Workload.load(path) == made
            text = path.read_text(encoding="utf-8")
            document = tomllib.loads(text) if suffix == "toml" else json.loads(text)
            assert document["version"] == version
            validator().validate(document)
        assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize("text", [VERSION_2, VERSION_2.replace('launches = "sync"\n', "")])
def test_version_1_has_no_new_keys(tmp_path: Path, text: str) -> None:
    document = text.replace("version = 2", "version = 1")
    where = "" if "sync" in text else r"task\[1\]\."
    expected = f"{where}launches: got a key of version 2 in a document of version 1, expected ver"
    with pytest.raises(ValueError, match=expected):
        load(tmp_path, document)
    assert not validator().is_valid(tomllib.loads(document))


@pytest.mark.parametrize("share", ["0.5", "'1/3'", "1"])
def test_shares_of_the_sms_are_of_version_2(tmp_path: Path, share: str) -> None:
    text = f"{HEAD}{TASK}segments = [{{ kernel = '34.5ms', sms = {share} }}]"
    with pytest.raises(
        ValueError, match=r"task\[0\]\.segments\[0\]\.sms: got a share of the SMs in"
    ):
        load(tmp_path, text)
    assert not validator().is_valid(tomllib.loads(text))
    new = text.replace("version = 1", "version = 2")
    validator().validate(tomllib.loads(new))
    w = load(tmp_path, new)
    assert w[0].kernels[0].share == Fraction(share.strip("'"))
    for suffix in ("toml", "json"):
        w.save(tmp_path / f"made.{suffix}")
        assert gs.Workload.load(tmp_path / f"made.{suffix}") == w
    pytest.importorskip("pandas")
    assert gs.Workload.from_frame(w.to_frame()) == w
    assert f"needs {w[0].kernels[0].sms_text} of the SMs" in str(w)


@pytest.mark.parametrize("share", ["0", "2", "1.5", "'2/1'", "true", "'half'"])
def test_shares_that_are_refused(tmp_path: Path, share: str) -> None:
    text = f"version = 2\n{TASK}segments = [{{ kernel = 9, sms = {share} }}]"
    with pytest.raises(
        ValueError, match=r"task\[0\]\.segments\[0\]\.sms: got .* expected a share of the SMs"
    ):
        load(tmp_path, text)
    if share != "'2/1'":
        assert not validator().is_valid(tomllib.loads(text))


def test_launches_of_workloads_and_tasks() -> None:
    segments = [gs.Kernel(5)]
    own = gs.Task("a", 9, segments, launches="graph")
    w = gs.Workload([own, gs.Task("b", 9, segments)], launches="sync")
    assert [task.launches for task in w] == ["graph", "sync"]
    assert [task.launches for task in w.replace(launches="async")] == ["async", "async"]
    assert w.replace(notes=["n"])["b"].launches == "sync" and w["b"] != w["b"].replace(
        launches=None
    )
    assert (w[:1] + w[1:])["b"].launches == w.scaled(kernels=2)["b"].launches == "sync"
    assert "launches='graph'" in repr(own) and "launches graph" in str(w)
    assert "launches graph" in w._repr_html_()
    with pytest.raises(ValueError, match="launches: got 'later', expected one of async, sync, gra"):
        gs.Task("a", 9, segments, launches="later")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="launches: got 3, expected one of async, sync, graph"):
        gs.Workload([own], launches=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="launches: got 3, expected one of async, sync, graph"):
        w.replace(launches=3)  # type: ignore[arg-type]


def validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


def test_a_frame_that_went_through_csv(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    w = load(tmp_path, EXAMPLE)
    w.to_frame().to_csv(tmp_path / "w.csv", index=False)
    frame = pandas.read_csv(tmp_path / "w.csv")
    assert gs.Workload.from_frame(frame) == w


def test_a_frame_by_hand() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"name": ["a", "a"], "period": "10ms", "kind": ["cpu", "kernel"], "time": ["1ms", "2ms"]}
    )
    assert gs.Workload.from_frame(frame, tick="ms") == gs.Workload(
        [gs.Task("a", 10, [gs.CPU(1), gs.Kernel(2)])], "ms"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "gpu"}, "frame: row 0: kind: got 'gpu', expected one of cpu, copy in"),
        ({"time": 0}, "frame: row 0: time: got 0, expected a positive time"),
        ({"period": -1}, "frame: row 0: period: got -1, expected a positive time"),
        ({"blocks": 2}, "frame: row 0: blocks: got 2, expected none for a cpu"),
        ({"tick": ["us", "ms"]}, "frame: tick: got ['ms', 'us'], expected one tick"),
        ({"wcet": 1}, "frame: got a column 'wcet', expected some of name"),
        ({"period": [1, 2]}, "frame: period[1]: got 2, expected 1 as in the other rows"),
        ({"sms": "x"}, "frame: row 0: sms: got 'x', expected none for a cpu"),
        ({"rate": "1Hz"}, "frame: row 0: period: got 9, expected 1000000000 of '1Hz'"),
    ],
)
def test_frames_that_are_refused(change: dict[str, Any], message: str) -> None:
    pandas = pytest.importorskip("pandas")
    right = {"name": ["a", "a"], "period": 9, "kind": "cpu", "time": [1, 2]}
    with pytest.raises((ValueError, TypeError)) as caught:
        gs.Workload.from_frame(pandas.DataFrame({**right, **change}))
    assert str(caught.value).startswith(message)


REFUSED = [
    # syntax, with the line
    ("tick = ", "line 1: got Invalid value at the end, expected TOML"),
    (HEAD + "[[task]\n", "line 3: got Expected ']]' at the end of an array declaration"),
    (HEAD + "version = 2\n", "line 3: got Cannot overwrite a value, expected TOML"),
    (HEAD.encode() + b"\xff", "line 3: got bytes that are not UTF-8, expected text"),
    (HEAD + "a." * 60 + "b = 1", "line 3: got a key of more than 50 parts, expected at most 2"),
    (HEAD + "task = " + "[" * 99999, "got lists in lists too deep, expected TOML"),
    ("version = " + "9" * 5000, "got a number that is too long, expected TOML"),
    # the top
    ("", "version: got none, expected 1 or 2"),
    ("version = 3", "version: got 3, expected 1 or 2"),
    ("version = true", "version: got True, expected 1 or 2"),
    ("version = 1", "task: got none, expected at least one task"),
    ("version = 1\ntask = []", "task: got an empty list, expected at least one task"),
    ("version = 1\ntask = 3", "task: got 3, expected a list"),
    ("version = 1\ntask = [3]", "task[0]: got 3, expected a table"),
    (HEAD + "tack = 1", "tack: got an unknown key, expected tick"),
    ("version = 1\ntick = 3", "tick: got 3, expected a unit (ns, us, ms, s) or a time"),
    ('version = 1\ntick = "0.5ns"', "tick: got '0.5ns', expected a whole number of ns"),
    (HEAD + "notes = [1]", "notes[0]: got 1, expected text"),
    ("version = 2\nlaunches = 3", "launches: got 3, expected one of async, sync, graph"),
    (
        "version = 2\n" + TASK + "launches = 'x'\nsegments = [{ cpu = 1 }]",
        "task[0].launches: got 'x', expected one of async, sync, graph",
    ),
    # tasks
    (HEAD + "[[task]]\nsegments = []", "task[0].name: got none, expected one"),
    (HEAD + TASK, "task[0].segments: got none, expected one"),
    (HEAD + TASK + "segments = []", "task[0].segments: got none, expected at least one"),
    (HEAD + TASK + "perod = 1", "task[0].perod: got an unknown key, expected period"),
    (HEAD + TASK + "rate = '3Hz'\nsegments=[]", "task[0].period: got a period and a rate"),
    (
        HEAD + "[[task]]\nname = 'a'\nsegments = [{ cpu = 1 }]",
        "task[0].period: got none, expected a period, a rate, or after",
    ),
    (
        HEAD + TASK + "segments = [{ cpu = 1 }]\n" + TASK + "segments = [{ cpu = 1 }]",
        "task[1].name: got 'a', expected another name than that of task[0]",
    ),
    (
        HEAD + TASK + "after = 'b'\nsegments = [{ cpu = 1 }]",
        "task[0].after: got a key of version 2 in a document of version 1, expected version = 2",
    ),
    (HEAD + TASK + "core = 1.5\nsegments = [{cpu=1}]", "task[0].core: got 1.5, expected an int"),
    (HEAD + TASK + "core = -1\nsegments = [{cpu=1}]", "task[0].core: got -1, expected 0 to 2147"),
    (HEAD + TASK + "deadline = 0\nsegments = [{cpu=1}]", "task[0].deadline: got 0, expected a pos"),
    (HEAD + TASK + "jitter = -1\nsegments = [{cpu=1}]", "task[0].jitter: got -1, expected a time"),
    (HEAD + TASK + "process = 1\nsegments = [{cpu=1}]", "task[0].process: got 1, expected text"),
    (
        HEAD + TASK + "priority = 9223372036854775808\nsegments = [{cpu=1}]",
        "task[0].priority: got 9223372036854775808, expected a number that fits 64 bits",
    ),
    (
        HEAD + "[[task]]\nname = 'a'\nrate = '9999kHz'\nsegments = [{ cpu = 1 }]",
        "task[0].rate: got '9999kHz', expected a period of 1 to 2**60 - 1 ticks of us",
    ),
    # segments
    (HEAD + TASK + "segments = [3]", "task[0].segments[0]: got 3, expected a table such as"),
    (
        HEAD + TASK + "segments = [{ cpu = 1 }, { kernal = 1 }]",
        "task[0].segments[1].kernal: got an unknown key, expected kernel",
    ),
    (
        HEAD + TASK + "segments = [{ cpu = 1, kernel = 1 }]",
        "task[0].segments[0]: got cpu and kernel, expected one of cpu, copy_in, copy_out, kernel",
    ),
    (
        HEAD + TASK + "segments = [{ repeat = 1 }]",
        "task[0].segments[0]: got neither, expected one of cpu",
    ),
    (
        HEAD + TASK + "segments = [{ cpu = 1, blocks = 1 }]",
        "task[0].segments[0].blocks: got a key that cpu does not have, expected some of cpu",
    ),
    (
        HEAD + TASK + "segments = [{ kernel = '4.1' }]",
        "task[0].segments[0].kernel: got '4.1', expected a number with a unit, one of ns, us",
    ),
    (
        HEAD + TASK + "segments = [{ kernel = '1ns' }]",
        "task[0].segments[0].kernel: got '1ns', expected a whole number of ticks of 1us",
    ),
    (
        HEAD + TASK + "segments = [{ copy_in = 1.0 }]",
        "task[0].segments[0].copy_in: got 1.0, expected a whole number of ticks or text",
    ),
    (
        HEAD + TASK + "segments = [{ copy_out = 1, by = 'gpu' }]",
        "task[0].segments[0].by: got 'gpu', expected one of engine, cpu",
    ),
    (
        HEAD + TASK + "segments = [{ kernel = 1, threads = 32 }]",
        "task[0].segments[0].blocks: got None, expected blocks and threads, or neither",
    ),
    (
        HEAD + TASK + "segments = [{ sms = { 0 = 1 } }]",
        "task[0].segments[0].sms: got the key '0', expected a number of SMs",
    ),
    (
        HEAD + TASK + "segments = [{ sms = { 1 = '1ms', 2 = '2ms' } }]",
        "task[0].segments[0].sms[2]: got 2ms, expected at most the 1ms on 1 SM",
    ),
    (
        HEAD + TASK + "segments = [{ cpu = 1152921504606846976 }]",
        "task[0].segments[0].cpu: got 1152921504606846976, expected less than 2**60 ticks",
    ),
    (
        HEAD + TASK + "segments = [{ cpu = '2000000000000000s' }]",
        "task[0].segments[0].cpu: got '2000000000000000s', expected less than 2**60 ticks",
    ),
    (
        HEAD + TASK + "segments = [{ cpu = 1152921504606846975, repeat = 2 }]",
        "task[0].segments: got jobs of 2305843009213693950 ticks, expected less than 2**60",
    ),
    (
        HEAD + TASK + "segments = [{ cpu = 1, repeat = 1000001 }]",
        "task[0].segments[0].repeat: got 1000001, expected 1 to 1000000",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=range(len(REFUSED)))
def test_files_that_are_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'w.toml'}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"version": 1,\n "task": [}', "line 2: got Expecting value, expected JSON"),
        ('{"version": 1, "version": 1}', "version: got the key twice in one object, expected it"),
        ('{"version": NaN}', "got NaN, expected a finite number"),
        ('{"version": ' + "9" * 5000 + "}", "got a number of more than 4300 digits"),
        ("[" * 99999, "got lists in lists too deep, expected JSON"),
        ("[]", "document: got [], expected a table"),
        (
            '{"version": 1, "task": [{"name": "a", "period": null, "segments": []}]}',
            "task[0].period: got null, expected a value, or no such key",
        ),
        (
            '{"version": 1, "task": [{"name": "\\ud800", "period": 1, "segments": [{"cpu": 1}]}]}',
            "task[0].name: got '\\ud800', expected text that UTF-8 can encode",
        ),
    ],
)
def test_json_that_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        load(tmp_path, text, "json")
    assert str(caught.value).startswith(f"{tmp_path / 'w.json'}: {message}")


# The schema cannot say that names differ, that times are whole numbers of ticks, and the like.
BEYOND_THE_SCHEMA = (
    *("another name", "a whole number of ticks of", "at most the 1ms", "less than 2**60"),
    *("a period of 1 to", "a whole number of ns", "a whole number of ticks or text"),
)


def test_schema_and_reader_agree(tmp_path: Path) -> None:
    checker = validator()
    checker.validate(tomllib.loads(EXAMPLE))
    refused = 0
    for text, message in REFUSED:
        try:
            document = tomllib.loads(text if isinstance(text, str) else "")
        except (ValueError, RecursionError):
            continue
        if not any(part in message for part in BEYOND_THE_SCHEMA):
            assert not checker.is_valid(document), message
            refused += 1
    assert refused > 30


@pytest.mark.long
def test_many_tasks(tmp_path: Path) -> None:
    tasks = [gs.Task(f"t{i}", 1000, [gs.CPU(1), gs.Kernel(5)]) for i in range(20_000)]
    w = gs.Workload(tasks)
    w.save(tmp_path / "w.json")
    assert gs.Workload.load(tmp_path / "w.json") == w
    with pytest.raises(ValueError, match="expected at most that"):
        gs.Workload.load(tmp_path / "w.json", max_bytes=1000)


def test_names_and_formats(tmp_path: Path) -> None:
    w = load(tmp_path, EXAMPLE)
    with pytest.raises(ValueError, match=r"expected a name that ends in \.toml or \.json"):
        w.save(tmp_path / "w.txt")
    w.save(tmp_path / "w.txt", file_format="json")
    assert gs.Workload.load(tmp_path / "w.txt", file_format="json") == w
    with pytest.raises(ValueError, match="file_format: got 'xml', expected one of toml, json"):
        gs.Workload.load(tmp_path / "w.toml", file_format="xml")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        gs.Workload.load(tmp_path / "absent.toml")
    w.save(tmp_path / "W.JSON")
    assert (tmp_path / "W.JSON").read_text(encoding="utf-8").startswith("{")


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_standard_input(tmp_path: Path, suffix: str) -> None:
    w = load(tmp_path, EXAMPLE)
    w.save(tmp_path / f"w.{suffix}")
    program = "import gpusched as gs; print(gs.Workload.load('/dev/stdin').names)"
    with open(tmp_path / f"w.{suffix}", "rb") as file:
        done = subprocess.run([sys.executable, "-c", program], stdin=file, capture_output=True)
    assert done.stdout.decode().strip() == str(w.names), done.stderr
