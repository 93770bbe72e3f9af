"""The README's picture: one run of its program under three ways of sharing the GPU.

python benchmarks/readme_figure.py [--save]

Program and machine are those of the first example of the README. With --save the picture is kept as
results/readme.png. Takes a second.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gpusched as gs
from gpusched._draw import axes as plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "benchmarks" / "results" / "readme.png"
UNTIL = 40  # ms, a hyperperiod
MS = 1000  # ticks
CPU, KERNELS = "#bdbdbd", ("#e69f00", "#0072b2")
LATE, GUARANTEED = "#c00000", "#00694c"
LINE: dict[str, Any] = {"color": "#404040", "linewidth": 1, "solid_capstyle": "butt"}
ARROW: dict[str, Any] = {"color": "#404040", "markersize": 6}
WAYS = {
    "streams": "A stream per task",
    "time_slices": "A context per task, in time slices",
    "stgm": "SMs divided between the tasks",
}


def example() -> dict[str, Any]:
    """Names that the first example of the README defines."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "README.md", "exec"), names)
    return names


def bars(run: gs.WorkloadRun) -> list[tuple[int, int, int]]:
    """(task, start, end) of each interval in which a kernel runs, in ticks."""
    ops, grain = run.detail.operations, run.grain
    rows = np.flatnonzero(ops.what == 0)
    times = (ops.first[rows] // grain, ops.end[rows] // grain)
    return list(zip(ops.task[rows].tolist(), *(time.tolist() for time in times), strict=True))


def verdict_text(answer: gs.WorkloadAnswer, run: gs.WorkloadRun, task: int) -> str:
    """Verdict of a way about a task, in a few words."""
    name = answer.workload.names[task]
    limit = f", deadline {answer.workload.tasks[task].deadline / MS:g} ms"
    if answer.accepted:
        return f"guaranteed: {name} takes at most {answer.response[task] / MS:g} ms{limit}"
    longest = run.response[run.task == task].max() / MS
    return f"not schedulable: {name} takes {longest:g} ms{limit}"


def draw(axes: Axes, program: gs.Workload, machine: gs.Platform, way: str) -> None:
    """A run under a way, one row per task; the text beside the title is about all runs."""
    answer = gs.analyze(program, machine, way)
    run = gs.observe(program, machine, way, until=f"{UNTIL}ms", timeline=True)
    for task, release, finish in zip(run.task.tolist(), run.release, run.end, strict=True):
        deadline = release + program.tasks[task].deadline
        begin, end, due = release / MS, finish / MS, deadline / MS
        cpu = program.tasks[task].cpu_time / MS
        axes.plot([begin, end], [task, task], zorder=1, **LINE)
        axes.barh(task, cpu, 0.5, begin, color=CPU)
        if end > due:
            axes.barh(task, end - due, 0.78, due, color=LATE, alpha=0.25, zorder=0)
            axes.text(end + 0.3, task, f"{end - due:g} ms late", color=LATE, va="center")
        for x, marker in ((begin, 6), (due, 7)):  # carets up and down
            axes.plot(x, task + (0.44 if marker == 6 else -0.44), marker=marker, **ARROW)
        axes.vlines(due, task - 0.44, task + 0.44, color="#404040", linewidth=1)
    for task, start, end in bars(run):
        axes.barh(task, (end - start) / MS, 0.5, start / MS, color=KERNELS[task])
    axes.set_title(f"{WAYS[way]} ({way})", loc="left", fontsize=11, fontweight="bold")
    colour = GUARANTEED if answer.accepted else LATE
    axes.set_title(verdict_text(answer, run, 0), loc="right", fontsize=11, color=colour)
    axes.set_yticks(range(len(program.names)), program.names)
    axes.set_ylim(len(program.names) - 0.4, -0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def figure() -> Figure:
    """A panel for each way."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = example()
    tasks = names["program"].names
    drawn = Figure(figsize=(10, 5.4), layout="constrained")
    panels = drawn.subplots(len(WAYS), sharex=True)
    for axes, way in zip(panels, WAYS, strict=True):
        draw(axes, names["program"], names["machine"], way)
    panels[-1].set_xlabel("time (ms)")
    panels[-1].set_xlim(-0.5, UNTIL + 0.5)
    handles = [
        Patch(color=CPU, label="CPU work"),
        *(Patch(color=c, label=f"kernel of {n}") for c, n in zip(KERNELS, tasks, strict=True)),
        Line2D([], [], **LINE, label="waits for the GPU"),
        Line2D([], [], marker=6, linestyle="", label="release", **ARROW),
        Line2D([], [], marker=7, linestyle="", label="deadline", **ARROW),
    ]
    drawn.legend(handles=handles, loc="outside upper left", ncols=6, frameon=False, fontsize=10)
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="keep the picture")
    if parser.parse_args().save:
        plot.save_figure(figure(), PICTURE, dpi=110)
    else:
        figure()


if __name__ == "__main__":
    main()
