"""Numbers with which an answer of ``gs.analyze`` is set up on a machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from gpusched._support.arguments import instance
from gpusched._support.text import clip, named, shown
from gpusched.analysis.holistic_answer import HOLISTIC_TERMS, HolisticBound
from gpusched.analysis.verdict import Verdict
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.instances.mig_allocation import MigAllocation
from gpusched.comparison.machine_models import gpu_sections
from gpusched.comparison.machine_runs import chosen_cores
from gpusched.comparison.workload_answer import WorkloadAnswer, finer_tick
from gpusched.deploy.deployability import deployable
from gpusched.deploy.deployment import (
    HIGHEST,
    Deployment,
    Phase,
    Place,
    fifo_priorities,
    percentage_of,
    sm_groups,
)
from gpusched.deploy.program_files import PLANS, program_files, refuse_links, refuse_program
from gpusched.deploy.recipe import Recipe
from gpusched.deploy.recipe_steps import (
    check_script,
    setup_script,
    steps_of,
    table_of,
    undo_script,
)
from gpusched.model.gpus.gpu_presets import partition_unit, static_partition_unit
from gpusched.model.gpus.mps_shares import CLIENT_CHANNELS, share_unit
from gpusched.model.host_segments import deadline_ranks
from gpusched.model.views.derived_view import given_to_all, runs_on_cpu
from gpusched.model.workload.kernel_waves import KernelTimes
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import process_of_each
from gpusched.ways.way import as_way

__all__ = ["deployment_of", "recipe"]

LOCKS = ("mpcp", "fmlp_plus", "stgm")
_MOST_CONNECTIONS = 32

_REFUSED = {
    "srm": "no stock Linux schedules global EDF with its locks; LITMUS^RT, a patched Linux, did",
    "container": "no stock Linux schedules it; LITMUS^RT, a patched Linux, did",
    "driver": "it is what happens without a lock: there is nothing to set up",
    "gcaps": "it needs the authors' patch of the driver of Jetson "
    "(https://github.com/rtenlab/gcaps-super-repo), and calls at the borders of segments; the "
    "package has not run it",
}


def recipe(
    answer: WorkloadAnswer, *, cores: Sequence[int] | None = None, anyway: bool = False
) -> Recipe:
    """Return the steps and the files with which a program runs under the way of an answer.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task("camera", "10ms", [gs.CPU("1ms"), kernel])], tick="us")
    >>> answer = gs.analyze(w, gs.Platform("AGX Orin", cpus=2), "mpcp")
    >>> found = gs.recipe(answer, cores=[4, 5])
    >>> found.tasks[0]["core"], [step.title for step in found.steps if step.root][1]
    (4, 'No throttling of real-time threads')

    Parameters
    ----------
    answer
        Answer of ``gs.analyze``.
    cores
        CPUs of the machine that stand for the cores 0, 1, ... of the answer, and one more for a
        server or a dispatcher. Default: 0, 1, ...
    anyway
        Whether an answer that guarantees nothing has a recipe, too, which says so.

    Returns
    -------
    Recipe
        Numbers are those of the answer, texts are fixed. `Recipe.save` writes the files.

    Raises
    ------
    ValueError
        There is no recipe, with the reason: the way needs a patch, the answer guarantees nothing, a
        share of the GPU cannot be set exactly, there are more tasks than priorities.
    TypeError
        ``answer`` is not an answer.
    """
    instance(answer, WorkloadAnswer, "answer")
    plan = deployment_of(answer, cores, anyway=anyway)
    refuse_program(plan)
    refuse_links(plan)
    steps = steps_of(plan, answer.platform.gpu)
    planned: tuple[str, ...] = ()
    files: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        answer.save(f"{folder}/answer.npz")
        if answer.schedule is not None:
            planned = answer.schedule.tasks.name
            tick = finer_tick(answer.workload, answer.grain)
            if not isinstance(tick, int):
                raise ValueError(f"schedule: got ticks of {tick} ns, expected whole ns")
            answer.schedule.with_tick(tick).save(f"{folder}/schedule.json")
        for name in sorted(os.listdir(folder)):
            files[name] = Path(folder, name).read_bytes()
    texts = program_files(plan, planned)
    texts |= {
        "setup.sh": setup_script(plan, steps),
        "undo.sh": undo_script(plan, steps),
        "check.sh": check_script(plan, steps),
    }
    files |= {name: text.encode() for name, text in texts.items()}
    ordered = {name: files[name] for name in sorted(files)}
    return Recipe(plan.way, plan.label, plan.gpu, _lead(plan), table_of(plan), steps, ordered)


def _lead(plan: Deployment) -> str:
    """The guarantee and its conditions."""
    on = f" on {plan.gpu}" if plan.gpu else ""
    if not plan.holds:
        return f"{plan.label}{on}: NOTHING IS GUARANTEED, as the answer guarantees nothing."
    lines = [
        f"{plan.label}{on}: all deadlines are guaranteed if the conditions hold that check.sh shows"
    ]
    lines += [f"and if {one}" for one in plan.conditions]
    return ", ".join(lines) + "."


def deployment_of(
    answer: WorkloadAnswer, cores: Sequence[int] | None = None, *, anyway: bool = False
) -> Deployment:
    """The numbers of an answer; ValueError with the reason for one that has no recipe.

    ``cores``: CPUs of the machine for cores 0, 1, ... of the answer, and one more for a server or
    dispatcher.
    """
    way, platform = answer.way, answer.platform
    if way in _REFUSED:
        raise ValueError(f"{way}: {_REFUSED[way]}")
    found = deployable(way, platform.gpu)
    if found.level in ("none", "patch"):
        raise ValueError(f"{way}: {found.how.text}")
    if not (answer.accepted or answer.conditional) and not anyway:
        raise ValueError(
            f"{answer.label}: got an answer that is {answer.verdict}, expected a guarantee; with "
            "anyway=True (--anyway) the recipe says that nothing is guaranteed"
        )
    released = [task.name for task in answer.workload if task.after]
    played = way in PLANS and answer.schedule is not None
    if released and way in PLANS and (played or way != "edf_serial"):
        raise ValueError(
            f"{clip(released[0], 60)}: got a task that others release, expected periodic tasks "
            'only under a plan; triggered="one" analyzes a group as one task, which one thread runs'
        )
    if way in PLANS and not played and way != "edf_serial":
        raise ValueError(f"{way}: got an answer without a schedule, expected one to play")
    if played and platform.launch_latency == 0 and not anyway:
        raise ValueError(
            f"{way}: got no launch_latency, expected the time that the launch of a frame costs: "
            "without it frames begin late by it, and lateness adds up (--launch-latency)"
        )
    return _Numbers(answer, cores).deployment()


class _Numbers:
    """The parts of a deployment of an answer."""

    def __init__(self, answer: WorkloadAnswer, cores: Sequence[int] | None) -> None:
        self.answer, self.way = answer, answer.way
        self.models = DerivedModels(answer.workload, answer.platform)
        self.workload, self.platform = self.models.workload, answer.platform
        self.gpu = self.platform.gpu
        self.tick = Fraction(self.workload.tick_ns)
        self.names = self.workload.names
        self.given_cores = cores
        self.played = self.way in PLANS and answer.schedule is not None

    def deployment(self) -> Deployment:
        answer, platform, gpu = self.answer, self.platform, self.gpu
        parts, homes = self._parts()
        spare = self._spare()
        places = self._places(parts, homes, spare)
        detail = answer.detail
        instances = (
            tuple(part.instance for part in detail.parts)
            if isinstance(detail, MigAllocation)
            else ()
        )
        return Deployment(
            way=self.way,
            label=answer.label,
            mode=self._mode(),
            gpu="" if gpu is None else gpu.name,
            cc=None if gpu is None else gpu.cc,
            sms=0 if gpu is None else gpu.sms,
            holds=answer.accepted or answer.conditional,
            conditions=tuple(map(str, answer.conditions)),
            copies=tuple(text for text in answer.derivation if text.startswith("cop")),
            launches=tuple(
                f"{task.name}: {task.launches}"
                for task in self.workload
                if task.launches in ("sync", "graph")
            ),
            places=places,
            cores=self._cpus()[: platform.cpus],
            spare=spare,
            shares=self._shares(),
            parts=parts,
            instances=instances,
            connections=self._connections(places),
            balanced=platform.workqueue == "balanced",
            apart=not platform.sm_coscheduling,
            dispatcher=HIGHEST,
            played=self.played,
        )

    def _mode(self) -> str:
        """Wait of threads: as the options say, or as the test takes it."""
        usual = getattr(as_way(self.way), "mode", None) or getattr(self.answer.detail, "mode", None)
        return str(self.answer.options.get("mode", usual or "suspend"))

    def _cpus(self) -> tuple[int, ...]:
        count = self.platform.cpus
        if self.given_cores is None:
            return tuple(range(count + 1))
        found = tuple(int(one) for one in self.given_cores)
        if len(set(found)) != len(found) or len(found) < count or min(found) < 0:
            raise ValueError(f"cores: got {shown(list(found))}, expected {count} different CPUs")
        return found

    def _spare(self) -> int | None:
        """A CPU for the server or the dispatcher: one of the answer, or one of its own."""
        if self.way in PLANS:  # a dispatcher or a server
            return self._beyond()
        if self.way != "gpu_server":
            return None
        server = getattr(self.answer.detail, "server", None)
        if server is not None and int(server) < self.platform.cpus:
            return self._cpus()[int(server)]
        return self._beyond()

    def _beyond(self) -> int:
        cpus = self._cpus()
        if len(cpus) <= self.platform.cpus:
            raise ValueError(
                f"cores: got {len(cpus)}, expected {self.platform.cpus + 1}: {self.way} has a "
                "thread with a CPU of its own"
            )
        return cpus[self.platform.cpus]

    def _places(
        self,
        parts: tuple[tuple[tuple[str, ...], int], ...],
        homes: Mapping[str, int],
        spare: int | None,
    ) -> tuple[Place, ...]:
        way, workload = self.way, self.workload
        priority = self._priorities()
        ceilings = way in LOCKS
        fifo, ceiling, _ = fifo_priorities(
            priority,
            ceilings=ceilings,
            server=way in ("gpu_server", "edf_serial") and not self.played,
        )
        ranks = deadline_ranks(np.array(priority, np.int64)).tolist()
        cores, cpus = chosen_cores(self.models, way, self.answer), self._cpus()
        times = workload.kernel_times(self.platform)
        process, streams = self._processes(), self._stream_priorities()
        behind = self._behind()
        detail, instance = self.answer.detail, [""] * len(workload)
        if isinstance(detail, MigAllocation):
            for part in detail.parts:
                for i in part.tasks:
                    instance[i] = str(part.instance)
        found = []
        for i, task in enumerate(workload):
            group = homes.get(task.name, -1)
            sms = parts[group][1] if group >= 0 and way != "mps_static" else 0
            phases = self._phases(task, times[i], sms)
            asks = (ceilings or way == "gpu_server") and any(p.kind == "gpu" for p in phases)
            found.append(
                Place(
                    name=task.name,
                    process=process[i],
                    core=cpus[cores[i]],
                    fifo=fifo[i],
                    period=self._ns(task.period, f"{named(task.name)}.period"),
                    offset=self._ns(task.offset, f"{named(task.name)}.offset"),
                    deadline=self._ns(task.deadline, f"{named(task.name)}.deadline"),
                    phases=phases,
                    ceiling=ceiling[i] if asks and ceilings else 0,
                    urgency=len(workload) - ranks[i] if asks else 0,
                    stream_priority=streams[i],
                    group=group,
                    sms=sms,
                    instance=instance[i],
                    due=self._ns(task.deadline, f"{named(task.name)}.deadline") - behind[i],
                    after=task.after,
                    every=task.every,
                )
            )
        return tuple(found)

    def _ns(self, ticks: int, name: str) -> int:
        time = ticks * self.tick
        if time.denominator != 1:
            raise ValueError(f"{name}: got {time} ns, expected whole ns")
        return int(time)

    def _behind(self) -> list[int]:
        """Work behind the GPU work of each task, by which its instant is before the deadline."""
        detail = self.answer.detail
        if not isinstance(detail, HolisticBound) or self.way != "edf_serial":
            return [0] * len(self.names)
        behind = detail.terms[:, HOLISTIC_TERMS.index("behind")].tolist()
        return [int(time * self.tick / self.answer.grain) for time in behind]

    def _priorities(self) -> list[int]:
        detail = self.answer.detail
        if isinstance(detail, Verdict):
            of = dict(zip(detail.hosts.name, detail.hosts.priority.tolist(), strict=True))
            if all(name in of for name in self.names):
                return [of[name] for name in self.names]
        given = given_to_all(list(self.workload), "priority")
        if given is not None:
            return given
        found: list[int] = deadline_ranks(
            np.array([task.deadline for task in self.workload], np.int64)
        ).tolist()
        return found

    def _phases(
        self, task: Task, times: tuple[KernelTimes | None, ...], sms: int
    ) -> tuple[Phase, ...]:
        """CPU work and GPU segments of a job, each as long as all of its steps."""
        steps = list(task.steps())
        sections = gpu_sections(task)
        starts = {begin: end for begin, end in sections}
        found: list[Phase] = []
        at = 0
        while at < len(steps):
            end = starts.get(at, at + 1)
            kind = "gpu" if at in starts or not runs_on_cpu(steps[at][1]) else "cpu"
            total = sum(self._time(part, times[place], sms) for place, part in steps[at:end])
            if kind == "cpu" and found and found[-1].kind == "cpu":
                total += found.pop().time
            found.append(Phase(kind, total))
            at = end
        return tuple(found)

    def _time(self, part: Any, of: KernelTimes | None, sms: int) -> int:
        ticks = part.time if of is None else of.on(sms) if sms else of.time
        return int(ticks * self.tick)

    def _processes(self) -> list[str]:
        """Names of the processes; ways whose tasks are threads have one."""
        if self.way in ("mps", "mps_static", "time_slices"):
            of = process_of_each(self.workload)
            return [of[name] or "main" for name in self.names]
        detail = self.answer.detail
        if isinstance(detail, MigAllocation):
            home = detail.instance.tolist()
            return ["cpu" if one < 0 else f"instance{one}" for one in home]
        if self.way in ("mpcp", "fmlp_plus"):
            return [task.process or "main" for task in self.workload]
        return ["main"] * len(self.names)

    def _stream_priorities(self) -> list[int]:
        """Priorities of streams as CUDA counts them: 0 is the least urgent one."""
        none = [0] * len(self.workload)
        if self.way not in ("priority_streams", "green_contexts"):
            return none
        tasks = list(self.workload)
        if self.way == "priority_streams":
            tasks = list(self.models._streamed("priority_streams")[0])
        given = given_to_all(tasks, "stream_priority")
        if given is None:
            return none
        levels = sorted(set(given))
        most = self.platform.priority_levels or 6
        if len(levels) > most:
            raise ValueError(f"stream_priority: got {len(levels)} levels, expected at most {most}")
        return [levels.index(one) - len(levels) + 1 for one in given]

    def _shares(self) -> dict[str, int]:
        if self.way != "mps" or self.gpu is None:
            return {}
        unit = share_unit(self.gpu.cc)
        shares = dict(self.platform.mps or ())
        return {
            process: percentage_of(shares.get(process, 100), self.gpu.sms, unit, process)
            for process in dict.fromkeys(self._processes())
        }

    def _parts(self) -> tuple[tuple[tuple[tuple[str, ...], int], ...], dict[str, int]]:
        """Parts of the GPU with their sizes, and the part of each task."""
        gpu, platform = self.gpu, self.platform
        if self.way == "mps_static" and gpu is not None:
            unit = static_partition_unit(gpu.cc)
            entries = platform.mps_partitions or ()
            of = dict(zip(self.names, self._processes(), strict=True))
            home = {process: k for k, (names, _) in enumerate(entries) for process in names}
            return (
                tuple((names, -(-sms // unit)) for names, sms in entries),
                {name: home[process] for name, process in of.items() if process in home},
            )
        if self.way == "green_contexts":
            counts = tuple(
                (names, sms if isinstance(sms, int) else len(sms))
                for names, sms in platform.green_contexts or ()
            )
            unit = 1 if gpu is None else partition_unit(gpu.cc, together=platform.sm_coscheduling)
            counts = tuple(
                sorted(counts, key=lambda part: part[1] % unit > 0)
            )  # the remainder last
            return counts, {name: k for k, (names, _) in enumerate(counts) for name in names}
        if self.way == "stgm" and isinstance(self.answer.detail, Verdict) and gpu is not None:
            hosts = self.answer.detail.hosts
            sets = {
                name: frozenset(np.flatnonzero(hosts.sm[i]).tolist())
                for i, name in enumerate(hosts.name)
                if hosts.segments[i]
            }
            unit = partition_unit(gpu.cc, together=platform.sm_coscheduling)
            groups = sm_groups(sets, unit, gpu.sms)
            counts = tuple((names, len(sets[names[0]])) for names in groups)
            return counts, {name: k for k, names in enumerate(groups) for name in names}
        return (), {}

    def _connections(self, places: Sequence[Place]) -> int:
        """CUDA_DEVICE_MAX_CONNECTIONS, so that streams have as many channels as in the answer."""
        users = sum(any(phase.kind == "gpu" for phase in place.phases) for place in places)
        given = self.platform.channels
        if given is None:
            clients = self.way in ("mps", "mps_static")
            return CLIENT_CHANNELS if clients else 0 if self.gpu is None else self.gpu.channels or 0
        if given > _MOST_CONNECTIONS or (given == 0 and users > _MOST_CONNECTIONS):
            raise ValueError(
                f"channels: got {given or users}, expected at most {_MOST_CONNECTIONS}, the most "
                "that CUDA_DEVICE_MAX_CONNECTIONS takes"
            )
        return given or _MOST_CONNECTIONS
