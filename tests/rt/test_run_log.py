"""Logs of jobs: files, tables, traces, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_kept import run_of

import gpusched as gs
from gpusched.io.run_log import EVENTS


def test_a_file_is_read_back(tmp_path: Path) -> None:
    log = run_of().log()
    log.save(tmp_path / "log")
    again = gs.io.read_run_log(tmp_path / "log")
    assert again == log and repr(again).startswith(f"<RunLog: {len(log)} events of 2 tasks over ")


def test_threads_have_rings(tmp_path: Path) -> None:
    log = gs.io.RunLog(["a"], np.arange(40), [16] * 40, 0, 7, thread=np.arange(40) % 3, lost=4)
    log.save(tmp_path / "log")
    assert gs.io.read_run_log(tmp_path / "log") == log
    assert (tmp_path / "log").stat().st_size == 128 + 64 + 3 * (64 + 16 * 32)


def test_a_full_ring_has_its_last_events(tmp_path: Path) -> None:
    """Of 16 places, 5 were written a second time, and the oldest one may be at this moment."""
    log = gs.io.RunLog(["a"], np.arange(15), [16] * 15, 0, np.arange(15))
    log.save(tmp_path / "log")
    data = bytearray((tmp_path / "log").read_bytes())
    data[192:200] = (16 + 5).to_bytes(8, "little")
    (tmp_path / "log").write_bytes(data[: 192 + 64] + bytes(0) + data[192 + 64 :])
    with pytest.raises(ValueError, match=r"kind\[\d+\]: got 0"):  # the last place is empty
        gs.io.read_run_log(tmp_path / "log")
    data[-32:] = data[-64:-32]
    (tmp_path / "log").write_bytes(data)
    assert gs.io.read_run_log(tmp_path / "log").lost == 6


def test_events_pair_up() -> None:
    kinds = ["acquire", "release_lock", "acquire", "acquire", "release_lock"]
    log = gs.io.RunLog(["a", "b"], [1, 5, 6, 7, 9], kinds, [0, 0, 0, 1, 1], 0, [1, 0, 6, 7, 0])
    spans = log.spans("acquire", "release_lock")
    assert spans["start"].tolist() == [1, 6, 7] and spans["end"].tolist() == [5, None, 9]
    assert log.of("acquire").value.tolist() == [1, 6, 7]


def test_the_trace_has_lanes_of_each_task(tmp_path: Path) -> None:
    run_of().log().to_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert {"a", "b", "jobs", "waits", "holds", "GPU", "player"} <= names
    assert sum(event["ph"] == "X" for event in events) == 5 * 3


def test_the_table() -> None:
    frame = run_of().log().to_frame()
    assert list(frame.columns) == ["time", "kind", "task", "job", "value", "thread"]
    assert set(frame["kind"]) <= set(EVENTS[1:])


@given(st.binary(max_size=300))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="log: "):
        gs.io.read_run_log(path)


@pytest.mark.parametrize(
    ("at", "byte", "text"),
    [
        (0, 1, "magic: got "),
        (8, 2, "magic: got "),
        (12, 3, "file: got "),
        (20, 3, "events: got "),
        (128, 255, "names: got "),
    ],
)
def test_damaged_headers(tmp_path: Path, at: int, byte: int, text: str) -> None:
    run_of().log().save(tmp_path / "log")
    data = bytearray((tmp_path / "log").read_bytes())
    data[at] = byte
    (tmp_path / "log").write_bytes(data)
    with pytest.raises(ValueError, match=text):
        gs.io.read_run_log(tmp_path / "log")


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ((["a"], [1, 2], ["cpu", "lunch"], 0, 0), ValueError, r"kind\[1\]: got 'lunch', expected"),
        ((["a"], [1], [99], 0, 0), ValueError, r"kind\[0\]: got 99, expected a kind of events"),
        ((["a"], [1], ["skip"], 65535, 0), ValueError, r"task\[0\]: got 65535, expected one of"),
        ((["a"], [1], ["cpu"], 1, 0), ValueError, r"task\[0\]: got 1, expected one of 1 task"),
        ((["a"], [1, 2], ["cpu"], 0, 0), ValueError, r"kind: got shape \(1,\), expected \(2,\)"),
        ((["a"], 1, 1, 0, 0), ValueError, "time: got 0 dimensions, expected 1"),
        ((["a"], [1.5], ["cpu"], 0, 0), ValueError, r"time\[0\]: got 1.5"),
    ],
)
def test_refusals(arguments: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        gs.io.RunLog(*arguments)
