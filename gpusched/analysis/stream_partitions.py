"""Partitions of the tasks of ``gs.analysis.priority_streams``: their SMs, or limits of SMs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array, at_least, frozen, int_array, one_of
from gpusched._support.registry import enumeration
from gpusched.model.kernel_chains import KernelChains

__all__ = ["StreamPartitions"]

_KINDS = enumeration("analysis.priority_streams_partitions")


@dataclass(frozen=True)
class StreamPartitions:
    """Partitions of chains: ``sharing`` is "own", "shared" or "limits"; "" without partitions.

    ``of`` has the shape of ``tasks.period``.
    """

    of: Int64Array | None = None
    sms: tuple[int, ...] | None = None
    sharing: str = ""

    @classmethod
    def read(
        cls, tasks: KernelChains, gpu_sms: int, of: Any, sms: Any, limit: Any, queues: Any
    ) -> StreamPartitions:
        """Check the arguments of ``gs.analysis.priority_streams``."""
        one_of(queues, ("own", "shared"), "queues")
        if of is None:
            for name, given in (("partition_sms", sms), ("partition_limit", limit)):
                if given is not None:
                    raise ValueError(f"{name}: got it without partition, expected both")
            if queues != "own":
                raise ValueError("queues: got 'shared' without partition, expected partitions")
            return cls()
        if (sms is None) == (limit is None):
            both = "neither" if sms is None else "both"
            raise ValueError(
                f"partition: got {both} of partition_sms and partition_limit, expected one of them"
            )
        if limit is not None and queues != "own":
            raise ValueError(
                "queues: got 'shared' with partition_limit, expected it with partition_sms; with "
                "limits queues are shared in any case"
            )
        name, given = ("partition_sms", sms) if limit is None else ("partition_limit", limit)
        column = int_array(given, name)
        if column.ndim != 1 or len(column) == 0:
            raise ValueError(f"{name}: got shape {column.shape}, expected one number per partition")
        at_least(column, 1, name)
        column = column if limit is None else np.minimum(column, gpu_sms)
        place = int_array(of, "partition")
        try:
            place = np.ascontiguousarray(np.broadcast_to(place, tasks.period.shape))
        except ValueError:
            raise ValueError(
                f"partition: got shape {place.shape}, expected {tasks.period.shape}, one per task"
            ) from None
        sharing = str(queues) if limit is None else "limits"
        return cls(frozen(place), tuple(column.tolist()), sharing)

    def arguments(self) -> dict[str, Any]:
        """The core's arguments."""
        if self.of is None:
            return {"partition": None, "partition_sms": None, "kind": 0}
        return {
            "partition": self.of if self.of.ndim == 2 else self.of[None],
            "partition_sms": np.array(self.sms, np.int64),
            "kind": _KINDS.index(self.sharing),
        }
