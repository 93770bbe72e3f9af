"""A study on an executor of the caller's choice; run by test_executors.py as a program.

    python cluster_study.py EXECUTOR STORE

EXECUTOR is threads, processes, loky, dask, dask-executor or mpi (under mpiexec, with
``-m mpi4py.futures``). The environment variable STUDY_MARK names a file: while it is not there, a
worker makes it and kills its process. The number of sets that are done goes to standard output, at
the end the table.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import time

import numpy as np

import gpusched as gs
from gpusched._support.arguments import spawn

GRID = {"priority": [1, 2, 3], "key": [0.3], "workers": [1, 2], "retries": [0]}
OPTIONS = {
    "count": 40,
    "seed": 5,
    "reduce": {"u": [gs.reductions.Mean(), gs.reductions.Extremes()]},
}


def study(*, priority, key, workers, retries, count, first, seed):
    """Four parameters that executors have for themselves."""
    u = np.array([np.random.default_rng(spawn(seed, first + i)).random() for i in range(count)])
    time.sleep(0.004)
    mark = os.environ.get("STUDY_MARK")
    if mark and priority == 2 and workers == 2 and first >= 20 and not os.path.exists(mark):
        with open(mark, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    return {"met": u < priority * key + retries, "u": u * workers}


@contextlib.contextmanager
def executor(kind):
    """An executor of each kind, started from its own package."""
    if kind == "threads":
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(2) as pool:
            yield pool
    elif kind == "processes":
        from concurrent.futures import ProcessPoolExecutor

        # Ctrl-C goes to all processes of a terminal: a worker that it ends may hold a lock of the
        # pool, which then never ends.
        spawned = multiprocessing.get_context("spawn")
        quiet = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}
        with ProcessPoolExecutor(2, spawned, **quiet) as pool:
            yield pool
    elif kind == "loky":
        from loky import get_reusable_executor

        pool = get_reusable_executor(max_workers=2)
        yield pool
        pool.shutdown()
    elif kind == "mpi":
        from mpi4py.futures import MPIPoolExecutor

        with MPIPoolExecutor() as pool:
            yield pool
    else:
        import dask
        from distributed import Client, LocalCluster

        dask.config.set({"distributed.scheduler.allowed-failures": 0})
        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            yield client if kind == "dask" else client.get_executor()


def main(kind, store):
    def said(done, total):
        print(done, total, flush=True)

    with executor(kind) as pool:
        table = gs.sweep(study, GRID, executor=pool, store=store, chunk=4, progress=said, **OPTIONS)
    print(rows(table))


def rows(table):
    """The columns as Python's numbers, whose text is exact."""
    return {name: column.tolist() for name, column in table.columns.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
