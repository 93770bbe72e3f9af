"""Measured oracle: completion time and eligibility of every batch on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._core import CudaError
from gpusched._support.arguments import Int64Array, frozen, one_of
from gpusched._support.tabular import Tabular, frame_of
from gpusched.cuda.device import Device, Operation
from gpusched.model.batch_table import BatchTable
from gpusched.model.batches import members, names_of
from gpusched.model.gpus.gpu_presets import partition_unit
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    import pandas as pd

NO_SUCH_PARTITION = (1, 914, 915)
"""CUDA_ERROR_INVALID_VALUE, _INVALID_RESOURCE_TYPE, _INVALID_RESOURCE_CONFIGURATION."""


@dataclass(frozen=True, eq=False, repr=False)
class PartitionTimes(Tabular):
    """Times of n kernels on K partitions of growing size, measured R times.

    Attributes
    ----------
    name
        Names of the kernels.
    sms
        Number of SMs of each partition as made by the driver (which rounds up), ascending; shape
        ``(K,)``.
    samples
        Time in ns from before the launch to the return of the wait; shape ``(n, K, R)``.
    """

    name: tuple[str, ...]
    sms: Int64Array
    samples: Int64Array

    @property
    def worst(self) -> Int64Array:
        """Longest samples, shape ``(n, K)``."""
        worst: Int64Array = self.samples.max(axis=2)
        return worst

    def times(self, sms: int) -> Int64Array:
        """Upper bounds G(k) for k = 1 .. sms, shape ``(n, sms)``, the input of STGM.

        The bound for k SMs is the time on the largest measured partition with at most k SMs, made
        monotone in k ([RTCSA19], section III). It is -1 for fewer SMs than the smallest partition
        has.
        """
        bound = np.maximum.accumulate(self.worst[:, ::-1], axis=1)[:, ::-1]
        at = np.searchsorted(self.sms, np.arange(1, sms + 1), side="right") - 1
        return frozen(np.where(at >= 0, bound[:, np.maximum(at, 0)], np.int64(-1)))

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with the columns kernel, sms, worst, median."""
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        n, count = self.worst.shape
        return {
            "kernel": np.repeat(np.array(self.name, dtype=object), count),
            "sms": np.tile(self.sms, n),
            "worst": self.worst.ravel(),
            "median": np.median(self.samples, axis=2).ravel(),
        }

    def __repr__(self) -> str:
        return f"<PartitionTimes: {len(self.name)} kernels on {self.sms.tolist()} SMs>"


def partition_times(
    device: Device, kernels: Sequence[Operation], sms: Sequence[int] | None, repeats: int, stop: Any
) -> PartitionTimes:
    """See ``gpusched.cuda.partition_times``."""
    most = device.gpu.sms
    if not kernels:
        raise ValueError("kernels: got none, expected at least one")
    if repeats < 1:
        raise ValueError(f"repeats: got {repeats}, expected a positive number")
    unit = partition_unit(device.gpu.cc)
    usual = {*range(unit, most, unit), most}
    asked = sorted(usual) if sms is None else sorted({*map(int, sms)})
    if not asked or asked[0] < 1 or asked[-1] > most:
        raise ValueError(f"sms: got {asked}, expected 1 to {most}")
    rows: dict[int, list[Int64Array]] = {}
    for k in asked:
        try:
            runs = [
                device.run([op], sms=k, repeats=repeats + 1, stop=stop)
                for op in (_alone(op) for op in kernels)
            ]
        except CudaError as error:
            # Not every size is supported: the SMs of a cluster cannot be separated.
            if sms is None and k != most and error.args[2] in NO_SUCH_PARTITION:
                continue
            raise
        rows[runs[0].sms] = [run.elapsed[1:] for run in runs]  # without the first one, a warm-up
    names = tuple(op.name or f"kernel {i}" for i, op in enumerate(kernels))
    had = sorted(rows)
    samples = np.stack([np.stack([rows[k][i] for k in had]) for i in range(len(kernels))])
    return PartitionTimes(names, frozen(np.array(had, np.int64)), frozen(samples))


def _alone(op: Operation) -> Operation:
    return replace(op, stream=0, at=0)


STATISTICS = ("worst", "median", "mean")
MOST_TASKS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Measurement(Tabular):
    """Completion times of every batch of n tasks, measured R times.

    Attributes
    ----------
    tasks
        The task set.
    samples
        Time in ns from before the first launch of the batch to the return of the wait for all
        kernels; shape ``(2**n, R)``, 0 for the empty batch and for batches that are not eligible.
    eligible
        Bool of shape ``(2**n,)``: whether there is an order of submission in which all blocks of
        all kernels were resident at the same time in every run. Single tasks are eligible.
    order
        Shape ``(2**n, n)``: the order of submission of the samples, followed by -1.
    tried
        Shape ``(2**n,)``: number of orders tried.
    tick
        Length of a tick in ns.
    """

    tasks: KernelTasks
    samples: Int64Array
    eligible: npt.NDArray[np.bool_]
    order: npt.NDArray[np.int8]
    tried: Int64Array
    tick: int

    def table(self, statistic: str = "worst") -> BatchTable:
        """Make a batch table in ticks, rounded up, from "worst", "median" or "mean" samples."""
        one_of(statistic, STATISTICS, "statistic")
        if statistic == "worst":
            ns = self.samples.max(axis=1)
        else:
            middle = np.median if statistic == "median" else np.mean
            ns = np.ceil(np.asarray(middle(self.samples, axis=1))).astype(np.int64)
        return BatchTable(-(-ns // self.tick), order=self.order)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per sample: tasks, names, sample, ns.

        ``tasks`` are the indices of the tasks of the batch in their order of submission, and
        ``names`` their names.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        mask, sample = np.nonzero(self.samples)
        orders = {m: tuple(i for i in self.order[m].tolist() if i >= 0) for m in set(mask.tolist())}
        columns: dict[str, Any] = {"tasks": [orders[m] for m in mask.tolist()]}
        columns["names"] = [names_of(tasks, self.tasks.name) for tasks in columns["tasks"]]
        return {**columns, "sample": sample, "ns": self.samples[mask, sample]}

    def __repr__(self) -> str:
        n = self.tasks.n
        return (
            f"<Measurement: {int(self.eligible.sum()) - n} of {2**n - 1 - n} batches of two or "
            f"more eligible, {self.samples.shape[1]} samples each>"
        )


def measure(
    device: Device,
    tasks: KernelTasks,
    kernels: Sequence[Operation],
    repeats: int,
    orders: int,
    checks: int,
    tick: int,
    stop: Any,
) -> Measurement:
    """See ``gpusched.cuda.measure``."""
    n = tasks.n
    if n > MOST_TASKS:
        raise ValueError(f"tasks: got {n} tasks ({2**n} batches), expected at most {MOST_TASKS}")
    for name, value in (("repeats", repeats), ("orders", orders), ("checks", checks)):
        if value < 1:
            raise ValueError(f"{name}: got {value}, expected a positive number")
    believed = None
    if any(op.kind == "graph" for op in kernels):
        # Blocks of graphs are not recorded: eligibility follows from the declared shapes.
        believed = BatchTable.from_gpu(tasks, device.gpu, slowdown=None)
    samples = np.zeros((2**n, repeats), np.int64)
    eligible = np.zeros(2**n, np.bool_)
    order = np.full((2**n, n), -1, np.int8)
    tried = np.zeros(2**n, np.int64)
    for mask in range(1, 2**n):
        found: tuple[int, ...] | None = None
        group = members(mask)
        if len(group) == 1:
            found = group
        elif believed is not None:
            if believed.completion[mask] > 0:
                found = believed.submission_order(mask)
        else:
            for candidate in _orders(kernels, group, orders):
                tried[mask] += 1
                if _fit([kernels[i] for i in candidate], device, checks, stop):
                    found = candidate
                    break
        if found is None:
            continue
        eligible[mask] = True
        order[mask, : len(found)] = found
        run = device.run(_streams([kernels[i] for i in found]), repeats=repeats + 1, stop=stop)
        samples[mask] = run.elapsed[1:]  # without the first one, a warm-up
    return Measurement(tasks, frozen(samples), frozen(eligible), frozen(order), frozen(tried), tick)


def _streams(kernels: Sequence[Operation]) -> list[Operation]:
    return [replace(op, stream=stream, at=0) for stream, op in enumerate(kernels)]


def _orders(kernels: Sequence[Operation], group: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """Orders of submission: by index, by decreasing size of the blocks, then all others."""
    by_size = sorted(group, key=lambda i: (-kernels[i].threads, -kernels[i].smem, i))
    found = {tuple(group): None, tuple(by_size): None}
    for candidate in permutations(group):
        if len(found) >= most:
            break
        found[candidate] = None
    return list(found)[:most]


def _fit(kernels: Sequence[Operation], device: Device, checks: int, stop: Any) -> bool:
    """True when all blocks are resident at one instant in every run.

    The blocks last until all kernels are submitted; otherwise a short kernel would end before the
    last one is launched.
    """
    lasting = [replace(op, iterations=0, ns=1_000_000 + 50_000 * len(kernels)) for op in kernels]
    run = device.run(_streams(lasting), repeats=checks, stop=stop)
    return bool(run.resident_at_once.all())
