"""Workloads: sets of tasks with one tick, from which the models of all methods are derived."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, SupportsIndex, overload

from gpusched._support.arguments import (
    MAX_BYTES,
    NoArray,
    flag,
    instance,
    is_sequence,
    one_of,
    position,
)
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import clip, named, plural, shown
from gpusched.model.batches import MAX_TASKS
from gpusched.model.gpu import GPU
from gpusched.model.host_tasks import HostTasks
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.programs import Programs
from gpusched.model.views.chain_view import chain_view
from gpusched.model.views.derived_view import (
    BatchView,
    ChainBatchView,
    LaunchView,
    Source,
    View,
    refuse_triggers,
)
from gpusched.model.views.host_view import host_view
from gpusched.model.views.kernel_view import batch_view, chain_batch_view, kernel_view
from gpusched.model.views.launch_view import launch_view
from gpusched.model.views.program_view import program_view
from gpusched.model.workload.distributions import exceedance, quantile_of
from gpusched.model.workload.facts import label
from gpusched.model.workload.kernel_waves import KernelTimes, kernel_times
from gpusched.model.workload.links import (
    LinkError,
    Path,
    check_paths,
    linked,
    one_task_each,
    refuse_cuts,
    refuse_long_bests,
)
from gpusched.model.workload.periodic_task import Launches, Task, launches_of
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import (
    DLA,
    CopyIn,
    CopyOut,
    Kernel,
    Segment,
    SegmentTime,
    Sync,
)
from gpusched.model.workload.time_units import (
    TickLength,
    Time,
    as_factor,
    as_time,
    in_ticks,
    scaled_up,
    tick_of,
    tick_text,
)
from gpusched.model.workload.workload_document import ObservedTime, Parts, observed_time, together
from gpusched.model.workload.workload_files import read_workload, write_workload
from gpusched.model.workload.workload_frames import (
    html_of,
    parts_of,
    paths_of,
    paths_table,
    repr_of,
    table_of,
    text_of,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gpusched._support.budget import Stop

__all__ = ["Utilization", "Workload", "scaled_segment"]

Factor = str | int | Fraction
"""A factor as an argument: decimal text, a whole number or a Fraction."""

Names = list[str] | tuple[str, ...] | list[int] | tuple[int, ...]
"""Names or indices of several tasks."""

_ONE = Fraction(1)


class Utilization(NamedTuple):
    """Total utilization (time per period) of the CPUs, the copy engines and the GPU."""

    cpu: float
    copies: float
    gpu: float


class Workload(NoArray, Tabular):
    """A set of tasks with CPU work, copies and kernels, described once for all methods.

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
        Tasks with different names; at least one. Tasks taken from another workload keep their
        times, even if its tick differs.
    tick
        Length of a tick: a unit (``"ns"``, ``"us"``, ``"ms"``, ``"s"``) or a time such as
        ``"10ns"``. Times given as numbers are ticks; a time given as text must be a whole number
        of ticks.
    notes
        Sentences about the origin of the workload. They come first in `assumptions`.
    observed
        For a workload from a recording: the GPU time that was observed while the jobs ran, and how
        much of it the jobs contain (``gpu_ns``, ``kept_ns``); and, if times are not the largest,
        the quantile that they are. If the jobs contain less than 99 %, or the quantile is below 1,
        guarantees of ``gs.analyze`` and ``gs.compare`` are conditional.
    launches
        How those tasks launch operations that do not say so themselves; see `Task`.
    paths
        Paths through the tasks (`Path`), of different names.

    Raises
    ------
    ValueError
        A time is not a whole number of ticks, two tasks have the same name, or there is no task.
        The message names the task, the segment and the value. Tasks release each other in a cycle,
        a task is released by tasks that go back to several timed ones or have several rates, or a
        path has no link between two of its tasks.
    OverflowError
        A time, or the total time of a job, is 2**60 ticks or more.
    TypeError
        An argument has the wrong type.

    Workloads are immutable. Two workloads are equal if their ticks, tasks and observed times are
    equal; notes are not compared.
    """

    __slots__ = ("_index", "_other", "_tick", "_timed", "notes", "observed", "paths", "tasks")

    _INSTEAD = "[task.period for task in workload], or .to_frame()"

    tasks: tuple[Task, ...]
    notes: tuple[str, ...]
    observed: ObservedTime | None
    paths: tuple[Path, ...]
    _tick: TickLength
    _index: dict[str, int]
    _timed: tuple[GPU, tuple[tuple[KernelTimes | None, ...], ...]] | None  # the last kernel_times
    _other: tuple[Workload, ...] | None  # with explicit waits, if that is another one, once asked

    def __init__(
        self,
        tasks: Iterable[Task],
        tick: str = "ns",
        *,
        notes: Iterable[str] = (),
        observed: tuple[int, int] | tuple[int, int, float] | None = None,
        launches: Launches | None = None,
        paths: Iterable[Path] = (),
    ) -> None:
        length = tick_of(tick)
        form = launches_of(launches)
        if not is_sequence(tasks):
            raise TypeError(f"tasks: got {shown(tasks)}, expected a list of tasks")
        found = []
        for i, task in enumerate(tasks):
            instance(task, Task, f"tasks[{i}]")
            if form is not None and task.launches is None:
                task = task.replace(launches=form)
            try:
                found.append(task._at(length))
            except (ValueError, OverflowError) as error:
                raise type(error)(f"tasks[{clip(repr(task.name), 60)}].{error}") from None
        if not is_sequence(paths):
            raise TypeError(f"paths: got {shown(paths)}, expected a list of paths")
        lines = []
        for i, path in enumerate(paths):
            instance(path, Path, f"paths[{i}]")
            try:
                lines.append(path._at(length))
            except (ValueError, OverflowError) as error:
                raise type(error)(f"paths[{clip(repr(path.name), 60)}].{error}") from None
        parts = Parts(tuple(found), length, _notes(notes), observed_time(observed), tuple(lines))
        self._put(*parts)
        try:
            refuse_long_bests(self.tasks)
        except LinkError as error:
            raise ValueError(f"tasks[{self.names[error.place]!r:.60}].{error.text}") from None

    def _put(
        self,
        tasks: tuple[Task, ...],
        tick: TickLength,
        notes: tuple[str, ...],
        observed: ObservedTime | None,
        paths: tuple[Path, ...] = (),
    ) -> None:
        index = {task.name: i for i, task in enumerate(tasks)}
        if not tasks:
            raise ValueError("tasks: got none, expected at least one")
        if len(index) < len(tasks):
            name, i = next((task.name, i) for i, task in enumerate(tasks) if index[task.name] != i)
            raise ValueError(
                f"tasks[{index[name]}].name: got {name!r:.60}, expected another name than that of "
                f"tasks[{i}]"
            )
        try:
            tasks = linked(tasks)
        except LinkError as error:
            raise ValueError(f"tasks[{tasks[error.place].name!r:.60}].{error.text}") from None
        try:
            check_paths(paths, tasks)
        except LinkError as error:
            raise ValueError(f"paths[{paths[error.place].name!r:.60}].{error.text}") from None
        values = {"tasks": tasks, "notes": notes, "observed": observed, "paths": paths}
        for key, value in values.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "_tick", tick)
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_timed", None)
        object.__setattr__(self, "_other", None)

    @classmethod
    def _made(
        cls,
        tasks: Iterable[Task],
        tick: TickLength,
        notes: tuple[str, ...],
        observed: ObservedTime | None,
        paths: tuple[Path, ...] = (),
    ) -> Workload:
        """A workload of tasks and paths that are in ticks of ``tick`` ns."""
        made = object.__new__(cls)
        made._put(tuple(tasks), tick, notes, observed, paths)
        return made

    def _cut(self, tasks: Iterable[Task]) -> Workload:
        """Some of the tasks, with the paths through these alone."""
        kept = tuple(tasks)
        refuse_cuts(kept)
        names = {task.name for task in kept}
        paths = tuple(path for path in self.paths if names.issuperset(path.tasks))
        return self._made(kept, self._tick, self.notes, self.observed, paths)

    def _numbered(self, numbers: Mapping[str, Mapping[str, int]]) -> Workload:
        """The workload with other cores or priorities of tasks, by their names."""
        tasks = [
            task._numbered(**{key: of[task.name] for key, of in numbers.items() if task.name in of})
            for task in self.tasks
        ]
        return self._made(tasks, self._tick, self.notes, self.observed, self.paths)

    def _explicit(self) -> Workload:
        """The workload with the waits and the CPU work of copies as segments."""
        if self._other is None:
            tasks = tuple(task._explicit() for task in self.tasks)
            if all(task is given for task, given in zip(tasks, self.tasks, strict=True)):
                other: tuple[Workload, ...] = ()
            else:
                other = (self._made(tasks, self._tick, self.notes, self.observed, self.paths),)
            object.__setattr__(self, "_other", other)
        return self._other[0] if self._other else self

    # Parts

    @property
    def tick(self) -> str:
        """The length of a tick, such as ``"us"``."""
        return tick_text(self._tick)

    @property
    def tick_ns(self) -> int:
        """The length of a tick in nanoseconds.

        A workload that was derived in finer ticks (``MigPart.answer``) may have a Fraction.
        """
        return self._tick  # type: ignore[return-value]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tasks, in order."""
        return tuple(task.name for task in self.tasks)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The notes, a sentence for each period that was rounded down, and one on samples."""
        found = (task._assumption() for task in self.tasks)
        said = (*self.notes, *(text for text in found if text is not None), self.samples)
        return tuple(dict.fromkeys(text for text in said if text))

    @property
    def samples(self) -> str:
        """A sentence on how likely a time is longer than the largest of its samples.

        It is about the segment with the fewest samples; "" if no distribution has their number.

        >>> w = gs.Workload([gs.Task("a", 90, [gs.CPU({"largest": 20, "count": 999})])])
        >>> print(w.samples[-72:])
        f at most 0.001 on average, and of at most 0.003 at a confidence of 95 %
        """
        counted = [
            (spread.count, task.name, i)
            for task in self.tasks
            for i, part in enumerate(task.segments)
            if (spread := part.distribution) is not None and spread.count is not None
        ]
        if not counted:
            return ""
        count, name, place = min(counted, key=lambda of: of[0])
        return (
            f"times are the largest of {plural(count, 'sample')} or more (segments[{place}] of "
            f"{clip(name, 60)}): if samples are independent and identically distributed, another "
            f"one is longer with a probability of at most {exceedance(count):.2g} on average, and "
            f"of at most {exceedance(count, 0.95):.2g} at a confidence of 95 %"
        )

    @property
    def hyperperiod(self) -> int:
        """Least common multiple of the periods, in ticks."""
        return math.lcm(*(task.period for task in self.tasks))

    def path(self, path: str | SupportsIndex) -> Path:
        """Return a path by its name or its index; KeyError and IndexError for others."""
        if not isinstance(path, str):
            return self.paths[position(path, len(self.paths), "paths")]
        for found in self.paths:
            if found.name == path:
                return found
        known = clip(", ".join(found.name for found in self.paths), 200) or "none"
        raise KeyError(f"paths: got {path!r:.60}, expected one of {known}")

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def __contains__(self, item: object) -> bool:
        """Whether the workload contains a task of this name, or a task equal to this one."""
        return item in self._index if isinstance(item, str) else item in self.tasks

    @overload
    def __getitem__(self, index: str | SupportsIndex) -> Task: ...

    @overload
    def __getitem__(self, index: slice | Names) -> Workload: ...

    def __getitem__(self, index: str | SupportsIndex | slice | Names) -> Task | Workload:
        """Return one task by name or index, or a workload of several tasks.

        A slice and a list of names or indices select several tasks, and the paths through these
        alone. Raises KeyError and IndexError for tasks that do not exist, ValueError for an empty
        or repeated selection and for one without a task that another one is after or reads, and
        TypeError for other indices.
        """
        if isinstance(index, slice):
            return self._cut(self.tasks[index])
        if not isinstance(index, (list, tuple)):
            return self.tasks[self._number(index)]
        numbers = [self._number(item) for item in index]
        if len(set(numbers)) < len(numbers):
            twice = next(self.tasks[i].name for i in numbers if numbers.count(i) > 1)
            raise ValueError(f"tasks: got {twice!r:.60} twice, expected it once")
        return self._cut(self.tasks[i] for i in numbers)

    def index(self, task: str | SupportsIndex) -> int:
        """Return the index of a task that is given by its name or its index.

        Raises KeyError, IndexError and TypeError, as indexing does.
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
        """Join two workloads; the result has the tick of the first.

        Of two observed times, it has those with the smaller share, and the smaller quantile.

        Raises ValueError if both have a task or a path of the same name, or if a time of the second
        one is
        not a whole number of the first one's ticks.
        """
        if not isinstance(other, Workload):
            return NotImplemented
        notes = dict.fromkeys((*self.notes, *other.notes))
        observed = together(self.observed, other.observed)
        tasks = (*self.tasks, *other.tasks)
        paths = (*self.paths, *other.paths)
        return Workload(tasks, self.tick, notes=notes, observed=observed, paths=paths)

    # Changes

    def replace(
        self,
        *,
        tasks: Iterable[Task] | None = None,
        tick: str | None = None,
        notes: Iterable[str] | None = None,
        launches: Launches | None = None,
        paths: Iterable[Path] | None = None,
    ) -> Workload:
        """Return a workload with other tasks, another tick, other notes, launches or paths.

        With another tick, the times stay the same; ValueError is raised if one of them is not a
        whole number of the new ticks. Periods that were given as rates are computed anew.
        ``launches`` replaces that of all tasks.

        >>> w = gs.Workload([gs.Task("a", "3ms", [gs.CPU("1ms")])], tick="ms")
        >>> w.replace(tick="us")["a"].period
        3000
        """
        given = self.tasks if tasks is None else tasks
        if launches_of(launches) is not None and is_sequence(given):
            given = list(given)
            for i, task in enumerate(given):
                instance(task, Task, f"tasks[{i}]")
                given[i] = task.replace(launches=launches)
        said = self.notes if notes is None else notes
        through = self.paths if paths is None else paths
        if tick is None and not isinstance(self._tick, int):
            tasks = (task._at(self._tick) for task in given)
            lines = tuple(path._at(self._tick) for path in through)
            return self._made(tasks, self._tick, _notes(said), self.observed, lines)
        length = self.tick if tick is None else tick
        return Workload(given, length, notes=said, observed=self.observed, paths=through)

    def with_task(self, task: Task) -> Workload:
        """Return a workload with this task added, or in place of the task of the same name.

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
        """Return a workload whose kernels, CPU work or copies are scaled by the given factors.

        All times of a kernel are multiplied, including its block time and its measured times on
        numbers of SMs, and rounded up to whole ticks; of a kernel with a time and a block time, the
        block time remains. Least times of jobs (``best``) remain. A factor is decimal text, a whole
        number or
        a Fraction. Floats are refused with TypeError, because the float 1.2 is slightly more than
        12/10 and would turn 10 ticks into 13. Raises ValueError for a factor that is not positive,
        and OverflowError for times of 2**60 ticks or more.
        """
        by_kind = (
            as_factor(kernels, "kernels"),
            as_factor(cpu, "cpu"),
            as_factor(copies, "copies"),
        )
        tasks = []
        for task in self.tasks:
            try:
                segments = [scaled_segment(segment, *by_kind) for segment in task.segments]
                tasks.append(task.replace(segments=segments))
            except OverflowError as error:
                raise OverflowError(f"tasks[{task.name!r:.60}].{error}") from None
        return self._made(tasks, self._tick, self.notes, self.observed, self.paths)

    def at_quantile(self, quantile: str) -> Workload:
        """Return a workload whose times are a quantile of their distributions, such as ``"p99"``.

        A segment takes its least stated quantile that is no smaller, or its largest time; those
        without quantiles keep their times. Guarantees for such a workload are conditional on the
        quantile, which ``observed`` has.

        >>> w = gs.Workload([gs.Task("a", 90, [gs.CPU({"p50": 4, "p99": 7, "largest": 20})])])
        >>> w.at_quantile("p99")["a"].cpu_time, w.at_quantile("p90").observed.quantile
        (7, 0.9)

        Raises ValueError for other text, for p0, and if no time has quantiles.
        """
        wrong = f"times: got {shown(quantile)}, expected 'largest' or a quantile such as 'p99'"
        share = quantile_of(quantile, wrong)
        if not share:
            raise ValueError(wrong)
        tasks = []
        for task in self.tasks:
            segments = [_at_quantile(part, share) for part in task.segments]
            tasks.append(task.replace(segments=segments))
        if all(of.segments == task.segments for of, task in zip(tasks, self.tasks, strict=True)):
            raise ValueError(f"times: got {quantile!r} and no times with quantiles, expected some")
        own = ObservedTime(0, 0, float(share))
        observed = own if self.observed is None else self.observed
        observed = observed._replace(quantile=min(own.quantile, observed.quantile))
        return self._made(tasks, self._tick, self.notes, observed, self.paths)

    # Files and frames

    def save(
        self, path: str | PathLike[str], *, file_format: Literal["toml", "json"] | None = None
    ) -> None:
        """Write the workload to a file that `load` reads back as an equal workload.

        Parameters
        ----------
        path
            File name ending in ``.toml`` or ``.json``. An existing file is replaced only when the
            new one is complete.
        file_format
            Format of the file, if it is not to be taken from the suffix.

        Raises
        ------
        ValueError
            The suffix is neither ``.toml`` nor ``.json``.
        OSError
            The file cannot be written.
        """
        write_workload(self._parts(), path, file_format)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        file_format: Literal["toml", "json"] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Workload:
        """Read a workload from a TOML or JSON file, written by `save` or by hand.

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

        The keys are the arguments of `Workload`, `Task` and the segments. The key of a segment's
        time is the kind of the segment; a wait of the thread is ``{ sync = true }``. A file with
        the key ``launches`` has ``version = 2``; older versions of this package do not read it.
        Editors can check files against ``workload.schema.json``, which is installed beside this
        module.

        Parameters
        ----------
        path
            File name. Standard input (``/dev/stdin``) is read as JSON if it begins with a brace,
            as is a file that has another suffix and certainly is a workload.
        file_format
            Format of the file, if it is not to be taken from the suffix or the content.
        max_bytes
            Size in bytes of the largest file that is read.

        Raises
        ------
        ValueError
            The file is not valid TOML or JSON (the message gives the line), or an entry is
            unknown, missing or invalid (the message gives the path of the key). A file of another
            known kind (a trace, a job set, an archive, ...) is named with what to do.
        OSError
            The file cannot be read.
        """
        return cls._made(*read_workload(path, file_format, max_bytes))

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per segment; times are ticks, NA where not given.

        Columns: task (index), name, and the arguments of `Task`; segment (index), kind ("cpu",
        "copy in", "copy out", "kernel", "sync" or "dla"), label (name of the segment), and the
        arguments of the segments; tick. Names of several tasks (after, reads) are separated by
        commas. The notes and the observed times are in ``frame.attrs``; paths are in `paths_frame`.
        """
        frame = frame_of(self._table())
        frame.attrs["notes"] = list(self.notes)
        if self.observed is not None:
            frame.attrs["observed"] = list(self.observed)
        return frame

    def paths_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per path, its times in ticks.

        Columns: name, tasks (separated by commas), deadline (NA where there is none), kind, phases.
        """
        return frame_of(paths_table(self.paths))

    def _table(self) -> dict[str, Any]:
        return table_of(self._parts())

    def _parts(self) -> Parts:
        return Parts(self.tasks, self._tick, self.notes, self.observed, self.paths)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        tick: str | None = None,
        *,
        paths: pd.DataFrame | None = None,
    ) -> Workload:
        """Make a workload from a table like that of `to_frame`, and one like `paths_frame`.

        The columns ``name`` and ``kind`` are required, and those that a task and a segment need.
        The rows of a task follow each other, or are numbered by the columns ``task`` and
        ``segment``. ``tick`` is the unit of the numbers if the table has no column of that name
        (default: "ns"). Raises ValueError with the number of the row.

        >>> w = gs.Workload([gs.Task("a", 9, [gs.CPU(2), gs.Kernel(3, blocks=4, threads=64)])])
        >>> gs.Workload.from_frame(w.to_frame()) == w
        True
        """
        parts = parts_of(frame, tick)
        if paths is None:
            return cls._made(*parts)
        return cls._made(*parts._replace(paths=paths_of(paths, parts.tick)))

    # Sums and derived times

    def kernel_times(self, platform: Platform) -> tuple[tuple[KernelTimes | None, ...], ...]:
        """Return the times of kernels on the platform's GPU, per task and segment.

        The entry of a segment that is not a kernel is None. Raises ValueError for a kernel that
        does not fit the GPU, with its task and segment.
        """
        instance(platform, Platform, "platform")
        gpu, known = platform.gpu, self._timed
        if known is not None and known[0] == gpu:
            return known[1]
        kernels, where = [], []
        for task in self.tasks:
            for i, segment in enumerate(task.segments):
                if isinstance(segment, Kernel):
                    kernels.append(segment)
                    where.append(f"{named(task.name)}: segments[{i}]")
        times = iter(kernel_times(kernels, gpu, where))
        found = tuple(
            tuple(next(times) if isinstance(part, Kernel) else None for part in task.segments)
            for task in self.tasks
        )
        object.__setattr__(self, "_timed", (gpu, found))
        return found

    def utilization(self, platform: Platform | None = None) -> Utilization:
        """Return the total utilization (time per period) of CPUs, copy engines and the GPU.

        Without a platform, kernels count with their stated times; ValueError is raised for a
        kernel without a stated time or a profile. With a platform, they count with the times that
        `kernel_times` returns.

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
        waits: bool = True,
    ) -> View[KernelTasks]:
        """Derive kernel tasks, for PBS and for kernels in FIFO order.

        The GPU segments of a job become one unit. CPU work before them becomes an offset, and CPU
        work after them shortens the deadline. A unit of several kernels has the sum of their
        times, and the largest number of blocks, threads, registers and shared memory among them;
        if no SM can hold such a block, the unit takes the whole GPU. Copies on engines and launch
        latencies count as GPU time. A copy is assumed to wait for at most one copy of every other
        task on its engine. The priorities are those of the streams.

        One unit per job is right for a scheduler that starts whole jobs, as PBS does. On a GPU
        without such a scheduler, each kernel of a chain competes with the kernels of other tasks.
        ``chains="refuse"`` therefore accepts only jobs of one kernel; the copies of such a job are
        treated like CPU work: they become offsets and shorten deadlines.

        Parameters
        ----------
        platform
            A platform with a GPU.
        gaps
            Treatment of CPU work between two GPU segments: ``"refuse"``, or ``"occupy"`` (it counts
            as GPU time).
        chains
            Treatment of jobs of several kernels: ``"fuse"`` (they become one unit) or ``"refuse"``.
        waits
            Whether copies are lengthened by their waits for copies of other tasks. Without waits,
            times are not longer than on the GPU, so that an exact test that rejects them rejects
            the workload. A scheduler that runs the GPU segments of one job at a time, copies
            included, has no such waits.

        Returns
        -------
        View
            ``tasks`` (`KernelTasks`, without tasks that have no GPU segments) and ``assumptions``.

        Raises
        ------
        ValueError
            The model cannot express the workload: there is no GPU, or tasks have jitter, several
            processes, kernels without a shape, copies without a kernel, CPU work that leaves no
            time before the deadline, stream priorities for some tasks only, or more stream
            priorities than the platform has levels.
        OverflowError
            A time is 2**60 ticks or more.

        >>> w = gs.Workload([gs.Task("a", 90, [
        ...     gs.CPU(5), gs.Kernel(20, blocks=64, threads=512), gs.CPU(3)])])
        >>> w.kernels(gs.Platform("Xavier")).tasks
        KernelTasks(period=[90], wcet=[20], deadline=[82], block_time=[10], offset=[5])
        """
        one_of(gaps, ("refuse", "occupy"), "gaps")
        one_of(chains, ("fuse", "refuse"), "chains")
        return kernel_view(
            self._source(platform),
            occupy=gaps == "occupy",
            fuse=chains == "fuse",
            waits=flag(waits, "waits"),
        )

    def chains(self, platform: Platform) -> View[KernelChains]:
        """Derive chains of kernels, for streams with different priorities.

        Each kernel of a job becomes one kernel of the chain, in the order of the segments. CPU
        work, copies and the launch latency before a kernel are part of its latency. Work after the
        last kernel shortens the deadline. A copy is assumed to wait for at most one copy of every
        other task on its engine. The priorities are those of the streams.

        Parameters
        ----------
        platform
            A platform with a GPU.

        Returns
        -------
        View
            ``tasks`` (`KernelChains`, without tasks that have no GPU segments) and
            ``assumptions``.

        Raises
        ------
        ValueError
            The model cannot express the workload: there is no GPU, or tasks have jitter, several
            processes, kernels without a shape, copies without a kernel, work after the last kernel
            that leaves no time before the deadline, stream priorities for some tasks only, or more
            stream priorities than the platform has levels.
        OverflowError
            A time is 2**60 ticks or more.

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
        waits: bool = True,
        stop: Stop = None,
    ) -> BatchView: ...
    @overload
    def batches(
        self,
        platform: Platform,
        *,
        gaps: Literal["refuse", "occupy"] = "refuse",
        chains: Literal["keep", "cut"],
        waits: bool = True,
        stop: Stop = None,
    ) -> ChainBatchView: ...
    def batches(
        self,
        platform: Platform,
        *,
        gaps: Literal["refuse", "occupy"] = "refuse",
        chains: Literal["fuse", "keep", "cut"] = "fuse",
        waits: bool = True,
        stop: Stop = None,
    ) -> BatchView | ChainBatchView:
        """Derive kernel tasks and the completion times of their batches, for PBS.

        The tasks, arguments and refusals are those of `kernels`, except that kernels without a
        shape (blocks and threads) are accepted: each of them runs in a batch of its own, and if no
        kernel has a shape, no GPU is needed. The table is the one that ``BatchTable.from_gpu``
        makes with the largest slowdown of the platform. Raises ValueError if there are more tasks
        than a table can have.

        With ``chains="keep"`` the tasks are `KernelChains`, and a batch contains at most one
        kernel of each task. Copies and, with ``gaps="occupy"``, CPU work between two kernels
        occupy the GPU before the second one; work before the first or after the last kernel of a
        job does not. Raises ValueError for more than 24 kernels in total, counted with their
        ``repeat``. ``stop`` is a writable buffer of one byte; the call ends when another thread
        sets the byte to 1.

        With ``chains="cut"``, consecutive kernels of a job are units, at most 24 of all tasks, each
        with the time of its kernels together and the largest footprint of each resource. Jobs are
        cut so that the longest unit, relative to the least slack of the other tasks (the deadline
        less the job's own time), is as short as possible. The guarantee is for a dispatcher that
        launches unit by unit; ``units`` of the view has their sizes. Raises ValueError for more
        than 10,000 kernels in total.

        >>> w = gs.Workload([gs.Task(name, 90, [gs.Kernel(20, blocks=4, threads=512)])
        ...                  for name in ("a", "b")])
        >>> view = w.batches(gs.Platform("Xavier", slowdown=1.5))
        >>> gs.pbs.edf_parallel(view.tasks, view.table).schedulable, view.table.completion.tolist()
        (True, [0, 20, 20, 30])
        """
        one_of(gaps, ("refuse", "occupy"), "gaps")
        one_of(chains, ("fuse", "keep", "cut"), "chains")
        source, occupy, waits = self._source(platform), gaps == "occupy", flag(waits, "waits")
        if chains != "fuse":
            cuts = MAX_TASKS if chains == "cut" else None  # rows of a table
            return chain_batch_view(source, occupy=occupy, waits=waits, cuts=cuts, stop=stop)
        return batch_view(source, occupy=occupy, waits=waits, stop=stop)

    def hosts(
        self,
        platform: Platform,
        *,
        sms: Literal["divided", "all"] = "divided",
        waits: bool = True,
        split: bool = False,
        switches: bool = True,
        jitter: bool = True,
    ) -> View[HostTasks]:
        """Derive host tasks, for STGM, locks, a GPU server, GCAPS, and global EDF.

        A GPU segment is a maximal sequence of kernels and copies on engines; it is split before a
        copy in that follows a kernel. Its copies are part of the time of its kernel, on any number
        of SMs. Copies on engines next to no kernel are a GPU segment by themselves. The launch
        latency is added to each kernel, and once to a GPU segment without kernels. Copies by the
        CPU before and after the segment are its ``copy_in`` and ``copy_out``; other copies by the
        CPU are CPU work. Tasks without a core stay unassigned.

        Parameters
        ----------
        platform
            The platform. It needs a GPU if there are kernels and the SMs are divided.
        sms
            ``"divided"``: kernels have times on 1, 2, ... SMs, which requires shapes or profiles.
            ``"all"``: kernels have one time, on all SMs, for methods that do not divide the SMs.
        waits
            Whether copies on engines are lengthened by their waits: each waits for at most one copy
            of every other task on its engine. False is for methods that run one GPU segment at a
            time (locks, a server), and for simulations without copy engines, which then observe too
            little.
        split
            Whether a GPU segment ends before a kernel that follows a copy behind another kernel.
            With time slices such a kernel waits for a slice of its own, as its context had none to
            run.
        switches
            Whether each GPU segment takes a context switch longer if several processes use the GPU.
            False: for methods that count switches themselves (time_slices and gcaps).
        jitter
            False: for methods without release jitter, tasks that have some are refused.

        Returns
        -------
        View
            ``tasks`` (`HostTasks`) and ``assumptions``.

        Raises
        ------
        ValueError
            The model cannot express the workload: tasks have jitter and ``jitter`` is False, a core
            that the platform does not have, or priorities for some tasks only; if SMs are divided,
            also several processes and kernels whose times on fewer SMs are unknown.
        OverflowError
            A time is 2**60 ticks or more.

        >>> w = gs.Workload([gs.Task("a", 90, [
        ...     gs.CPU(5), gs.CopyIn(2), gs.Kernel(20, blocks=32, threads=2048 // 4), gs.CPU(3)])])
        >>> hosts = w.hosts(gs.Platform("Xavier")).tasks
        >>> hosts.cpu.tolist(), hosts.copy_in.tolist(), hosts.kernel_time(sms=4).tolist()
        ([[5, 3]], [[0]], [[42]])
        """
        refuse_triggers(self.tasks)
        return self._hosts(
            platform, sms=sms, waits=waits, split=split, switches=switches, jitter=jitter
        )

    def _hosts(
        self,
        platform: Platform,
        *,
        sms: Literal["divided", "all"],
        waits: bool,
        split: bool,
        switches: bool,
        jitter: bool,
    ) -> View[HostTasks]:
        """As `hosts`, also of tasks that others release."""
        one_of(sms, ("divided", "all"), "sms")
        return host_view(
            self._source(platform, triggers=True),
            divided=sms == "divided",
            waits=flag(waits, "waits"),
            split=flag(split, "split"),
            switches=flag(switches, "switches"),
            jitter=flag(jitter, "jitter"),
        )

    def programs(self, platform: Platform, *, shapes: bool = True) -> View[Programs]:
        """Derive programs: CPU work, copies and kernels of each job, for `gs.analysis.holistic`.

        Nothing is left out or made longer: copies are requests of an engine, one for both
        directions or one for each as the platform says; a segment that is repeated is as many.
        Levels are the priorities of streams, and each task has a hardware channel. How tasks launch
        copies and kernels, and what that costs, are arguments of the test.

        Parameters
        ----------
        platform
            The platform. It needs a GPU with ``shapes``.
        shapes
            Whether kernels share the SMs, by their blocks. False: kernels have their times on all
            SMs, for rules by which they run one after the other.

        Returns
        -------
        View
            ``tasks`` (`Programs`) and ``assumptions``.

        Raises
        ------
        ValueError
            The model cannot express the workload: with ``shapes``, there is no GPU, or a kernel has
            no blocks and threads; priorities of threads or streams are given for some tasks only;
            or jobs have too many segments.
        OverflowError
            A time is 2**60 ticks or more.

        >>> w = gs.Workload([gs.Task("a", 90, [
        ...     gs.CPU(5), gs.CopyIn(2), gs.Kernel(20, blocks=64, threads=512), gs.CPU(3)])])
        >>> tasks = w.programs(gs.Platform("Xavier")).tasks
        >>> tasks.time.tolist(), tasks.blocks.tolist(), tasks.block_time.tolist()
        ([[5, 2, 20, 3]], [[0, 0, 64, 0]], [[0, 0, 10, 0]])
        """
        refuse_triggers(self.tasks)
        return self._programs(platform, shapes=flag(shapes, "shapes"))

    def _programs(self, platform: Platform, *, shapes: bool) -> View[Programs]:
        """The programs of all tasks, also of those that others release."""
        return program_view(self._source(platform, triggers=True), shapes=shapes)

    def launches(
        self, platform: Platform, until: Time, *, streams: Literal["task", "one"] = "task"
    ) -> LaunchView:
        """Derive the launches of all jobs released before a time, for `gs.simulate.hierarchy`.

        Jobs are released periodically. Their GPU segments are launched when the CPU work before
        them has ended. Each process has its own context; tasks without a process share one.

        Parameters
        ----------
        platform
            A platform with a GPU.
        until
            End of the interval in which jobs are released: ticks, or text with a unit.
        streams
            ``"task"``: each task has a stream of its own, with its priority. ``"one"``: all tasks
            share one stream.

        Returns
        -------
        LaunchView
            ``launches``, the ``task`` and ``job`` of each launch, and ``assumptions``.

        Raises
        ------
        ValueError
            The model cannot express the workload: there is no GPU, or tasks have jitter, CPU work
            between GPU segments, kernels without a shape, stream priorities for some tasks only,
            or more stream priorities than the platform has levels; launches take CPU time or are
            synchronous, or kernels have gaps; several processes or priorities would share one
            stream; there are more than 10**7 launches.
        OverflowError
            A time is 2**60 ticks or more.

        >>> w = gs.Workload([gs.Task("a", "20us", [
        ...     gs.CPU("2us"), gs.CopyIn("1us"), gs.Kernel("5us", blocks=8, threads=256)])])
        >>> view = w.launches(gs.Platform("Xavier"), until="30us")
        >>> view.launches.time.tolist(), view.job.tolist()
        ([2000, 2000, 22000, 22000], [0, 0, 1, 1])
        """
        one_of(streams, ("task", "one"), "streams")
        last = in_ticks(as_time(until, "until", 0), None, self._tick, "until")
        return launch_view(self._source(platform), last, one_stream=streams == "one")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the links between the tasks with Matplotlib: the first hundred tasks.

        Solid arrows lead to tasks that are released, with "x2" for one of two jobs; dashed ones to
        tasks that read. Tasks with arrivals of their own have thick frames. A band is a path.
        `to_svg` needs no Matplotlib, and notebooks show it above the table of the tasks.

        Parameters
        ----------
        ax
            Axes to draw on. Default: those of a new figure.

        Returns
        -------
        The axes.
        """
        from gpusched.model.workload.link_picture import draw

        return draw(self._parts(), ax)

    def to_svg(self) -> str:
        """Return the picture of `plot` as an SVG document, made without Matplotlib.

        >>> w = gs.Workload.load("notebooks/endoscope.toml")
        >>> "glass to glass: latency at most 16.666ms" in w.to_svg()
        True
        """
        from gpusched.model.workload.link_picture import svg_of

        return svg_of(self._parts())

    def in_one_thread(self) -> Workload:
        """Return a workload in which tasks that release each other are one task, run by one thread.

        Its jobs run the segments of all of them, each task behind those that release it; a task
        with ``every`` runs in each job. Tasks that read one of them read the whole. The deadline is
        the shortest of theirs.

        >>> w = gs.Workload([gs.Task("a", 9, [gs.CPU(2)]), gs.Task("b", None, [gs.CPU(3)],
        ...     after="a")], paths=[gs.Path("p", ["a", "b"], 8)])
        >>> one = w.in_one_thread()
        >>> one.names, one[0].cpu_time, one.path("p").tasks
        (('a to b',), 5, ('a to b',))

        Raises ValueError for tasks of a group with several priorities, processes or cores, and for
        one that reads another one of its group.
        """
        tasks, paths, said = one_task_each(self.tasks, self.paths)
        return self._made(tasks, self._tick, (*self.notes, *said), self.observed, paths)

    def _source(self, platform: Platform, *, triggers: bool = False) -> Source:
        """Facts that models rest on; ``triggers``: the model has tasks that others release."""
        instance(platform, Platform, "platform")
        at, explicit = platform._at(self._tick), self._explicit()
        times = explicit.kernel_times(at)
        source = Source(explicit.tasks, self._tick, times, at, self.assumptions)
        if not triggers:
            refuse_triggers(self.tasks)
        source.refuse_missing_engines()
        return source

    # As any object

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name}: expected no change of an immutable workload; see replace()")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name}: expected no change of an immutable workload; see replace()")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        mine, theirs = (of._parts()._replace(notes=()) for of in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self._tick, self.tasks))

    def __repr__(self) -> str:
        return repr_of(self._parts())

    def __str__(self) -> str:
        return text_of(self._parts())

    def _repr_html_(self) -> str:
        linked = self.paths or any(task.after or task.reads for task in self.tasks)
        return f"{self.to_svg() if linked else ''}{html_of(self._parts())}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_unpickled, tuple(self._parts()))


def _unpickled(
    tasks: tuple[Task, ...],
    tick: TickLength,
    notes: tuple[str, ...],
    observed: ObservedTime | None = None,
    paths: tuple[Path, ...] = (),
) -> Workload:
    return Workload._made(tasks, tick, notes, observed, paths)


def _notes(given: Iterable[str]) -> tuple[str, ...]:
    if not is_sequence(given):
        raise TypeError(f"notes: got {shown(given)}, expected sentences")
    return tuple(label(note, f"notes[{i}]") for i, note in enumerate(given))


def _is_needed(kernel: Kernel) -> bool:
    """Whether a kernel has a time, and no block time, which would replace it."""
    return kernel.has_time and kernel.block_time is None


def scaled_segment(
    segment: Segment, kernels: Fraction, cpu: Fraction = _ONE, copies: Fraction = _ONE
) -> Segment:
    """A segment with times multiplied by the factor of its kind, rounded up."""
    if isinstance(segment, Kernel):
        if kernels == _ONE:
            return segment
        profile, block_time = segment.sms, segment.block_time
        return segment.replace(
            time=_scaled_time(segment, kernels) if _is_needed(segment) else None,
            block_time=None if block_time is None else scaled_up(block_time, kernels, "block_time"),
            sms=segment.share
            or (profile and {k: scaled_up(time, kernels, "sms") for k, time in profile.items()}),
            bytes=None if segment.bytes is None else scaled_up(segment.bytes, kernels, "bytes"),
        )
    if isinstance(segment, (CopyIn, CopyOut)):
        return _scaled_copy(segment, cpu, copies)
    if isinstance(segment, DLA):
        return segment.replace(time=_scaled_time(segment, kernels))
    if cpu == _ONE or isinstance(segment, Sync):
        return segment
    return segment.replace(time=_scaled_time(segment, cpu))


def _scaled_copy(copy: CopyIn | CopyOut, cpu: Fraction, copies: Fraction) -> Segment:
    if copies != _ONE:
        copy = copy.replace(time=_scaled_time(copy, copies))
    if copy.staged is None or cpu == _ONE:
        return copy
    return copy.replace(staged=scaled_up(copy.staged, cpu, "staged"))


def _at_quantile(segment: Segment, share: Fraction) -> Segment:
    """A segment with the time of a quantile, if it has quantiles."""
    spread = segment.distribution
    if spread is None or not spread.quantiles:
        return segment
    time = spread.at_least(share)
    assert isinstance(time, int)
    return segment.replace(time=time)


def _scaled_time(segment: Segment, factor: Fraction) -> SegmentTime:
    """The time of a segment, or its distribution, multiplied and rounded up."""
    spread = segment.distribution
    if spread is not None:
        return spread.scaled(factor, "time")
    return scaled_up(segment.time, factor, "time")
