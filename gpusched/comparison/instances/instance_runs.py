"""Separate simulations of GPU instances, combined into one run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gpusched._support.arguments import instance
from gpusched._support.results import Frozen, Saved
from gpusched._support.text import escape
from gpusched.simulate.machine_result import MachineRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched._draw.timeline import Timeline


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
        MachineRun,
        *MachineRun._PARTS,
    )

    runs: Mapping[str, MachineRun]

    def _fields(self) -> dict[str, Any]:
        return {"runs": dict(self.runs)}

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> InstanceRuns:
        made = cls(**values)
        instance(made.runs, dict, "runs")
        for name, run in made.runs.items():
            instance(name, str, "runs")
            instance(run, MachineRun, f"runs.{name}")
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
        from gpusched.simulate import machine_timeline
        from gpusched.simulate.machine_timeline import joined

        traces = [(name, machine_timeline.trace(run), 0) for name, run in self.runs.items()]
        chrome_trace.write_timeline(joined(traces), path, tick)

    def _picture(self, unit: str | None, since: int, until: int | None) -> Timeline:
        from gpusched.simulate import machine_timeline
        from gpusched.simulate.machine_timeline import joined

        named, shift = [], 0
        for name, run in self.runs.items():
            named.append((name, machine_timeline.picture(run, unit, since, until), shift))
            shift += len(run.name)
        return joined(named)

    def __repr__(self) -> str:
        return f"<InstanceRuns: {', '.join(self.runs)}>"

    def _repr_html_(self) -> str:
        parts = (f"<p>{escape(name)}</p>{run._repr_html_()}" for name, run in self.runs.items())
        return "".join(parts)
