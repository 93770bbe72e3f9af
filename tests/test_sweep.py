"""Sweeps: results independent of the chunks, errors with their point, fast interrupts."""

import contextlib
import csv
import functools
import inspect
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from gpusched._support.results import Results, wilson
from gpusched.study.store import StoreError, open_store
from gpusched.study.sweeps import SweepError, run, spawn, sweep

GRID = {"level": [0.25, 0.5, 0.75], "kind": ["x", "y"]}


def draws(*, level, kind, count, first, seed):
    """Set i of a seed is the same whatever the chunk, as in gs.generate."""
    u = np.array([np.random.default_rng(spawn(seed, first + i)).random() for i in range(count)])
    verdict = (u < level).astype(np.int8)
    verdict[u > 0.9] = -1
    return {"share": u, "below": u < level, "verdict": verdict}


def test_results_do_not_depend_on_how_the_work_is_divided():
    whole = sweep(draws, GRID, count=23, seed=7, chunk=23, workers=1, progress=False)
    assert list(whole.columns)[:3] == ["level", "kind", "count"]
    assert len(whole) == 6
    for chunk, workers in ((1, 3), (5, 2), (22, 1), (None, 4)):
        other = sweep(draws, GRID, count=23, seed=7, chunk=chunk, workers=workers, progress=False)
        assert other == whole
        for name, values in whole.values.items():
            assert np.array_equal(other.values[name], values)
    with processes() as pool:
        assert sweep(draws, GRID, count=23, seed=7, executor=pool, progress=False) == whole
    with ThreadPoolExecutor(2) as pool:
        assert sweep(draws, GRID, count=23, seed=7, executor=pool, progress=False) == whole
        assert pool.submit(int).result() == 0, "an executor of the caller's stays open"
    assert sweep(draws, GRID, count=23, seed=8, progress=False) != whole


def test_points_have_seeds_of_their_own_and_more_sets_keep_the_first():
    small = sweep(draws, {"level": [0.5, 0.5], "kind": ["x"]}, count=10, seed=1, progress=False)
    large = sweep(draws, {"level": [0.5, 0.5], "kind": ["x"]}, count=30, seed=1, progress=False)
    assert not np.array_equal(small.values["share"][0], small.values["share"][1])
    assert np.array_equal(large.values["share"][:, :10], small.values["share"])


def test_seeds_of_every_kind():
    def shares(seed):
        return sweep(draws, {"level": [1], "kind": ["x"]}, count=3, seed=seed, progress=False)

    assert shares(3) == shares(np.random.SeedSequence(3))
    assert shares(np.random.default_rng(3)) == shares(np.random.default_rng(3))
    assert shares(None) != shares(None)
    parent = np.random.SeedSequence(3)
    spawn(parent, 0)
    assert parent.n_children_spawned == 0
    with pytest.raises(ValueError, match="seed: got -1, expected a non-negative integer"):
        shares(-1)
    with pytest.raises(ValueError, match=r"seed: got 1\.5, expected a non-negative integer"):
        shares(1.5)


def test_columns_are_means_intervals_and_undecided_shares():
    result = sweep(draws, GRID, count=200, seed=1, progress=False)
    for row in range(len(result)):
        share, below, verdict = (result.values[k][row] for k in ("share", "below", "verdict"))
        assert result["share"][row] == share.mean()
        assert result["below"][row] == below.mean()
        assert result["verdict"][row] == (verdict == 1).mean()
        assert result["verdict_undecided"][row] == (verdict == -1).mean() > 0
        assert result["verdict_low"][row] == wilson((verdict == 1).sum(), 200)[0]
        assert result["verdict_high"][row] == wilson((verdict != 0).sum(), 200)[1]
    assert "share_low" not in result.columns
    assert "below_undecided" not in result.columns


def test_wilson_interval():
    # Textbook values (n = 10 and 50) and the ends.
    assert np.allclose(wilson(5, 10), (0.2366, 0.7634), atol=1e-4)
    assert np.allclose(wilson(48, 50), (0.8654, 0.9890), atol=1e-4)
    assert wilson(0, 50)[0] == 0
    assert wilson(50, 50)[1] == 1
    low, high = wilson(np.arange(51), 50)
    assert np.all(low <= np.arange(51) / 50)
    assert np.all(high >= np.arange(51) / 50)
    # It holds the true share about 95 % of the time.
    hits = np.random.default_rng(1).binomial(50, 0.3, size=20_000)
    low, high = wilson(hits, 50)
    assert abs(np.mean((low <= 0.3) & (0.3 <= high)) - 0.95) < 0.02


def processes():
    # Not by fork: this process has threads.
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def fails(*, level, count, first, seed):
    if level == 2 and first >= 4:
        raise ZeroDivisionError("no such level")
    return {"a": np.zeros(count)}


def test_an_error_names_its_point():
    with pytest.raises(
        SweepError, match=r"at level=2, task sets 4 to 5: ZeroDivisionError: no such"
    ) as caught:
        sweep(fails, {"level": [1, 2]}, count=6, chunk=2, progress=False)
    assert caught.value.point == {"level": 2}
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with processes() as pool, pytest.raises(SweepError, match="level=2"):
        sweep(fails, {"level": [1, 2]}, count=6, chunk=2, executor=pool, progress=False)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"a": np.zeros(3)}, r"'a': got shape \(3,\), expected \(2,\)"),
        ([1, 2], "at level=1, task sets 0 to 1: got list, expected"),
        ({"level": np.zeros(2)}, "function: got a quantity 'level', expected"),
    ],
)
def test_a_function_that_returns_something_else(returned, message):
    with pytest.raises((SweepError, ValueError), match=message):
        sweep(lambda **_: returned, {"level": [1]}, count=2, seed=1, chunk=2, progress=False)


def test_names_must_be_the_same_everywhere():
    def function(*, level, count, first, seed):
        return {f"q{level}": np.zeros(count)}

    with pytest.raises(SweepError, match=r"at level=2: got \['q2'\], expected \['q1'\]"):
        sweep(function, {"level": [1, 2]}, count=2, progress=False)


@pytest.mark.parametrize(
    ("grid", "options", "message"),
    [
        ({"level": []}, {}, r"grid\['level'\]: got no values, expected at least"),
        ({"seed": [1]}, {}, "grid: got the parameter 'seed', expected another"),
        ({"level": [1]}, {"count": 0}, "count: got 0, expected at least 1"),
        ({"level": [1]}, {"chunk": -1}, "chunk: got -1, expected at least 1"),
        ({"level": [1]}, {"workers": 0}, "workers: got 0, expected at least 1"),
    ],
)
def test_refusals(grid, options, message):
    with pytest.raises(ValueError, match=message):
        sweep(fails, grid, **{"count": 1, "progress": False, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": 3}, "executor: got int, expected a"),
        ({"count": "many"}, "count: got 'many', expected an integer"),
        ({"chunk": 1.5}, r"chunk: got 1\.5, expected an integer"),
        ({"workers": 1.5}, r"workers: got 1\.5, expected an integer"),
    ],
)
def test_arguments_of_another_kind(options, message):
    with pytest.raises(TypeError, match=message):
        sweep(fails, {"level": [1]}, **{"count": 1, "progress": False, **options})


def test_progress_counts_task_sets():
    seen = []
    result = sweep(draws, GRID, count=10, seed=1, chunk=3, progress=lambda *a: seen.append(a))
    assert len(result) == 6
    assert seen[-1] == (60, 60)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_progress_bar_goes_to_stderr(capsys):
    pytest.importorskip("tqdm")
    sweep(draws, GRID, count=2, seed=1, progress=True)
    captured = capsys.readouterr()
    assert "12/12" in captured.err
    assert captured.out == ""
    sweep(draws, GRID, count=2, seed=1)  # no terminal: no bar
    assert capsys.readouterr().err == ""


def test_the_example_of_the_module():
    import gpusched as gs
    import gpusched.study.sweeps  # which must not hide the function gs.sweep

    text = textwrap.dedent(inspect.getdoc(sys.modules["gpusched.study.sweeps"]).split("::")[1])
    names = {"gs": gs}
    exec(text.replace("count=1000", "count=20"), names)
    example = names["schedulable"]
    grid = {"utilization": [0.8, 1.0, 1.2], "n": [4, 6, 8]}
    result = gs.sweep(example, grid, count=20, seed=1, progress=False)
    assert list(result.columns)[3:] == ["pbs", "pbs_low", "pbs_high"]
    assert 0 < result["pbs"].mean() < 1


def test_stop_is_passed_where_it_is_wanted():
    stops = []

    def function(*, level, count, first, seed, stop):
        stops.append(stop)
        return {"a": np.zeros(count)}

    sweep(function, {"level": [1]}, count=2, progress=False)
    assert stops
    assert all(isinstance(stop, bytearray) and stop == b"\0" for stop in stops)
    bound = functools.partial(function, level=3)
    assert "a" in sweep(bound, {}, count=2, progress=False).columns


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_interrupt_stops_everything_within_a_tenth_of_a_second():
    started, ended = threading.Event(), []

    def endless(*, level, count, first, seed, stop):
        started.set()
        while not stop[0]:
            time.sleep(0.005)
        ended.append(time.monotonic())
        return {"a": np.zeros(count)}

    sent = []

    def interrupt():
        started.wait()
        time.sleep(0.05)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        sweep(endless, {"level": range(8)}, count=4, chunk=1, workers=2, progress=False)
    took = time.monotonic() - sent[0]
    thread.join()
    assert took < 0.1
    assert len(ended) == 2, "what waited was cancelled"


def test_results_table():
    table = Results({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "c": ["x", "<y>", "x"]})
    assert table.where(c="x")["a"].tolist() == [1, 3]
    assert "&lt;y&gt;" in table._repr_html_()
    assert pickle.loads(pickle.dumps(table)) == table
    with pytest.raises(KeyError, match="\"column: got 'd', expected one of a, b, c\""):
        table["d"]
    with pytest.raises(ValueError, match="read-only"):
        table["a"][0] = 9
    with pytest.raises(ValueError, match=r"columns: got a \(1,\), b \(2,\), expected one"):
        Results({"a": [1], "b": [1, 2]})
    long = Results({"a": np.arange(10_000)})
    assert len(long._repr_html_()) < 5_000
    assert "and 9960 more rows" in long._repr_html_()


def test_results_print_as_a_table():
    table = Results({"a": [1, 20], "share": [0.25, 1 / 3], "c": ["x", "a word"]})
    assert str(table) == " a   share       c\n 1    0.25       x\n20  0.3333  a word"
    long = str(Results({"a": np.arange(1000)})).splitlines()
    assert len(long) == 42 and long[-1] == "and 960 more rows"
    wide = Results({f"a column of many words, number {i}": np.arange(50) * 10**9 for i in range(9)})
    lines = str(wide).splitlines()
    assert len(lines) == 10 and all(len(line) <= 120 for line in lines)
    assert lines[1].split()[:8] == [*"a column of many words, number 1".split(), "0"]
    shown = len(lines[0].split()) - 7
    assert lines[-1] == f"and {50 - shown} more rows"
    assert str(Results({})) == "" and str(Results({"a": []})) == "a"


def test_results_to_frame_and_csv(tmp_path):
    pytest.importorskip("pandas")
    result = sweep(draws, GRID, count=9, seed=1, progress=False)
    frame = result.to_frame()
    assert list(frame.columns) == list(result.columns)
    result.save_csv(tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["share"]) for row in rows] == result["share"].tolist()
    assert [row["kind"] for row in rows] == result["kind"].tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_interrupts_at_any_moment_leave_an_executor_in_order():
    def function(*, level, count, first, seed, stop):
        return {"a": np.zeros(count)}

    random = np.random.default_rng(1)
    with ThreadPoolExecutor(2) as pool:
        main = threading.get_ident()
        for delay in random.uniform(0, 0.03, size=40):
            # From a thread that lives on, since an exception in the clean-up of one would be lost;
            # and once the sweep is under way, since this function could not take it.
            begun = []

            def begin(done, total, delay=delay, begun=begun):
                if not begun:
                    begun.append(pool.submit(interrupt_after, main, delay))

            options = {"count": 1000, "chunk": 1, "executor": pool, "progress": begin}
            with pytest.raises(KeyboardInterrupt):
                sweep(function, {"level": range(1000)}, seed=1, **options)
            # No lock is held, and no state of the sweep is left.
            assert pool.submit(int).result(timeout=10) == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def interrupt_after(thread, delay):
    time.sleep(delay)
    signal.pthread_kill(thread, signal.SIGINT)


def test_an_interrupt_handler_of_the_callers_is_heard():
    heard = []

    def function(*, level, count, first, seed):
        if level == 3 and first == 0:
            signal.raise_signal(signal.SIGINT)  # is handled in the main thread
        return {"a": np.zeros(count)}

    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        result = sweep(function, {"level": range(10)}, count=3, chunk=1, progress=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]
    assert len(result) == 10


def test_refusals_of_what_is_no_grid():
    with pytest.raises(TypeError, match=r"grid\['level'\]: got 1, expected a list of values"):
        sweep(draws, {"level": 1, "kind": ["x"]}, count=2, seed=1)
    with pytest.raises(TypeError, match=r"grid\['kind'\]: got 'xy', expected a list of values"):
        sweep(draws, {"level": [1], "kind": "xy"}, count=2, seed=1)
    with pytest.raises(TypeError, match="grid: got list, expected a dict of lists"):
        sweep(draws, [1], count=2, seed=1)
    with pytest.raises(TypeError, match=r"count: got 2\.0, expected an integer"):
        sweep(draws, GRID, count=2.0, seed=1)


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    result = sweep(draws, GRID, count=9, seed=1, progress=False)
    ax = result.plot()  # below and verdict, for x and for y
    assert [line.get_label() for line in ax.lines] == [
        *("below: kind = x", "below: kind = y", "verdict: kind = x", "verdict: kind = y")
    ]
    rows = result.where(kind="y")
    assert ax.lines[1].get_xdata().tolist() == GRID["level"]
    assert ax.lines[1].get_ydata().tolist() == rows["below"].tolist()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("level", "mean")
    band = ax.collections[1].get_paths()[0].vertices[:, 1]
    assert band.min() == rows["below_low"].min() and band.max() == rows["below_high"].max()
    alone = result.plot("share", x="kind", ax=pyplot.figure().add_subplot())
    assert alone.get_ylabel() == "share" and len(alone.lines) == 3
    mixed = sweep(draws, {"level": [0.9, 0.1], "kind": ["x"]}, count=3, seed=1).plot("below")
    assert mixed.lines[0].get_xdata().tolist() == [0.1, 0.9]
    with pytest.raises(ValueError, match="quantities: got 'above', expected one of share,"):
        result.plot("above")
    with pytest.raises(ValueError, match="x: got 'count', expected one of level, kind"):
        result.plot(x="count")
    with pytest.raises(ValueError, match=r"x: got None, expected a parameter \(no parameter"):
        sweep(functools.partial(draws, level=1), {"kind": ["x"]}, count=3, seed=1).plot()
    pyplot.close("all")


# The store ---------------------------------------------------------------------------------------


def equal(one, other):
    return one == other and all(
        np.array_equal(values, other.values[name]) and values.dtype == other.values[name].dtype
        for name, values in one.values.items()
    )


CALLS = []
STOP = {"at": None}


def counted(*, level, kind, count, first, seed):
    CALLS.append((level, kind, first, count))
    if len(CALLS) == STOP["at"]:
        raise ZeroDivisionError
    found = draws(level=level, kind=kind, count=count, first=first, seed=seed)
    return {**found, "word": np.array([f"{kind}{first + i}" for i in range(count)])}


def ready(at=None):
    CALLS.clear()
    STOP["at"] = at
    return {"seed": 7, "progress": False, "workers": 1}


def only(*names):
    return {name: values for name, values in GRID.items() if name in names}


def numbers(**arguments):
    found = counted(**arguments)
    del found["word"]
    return found


def test_a_store_resumes_to_the_same_table(tmp_path):
    path = tmp_path / "sweep.db"
    plain = sweep(numbers, GRID, count=23, **ready())
    more = sweep(numbers, GRID, count=30, **ready())
    with pytest.raises(SweepError):
        sweep(numbers, GRID, count=23, chunk=6, store=path, **ready(at=10))
    seen = []
    again = {"store": str(path), "workers": 2, "progress": lambda *a: seen.append(a)}
    assert equal(sweep(numbers, GRID, count=23, chunk=5, **ready() | again), plain)
    done = sum(size for *_, size in CALLS)
    assert done < 6 * 23 and seen[0][0] > 5 and seen[-1] == (138, 138)
    assert equal(sweep(numbers, GRID, count=23, **ready() | again), plain) and not CALLS
    # More sets: what is there stays; fewer: what is too much is left out.
    assert equal(sweep(numbers, GRID, count=30, **ready() | again), more)
    assert sum(size for *_, size in CALLS) == 6 * 7
    assert equal(sweep(numbers, GRID, count=23, **ready() | again), plain) and not CALLS
    with processes() as pool:
        options = ready() | {"executor": pool, "store": path}
        assert equal(
            sweep(numbers, GRID, count=31, **options), sweep(numbers, GRID, count=31, **ready())
        )
    assert os.listdir(tmp_path) == ["sweep.db"]


def test_a_store_keeps_every_type(tmp_path):
    def function(*, count, first, seed):
        i = np.arange(first, first + count)
        types = ("bool", "int8", "int64", "uint64", "float32", "float64", "complex128")
        return {**{t: i.astype(t) for t in types}, "text é": i.astype(str)}

    plain = run_of(function, count=5, chunk=2)
    assert equal_values(run_of(function, count=5, chunk=2, store=tmp_path / "a"), plain)
    assert equal_values(run_of(function, count=5, chunk=2, store=tmp_path / "a"), plain)


def run_of(function, *, store=None, **options):
    """Values of a sweep of one point, some of which have no mean."""
    opened = contextlib.nullcontext() if store is None else open_store(store, {"study": 1})
    with opened as kept:
        return run(function, [{}], [spawn(1)], kept=kept, progress=False, **options)


def equal_values(one, other):
    return list(one) == list(other) and all(
        np.array_equal(one[name], other[name]) and one[name].dtype == other[name].dtype
        for name in one
    )


def other(*, level, kind, count, first, seed):
    return draws(level=level, kind=kind, count=count, first=first, seed=seed)


def test_a_store_of_another_sweep_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "sweep.db"
    sweep(draws, GRID, count=3, seed=7, store=path, progress=False)
    before = path.read_bytes()

    def factor(times):
        def function(*, level, kind, count, first, seed):
            return {"a": np.full(count, times * level)}

        return function

    made = tmp_path / "made.db"
    sweep(factor(2), GRID, count=3, seed=7, store=made, progress=False)
    sweep(factor(2), GRID, count=3, seed=7, store=made, progress=False)
    sweep(functools.partial(draws, kind="x"), only("level"), count=3, seed=7, store=tmp_path / "p")
    for function, grid, seed, store, message in (
        (other, GRID, 7, path, 'got another study: function is "draws", expected'),
        (draws, only("kind") | {"level": [1]}, 7, path, r'got another study: grid is \{"level":'),
        (draws, GRID, 8, path, "got another study: seed is"),
        (factor(3), GRID, 7, made, "got another study: defaults is"),
        (functools.partial(draws, kind="y"), only("level"), 7, tmp_path / "p", "study: bound is"),
    ):
        with pytest.raises(StoreError, match=message):
            sweep(function, grid, count=3, seed=seed, store=store, progress=False)
    assert path.read_bytes() == before
    changed = {"draws": "def draws(*, level, kind, count, first, seed):\n    return {'a': first}"}
    exec(changed["draws"], changed)
    with pytest.raises(StoreError, match="got another study: body is"):
        sweep(changed["draws"], GRID, count=3, seed=7, store=path, progress=False)
    with pytest.raises(ValueError, match="seed: got None, expected an int or a SeedSequence"):
        sweep(draws, GRID, count=3, store=path)
    with pytest.raises(ValueError, match="expected an int or a SeedSequence"):
        sweep(draws, GRID, count=3, seed=np.random.default_rng(1), store=path)
    with pytest.raises(ValueError, match=r"grid\['kind'\]: got a lock, expected a value that"):
        sweep(draws, {"level": [1], "kind": [threading.Lock()]}, count=3, seed=1, store=path)
    with pytest.raises(StoreError, match="a: got dtype object, expected numbers or text for"):
        sweep(objects, {"x": [1]}, count=3, seed=1, store=tmp_path / "o", progress=False)


def objects(*, x, count, first, seed):
    return {"a": np.array([None] * count)}


class Model:
    def __init__(self, level):
        self.level = level

    def __call__(self, *, kind, count, first, seed):
        return draws(level=self.level, kind=kind, count=count, first=first, seed=seed)

    def method(self, **arguments):
        return self(**arguments)


def test_a_store_knows_objects_and_methods_by_what_they_hold(tmp_path):
    kinds = only("kind")
    for name, of in (("call", lambda m: m), ("method", lambda m: m.method)):
        options = {"count": 3, "seed": 1, "store": tmp_path / name, "progress": False}
        first = sweep(of(Model(0.5)), kinds, **options)
        assert equal(sweep(of(Model(0.5)), kinds, **options), first)
        with pytest.raises(StoreError, match=r'got another study: bound is \[\[\], \["Model",'):
            sweep(of(Model(0.6)), kinds, **options)


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_killed_sweep_goes_on(tmp_path):
    script, path = tmp_path / "study.py", tmp_path / "store"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            import numpy as np
            import gpusched as gs
            from gpusched.study import store

            def slow(*, level, count, first, seed):
                time.sleep(0.01)
                known = "a" in {"b", "c", "a"}  # a frozenset, in another order each time
                return {"a": np.arange(first, first + count) < known * level}

            if __name__ == "__main__":
                store._SECONDS = 0.02
                said = lambda done, total: print(done, flush=True)
                gs.sweep(slow, {"level": [1, 5, 300]}, count=500, seed=3, chunk=1, workers=1,
                         store=sys.argv[1], progress=said).save_csv(sys.argv[2])
            """
        )
    )
    command = [sys.executable, str(script), str(path), str(tmp_path / "a.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if int(line) >= 40:
                process.kill()
    assert process.returncode == -signal.SIGKILL
    script.write_text(script.read_text().replace("time.sleep(0.01)", "time.sleep(0.00)", 1))
    # A changed body is another sweep.
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 1 and "got another study: body is" in refused.stderr
    text = script.read_text().replace("time.sleep(0.00)", "time.sleep(0.01)", 1)
    script.write_text(text.replace("count=500", "count=60").replace("chunk=1", "chunk=20"))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    counts = [int(word) for word in done.stdout.split()]
    assert counts[0] > 40 - 20 and counts[-1] == 180
    shares = [line.split(",")[2] for line in (tmp_path / "a.csv").read_text().splitlines()[1:]]
    assert [float(share) for share in shares] == [1 / 60, 5 / 60, 1]
