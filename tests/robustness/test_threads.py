"""Threads: the answers of one thread, on shared objects, with and without a GIL.

Every interpreter runs this; one without a GIL (3.13t, 3.14t) runs the threads at once. The core
alone is run under ThreadSanitizer by test_c.py, and longer runs of the same calls are made by
benchmarks/thread_stress.py.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import sysconfig
import textwrap
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


def in_new_process(code: str) -> str:
    """The output of code in a process that has used nothing of the package before."""
    done = subprocess.run(
        # A module that does not say that it can do without would turn the GIL on, with a warning.
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        cwd=Path(gs.__file__).parents[1],
        env={key: value for key, value in os.environ.items() if key != "PYTHON_GIL"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_import_leaves_the_gil_off() -> None:
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("an interpreter with a GIL")
    assert in_new_process("import sys, gpusched; print(sys._is_gil_enabled())") == "False"
    assert without_gil()


def test_core_functions_answer_as_alone() -> None:
    expected, others = repeatable(list(core_calls()))
    assert len(expected) > 60 and others == []
    assert differences(expected, THREADS, rounds=3, seed=1) == []


@pytest.mark.long
@pytest.mark.python
def test_documented_calls_answer_as_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(Path(gs.__file__).parents[1])  # of the files that examples read
    expected, others = repeatable(list(documented_calls()))
    assert len(expected) > 400
    # Recorders collect launches, and some answers tell how long they took.
    assert len(others) < len(expected) / 10, others
    # With a GIL two threads find what more of them find, in half the time.
    assert differences(expected, THREADS if without_gil() else 2, rounds=1, seed=1) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_names_are_first_used_by_many_threads(seed: int) -> None:
    code = """
        import random, sys, threading
        import gpusched as gs

        sys.setswitchinterval(1e-5)
        names = [name for name in dir(gs) if not name.startswith("__")]
        random.Random(SEED).shuffle(names)
        start, found = threading.Barrier(8), []

        def work(number):
            start.wait()
            objects = {name: id(getattr(gs, name)) for name in names[number:] + names[:number]}
            gs.GPU.preset("a100"), gs.methods(), gs.analysis.mpcp, gs.pbs.search
            found.append(objects)

        threads = [threading.Thread(target=work, args=(7 * number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8 and all(one == found[0] for one in found)
    """
    in_new_process(code.replace("SEED", str(seed)))


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
    # One function for all threads; in the first of them it raises, which ends that call alone.
    tasks = gs.KernelTasks(period=[1000], block_time=5, blocks=100)
    told: list[tuple[int, int]] = []
    numbers: dict[int, int] = {}

    class Enough(Exception):
        pass

    def progress(done: int, total: int) -> None:
        number = numbers[threading.get_ident()]
        told.append((number, done))
        if number == 0 and done > total // 2:
            raise Enough

    def work(number: int) -> None:
        numbers[threading.get_ident()] = number
        expected = pytest.raises(Enough) if number == 0 else contextlib.nullcontext()
        with expected:
            gs.simulate.fifo(tasks, 1, until=5 * 10**6, waves=False, progress=progress)

    together(THREADS, work)
    for number in range(THREADS):
        mine = [done for who, done in told if who == number]
        assert mine == sorted(mine) and len(mine) > 3
    last = [max(done for who, done in told if who == number) for number in range(THREADS)]
    assert last[0] < last[1] == last[2] == last[3]


@pytest.mark.python
def test_bars_of_many_threads_leave_the_warnings_alone() -> None:
    # The import of tqdm is silenced, which changes the filters of the whole process.
    pytest.importorskip("tqdm")
    in_new_process("""
        import sys, threading, warnings
        from gpusched._support.budget import reporter

        def work():
            start.wait()
            for _ in range(50):
                with reporter(True, 3, "set", delay=60.0) as report:
                    report(1)

        sys.setswitchinterval(1e-5)
        before, start = list(warnings.filters), threading.Barrier(8)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert warnings.filters == before, warnings.filters
    """)


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
