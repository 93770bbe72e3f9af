"""Bounds and conditions of an answer or a schedule, in ns, with which a log of jobs is compared."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gpusched._support.arguments import instance
from gpusched.analysis.holistic_answer import HOLISTIC_TERMS, HolisticBound
from gpusched.analysis.path_times import path_bounds
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_runs import chosen_cores
from gpusched.comparison.workload_answer import WorkloadAnswer, finer_tick, known_at
from gpusched.model.host_tasks import HostTasks
from gpusched.model.schedule import Schedule
from gpusched.model.schedule_file import places_of
from gpusched.model.views.derived_view import explicit_calls, runs_on_cpu
from gpusched.model.workload.links import KINDS, Path
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import as_way

_ORDERS = {"mpcp": "priority", "gpu_server": "priority", "fmlp_plus": "fifo"}


@dataclass(frozen=True)
class Facts:
    """Facts about one task; times in ns, None where nothing is known.

    ``bound``: of the response. ``cpu``, ``best``: CPU time, with launching calls, and least time of
    a job. ``segments``: length of each GPU segment, while no other task uses the GPU. ``priority``:
    a smaller number is more urgent. ``core``: that of its thread. ``after``: tasks whose jobs
    ``every`` x j release its job j; its responses count from there, and ``period`` is None.
    ``lead``: from an arrival to the release in the plan, which the player logs for tasks without
    handshake. ``due``: from a release to the instant by which the order "due" goes.
    """

    bound: int | None
    period: int | None = None
    jitter: int = 0
    cpu: int | None = None
    best: int = 0
    segments: tuple[int, ...] | None = None
    priority: int | None = None
    core: int | None = None
    after: tuple[str, ...] = ()
    every: int = 1
    lead: int = 0
    due: int | None = None


@dataclass(frozen=True)
class PlannedFrame:
    """A frame: start and end in ns, and (task, job, kernel) of its entries as submitted."""

    start: int
    end: int
    entries: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Plan:
    """The frames of a hyperperiod, and the number of jobs of each task in it."""

    hyperperiod: int
    frames: tuple[PlannedFrame, ...]
    jobs: dict[str, int]
    release: dict[str, tuple[int, int]]
    """Offset and period."""


@dataclass(frozen=True)
class PathBound:
    """A path with times in ns, and the bound of its kind of time; None if there is none.

    ``legs``: period, latest end, earliest release, offset and number of tasks of each.
    """

    path: Path
    bound: int | None
    legs: tuple[tuple[int, ...], ...] = ()

    def limit(self, tolerance: int) -> int:
        """The bound where each job of the path ends later by a tolerance.

        With given phases a job that ends a little later may be read a period later.
        """
        assert self.bound is not None
        if self.path.phases == "any" or tolerance == 0:
            return self.bound + tolerance * len(self.path.tasks)
        columns: list[list[int]] = [[], [], [], []]
        for period, end, earliest, offset, tasks in self.legs:
            later = tolerance * (tasks + 2)  # and arrivals by a tolerance to either side
            row = (period, end + later, max(0, earliest - tolerance), offset)
            for column, time in zip(columns, row, strict=True):
                column.append(time)
        return path_bounds(*columns)[KINDS.index(self.path.kind)]


@dataclass(frozen=True)
class Expectations:
    """Facts by task, the order of requests, and a plan, with which a log is compared.

    ``conditions``: those under which the bounds hold. ``workload``: that of the paths. ``server``:
    the core of the GPU server, whose work the log does not have.
    """

    label: str
    facts: dict[str, Facts]
    order: str | None = None
    plan: Plan | None = None
    conditions: tuple[str, ...] = ()
    paths: tuple[PathBound, ...] = ()
    workload: Workload | None = None
    server: int | None = None


def expectations(answer: WorkloadAnswer | Schedule) -> Expectations:
    """Bounds and conditions of an answer, or of a schedule that knows the length of its tick."""
    instance(answer, (WorkloadAnswer, Schedule), "answer")
    if isinstance(answer, Schedule):
        if answer.tick is None:
            raise ValueError("answer: got a schedule without tick, expected one with its length")
        own = plan_of(answer, Fraction(answer.tick))
        bounds = {
            name: Facts(bound, lead=own.release[name][0])
            for name, bound in _plan_bounds(answer, own).items()
        }
        return Expectations("schedule", bounds, plan=own)
    tick = Fraction(answer.workload.tick_ns)
    segments = _segments(answer)
    priorities = _priorities(answer)
    cores: list[int] | list[None] = [None] * len(answer.workload)
    if not as_way(answer.way).global_edf:
        cores = chosen_cores(DerivedModels(answer.workload, answer.platform), answer.way, answer)
    schedule = answer.schedule
    plan = None
    if schedule is not None and schedule.cycle is None:
        plan = plan_of(schedule, Fraction(finer_tick(answer.workload, answer.grain)))
    facts, platform = {}, answer.platform._at(answer.workload._tick)
    order, due = _ORDERS.get(answer.way), dict[str, int]()
    if answer.way == "edf_serial" and isinstance(answer.detail, HolisticBound):
        order, due = "due", _instants(answer, answer.detail)
    for i, task in enumerate(answer.workload):
        planned = None if plan is None else plan.release.get(task.name)
        response = known_at(answer.response, i) if answer.bounded[i] else None
        facts[task.name] = Facts(
            bound=None if response is None else int(response * tick),
            period=None if task.after else int(task.period * tick),
            jitter=-int(-task.jitter * tick // 1),
            cpu=int(_cpu_time(task, platform) * tick),
            best=int(task.best * tick),
            segments=segments.get(task.name),
            priority=priorities.get(task.name),
            core=cores[i],
            after=task.after,
            every=task.every,
            lead=0 if planned is None else planned[0] - int(task.offset * tick),
            due=due.get(task.name),
        )
    conditions = tuple(condition.text for condition in answer.conditions)
    paths = _paths(answer, tick)
    server = None if answer.way != "gpu_server" else getattr(answer.detail, "server", None)
    return Expectations(
        answer.label, facts, order, plan, conditions, paths, answer.workload, server
    )


def _instants(answer: WorkloadAnswer, bound: HolisticBound) -> dict[str, int]:
    """The times from releases to the instants at which GPU work is due, rounded up."""
    tick = Fraction(answer.workload.tick_ns) / answer.grain
    behind = bound.terms[:, HOLISTIC_TERMS.index("behind")].tolist()
    return {
        name: -int((time - deadline) * tick // 1)
        for name, deadline, time in zip(
            bound.tasks.name, bound.tasks.deadline.tolist(), behind, strict=True
        )
    }


def _cpu_time(task: Task, platform: Platform) -> int:
    """CPU work of a job with the calls that launch its copies and kernels."""
    calls = platform.replace(wake_latency=0)  # a thread that wakes up takes no time of its own
    parts = (part for part, _ in explicit_calls(task._explicit(), calls))
    return sum(part.time * part.repeat for part in parts if runs_on_cpu(part))


def _paths(answer: WorkloadAnswer, tick: Fraction) -> tuple[PathBound, ...]:
    found = []
    for of in answer.paths:
        bound = None if of.bound is None else int(of.bound * tick)
        legs = tuple(
            (
                *(int(time * tick) for time in (leg.period, leg.end, leg.earliest, leg.offset)),
                len(leg.tasks),
            )
            for leg in of.legs
        )
        found.append(PathBound(path_in_ns(of.path, tick), bound, legs))
    return tuple(found)


def path_in_ns(path: Path, tick: Fraction) -> Path:
    """A path of a workload with ticks of so many ns, with its deadline in ns."""
    due = None if path.deadline is None else int(path.deadline * tick)
    return Path(path.name, path.tasks, due, path.kind, path.phases)._at(1)


def _hosts(answer: WorkloadAnswer) -> HostTasks | None:
    hosts = getattr(answer.detail, "hosts", None)
    return hosts if isinstance(hosts, HostTasks) else None


def _segments(answer: WorkloadAnswer) -> dict[str, tuple[int, ...]]:
    """Lengths of the GPU segments, for ways in which one task at a time uses the GPU."""
    hosts = _hosts(answer)
    if hosts is None or not as_way(answer.way).in_turns or answer.way not in _ORDERS:
        return {}
    tick = Fraction(finer_tick(answer.workload, answer.grain))
    kernel = hosts.kernel if hosts.kernel.ndim == 2 else hosts.kernel[..., -1]
    total = (hosts.copy_in + kernel + hosts.copy_out).tolist()
    return {
        name: tuple(int(length * tick) for length in total[i][: int(hosts.segments[i])])
        for i, name in enumerate(hosts.name)
    }


def _priorities(answer: WorkloadAnswer) -> dict[str, int]:
    hosts = _hosts(answer)
    if hosts is None:
        return {}
    return dict(zip(hosts.name, hosts.priority.tolist(), strict=True))


def plan_of(schedule: Schedule, tick: Fraction) -> Plan:
    """The plan of a schedule whose tick has a length in ns."""
    tasks, places = schedule.tasks, places_of(schedule)
    columns = (tasks.name, tasks.offset.tolist(), tasks.period.tolist())
    release = {
        name: (int(offset * tick), int(period * tick))
        for name, offset, period in zip(*columns, strict=True)
    }
    jobs = {name: tasks.hyperperiod // period for name, _, period in zip(*columns, strict=True)}
    counts = [0] * len(places)
    frames = []
    of_frames = (schedule.start.tolist(), schedule.end.tolist(), schedule.batch.tolist())
    for start, end, mask in zip(*of_frames, strict=True):
        entries = []
        for row in schedule._order(mask):
            task, kernel = places[row]
            entries.append((tasks.name[task], counts[row], kernel))
            counts[row] += 1
        frames.append(PlannedFrame(int(start * tick), int(end * tick), tuple(entries)))
    return Plan(int(tasks.hyperperiod * tick), tuple(frames), jobs, release)


def _plan_bounds(schedule: Schedule, plan: Plan) -> dict[str, int]:
    """The longest time from the start of a period to the end of the job's last frame."""
    bounds = dict.fromkeys(schedule.tasks.name, 0)
    for frame in plan.frames:
        for name, job, _ in frame.entries:
            bounds[name] = max(bounds[name], frame.end - job * plan.release[name][1])
    return bounds
