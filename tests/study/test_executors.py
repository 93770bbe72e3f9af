"""Every executor gives the same table; lost workers, failures and interrupts; resuming.

Executors of other packages are tested where these are installed (the extra ``cluster``).
"""

import functools
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import cluster_study
import numpy as np
import pytest

import gpusched as gs
from gpusched.study.workers import width_of

pytestmark = pytest.mark.python

KINDS = {"threads": None, "processes": None, "loky": "loky", "dask": "distributed",
         "dask-executor": "distributed", "mpi": "mpi4py"}  # fmt: skip
SCRIPT = Path(cluster_study.__file__)
MPIEXEC = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which("mpiexec")


def command(kind, store):
    package = KINDS[kind]
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    if kind != "mpi":
        return [sys.executable, str(SCRIPT), kind, str(store)]
    if MPIEXEC is None:
        pytest.skip("no mpiexec")
    python = [sys.executable, "-m", "mpi4py.futures"]
    return [MPIEXEC, "-n", "3", *python, str(SCRIPT), kind, str(store)]


def environment(mark=None):
    paths = [str(Path(gs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    held = {**os.environ, "PYTHONPATH": os.pathsep.join(paths).rstrip(os.pathsep)}
    return held if mark is None else {**held, "STUDY_MARK": str(mark)}


@functools.cache
def expected():
    return str(
        cluster_study.rows(
            gs.sweep(cluster_study.study, cluster_study.GRID, workers=1, **cluster_study.OPTIONS)
        )
    )


def whole(kind, store):
    """Run the study to its end: the numbers of sets that were done, and the table."""
    done = subprocess.run(
        command(kind, store), capture_output=True, text=True, env=environment(), timeout=120
    )
    assert done.returncode == 0, done.stderr
    *counts, table = done.stdout.splitlines()
    return [int(line.split()[0]) for line in counts], table


@pytest.mark.parametrize("kind", KINDS)
def test_every_executor_gives_the_same_table(tmp_path, kind):
    counts, table = whole(kind, tmp_path / "store")
    assert table == expected()
    assert counts[-1] == 240 and counts == sorted(counts)


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("threads", "dask-executor")]
)
def test_a_killed_worker_ends_the_sweep_and_the_store_resumes(tmp_path, kind):
    store, mark = tmp_path / "store", tmp_path / "mark"
    ended = subprocess.run(
        command(kind, store), capture_output=True, text=True, env=environment(mark), timeout=120
    )
    assert mark.exists() and ended.returncode != 0
    if kind != "mpi":  # a killed rank ends an MPI job
        assert "SweepError: at priority=" in ended.stderr
        assert "a worker was lost" in ended.stderr
    counts, table = whole(kind, store)
    assert table == expected()
    assert counts[0] > 4, "something was in the store"


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "dask-executor"])
def test_an_interrupted_sweep_resumes(tmp_path, kind):
    store = tmp_path / "store"
    with subprocess.Popen(
        command(kind, store),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    ) as process:
        for line in process.stdout:
            if int(line.split()[0]) >= 60:
                # As a terminal does: to all processes of the session's group.
                os.killpg(process.pid, signal.SIGINT)
                break
        _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    if kind != "mpi":
        assert "KeyboardInterrupt" in errors
    counts, table = whole(kind, store)
    assert table == expected()
    assert 40 < counts[0] < 240


# Failures ----------------------------------------------------------------------------------------


class Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def fails(*, level, count, first, seed):
    if level == 2:
        raise Unpicklable("this", "that")
    return {"a": np.zeros(count)}


def processes():
    import multiprocessing

    return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))


def test_an_error_that_cannot_travel_names_its_point():
    with processes() as pool:
        with pytest.raises(gs.SweepError, match=r"at level=2, .*: Unpicklable: this and that") as e:
            gs.sweep(fails, {"level": [1, 2, 3]}, count=6, executor=pool, progress=False)
        assert e.value.point == {"level": 2} and e.value.__cause__ is None
        assert "raise Unpicklable" in "".join(e.value.__notes__)
        assert pool.submit(int).result() == 0, "the pool is whole"


class Failing(Executor):
    """Runs calls in place; the pool breaks with, or after, a failure of the function."""

    def __init__(self, breaks):
        self.breaks = breaks
        self.calls = 0

    def submit(self, function, call):
        self.calls += 1
        if self.calls > self.breaks:
            raise BrokenProcessPool("a child process terminated")
        future = Future()
        future.set_result(function(call))
        return future


def test_a_failure_and_a_lost_worker():
    grid = {"level": [2, 1, 3]}
    with pytest.raises(gs.SweepError, match=r"at level=2, .*Unpicklable: this and that"):
        gs.sweep(fails, grid, count=1, executor=Failing(3), progress=False)
    with pytest.raises(gs.SweepError, match=r"a worker was lost \(BrokenProcessPool") as caught:
        gs.sweep(fails, {"level": [1, 3]}, count=1, executor=Failing(1), progress=False)
    assert caught.value.point["level"] in (1, 3)
    with pytest.raises(gs.SweepError, match=r"at level=2.*: a worker was lost|at level=2.*Unpick"):
        gs.sweep(fails, grid, count=1, executor=Failing(1), progress=False)


def test_an_executor_that_was_shut_down():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(gs.SweepError, match=r"at level=1, .*\(RuntimeError: cannot schedule new"):
        gs.sweep(fails, {"level": [1]}, count=1, executor=pool, progress=False)


def test_widths_of_executors():
    assert width_of(ThreadPoolExecutor(3)) == 3
    assert width_of(Failing(1)) == 64

    class Client:
        def nthreads(self):
            return {"one": 8, "two": 4}

    class Dask(Executor):
        _client = Client()

    assert width_of(Dask()) == 12


class Wide(Executor):
    """As wide as a cluster; runs calls once so many of them are in flight."""

    _max_workers = 512

    def __init__(self):
        self.waiting = []
        self.most = 0

    def submit(self, function, call):
        future = Future()
        self.waiting.append((future, function, call))
        self.most = max(self.most, len(self.waiting))
        if len(self.waiting) == 512 or self.most >= 512:
            for ready, run, given in self.waiting:
                ready.set_result(run(given))
            self.waiting.clear()
        return future


def test_wide_executors_are_kept_busy():
    def study(*, x, count, first, seed):
        return {"a": np.zeros(count)}

    wide = Wide()
    gs.sweep(study, {"x": range(2000)}, count=1, executor=wide, progress=False)
    assert wide.most >= 512
