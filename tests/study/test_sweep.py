"""Sweeps: results independent of the chunks, errors with their point, fast interrupts."""

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
from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest

from gpusched import analysis, generate
from gpusched._support.arguments import spawn
from gpusched._support.results import Results, wilson
from gpusched.study.execution import SweepError
from gpusched.study.sweeps import sweep

pytestmark = pytest.mark.python

GRID = {"level": [0.25, 0.5, 0.75], "kind": ["x", "y"]}


def draws(*, level, kind, count, first, seed):
    """Set i of a seed is the same whatever the chunk, as in gs.generate."""
    u = np.array([np.random.default_rng(spawn(seed, first + i)).random() for i in range(count)])
    verdict = (u < level).astype(np.int8)
    verdict[u > 0.9] = -1
    return {"share": u, "below": u < level, "verdict": verdict}


def test_results_do_not_depend_on_how_the_work_is_divided():
    options = {"count": 23, "seed": 7, "progress": False}
    whole = sweep(draws, GRID, chunk=23, workers=1, keep=True, **options)
    plain = sweep(draws, GRID, chunk=23, workers=1, **options)
    assert Results(plain.columns) == Results(whole.columns) and not plain.values
    assert list(whole.columns)[:3] == ["level", "kind", "count"]
    assert len(whole) == 6
    for chunk, workers in ((1, 3), (5, 2), (22, 1), (None, 4)):
        for keep, expected in ((False, plain), (True, whole)):
            found = sweep(draws, GRID, chunk=chunk, workers=workers, keep=keep, **options)
            assert found == expected
            assert found.values.keys() == expected.values.keys()
    with processes() as pool:
        assert sweep(draws, GRID, executor=pool, **options) == plain
    with ThreadPoolExecutor(2) as pool:
        assert sweep(draws, GRID, executor=pool, keep=True, **options) == whole
        assert pool.submit(int).result() == 0, "an executor of the caller's stays open"
    assert sweep(draws, GRID, count=23, seed=8, progress=False) != whole


def test_points_have_seeds_of_their_own_and_more_sets_keep_the_first():
    grid = {"level": [0.5, 0.6], "kind": ["x"]}
    small = sweep(draws, grid, count=10, seed=1, keep=True, progress=False)
    large = sweep(draws, grid, count=30, seed=1, keep=True, progress=False)
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
    result = sweep(draws, GRID, count=200, seed=1, keep=True, progress=False)
    for row in range(len(result)):
        share, below, verdict = (result.values[k][row] for k in ("share", "below", "verdict"))
        exact = sum(map(Fraction, share.tolist()), Fraction()) / 200
        assert result["share"][row] == float(exact)
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
        ({"level": np.zeros(2)}, "function: got a quantity with the column 'level', expected"),
        ({"a": np.zeros(2), "a_low": np.zeros(2)}, None),
        ({"a": np.zeros(2, bool), "a_low": np.zeros(2)}, "two quantities with the column 'a_low'"),
        (
            {"word": np.array(["x", "y"])},
            r"at level=1, task sets 0 to 1: 'word': got dtype <U1, exp",
        ),
        ({"a": np.array([1, None])}, "'a': got dtype object, expected truth values, verdicts or"),
        ({"a": np.array([1, 3], np.int8)}, r"'a': got 3, expected verdicts \(1, 0 or -1\)"),
    ],
)
def test_a_function_that_returns_something_else(returned, message):
    with (
        nullcontext() if message is None else pytest.raises((SweepError, ValueError), match=message)
    ):
        options = {"seed": 1, "chunk": 2, "progress": False, "spot_check": False}
        sweep(lambda **_: returned, {"level": [1]}, count=2, **options)


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
        ({"level": [1, 1.0]}, {}, r"grid\['level'\]: got 1 and 1\.0 \(values 0 and 1\), expected"),
        ({"level": [1]}, {"seed_by": ["n"]}, "seed_by: got 'n', expected one of level"),
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
        ({"reduce": 3}, "reduce: got 3, expected a dict of reductions"),
        ({"reduce": {"a": "mean"}}, r"reduce\['a'\]: got 'mean', expected a reduction of gs"),
        ({"stop": 0.1}, r"stop: got 0\.1, expected gs\.Width or None"),
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


def interrupted_sweep():
    """The seconds from Ctrl-C to the end of a sweep of endless calls."""
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
    assert len(ended) == 2, "what waited was cancelled"
    return took


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_interrupt_stops_everything_within_a_tenth_of_a_second():
    # A busy machine may delay a run, but not each of them.
    assert any(interrupted_sweep() < 0.1 for _ in range(10))


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


@pytest.mark.long
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
        options = {"chunk": 1, "progress": False, "spot_check": False}
        result = sweep(function, {"level": range(10)}, count=3, **options)
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
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("level", "share of sets")
    band = ax.collections[1].get_paths()[0].vertices[:, 1]
    assert band.min() == rows["below_low"].min() and band.max() == rows["below_high"].max()
    alone = result.plot("share", x="kind", ax=pyplot.figure().add_subplot())
    assert alone.get_ylabel() == "share" and len(alone.lines) == 3
    mixed = sweep(draws, {"level": [0.9, 0.1], "kind": ["x"]}, count=3, seed=1).plot("below")
    assert mixed.lines[0].get_xdata().tolist() == [0.1, 0.9]
    assert mixed.get_ylabel() == "below (share of sets)"
    other = sweep(draws, {"level": [0.9, 0.1], "kind": ["y"]}, count=3, seed=1)
    other.plot("below", ax=mixed)  # with its own colour and marker
    looks = {(line.get_color(), line.get_marker()) for line in mixed.lines}
    assert len(mixed.lines) == len(looks) == 2
    with pytest.raises(ValueError, match="quantities: got 'above', expected one of share,"):
        result.plot("above")
    with pytest.raises(ValueError, match="x: got 'count', expected one of level, kind"):
        result.plot(x="count")
    with pytest.raises(ValueError, match=r"x: got None, expected a parameter \(no parameter"):
        sweep(functools.partial(draws, level=1), {"kind": ["x"]}, count=3, seed=1).plot()
    pyplot.close("all")


def test_an_answer_in_place_of_an_array() -> None:
    def bounded(*, level, count, first, seed):
        tasks = generate.fifo(3, 0.2, count=count, first=first, seed=seed)
        return {"ok": analysis.fifo_bound(tasks, threads=4096)}

    with pytest.raises(SweepError, match="'ok': got a FifoBound, expected an array, as its accep"):
        sweep(bounded, {"level": [1]}, count=2, seed=1)
