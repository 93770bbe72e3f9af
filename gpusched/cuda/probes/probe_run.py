"""Probes of the rules of the scheduling hierarchy on a device.

Each probe launches kernels that last until all are submitted, and compares the SMs and times of
their blocks with the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from gpusched._support.arguments import integer
from gpusched.cuda.device import Device
from gpusched.cuda.probes import (
    block_order,
    interference,
    partitions,
    queues,
)
from gpusched.cuda.probes.bench import Bench, Finding, attempt, time_slices
from gpusched.io.block_log import BlockLog
from gpusched.model.gpu import GPU

MOST_PROCESSES = 64


@dataclass(frozen=True, eq=False)
class Probe:
    """Result of the probes of a device.

    Attributes
    ----------
    gpu
        The device as a GPU, with its measured SM order.
    findings
        One finding per probe.
    interference
        Slowdown of a kernel with memory traffic by another one on the same SM, on other SMs of its
        GPC, in other GPCs, and by copies, in the form of ``Launches.interference``. None if one of
        them was not measured.
    log
        Log of kernels in streams of several priorities, for ``gs.io.write_examiner`` and
        ``gs.io.check_rules``; None if they did not run.
    """

    gpu: GPU
    findings: tuple[Finding, ...]
    interference: tuple[float, float, float, float] | None
    log: BlockLog | None

    @property
    def agrees(self) -> bool:
        """Whether no probe failed."""
        return all(found.status != "fail" for found in self.findings)

    def finding(self, probe: str) -> Finding:
        """The finding with this name; KeyError if there is none."""
        for found in self.findings:
            if found.probe == probe:
                return found
        raise KeyError(probe)

    def __repr__(self) -> str:
        counts = {s: sum(f.status == s for f in self.findings) for s in ("pass", "fail")}
        return f"<Probe of {self.gpu.name}: {counts['pass']} passed, {counts['fail']} failed>"


def probe(
    device: Device, *, quick: bool, say: Callable[[str], None], others: Sequence[int]
) -> Probe:
    """See ``gpusched.cuda.probe``."""
    bench = Bench(device, quick)
    findings: list[Finding] = []
    for name, ask in steps(bench, others):
        findings.append(attempt(name, ask))
        say(findings[-1].line())
    factors = interference.interference_of(findings)
    return Probe(bench.gpu, tuple(findings), factors, bench.log)


PROBES: dict[str, Callable[[Bench], Finding]] = {
    "timer": block_order.timer,
    "warm-up": queues.warm_up,
    "occupancy": block_order.occupancy,
    "sm order": block_order.sm_order,
    "sm order after others": block_order.order_after_others,
    "tables II and III": block_order.pairs,
    "III.2 or most room": block_order.third_kernel,
    "shared memory": block_order.shared_memory,
    "carve-outs": block_order.carveouts,
    "registers": block_order.registers,
    "mixtures": block_order.mixtures,
    "channels": queues.channels,
    "resident grids": queues.resident_grids,
    "NULL stream": queues.null_stream,
    "queues": queues.queues,
    "preemption": queues.preemption,
    "GPCs": partitions.gpcs,
    "first GPC": partitions.first_gpc,
    "green contexts": partitions.green_contexts,
    "copy directions": queues.copy_directions,
    "programmatic launch": queues.programmatic,
    "launch overhead": queues.overhead,
    "time slices": time_slices,
    "MPS shares": partitions.mps_shares,
    "client queues": partitions.client_queues,
    "figure 9": interference.neighbours,
    "copy engine": interference.copies,
    "figure 8": interference.footprints,
    "kinds of work": interference.kinds,
}
"""All probes but "figure 7", in order; those after the SM order and the GPCs depend on them."""


def steps(bench: Bench, others: Sequence[int]) -> list[tuple[str, Callable[[], Finding]]]:
    """All probes with their names, in order; ``others``: numbers of other processes."""
    for count in others:
        if not 1 <= integer(count, "processes") <= MOST_PROCESSES:
            raise ValueError(f"processes: got {count}, expected 1 to {MOST_PROCESSES}")
    made: list[tuple[str, Callable[[], Finding]]] = [
        (name, partial(ask, bench)) for name, ask in PROBES.items()
    ]
    made.append(("figure 7", partial(interference.other_processes, bench, others)))
    return made
