"""Separate simulations of GPU instances, combined into one run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gpusched._support.arguments import instance
from gpusched._support.saved import Frozen, Saved
from gpusched._support.text import escape
from gpusched.simulate.fifo_result import FifoRun
from gpusched.simulate.hierarchy_result import Hierarchy
from gpusched.simulate.host_result import HostRun
from gpusched.simulate.machine_result import MachineRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched._draw.timeline import Timeline

__all__ = ["InstanceRuns", "ModelRun"]

ModelRun = FifoRun | HostRun | Hierarchy | MachineRun
"""A run of the model of one instance."""

_MODEL_RUNS = (FifoRun, HostRun, Hierarchy, MachineRun)


@dataclass(frozen=True, eq=False, repr=False)
class InstanceRuns(Saved, Frozen):
    """Simulation results of GPU instances, which do not delay each other.

    Attributes
    ----------
    runs
        The result for each instance, keyed by the name of the instance: its profile and its first
        memory slice, such as "3g.40gb@0".
    """

    _KIND: ClassVar[str] = "InstanceRuns"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (
        *_MODEL_RUNS,
        *(part for run in _MODEL_RUNS for part in run._PARTS),
    )

    runs: Mapping[str, ModelRun]

    def _fields(self) -> dict[str, Any]:
        return {"runs": dict(self.runs)}

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> InstanceRuns:
        made = cls(**values)
        instance(made.runs, dict, "runs")
        for name, run in made.runs.items():
            instance(name, str, "runs")
            instance(run, _MODEL_RUNS, f"runs.{name}")
        return made

    def plot(
        self,
        ax: Axes | None = None,
        *,
        unit: str | None = None,
        since: int = 0,
        until: int | None = None,
    ) -> Axes:
        """Draw the runs below each other.

        Parameters
        ----------
        ax
            Axes to draw on. Default: those of a new figure.
        unit
            Unit of a tick: None, "ns", "us", "ms" or "s".
        since, until
            Start and end of the drawn interval in ticks. Default: from 0 for as long as fits.

        Returns
        -------
        The axes.

        Raises
        ------
        ValueError
            The runs were simulated without timelines, or the interval is empty.
        """
        from gpusched._draw import timeline_axes

        shown: Axes = timeline_axes.plot(self._picture(unit, since, until), ax)
        return shown

    def to_svg(self, *, unit: str | None = None, since: int = 0, until: int | None = None) -> str:
        """Return the picture of `plot` as an SVG document, made without Matplotlib."""
        from gpusched._draw import svg

        return svg.svg(self._picture(unit, since, until))

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Write the runs for Perfetto (ui.perfetto.dev) and chrome://tracing.

        The processes of each run are named after its instance.

        Parameters
        ----------
        path
            The file, replaced only when the new one is complete; compressed if it ends in .gz.
        tick
            Length of a tick in ns.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        from gpusched._draw import chrome_trace
        from gpusched._draw.joined_timelines import joined

        traces = [(name, _trace(run), 0) for name, run in self.runs.items()]
        chrome_trace.write_timeline(joined(traces), path, tick)

    def _picture(self, unit: str | None, since: int, until: int | None) -> Timeline:
        from gpusched._draw.joined_timelines import joined

        named, shift = [], 0
        for name, run in self.runs.items():
            named.append((name, _picture(run, unit, since, until), shift))
            shift += _colors(run)
        return joined(named)

    def __repr__(self) -> str:
        return f"<InstanceRuns: {', '.join(self.runs)}>"

    def _repr_html_(self) -> str:
        parts = (f"<p>{escape(name)}</p>{run._repr_html_()}" for name, run in self.runs.items())
        return "".join(parts)


def _colors(run: ModelRun) -> int:
    """Number of colours of a picture."""
    if isinstance(run, Hierarchy):
        return run.launches.streams
    return len(run.name) if isinstance(run, MachineRun) else run.tasks.n


def _picture(run: ModelRun, unit: str | None, since: int, until: int | None) -> Timeline:
    from gpusched.simulate import (
        fifo_timeline,
        hierarchy_timeline,
        host_timeline,
        machine_timeline,
    )

    if isinstance(run, FifoRun):
        return fifo_timeline.picture(run, unit, since, until)
    if isinstance(run, Hierarchy):
        return hierarchy_timeline.picture(run, "stream", unit, since, until)
    if isinstance(run, MachineRun):
        return machine_timeline.picture(run, unit, since, until)
    return host_timeline.picture(run, unit, since, until)


def _trace(run: ModelRun) -> Timeline:
    from gpusched.simulate import (
        fifo_timeline,
        hierarchy_timeline,
        host_timeline,
        machine_timeline,
    )

    if isinstance(run, Hierarchy):
        return hierarchy_timeline.trace(run)
    if isinstance(run, MachineRun):
        return machine_timeline.trace(run)
    return fifo_timeline.trace(run) if isinstance(run, FifoRun) else host_timeline.trace(run)
