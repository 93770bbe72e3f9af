"""Execution times of kernels on k SMs ([RTCSA19], Figure 3), with green contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._core import CudaError
from gpusched._support.arguments import Int64Array, frozen
from gpusched._support.tabular import Tabular, frame_of
from gpusched.cuda.device import Device, Operation

if TYPE_CHECKING:
    import pandas as pd

NO_SUCH_PARTITION = 915
"""CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION."""


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
    asked = sorted(set(range(8, most, 8)) | {most}) if sms is None else sorted({*map(int, sms)})
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
            if sms is None and k != most and error.args[2] == NO_SUCH_PARTITION:
                continue
            raise
        rows[runs[0].sms] = [run.elapsed[1:] for run in runs]  # without the first one, a warm-up
    names = tuple(op.name or f"kernel {i}" for i, op in enumerate(kernels))
    had = sorted(rows)
    samples = np.stack([np.stack([rows[k][i] for k in had]) for i in range(len(kernels))])
    return PartitionTimes(names, frozen(np.array(had, np.int64)), frozen(samples))


def _alone(op: Operation) -> Operation:
    return replace(op, stream=0, at=0)
