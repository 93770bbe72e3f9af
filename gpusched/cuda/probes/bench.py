"""State and findings of the probes of a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpusched.cuda.device import Device
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
        "pass" or "fail" for a comparison with an expectation, "figure" for a measurement, "skip"
        when the probe cannot run on the device.
    text
        A sentence with the figure, or the first disagreement.
    data
        Details, of values that JSON can hold.
    """

    probe: str
    status: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """Line of a table of findings."""
        return f"{self.status:6} {self.probe:22} {self.text}"


def attempt(name: str, ask: Callable[[], Finding]) -> Finding:
    """Run a probe; an exception becomes a finding with status "fail"."""
    try:
        return ask()
    except (RuntimeError, ValueError, OSError, OverflowError, MemoryError) as error:
        text = f"{type(error).__name__}: {error.args[0] if error.args else ''}"
        return Finding(name, "fail", text, {})


class Bench:
    """A device under test with the results that later probes use."""

    def __init__(self, device: Device, quick: bool) -> None:
        self.device = device
        self.quick = quick
        self.gpu: GPU = device.gpu  # with its measured SM order, once that is known
        self.log: BlockLog | None = None  # of the probe of the queues

    @property
    def spin_gpu(self) -> GPU:
        """The GPU for spin kernels, which all prefer the same carve-out for shared memory."""
        return self.gpu.replace(carveout_rule="ignore")
