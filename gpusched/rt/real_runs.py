"""Execution of a workload under a way of sharing the GPU: threads, CPU work, a stand-in GPU."""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import Int64Array, flag, instance, integer, one_of, seed_key
from gpusched._support.results import Frozen
from gpusched._support.tabular import Tabular, frame_of, optional
from gpusched._support.text import named, plural, shown
from gpusched.comparison.analyses import Triggered, analyze, asked_way, grouped
from gpusched.comparison.deployments import deployment_of
from gpusched.comparison.observations import deployed_machine, replayed
from gpusched.comparison.path_runs import PathRun
from gpusched.comparison.response_table import times_of
from gpusched.comparison.verdicts.premises import NotApplicable
from gpusched.comparison.workload_answer import WorkloadAnswer, finer_tick
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.deploy.deployment import HIGHEST
from gpusched.deploy.program_files import locks_of, refuse_program
from gpusched.io.run_log import EVENTS, RunLog, read_run_log
from gpusched.model.answer import Times
from gpusched.model.kernel_chains import rows_of
from gpusched.model.schedule import Schedule
from gpusched.model.schedule_file import places_of
from gpusched.model.views.derived_view import runs_on_cpu
from gpusched.model.workload.links import groups_of
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import CopyIn, CopyOut
from gpusched.model.workload.time_units import Time, as_time, in_ticks, time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.rt.expectations import expectations, path_in_ns
from gpusched.rt.kept_answer import Kept, kept
from gpusched.rt.kept_paths import path_of_log
from gpusched.rt.kept_rules import JobTimes
from gpusched.simulate.run_results import percentile_of
from gpusched.ways.way import OptionValue, Way

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Execution", "execute"]

_LEAD = 50_000_000  # ns, from the start of the threads to the first release
_SHARINGS = ("free", "locked", "served", "planned")
_COPY, _KERNEL = 1, 2  # kinds of items
_MOST_EVENTS = 1 << 22  # of a thread
_TIMES = ("release", "acquire", "complete", "frame", "frame_done", "miss", "abort", "cpu")
_PERCENTILES = (50, 99)

_REFUSED = {
    "time_slices": "the stand-in GPU has no time slices: they are the driver's, which does not "
    "state their order",
    "gcaps": "it needs the authors' patch of the driver, which the stand-in GPU does not play",
}


@dataclass(frozen=True, eq=False, repr=False)
class Execution(Tabular, Frozen):
    """A run of a workload by threads of this process; see ``gs.rt.execute``.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task("camera", "20ms", [gs.CPU("1ms"), kernel])], tick="us")
    >>> run = gs.rt.execute(w, gs.Platform("AGX Orin", cpus=1), "mpcp", jobs=2)
    >>> run
    <Execution: mpcp (suspend); 2 jobs of 1 task>
    >>> run.log.of("acquire").job.tolist()
    [0, 1]

    Attributes
    ----------
    answer
        The answer whose deployment was executed.
    workload
        The program that was executed.
    log
        The log of its jobs, a ``gs.io.RunLog``. Times are those of the workload: what the monotonic
        clock said, divided by ``stretch``.
    realtime
        Whether threads had the fixed preemptive priorities that answers assume. Without, they share
        their CPUs as the system sees fit.
    cpus
        CPUs of this machine that stand for the cores of the answer, and one more of a server or a
        dispatcher.
    stretch
        Factor on all times.
    delay
        Longest time in ns by which a thread that only slept woke too late during the run, divided
        by ``stretch``: what the machine adds to responses by itself.
    """

    answer: WorkloadAnswer
    workload: Workload
    log: RunLog
    realtime: bool
    cpus: tuple[int, ...]
    stretch: int
    delay: int

    @property
    def name(self) -> tuple[str, ...]:
        """Names of the tasks, in the order of the workload."""
        return self.answer.workload.names

    def kept(self, *, tolerance: Time | None = None) -> Kept:
        """Compare the run with the answer, by ``gs.kept``.

        ``tolerance`` is a time in ns, or text such as "1ms", that is allowed on top of every limit.
        Default: `delay`, and 1 ms divided by ``stretch`` for calls that the answer leaves out.
        """
        allowed = self.delay + 10**6 // self.stretch
        if tolerance is not None:
            allowed = in_ticks(as_time(tolerance, "tolerance", 0), None, 1, "tolerance")
        return kept(self.answer, self.log, tolerance=allowed)

    def responses(self, task: str) -> Int64Array:
        """Responses in ns of the jobs of a task that completed, in their order.

        Raises KeyError for a task that does not exist.
        """
        if task not in self.name:
            raise KeyError(f"task: got {shown(task)}, expected one of the tasks")
        times = self._times
        jobs = sorted(key for key in times.release if key[0] == task and key in times.complete)
        return np.array([times.complete[key] - times.release[key] for key in jobs], np.int64)

    def percentile(self, q: float) -> Times:
        """The response in ns that q percent of the jobs of each task do not exceed, shape ``(n,)``.

        Masked for tasks without a job that completed.
        """
        found = [percentile_of(self.responses(task), q) for task in self.name]
        return times_of(found)

    def path(self, path: str | int) -> PathRun:
        """The times in ns of a path of the workload, by its name or its index.

        A job reads at its start. Raises KeyError and IndexError for a path that does not exist.
        """
        workload = self.answer.workload
        found = path_in_ns(workload.path(path), Fraction(workload.tick_ns))
        return path_of_log(workload, found, self.log, self._times)

    @cached_property
    def _times(self) -> JobTimes:
        return JobTimes(self.log, expectations(self.answer).facts)

    def replay(self) -> WorkloadRun:
        """Simulate the program with the releases of this run, under the same deployment.

        Timed jobs arrive and are released when they did here; the first arrival of a task without
        offset is at 0, where plans begin, too. Its ends differ from those of the log by what the
        machine adds, for which the platform may have latencies, unless that changes an order.
        Raises NotApplicable for instances of a GPU.
        """
        workload, times = self.workload, self._times
        tick = Fraction(workload.tick_ns)
        rows: dict[str, list[tuple[int, int]]] = {name: [] for name in workload.names}
        for key in sorted(times.release):
            if not workload[key[0]].after:
                rows[key[0]].append((times.release[key], times.woken[key]))
        starts = [
            row[0][0] - int(workload[name].offset * tick) for name, row in rows.items() if row
        ]
        origin = min(starts, default=0)
        shifted = [[(a - origin, r - origin) for a, r in row] for row in rows.values()]
        last = max((r for row in shifted for _, r in row), default=0)
        return replayed(workload, self.answer, shifted, last + 1)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per task.

        The columns are ``task``, ``jobs`` (that completed), ``P50``, ``P99``, ``worst`` and
        ``bound`` (responses and the answer's bound, in ns, NA where there is none).
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        bounds = self.kept().bound
        return {
            "task": np.array(self.name, object),
            "jobs": np.array([len(self.responses(task)) for task in self.name], np.int64),
            **{f"P{q}": self.percentile(q) for q in _PERCENTILES},
            "worst": self.percentile(100),
            "bound": optional(bounds),
        }

    def __repr__(self) -> str:
        jobs = int((self.log.kind == EVENTS.index("complete")).sum())
        return (
            f"<Execution: {self.answer.label}; {plural(jobs, 'job')} of "
            f"{plural(len(self.name), 'task')}>"
        )

    @property
    def how(self) -> str:
        """A sentence on threads, CPUs and times."""
        priorities = "with" if self.realtime else "without"
        slow = "" if self.stretch == 1 else f", {self.stretch} times slower"
        return (
            f"Threads {priorities} fixed priorities on {plural(len(self.cpus), 'CPU')}{slow}, a "
            f"stand-in for the GPU in real time; a thread that only slept woke up to "
            f"{time_with_unit(self.delay, 1)} late."
        )

    def __str__(self) -> str:
        return f"{self.kept()}\n\n{self.how}"


def execute(
    workload: Workload,
    platform: Platform,
    way: Way | str | WorkloadAnswer,
    *,
    jobs: int | None = None,
    until: Time | None = None,
    stretch: int = 1,
    cores: Sequence[int] | None = None,
    realtime: bool | None = None,
    gpu: str = "standin",
    seed: Any = 0,
    triggered: Triggered = "apart",
    stop: Any = None,
    **options: OptionValue,
) -> Execution:
    """Run a workload for real under a way of sharing the GPU, and record its jobs.

    Each task is a thread on the CPU and with the priority that the answer has for it. It is
    released at absolute instants, up to its jitter later, or by the ends of the tasks before it,
    spends its CPU work as time of its own on a CPU, and launches its
    copies and kernels on a stand-in for the GPU: the simulated GPU of ``gs.observe``, played by the
    clock. Locks, the server and the player of schedules are those of the runtime library, as in the
    programs of ``gs.recipe``.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task("camera", "20ms", [gs.CPU("1ms"), kernel])], tick="us")
    >>> run = gs.rt.execute(w, gs.Platform("AGX Orin", cpus=1), "streams", jobs=3)
    >>> len(run.responses("camera")), bool(run.responses("camera").min() > 3_000_000)
    (3, True)
    >>> run.kept(tolerance="1s").verdict
    'kept'

    Parameters
    ----------
    workload, platform
        The program and the machine, as for ``gs.analyze``.
    way
        A way, whose answer by ``gs.analyze`` is executed; or such an answer, under whose deployment
        the tasks of ``workload`` run, which may differ from its own in their times.
    jobs
        Number of jobs of the task with the longest period; the others are released as long. With a
        schedule, whole hyperperiods are played. Default: 10.
    until
        In place of ``jobs``: the end of the interval in which jobs are released, such as "2s".
    stretch
        Whole factor on all times: the program runs slower, so that what the machine adds by itself
        is smaller in comparison, and the log has what was measured divided by it.
    cores
        CPUs of this machine for the cores of the answer, and one more for a server or a dispatcher.
        Default: those that this process may use.
    realtime
        Whether threads have SCHED_FIFO priorities. Default: where this process may set them.
    gpu
        "standin".
    seed
        Seed (an int, a ``SeedSequence`` or a ``Generator``) of the delays of releases, up to the
        jitter of each task behind its arrivals, which are those of a run of ``gs.observe`` with
        this seed. None: jobs are released at their arrivals.
    triggered
        As in ``gs.analyze``; an answer has its own.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.
    options
        Parameters that are added to the way, such as ``mode="busy"``.

    Returns
    -------
    Execution
        The log of the run, responses, and the comparison with the answer.

    Raises
    ------
    NotApplicable
        The way is not executed by threads of one process with the stand-in, or the answer cannot be
        deployed; the message gives the reason. It is a ValueError.
    ValueError
        An argument is out of range, or this machine has too few CPUs.
    OSError
        This is not Linux, or the system refuses a priority or a CPU.
    gpusched.Cancelled
        ``stop`` was set.
    """
    instance(workload, Workload, "workload")
    instance(platform, Platform, "platform")
    one_of(gpu, ("standin",), "gpu")
    if sys.platform != "linux":
        raise OSError(f"execute: got {sys.platform}, expected Linux")
    factor = integer(stretch, "stretch")
    if not 1 <= factor <= 10**6:
        raise ValueError(f"stretch: got {factor}, expected 1 to 1000000")
    workload = grouped(workload, triggered)
    key = None if seed is None else seed_key(seed)
    if isinstance(way, WorkloadAnswer):
        answer = way
        if options:
            raise ValueError(f"{next(iter(options))}: got an option beside an answer, expected one")
    else:
        answer = analyze(workload, platform, asked_way(way, options), stop=stop)
    if answer.workload.names != workload.names:
        raise ValueError(
            f"workload: got the tasks {shown(list(workload.names))}, expected those of the answer"
        )
    fixed = _may_have_priorities() if realtime is None else flag(realtime, "realtime")
    run = _Run(workload, answer, _end(workload, jobs, until), factor, cores, fixed, key)
    return run.run(stop)


def _end(workload: Workload, jobs: int | None, until: Time | None) -> int:
    """End of the releases in ticks of the workload."""
    if jobs is not None and until is not None:
        raise ValueError("jobs: got both jobs and until, expected one of them")
    if until is not None:
        end = in_ticks(as_time(until, "until"), None, workload.tick_ns, "until")
        if end < 1:
            raise ValueError(f"until: got {shown(until)}, expected a positive time")
        return end
    count = 10 if jobs is None else integer(jobs, "jobs")
    if not 1 <= count < 2**31:
        raise ValueError(f"jobs: got {count}, expected a positive number below 2**31")
    return count * max(task.period for task in workload)


def _may_have_priorities() -> bool:
    """Whether the calling thread may set a SCHED_FIFO priority."""
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, policy, parameter)
    except OSError:
        return False
    return True


class _Run:
    """The arguments of the core for an answer."""

    def __init__(
        self,
        workload: Workload,
        answer: WorkloadAnswer,
        end: int,
        stretch: int,
        cores: Sequence[int] | None,
        realtime: bool,
        key: Any,
    ) -> None:
        self.workload, self.answer, self.end = workload, answer, end
        self.stretch, self.realtime, self.key = stretch, realtime, key
        if answer.way in _REFUSED:
            raise NotApplicable(f"{answer.way}: {_REFUSED[answer.way]}")
        if cores is None:
            found = sorted(os.sched_getaffinity(0))
            if len(found) < answer.platform.cpus:
                raise ValueError(
                    f"cores: got {len(found)}, which this process may use, expected "
                    f"{answer.platform.cpus} for the CPUs of the platform"
                )
            cores = found[: answer.platform.cpus + 1]
        try:
            self.plan = deployment_of(answer, cores, anyway=True)
            refuse_program(self.plan)
            self.model, grain = deployed_machine(workload, answer)
        except NotApplicable:
            raise
        except ValueError as error:
            raise NotApplicable(str(error)) from None
        self.length = Fraction(workload._tick) / grain * stretch  # ns of a tick of the model
        used = [*(place.core for place in self.plan.places)]
        self.cpus = tuple(dict.fromkeys([*used, *self._server_cpu()]))

    def _server_cpu(self) -> list[int]:
        spare = self.plan.spare
        needed = self.plan.played or self.plan.is_served
        return [spare] if needed and spare is not None else []

    def run(self, stop: Any) -> Execution:
        with tempfile.TemporaryDirectory() as folder:
            plan = ""
            if self.plan.played:
                plan = f"{folder}/schedule.json"
                self._schedule().save(plan)
            simulation = self._opened(stop)
            arguments = self._arguments()
            _, late = simulation.execute(
                f"{folder}/log", tuple(self._names()), plan=plan, stop=stop, **arguments
            )
            log = read_run_log(f"{folder}/log")
        return Execution(
            answer=self.answer,
            workload=self.workload,
            log=_shrunk(log, self.stretch),
            realtime=self.realtime,
            cpus=self.cpus,
            stretch=self.stretch,
            delay=-(-late // self.stretch),
        )

    def _schedule(self) -> Any:
        schedule = self.answer.schedule
        assert schedule is not None
        tick = finer_tick(self.answer.workload, self.answer.grain) * self.stretch
        if Fraction(tick).denominator != 1:
            raise NotApplicable(f"schedule: got ticks of {tick} ns, expected whole ns")
        return schedule.with_tick(int(tick))

    def _names(self) -> list[str]:
        """Names in the log: tasks of the schedule first, in its order."""
        schedule = self.answer.schedule if self.plan.played else None
        planned = () if schedule is None else schedule.tasks.name
        return [*planned, *(name for name in self.workload.names if name not in planned)]

    def _opened(self, stop: Any) -> Any:
        """The machine in ns."""
        columns: dict[str, Any] = dict(self.model.columns)
        grain = Fraction(self.workload._tick) * self.stretch
        numbers: dict[str, Any] = {**self.model.numbers, "timeslice": 1}
        numbers["grain"] = int(grain) if grain.denominator == 1 else 1
        for key in ("period", "deadline", "offset", "jitter", "item_time"):
            least = key not in ("offset", "jitter")
            whole = [int(time * self.length) for time in columns[key].tolist()]
            columns[key] = np.array([max(one, least) for one in whole], np.int64)
        if self.key is None:
            columns["jitter"] = np.zeros_like(columns["jitter"])
        columns["item_least"] = columns["item_time"]
        return _core.machine_open(
            [(gpu._limits, gpu.sm_order) for gpu in self.model.gpus],
            **columns,
            **numbers,
            key=seed_key(0) if self.key is None else self.key,
            index=0,
            runs=0,
            log_jobs=False,
            log_operations=False,
            log_blocks=False,
            log_cpus=False,
            stop=stop,
        )

    def _arguments(self) -> dict[str, Any]:
        plan, names = self.plan, self._names()
        places = {place.name: place for place in plan.places}
        ordered = [places[name] for name in self.workload.names]
        locks, jobs = locks_of(plan), self._jobs()
        sharing = "free"
        if plan.played:
            sharing = "planned"
        elif plan.is_served:
            sharing = "served"
        elif plan.way in ("mpcp", "fmlp_plus", "stgm"):
            sharing = "locked"
        highest = max(place.fifo for place in ordered)
        columns = {
            "row": [names.index(place.name) for place in ordered],
            "jobs": jobs,
            "cpu": [place.core for place in ordered],
            "fifo": [place.fifo * self.realtime for place in ordered],
            "ceiling": [place.ceiling * self.realtime for place in ordered],
            "urgency": [place.urgency for place in ordered],
            "lock": [locks.get(place.name, -1) for place in ordered],
            "due": [place.due * self.stretch for place in ordered],
            "kernel": self._kernels(),
            "control_cpu": self.cpus,
        }
        server = self._server_cpu()
        return {
            **{key: np.array(values, np.int64) for key, values in columns.items()},
            "events": self._events(jobs),
            "by_due": plan.by_due,
            "sharing": _SHARINGS.index(sharing),
            "order": int(plan.way != "mpcp"),
            "boosts": plan.way == "stgm",
            "spins": plan.mode == "spin" or (plan.way == "stgm" and plan.mode == "busy"),
            "spins_on_gpu": plan.mode != "suspend",
            "server_cpu": server[0] if server else -1,
            "server_fifo": self.realtime * (plan.dispatcher if plan.played else highest + 1),
            "cycles": self._cycles() if plan.played else 0,
            "lead": _LEAD,
            "supervisor": self.realtime * (HIGHEST + 1),
        }

    def _cycle(self) -> Fraction:
        """Hyperperiod of the schedule in ticks of the workload, which may differ from its own."""
        schedule = self.answer.schedule
        assert schedule is not None
        tick = finer_tick(self.answer.workload, self.answer.grain)
        return schedule.tasks.hyperperiod * Fraction(tick) / self.workload._tick

    def _cycles(self) -> int:
        return math.ceil(self.end / self._cycle())

    def _jobs(self) -> list[int]:
        """Jobs of each task: those that arrive before the end, of a schedule whole hyperperiods,
        and those that these release."""
        end, planned = self.end, dict[str, int]()
        schedule = self.answer.schedule if self.plan.played else None
        if schedule is not None:
            tasks, cycles = schedule.tasks, self._cycles()
            end = int(cycles * self._cycle())
            planned = {
                name: cycles * tasks.hyperperiod // period
                for name, period in zip(tasks.name, tasks.period.tolist(), strict=True)
            }
        found: dict[str, int] = {}
        for task in (one for group in groups_of(self.workload.tasks).values() for one in group):
            count = max(0, -(-(end - task.offset) // task.period))
            if task.after:
                count = min(-(-found[name] // task.every) for name in task.after)
            found[task.name] = planned.get(task.name, count)
        return [found[name] for name in self.workload.names]

    def _kernels(self) -> list[int]:
        """For each item of the machine, the number of the schedule's kernel that it belongs to.

        Copies between kernels belong to the next one. Those before and behind the kernels do so
        where the frames have time for them; otherwise the thread of the task runs them.
        """
        kinds, begin = self._column("item_kind").tolist(), self._column("item_begin").tolist()
        found = [-1] * len(kinds)
        schedule = self.answer.schedule if self.plan.played else None
        if schedule is None:
            return found
        for i, name in enumerate(self.workload.names):
            mine = range(begin[i], begin[i + 1])
            kernels = [k for k in mine if kinds[k] == _KERNEL]
            if name not in schedule.tasks.name or not kernels:
                continue
            sizes = self.answer.units.get(name) or (1,) * _planned(schedule, name)
            if len(sizes) == 1:  # all kernels of a job are one
                sizes = (len(kernels),)
            units = [unit for unit, size in enumerate(sizes) for _ in range(size)]
            if len(units) != len(kernels):
                raise NotApplicable(
                    f"{named(name)}: got {len(kernels)} kernels, expected {len(units)} as in the "
                    "schedule"
                )
            first, last = kernels[0], kernels[-1]
            if self._has_time_for_copies(i, schedule):
                copies = [k for k in mine if kinds[k] == _COPY]
                first, last = min([first, *copies]), max([last, *copies])
            for k in range(first, last + 1):
                before = sum(kernel < k for kernel in kernels)
                found[k] = units[min(before, len(units) - 1)]
        return found

    def _has_time_for_copies(self, i: int, schedule: Schedule) -> bool:
        """Whether the frames of a job are as long as its kernels and copies together."""
        task, answer = self.answer.workload[i], self.answer
        tasks = schedule.tasks
        rows = rows_of(tasks)
        own = [of == tasks.name.index(task.name) for of, _ in places_of(schedule)]
        planned = int(rows.wcet[own].sum())
        copies = sum(part.time * part.repeat for part in task.segments if _is_copy(part))
        times = answer.workload.kernel_times(answer.platform)[i]
        kernels = sum(of.time * of.kernel.repeat for of in times if of is not None)
        return bool(planned >= (copies + kernels) * answer.grain)

    def _column(self, name: str) -> Int64Array:
        found = self.model.columns[name]
        assert found is not None
        return found

    def _events(self, jobs: Sequence[int]) -> int:
        """Events of a thread at most, as a power of 2."""
        steps = np.diff(self._column("step_begin")).tolist()
        each = [count * (8 + 6 * size) for count, size in zip(jobs, steps, strict=True)]
        most = sum(each) if self.plan.played or self.plan.is_served else max(each)
        size: int = max(1024, 1 << int(most).bit_length())
        if size > _MOST_EVENTS or size * (len(each) + 2) > 8 * _MOST_EVENTS:
            raise ValueError(
                f"jobs: got {sum(jobs)} jobs, whose log has up to {sum(each)} events, expected at "
                f"most {_MOST_EVENTS}"
            )
        return size


def _is_copy(part: Any) -> bool:
    """Whether a segment is a copy by an engine."""
    return isinstance(part, (CopyIn, CopyOut)) and not runs_on_cpu(part)


def _planned(schedule: Schedule, name: str) -> int:
    """Kernels of a job of a task in a schedule."""
    task = schedule.tasks.name.index(name)
    return sum(of == task for of, _ in places_of(schedule))


def _shrunk(log: RunLog, stretch: int) -> RunLog:
    """The log with all times divided."""
    times = np.isin(log.kind, [EVENTS.index(name) for name in _TIMES])
    value = np.where(times, log.value // stretch, log.value)
    return RunLog(
        log.name, log.time // stretch, log.kind, log.task, log.job, value, log.thread,
        log.lost, log.about,
    )  # fmt: skip
