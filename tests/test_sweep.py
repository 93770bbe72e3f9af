"""Sweeps: equal results however the work is divided, errors with their point, quick interrupts."""

import csv
import functools
import inspect
import multiprocessing
import os
import pickle
import signal
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from gpusched.results import Results, wilson
from gpusched.sweep import SweepError, spawn, sweep

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
    with pytest.raises(ValueError, match="seed = -1: must be a non-negative integer"):
        shares(-1)
    with pytest.raises(ValueError, match=r"seed = 1\.5"):
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
        ({"a": np.zeros(3)}, r"level=1, task sets 0 to 1: 'a' has shape \(3,\), must be \(2,\)"),
        ([1, 2], "returned list, not a dict of arrays"),
        ({"level": np.zeros(2)}, "returns 'level', which is a column already"),
    ],
)
def test_a_function_that_returns_something_else(returned, message):
    with pytest.raises((SweepError, ValueError), match=message):
        sweep(lambda **_: returned, {"level": [1]}, count=2, seed=1, chunk=2, progress=False)


def test_names_must_be_the_same_everywhere():
    def function(*, level, count, first, seed):
        return {f"q{level}": np.zeros(count)}

    with pytest.raises(SweepError, match=r"at level=2: returned \['q2'\], elsewhere \['q1'\]"):
        sweep(function, {"level": [1, 2]}, count=2, progress=False)


@pytest.mark.parametrize(
    ("grid", "options", "message"),
    [
        ({"level": []}, {}, r"grid\['level'\]: has no values"),
        ({"seed": [1]}, {}, r"grid\['seed'\]: the sweep itself passes seed"),
        ({"level": [1]}, {"count": 0}, "count = 0: must be at least 1"),
        ({"level": [1]}, {"chunk": -1}, "chunk = -1: must be at least 1"),
        ({"level": [1]}, {"workers": 0}, "workers = 0: must be at least 1"),
    ],
)
def test_refusals(grid, options, message):
    with pytest.raises(ValueError, match=message):
        sweep(fails, grid, **{"count": 1, "progress": False, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": 3}, "executor: must be a concurrent.futures.Executor, not int"),
        ({"count": "many"}, "count = 'many': must be an integer"),
        ({"chunk": 1.5}, "chunk = 1.5: must be an integer"),
        ({"workers": 1.5}, "workers = 1.5: must be an integer"),
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
    import gpusched.sweep  # which must not hide the function gs.sweep

    text = textwrap.dedent(inspect.getdoc(sys.modules["gpusched.sweep"]).split("::")[1])
    names = {"gs": gs}
    exec(text.replace("count=1000", "count=20"), names)
    example = names["schedulable"]
    grid = {"utilization": [0.8, 1.0, 1.2], "n": [4, 6, 8]}
    result = gs.sweep(example, grid, count=20, seed=1, progress=False)
    assert list(result.columns)[3:] == ["pbs", "pbs_low", "pbs_high", "pbs_undecided"]
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
    with pytest.raises(KeyError, match="no column 'd'; there are a, b, c"):
        table["d"]
    with pytest.raises(ValueError, match="read-only"):
        table["a"][0] = 9
    with pytest.raises(ValueError, match="equally long"):
        Results({"a": [1], "b": [1, 2]})
    long = Results({"a": np.arange(10_000)})
    assert len(long._repr_html_()) < 5_000
    assert "and 9960 more rows" in long._repr_html_()


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
            # No lock was left behind, and nothing of the sweep is in the way.
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
