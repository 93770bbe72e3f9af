"""Simulated jobs of a workload, for all simulated models alike."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, instance
from gpusched._support.results import Frozen, Saved
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import clip, plural
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.finer_ticks import in_finer_ticks
from gpusched.comparison.instances.instance_runs import InstanceRuns
from gpusched.comparison.path_runs import PathRun, TaskJobs, path_run, worst_chain
from gpusched.comparison.response_table import (
    PERCENTILES,
    Shares,
    response_table,
    shares_of,
    times_of,
)
from gpusched.comparison.saved_values import FieldValues, platform_values, workload_values
from gpusched.comparison.verdicts.gpu_rules import Rule, rules_of
from gpusched.comparison.workload_answer import (
    deadlines_of,
    finer_tick,
    tick_unit,
    verdict_word,
)
from gpusched.model.answer import Times, missing
from gpusched.model.gpu import GPU
from gpusched.model.workload.links import Path
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.simulate.machine_result import MachineRun
from gpusched.simulate.run_results import percentile_of
from gpusched.ways.way import WAYS, OptionValue, Way, label_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gpusched._draw.timeline import Timeline
    from gpusched.comparison.machine_waits import JobSpan, MachineSetting
    from gpusched.simulate.machine_timeline import Chain

_OF_JOBS = ("job", "release", "end")
_MOST_TOLD = 12  # parts of a job in a text
_ROOM = 30  # of so many parts of the time of a chain, its picture has one more on each side


@dataclass(frozen=True, eq=False, repr=False)
class WorkloadRun(Tabular, Saved, Frozen):
    """Jobs of a workload of n tasks under one way of sharing the GPU; see ``gs.observe``.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task("camera", "10ms", [kernel])], tick="us")
    >>> print(gs.observe(w, gs.Platform("Xavier"), "streams").why())
    camera: job 0, released at 0ns, takes 2ms, within its deadline of 10ms.

    `save` and `load` keep it in a file, with ``detail`` and its timeline, unless the run was
    simulated with ``timeline=False``:

    >>> import tempfile
    >>> run = gs.observe(w, gs.Platform("Xavier"), "streams", until="1s")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/run")
    ...     again = gs.WorkloadRun.load(f"{folder}/run")
    >>> again == run, len(again)
    (True, 100)

    Attributes
    ----------
    workload, platform
        The arguments of the call; times of the platform are in ticks of the workload.
    way, options
        The way of sharing the GPU, and its options.
    until
        End of the interval of simulated releases in ticks; its jobs were simulated to their end.
    task, job, release, end
        For each job, the index of its task, its number from 0, and the times of its release and of
        the end of its last segment in ticks; ``end`` is -1 for a job that did not end.
    now
        Time at which the simulation ended.
    assumptions
        Conditions under which the run represents the workload, one sentence each.
    limits
        What the run does not represent, each a pair of a short form and a sentence, such as
        ``("CPUs not shared", "...")``. A miss is one of the program only if there is none.
    detail
        The result of the simulation: a ``MachineRun``, or, for GPU instances that are simulated
        one by one, an ``InstanceRuns``. It has the timelines.
    seconds
        Wall-clock time of the call; not compared by ``==``.
    grain
        Number of finer ticks in a tick. The times of ``detail`` are in finer ticks, in which the
        times of blocks are whole numbers; usually 1. ``end`` and ``now`` are in ticks, rounded
        up.
    """

    _KIND: ClassVar[str] = "WorkloadRun"
    _OLD_NAMES: ClassVar[Mapping[str, str]] = {"finish": "end"}
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (
        GPU,
        InstanceRuns,
        MachineRun,
        *MachineRun._PARTS,
        Way,
    )

    workload: Workload
    platform: Platform
    way: str
    options: Mapping[str, OptionValue]
    until: int
    task: Int64Array
    job: Int64Array
    release: Int64Array
    end: Int64Array
    now: int
    assumptions: tuple[str, ...]
    limits: tuple[tuple[str, str], ...]
    detail: InstanceRuns | MachineRun = field(repr=False)
    seconds: float = field(compare=False)
    grain: int = 1

    def _fields(self) -> dict[str, Any]:
        return {
            **super()._fields(),
            "workload": workload_values(self.workload),
            "platform": platform_values(self.platform),
            "options": dict(self.options),
            "limits": tuple(text for pair in self.limits for text in pair),
        }

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> WorkloadRun:
        given = FieldValues(values)
        task = given.array("task", np.int64)
        jobs = {name: given.array(name, np.int64, len(task)) for name in _OF_JOBS}
        made = cls(
            workload=given.workload(),
            platform=given.platform(),
            way=given.choice("way", (way.name for way in WAYS)),
            options=given.options(),
            until=given.count("until"),
            task=task,
            **jobs,
            now=given.count("now"),
            assumptions=given.texts("assumptions"),
            limits=_pairs(given.texts("limits")),
            detail=given.take("detail"),
            seconds=given.seconds(),
            grain=given.grain(),
        )
        given.done()
        instance(made.detail, (InstanceRuns, MachineRun), "detail")
        for name, least, below in (
            ("task", 0, len(made.workload)),
            ("job", 0, 2**62),
            ("release", 0, 2**62),
            ("end", -1, 2**62),
        ):
            array = getattr(made, name)
            if ((array < least) | (array >= below)).any():
                raise ValueError(
                    f"{name}: got entries out of range, expected {least} to {below - 1}"
                )
        return made

    def __len__(self) -> int:
        """Number of jobs."""
        return len(self.task)

    @property
    def response(self) -> Times:
        """Response time of each job: int64 ticks, masked for a job that did not end."""
        return missing(self.end - self.release, self.end >= 0)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules of GPUs that are inferred or hints, on which the run rests."""
        return rules_of(DerivedModels(self.workload, self.platform), self.way, run=True)

    @property
    def late(self) -> npt.NDArray[np.bool_]:
        """Whether each job missed its deadline, by ending late or not ending in time: bool."""
        due = self.release + deadlines_of(self.workload)[self.task]
        found: npt.NDArray[np.bool_] = np.where(self.end < 0, self.now, self.end) > due
        return found

    @property
    def worst(self) -> Times:
        """Largest response time of each task: int64 ticks ``(n,)``; masked without a job.

        A late job that had not ended when the simulation stopped counts with its time so far.
        """
        found = np.full(len(self.workload), -1, np.int64)
        counted = (self.end >= 0) | self.late
        np.maximum.at(found, self.task[counted], self._so_far[counted])
        return missing(found, found >= 0, -1)

    @property
    def job_count(self) -> Int64Array:
        """Number of jobs of each task: int64 ``(n,)``."""
        return np.bincount(self.task, minlength=len(self.workload)).astype(np.int64)

    @property
    def share_late(self) -> Shares:
        """Share of late jobs of each task: float64 ``(n,)``; masked without a job."""
        return shares_of(self.late_count, self.job_count)

    @overload
    def percentile(self, q: float) -> Times: ...
    @overload
    def percentile(self, q: float, task: int | str) -> int | None: ...
    def percentile(self, q: float, task: int | str | None = None) -> Times | int | None:
        """The response that q percent of a task's jobs do not exceed (nearest rank), in ticks.

        A job that had not ended counts with its time so far. Paths have theirs:
        ``run.path(name).percentile(q)``.

        Parameters
        ----------
        q
            0 to 100.
        task
            Name or index of a task. Default: all tasks.

        Returns
        -------
        One number, or None without a job; for all tasks int64 ``(n,)``, masked without a job.

        Raises
        ------
        ValueError, IndexError, KeyError
            q is outside 0 to 100; the task does not exist.
        """
        if task is not None:
            mine = self.task == self.workload.index(task)
            return percentile_of(self._so_far[mine], q)
        took = self._so_far[np.argsort(self.task, kind="stable")]
        parts = np.split(took, np.cumsum(self.job_count)[:-1])
        return times_of([percentile_of(part, q) for part in parts])

    def responses_text(self, percentiles: tuple[float, ...] = PERCENTILES) -> str:
        """The percentiles and the largest responses of tasks, and times of paths, as a table."""
        found = [(q, self.percentile(q)) for q in percentiles]
        of = (self.workload, self.job_count, found, self.worst, self.late_count)
        return response_table(*of, paths=self.paths)

    @property
    def _so_far(self) -> Int64Array:
        """Time from the release of each job to its end, or to the end of the simulation."""
        found: Int64Array = np.where(self.end < 0, self.now, self.end) - self.release
        return found

    @property
    def late_count(self) -> Int64Array:
        """Number of late jobs of each task: int64 ``(n,)``."""
        return np.bincount(self.task[self.late], minlength=len(self.workload)).astype(np.int64)

    def path(self, path: str | int) -> PathRun:
        """The times of a path of the workload, by its name or its index.

        Raises KeyError and IndexError for a path that does not exist, and ValueError for a run that
        is not one of a whole machine (``detail``).
        """
        found = self.workload.path(path)
        if found.name not in self._path_runs:
            jobs = self._jobs_of(found)
            self._path_runs[found.name] = path_run(self.workload, found, jobs, self.grain)
        return self._path_runs[found.name]

    @cached_property
    def _path_runs(self) -> dict[str, PathRun]:
        """Times of paths, made when they are first asked for."""
        return {}

    def _jobs_of(self, path: Path) -> dict[str, TaskJobs]:
        """The jobs of the tasks of a path, in the ticks of the simulation."""
        if not isinstance(self.detail, MachineRun):
            raise ValueError("detail: got no run of a whole machine, expected one for paths")
        jobs = self.detail.jobs
        order = np.lexsort((jobs.number, jobs.task))
        found = {}
        for name in path.tasks:
            mine = order[jobs.task[order] == self.workload.index(name)]
            columns = (jobs.arrival, jobs.release, jobs.start, jobs.end)
            found[name] = TaskJobs(*(column[mine] for column in columns))
        return found

    @property
    def paths(self) -> tuple[PathRun, ...]:
        """The times of all paths; none of a run that is not one of a whole machine (``detail``)."""
        if not isinstance(self.detail, MachineRun):
            return ()
        return tuple(self.path(path.name) for path in self.workload.paths)

    @property
    def late_paths(self) -> tuple[str, ...]:
        """Names of the paths with a time that exceeds their deadlines."""
        return tuple(found.path.name for found in self.paths if found.late)

    @property
    def tightest_path(self) -> str | None:
        """Name of the path whose largest time is the largest share of its deadline; None if there
        are no such times.

        >>> run = gs.observe(gs.Workload.load("notebooks/endoscope.toml"),
        ...     gs.Platform("AGX Orin", cpus=4), "one_stream", until="1s")
        >>> run.tightest_path
        'glass to glass'
        """
        shares = {
            found.path.name: Fraction(found.largest, found.path.deadline)
            for found in self.paths
            if found.path.deadline and found.largest is not None
        }
        return max(shares, key=shares.__getitem__, default=None)

    @property
    def has_misses(self) -> bool:
        """Whether a job is late, or a path takes longer than its deadline."""
        return bool(self.late.any()) or bool(self.late_paths)

    @property
    def schedulable(self) -> bool | None:
        """False if a deadline was missed in a run that the program allows; otherwise None.

        A run with `limits` shows no miss of the program, and a run without a miss proves nothing.
        """
        return False if self.has_misses and not self.limits else None

    @property
    def verdict(self) -> str:
        """The result in words: "not schedulable" or "undecided"."""
        return verdict_word(self.schedulable)

    @property
    def label(self) -> str:
        """Way and given parameters, such as "mpcp (busy)"."""
        return label_of(self.way, self.options)

    @property
    def tightest(self) -> int | None:
        """Index of the task with the largest lateness relative to its deadline; if no job is late,
        of the task with the least slack; None if there are no jobs."""
        worst, due = self.worst, deadlines_of(self.workload)
        if not worst.count():
            return None
        known = ~np.ma.getmaskarray(worst)
        took = worst.filled(0)
        if (late := known & (took > due)).any():
            return max(
                np.flatnonzero(late).tolist(), key=lambda i: Fraction(int(took[i]), int(due[i]))
            )
        return int(np.where(known, due - took, np.iinfo(np.int64).max).argmin())

    def why(self, task: int | str | None = None, *, job: int | None = None) -> str:
        """Describe the largest response of a task; by default, of the tightest task.

        If it is late, the text also tells for what the job waited longest, if the run has a
        timeline (short runs with late jobs have one in any case).

        >>> w = gs.Workload([
        ...     gs.Task("camera", 50, [gs.CPU(2), gs.Kernel(5)], offset=1, deadline=12),
        ...     gs.Task("detector", 50, [gs.Kernel(9)]),
        ... ], tick="ms")
        >>> told = gs.observe(w, gs.Platform(cpus=2), "mpcp", until=50).why("camera", job=0)
        >>> print(told[told.index("From"):])
        From its release: 2ms CPU work; waits 6ms for the lock, held by detector; 5ms kernel.

        Parameters
        ----------
        task
            Name or index of a task, or the name of a path. Default: the tightest task; if no job is
            late, but a path, that path.
        job
            Number of a job of the task, of which all is told that it did and for what it waited.
            Default: the one with the largest response.

        Raises
        ------
        KeyError, IndexError
            The task, or a job of this number, does not exist.
        """
        if isinstance(task, str) and task not in self.workload:
            names = [path.name for path in self.workload.paths]
            if task in names:
                return self.path(task).why()
        if task is None and not self.late.any() and (paths := self.late_paths):
            return self.path(paths[0]).why()
        number = self.tightest if task is None else self.workload.index(task)
        if number is None:
            return "No job was released."
        name, tick = clip(self.workload.names[number], 60), self.workload.tick_ns
        row = self._row(number, job)
        if row is None:
            return f"{name}: no job has ended."
        took, due = int(self._so_far[row]), self.workload[number].deadline
        side = "within" if took <= due else "more than"
        takes = "takes" if self.end[row] >= 0 else "has not ended after"
        late = int(self.late_count[number])
        count = f"; {late} of {int((self.task == number).sum())} jobs are late" if late else ""
        told = (
            f"{name}: job {int(self.job[row])}, released at "
            f"{time_with_unit(int(self.release[row]), tick)}, {takes} {time_with_unit(took, tick)},"
            f" {side} its deadline of {time_with_unit(due, tick)}{count}{self._limited(late)}."
        )
        waited = self._wait_of(row) if took > due else ""
        parts = "" if job is None else self._parts_of(row)
        return " ".join(text for text in (told, waited, parts) if text)

    def _row(self, task: int, job: int | None) -> int | None:
        """The row of a job of a task; None: of the one with the largest response, if any."""
        if job is not None:
            rows = np.flatnonzero((self.task == task) & (self.job == job))
            if not len(rows):
                raise IndexError(f"job: got {job!r}, expected the number of a job of the task")
            return int(rows[0])
        mine = np.flatnonzero((self.task == task) & ((self.end >= 0) | self.late))
        return int(mine[np.argmax(self._so_far[mine])]) if len(mine) else None

    @cached_property
    def _waits_told(self) -> dict[int, str]:
        """Sentences on the waits of jobs, by row, made when they are first asked for."""
        return {}

    def _wait_of(self, row: int) -> str:
        """A sentence on the longest wait of a job; "" if it is not known."""
        if row not in self._waits_told:
            from gpusched.comparison.machine_waits import wait_sentence

            self._waits_told[row] = wait_sentence(
                self.detail, self._setting(), self.options, self._span(row)
            )
        return self._waits_told[row]

    def _parts_of(self, row: int) -> str:
        """The parts of a job: its work and its waits, in order; "" if it is not known."""
        from gpusched.comparison.machine_waits import parts_of

        found = parts_of(self.detail, self._setting(), self.options, self._span(row))
        if not found:
            return ""
        tick = self._setting().workload.tick_ns
        told = [
            f"{'waits ' * part.waits}{time_with_unit(part.end - part.start, tick)} {part.text}"
            for part in found
        ]
        more = f"; and {len(told) - _MOST_TOLD} more parts" if len(told) > _MOST_TOLD else ""
        return f"From its release: {'; '.join(told[:_MOST_TOLD])}{more}."

    def _setting(self) -> MachineSetting:
        """The workload on its platform, in the ticks of ``detail``."""
        from gpusched.comparison.machine_waits import MachineSetting

        workload, platform = self.workload._explicit(), self.platform
        if self.grain > 1:
            workload, platform = in_finer_ticks(workload, platform, self.grain)
        return MachineSetting(workload, platform, self.way)

    def _span(self, row: int) -> JobSpan:
        from gpusched.comparison.machine_waits import JobSpan

        release = int(self.release[row])
        return JobSpan(
            self.workload.names[self.task[row]],
            int(self.job[row]),
            self.grain * release,
            self.grain * (release + int(self._so_far[row])),
            bool(self.end[row] >= 0),
        )

    def _limited(self, late: int) -> str:
        """Facts that the run does not represent, if that leaves the verdict open."""
        if not late or not self.limits:
            return ""
        return (
            f"; that shows no miss of the program, as {'; '.join(text for _, text in self.limits)}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per job.

        The columns are ``task`` (the name), ``job``, ``release``, ``end``, ``response`` and
        ``late``. Times are in ticks; missing values are NA.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        names = np.array(self.workload.names, object)
        return {
            "task": names[self.task],
            "job": self.job,
            "release": self.release,
            "end": missing(self.end, self.end >= 0),
            "response": self.response,
            "late": self.late,
        }

    def plot(
        self,
        ax: Axes | None = None,
        *,
        path: str | int | None = None,
        since: int | None = None,
        until: int | None = None,
    ) -> Axes:
        """Draw the run with Matplotlib, in the unit of the workload's ticks; see ``detail.plot``.

        >>> run = gs.observe(gs.Workload.load("notebooks/lidar_to_brake.toml"),
        ...     gs.Platform("AGX Orin", cpus=4), "one_stream", until="1s", timeline=True)
        >>> "obstacle to brake: reaction 252ms of 500ms" in run.to_svg(path="obstacle to brake")
        True

        Parameters
        ----------
        ax
            Axes to draw on. Default: those of a new figure.
        path
            Name or index of a path, of which the jobs behind the largest time are outlined and
            joined by arrows, dashed ones where a job reads. They have a lane of their own, too,
            whose pale parts are waits for the next sample, reading or output.
        since, until
            Start and end of the drawn interval in ticks. Default: from 0 for as long as fits; of a
            path, the interval of that time.

        Returns
        -------
        The axes.

        Raises
        ------
        ValueError
            The run was simulated without its timeline, or no output is based on a sample of the
            path.
        KeyError, IndexError
            The path does not exist.
        """
        if path is None:
            return self.detail.plot(ax, **self._window(since, until))
        from gpusched._draw import timeline_axes

        return timeline_axes.plot(self._with_chain(path, since, until), ax)

    def to_svg(
        self, *, path: str | int | None = None, since: int | None = None, until: int | None = None
    ) -> str:
        """Return the picture of `plot` as an SVG document, made without Matplotlib."""
        if path is None:
            return self.detail.to_svg(**self._window(since, until))
        from gpusched._draw import svg

        return svg.svg(self._with_chain(path, since, until))

    def _window(self, since: int | None, until: int | None) -> dict[str, Any]:
        """The unit and the interval of a picture of ``detail``."""
        begin = 0 if since is None else since * self.grain
        end = None if until is None else until * self.grain
        return {"unit": tick_unit(self.workload, self.grain), "since": begin, "until": end}

    def _with_chain(self, path: str | int, since: int | None, until: int | None) -> Timeline:
        """A picture of ``detail`` with the worst chain of a path, by default of its time."""
        from gpusched.simulate import machine_timeline

        chain, window = self._chain(path), self._window(since, until)
        room = max(1, (chain.end - chain.since) // _ROOM)
        if since is None:
            window["since"] = max(0, chain.since - room)
        if until is None:
            window["until"] = max(chain.end + room, window["since"] + 1)
        return machine_timeline.picture(self.detail, **window, chain=chain)

    def _chain(self, path: str | int) -> Chain:
        """The worst chain of a path, in the ticks of ``detail``."""
        run = self.path(path)
        return worst_chain(run, self.workload, self._jobs_of(run.path))

    def to_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the run for Perfetto (ui.perfetto.dev) and chrome://tracing.

        The lanes are those of ``detail.to_chrome_trace``; the process "paths" has one for each
        path, with the jobs behind its largest time. ``path`` is the file, which is replaced only
        when the new one is complete; it is compressed if its name ends in .gz. Raises OSError if it
        cannot be written.
        """
        length: Any = finer_tick(self.workload, self.grain)
        if not self.workload.paths or not isinstance(self.detail, MachineRun):
            self.detail.to_chrome_trace(path, tick=length)
            return
        from gpusched._draw import chrome_trace
        from gpusched.simulate import machine_timeline

        chains = [self._chain(found.path.name) for found in self.paths if len(found)]
        traced = machine_timeline.trace(self.detail, chains)
        chrome_trace.write_timeline(traced, path, length)

    def __repr__(self) -> str:
        late, paths = int(self.late.sum()), self.late_paths
        misses = f"{late} late" if late else "none late"
        misses += f", {plural(len(paths), 'late path')}" if paths else ""
        return f"<WorkloadRun: {self.label}, {plural(len(self), 'job')}, {misses}>"

    def __str__(self) -> str:
        return f"{self.label}: {self.verdict}. {self.why()}\n\n{self.responses_text()}"

    def _repr_html_(self) -> str:
        return self.detail._repr_html_()


def _pairs(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    if len(texts) % 2:
        raise ValueError("limits: got an odd number of texts, expected pairs")
    return tuple(zip(texts[::2], texts[1::2], strict=True))
