"""Bounds and conditions of an answer or a schedule, in ns, with which a log of jobs is compared."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gpusched._support.arguments import instance
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_runs import chosen_cores
from gpusched.comparison.workload_answer import WorkloadAnswer, finer_tick, known_at
from gpusched.model.host_tasks import HostTasks
from gpusched.model.schedule import Schedule
from gpusched.model.schedule_file import places_of
from gpusched.ways.way import as_way

_ORDERS = {"mpcp": "priority", "gpu_server": "priority", "fmlp_plus": "fifo"}


@dataclass(frozen=True)
class Facts:
    """Facts about one task; times in ns, None where nothing is known.

    ``bound``: of the response. ``cpu``: CPU time of a job. ``segments``: length of each GPU
    segment, while no other task uses the GPU. ``priority``: a smaller number is more urgent.
    ``core``: that of its thread.
    """

    bound: int | None
    period: int | None = None
    jitter: int = 0
    cpu: int | None = None
    segments: tuple[int, ...] | None = None
    priority: int | None = None
    core: int | None = None


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
class Expectations:
    """Facts by task, the order of requests, and a plan, with which a log is compared.

    ``conditions``: those under which the bounds hold.
    """

    label: str
    facts: dict[str, Facts]
    order: str | None = None
    plan: Plan | None = None
    conditions: tuple[str, ...] = ()


def expectations(answer: WorkloadAnswer | Schedule) -> Expectations:
    """Bounds and conditions of an answer, or of a schedule that knows the length of its tick."""
    instance(answer, (WorkloadAnswer, Schedule), "answer")
    if isinstance(answer, Schedule):
        if answer.tick is None:
            raise ValueError("answer: got a schedule without tick, expected one with its length")
        own = plan_of(answer, Fraction(answer.tick))
        bounds = {name: Facts(bound) for name, bound in _plan_bounds(answer, own).items()}
        return Expectations("schedule", bounds, plan=own)
    tick = Fraction(answer.workload.tick_ns)
    segments = _segments(answer)
    priorities = _priorities(answer)
    cores: list[int] | list[None] = [None] * len(answer.workload)
    if not as_way(answer.way).global_edf:
        cores = chosen_cores(DerivedModels(answer.workload, answer.platform), answer.way, answer)
    facts = {}
    for i, task in enumerate(answer.workload):
        response = known_at(answer.response, i) if answer.bounded[i] else None
        facts[task.name] = Facts(
            bound=None if response is None else int(response * tick),
            period=int(task.period * tick),
            jitter=-int(-task.jitter * tick // 1),
            cpu=int(task.cpu_time * tick),
            segments=segments.get(task.name),
            priority=priorities.get(task.name),
            core=cores[i],
        )
    schedule = answer.schedule
    plan = None
    if schedule is not None and schedule.cycle is None:
        plan = plan_of(schedule, Fraction(finer_tick(answer.workload, answer.grain)))
    conditions = tuple(condition.text for condition in answer.conditions)
    return Expectations(answer.label, facts, _ORDERS.get(answer.way), plan, conditions)


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
