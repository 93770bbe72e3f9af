"""The links between the tasks of a workload as lines of text, for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpusched._support.text import clip
from gpusched.model.workload.link_layout import MOST
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.time_units import TickLength, time_with_unit
from gpusched.model.workload.workload_parts import Parts

__all__ = ["lines_of"]

_WIDEST = 100  # characters of a line that goes on to the right
_MOST_LINES = 200
_NAME = 40


def lines_of(parts: Parts) -> list[str]:
    """Arrows from each task to those that it releases (``─>``) and that read it (``┄>``).

    Tasks follow each other in a line or, where lines would be too long, one below the other. A task
    that is reached again is marked "(above)", and what follows it stands there.
    """
    drawn = {task.name: task for task in parts.tasks[:MOST]}
    follow: dict[str, list[tuple[str, str]]] = {name: [] for name in drawn}
    for task in drawn.values():
        for name in task.after:
            if name in follow:
                follow[name].append(("─", task.name))
        for name in task.reads:
            if name in follow:
                follow[name].append(("┄", task.name))
    texts = {name: _text(task, parts.tick) for name, task in drawn.items()}
    lines = _lines(drawn, follow, texts, across=True)
    if max(map(len, lines)) > _WIDEST:
        lines = _lines(drawn, follow, texts, across=False)
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"and {len(lines) - _MOST_LINES} more lines"]
    if len(parts.tasks) > MOST:
        lines.append(f"and {len(parts.tasks) - MOST} more tasks")
    return lines


def _text(task: Task, tick: TickLength) -> str:
    name = clip(task.name, _NAME)
    if not task.after:
        return f"{name} {task.rate or time_with_unit(task.period, tick)}"
    return f"{name} x{task.every}" if task.every > 1 else name


def _lines(
    tasks: Iterable[str],
    follow: Mapping[str, list[tuple[str, str]]],
    texts: Mapping[str, str],
    *,
    across: bool,
) -> list[str]:
    """The lines; ``across``: the first task behind another one is in its line."""
    lines: list[str] = []
    seen: set[str] = set()

    def draw(name: str, prefix: str) -> None:
        """Append to the last line the task, and what follows; ``prefix`` is before other lines."""
        if name in seen:
            lines[-1] += f"{texts[name]} (above)"
            return
        seen.add(name)
        lines[-1] += texts[name]
        links = follow[name]
        room = prefix + " " * (len(lines[-1]) - len(prefix) + 1) if across else prefix
        for i, (line, following) in enumerate(links):
            last = i + 1 == len(links)
            if across and i == 0:
                lines[-1] += f" {'' if last else '┬'}{line}> "
            else:
                lines.append(f"{room}{'└' if last else '├'}{line}> ")
            draw(following, f"{room}{' ' if last else '│'}   ")

    # Those without a task before them, then the first of each cycle that is left.
    behind = {following for links in follow.values() for _, following in links}
    firsts = [name for name in tasks if name not in behind]
    for name in [*firsts, *tasks]:
        if name not in seen:
            lines.append("")
            draw(name, "")
    return lines
