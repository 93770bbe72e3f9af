"""Models of a workload on a platform, each derived once for all methods that use it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any, Literal, TypeVar

from gpusched._support.text import named
from gpusched.comparison.finer_ticks import (
    Grain,
    Sharing,
    divided_times,
    grain_of,
    in_finer_ticks,
    instance_times,
)
from gpusched.comparison.tasks_in_parts import (
    PART_SENTENCES,
    PartForm,
    TasksInParts,
    in_parts,
    part_homes,
)
from gpusched.comparison.verdicts.necessary_conditions import (
    broken_conditions,
    serial_gpu_overloads,
)
from gpusched.model.gpu import GPU
from gpusched.model.gpus.gpu_fields import rate_text
from gpusched.model.gpus.mps_shares import CLIENT_CHANNELS, client_sms, share_unit
from gpusched.model.host_tasks import HostTasks
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.programs import Programs
from gpusched.model.views.derived_view import (
    BatchView,
    ChainBatchView,
    View,
    calls_are_free,
    copies_meet,
    explicit_calls,
    given_to_all,
    listed,
    platform_without_calls,
    refuse_triggers,
    runs_on_cpu,
    uses_engine,
)
from gpusched.model.views.graph_view import GraphBatchView, arriving, graph_view
from gpusched.model.workload.kernel_waves import KernelTimes, demands, slowdowns
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import (
    Platform,
    green_sms,
    process_of_each,
    unknown_clients,
)
from gpusched.model.workload.segments import Kernel, Segment
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload, scaled_segment
from gpusched.ways.way import WAYS

__all__ = ["DerivedModels", "Gaps", "StreamForm", "has_whole_kernels"]

FREE_SMS = (
    "kernels with a profile take the longest time per wave that they take on any number of SMs, of "
    "which others leave some"
)

_IN_TURNS = frozenset(way.name for way in WAYS if way.in_turns)
_WHOLE_GPU = frozenset(w.name for w in WAYS if w.in_turns and (w.placed or w.global_edf))
"""Ways whose tests have kernels with all SMs, and no blocks."""


def has_whole_kernels(way: str) -> bool:
    """Whether kernels have the whole GPU in a simulation, too: no two run at once."""
    return way in _WHOLE_GPU and way != "time_slices"  # whose contexts can have several tasks


Gaps = Literal["refuse", "occupy"]
StreamForm = Literal[
    "one_stream",
    "streams",
    "priority_streams",
    "mps",
    "mps_static",
    "green_contexts",
    "time_slices",
]
ChannelOwner = Literal["GPU", "client", "process"]
"""Owner of the channels of streams: the GPU, a client of MPS, or a process."""
Made = TypeVar("Made")


class DerivedModels:
    """Views of a workload on a platform, and allocations of cores and SMs.

    If the derivation of a view fails, later requests for it raise the same error.

    ``workload`` and ``platform`` are the given ones, where waits and CPU work of copies are
    segments (``stated`` has them as they were given), or, in models made by `refined`, the same in
    finer ticks, of which ``grain`` make a tick of the ``given`` models. ``rounded`` tells whether
    times of blocks are rounded up nevertheless.
    """

    def __init__(self, workload: Workload, platform: Platform) -> None:
        for task in workload:
            if task.core is not None and task.core >= platform.cpus:
                raise ValueError(
                    f"{named(task.name)}: got core {task.core}, expected one of the "
                    f"{platform.cpus} CPU cores of the platform"
                )
        self.stated = workload
        self.workload = workload._explicit()
        self.platform = platform._at(workload._tick)
        self.given = self
        self.grain = 1
        self.rounded = False
        self._made: dict[object, object] = {}
        self._channels_are_apart = False  # of streams, whatever their number
        self._copies_wait = True
        self.channel_release: Literal["dispatched", "ended"] = "dispatched"
        self._share_unit: int | None = None  # SMs to which shares of MPS clients are rounded
        self._is_settled = False  # has its ticks
        self._keeps_profiles = False  # times of kernels are those on all SMs
        self._exclude = False  # no two kernels run at once
        self._device: GPU | None = None  # in place of the platform's GPU, with an SM for each part

    def _with(self, workload: Workload, platform: Platform | None = None) -> DerivedModels:
        """Models like these, for another workload or platform."""
        made = DerivedModels(workload, self.platform if platform is None else platform)
        made.given = made if self.given is self else self.given
        made.grain, made.rounded = self.grain, self.rounded
        made._channels_are_apart = self._channels_are_apart
        made._is_settled = self._is_settled
        made._keeps_profiles = self._keeps_profiles
        made._exclude, made._device = self._exclude, self._device
        made._copies_wait = self._copies_wait
        made._share_unit = self._share_unit
        made.channel_release = self.channel_release
        return made

    @property
    def base(self) -> DerivedModels:
        """The models whose derivations these share; these themselves if they have their own."""
        return self

    def placed_as(self, made: DerivedModels) -> DerivedModels:
        """Models that were made from ``base``, for the cores and priorities of these."""
        return made

    def forget(self) -> None:
        """Let go of all that was derived; views and tables of large workloads take much memory.

        Models made from these refer to them, so that only the collection of cycles would free them.
        """
        self._made.clear()

    # Ticks

    @classmethod
    def settled(cls, workload: Workload, platform: Platform) -> DerivedModels:
        """Models of a workload in its ticks, which are not to be made finer."""
        made = cls(workload, platform)
        made._is_settled = True
        return made

    def refined(self, way: str, *, test: bool, within: str = "") -> DerivedModels:
        """The models in ticks in which the times that a way needs are whole numbers.

        ``test``: for its test, not its simulation. ``within``: the way within GPU instances.
        """
        if self._is_settled:
            return self
        found = self.once(("grain", way, test, within), lambda: self._grain(way, test, within))
        if found.ticks == 1 and found.exact:
            return self
        return self.once(("refined", found), lambda: self._refined(found))

    def text(self, ticks: int) -> str:
        """Text of a time in a message: in ticks of the given models, with a unit in finer ones."""
        return str(ticks) if self.grain == 1 else time_with_unit(ticks, self.workload._tick)

    def unrefined(self) -> DerivedModels:
        """The given models, with times of blocks rounded up to their ticks."""
        return self.once("unrefined", lambda: self._refined(Grain(1, False)))

    def _refined(self, grain: Grain) -> DerivedModels:
        workload, platform = self.workload, self.platform
        if grain.ticks > 1:
            workload, platform = in_finer_ticks(workload, platform, grain.ticks)
        made = self._with(workload, platform)
        made.given, made.grain, made.rounded = self, grain.ticks, not grain.exact
        made._is_settled = True
        return made

    def _grain(self, way: str, test: bool, within: str) -> Grain:
        workload, platform = self.workload, self.platform
        if platform.gpu is None or not any(k.has_shape for task in workload for k in task.kernels):
            return Grain(1, True)
        whole = (
            way in _WHOLE_GPU and test and not (way == "time_slices" and self.shares_processes())
        )
        if whole or has_whole_kernels(way):
            return Grain(1, True)
        if way != "mig":
            times = divided_times(workload, platform, self._sharing(way, test))
        else:
            times = []
            if (gpus := self._instances()) is not None:
                sharing = self._sharing(within, True)
                times = instance_times(workload, platform, sharing, gpus)
                times += instance_times(workload, platform, self._sharing(within, False), gpus)
        return grain_of(times, workload, platform)

    def _sharing(self, way: str, test: bool) -> Sharing:
        """The use of times of kernels by the models of a way."""
        users = self.kernel_users()
        if way in ("edf_serial", "edf_parallel", "pbs"):
            waits = way != "edf_serial" and self._copies_wait
            return Sharing(units=True, batches=users > 1, waits=waits)
        slowed = test and users > 1
        if way == "stgm":
            return Sharing(slowed=slowed, profiles=slowed)
        names = frozenset(task.name for task in self.workload if task.kernels)
        free = names if test and users > 1 and not self._keeps_profiles else frozenset()
        if way == "time_slices" and test and self.shares_processes():
            return Sharing(slowed=slowed, free=free)
        if way in ("streams", "priority_streams"):
            single = way == "streams" and not self.has_chains()
            return Sharing(slowed=slowed, single=single, free=free)
        if way == "mps":
            limits = self.share_limits()
            if test and not self._keeps_profiles:
                free |= frozenset(limits)
            single = not self.has_chains()
            return Sharing(slowed=slowed, single=single, free=free, limits=limits)
        if way in PART_SENTENCES and (found := part_homes(self.workload, self.platform, way)):
            entries, home = found
            sms = [len(part) for part in green_sms(entries, self.gpu())]
            limits = {task: sms[part] for task, part in home.items()}
            users_of = Counter(home[name] for name in names if name in home)
            together = {name for name in names if users_of[home.get(name, -1)] > 1}
            return Sharing(slowed=slowed, free=free & together, limits=limits)
        return Sharing()

    def share_limits(self) -> dict[str, int]:
        """The most SMs of each task whose client of MPS may not use all."""
        workload, _ = self._streamed("mps")
        processes, limits = self._clients(workload)
        return {
            task.name: limits[processes.index(task.process)]
            for task in workload
            if task.kernels and limits[processes.index(task.process)] < self.gpu().sms
        }

    def _instances(self) -> list[GPU] | None:
        """The GPU instances that the platform may have; None if there are none."""
        gpu = self.gpu()
        try:
            chosen = self.platform.mig
            rows = gpu.mig_configurations() if chosen is None else (gpu.mig_instances(chosen),)
        except ValueError:
            return None
        names = dict.fromkeys(one.profile.name for row in rows for one in row)
        return [gpu.instance(name) for name in names]

    def once(self, key: object, make: Callable[[], Made]) -> Made:
        """Result of the first call of ``make`` for the key, or the exception that it raised."""
        if key not in self._made:
            try:
                self._made[key] = make()
            except (ValueError, OverflowError) as error:
                self._made[key] = error.with_traceback(None)
        found = self._made[key]
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[return-value]

    def gpu(self) -> GPU:
        """The GPU of the platform; ValueError without one."""
        if self.platform.gpu is None:
            raise ValueError("platform: got no GPU, expected one")
        return self._device or self.platform.gpu

    # Views

    def kernels(self) -> View[KernelTasks]:
        """Jobs of one kernel, as the GPU runs them."""
        return self.once("kernels", lambda: self.workload.kernels(self.platform, chains="refuse"))

    def chains(
        self, form: Literal["streams", "priority_streams", "green_contexts", "mps_static"]
    ) -> View[KernelChains]:
        """Jobs of several kernels, in streams of one priority or of different priorities.

        In parts of the GPU, their times are those on the SMs of the parts.
        """

        def make() -> View[KernelChains]:
            streamed, said = self._streamed(form, test=True)
            if form == "mps_static":  # clients delay each other as streams of one process do
                tasks = [task.replace(process=None) for task in streamed]
                streamed = streamed.replace(tasks=tasks)
            view = streamed.chains(self.platform)
            return View(view.tasks, (*view.assumptions, *said))

        return self.once(("chains", form), make)

    def batches(self, gaps: Gaps, *, waits: bool = True, stop: Any = None) -> BatchView:
        """Jobs as units, and their batches; ``waits``: of copies, if the models have them."""
        waits = waits and self._copies_wait
        return self.once(
            ("batches", gaps, waits),
            lambda: self.workload.batches(self.platform, gaps=gaps, waits=waits, stop=stop),
        )

    def graph_batches(self, gaps: Gaps, *, stop: Any = None) -> GraphBatchView:
        """Jobs as units, of tasks of which some release others, and their batches."""

        def make() -> GraphBatchView:
            arrive = arriving(self.workload)
            waits = self._copies_wait
            view = arrive.batches(self.platform, gaps=gaps, waits=waits, stop=stop)
            return graph_view(self.workload, view, self.text)

        return self.once(("graph_batches", gaps, self._copies_wait), make)

    def chain_batches(
        self, gaps: Gaps, *, chains: Literal["keep", "cut"] = "keep", stop: Any = None
    ) -> ChainBatchView:
        """Jobs as chains of kernels, or of units of them, and the batches of these."""
        return self.once(
            ("chain_batches", gaps, chains),
            lambda: self.workload.batches(
                self.platform, gaps=gaps, chains=chains, waits=self._copies_wait, stop=stop
            ),
        )

    def hosts(
        self,
        sms: Literal["divided", "all"],
        *,
        waits: bool,
        split: bool = False,
        switches: bool = True,
        delayed: bool = False,
    ) -> View[HostTasks]:
        """Jobs as CPU and GPU segments; ``waits``: copies wait for those of other tasks.

        They need not where GPU segments exclude each other. ``delayed``: tasks may have release
        jitter, and may release each other. The others as in ``Workload.hosts``. On all
        SMs, kernels take exactly their stated times.
        """
        waits = waits and self._copies_wait

        def make() -> View[HostTasks]:
            workload = self.workload if sms == "divided" else self._stated(self.workload)
            if not delayed:
                refuse_triggers(workload)
            return workload._hosts(
                self.platform,
                sms=sms,
                waits=waits,
                split=split,
                switches=switches,
                jitter=delayed,
            )

        return self.once(("hosts", sms, waits, split, switches, delayed), make)

    def _stated(self, workload: Workload) -> Workload:
        """The workload with stated times of kernels on all SMs, which no waves round up."""
        times = workload.kernel_times(self.platform)
        return workload.replace(
            tasks=[
                task.replace(segments=list(map(_as_stated, task.segments, of_task)))
                for task, of_task in zip(workload, times, strict=True)
            ]
        )

    def programs(self, form: StreamForm) -> View[Programs]:
        """Whole programs, with streams and hardware channels as a form has them.

        In parts of the GPU, the times of kernels are those on the SMs of the parts.
        """

        def make() -> View[Programs]:
            streamed, said = self._streamed(form, test=True)
            shapes = form != "one_stream" and (form != "time_slices" or self.shares_processes())
            view = (streamed if shapes else self._stated(streamed))._programs(
                self.platform, shapes=shapes
            )
            return View(view.tasks, (*view.assumptions, *said))

        return self.once(("programs", form), make)

    def share_unit(self, gpu: GPU) -> int:
        """SMs to which shares of clients of MPS are rounded."""
        return self._share_unit or share_unit(gpu.cc)

    def _clients(self, workload: Workload) -> tuple[list[str | None], list[int]]:
        """Processes that use the GPU, and the most SMs that each may occupy as a client of MPS."""
        users = [task for task in workload if not all(map(runs_on_cpu, task.segments))]
        processes = list(dict.fromkeys(task.process for task in users))
        shares, sms = dict(self.platform.mps or ()), self.gpu().sms
        unit = self.share_unit(self.gpu())
        return processes, [client_sms(shares.get(str(name), 100), sms, unit) for name in processes]

    def refuse_unknown_clients(self) -> None:
        """Raise ValueError for shares of MPS of processes that the workload lacks."""
        if found := unknown_clients(self.workload, self.platform):
            raise ValueError(f"mps: {found}")

    def client_limits(self, names: Sequence[str]) -> tuple[list[int], list[int]]:
        """MPS client of each of these tasks, and the most SMs that each may occupy."""
        workload, _ = self._streamed("mps")
        processes, limits = self._clients(workload)
        return [processes.index(workload[name].process) for name in names], limits

    def in_parts(self, way: PartForm, *, test: bool = False) -> TasksInParts:
        """The tasks in the green contexts or static partitions of the platform; see `in_parts`.

        ``test``: kernels with profiles take the longest times that they may, beside others; and no
        SM belongs to two parts, else ValueError.
        """
        free = test and not self._keeps_profiles

        def make() -> TasksInParts:
            gpu = self.platform.gpu or self.gpu()
            found = in_parts(self.workload, self.platform, gpu, way, free=free)
            if self._device is not None:
                found = replace(found, sms=tuple((i,) for i in range(len(found.sms))))
            return found

        found = self.once(("in_parts", way, free), make)
        if test:
            found.refuse_common_sms()
        return found

    def in_one_process(self) -> DerivedModels:
        """The models of the tasks as if all belonged to one process."""

        def make() -> DerivedModels:
            tasks = [task.replace(process=None) for task in self.workload.tasks]
            made = self._with(self.workload.replace(tasks=tasks))
            made._channels_are_apart = True
            return made

        return self.once("in_one_process", make)

    def side_by_side(self) -> tuple[DerivedModels, tuple[str, ...]]:
        """Models for tests of kernels that run beside those of other tasks, with an assumption.

        If several tasks have kernels, times of kernels are multiplied by the largest slowdown of
        the platform, and rounded up.
        """

        def make() -> tuple[DerivedModels, tuple[str, ...]]:
            most = self.platform.slowdown[1]
            if most == 1 or self.kernel_users() < 2 or self._exclude:
                return self, ()
            if (factors := self.shares_of_bandwidth()) is not None:
                tasks = [_slowed(task, factors[task.name]) for task in self.workload]
                said = (
                    "kernels take as much longer as their max-min shares of "
                    f"{rate_text(self.platform.bandwidth or 0)} say, beside the most demanding "
                    "kernel of every other task"
                )
                return self._with(self.workload.replace(tasks=tasks)), (said,)
            made = self._with(self.workload.scaled(kernels=str(most)))
            said = f"kernels take {most:g} times their times, since those of other tasks run beside"
            return made, (said,)

        return self.once("side_by_side", make)

    def shares_of_bandwidth(self) -> dict[str, list[Fraction]] | None:
        """The slowdown of each kernel by shares of bandwidth, by task; None if it is not known."""
        given = self.given

        def make() -> dict[str, list[Fraction]] | None:
            times = given.workload.kernel_times(given.platform)
            rates, capacity = demands(times, given.platform), given.platform.bandwidth
            if rates is None or capacity is None:
                return None
            return dict(zip(given.workload.names, slowdowns(rates, capacity), strict=True))

        return given.once("shares_of_bandwidth", make)

    def shaped(
        self, task: Callable[[Task], Task], *, device: GPU | None = None, exclude: bool = False
    ) -> DerivedModels:
        """The models with other kernels, for a test of the same workload.

        ``device``: a GPU on which the test runs, with an SM for each part of the platform's one.
        ``exclude``: no two kernels run at once.
        """
        made = self._with(self.workload.replace(tasks=list(map(task, self.workload))))
        made.given, made._device, made._exclude = self.given, device, exclude
        return made

    def without_costs(self) -> DerivedModels:
        """The given models without slowdown, launch latency and waits of copies.

        Kernels with profiles have all SMs. What a test rejects for these times, it rejects for the
        program itself.
        """
        given = self.given
        free = platform_without_calls(given.platform).replace(slowdown=None, launch_latency=0)
        made = given._with(given.workload, free)
        made._keeps_profiles = True
        made._copies_wait = False
        return made

    def with_calls(self) -> DerivedModels:
        """The models with the calls of launches, gaps and wake-ups in segments and latencies."""
        if calls_are_free(self.workload, self.platform):
            return self

        def make() -> DerivedModels:
            tasks = [
                task.replace(segments=[part for part, _ in explicit_calls(task, self.platform)])
                for task in self.workload
            ]
            platform = platform_without_calls(self.platform)
            return self._with(self.workload.replace(tasks=tasks), platform)

        return self.once("with_calls", make)

    def impossible(self) -> tuple[str, ...]:
        """Sentences on why no way of sharing the GPU can meet all deadlines; often none."""
        return self.once("impossible", lambda: broken_conditions(self.workload, self.platform))

    def too_much_in_turns(self, way: str) -> tuple[str, ...]:
        """Sentence on why kernels cannot end in time under a way that runs no two of them at once;
        often none."""
        if self.kernels_meet(way):
            return ()
        return self.once(
            "in_turns", lambda: tuple(serial_gpu_overloads(self.workload, self.platform))
        )

    def on_free_sms(
        self, limits: Mapping[str, int] | None = None
    ) -> tuple[DerivedModels, tuple[str, ...]]:
        """Models as of `side_by_side`, for kernels that run on whatever SMs others leave.

        A kernel with a profile has the longest time of a block that it has on any number of SMs up
        to the limit of its task, if several tasks have kernels or the limit is not the whole GPU.

        Raises ValueError for a profile that does not cover all numbers of SMs.
        """
        most = dict(limits or {})

        def make() -> tuple[DerivedModels, tuple[str, ...]]:
            beside, said = self.side_by_side()
            alone = self.kernel_users() < 2
            if self._keeps_profiles or (alone and not most):
                return beside, said
            sms, found = self.gpu().sms, set()

            def slowest(task: Task, of: KernelTimes) -> Fraction | None:
                if alone and task.name not in most:
                    return None
                found.add(task.name)
                return of.slowest_block(most.get(task.name, sms))

            workload = _with_block_times(beside.workload, beside.platform, slowest)
            if not found:
                return beside, said
            more = f"{FREE_SMS}: {listed(task.name for task in workload if task.name in found)}"
            return beside._with(workload), (*said, more)

        return self.once(("on_free_sms", tuple(most.items())), make)

    def _streamed(
        self, form: StreamForm, *, test: bool = False
    ) -> tuple[Workload, tuple[str, ...]]:
        """The workload with the processes and stream priorities of a form, and what was chosen."""
        workload = self.workload
        said: tuple[str, ...] = ()
        if form in PART_SENTENCES:
            workload, said = self.in_parts(form, test=test).workload, PART_SENTENCES[form]
        tasks = list(workload.tasks)
        processes = {task.process for task in tasks if task.kernels}
        if form in ("time_slices", "mps", "mps_static"):
            of_each = process_of_each(tasks)
            if any(of_each[task.name] != task.process for task in tasks):
                tasks = [task.replace(process=of_each[task.name]) for task in tasks]
                said = (*said, "each task is a process of its own")
            if any(task.stream_priority is not None for task in tasks):
                tasks = [task.replace(stream_priority=None) for task in tasks]
                said = (*said, "priorities of streams are not used")
        elif len(processes) > 1:
            raise ValueError(
                f"process: got {len(processes)} processes that use the GPU, expected one; kernels "
                "of different contexts do not run at the same time"
            )
        elif form == "green_contexts":
            pass  # streams have the priorities of the workload
        elif form != "priority_streams":
            if any(task.stream_priority is not None for task in tasks):
                tasks = [task.replace(stream_priority=None) for task in tasks]
                said = ("priorities of streams are not used",)
        elif all(task.stream_priority is None for task in tasks):
            levels = _levels([task.deadline for task in tasks], self.platform.priority_levels)
            tasks = [
                task.replace(stream_priority=level)
                for task, level in zip(tasks, levels, strict=True)
            ]
            said = (
                "priorities of streams are deadline-monotonic (the shorter the deadline, the more "
                f"urgent), in {len(set(levels))} levels",
            )
        return workload.replace(tasks=tasks), said

    def kernel_users(self) -> int:
        """Number of tasks that have kernels."""
        return sum(bool(task.kernels) for task in self.workload)

    def gpu_users(self) -> list[Task]:
        """The tasks with GPU segments: kernels, or copies on engines."""
        return [task for task in self.workload if not all(map(runs_on_cpu, task.segments))]

    def gpu_priorities(self) -> list[int] | None:
        """GPU priorities of all tasks, those without GPU segments last; None if none are given.

        Raises ValueError if only some of the tasks with GPU segments have one.
        """
        users = self.gpu_users()
        given = given_to_all(users, "gpu_priority")
        if given is None:
            return None
        of_user = dict(zip((task.name for task in users), given, strict=True))
        last = max(given) + 1
        return [of_user.get(task.name, last + i) for i, task in enumerate(self.workload)]

    def has_chains(self) -> bool:
        """Whether a job has several kernels."""
        return any(sum(k.repeat for k in task.kernels) > 1 for task in self.workload)

    def pessimism_of_batches(self, *, serial: bool) -> str:
        """In what batches take more than the jobs themselves, so that a "no" proves nothing.

        "" if they represent the jobs as they are. Copies and units lose nothing if jobs run one at
        a time (``serial``).
        """
        for task in self.workload:
            places = [i for i, part in enumerate(task.segments) if not runs_on_cpu(part)]
            inner = task.segments[places[0] : places[-1] + 1] if places else ()
            if any(map(runs_on_cpu, inner)):
                return "CPU work between GPU segments counts as GPU time"
            if not all(kernel.has_shape for kernel in task.kernels):
                return "kernels without a shape count as if they took the whole GPU"
            if not serial and any(map(uses_engine, inner)):
                return "copies count as GPU time"
        if not serial and self.has_chains():
            return "each kernel of a job was a batch of its own, or consecutive ones were one unit"
        return ""

    def copies_meet(self) -> bool:
        """Whether copies of several tasks use one engine."""
        return copies_meet(self.workload, self.platform)

    def channels(self, *, of_client: bool = False) -> int:
        """Channels of a context, or of a client of MPS; 0 without a known limit."""
        if self.platform.channels is not None:
            return self.platform.channels
        return CLIENT_CHANNELS if of_client else self.gpu().channels or 0

    def streams_beyond_channels(self, owner: ChannelOwner = "GPU") -> int:
        """Number of streams of an owner of channels if it exceeds the number of these, else 0."""
        if self._channels_are_apart:
            return 0
        users, of_each = self.gpu_users(), process_of_each(self.workload)
        of_process = Counter(of_each[task.name] for task in users)
        most = len(users) if owner == "GPU" else max(of_process.values(), default=0)
        channels = self.channels(of_client=owner == "client")
        return most if channels and most > channels else 0

    def refuse_shared_channels(self, owner: ChannelOwner = "GPU") -> None:
        """Raise ValueError for more streams than channels, as streams of one channel interfere."""
        if streams := self.streams_beyond_channels(owner):
            channels = self.channels(of_client=owner == "client")
            whose = {"GPU": "the GPU", "client": "a client of MPS", "process": "a process"}[owner]
            within = "" if owner == "GPU" else f" in a {owner}"
            raise ValueError(
                f"tasks: got {streams} streams{within}, expected at most {channels}, the channels "
                f"of {whose} (CUDA_DEVICE_MAX_CONNECTIONS, --channels); streams that share a "
                "channel also wait for each other's kernels to start"
            )

    def kernels_beyond_grids(self) -> int:
        """Number of tasks with kernels where it exceeds the kernels that the GPU runs at once.

        0 otherwise. A task has one kernel at a time.
        """
        users = self.kernel_users()
        return users if users > self.gpu().resident_grids else 0

    def refuse_many_kernels(self, most: int | None = None) -> None:
        """Raise ValueError for more kernels side by side than the GPU runs at once.

        ``most``: so many run at once, however many tasks have some.
        """
        users = self.kernels_beyond_grids()
        grids = self.gpu().resident_grids
        if users and (most is None or most > grids):
            raise ValueError(
                f"tasks: got {users} tasks with kernels, expected at most {grids}, the kernels "
                "that the GPU runs at once (resident_grids); the test does not count that a kernel "
                "waits for another one to end"
            )

    # Processes

    def shares_processes(self) -> bool:
        """Whether several tasks with kernels are in one process."""
        users, of_each = [t for t in self.workload if t.kernels], process_of_each(self.workload)
        return len({of_each[task.name] for task in users}) < len(users)

    def kernels_meet(self, way: str) -> bool:
        """Whether kernels of different tasks run at the same time under a way."""
        return self.shares_processes() if way == "time_slices" else way not in _IN_TURNS

    def own_processes(self) -> tuple[str, ...]:
        """Assumption on processes, if each task that uses the GPU has its own process.

        Raises ValueError if tasks share a process.
        """
        users = [task for task in self.workload if task.kernels]
        processes = [task.process for task in users]
        if not users or set(processes) == {None}:
            return ("each task is a process of its own",) if users else ()
        for task in users:
            if processes.count(task.process) > 1:
                raise ValueError(
                    f"{named(task.name)}: got a process that another task is in, expected one for "
                    "each task; their kernels share a context"
                )
        return ()

    # Cores

    def has_cores(self) -> bool:
        """Whether the tasks of the workload have cores.

        Raises ValueError if only some of them do.
        """
        given = [task.core is not None for task in self.workload]
        if any(given) and not all(given):
            name = self.workload.names[given.index(False)]
            raise ValueError(
                f"{name}: got no core, expected one as of other tasks, or none for all"
            )
        return all(given)

    def refuse_cores(self) -> None:
        """Raise ValueError for tasks that have a core already."""
        for task in self.workload:
            if task.core is not None:
                raise ValueError(
                    f"{named(task.name)}: got core {task.core}, expected none; the method chooses "
                    "where tasks run"
                )


def _as_stated(part: Segment, times: KernelTimes | None) -> Segment:
    """A kernel as one with its stated time on all SMs alone; other segments as they are."""
    if not isinstance(part, Kernel) or times is None or times.stated is None:
        return part
    if part.block_time is not None:
        return part
    return Kernel(times.stated, repeat=part.repeat, name=part.name)


def _slowed(task: Task, factors: Sequence[Fraction]) -> Task:
    """The task with kernels that take so many times their times, rounded up."""
    left = iter(factors)
    segments = [
        scaled_segment(part, kernels=next(left)) if isinstance(part, Kernel) else part
        for part in task.segments
    ]
    return task.replace(segments=segments)


def _with_block_times(
    workload: Workload,
    platform: Platform,
    block: Callable[[Task, KernelTimes], Fraction | None],
) -> Workload:
    """A workload with these times of blocks, rounded up, for kernels with a profile and a shape."""
    if not any(kernel.sms for task in workload for kernel in task.kernels):
        return workload
    tasks = []
    for task, row in zip(workload, workload.kernel_times(platform), strict=True):
        segments: list[Segment] = []
        for part, of in zip(task.segments, row, strict=True):
            if isinstance(part, Kernel) and of is not None and part.sms and part.has_shape:
                if (time := block(task, of)) is not None:
                    part = part.replace(time=None, sms=None, block_time=ceil(time))
            segments.append(part)
        tasks.append(task.replace(segments=segments))
    return workload.replace(tasks=tasks)


def _levels(deadlines: list[int], most: int | None) -> list[int]:
    """Levels 0, 1, ... of priority by deadline, at most so many."""
    rank = {deadline: i for i, deadline in enumerate(sorted(set(deadlines)))}
    count = len(rank) if most is None else min(most, len(rank))
    return [rank[deadline] * count // len(rank) for deadline in deadlines]
