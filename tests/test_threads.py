"""Threads: the answers of one thread, on shared objects, with and without a GIL.

Every interpreter runs this; one without a GIL (3.13t, 3.14t) runs the threads at once. The core
alone is run under ThreadSanitizer by test_c.py, and longer runs of the same calls are made by
benchmarks/thread_stress.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from core_answers import UNLIMITED, good
from hostile_calls import named
from native import positional
from thread_calls import core_calls, differences, documented_calls, repeatable, together

import gpusched as gs

THREADS = 4


def without_gil() -> bool:
    """Whether the interpreter has none at this moment."""
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


def test_the_import_leaves_the_gil_off() -> None:
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("an interpreter with a GIL")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHON_GIL"}
    # A module that does not say it can do without would turn the GIL on, with a warning.
    code = "import sys, gpusched; print(sys._is_gil_enabled())"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=Path(gs.__file__).parents[1],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr
    assert without_gil()


def test_core_functions_answer_as_alone() -> None:
    expected, others = repeatable(list(core_calls()))
    assert len(expected) > 60 and others == []
    assert differences(expected, THREADS, rounds=3, seed=1) == []


@pytest.mark.python
def test_documented_calls_answer_as_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(Path(gs.__file__).parents[1])  # of the files that examples read
    expected, others = repeatable(list(documented_calls()))
    assert len(expected) > 400
    # Recorders collect launches, and some examples write to temporary folders.
    assert len(others) < 15, others
    # With a GIL two threads find what more of them find, in half the time.
    assert differences(expected, THREADS if without_gil() else 2, rounds=1, seed=1) == []


def test_names_are_first_used_by_many_threads() -> None:
    # In a process in which nothing of the package has been used before.
    code = """
import threading
import gpusched as gs
names = [name for name in dir(gs) if not name.startswith("__")]
start, found, errors = threading.Barrier(8), [], []
def use(number):
    start.wait()
    try:
        order = names[number:] + names[:number]
        found.append([getattr(gs, name) for name in sorted(order, key=order.index)])
        found[-1] = dict(zip(order, map(id, found[-1])))
        gs.analysis, gs.pbs.search, gs.GPU.preset("a100"), gs.methods()
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not errors, errors
assert len(found) == 8 and all(one == found[0] for one in found)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(gs.__file__).parents[1],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["fifo", "host", "hierarchy"])
def test_a_simulation_is_run_by_one_thread_at_a_time(kind: str) -> None:
    # Each slice is run by one thread or refused; in the end the run is that of a single thread.
    def opened() -> Any:
        return positional(named(f"{kind}_open"))(*good(f"{kind}_open").values())

    alone, shared = opened(), opened()
    taken: list[int] = []
    refused: list[str] = []

    def work(_: int) -> None:
        done = False
        while not done:
            try:
                _, done, *_, steps = shared.run(steps=1, states=0, **UNLIMITED)
                taken.append(steps)
            except RuntimeError as error:
                refused.append(str(error))

    together(THREADS, work)
    assert set(refused) <= {"simulation: another thread is running it"}
    _, done, now, count, steps = alone.run(steps=10**6, states=0, **UNLIMITED)
    assert done
    assert max(taken) == steps
    assert shared.run(steps=1, states=0, **UNLIMITED)[2:4] == (now, count)


LONELY = gs.KernelTasks(period=[10**7], block_time=5, blocks=10**6)
PAPER = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3])
TABLE = gs.BatchTable(completion=[0, 1, 3, 4, 3, 4, 4, 6])


def endless(stop: bytearray) -> None:
    gs.simulate.fifo_responses(LONELY, 1, until=2**58, stop=stop)


def test_a_stop_flag_ends_the_calls_of_its_threads() -> None:
    # Two threads share a flag, one has its own, and one is not stopped.
    shared, own = bytearray(1), bytearray(1)
    begun = threading.Semaphore(0)
    ended: list[int] = []

    def stopped(number: int, flag: bytearray) -> None:
        begun.release()
        with pytest.raises(gs.Cancelled):
            endless(flag)
        ended.append(number)

    def work(number: int) -> None:
        if number < 3:
            stopped(number, shared if number < 2 else own)
            return
        for _ in range(3):
            begun.acquire()
        for _ in range(20):
            assert gs.pbs.search(PAPER, TABLE, thorough=True).schedulable
        shared[0] = 1
        while len(ended) < 2:
            assert gs.pbs.search(PAPER, TABLE).schedulable
        assert 2 not in ended
        own[0] = 1

    together(THREADS, work)
    assert sorted(ended) == [0, 1, 2]


def test_progress_is_told_to_the_calling_thread() -> None:
    # One function for all threads; in one of them it raises, which ends that call alone.
    told: list[tuple[int, int, int]] = []
    ended: dict[int, int] = {}

    class Enough(Exception):
        pass

    def progress(done: int, total: int) -> None:
        told.append((threading.get_ident(), done, total))
        if ended.get(threading.get_ident()) == -1 and done > total // 2:
            raise Enough

    def work(number: int) -> None:
        own = threading.get_ident()
        ended[own] = 0
        if number == 0:
            ended[own] = -1
            with pytest.raises(Enough):
                gs.simulate.fifo(LONELY, 1, until=10**7, waves=False, progress=progress)
        else:
            gs.simulate.fifo(LONELY, 1, until=10**7, waves=False, progress=progress)
            ended[own] = 1

    together(THREADS, work)
    for thread, state in ended.items():
        mine = [done for who, done, _ in told if who == thread]
        total = {total for who, _, total in told if who == thread}
        assert mine == sorted(mine) and len(mine) > 2 and len(total) == 1
        assert (mine[-1] == max(total)) is (state == 1)
    assert sorted(ended.values()) == [-1, 1, 1, 1]


@pytest.mark.python
def test_bars_in_many_threads_leave_the_warnings_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")
    import warnings

    from gpusched._support.progress import reporter

    before = list(warnings.filters)

    def work(_: int) -> None:
        for _ in range(20):
            monkeypatch.delitem(sys.modules, "tqdm.auto", raising=False)
            with reporter(True, 3, "set", delay=60.0) as report:
                report(1)

    together(THREADS, work)
    assert list(warnings.filters) == before


def test_a_random_set_is_the_same_in_every_thread() -> None:
    # One seed, one generator per call, and stacks that other threads read while they are analysed.
    answers: list[Any] = [None] * THREADS
    hosts = gs.generate.stgm(6, 40, seed=7, cpus=2, utilization=(0.05, 0.3))

    def work(number: int) -> None:
        drawn = gs.generate.stgm(6, 40, seed=7, cpus=2, utilization=(0.05, 0.3))
        found = gs.analysis.stgm_allocate(hosts, cpus=2, sms=13)
        answers[number] = (drawn == hosts, found.schedulable, found.response)

    together(THREADS, work)
    for same, schedulable, response in answers:
        assert same
        np.testing.assert_array_equal(schedulable, answers[0][1])
        np.testing.assert_array_equal(response, answers[0][2])
