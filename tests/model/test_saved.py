"""Saved objects: exact round trips, atomic writing, and refusal of every other file."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from task_set_strategies import host_tasks, kernel_tasks

import gpusched as gs
from gpusched._support.results import Saved
from gpusched._support.saved_files import load_arrays, save_arrays

KERNELS = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3], name=["camera", "müsli", "\ud800\0"])
HOSTS = gs.HostTasks.from_segments([60, 80], [[3, (1, [6, 4], 1), 2], [5]], sm=[[0, 2], []])
GPU = gs.GPU(sms=5, threads_per_sm=1024, blocks_per_sm=16, cc=8.6, sm_order=[4, 0, 1, 3, 2])


def launches() -> gs.Launches:
    work = gs.Launches.build(bandwidth=12)
    camera = work.stream(priority=-1, name="camera")
    work.stream(context=1, kind="null")
    first = work.copy_in(camera, bytes=1000)
    work.kernel(camera, blocks=3, block_times=[4, 5, 6], after=first, interference=[1, 1.5, 1, 2])
    work.stream(kind="non_blocking")
    work.kernel(2, blocks=2, duration=7, longest=9, after=[0, 1], name="last")
    return work.done()


OBJECTS: dict[str, Callable[[], Any]] = {
    "kernels": lambda: KERNELS,
    "hosts": lambda: HOSTS,
    "stack": lambda: gs.KernelTasks.stack([KERNELS, KERNELS.replace(wcet=1)]),
    "gpu": lambda: GPU,
    "launches": launches,
    "table": lambda: gs.BatchTable([0, 1, 3, 4], order=[[-1, -1], [0, -1], [1, -1], [1, 0]]),
    "function": lambda: gs.BatchFunction.from_gpu(KERNELS, GPU, seed=1),
    "placement": lambda: gs.place(GPU, [4, 4], [128, 160], placement="olmedo"),
}
any_object = pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)


@any_object
def test_round_trip(make: Callable[[], Any], tmp_path: Path) -> None:
    saved = make()
    path = tmp_path / "object"
    saved.save(path)
    assert os.listdir(tmp_path) == ["object"]  # the name as it is, and nothing beside it
    again = type(saved).load(path)
    assert again == saved and type(again) is type(saved)
    for value in vars(again).values():
        assert not isinstance(value, np.ndarray) or not value.flags.writeable or value.size == 0
    data = path.read_bytes()
    again.save(str(path))
    assert path.read_bytes() == data  # equal objects make equal files
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


@pytest.mark.long
@pytest.mark.python
@settings(deadline=None)
@given(tasks=st.one_of(kernel_tasks(), host_tasks()))
def test_any_set_comes_back(tasks: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any set"
    tasks.save(path)
    again = type(tasks).load(path)
    assert again == tasks and again._derived.keys() == tasks._derived.keys()
    assert again.replace(period=tasks.period + 1) == tasks.replace(period=tasks.period + 1)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | st.fractions(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.long
@given(fields=st.dictionaries(st.text(max_size=6), values, max_size=4))
def test_any_values_come_back(
    fields: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any values"
    save_arrays(path, "Thing", 3, fields)
    again = load_arrays(path, "Thing", {3})
    assert again == fields and repr(again) == repr(fields)  # types and order, too


def test_arrays_and_objects_come_back(tmp_path: Path) -> None:
    fields = {
        "int8": np.array([[1, -2]], np.int8),
        "uint32": np.array([2**32 - 1], np.uint32),
        "float": np.array([0.1, np.nan, np.inf]),
        "bool": np.zeros((0, 3), bool),
        "text": np.array(["a", "müsli"]),
        "zero": np.array(7),
        "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "scalars": (np.int64(3), np.float64(0.5), np.bool_(True), np.str_("x")),
        "nested": {"a": [np.arange(3), None], 5: Fraction(1, 3)},
        "tasks": KERNELS,
        "parts": (GPU, KERNELS),
        "a.b": np.array([1]),
        "": np.array([2]),
    }
    path = tmp_path / "thing"
    save_arrays(path, "Thing", 1, fields)
    again = load_arrays(path, "Thing", [1], (gs.KernelTasks, gs.GPU))
    assert again["tasks"] == KERNELS and again["parts"] == (GPU, KERNELS)
    assert again["scalars"] == (3, 0.5, True, "x") and type(again["scalars"][0]) is int
    assert again["nested"]["a"][0].tolist() == [0, 1, 2] and again["nested"][5] == Fraction(1, 3)
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            assert again[name].dtype == value.dtype and again[name].shape == value.shape
            np.testing.assert_array_equal(again[name], value)
    with np.load(path) as arrays:  # NumPy opens the arrays
        assert arrays["uint32"].tolist() == [2**32 - 1]
    for bad in (object(), {1, 2}, np.array([None]), np.array([1j]), b"bytes"):
        with pytest.raises(TypeError, match=r"^bad\.i1: got .*, expected"):
            save_arrays(tmp_path / "bad", "Thing", 1, {"bad": [1, bad]})
    assert os.listdir(tmp_path) == ["thing"]


def test_an_unfinished_file_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tasks"
    KERNELS.save(path)

    def fail(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(KeyboardInterrupt):
        HOSTS.save(path)
    monkeypatch.undo()
    assert gs.KernelTasks.load(path) == KERNELS and os.listdir(tmp_path) == ["tasks"]
    with pytest.raises(FileNotFoundError):
        gs.KernelTasks.load(tmp_path / "nowhere")
    with pytest.raises(OSError, match="folder"):
        KERNELS.save(tmp_path / "no" / "folder")


# Files that hold something else


def refused(kind: Any, path: Path, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        kind.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: got ") and text in message and len(message) < 400
    assert message.endswith(f", expected a saved {kind.__name__}")


@pytest.mark.long
@pytest.mark.python
@any_object
def test_damaged_files(make: Callable[[], Any], tmp_path: Path) -> None:
    saved = make()
    path = tmp_path / "object"
    saved.save(path)
    data = path.read_bytes()
    for size in range(0, len(data), 100):
        path.write_bytes(data[:size])
        refused(type(saved), path, "cannot be read")
    # At most some hundred places: the parts of all files are read in the same way.
    for position in range(0, len(data), max(3, len(data) // 400)):
        for bit in (0, 7):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            path.write_bytes(changed)
            try:  # a date, say, is not of the object
                assert type(saved).load(path) == saved
            except ValueError as error:
                assert str(error).startswith(f"{path}: got ")
    path.write_bytes(data + b"more")
    try:
        assert type(saved).load(path) == saved
    except ValueError as error:
        assert str(error).startswith(f"{path}: got ")


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    HOSTS.save(path)
    refused(gs.KernelTasks, path, "a saved 'HostTasks'")
    for data in (b"", b"x" * 1000, pickle.dumps(KERNELS), b'{"kind": "KernelTasks"}'):
        path.write_bytes(data)
        refused(gs.KernelTasks, path, "a file that cannot be read")
    with path.open("wb") as file:
        np.savez(file, period=[4, 5])
    refused(gs.KernelTasks, path, "a file without the header of a saved object")
    gs.BatchTable([0, 1]).save(path)
    refused(gs.KernelTasks, path, "a file without the header")
    save_arrays(path, "KernelTasks", 9, KERNELS._fields())
    refused(gs.KernelTasks, path, "version 9; known: 1")


def rewritten(path: Path, change: Callable[[dict[str, bytes]], object]) -> None:
    """The file with its members changed, and right checksums."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def npy(value: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, value, **options)
    return file.getvalue()


def header(changes: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, bytes]], object]:
    def change(members: dict[str, bytes]) -> None:
        content = json.loads(members["header.json"])
        changes(content)
        members["header.json"] = json.dumps(content).encode()

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda m: m.update({"period.npy": npy(np.array([{}]), allow_pickle=True)}), "type dtype("),
        (lambda m: m.update({"period.npy": npy(np.zeros(3, "V8"))}), "an array of type"),
        (lambda m: m.update({"period.npy": npy(np.zeros(3, [("a", "i8")]))}), "an array of type"),
        (lambda m: m.update({"period.npy": m["period.npy"][:-8]}), "16 bytes for 24"),
        (lambda m: m.update({"period.npy": m["period.npy"] + b"x"}), "25 bytes for 24"),
        (
            lambda m: m.update({"period.npy": m["period.npy"].replace(b"(3,)", b"(9**9,)")}),
            "cannot be read",
        ),
        (
            lambda m: m.update({"period.npy": m["period.npy"].replace(b"(3,), }", b"(-3,),}")}),
            "an array of shape (-3,)",
        ),
        (
            lambda m: m.update(
                {"period.npy": m["period.npy"].replace(b"(3,), }" + b" " * 9, b"(999999999999,)}")}
            ),
            "24 bytes for 7999999999992",
        ),
        (lambda m: m.update({"period.npy": b"\x93NUMPY\x07\x00"}), "version (7, 0)"),
        (lambda m: m.update({"period.npy": npy(np.array([4.5, 5, 10]))}), "period[0]: got 4.5"),
        (lambda m: m.update({"period.npy": npy(np.array([4, 0, 10]))}), "period[1]: got 0"),
        (lambda m: m.update({"extra.npy": npy(np.array([1]))}), "'extra', which has no place"),
        (lambda m: m.pop("period.npy"), "'period'"),
        (lambda m: m.pop("header.json"), "without the header"),
        (lambda m: m.update({"header.json": b"[" * 100_000}), ""),
        (lambda m: m.update({"header.json": b"7" * 5000}), ""),
        (lambda m: m.update({"header.json": b"\xff"}), ""),
        (header(lambda h: h.update(layout=2)), "layout 2; known: 1"),
        (header(lambda h: h.update(version=True)), "version True; known: 1"),
        (header(lambda h: h.update(version=0)), "version 0; known: 1"),
        (header(lambda h: h.update(fields=[])), "without fields"),
        (header(lambda h: h["fields"].pop("wcet")), "'wcet', which has no place"),
        (header(lambda h: h["fields"].update(color=1)), "color"),
        (header(lambda h: h["fields"].update(derived={"tuple": ["color"]})), "derived: got"),
        (header(lambda h: h["fields"].update(derived=3)), "derived: got 3"),
        (header(lambda h: h["fields"].update(period={"array": "wcet"})), "'wcet'"),
        (header(lambda h: h["fields"].update(period={"array": []})), "unhashable"),
        (header(lambda h: h["fields"].update(period={"fraction": "1/0"})), ""),
        (header(lambda h: h["fields"].update(period={"tuple": 5})), ""),
        (header(lambda h: h["fields"].update(period={"dict": [5]})), ""),
        (header(lambda h: h["fields"].update(period={"a": 1, "b": 2})), "a value of 2 types"),
        (header(lambda h: h["fields"].update(period={"spam": 1})), "a value of type 'spam'"),
        (header(lambda h: h["fields"].update(period={"object": ["GPU", 1, {}]})), "'GPU'"),
        (header(lambda h: h["fields"].update(name={"tuple": ["a"]})), "name: got"),
    ],
)
def test_hostile_files(
    change: Callable[[dict[str, bytes]], object], text: str, tmp_path: Path
) -> None:
    path = tmp_path / "tasks"
    KERNELS.save(path)
    rewritten(path, change)
    refused(gs.KernelTasks, path, text)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_are_there_twice(tmp_path: Path) -> None:
    path = tmp_path / "tasks"
    KERNELS.save(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("period.npy", npy(np.array([7, 7, 7])))
    refused(gs.KernelTasks, path, "twice")


def test_a_placement_of_wrong_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "placement"
    placed = gs.place(GPU, [4, 4], [128, 160])
    for change, text in (
        ({"gpu": KERNELS}, ""),
        ({"gpu": None}, "gpu: got NoneType, expected GPU"),
        ({"placement": "best"}, "placement: got 'best'"),
        ({"sm": placed.sm.astype(np.int32)}, "sm: got other values, expected int64"),
        ({"sm": placed.sm + 5}, "sm: got entries out of range, expected -1 to 4"),
        ({"after": placed.after[1:]}, "after: got other values, expected int64 of shape (5, 5)"),
        ({"warps": 7}, "warps: got other values"),
    ):
        save_arrays(path, "Placement", 1, placed._fields() | change)
        refused(gs.Placement, path, text)


def test_a_class_has_its_own_fields(tmp_path: Path) -> None:
    class Point(Saved):
        _KIND = "Point"
        _VERSION = 2

        def __init__(self, x: int) -> None:
            self.x = x

        def _fields(self) -> dict[str, Any]:
            return {"x": self.x}

    Point(3).save(tmp_path / "point")
    assert Point.load(tmp_path / "point").x == 3
    save_arrays(tmp_path / "point", "Point", 2, {"y": 3})
    with pytest.raises(ValueError, match=r"unexpected keyword argument 'y'.*a saved Point$"):
        Point.load(tmp_path / "point")


# Launches in frames


def test_frames_of_launches() -> None:
    pd = pytest.importorskip("pandas")
    work = launches()
    frame = work.to_frame()
    assert len(frame) == 4 and frame["time"].isna().sum() == 1  # stream 1 has no launches
    assert frame["kind"].tolist()[:3] == ["copy_in", "kernel", "kernel"]
    assert frame["interference_gpc"].tolist()[:3] == [1000, 1500, 1000]
    assert gs.Launches.from_frame(frame) == work
    plain = gs.Launches.from_tasks(KERNELS, 50)
    assert "block_times" not in plain.to_frame() and plain.to_frame()["time"].dtype == np.int64
    assert gs.Launches.from_frame(plain.to_frame()) == plain
    empty = gs.Launches([], [], stream_context=[0, 0])
    assert gs.Launches.from_frame(empty.to_frame()) == empty
    small = pd.DataFrame({"time": [0, 5], "duration": [3, 4]})
    assert gs.Launches.from_frame(small) == gs.Launches([0, 5], [3, 4])
    for wrong, text in (
        (frame.assign(stream_priority=[0, 1, 0, 0]), r"stream_priority\[1\]: got 1, expected 0"),
        (frame.iloc[:3], r"got streams \[0, 2\], expected a row for each"),
        (frame.drop(columns="interference_gpu"), "expected interference_sm, interference_gpc"),
        (frame.assign(kind=[1, "kernel", "kernel", None]), r"kind\[0\]: got 1, expected a string"),
    ):
        with pytest.raises(ValueError, match=f"^frame: .*{text}|^frame: {text}"):
            gs.Launches.from_frame(wrong)
