"""Stores of sweeps: resuming, growth, refusals, damage, durability."""

import functools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import gpusched as gs
from gpusched._support.arguments import spawn
from gpusched.study.point_results import Chunk
from gpusched.study.store import open_file
from gpusched.study.store_files import StoreError

pytestmark = pytest.mark.python

GRID = {"level": [0.25, 0.5, 0.75], "kind": ["x", "y"]}
CALLS: list[tuple] = []
STOP = {"at": None}


def draws(*, level, kind, count, first, seed):
    """Set i of a seed is the same whatever the chunk, as in gs.generate."""
    u = np.array([np.random.default_rng(spawn(seed, first + i)).random() for i in range(count)])
    verdict = (u < level).astype(np.int8)
    verdict[u > 0.9] = -1
    return {"share": u, "below": u < level, "verdict": verdict}


def counted(*, level, kind, count, first, seed):
    note(level, kind, first, count)
    return draws(level=level, kind=kind, count=count, first=first, seed=seed)


def note(*call):
    CALLS.append(call)
    if len(CALLS) == STOP["at"]:
        raise ZeroDivisionError


def swept(grid=GRID, at=None, function=counted, **options):
    """A sweep that fails in its call number ``at``; the calls are in CALLS."""
    CALLS.clear()
    STOP["at"] = at
    usual = {"count": 23, "seed": 7, "progress": False, "workers": 1, "key": "counted",
             "spot_check": False}  # fmt: skip
    return gs.sweep(function, grid, **usual | options)


@pytest.mark.parametrize("keep", [False, True])
def test_a_store_resumes_to_the_same_table(tmp_path, keep):
    options = {"store": tmp_path / "sweep.db", "keep": keep}
    plain = swept(keep=keep)
    more = swept(keep=keep, count=30)
    with pytest.raises(gs.SweepError):
        swept(chunk=6, at=10, **options)
    seen = []
    again = {"workers": 2, "progress": lambda *a: seen.append(a)}
    assert swept(chunk=5, **options | again) == plain
    assert sum(size for *_, size in CALLS) < 6 * 23
    assert seen[0][0] > 5 and seen[-1] == (138, 138)
    assert swept(**options | again) == plain and not CALLS
    # More sets: those that are there are not computed again.
    assert swept(count=30, **options | again) == more
    assert sum(size for *_, size in CALLS) == 6 * 7
    assert swept(**options | again) == plain
    assert os.listdir(tmp_path) == ["sweep.db"]


def test_a_grid_may_grow_and_shrink(tmp_path):
    store = tmp_path / "sweep.db"
    part = {"level": [0.5, 0.75], "kind": ["y"]}
    small = swept(part, store=store)
    whole = swept()
    assert swept(store=store) == whole
    assert len({call[:2] for call in CALLS}) == 4, "two points were there"
    rows = whole.where(kind="y")
    chosen = rows["level"] != 0.25
    assert all((rows[name][chosen] == small[name]).all() for name in small.columns)
    assert swept(part, store=store) == small and not CALLS
    assert gs.open_store(store).table() == whole
    # A function may compute something else of equal numbers of other kinds: 254 and -2 of -x.
    seen = []
    for level in (1, 1.0, np.int64(1), np.uint8(1), np.float32(1), 0.0, -0.0):
        for _ in range(2):
            seen.append(swept({"level": [level], "kind": ["x"]}, store=store))
            assert bool(CALLS) == (len(seen) % 2 == 1), level
    assert all(one["share"] == seen[0]["share"] for one in seen[:10]), "the seed is that of 1"


def test_a_store_shows_its_contents(tmp_path):
    store = tmp_path / "sweep.db"
    with pytest.raises(gs.SweepError):
        swept(store=store, chunk=5, at=8)
    study = gs.open_store(store)
    assert (study.study, study.name, study.count) == ("gs.sweep", "counted", 23)
    assert study.points[0] == {"level": 0.25, "kind": "x"} and len(study.points) == 6
    assert study.sets[:2] == [23, 10] and sum(study.sets) == 33 + sum(study.sets[2:])
    assert not study.complete
    assert study.missing[0] == ({"level": 0.25, "kind": "y"}, 10, 13)
    assert repr(study) == (
        "<StoredStudy of counted: 6 points, 33 task sets, missing at level=0.25, kind='y': task "
        "sets 10 to 22 and 4 more ranges>"
    )
    assert "level=0.75" in study._repr_html_()
    with pytest.raises(StoreError, match=r"counted: missing at level=0.25, kind='y': task sets 10"):
        study.table()
    table = swept(store=store)
    study = gs.open_store(store)
    assert study.complete and study.table() == table


def test_objects_of_the_grid(tmp_path):
    store = tmp_path / "sweep.db"

    def function(*, make, count, first, seed):
        return {"a": np.full(count, make(4))}

    def twice(x):
        return 2 * x

    def other(x):
        return 3 * x

    options = {"count": 4, "seed": 1, "progress": False, "chunk": 4}
    first = gs.sweep(function, {"make": [twice, other]}, store=store, **options)
    assert first["a"].tolist() == [8, 12]
    assert gs.sweep(function, {"make": [twice, other]}, store=store, **options) == first
    texts = gs.open_store(store).table()["make"].tolist()
    assert all("twice" in text or "other" in text for text in texts)

    def twice(x):
        return 5 * x

    with pytest.raises(StoreError, match=r"got another study: .*grid\['make'\], value 0"):
        gs.sweep(function, {"make": [twice, other]}, store=store, **options)
    with pytest.raises(ValueError, match=r"grid\['make'\]: got a?.*lock.*, expected a value whose"):
        gs.sweep(function, {"make": [threading.Lock()]}, **options)


# Refusals ----------------------------------------------------------------------------------------


def other(*, level, kind, count, first, seed):
    return draws(level=level, kind=kind, count=count, first=first, seed=seed)


def test_a_store_of_another_sweep_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "sweep.db"
    options = {"count": 3, "seed": 7, "progress": False}
    gs.sweep(draws, GRID, store=path, **options)
    before = path.read_bytes()
    for function, grid, changed, message in (
        (other, GRID, {}, r"got another study: .*draws"),
        (draws, {**GRID, "third": [1]}, {}, 'parameters is \\["kind", "level"\\], expected'),
        (draws, GRID, {"seed": 8}, "got another study: seed is"),
        (draws, GRID, {"key": "draws"}, "got another study: "),
        (draws, GRID, {"keep": True}, "got another study: keep is false, expected true"),
        (draws, GRID, {"seed_by": "kind"}, 'seed_by is null, expected \\["kind"\\]'),
        (draws, GRID, {"reduce": {"share": gs.reductions.Extremes()}}, "reduce is {}, expected"),
    ):
        with pytest.raises(StoreError, match=message):
            gs.sweep(function, grid, store=path, **options | changed)
    assert path.read_bytes() == before
    text = "def draws(*, level, kind, count, first, seed):\n    return {'a': [first] * count}"
    names = {}
    exec(text, names)
    with pytest.raises(StoreError, match=r"got another study: .*the code of draws"):
        gs.sweep(names["draws"], GRID, store=path, **options)
    with pytest.raises(ValueError, match="seed: got None, expected an int or a SeedSequence"):
        gs.sweep(draws, GRID, store=path, **options | {"seed": None})
    with pytest.raises(ValueError, match="expected an int or a SeedSequence"):
        gs.sweep(draws, GRID, store=path, **options | {"seed": np.random.default_rng(1)})
    assert path.read_bytes() == before


THREADS = 4096


def test_numbers_of_another_function_are_never_returned(tmp_path, monkeypatch):
    """Repros of wrong numbers: each pair differs in one place that decides the numbers."""

    def made(k):
        return lambda *, x, count, first, seed: {"a": np.full(count, float(k * x))}

    class Scaled:
        def __init__(self, k):
            self.k = k

        def m(self, *, x, count, first, seed):
            return {"a": np.full(count, self.k * x)}

    def helper(k):
        def inner(x):
            return x * k

        def function(*, x, count, first, seed):
            return {"a": np.full(count, inner(x))}

        return function

    def with_default(k):
        return lambda x, count, first, seed, k=k: {"a": np.full(count, k * x)}

    def with_keyword(k):
        def function(*, x, count, first, seed, k=k):
            return {"a": np.full(count, k * x)}

        return function

    def partly(k):
        return functools.partial(made(k))

    class Level(float):
        pass

    def reads_global(k):
        monkeypatch.setattr(sys.modules[__name__], "THREADS", k)
        return _reads_global

    for index, make in enumerate(
        (made, lambda k: Scaled(k).m, helper, with_default, with_keyword, partly, reads_global)
    ):
        store = tmp_path / f"{index}"
        options = {"count": 3, "seed": 1, "progress": False, "store": store}
        first = gs.sweep(make(2), {"x": [1.0]}, **options)
        assert gs.sweep(make(2), {"x": [1.0]}, **options) == first
        assert first["a"].tolist() == [2.0]
        for count in (3, 5):
            with pytest.raises(StoreError, match="got another study: "):
                gs.sweep(make(3), {"x": [1.0]}, **options | {"count": count})
    options["store"] = tmp_path / "level"
    gs.sweep(made(1), {"x": [1.5]}, **options)
    with pytest.raises(StoreError, match="got another study: objects is"):
        gs.sweep(made(1), {"x": [Level(1.5)]}, **options)  # of a class that may do anything
    gs.sweep(made(1), {"x": [np.float64(1.5)]}, **options)  # a number is known by its value


def _reads_global(*, x, count, first, seed):
    return {"a": np.full(count, THREADS * x)}


def test_what_cannot_be_identified_is_refused_with_a_way_out(tmp_path):
    lock = threading.Lock()

    def function(*, x, count, first, seed):
        with lock:
            return {"a": np.full(count, x)}

    options = {"count": 3, "seed": 1, "progress": False, "store": tmp_path / "s"}
    with pytest.raises(ValueError, match=r"lock.*key="):
        gs.sweep(function, {"x": [1]}, **options)
    assert not (tmp_path / "s").exists()
    first = gs.sweep(function, {"x": [1]}, key="v1", **options)
    assert gs.sweep(function, {"x": [1]}, key="v1", **options) == first
    with pytest.raises(StoreError, match="got another study: key is v2, was v1"):
        gs.sweep(function, {"x": [1]}, key="v2", **options)
    with pytest.raises(TypeError, match="key: got 3, expected a string"):
        gs.sweep(function, {"x": [1]}, key=3, **options)


# Damage ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "sweep.db"
    return path, swept(store=path, chunk=4, keep=True)


def outcome(path):
    """The table of a store, None when it is refused; what is missing is computed again."""
    try:
        return swept(store=path, keep=True)
    except StoreError:
        return None


def damage(data, random):
    """Damaged bytes: truncated, with changed bytes, with a part zeroed, or with parts exchanged."""
    data = bytearray(data)
    way = random.integers(4)
    if way == 0:
        return bytes(data[: random.integers(len(data))])
    at, length = int(random.integers(len(data))), int(random.integers(1, 600))
    if way == 1:
        for place in random.integers(len(data), size=int(random.integers(1, 4))):
            data[place] ^= int(random.integers(1, 256))
    elif way == 2:
        data[at : at + length] = bytes(len(data[at : at + length]))
    else:
        to = int(random.integers(len(data) - length))
        data[to : to + length] = data[at : at + length].ljust(length, b"\0")
    return bytes(data)


@pytest.mark.long
def test_a_damaged_store_never_gives_another_table(stored, tmp_path):
    path, table = stored
    data = path.read_bytes()
    random = np.random.default_rng(1)
    results = []
    for number in range(150):
        copy = tmp_path / f"{number}"
        copy.write_bytes(damage(data, random))
        results.append(outcome(copy))
        copy.unlink()
    assert all(found is None or found == table for found in results)
    assert sum(found is None for found in results) > 75


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE chunk SET first = first + 4 WHERE first = 20",
        "UPDATE chunk SET size = 3 WHERE first = 4",
        "UPDATE chunk SET point = (SELECT max(key) FROM point), first = 9 "
        "WHERE first = 8 AND point = (SELECT min(key) FROM point)",
        "UPDATE chunk SET state = (SELECT state FROM chunk WHERE first = 0 LIMIT 1)",
        "UPDATE chunk SET arrays = NULL WHERE first = 0",
        "UPDATE chunk SET first = 'x' WHERE first = 0",
        "UPDATE point SET value = replace(value, '0.5', '0.25')",
        "DELETE FROM point",
        "UPDATE study SET value = replace(value, '\"keep\": true', '\"keep\": false')",
        "DELETE FROM study",
    ],
)
def test_rows_that_another_program_changed_are_refused(stored, tmp_path, change):
    path, _ = stored
    copy = tmp_path / "copy"
    shutil.copy(path, copy)
    with sqlite3.connect(copy) as connection:
        assert connection.execute(change).rowcount > 0
    connection.close()
    with pytest.raises(StoreError, match="got a damaged"):
        swept(store=copy, keep=True)
    with pytest.raises(StoreError, match="got a damaged"):
        gs.open_store(copy)


def test_chunks_that_were_deleted_are_computed_again(stored, tmp_path):
    path, table = stored
    copy = tmp_path / "copy"
    shutil.copy(path, copy)
    with sqlite3.connect(copy) as connection:
        connection.execute("DELETE FROM chunk WHERE first IN (4, 20)")
    connection.close()
    assert swept(store=copy, keep=True) == table
    assert sum(size for *_, size in CALLS) == 6 * 7


@pytest.mark.parametrize("name", [b"a b?mode=memory#1%41'\"&", b":memory:", b"line\n", b"\xff\xfe"])
def test_stores_with_unusual_names(tmp_path, name):
    path = os.path.join(os.fsencode(tmp_path), name)
    try:
        first = swept(store=path)
    except OSError:
        pytest.skip("not a name of this file system")
    assert os.listdir(os.fsencode(tmp_path)) == [name]
    assert gs.open_store(path).table() == swept(store=path) == first


def test_paths_that_no_store_can_have(tmp_path):
    deep = tmp_path.joinpath(*["d" * 100] * 5)
    deep.mkdir(parents=True)
    with pytest.raises(OSError, match="name too long"):
        swept(store=deep / "store")
    assert not list(deep.iterdir())
    with pytest.raises(FileNotFoundError):
        swept(store="")


def test_files_that_are_no_stores(tmp_path):
    for name, data, message in (
        ("empty", b"", "got an empty file, expected a store"),
        ("text", b"text" * 100, "expected a store"),
        ("short", b"SQLite format 3\0", "expected a store"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(StoreError, match=message):
            swept(store=path)
        assert path.read_bytes() == data
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(StoreError, match="got an SQLite file that is not a store"):
        swept(store=tmp_path / "other")
    with pytest.raises(IsADirectoryError, match="got a folder, expected a file"):
        swept(store=tmp_path)
    with pytest.raises(FileNotFoundError, match="no such file, expected a store"):
        gs.open_store(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="expected an ordinary file"):
        swept(store=tmp_path / "pipe")


def test_a_store_in_use_is_refused(tmp_path):
    path = tmp_path / "s"
    with open_file(path, {"study": "x"}), pytest.raises(StoreError, match="in use by another"):
        gs.open_store(path)


# Durability --------------------------------------------------------------------------------------


def test_chunks_are_written_in_time(tmp_path):
    """Long chunks are on the disk before the next one is planned, short ones within 0.1 s."""
    path, copy = tmp_path / "s", tmp_path / "copy"
    pauses = [0.0] * 20 + [0.12] + [0.0] * 5 + [0.03] * 8
    ends = []

    def function(*, count, first, seed):
        time.sleep(pauses[first])
        return {"a": np.full(count, first)}

    def look(done, total):
        ends.append(time.monotonic())
        shutil.copy(path, copy)
        written = sum(gs.open_store(copy).sets)
        late = sum(end < ends[-1] - 0.5 for end in ends)
        assert written >= late
        if done == 21:
            assert written == 21, "the chunk of 0.12 s and those before it"

    options = {"count": len(pauses), "seed": 1, "chunk": 1, "workers": 1, "progress": look}
    gs.sweep(function, {}, store=path, key="v1", **options)
    assert gs.open_store(path).complete


def test_waiting_chunks_are_written_while_a_call_runs(tmp_path):
    path, copy = tmp_path / "s", tmp_path / "copy"
    seen = []

    def function(*, count, first, seed):
        if first == 3:
            deadline = time.monotonic() + 20
            while not seen and time.monotonic() < deadline:
                time.sleep(0.05)
                shutil.copy(path, copy)
                try:
                    seen.extend(gs.open_store(copy).sets if sum(gs.open_store(copy).sets) else [])
                except StoreError:  # copied within a transaction
                    continue
        return {"a": np.full(count, first)}

    gs.sweep(function, {}, count=4, seed=1, chunk=1, workers=1, store=path, key="v1")
    assert seen == [3]


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_killed_sweep_goes_on(tmp_path):
    script, path = tmp_path / "study.py", tmp_path / "store"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            import numpy as np
            import gpusched as gs

            def slow(*, level, count, first, seed):
                time.sleep(0.01)
                known = "a" in {"b", "c", "a"}  # a frozenset, in another order each time
                return {"a": np.arange(first, first + count) < known * level}

            if __name__ == "__main__":
                said = lambda done, total: print(done, flush=True)
                gs.sweep(slow, {"level": [1, 5, 300]}, count=500, seed=3, chunk=1, workers=1,
                         store=sys.argv[1], progress=said).save_csv(sys.argv[2])
            """
        )
    )
    command = [sys.executable, str(script), str(path), str(tmp_path / "a.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if int(line) >= 60:
                process.kill()
    assert process.returncode == -signal.SIGKILL
    script.write_text(script.read_text().replace("time.sleep(0.01)", "time.sleep(0.00)", 1))
    # A changed body is another sweep.
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 1 and "got another study: the code of slow" in refused.stderr
    text = script.read_text().replace("time.sleep(0.00)", "time.sleep(0.01)", 1)
    script.write_text(text.replace("count=500", "count=60").replace("chunk=1", "chunk=20"))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    counts = [int(word) for word in done.stdout.split()]
    assert counts[0] > 60 - 20 and counts[-1] == 180
    shares = [line.split(",")[2] for line in (tmp_path / "a.csv").read_text().splitlines()[1:]]
    assert [float(share) for share in shares] == [1 / 60, 5 / 60, 1]


# The file ----------------------------------------------------------------------------------------


def test_a_store_keeps_every_type_of_array(tmp_path):
    types = ("bool", "int8", "int64", "uint64", "float32", "float64")
    arrays = {f"{t} é": np.arange(5).astype(t) for t in types}
    key, definition = "0a" * 16, {"study": "x", "keep": True}
    chunk = Chunk(key, 0, 5, {name: [1, "b", 2.5, None, 10**400] for name in arrays}, arrays)
    with open_file(tmp_path / "s", definition) as store:
        store.write({key: {"p": 1}}, {})
        store.add(chunk, 1.0)
    with open_file(tmp_path / "s", definition) as store:
        (found,) = store.chunks(lambda *_: True)
        assert found[:4] == chunk[:4]
        assert list(found.arrays) == list(arrays)
        for name, array in arrays.items():
            assert np.array_equal(found.arrays[name], array)
            assert found.arrays[name].dtype == array.dtype


def test_a_new_file_is_never_made_over_another(tmp_path):
    path = Path(tmp_path / "s")
    path.write_bytes(b"mine")
    with (
        pytest.raises(FileExistsError, match="got a file, expected a new name"),
        open_file(path, {"study": "x"}, new=True),
    ):
        pass
    assert path.read_bytes() == b"mine" and os.listdir(tmp_path) == ["s"]
