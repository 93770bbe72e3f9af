"""Models of a workload on a platform, each derived once for all methods that use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

import numpy as np

from gpusched.comparison.copy_waits import copies_meet
from gpusched.comparison.green_context_tasks import (
    GREEN_SENTENCES,
    GreenContextTasks,
    in_green_contexts,
)
from gpusched.comparison.necessary_conditions import broken_conditions, serial_gpu_overloads
from gpusched.model.gpu import GPU
from gpusched.model.host_tasks import HostTasks
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.launches import Launches
from gpusched.model.views.derived_view import BatchView, ChainBatchView, LaunchView, View
from gpusched.model.workload.gpu_part_names import unknown_clients
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import Kernel
from gpusched.model.workload.workloads import Workload

__all__ = ["DerivedModels", "Gaps", "StreamForm"]

Gaps = Literal["refuse", "occupy"]
StreamForm = Literal[
    "one_stream", "streams", "priority_streams", "mps", "green_contexts", "time_slices"
]
Made = TypeVar("Made")


class DerivedModels:
    """Views of a workload on a platform, and allocations of cores and SMs.

    If the derivation of a view fails, later requests for it raise the same error.
    """

    def __init__(self, workload: Workload, platform: Platform) -> None:
        self.workload = workload
        self.platform = platform.at(workload.tick)
        self._made: dict[object, object] = {}
        self._channels_are_apart = False  # of streams, whatever their number
        self._copies_wait = True

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
        return self.platform.gpu

    # Views

    def kernels(self) -> View[KernelTasks]:
        """Jobs of one kernel, as the GPU runs them."""
        return self.once("kernels", lambda: self.workload.kernels(self.platform, chains="refuse"))

    def chains(
        self, form: Literal["streams", "priority_streams", "green_contexts"]
    ) -> View[KernelChains]:
        """Jobs of several kernels, in streams of one priority or of different priorities.

        In green contexts, their times are those on the SMs of the green contexts.
        """

        def make() -> View[KernelChains]:
            streamed, said = self._streamed(form)
            view = streamed.chains(self.platform)
            return View(view.tasks, (*view.assumptions, *said))

        return self.once(("chains", form), make)

    def batches(self, gaps: Gaps, *, waits: bool = True) -> BatchView:
        """Jobs as units, and their batches; ``waits``: of copies, if the models have them."""
        waits = waits and self._copies_wait
        return self.once(
            ("batches", gaps, waits),
            lambda: self.workload.batches(self.platform, gaps=gaps, waits=waits),
        )

    def chain_batches(self, gaps: Gaps) -> ChainBatchView:
        """Jobs as chains of kernels, and the batches of these."""
        return self.once(
            ("chain_batches", gaps),
            lambda: self.workload.batches(
                self.platform, gaps=gaps, chains="keep", waits=self._copies_wait
            ),
        )

    def hosts(
        self, sms: Literal["divided", "all"], *, waits: bool, split: bool = False
    ) -> View[HostTasks]:
        """Jobs as CPU and GPU segments; ``waits``: copies wait for those of other tasks.

        They need not where GPU segments exclude each other. ``split`` as in ``Workload.hosts``.
        """
        waits = waits and self._copies_wait
        return self.once(
            ("hosts", sms, waits, split),
            lambda: self.workload.hosts(self.platform, sms=sms, waits=waits, split=split),
        )

    def launches(self, form: StreamForm, until: int) -> LaunchView:
        """Launches of the jobs released before ``until``, in the given form of streams."""
        streamed, said = self._streamed(form)
        view = streamed.launches(
            self.platform, until, streams="one" if form == "one_stream" else "task"
        )
        launches = view.launches
        if form == "mps":
            self.refuse_unknown_clients()
            launches, more = self._as_clients(streamed, launches)
            said = (*said, *more)
        elif form == "green_contexts":
            launches = self.in_green_contexts().confined(launches)
        return LaunchView(launches, view.task, view.job, (*view.assumptions, *said))

    def _as_clients(
        self, workload: Workload, launches: Launches
    ) -> tuple[Launches, tuple[str, ...]]:
        """Launches whose contexts are clients of MPS: partitions of one context."""
        processes, limits = self._clients(workload)
        sms = self.gpu().sms
        clients = launches.replace(
            stream_context=np.zeros(launches.streams, np.int64),
            stream_partition=launches.stream_context,
            partition_limit=[limit if limit < sms else 0 for limit in limits],
            partition_name=[str(name) for name in processes],
        )
        return clients, ("clients of MPS have queues in common and channels of their own",)

    def _clients(self, workload: Workload) -> tuple[list[str | None], list[int]]:
        """Processes with kernels, and the most SMs that each may occupy as a client of MPS."""
        processes = list(dict.fromkeys(task.process for task in workload if task.kernels))
        shares, sms = dict(self.platform.mps or ()), self.gpu().sms
        return processes, [-(-sms * shares.get(str(name), 100) // 100) for name in processes]

    def refuse_unknown_clients(self) -> None:
        """Raise ValueError for shares of MPS of processes that the workload lacks."""
        if found := unknown_clients(self.workload, self.platform):
            raise ValueError(f"mps: {found}")

    def client_limits(self, names: Sequence[str]) -> tuple[list[int], list[int]]:
        """MPS client of each of these tasks, and the most SMs that each may occupy."""
        workload, _ = self._streamed("mps")
        processes, limits = self._clients(workload)
        return [processes.index(workload[name].process) for name in names], limits

    def in_green_contexts(self) -> GreenContextTasks:
        """The tasks in the green contexts of the platform; see `in_green_contexts`."""
        return self.once(
            "in_green_contexts",
            lambda: in_green_contexts(self.workload, self.platform, self.gpu()),
        )

    def in_one_process(self) -> DerivedModels:
        """The models of the tasks as if all belonged to one process."""

        def make() -> DerivedModels:
            tasks = [task.replace(process=None) for task in self.workload.tasks]
            made = DerivedModels(self.workload.replace(tasks=tasks), self.platform)
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
            if most == 1 or self.kernel_users() < 2:
                return self, ()
            made = DerivedModels(self.workload.scaled(kernels=str(most)), self.platform)
            made._channels_are_apart = self._channels_are_apart
            said = f"kernels take {most:g} times their times, since those of other tasks run beside"
            return made, (said,)

        return self.once("side_by_side", make)

    def without_costs(self) -> DerivedModels | None:
        """The models without slowdown, launch latency and waits of copies; None if there are none.

        What a test rejects for these times, it rejects for the program itself.
        """
        platform = self.platform
        if platform.slowdown[1] == 1 and not platform.launch_latency and not self.copies_meet():
            return None
        made = DerivedModels(self.workload, platform.replace(slowdown=None, launch_latency=0))
        made._channels_are_apart = self._channels_are_apart
        made._copies_wait = False
        return made

    def impossible(self) -> tuple[str, ...]:
        """Sentences on why no way of sharing the GPU can meet all deadlines; often none."""
        return self.once("impossible", lambda: broken_conditions(self.workload, self.platform))

    def too_much_in_turns(self) -> tuple[str, ...]:
        """Sentence on why kernels cannot end in time if no two of them run at once; often none."""
        return self.once(
            "in_turns", lambda: tuple(serial_gpu_overloads(self.workload, self.platform))
        )

    def _streamed(self, form: StreamForm) -> tuple[Workload, tuple[str, ...]]:
        """The workload with the processes and stream priorities of a form, and what was chosen."""
        workload = self.workload
        said: tuple[str, ...] = ()
        if form == "green_contexts":
            workload, said = self.in_green_contexts().workload, GREEN_SENTENCES
        tasks = list(workload.tasks)
        processes = {task.process for task in tasks if task.kernels}
        if form in ("time_slices", "mps"):
            if processes == {None}:
                tasks = [task.replace(process=task.name) for task in tasks]
                said = ("each task is a process of its own",)
            if form == "mps" and any(task.stream_priority is not None for task in tasks):
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

    def has_chains(self) -> bool:
        """Whether a job has several kernels."""
        return any(sum(k.repeat for k in task.kernels) > 1 for task in self.workload)

    def is_batched_as_stated(self, *, serial: bool) -> bool:
        """Whether batches represent the jobs as they are, so that none of them is a reason for no.

        CPU work and copies between kernels occupy the GPU in a batch, kernels without a shape take
        all of it, and of a job's kernels each is a batch of its own or all are one unit, which
        loses nothing only if jobs run one at a time (``serial``).
        """
        for task in self.workload:
            places = [i for i, part in enumerate(task.segments) if isinstance(part, Kernel)]
            if not places:
                continue
            inner = task.segments[places[0] : places[-1] + 1]
            if len(inner) > len(places) or not all(kernel.has_shape for kernel in task.kernels):
                return False
        return serial or not self.has_chains()

    def copies_meet(self) -> bool:
        """Whether copies of several tasks use one engine."""
        return copies_meet(self.workload, self.platform)

    def streams_beyond_channels(self, *, of_process: bool = False) -> int:
        """Number of streams if it exceeds the number of channels of the GPU, else 0.

        ``of_process``: each process has its own channels.
        """
        if self._channels_are_apart:
            return 0
        users = [task.process for task in self.workload if task.kernels]
        most = max(map(users.count, users), default=0) if of_process else len(users)
        if of_process and set(users) == {None}:
            most = 1  # each task is a process of its own
        channels = self.gpu().channels
        return most if channels and most > channels else 0

    def refuse_shared_channels(self, *, of_process: bool = False) -> None:
        """Raise ValueError for more streams than channels, as streams of one channel interfere."""
        if streams := self.streams_beyond_channels(of_process=of_process):
            raise ValueError(
                f"tasks: got {streams} streams, expected at most {self.gpu().channels}, the "
                "channels of the GPU (gs.GPU.replace(channels=), --channels); streams that share a "
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
                    f"{task.name}: got a process that another task is in, expected one for each "
                    "task; their kernels share a context"
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
                    f"{task.name}: got core {task.core}, expected none; the method chooses where "
                    "tasks run"
                )


def _levels(deadlines: list[int], most: int | None) -> list[int]:
    """Levels 0, 1, ... of priority by deadline, at most so many."""
    rank = {deadline: i for i, deadline in enumerate(sorted(set(deadlines)))}
    count = len(rank) if most is None else min(most, len(rank))
    return [rank[deadline] * count // len(rank) for deadline in deadlines]
