"""State and findings of the probes of a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusched.cuda.device import Device, Operation
from gpusched.io.block_log import BlockLog
from gpusched.model.gpu import GPU

MS = 1_000_000


@dataclass(frozen=True)
class Finding:
    """Result of one probe.

    Attributes
    ----------
    probe
        Name of the probe.
    status
        "pass" or "fail" for a comparison with an expectation, "unclear" for one that the runs do
        not decide, "figure" for a measurement, "skip" when the probe cannot run on the device.
    text
        A sentence with the figure, or the first disagreement.
    data
        Details, of values that JSON can hold. A probe of a rule has the rule that it found as
        "rule", None where it cannot tell, and the rule that the package assumes as "assumed". A
        value is None where nothing was measured.
    """

    probe: str
    status: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """Line of a table of findings."""
        return f"{self.status:7} {self.probe:22} {self.text}"


def attempt(name: str, ask: Callable[[], Finding]) -> Finding:
    """Run a probe; an exception becomes a finding with status "fail"."""
    try:
        return ask()
    except (RuntimeError, ValueError, OSError, OverflowError, MemoryError) as error:
        text = f"{type(error).__name__}: {error.args[0] if error.args else ''}"
        return Finding(name, "fail", text, {})


UNDECIDED = "undecided"
"""Vote of a run that none of the known readings explains."""


def decided(
    probe: str, votes: Sequence[str | None], assumed: str, data: dict[str, Any] | None = None
) -> Finding:
    """Finding about a rule, of one vote per run.

    A vote is the only reading that explains a run, None where several do, or ``UNDECIDED`` where
    none does. The rule is found if at least one run votes, and all that vote agree.
    """
    cast = [vote for vote in votes if vote is not None]
    found = cast[0] if len(set(cast)) == 1 and UNDECIDED not in cast else None
    counts = {vote: cast.count(vote) for vote in sorted(set(cast))}
    told = ", ".join(f"{vote} in {count}" for vote, count in counts.items()) or "no run tells"
    told += f" of {len(votes)} runs"
    facts = {"rule": found, "assumed": assumed, "votes": counts, **(data or {})}
    if found is None:
        return Finding(probe, "unclear", f"cannot tell: {told}; assumed: {assumed}", facts)
    if found == assumed:
        return Finding(probe, "pass", f"{told}, as assumed", facts)
    return Finding(probe, "fail", f"{told}; assumed: {assumed}", facts)


def quantiles(values: Any, unit: float = 1.0) -> dict[str, Any] | None:
    """Minimum, quantiles and maximum of samples, with their number; None without samples."""
    samples = np.asarray(values, np.float64).ravel() / unit
    if not samples.size:
        return None
    shares = {"min": 0.0, "p50": 0.5, "p99": 0.99, "p999": 0.999, "p9999": 0.9999, "max": 1.0}
    found = np.quantile(samples, list(shares.values())).tolist()
    return {"n": samples.size, **dict(zip(shares, found, strict=True))}


STEADY = 0.01
"""Relative difference of the times of the same work on a device whose clocks are steady."""
MOST_WARM_NS = 1_000_000_000
_SAMPLES = 16


class Bench:
    """A device under test with the results that later probes use."""

    def __init__(self, device: Device, quick: bool) -> None:
        self.device = device
        self.quick = quick
        self.gpu: GPU = device.gpu  # with its measured SM order, once that is known
        self.log: BlockLog | None = None  # of the probe of the queues
        self.gpcs: list[list[int]] | None = None  # SMs of each GPC, once that is known
        self.warmed: dict[str, Any] | None = None

    def warm(self, most_ns: int = MOST_WARM_NS) -> dict[str, Any]:
        """Keep the device busy until the same work takes the same time; once.

        The result has the host time and the duration of each run, in ns, and the time after which
        the durations were steady; None where they were not within ``most_ns``.
        """
        if self.warmed is not None:
            return self.warmed
        work = Operation(blocks=self.gpu.sms, threads=128, iterations=500_000)
        series: list[tuple[int, int]] = []
        began, steady = 0, None
        while steady is None and (not series or series[-1][0] < most_ns):
            run = self.device.run([work])
            began = began or int(run.begin[0])
            took = int((run.block_end - run.block_start).max())
            series.append((int(run.end[0]) - began, took))
            last = [took for _, took in series[-_SAMPLES:]]
            if len(last) == _SAMPLES and max(last) <= (1 + STEADY) * min(last):
                steady = series[-_SAMPLES][0]
        self.warmed = {"steady_after_ns": steady, "series": series}
        return self.warmed

    def repeats(self, few: int, many: int) -> int:
        """Number of repetitions of a run."""
        return few if self.quick else many

    @property
    def spin_gpu(self) -> GPU:
        """The GPU for spin kernels, which all prefer the same carve-out for shared memory."""
        return self.gpu.replace(carveout_rule="ignore")
