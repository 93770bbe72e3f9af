"""Stores that are only read: rights, journals, several readers."""

import contextlib
import os
import shutil
import sqlite3

import numpy as np
import pytest

import gpusched as gs
from gpusched.study.store import open_file
from gpusched.study.store_files import StoreError

pytestmark = pytest.mark.python


def swept(store, count=23):
    def function(*, level, count, first, seed):
        return {"a": np.arange(first, first + count) * level}

    return gs.sweep(function, {"level": [1, 2]}, count=count, seed=1, store=store, key="k")


@contextlib.contextmanager
def unprivileged(folder):
    """No right to write to a folder and its files, also for root, who becomes another user."""
    files = [folder, *folder.iterdir()]
    modes = [path.stat().st_mode for path in files]
    root = os.geteuid() == 0
    outer = [(path, path.stat().st_mode) for path in folder.parents if root]
    closed = [(path, mode) for path, mode in outer if mode & 0o011 != 0o011]
    try:
        for path, mode in closed:
            path.chmod(mode | 0o011)
        for path in files:
            path.chmod(0o555 if path.is_dir() else 0o444)
        if root:
            os.seteuid(65534)
        with pytest.raises(PermissionError):
            open(folder / "new", "w")
        yield
    finally:
        if root:
            os.seteuid(0)
        for path, mode in [*zip(files, modes, strict=True), *closed]:
            path.chmod(mode)


@pytest.fixture
def stored(tmp_path):
    """A folder with a finished store, and nothing else."""
    folder = tmp_path / "shared"
    folder.mkdir()
    swept(store=folder / "s")
    gs.merge([folder / "s"])  # imports what it needs, since another user may not read it
    return folder


def hot_journal(path, copy):
    """Copy a store as it is in the middle of a transaction, with its journal."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE chunk SET checksum = zeroblob(9000)")
        shutil.copy(path, copy)
        shutil.copy(f"{path}-journal", f"{copy}-journal")
        connection.execute("ROLLBACK")


@pytest.mark.skipif(os.name != "posix", reason="changes rights and users")
def test_stores_in_folders_that_cannot_be_written_are_read(stored):
    expected = gs.open_store(stored / "s").table()
    before = (stored / "s").stat()
    with unprivileged(stored):
        assert gs.open_store(stored / "s").table() == expected
        assert gs.merge([stored / "s"]).table() == expected
        with pytest.raises(StoreError, match="got a file or folder that cannot be written, exp"):
            swept(store=stored / "s", count=30)
    assert [path.name for path in stored.iterdir()] == ["s"]
    assert (stored / "s").stat().st_mtime_ns == before.st_mtime_ns


def test_readers_of_a_store_do_not_exclude_each_other(stored):
    path = stored / "s"
    with open_file(path, None) as store, open_file(path, None) as other:
        assert list(store.chunks(lambda *_: True)) == list(other.chunks(lambda *_: True))
        with pytest.raises(StoreError, match="in use by another"):
            swept(store=path, count=30)
    with open_file(path, None) as store, pytest.raises(StoreError, match="cannot be written"):
        store.write({}, {"count": 0})


@pytest.mark.skipif(os.name != "posix", reason="changes rights and users")
def test_a_journal_is_undone_in_a_copy(stored):
    expected = gs.open_store(stored / "s").table()
    killed = stored.parent / "killed"
    killed.mkdir()
    hot_journal(stored / "s", killed / "s")
    before = {path.name: path.read_bytes() for path in killed.iterdir()}
    assert len(before) == 2
    with unprivileged(killed):
        assert gs.open_store(killed / "s").table() == expected
        with pytest.raises(StoreError, match="to undo what a killed process"):
            swept(store=killed / "s")
    assert gs.open_store(killed / "s").table() == gs.merge([killed / "s"]).table() == expected
    assert {path.name: path.read_bytes() for path in killed.iterdir()} == before
    assert swept(store=killed / "s") == expected
    assert [path.name for path in killed.iterdir()] == ["s"]


def test_a_store_with_a_log_is_read(stored):
    expected = gs.open_store(stored / "s").table()
    with contextlib.closing(sqlite3.connect(stored / "s")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert gs.open_store(stored / "s").table() == expected
