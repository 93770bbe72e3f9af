"""Simulation of a whole machine: CPUs, copy engines and GPUs under one rule of sharing.

The model is that of ``csrc/simulate/machine/machine.h``, as arrays. `machine_models` of
``gpusched.comparison`` derives them from workloads.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, frozen, seed_key, set_number, some_of
from gpusched._support.budget import Budget, Progress, as_budget, within_seconds
from gpusched._support.registry import enumeration, limit
from gpusched.model.gpu import GPU
from gpusched.simulate.run_results import run_to_end

NEVER = limit("model.never")
"""End of a simulation that goes on until nothing is left."""

MACHINE_LOGS = ("jobs", "operations", "blocks", "cpus")
"""Logs of a simulation."""

_COLUMNS = {
    log: enumeration(f"simulate.machine_{log}")
    for log in ("job", "operation", "block", "cpu", "slice")
}


@dataclass(frozen=True)
class MachineModel:
    """A machine and its programs, as ``csrc/simulate/machine/machine_model.h`` describes them.

    Attributes
    ----------
    gpus
        The devices.
    columns
        The arrays, by the names of the core.
    numbers
        Costs, times and enumerators, by the names of the core.
    """

    gpus: tuple[GPU, ...]
    columns: Mapping[str, Int64Array | None]
    numbers: Mapping[str, int]


@dataclass(frozen=True)
class MachineLogs:
    """Numbers and logs of a simulation of a whole machine, as the core has them.

    Times are in ticks; -1 stands for what has not happened.

    Attributes
    ----------
    worst, late, released
        Per task: the largest response, from the arrival on and of a job that has not ended what it
        has taken so far; the number of jobs that ended late, or have not ended within their
        deadlines; the number of jobs released.
    jobs, operations, blocks, cpu, slices
        Logs as columns by name. Jobs are in the order of their releases, operations in that of
        their calls, blocks in that of their starts. ``blocks["operation"]`` is a row of
        ``operations``; a task in ``cpu`` that is the number of tasks is a server, and ``what`` is a
        number of ``enumeration("simulate.machine_activity")``. A log that was not asked for is
        empty.
    now
        Last instant of the simulation.
    reason
        The budget that was used up, or None.
    """

    worst: Int64Array
    late: Int64Array
    released: Int64Array
    jobs: Mapping[str, Int64Array]
    operations: Mapping[str, Int64Array]
    blocks: Mapping[str, Int64Array]
    cpu: Mapping[str, Int64Array]
    slices: Mapping[str, Int64Array]
    now: int
    reason: str | None


def run_machine(
    model: MachineModel,
    *,
    log: Any = ("jobs",),
    seed: Any = None,
    index: int = 0,
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
) -> MachineLogs:
    """Simulate a machine to its end, or until a budget is used up.

    Parameters
    ----------
    model
        The machine, its programs, and what is drawn.
    log
        Names of `MACHINE_LOGS`; "blocks" implies "operations", which have the services of contexts
        with them.
    seed, index
        Seed (an int, a ``SeedSequence``, a ``Generator`` or None), and index of the run under it.
    budget
        A ``gs.Budget``, whose ``states`` limits jobs and blocks. Default: 2 GiB.
    progress
        A callable (now, until), in ticks, or a bool that turns a progress bar on or off; by default
        a bar appears in a terminal or a notebook after one second. Bars need tqdm.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Raises
    ------
    ValueError, OverflowError
        The core refuses a number of the model, or an end is at 2**61 ticks or later.
    gpusched.Cancelled
        ``stop`` was set.
    """
    logs = some_of(log, MACHINE_LOGS, "log")
    budget = as_budget(budget)
    timed = within_seconds(stop, budget.seconds)
    simulation = _open(model, logs, seed, index, 0, timed)
    total = min(model.numbers["until"], model.numbers["last"])
    ended = run_to_end(simulation, budget, progress, timed, total=total, unit="tick")
    worst, late, released = map(frozen, simulation.result())
    return MachineLogs(
        worst=worst,
        late=late,
        released=released,
        jobs=_log("job", simulation.jobs()),
        operations=_log("operation", simulation.operations()),
        blocks=_log("block", simulation.blocks()),
        cpu=_log("cpu", simulation.cpus()),
        slices=_log("slice", simulation.slices()),
        now=ended.now,
        reason=ended.reason,
    )


@dataclass(frozen=True)
class MachineStack:
    """Numbers of runs of one machine that differ in what is drawn.

    Attributes
    ----------
    worst, late, released
        Per run and task, ``(runs, n)``: the largest response, -1 without a job; the numbers of jobs
        that ended late, or had not ended within their deadlines, and of jobs released.
    left
        Per run: jobs that had not ended; their responses are what they had taken.
    task, edge, count
        Bins of the responses of each task, ascending: their largest numbers and how many responses
        they have. They are exact below 256 and less than 1/128 wide from there on.
    reason
        The budget that was used up before all runs were done, or None.

    Times are in units of the model's grain; ends are rounded up.
    """

    worst: Int64Array
    late: Int64Array
    released: Int64Array
    left: Int64Array
    task: Int64Array
    edge: Int64Array
    count: Int64Array
    reason: str | None


def stack_machine(
    model: MachineModel,
    runs: int,
    *,
    seed: Any = None,
    index: int = 0,
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
) -> MachineStack:
    """Simulate a machine so many times, from ``index`` on, without logs.

    Run i has the draws of the run with ``index + i``. Arguments and exceptions are as in
    `run_machine`; ``progress`` counts runs, and ``states`` limits the jobs and blocks of all.
    """
    budget = as_budget(budget)
    timed = within_seconds(stop, budget.seconds)
    simulation = _open(model, (), seed, index, runs, timed)
    ended = run_to_end(simulation, budget, progress, timed, total=runs, unit="run")
    rows, (left,), bins = simulation.stack()
    n = len(_column_of(model))
    worst, late, released = (frozen(column.reshape(-1, n)) for column in rows)
    task, edge, count = map(frozen, bins)
    return MachineStack(worst, late, released, frozen(left), task, edge, count, ended.reason)


def _column_of(model: MachineModel) -> Int64Array:
    found = model.columns["period"]
    assert found is not None
    return found


def _open(
    model: MachineModel, logs: Container[str], seed: Any, index: int, runs: int, stop: Any
) -> _core.MachineSimulation:
    """A simulation, or a stack, at its start."""
    columns: dict[str, Any] = dict(model.columns)
    numbers: dict[str, Any] = dict(model.numbers)
    return _core.machine_open(
        [(gpu._limits, gpu.sm_order) for gpu in model.gpus],
        **columns,
        **numbers,
        key=seed_key(seed),
        index=set_number(index, "index"),
        runs=runs,
        log_jobs="jobs" in logs,
        log_operations="operations" in logs or "blocks" in logs,
        log_blocks="blocks" in logs,
        log_cpus="cpus" in logs,
        stop=stop,
    )


def _log(name: str, columns: tuple[Int64Array, ...]) -> dict[str, Int64Array]:
    """The columns of a log by name."""
    return {
        key: frozen(np.asarray(column)) for key, column in zip(_COLUMNS[name], columns, strict=True)
    }
