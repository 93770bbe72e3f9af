"""What a probe of a device works with, and what it found."""

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
    """What one probe found.

    Attributes
    ----------
    probe
        Its name.
    status
        "pass" or "fail" where there is something to agree with, "figure" for a measurement, "skip"
        where the device cannot be asked.
    text
        A sentence with the figure, or the first disagreement.
    data
        Numbers, lists and strings: what JSON can hold.
    """

    probe: str
    status: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """For a table of findings."""
        return f"{self.status:6} {self.probe:22} {self.text}"


def attempt(name: str, ask: Callable[[], Finding]) -> Finding:
    """What was found; an exception is a failure like others, so that one does not hide the rest."""
    try:
        return ask()
    except (RuntimeError, ValueError, OSError, OverflowError, MemoryError) as error:
        text = f"{type(error).__name__}: {error.args[0] if error.args else ''}"
        return Finding(name, "fail", text, {})


class Bench:
    """A device under test, and what the probes have learned of it so far."""

    def __init__(self, device: Device, quick: bool) -> None:
        self.device = device
        self.quick = quick
        self.gpu: GPU = device.gpu  # with its measured SM order, once that is known
        self.log: BlockLog | None = None  # of the probe of the queues
