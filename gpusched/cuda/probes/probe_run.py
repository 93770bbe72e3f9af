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
from gpusched.cuda.probes import block_order, carveouts, interference, queues
from gpusched.cuda.probes.bench import Bench, Finding, attempt
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
        Slowdown of a kernel with memory traffic by another one on the same SM, on the neighbouring
        SM (ids 2i and 2i+1 are assumed to form a GPC, as on the paper's GPU), on other SMs, and by
        copies, in the form of ``Launches.interference``. None if it was not measured.
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
    device: Device, *, quick: bool, say: Callable[[str], None], processes: Sequence[int]
) -> Probe:
    """See ``gpusched.cuda.probe``."""
    bench = Bench(device, quick)
    findings: list[Finding] = []
    for name, ask in steps(bench, processes):
        findings.append(attempt(name, ask))
        say(findings[-1].line())
    factors = interference.interference_of(findings)
    return Probe(bench.gpu, tuple(findings), factors, bench.log)


def steps(bench: Bench, processes: Sequence[int]) -> list[tuple[str, Callable[[], Finding]]]:
    """All probes with their names, in order; those after the SM order depend on it."""
    for count in processes:
        if not 1 <= integer(count, "processes") <= MOST_PROCESSES:
            raise ValueError(f"processes: got {count}, expected 1 to {MOST_PROCESSES}")
    return [
        ("timer", partial(block_order.timer, bench)),
        ("occupancy", partial(block_order.occupancy, bench)),
        ("sm order", partial(block_order.sm_order, bench)),
        ("tables II and III", partial(block_order.pairs, bench)),
        ("III.2 or most room", partial(block_order.third_kernel, bench)),
        ("shared memory", partial(block_order.shared_memory, bench)),
        ("carve-outs", partial(carveouts.carveouts, bench)),
        ("registers", partial(block_order.registers, bench)),
        ("mixtures", partial(block_order.mixtures, bench)),
        ("channels", partial(queues.channels, bench)),
        ("NULL stream", partial(queues.null_stream, bench)),
        ("queues", partial(queues.queues, bench)),
        ("figure 9", partial(interference.neighbours, bench)),
        ("copy engine", partial(interference.copies, bench)),
        ("figure 8", partial(interference.footprints, bench)),
        ("figure 7", partial(interference.other_processes, bench, processes)),
    ]
