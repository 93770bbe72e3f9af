"""Comparison of all ways of sharing a GPU on the same random systems.

This study is not from a paper. Each system is a ``gs.Workload`` of periodic tasks with one kernel
per job, and is passed to ``gs.compare``. A way guarantees the deadlines of a system if a test of
the way accepts it, or does so under conditions. It is late if every form of it misses a deadline in
simulation (or is shown to). Otherwise the result is unknown.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._draw import axes as plot
from gpusched._support.arguments import instance, integer, some_of, spawn
from gpusched._support.budget import Progress
from gpusched._support.results import Results
from gpusched._support.text import shown
from gpusched.generate.kernel_sets import uunifast_discard
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import CPU, CopyIn, CopyOut, Kernel, Segment
from gpusched.model.workload.workloads import Workload
from gpusched.study.engine import named_columns, run
from gpusched.study.execution import Execution
from gpusched.study.stored_study import StoredStudy
from gpusched.study.sweeps import shardable

if TYPE_CHECKING:
    from gpusched._draw.axes import AxesArray, AxesLike

SHARING_WAYS: Mapping[str, str] = {
    "one_stream": "one stream",
    "streams": "a stream per task",
    "priority_streams": "priority streams",
    "time_slices": "time slices",
    "gcaps": "GCAPS",
    "mpcp": "lock, MPCP",
    "fmlp_plus": "lock, FMLP+",
    "gpu_server": "GPU server",
    "stgm": "SMs divided, STGM",
    "mig": "MIG instances",
    "edf_serial": "EDF, one by one",
    "pbs": "batches, PBS",
}
"""Ways of sharing compared by the study, with their titles in the picture."""

UTILIZATIONS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6)
PERIODS = (10_000, 20_000, 25_000, 40_000, 50_000, 100_000)  # us
THREADS = 256  # of a block
_COLUMNS = 4  # of diagrams


class WaysOfSharing(Results):
    """Table of ``sharing``.

    >>> table = gs.experiments.sharing([0.4], n=3, count=2, ways="streams", progress=False)
    >>> list(table.columns)[:5], len(table)
    (['utilization', 'n', 'count', 'way', 'guaranteed'], 1)
    """

    def plot(self, axes: AxesLike | None = None) -> AxesArray:
        """Draw a diagram per way, with the three shares as areas; returns the array of axes."""
        ways = list(dict.fromkeys(self["way"].tolist()))
        columns = min(_COLUMNS, len(ways))
        shape = (-(-len(ways) // columns), columns)
        size = (max(4.0, 2.6 * columns), 0.5 + 2.2 * shape[0])
        grid = plot.panels(axes, shape, size, sharex=True, sharey=True)
        cells: list[Any] = list(grid.flat)
        for ax in cells[len(ways) :]:
            ax.set_visible(False)
        for ax, way in zip(cells, ways, strict=False):
            rows = self.where(way=way)
            x = rows["utilization"]
            sure, open_, late = (100 * rows[name] for name in ("guaranteed", "conditional", "late"))
            ax.stackplot(
                x,
                *(sure, open_, 100 - sure - open_ - late, late),
                labels=("guaranteed", "guaranteed under conditions", "unknown", "late"),
                colors=(plot.color(2), "#8FD3B8", "#DDDDDD", plot.color(5)),
                linewidth=0,
            )
            ax.set_title(SHARING_WAYS[way], fontsize=10)
            ax.set_xlim(min(x), max(x) if max(x) > min(x) else None)
            ax.set_ylim(0, 100)
        for ax in grid[-1]:
            ax.set_xlabel("GPU utilization")
        for ax in grid[:, 0]:
            ax.set_ylabel("systems (%)")
        handles, labels = cells[0].get_legend_handles_labels()
        cells[0].figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
        return grid

    def to_text(self) -> str:
        """Return the shares as text: guaranteed/conditional/late in percent, a line per way."""
        points = list(dict.fromkeys(self["utilization"].tolist()))
        lines = [
            f"guaranteed/guaranteed under conditions/late in percent of {int(self['count'][0])} "
            f"systems of {int(self['n'][0])} tasks",
            f"{'GPU utilization':<20}" + "".join(f"{point:>10.2f}" for point in points),
        ]
        for way in dict.fromkeys(self["way"].tolist()):
            rows = self.where(way=way)
            shares = zip(rows["guaranteed"], rows["conditional"], rows["late"], strict=True)
            cells = ("/".join(f"{100 * share:.0f}" for share in each) for each in shares)
            lines.append(f"{SHARING_WAYS[way]:<20}" + "".join(f"{cell:>10}" for cell in cells))
        return "\n".join(lines) + "\n"


@shardable
def sharing(
    utilizations: Sequence[float] = UTILIZATIONS,
    n: int = 6,
    count: int = 200,
    seed: Any = 1,
    *,
    platform: Platform | None = None,
    ways: str | Iterable[str] = tuple(SHARING_WAYS),
    copies: float = 0.0,
    executor: Any = None,
    workers: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
) -> WaysOfSharing | StoredStudy:
    """Compute shares of random systems whose deadlines each way of sharing guarantees or misses.

    A task has a period of 10, 20, 25, 40, 50 or 100 ms, which is also its deadline; CPU work of 2
    to 10 % of the period before and after its kernel; and the kernel, with GPU utilizations by
    UUniFast-Discard and a grid that occupies an eighth to all of the GPU at once. Every way gets
    the same systems. Systems with kernels that fill only a part of the GPU can gain from running
    kernels side by side.

    >>> table = gs.experiments.sharing((0.4, 1.2), n=3, count=4, ways=("streams", "mpcp", "pbs"))
    >>> table["way"].tolist()
    ['streams', 'mpcp', 'pbs', 'streams', 'mpcp', 'pbs']

    Parameters
    ----------
    utilizations
        Total GPU utilizations: sums of kernel times, alone on the whole GPU, over periods.
    n, count
        Number of tasks in a system, and of systems per point.
    seed
        As in ``gs.sweep``; equal seeds give equal tables.
    platform
        The platform. Default: an A100, which MIG can divide, with a CPU for each task. If tasks
        share CPUs, tests of the GPU alone guarantee deadlines under conditions only.
    ways
        Names in ``SHARING_WAYS``.
    copies
        Time of the copies before and after a kernel, as a share of the kernel's.
    executor, workers, progress, store, shard
        As in ``gs.sweep``. Systems may be added to a store.

    Returns
    -------
    WaysOfSharing or StoredStudy
        Rows with columns utilization, n, count, way, and as shares of the systems guaranteed (with
        guaranteed_low and guaranteed_high, 95 % confidence), conditional (guaranteed under
        conditions only), late, and refused (the models of the way cannot express the system, which
        counts as unknown). ``to_text()`` gives plain text.

    Raises
    ------
    ValueError
        A way is unknown, there are no utilizations, copies are outside 0 to 1, or a utilization is
        above ``n``.
    """
    cpus = max(1, integer(n, "n"))
    machine = Platform("A100", cpus=cpus) if platform is None else platform
    instance(machine, Platform, "platform")
    if machine.gpu is None:
        raise ValueError("platform: got one without a GPU, expected one with a GPU")
    if not 0 <= copies <= 1:
        raise ValueError(f"copies: got {shown(copies)}, expected a share from 0 to 1")
    chosen = some_of(ways, tuple(SHARING_WAYS), "ways")
    points = [{"utilization": float(u), "n": integer(n, "n")} for u in utilizations]
    found = run(
        functools.partial(_outcomes, platform=machine, ways=chosen, copies=float(copies)),
        points,
        [spawn(seed, index) for index in range(len(points))],
        count=count,
        execution=Execution(executor, workers, progress, None, store, shard),
        name="gs.experiments.sharing",
        seed=seed,
        settings={"platform": repr(machine), "ways": list(chosen), "copies": float(copies)},
        keep=False,
        largest=1,
    )
    if isinstance(found, StoredStudy):
        return found
    columns: dict[str, list[Any]] = {}
    for point, result in zip(points, found, strict=True):
        held = named_columns(result.state, "share")
        for way in chosen:
            accepted = held[f"{way} guaranteed"]
            row = {
                **{"utilization": point["utilization"], "n": n, "count": count, "way": way},
                "guaranteed": accepted["share"],
                "guaranteed_low": accepted["share_low"],
                "guaranteed_high": accepted["share_high"],
                "conditional": held[f"{way} conditional"]["share"],
                "late": held[f"{way} late"]["share"],
                "refused": held[f"{way} refused"]["share"],
            }
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
    return WaysOfSharing({name: np.array(column) for name, column in columns.items()})


def _outcomes(
    *,
    utilization: float,
    n: int,
    platform: Platform,
    ways: Sequence[str],
    copies: float,
    count: int,
    first: int,
    seed: np.random.SeedSequence,
    stop: bytearray | None = None,
) -> Mapping[str, npt.NDArray[np.bool_]]:
    """Outcomes of each way for systems ``first`` to ``first + count - 1``."""
    from gpusched.comparison.comparisons import compare

    kinds = ("guaranteed", "conditional", "late", "refused")
    found = {f"{way} {kind}": np.zeros(count, np.bool_) for way in ways for kind in kinds}
    for i in range(count):
        system = _system(utilization, n, platform, copies, spawn(seed, first + i))
        result = compare(system, platform, ways=ways, progress=False, stop=stop)
        for way in ways:
            rows = [row for row in result if row.way.name == way]
            sure = any(row.schedulable for row in rows)
            found[f"{way} guaranteed"][i] = sure
            found[f"{way} conditional"][i] = not sure and any(row.conditional for row in rows)
            found[f"{way} late"][i] = all(row.schedulable is False for row in rows)
            found[f"{way} refused"][i] = all(row.answer is None and row.run is None for row in rows)
    return found


def _system(
    utilization: float, n: int, platform: Platform, copies: float, seed: np.random.SeedSequence
) -> Workload:
    """One system, in microseconds."""
    gpu = platform.gpu
    assert gpu is not None
    rng = np.random.default_rng(seed)
    period = rng.choice(PERIODS, n)
    shares = uunifast_discard(n, utilization, seed=spawn(seed, 0))
    slots = gpu.sms * gpu.threads_per_sm // THREADS
    tasks = []
    for i in range(n):
        length = max(1, round(float(period[i]) * float(shares[i])))
        work = CPU(max(1, round(float(period[i]) * rng.uniform(0.02, 0.1)) // 2))
        copy = max(1, round(length * copies / 2))
        blocks = max(1, round(slots * rng.uniform(1 / 8, 1)))
        segments: list[Segment] = [Kernel(length, blocks=blocks, threads=THREADS)]
        if copies:
            segments = [CopyIn(copy), *segments, CopyOut(copy)]
        tasks.append(Task(f"task {i}", int(period[i]), [work, *segments, work]))
    return Workload(tasks, tick="us")
