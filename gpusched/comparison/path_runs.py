"""Times of a path in a simulated run: what each output was based on, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._support.arguments import Int64Array, frozen
from gpusched._support.results import Frozen
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import clip, plural
from gpusched.comparison.finer_ticks import ticks_up
from gpusched.comparison.path_answers import legs_of
from gpusched.model.answer import Times, missing
from gpusched.model.workload.links import Path
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.simulate.run_results import percentile_of

if TYPE_CHECKING:
    from gpusched.simulate.machine_timeline import Chain


@dataclass(frozen=True)
class TaskJobs:
    """Jobs of a task by number: arrivals, releases, starts (readings) and ends; -1: not yet, or
    not known."""

    arrival: Int64Array
    release: Int64Array
    start: Int64Array
    end: Int64Array


class SimulatedTimes(Frozen):
    """Base class of the times of a path in simulated runs: ``values`` are those of its kind."""

    path: Path
    tick: int

    if TYPE_CHECKING:  # a field of some classes

        @property
        def values(self) -> Int64Array: ...

    def __len__(self) -> int:
        """Number of times of the path's kind."""
        return len(self.values)

    @property
    def largest(self) -> int | None:
        """The largest time of the path's kind; None without one."""
        return int(self.values.max()) if len(self) else None

    @property
    def late_count(self) -> int:
        """Number of times that exceed the deadline of the path."""
        due = self.path.deadline
        return 0 if due is None else int((self.values > due).sum())

    def percentile(self, q: float) -> int | None:
        """The time that q percent do not exceed (nearest rank), in ticks; None without times.

        It is that of simulations, no guarantee. Raises ValueError for a q outside 0 to 100.
        """
        return percentile_of(self.values, q)

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name}: {clip(self.path.name, 60)}, {plural(len(self), 'time')}>"


@dataclass(frozen=True, eq=False, repr=False)
class PathRun(Tabular, SimulatedTimes):
    """Times of a path in a run; see ``WorkloadRun.path``.

    >>> work = [gs.CPU("2ms")]
    >>> w = gs.Workload([
    ...     gs.Task("camera", "40ms", work), gs.Task("control", "10ms", work, reads="camera"),
    ... ], "us", paths=[gs.Path("frame to command", ["camera", "control"], "20ms")])
    >>> run = gs.observe(w, gs.Platform("AGX Orin", cpus=2), "mpcp", until="1s")
    >>> path = run.path("frame to command")
    >>> path.largest, path.percentile(50), path.worst()["control"]
    (12000, 12000, 1)

    Attributes
    ----------
    path
        The path.
    samples, outputs
        Beginnings of samples and the ends of the first outputs based on them or on newer ones:
        read-only int64 ticks, ``(chains,)``.
    latency, reaction
        Of each of these chains; ``reaction`` is masked for the first one.
    jobs
        Numbers of the jobs of each chain, ``(chains, tasks)``.
    output_ends, age, held_age
        Ends of outputs, and the ages of the samples that they are based on, then and when the next
        output replaces them; ``held_age`` is masked for the last one.
    output_jobs
        Numbers of the jobs behind each output, ``(outputs, tasks)``.
    tick
        Length of a tick in ns.

    A job reads at its start. Samples and outputs are left out until each task of the path has read
    a result, and where sources have ended.
    """

    path: Path
    samples: Int64Array
    outputs: Int64Array
    latency: Int64Array
    reaction: Times
    jobs: Int64Array
    output_ends: Int64Array
    age: Int64Array
    held_age: Times
    output_jobs: Int64Array
    tick: int

    @property
    def values(self) -> Int64Array:
        """The times of the path's kind that are known."""
        found = {
            "latency": self.latency,
            "reaction": self.reaction.compressed(),
            "age": self.age,
            "held age": self.held_age.compressed(),
        }[self.path.kind]
        return np.asarray(found, np.int64)

    @property
    def late(self) -> bool:
        """Whether a time exceeds the deadline of the path."""
        due = self.path.deadline
        return due is not None and self.largest is not None and self.largest > due

    def worst(self) -> dict[str, int]:
        """Number of the job of each task in the chain with the largest time; empty without one."""
        if not len(self):
            return {}
        backward = self.path.kind in ("age", "held age")
        times: Any = {
            "latency": self.latency,
            "reaction": self.reaction,
            "age": self.age,
            "held age": self.held_age,
        }[self.path.kind]
        row = int(np.ma.filled(np.ma.asarray(times), -1).argmax())
        jobs = (self.output_jobs if backward else self.jobs)[row]
        return dict(zip(self.path.tasks, jobs.tolist(), strict=True))

    def why(self) -> str:
        """Describe the largest time and the jobs of its chain."""
        name = clip(self.path.name, 60)
        if self.largest is None:
            return f"{name}: no output is based on a sample."
        took = time_with_unit(self.largest, self.tick)
        due = self.path.deadline
        side = "" if due is None else ", more than its deadline of " if self.late else " of "
        side += "" if due is None else time_with_unit(due, self.tick)
        chain = ", ".join(f"{clip(task, 40)} {job}" for task, job in self.worst().items())
        return f"{name}: {self.path.kind} {took}{side}, through the jobs {chain}."

    def _table(self) -> dict[str, Any]:
        return {
            "sample": self.samples,
            "output": self.outputs,
            "latency": self.latency,
            "reaction": self.reaction,
        }

    def to_frame(self) -> Any:
        """Return a pandas table with one row per sample: its output, latency and reaction."""
        return frame_of(self._table())


@dataclass(frozen=True, eq=False, repr=False)
class PathRuns(SimulatedTimes):
    """Times of a path in a stack of runs; see ``RunStack.path``.

    Attributes
    ----------
    path
        The path.
    values
        The times of its kind in all runs: read-only int64 ticks, ``(times,)``.
    run
        The run of each, from 0: int64 ``(times,)``.
    tick
        Length of a tick in ns.
    """

    path: Path
    values: Int64Array
    run: Int64Array
    tick: int

    @property
    def worst_run(self) -> int | None:
        """The run, from 0, with the largest time; None without one."""
        return int(self.run[self.values.argmax()]) if len(self) else None


def path_run(
    workload: Workload,
    path: Path,
    jobs: Mapping[str, TaskJobs],
    grain: int = 1,
    tick: int | None = None,
) -> PathRun:
    """The times of a path, from the jobs of its tasks in ticks of which ``grain`` make one.

    ``tick``: the length of that one in ns, as of the path's deadline. Default: the workload's.

    Forwards, the first job of the next task that reads when the result is there; backwards, the
    newest result that is there at a reading. Chains through the first job of a task that reads are
    left out, as before it there was none, and results without a next one, as it may be newer.
    """
    steps = strides(workload, path)
    first = jobs[path.tasks[0]]
    begin = first.release if workload[path.tasks[0]].after else first.arrival
    used = np.arange(0, len(begin), steps[0])
    chain = _forward(workload, path, jobs, steps, used)
    last = jobs[path.tasks[-1]]
    outputs = last.end[chain[:, -1]]
    samples = begin[chain[:, 0]]
    latency = outputs - samples
    before = chain[:, 0] - steps[0]
    event = begin[np.maximum(before, 0)]
    reaction = missing(outputs - event, (before >= 0) & (event >= 0))
    back = _backward(workload, path, jobs, steps)
    back = back[begin[back[:, 0]] >= 0]
    ends, based = last.end[back[:, -1]], begin[back[:, 0]]
    follows = np.zeros(len(ends), np.bool_)
    follows[:-1] = np.diff(back[:, -1]) == steps[-1]
    held = missing(np.append(ends[1:], 0)[: len(ends)] - based, follows)
    return PathRun(
        path=path,
        samples=frozen(samples // grain),
        outputs=frozen(ticks_up(outputs, grain)),
        latency=frozen(ticks_up(latency, grain)),
        reaction=_in_ticks(reaction, grain),
        jobs=frozen(chain),
        output_ends=frozen(ticks_up(ends, grain)),
        age=frozen(ticks_up(ends - based, grain)),
        held_age=_in_ticks(held, grain),
        output_jobs=frozen(back),
        tick=workload.tick_ns if tick is None else tick,
    )


def _in_ticks(times: Times, grain: int) -> Times:
    return missing(ticks_up(times.filled(0), grain), ~np.ma.getmaskarray(times))


def strides(workload: Workload, path: Path) -> list[int]:
    """Of so many jobs of each task of a path one is processed by those that it releases there."""
    found: list[int] = []
    for leg in legs_of(path, workload):
        found += [leg[-1].period // task.period for task in leg]
    return found


def _forward(
    workload: Workload,
    path: Path,
    jobs: Mapping[str, TaskJobs],
    steps: Sequence[int],
    used: Int64Array,
) -> Int64Array:
    """Numbers of the jobs of all chains from these jobs of the first task, ``(chains, tasks)``."""
    columns = [used]
    for place, name in enumerate(path.tasks):
        if place == 0:
            ended = jobs[name].end[columns[0]] >= 0
            columns = [column[ended] for column in columns]
            continue
        before, task, of = path.tasks[place - 1], workload[name], jobs[name]
        if before in task.after:
            number = columns[-1] // task.every
            there = number < len(of.end)
        else:
            readers = np.arange(0, len(of.start), steps[place])
            readers = readers[of.start[readers] >= 0]
            at = np.searchsorted(of.start[readers], jobs[before].end[columns[-1]], "left")
            there = (at > 0) & (at < len(readers))
            number = readers[np.minimum(at, len(readers) - 1)] if len(readers) else at
        columns = [column[there] for column in [*columns, number]]
        ended = of.end[columns[-1]] >= 0
        columns = [column[ended] for column in columns]
    return np.stack(columns, axis=1).reshape(-1, len(path.tasks))


def _backward(
    workload: Workload, path: Path, jobs: Mapping[str, TaskJobs], steps: Sequence[int]
) -> Int64Array:
    """Numbers of the jobs behind all outputs, ``(outputs, tasks)``."""
    last = jobs[path.tasks[-1]]
    columns = [np.flatnonzero(last.end >= 0)]
    for place in range(len(path.tasks) - 1, 0, -1):
        task, name = workload[path.tasks[place]], path.tasks[place - 1]
        of = jobs[name]
        if name in task.after:
            number = columns[0] * task.every
            there = number < len(of.end)
        else:
            results = np.arange(0, len(of.end), steps[place - 1])
            ended = results[of.end[results] >= 0]
            start = jobs[task.name].start[columns[0]]
            at = np.searchsorted(of.end[ended], start, "right") - 1
            number = ended[np.maximum(at, 0)] if len(ended) else at
            there = (at >= 0) & (number + steps[place - 1] < len(of.end))
        columns = [column[there] for column in [number, *columns]]
    return np.stack(columns, axis=1).reshape(-1, len(path.tasks))


def worst_chain(run: PathRun, workload: Workload, jobs: Mapping[str, TaskJobs]) -> Chain:
    """The chain, in the ticks of the jobs.

    Raises ValueError if no output of the run is based on a sample of the path.
    """
    from gpusched.simulate.machine_timeline import Chain, Stage

    path, name = run.path, clip(run.path.name, 60)
    if run.largest is None:
        raise ValueError(f"path: got {name}, expected one with an output in the run")
    chain, steps = run.worst(), strides(workload, path)
    stages: list[Stage] = []
    for task, number in chain.items():
        of = jobs[task]
        released = of.release[number] if stages or workload[task].after else of.arrival[number]
        ready = max(int(released), stages[-1].end if stages else 0)
        reads = bool(stages) and path.tasks[len(stages) - 1] not in workload[task].after
        stages.append(Stage(workload.index(task), number, ready, int(of.end[number]), reads))
    since, end, before, after = stages[0].start, stages[-1].end, "", ""
    if path.kind == "reaction":
        first = jobs[path.tasks[0]]
        begin = first.release if workload[path.tasks[0]].after else first.arrival
        since = int(begin[stages[0].job - steps[0]])
        before = f"an event too late for {clip(path.tasks[0], 60)} #{stages[0].job - steps[0]}"
    elif path.kind == "held age":
        following = stages[-1].job + steps[-1]
        end = int(jobs[path.tasks[-1]].end[following])
        after = f"held until {clip(path.tasks[-1], 60)} #{following} ends"
    due = "" if path.deadline is None else f" of {time_with_unit(path.deadline, run.tick)}"
    took = time_with_unit(run.largest, run.tick)
    return Chain(
        name=clip(path.name, 60),
        text=f"{clip(path.name, 40)}: {path.kind} {took}{due}",
        since=since,
        end=end,
        stages=tuple(stages),
        before=before,
        after=after,
    )
