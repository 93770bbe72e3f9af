"""Stores that were made to harm, or of which a part is gone: refused, and nothing else touched."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forged_stores import (
    SCHEMAS,
    forged,
    journal_of,
    npz,
    rows,
    set_state,
    set_text,
    state_of,
    with_super_journal,
)

import gpusched as gs
from gpusched._support.input_files import guard, pass_interrupt_on

pytestmark = pytest.mark.python


def study(*, x: float, count: int, first: int, seed: Any) -> dict[str, np.ndarray]:
    i = np.arange(first, first + count)
    return {"met": i % 3 == 0, "value": i * x / 7}


def swept(store: Path | None, keep: bool = True, **options: Any) -> gs.Sweep:
    usual = {"count": 12, "seed": 1, "chunk": 4, "workers": 1, "progress": False, "key": "1"}
    return gs.sweep(study, {"x": [1, 2]}, store=store, keep=keep, **usual | options)


@pytest.fixture(scope="module", name="whole")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "s"
    swept(path)
    return path


@pytest.fixture(name="store")
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole, tmp_path / "s.db"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def refused(store: Path, message: str, *, by: str = "read merged swept") -> None:
    """Every way of opening refuses the store, and no file in its folder changes."""
    before = contents(store.parent)
    calls: dict[str, Callable[[], Any]] = {
        "read": lambda: gs.open_store(store).table(),
        "merged": lambda: gs.merge([store], store.with_name("merged")),
        "swept": lambda: swept(store),
    }
    for name in by.split():
        with pytest.raises(gs.StoreError, match=message):
            calls[name]()
        assert contents(store.parent) == before


# Files beside a store ----------------------------------------------------------------------------


def test_a_journal_that_names_another_file(store: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    with_super_journal(store, str(victim))
    refused(store, "got a journal that names another one")
    done = subprocess.run(
        [sys.executable, "-m", "gpusched", "store", str(store)], capture_output=True, text=True
    )
    assert done.returncode == 2 and "names another one" in done.stderr
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_journal_that_is_a_link(store: Path, tmp_path: Path, link: Any) -> None:
    (tmp_path / "other").write_bytes(b"mine" * 500)
    link(tmp_path / "other", f"{store}-journal")
    refused(store, "got a link or a special file", by="swept")
    assert (tmp_path / "other").read_bytes() == b"mine" * 500


def test_a_journal_that_is_not_hot_is_left_alone(store: Path) -> None:
    expected = gs.open_store(store).table()
    for content in (b"", b"\0" * 600, b"something else"):
        Path(f"{store}-journal").write_bytes(content)
        before = contents(store.parent)
        assert gs.open_store(store).table() == expected
        assert contents(store.parent) == before
        assert swept(store) == expected


def test_the_journal_of_a_store_that_is_gone(store: Path, tmp_path: Path) -> None:
    """A sweep is killed, its store removed, the journal stays: it must not be undone in another."""
    journal = journal_of(store)
    new = tmp_path / "new" / "s.db"
    new.parent.mkdir()
    left = new.with_name("s.db-journal")
    left.write_bytes(journal)
    refused(new, "left by another file of this name", by="swept")
    with pytest.raises(gs.StoreError, match="left by another file of this name"):
        gs.merge([store], new)
    left.unlink()
    table = swept(new, count=40)
    left.write_bytes(journal)  # undone in a larger store of the same study
    with contextlib.suppress(gs.StoreError):
        assert swept(new, count=40) == table


def test_the_journal_of_another_study(store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "s.db"
    other.parent.mkdir()
    swept(other, key="2", count=40)
    journal = journal_of(other)
    Path(f"{store}-journal").write_bytes(journal)
    refused(store, "another study|damaged|other tables", by="swept")


def test_a_log_beside_a_store(store: Path) -> None:
    """A write-ahead log is taken by SQLite whatever the header says; this package writes none."""
    with contextlib.closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("DELETE FROM chunk")
        connection.commit()
        log = Path(f"{store}-wal").read_bytes()
        before = store.read_bytes()
    for data in (before, before[:18] + b"\1\1" + before[20:]):
        store.write_bytes(data)
        Path(f"{store}-wal").write_bytes(log)
        files = contents(store.parent)
        with contextlib.suppress(gs.StoreError):
            gs.open_store(store)
        refused(store, "got a store with a write-ahead log", by="swept")
        assert contents(store.parent) == files


# Contents ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", SCHEMAS)
def test_other_tables(store: Path, schema: str) -> None:
    with contextlib.closing(sqlite3.connect(store)) as connection:
        connection.executescript(schema)
    refused(store, "got other tables")


def test_packed_values_that_are_much_larger(store: Path) -> None:
    spaces = zlib.compress(b" " * (1 << 26) + b"{}")
    set_state(store, spaces)
    refused(store, "too large")
    zeros = npz(["met", "value"], [np.zeros(4, bool), np.zeros(1 << 24)], zipfile.ZIP_DEFLATED)
    set_state(store, state_of(store, 1), zeros)
    refused(store, "got a damaged chunk")


@pytest.mark.parametrize(
    "arrays",
    [
        b"", b"PK", npz([], []), npz(["met"], [np.zeros(4, bool)]),
        npz(["met", "value"], [np.zeros(4, bool)]),
        npz(["met", "value"], [np.zeros(4, bool), np.zeros((4, 1))]),
        npz(["met", "value"], [np.zeros(4, bool), np.zeros(5)]),
        npz(["met", "value"], [np.zeros(4, bool), np.full(4, "x")]),
        npz(["met", "met"], [np.zeros(4, bool), np.zeros(4)]),
    ],
)  # fmt: skip
def test_arrays_that_no_study_keeps(store: Path, arrays: bytes) -> None:
    set_state(store, state_of(store), arrays)
    refused(store, "got a damaged chunk")


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("met", [["Share", [4, 5, None]]]), ("met", [["Share", [4, -1, None]]]),
        ("met", [["Share", [3, 1, None]]]), ("met", [["Share", [4, 1, "0"]]]),
        ("met", [["Share", [4, None, None]]]), ("met", [["Share", [4, 1]]]),
        ("met", [["Reduction", [4, 1, None]]]), ("met", [["Share"]]), ("met", []), ("met", 7),
        ("met", [["Mean", [4, [1, 0], 0, 0, 0]], ["Mean", [4, [1, 0], 0, 0, 0]]]),
        ("value", [["Mean", [4, [1, 10**12], 0, 0, 0]]]),
        ("value", [["Mean", [4, [1, -(10**12)], 0, 0, 0]]]),
        ("value", [["Mean", [4, [1 << 5000, 0], 0, 0, 0]]]),
        ("value", [["Mean", [4, [1.5, 0], 0, 0, 0]]]), ("value", [["Mean", [4, [1, 0], 9, 0, 0]]]),
        ("value", [["Mean", [4, 1, 0, 0, 0]]]), ("value", [["Mean", 4]]), ("value", {"Mean": 1}),
    ],
)  # fmt: skip
def test_states_that_no_study_has(store: Path, name: str, state: Any) -> None:
    set_state(store, state_of(store) | {name: state})
    refused(store, "got other numbers than those of its task sets")


REDUCTIONS = (
    (gs.reductions.Histogram([0, 1]), [[1, 2], [1, 2, 2], [1, 2, -3], [True, 2, 1], "abc"]),
    (gs.reductions.Extremes(), [[1], [2, 1], [1, 2.0], ["a", "b"], [float("nan"), 1.0], [2**65] * 2,
                                [None, None]]),
    (gs.reductions.Quantiles(0.5), [[[1, 1], [1, 1]], [[10**9, 1]], [[-(10**9), 1]], [[1, 5]],
                                    [[1, 0]], [[1]], [[1.0, 1]], [1, 1], {"a": 1}]),
    (gs.reductions.Weighted("value"), [[[1, 0], 0, 0, 0], [[1, 0], 0, 0, 0, [-1, 0]],
                                       [[1, 0], 0, 0, 0, [1, 10**9]], [[1, 0], 5, 0, 0, [1, 0]]]),
)  # fmt: skip


@pytest.mark.parametrize(("reduction", "states"), REDUCTIONS, ids=lambda v: type(v).__name__)
def test_states_of_every_reduction(tmp_path: Path, reduction: Any, states: list[Any]) -> None:
    path = tmp_path / "s"
    table = swept(path, keep=False, reduce={"value": reduction})
    assert swept(path, keep=False, reduce={"value": reduction}) == gs.open_store(path).table()
    assert table == gs.open_store(path).table()
    good = state_of(path)
    for state in states:
        set_state(path, good | {"value": [[type(reduction).__name__, state]]})
        with pytest.raises(gs.StoreError, match="got other numbers"):
            gs.open_store(path)
        with pytest.raises(gs.StoreError, match="got other numbers"):
            swept(path, keep=False, reduce={"value": reduction})


def test_chunks_that_do_not_fit_each_other(store: Path) -> None:
    state = state_of(store)
    state["met"] = [["Mean", [4, [1, 0], 0, 0, 0]]]
    set_state(store, state)
    refused(store, "do not fit|expected one of them", by="read swept")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("definition", []), ("definition", {"study": 1}), ("definition", b"[" * 100_000),
        ("definition", {"study": "gs.sweep", "reduce": []}),
        ("definition", {"study": "gs.sweep", "reduce": {"a": [["Sweep", {}]]}}),
        ("definition", {"study": "gs.sweep", "reduce": {"a": [["ABC", {}]]}}),
        ("definition", {"study": "gs.sweep", "reduce": {"a": [["Mean", {"x": 1}]]}}),
        ("definition", {"study": "gs.sweep", "reduce": {"a": [["Histogram", {"edges": 1}]]}}),
        ("definition", {"study": "gs.sweep", "reduce": {"a": [["Quantiles", {"shares": ["x"]}]]}}),
        ("definition", {"study": "gs.sweep", "function": []}),
        ("definition", {"study": "gs.sweep", "function": {"a": 1}}),
        ("count", -1), ("count", 0), ("count", "9"), ("count", 2**70), ("name", []), ("axes", []),
        ("axes", {"x": 1}), ("axes", {"x": [{"digest": 1}]}), ("axes", {"x": [[]]}),
        ("stop", 1), ("stop", [2]), ("stop", ["x", None, 1]), ("stop", [0.1, None, -1]),
        ("count", b"1" * 5000),
    ],
)  # fmt: skip
def test_settings_that_no_study_has(store: Path, key: str, value: Any) -> None:
    with rows(store) as connection:
        connection.execute("INSERT OR IGNORE INTO study VALUES (?, 'null', '')", (key,))
    set_text(store, "study", lambda known, held: value if known == key else held, key)
    refused(store, "got a damaged|got another study|got results of gpusched", by="read swept")


def test_a_store_that_does_not_say_how_many_sets_it_has(store: Path) -> None:
    with rows(store) as connection:
        connection.execute("DELETE FROM study WHERE name = 'count'")
    refused(store, "no task set", by="read")


@pytest.mark.parametrize("value", [[], 1, {"x": []}, {"y": 1}, {"x": {"object": 1, "digest": ""}}])
def test_points_that_no_study_has(store: Path, value: Any) -> None:
    set_text(store, "point", lambda *_: value)
    refused(store, "got a damaged point")


def test_forged_stores_at_random(whole: Path, tmp_path: Path) -> None:
    """Whatever a store says with right checksums, it is refused as a store, or read."""
    random = np.random.default_rng(5)
    for number in range(150):
        path = Path(shutil.copy(whole, tmp_path / f"{number}"))
        forged(path, random)
        for call in (lambda p: gs.open_store(p).table(), lambda p: gs.merge([p]), swept):
            with contextlib.suppress(gs.StoreError):
                call(path)
        path.unlink()


# Limits ------------------------------------------------------------------------------------------


def test_limits_of_size(store: Path) -> None:
    size = store.stat().st_size
    assert gs.open_store(store, max_bytes=2 * size).complete
    for call in (gs.open_store, lambda path, max_bytes: gs.merge([path], max_bytes=max_bytes)):
        with pytest.raises(gs.StoreError, match="max_bytes"):
            call(store, max_bytes=size - 1)
        with pytest.raises(gs.StoreError, match="max_bytes"):
            set_state(store, zlib.compress(b" " * 10_000_000 + b"{}"))
            call(store, max_bytes=2 * size)


def test_a_state_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    class Everything(gs.reductions.Reduction):
        def reduce(self, values: Any, others: Any) -> Any:
            return "x" * (1 << 24)

        def join(self, one: Any, other: Any) -> Any:
            return one

        def columns(self, name: str, state: Any) -> Any:
            return {name: 1}

    with pytest.raises(gs.StoreError, match=r"got a state of .* take smaller chunks"):
        swept(tmp_path / "s", keep=False, reduce={"value": Everything()})


def test_a_long_query_ends_with_an_interrupt() -> None:
    """The handler of the signal is called while SQLite works."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        guard(connection, 1000)
        endless = (
            "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i FROM r) SELECT count(*) FROM r"
        )
        ring = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        ring.start()
        with pytest.raises(KeyboardInterrupt):
            try:
                connection.execute(endless)
            except sqlite3.OperationalError as error:
                pass_interrupt_on(error)
        ring.join()
