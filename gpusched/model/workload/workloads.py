"""Workloads: sets of tasks with one tick, from which the models of all methods are derived."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, SupportsIndex, overload

from gpusched._support.arguments import instance, is_sequence, one_of, position
from gpusched._support.arrow import Tabular
from gpusched._support.file_limits import MAX_BYTES
from gpusched._support.missing_values import frame_of
from gpusched._support.no_array import NoArray
from gpusched._support.text import clip, shown
from gpusched.model.host_tasks import HostTasks
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.views.chain_view import chain_view
from gpusched.model.views.derived_view import BatchView, ChainBatchView, LaunchView, View
from gpusched.model.views.host_view import host_view
from gpusched.model.views.kernel_view import batch_view, chain_batch_view, kernel_view
from gpusched.model.views.launch_view import launch_view
from gpusched.model.views.view_source import Source
from gpusched.model.workload.facts import label
from gpusched.model.workload.kernel_waves import KernelTimes, kernel_times
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import CPU, Kernel, Segment
from gpusched.model.workload.time_units import (
    Time,
    as_factor,
    as_time,
    in_ticks,
    scaled_up,
    tick_of,
    tick_text,
)
from gpusched.model.workload.workload_files import read_workload, write_workload
from gpusched.model.workload.workload_frames import parts_of, table_of
from gpusched.model.workload.workload_parts import Parts
from gpusched.model.workload.workload_text import html_of, repr_of, text_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Utilization", "Workload"]

Factor = str | int | Fraction
"""A factor as an argument: decimal text, a whole number or a Fraction."""

Names = list[str] | tuple[str, ...] | list[int] | tuple[int, ...]
"""Names or numbers of several tasks."""

_ONE = Fraction(1)


class Utilization(NamedTuple):
    """Sums over the tasks of time per period: on CPUs, of copies on engines, of kernels."""

    cpu: float
    copies: float
    gpu: float


class Workload(NoArray, Tabular):
    """Tasks with CPU work, copies and kernels, stated once for all methods.

    >>> w = gs.Workload([
    ...     gs.Task("detector", period="33ms", deadline="30ms", segments=[
    ...         gs.CPU("2ms"), gs.CopyIn("300us"),
    ...         gs.Kernel("4.1ms", blocks=120, threads=256, regs=64),
    ...         gs.CopyOut("120us"), gs.CPU("1ms")]),
    ...     gs.Task("tracker", rate="60Hz", segments=[gs.CPU("1ms"), gs.Kernel("500us")]),
    ... ], tick="us")
    >>> w["detector"].deadline, w["detector"].segments[2].time, w[1].period
    (30000, 4100, 16666)
    >>> w.scaled(kernels="1.2")["tracker"].segments[1].time
    600
    >>> w.assumptions
    ('tracker: the period of 60Hz is rounded down to 16.666ms',)

    Parameters
    ----------
    tasks
        Tasks of different names; at least one. The tasks of another workload keep their times,
        whatever its tick.
    tick
        Length of a tick: a unit (``"ns"``, ``"us"``, ``"ms"``, ``"s"``) or a time such as
        ``"10ns"``. Numbers are ticks; a time given as text must be a whole number of them.
    notes
        Sentences about the origin of the workload; they come first among the `assumptions`.

    Raises
    ------
    ValueError
        A time that is not a whole number of ticks; two tasks of one name; no task. The message
        names task, segment and value.
    OverflowError
        Times, or jobs, of 2**60 ticks or more.
    TypeError
        Arguments of other types.

    Workloads are immutable. Two are equal when their ticks and tasks are; notes do not count.
    """

    __slots__ = ("_index", "_tick", "notes", "tasks")

    _INSTEAD = "[task.period for task in workload], or .to_frame()"

    tasks: tuple[Task, ...]
    notes: tuple[str, ...]
    _tick: int
    _index: dict[str, int]

    def __init__(
        self, tasks: Iterable[Task], tick: str = "ns", *, notes: Iterable[str] = ()
    ) -> None:
        length = tick_of(tick)
        if not is_sequence(tasks):
            raise TypeError(f"tasks: got {shown(tasks)}, expected a list of tasks")
        found = []
        for i, task in enumerate(tasks):
            instance(task, Task, f"tasks[{i}]")
            try:
                found.append(task._at(length))
            except (ValueError, OverflowError) as error:
                raise type(error)(f"tasks[{clip(repr(task.name), 60)}].{error}") from None
        self._put(tuple(found), length, _notes(notes))

    def _put(self, tasks: tuple[Task, ...], tick: int, notes: tuple[str, ...]) -> None:
        index = {task.name: i for i, task in enumerate(tasks)}
        if not tasks:
            raise ValueError("tasks: got none, expected at least one")
        if len(index) < len(tasks):
            name, i = next((task.name, i) for i, task in enumerate(tasks) if index[task.name] != i)
            raise ValueError(
                f"tasks[{index[name]}].name: got {name!r:.60}, expected another name than that of "
                f"tasks[{i}]"
            )
        for key, value in (("tasks", tasks), ("notes", notes), ("_tick", tick), ("_index", index)):
            object.__setattr__(self, key, value)

    @classmethod
    def _made(cls, tasks: Iterable[Task], tick: int, notes: tuple[str, ...]) -> Workload:
        """A workload of tasks that are in ticks of ``tick`` ns."""
        made = object.__new__(cls)
        made._put(tuple(tasks), tick, notes)
        return made

    # Parts

    @property
    def tick(self) -> str:
        """The length of a tick, such as ``"us"``."""
        return tick_text(self._tick)

    @property
    def tick_ns(self) -> int:
        """Nanoseconds of a tick."""
        return self._tick

    @property
    def names(self) -> tuple[str, ...]:
        """The tasks' names."""
        return tuple(task.name for task in self.tasks)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Sentences about the origin of the workload and about periods that were rounded down."""
        found = (task._assumption() for task in self.tasks)
        return (*self.notes, *(text for text in found if text is not None))

    @property
    def hyperperiod(self) -> int:
        """Least common multiple of the periods, in ticks."""
        return math.lcm(*(task.period for task in self.tasks))

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def __contains__(self, item: object) -> bool:
        """Whether a task of this name, or an equal task, is in it."""
        return item in self._index if isinstance(item, str) else item in self.tasks

    @overload
    def __getitem__(self, index: str | SupportsIndex) -> Task: ...

    @overload
    def __getitem__(self, index: slice | Names) -> Workload: ...

    def __getitem__(self, index: str | SupportsIndex | slice | Names) -> Task | Workload:
        """One task by its name or number; a workload of some by a slice, numbers or names.

        Raises KeyError and IndexError for tasks that do not exist, ValueError for none or for the
        same one twice, and TypeError for other indices.
        """
        if isinstance(index, slice):
            return self._made(self.tasks[index], self._tick, self.notes)
        if not isinstance(index, (list, tuple)):
            return self.tasks[self._number(index)]
        numbers = [self._number(item) for item in index]
        if len(set(numbers)) < len(numbers):
            twice = next(self.tasks[i].name for i in numbers if numbers.count(i) > 1)
            raise ValueError(f"tasks: got {twice!r:.60} twice, expected it once")
        return self._made((self.tasks[i] for i in numbers), self._tick, self.notes)

    def index(self, task: str | SupportsIndex) -> int:
        """Index of a task given by its name or number.

        Raises KeyError, IndexError and TypeError as indexing does.
        """
        return self._number(task)

    def _number(self, index: object) -> int:
        if not isinstance(index, str):
            return position(index, len(self.tasks), "tasks")
        if index not in self._index:
            known = clip(", ".join(self._index), 200)
            raise KeyError(f"tasks: got {index!r:.60}, expected one of {known}")
        return self._index[index]

    def __add__(self, other: Workload) -> Workload:
        """Join two workloads, in the tick of the first.

        Raises ValueError for a name that is in both, and for a time of the second that is not a
        whole number of the first one's ticks.
        """
        if not isinstance(other, Workload):
            return NotImplemented
        notes = dict.fromkeys((*self.notes, *other.notes))
        return Workload((*self.tasks, *other.tasks), self.tick, notes=notes)

    # Changes

    def replace(
        self,
        *,
        tasks: Iterable[Task] | None = None,
        tick: str | None = None,
        notes: Iterable[str] | None = None,
    ) -> Workload:
        """Make a workload with other tasks, another tick, or other notes.

        With another tick the times stay the same; ValueError for one that is not a whole number
        of the new ticks. Periods of rates are derived anew.

        >>> w = gs.Workload([gs.Task("a", "3ms", [gs.CPU("1ms")])], tick="ms")
        >>> w.replace(tick="us")["a"].period
        3000
        """
        return Workload(
            self.tasks if tasks is None else tasks,
            self.tick if tick is None else tick,
            notes=self.notes if notes is None else notes,
        )

    def with_task(self, task: Task) -> Workload:
        """Make a workload with this task in place of the one of its name, or behind the others.

        >>> w = gs.Workload([gs.Task("a", "3ms", [gs.CPU("1ms")])], tick="us")
        >>> w.with_task(w["a"].replace(period="4ms"))["a"].deadline
        4000
        """
        instance(task, Task, "task")
        tasks = list(self.tasks)
        if task.name in self._index:
            tasks[self._index[task.name]] = task
        else:
            tasks.append(task)
        return self.replace(tasks=tasks)

    def scaled(self, kernels: Factor = 1, cpu: Factor = 1, copies: Factor = 1) -> Workload:
        """Make a workload whose kernels, CPU work or copies take longer or less.

        Every time of a kernel is multiplied, also those of its blocks and its profile, and rounded
        up to a tick. Factors are decimal text, whole numbers or Fractions: as a float, 1.2 is more
        than 12 / 10, and would make 13 of 10. Raises TypeError for a float, ValueError for a factor
        that is not positive, and OverflowError.
        """
        by_kind = (
            as_factor(kernels, "kernels"),
            as_factor(cpu, "cpu"),
            as_factor(copies, "copies"),
        )
        tasks = []
        for task in self.tasks:
            try:
                segments = [_scaled(segment, *by_kind) for segment in task.segments]
                tasks.append(task.replace(segments=segments))
            except OverflowError as error:
                raise OverflowError(f"tasks[{task.name!r:.60}].{error}") from None
        return self._made(tasks, self._tick, self.notes)

    # Files and frames

    def save(
        self, path: str | PathLike[str], *, file_format: Literal["toml", "json"] | None = None
    ) -> None:
        """Write a file from which `load` makes an equal workload.

        Parameters
        ----------
        path
            A name that ends in ``.toml`` or ``.json``; an existing file is replaced once the new
            one is complete.
        file_format
            The format, whatever the name.

        Raises
        ------
        ValueError
            Another suffix.
        OSError
            From the file system.
        """
        write_workload(Parts(self.tasks, self._tick, self.notes), path, file_format)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        file_format: Literal["toml", "json"] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Workload:
        """Read a TOML or JSON file as `save` writes it and as one writes it by hand.

        ::

            version = 1
            tick = "us"

            [[task]]
            name = "detector"
            period = "33ms"
            segments = [
                { cpu = "2ms" },
                { copy_in = "300us", by = "cpu" },
                { kernel = "4.1ms", blocks = 120, threads = 256 },
                { sms = { 1 = "40ms", 4 = "11ms" }, name = "measured" },
            ]

        Keys are the arguments of `Workload`, `Task` and the segments; the time of a segment stands
        under its kind. ``workload.schema.json`` beside this module describes the format to editors.

        Parameters
        ----------
        path
            The file. Standard input (``/dev/stdin``) is JSON where it begins with a brace.
        file_format
            The format, whatever the name.
        max_bytes
            The largest file that is read.

        Raises
        ------
        ValueError
            Text that is not of the format, with its line; unknown, missing or wrong entries, with
            the path of the key.
        OSError
            From the file system.
        """
        return cls._made(*read_workload(path, file_format, max_bytes))

    def to_frame(self) -> pd.DataFrame:
        """A pandas table with one row per segment; times are ticks, missing where not given.

        Columns: task, name, and the arguments of `Task`; segment, kind ("cpu", "copy in", "copy
        out", "kernel"), label (its name), and the arguments of the segments; tick. Notes are in
        ``frame.attrs``.
        """
        frame = frame_of(self._table())
        frame.attrs["notes"] = list(self.notes)
        return frame

    def _table(self) -> dict[str, Any]:
        return table_of(Parts(self.tasks, self._tick, self.notes))

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, tick: str | None = None) -> Workload:
        """Make a workload of a table as `to_frame` gives it.

        Needed are ``name`` and ``kind``, and what a task and a segment need. Rows of one task
        stand together, or are numbered in ``task`` and ``segment``. ``tick`` is that of the numbers
        where there is no such column ("ns" by default). Raises ValueError with the row.

        >>> w = gs.Workload([gs.Task("a", 9, [gs.CPU(2), gs.Kernel(3, blocks=4, threads=64)])])
        >>> gs.Workload.from_frame(w.to_frame()) == w
        True
        """
        return cls._made(*parts_of(frame, tick))

    # Sums and derived times

    def kernel_times(self, platform: Platform) -> tuple[tuple[KernelTimes | None, ...], ...]:
        """Times of the kernels on the platform's GPU, per task and segment; None for others.

        Raises ValueError for a kernel that does not fit the GPU, with its task and segment.
        """
        instance(platform, Platform, "platform")
        kernels, where = [], []
        for task in self.tasks:
            for i, segment in enumerate(task.segments):
                if isinstance(segment, Kernel):
                    kernels.append(segment)
                    where.append(f"{task.name}: segments[{i}]")
        times = iter(kernel_times(kernels, platform.gpu, where))
        return tuple(
            tuple(next(times) if isinstance(part, Kernel) else None for part in task.segments)
            for task in self.tasks
        )

    def utilization(self, platform: Platform | None = None) -> Utilization:
        """Sums of time per period on CPUs, copy engines and the GPU.

        Kernels count with their stated times, or on a platform with those of `kernel_times`.
        Without a platform, ValueError for a kernel without a stated time or profile.

        >>> w = gs.Workload([gs.Task("a", 8, [gs.CPU(2), gs.Kernel(4)])])
        >>> w.utilization().gpu
        0.5
        """
        times = self.kernel_times(Platform() if platform is None else platform)
        cpu, copies, gpu = [], [], []
        for task, of_task in zip(self.tasks, times, strict=True):
            busy = sum(
                of.time * segment.repeat
                for segment, of in zip(task.segments, of_task, strict=True)
                if of is not None
            )
            cpu.append(task.cpu_time / task.period)
            copies.append(task.copy_time / task.period)
            gpu.append(busy / task.period)
        return Utilization(math.fsum(cpu), math.fsum(copies), math.fsum(gpu))

    # Models

    def kernels(
        self,
        platform: Platform,
        *,
        gaps: Literal["refuse", "occupy"] = "refuse",
        chains: Literal["fuse", "refuse"] = "fuse",
    ) -> View[KernelTasks]:
        """Derive kernel tasks: for PBS, and for kernels in FIFO order.

        The GPU segments of a job are one unit. CPU work before them becomes an offset, CPU work
        behind them shortens the deadline. A unit of several kernels takes the sum of their times,
        and the most blocks, threads, registers and shared memory of any, or the whole GPU where no
        SM holds such a block; copies on engines and launch latencies count as GPU time. The
        priorities are those of the streams.

        That is right for a scheduler that starts whole jobs, as PBS does. On a GPU by itself, each
        kernel of a chain waits for those of other tasks: ``chains="refuse"`` takes jobs of one
        kernel only, whose copies, as CPU work does, become offsets and shorten deadlines.

        Parameters
        ----------
        platform
            A platform with a GPU.
        gaps
            CPU work between two GPU segments is refused, or counts as GPU time ("occupy").
        chains
            Jobs of several kernels are one unit ("fuse"), or refused.

        Returns
        -------
        View
            ``tasks`` without those that have no GPU segments, and ``assumptions``.

        Raises
        ------
        ValueError
            Facts that the model cannot express: no GPU, jitter, several processes, kernels without
            a shape, copies without a kernel, CPU work that leaves no time before the deadline, a
            stream priority for some tasks only, more of them than levels.
        OverflowError
            Times of 2**60 ticks or more.

        >>> w = gs.Workload([gs.Task("a", 90, [
        ...     gs.CPU(5), gs.Kernel(20, blocks=64, threads=512), gs.CPU(3)])])
        >>> w.kernels(gs.Platform("Xavier")).tasks
        KernelTasks(period=[90], wcet=[20], deadline=[82], block_time=[10], offset=[5])
        """
        one_of(gaps, ("refuse", "occupy"), "gaps")
        one_of(chains, ("fuse", "refuse"), "chains")
        return kernel_view(self._source(platform), occupy=gaps == "occupy", fuse=chains == "fuse")

    def chains(self, platform: Platform) -> View[KernelChains]:
        """Derive chains of kernels: for streams of different priorities.

        Each kernel of a job is one of its own, in the order of the segments. CPU work, copies and
        the launch latency before a kernel are part of its latency; what stands behind the last
        kernel shortens the deadline. A copy also waits for at most one copy of every other task on
        its engine. The priorities are those of the streams.

        Parameters
        ----------
        platform
            A platform with a GPU.

        Returns
        -------
        View
            ``tasks`` (`KernelChains`) without those that have no GPU segments, and
            ``assumptions``.

        Raises
        ------
        ValueError
            Facts that the model cannot express: no GPU, jitter, several processes, kernels without
            a shape, copies without a kernel, work behind the last kernel that leaves no time before
            the deadline, a stream priority for some tasks only, more of them than levels.
        OverflowError
            Times of 2**60 ticks or more.

        >>> w = gs.Workload([gs.Task("a", 90, [
        ...     gs.CPU(5), gs.Kernel(20, blocks=64, threads=512), gs.CPU(3),
        ...     gs.Kernel(4, blocks=8, threads=512), gs.CPU(2)])])
        >>> chains = w.chains(gs.Platform("Xavier", launch_latency=1)).tasks
        >>> chains.block_time.tolist(), chains.latency.tolist(), chains.deadline.tolist()
        ([[10, 4]], [[6, 4]], [88])
        """
        return chain_view(self._source(platform))

    @overload
    def batches(
        self,
        platform: Platform,
        *,
        gaps: Literal["refuse", "occupy"] = "refuse",
        chains: Literal["fuse"] = "fuse",
    ) -> BatchView: ...
    @overload
    def batches(
        self,
        platform: Platform,
        *,
        gaps: Literal["refuse", "occupy"] = "refuse",
        chains: Literal["keep"],
    ) -> ChainBatchView: ...
    def batches(
        self,
        platform: Platform,
        *,
        gaps: Literal["refuse", "occupy"] = "refuse",
        chains: Literal["fuse", "keep"] = "fuse",
    ) -> BatchView | ChainBatchView:
        """Derive kernel tasks and the completion times of their batches, for PBS.

        Tasks, arguments and refusals are those of `kernels`. The table is that of
        ``BatchTable.from_gpu`` with the largest slowdown of the platform; ValueError for more
        tasks than a table can have. Kernels without blocks and threads are not refused: each runs
        in a batch of its own, and where all are such no GPU is needed.

        With ``chains="keep"`` the tasks are `KernelChains`, and a batch has at most one kernel of
        each. Copies and, with ``gaps="occupy"``, CPU work between two kernels keep the GPU before
        the second one; what stands around all kernels of a job does not. ValueError for more than
        24 kernels in all, counted with their ``repeat``.

        >>> w = gs.Workload([gs.Task(name, 90, [gs.Kernel(20, blocks=4, threads=512)])
        ...                  for name in ("a", "b")])
        >>> view = w.batches(gs.Platform("Xavier", slowdown=1.5))
        >>> gs.pbs.edf_parallel(view.tasks, view.table).schedulable, view.table.completion.tolist()
        (True, [0, 20, 20, 30])
        """
        one_of(gaps, ("refuse", "occupy"), "gaps")
        one_of(chains, ("fuse", "keep"), "chains")
        source, occupy = self._source(platform), gaps == "occupy"
        if chains == "keep":
            return chain_batch_view(source, occupy=occupy)
        return batch_view(source, occupy=occupy)

    def hosts(
        self, platform: Platform, *, sms: Literal["divided", "all"] = "divided"
    ) -> View[HostTasks]:
        """Derive host tasks: for STGM, locks, a GPU server, and global EDF.

        Copies count as CPU work in GPU segments; consecutive kernels are one GPU segment, and each
        takes the launch latency longer. Tasks without a core have none.

        Parameters
        ----------
        platform
            The platform; it needs a GPU where SMs are divided.
        sms
            Kernels have times on 1, 2, ... SMs ("divided"), which need shapes or profiles, or only
            one on all SMs ("all"), for methods that do not divide the SMs.

        Returns
        -------
        View
            ``tasks`` and ``assumptions``.

        Raises
        ------
        ValueError
            Facts that the model cannot express: jitter, a core that the platform does not have, a
            priority for some tasks only; where SMs are divided, several processes and kernels
            whose times on fewer SMs are unknown.
        OverflowError
            Times of 2**60 ticks or more.

        >>> w = gs.Workload([gs.Task("a", 90, [
        ...     gs.CPU(5), gs.CopyIn(2), gs.Kernel(20, blocks=32, threads=2048 // 4), gs.CPU(3)])])
        >>> hosts = w.hosts(gs.Platform("Xavier")).tasks
        >>> hosts.cpu.tolist(), hosts.copy_in.tolist(), hosts.kernel_time(sms=4).tolist()
        ([[5, 3]], [[2]], [[40]])
        """
        one_of(sms, ("divided", "all"), "sms")
        return host_view(self._source(platform), divided=sms == "divided")

    def launches(
        self, platform: Platform, until: Time, *, streams: Literal["task", "one"] = "task"
    ) -> LaunchView:
        """Derive the launches of all jobs released before a time, for the hierarchy simulation.

        Jobs are released periodically; their GPU segments are launched when the CPU work before
        them has ended. Each process has a context; tasks without a process share one.

        Parameters
        ----------
        platform
            A platform with a GPU.
        until
            Ticks, or text with a unit.
        streams
            A stream for each task, with its priority, or one stream for all.

        Returns
        -------
        LaunchView
            ``launches``, the ``task`` and ``job`` of each, and ``assumptions``.

        Raises
        ------
        ValueError
            Facts that the model cannot express: no GPU, jitter, CPU work between GPU segments,
            kernels without a shape, a stream priority for some tasks only, more of them than
            levels; several processes or priorities in one stream; more than 10**7 launches.
        OverflowError
            Times of 2**60 ticks or more.

        >>> w = gs.Workload([gs.Task("a", "20us", [
        ...     gs.CPU("2us"), gs.CopyIn("1us"), gs.Kernel("5us", blocks=8, threads=256)])])
        >>> view = w.launches(gs.Platform("Xavier"), until="30us")
        >>> view.launches.time.tolist(), view.job.tolist()
        ([2000, 2000, 22000, 22000], [0, 0, 1, 1])
        """
        one_of(streams, ("task", "one"), "streams")
        last = in_ticks(as_time(until, "until", 0), None, self._tick, "until")
        return launch_view(self._source(platform), last, one_stream=streams == "one")

    def _source(self, platform: Platform) -> Source:
        instance(platform, Platform, "platform")
        at = platform.at(self.tick)
        return Source(self.tasks, self._tick, self.kernel_times(at), at, self.assumptions)

    # As any object

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name}: expected no change of an immutable workload; see replace()")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name}: expected no change of an immutable workload; see replace()")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        return self._tick == other._tick and self.tasks == other.tasks

    def __hash__(self) -> int:
        return hash((self._tick, self.tasks))

    def __repr__(self) -> str:
        return repr_of(self.tasks, self._tick)

    def __str__(self) -> str:
        return text_of(self.tasks, self._tick)

    def _repr_html_(self) -> str:
        return html_of(self.tasks, self._tick)

    def __reduce__(self) -> tuple[object, ...]:
        return (_unpickled, (self.tasks, self._tick, self.notes))


def _unpickled(tasks: tuple[Task, ...], tick: int, notes: tuple[str, ...]) -> Workload:
    return Workload._made(tasks, tick, notes)


def _notes(given: Iterable[str]) -> tuple[str, ...]:
    if not is_sequence(given):
        raise TypeError(f"notes: got {shown(given)}, expected sentences")
    return tuple(label(note, f"notes[{i}]") for i, note in enumerate(given))


def _scaled(segment: Segment, kernels: Fraction, cpu: Fraction, copies: Fraction) -> Segment:
    if isinstance(segment, Kernel):
        if kernels == _ONE:
            return segment
        profile, block_time = segment.sms, segment.block_time
        return segment.replace(
            time=scaled_up(segment.time, kernels, "time") if segment.has_time else None,
            block_time=None if block_time is None else scaled_up(block_time, kernels, "block_time"),
            sms=profile and {k: scaled_up(time, kernels, "sms") for k, time in profile.items()},
        )
    factor = cpu if isinstance(segment, CPU) else copies
    if factor == _ONE:
        return segment
    return segment.replace(time=scaled_up(segment.time, factor, "time"))
