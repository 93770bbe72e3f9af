"""What a schedulability test says of task sets with CPU and GPU segments, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from html import escape
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, frozen, integer, set_index
from gpusched._support.text import clip
from gpusched.model.host_tasks import HostTasks

__all__ = ["TERMS", "Verdict"]

TERMS = ("own", "copy", "kernel", "request", "lower", "server", "higher")
"""The parts that a response is made of: the task's own segments (and its requests' overhead);
waiting for the copy engine (B^m in the STGM paper), for SMs (B^e), and for the lock or the server;
GPU segments of less urgent tasks on its core (B^l); the server's work on its core; more urgent
tasks on its core."""

_TERM = {
    "own": "its own segments",
    "copy": "waiting for the copy engine",
    "kernel": "waiting for kernels on its SMs",
    "request": "waiting for its turn on the GPU",
    "lower": "GPU segments of less urgent tasks on its core",
    "server": "the GPU server on its core",
    "higher": "more urgent tasks on its core",
}

_COLORS = {"own": 0, "copy": 4, "kernel": 1, "request": 3, "lower": 5, "server": 7, "higher": 2}
_SHOWN_ROWS = 40


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """The answer of a test for one set of n tasks, or for a stack of N sets.

    It is **a claim about the whole set**: if every response is within its deadline, no job of any
    task ever ends later than its response says; where one is not, nothing is claimed of any task
    (a job that is late may delay all others).

    Attributes
    ----------
    hosts
        What was asked about; of an allocator, with the cores and SMs that it chose.
    test, variant, mode
        Which test ("stgm", "mpcp", ...), which form of it ("sound" or a printed one), and what
        tasks do on their CPU while the GPU works ("suspend", "busy", "spin").
    cpus, sms
        How many cores, and how many SMs.
    schedulable
        Whether every response is within its deadline: a bool, or bool ``(N,)``. Of an exhaustive
        search also None where its budget was spent; int8 ``(N,)`` then: 1, 0, or -1 for that.
    response
        What the test computes for each task, int64 ``(n,)`` or ``(N, n)``; -1 for the task that can
        be late and for those less urgent, which were not looked at.
    terms
        A dict from ``TERMS`` to arrays of that shape, which add up to the response. For the task
        that can be late they are what can meet it until its deadline, more than fits in; 0 for
        those that were not looked at.
    failed
        The most urgent task that can be late; -1 for none. An int, or int64 ``(N,)``.
    server
        The core of the GPU server, ``cpus`` for one of its own; None without one.
    rounds
        Of an allocator: how many times it chose SMs. None of a test.
    """

    hosts: HostTasks
    test: str
    variant: str
    mode: str
    cpus: int
    sms: int
    schedulable: Any
    response: Int64Array
    terms: Mapping[str, Int64Array]
    failed: Any
    server: Any = None
    rounds: Any = None

    def __post_init__(self) -> None:
        for array in (*self.terms.values(), *(getattr(self, f.name) for f in fields(self))):
            if isinstance(array, np.ndarray):
                frozen(array)
        object.__setattr__(self, "terms", MappingProxyType(dict(self.terms)))

    def __reduce__(self) -> Any:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return (_unpickle, ({**values, "terms": dict(self.terms)},))

    def __len__(self) -> int:
        """Sets in a stack, tasks in a single set."""
        return len(self.response)

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether ``response`` bounds the task's responses: all of a schedulable set's, else none;
        bool, of the shape of ``response``."""
        whole = np.asarray(self.schedulable == 1, dtype=np.bool_)[..., None]
        return np.broadcast_to(whole, self.response.shape).copy()

    def why(self, set: int | None = None) -> str:
        """Why the set is schedulable or not, in a sentence or two: which task can be late first,
        and what its response is made of. ``set``: its number in a stack."""
        at = set_index(set, len(self) if self.hosts.is_stack else None)
        hosts = self.hosts[at[0]] if self.hosts.is_stack else self.hosts
        failed = int(self.failed[at]) if self.hosts.is_stack else int(self.failed)
        accepted = self.schedulable if at == () else self.schedulable[at]
        if failed < 0 and accepted != 1:
            undecided = accepted is None or accepted == -1
            return "The budget was spent." if undecided else "No allocation passes the test."
        if failed < 0:
            slack = hosts.deadline - self.response[at]
            least = int(np.argmin(slack))
            return (
                f"Every response is within its deadline; {_name(hosts, least)} is closest, with "
                f"{int(self.response[at][least]):,} of {int(hosts.deadline[least]):,}."
            )
        parts = {name: int(self.terms[name][at][failed]) for name in TERMS}
        total = sum(parts.values())
        named = [f"{value:,} {_TERM[name]}" for name, value in _largest(parts)]
        extra = {name: value for name, value in parts.items() if name != "own"}
        most = max(extra, key=lambda name: extra[name])
        deadline = int(hosts.deadline[failed])
        first = (
            f"{_name(hosts, failed)} can miss its deadline of {deadline:,}: "
            f"the response comes to {total:,} or more, {', '.join(named)}."
        )
        if parts["own"] > deadline:
            return f"{first} Its own segments alone take longer."
        late = total - deadline
        if extra[most] >= late:
            return f"{first} Without {_TERM[most]} it would be in time."
        return first

    def __getitem__(self, index: int) -> Verdict:
        """The verdict about set ``index`` of a stack."""
        if not self.hosts.is_stack:
            raise TypeError("this is about one task set; only a stack of sets can be indexed")
        number = range(len(self))[integer(index, "index")]  # negative ones from the end
        return Verdict(
            self.hosts[number],
            *(self.test, self.variant, self.mode, self.cpus, self.sms),
            _answer(self.schedulable[number]),
            self.response[number],
            {name: array[number] for name, array in self.terms.items()},
            int(self.failed[number]),
            None if self.server is None else int(self.server[number]),
            None if self.rounds is None else int(self.rounds[number]),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdict):
            return NotImplemented
        names = [f.name for f in fields(self) if f.name != "terms"]
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        pairs += [(self.terms[name], other.terms[name]) for name in TERMS]
        return all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) else a is b or bool(a == b)
            for a, b in pairs
        )

    __hash__ = None  # type: ignore[assignment]

    def to_frame(self) -> Any:
        """A pandas table with one row per task (and set): deadline, response, terms."""
        frame = self.hosts._task_frame()
        keys = [*(["set"] if self.hosts.is_stack else []), "task", "name", "priority", "core"]
        frame = frame[[*keys, "deadline"]]
        frame["response"] = self.response.ravel()
        frame["bounded"] = self.bounded.ravel()
        for name in TERMS:
            frame[name] = self.terms[name].ravel()
        return frame

    def plot(self, ax: Any = None, *, unit: str | None = None, set: int | None = None) -> Any:
        """Draws what each response is made of, beside its deadline, with matplotlib.

        One bar per task, the most urgent on top. The task that can be late has a red deadline and
        a bar beyond it; those less urgent were not looked at and have none. ``unit``: what a tick
        is, None, "ns", "us", "ms" or "s". ``set``: which set of a stack. Returns the axes.
        """
        from gpusched._draw import axes as plot

        at = set_index(set, len(self) if self.hosts.is_stack else None)
        hosts = self.hosts[at[0]] if self.hosts.is_stack else self.hosts
        order = np.argsort(hosts.priority, kind="stable")[:_SHOWN_ROWS]
        ax = plot.axes(ax, (9.4, 1.0 + 0.34 * len(order)))
        axis = plot.time_axis(unit, int(hosts.deadline[order].max()))
        y = np.arange(len(order))
        left = np.zeros(len(order))
        for name in TERMS:
            width = self.terms[name][at][order] / axis.ticks
            if width.any():
                color = plot.color(_COLORS[name])
                ax.barh(y, width, 0.62, left=left, color=color, label=_TERM[name])
                left += width
        deadline = hosts.deadline[order] / axis.ticks
        failed = self.failed[at] if self.hosts.is_stack else self.failed
        for row, task in enumerate(order.tolist()):
            style = {"color": plot.LATE if task == failed else plot.INK, "linewidth": 2}
            ax.plot([deadline[row]] * 2, [row - 0.42, row + 0.42], **style)
        ax.plot([], [], color=plot.INK, linewidth=2, label="deadline")
        ax.set_yticks(y, [_label(hosts, i) for i in order.tolist()], parse_math=False)
        ax.set_ylim(len(order) - 0.4, -0.6)
        ax.set_xlim(0, 1.04 * max(float(deadline.max()), float(left.max())))
        ax.set_xlabel(axis.label.replace("time", "response time"))
        ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        plot.grid(ax, "x")
        return ax

    def __repr__(self) -> str:
        return f"<Verdict: {self._summary()}>"

    def _summary(self) -> str:
        form = f"{self.test}, {self.mode}" + (
            "" if self.variant == "sound" else f", {self.variant}"
        )
        place = f"{self.cpus} cores, {self.sms} SMs"
        if self.hosts.is_stack:
            count = int(np.sum(self.schedulable == 1))
            return f"{count} of {len(self)} sets schedulable ({form}; {place})"
        answer = {True: "schedulable", False: "not schedulable"}.get(self.schedulable, "undecided")
        return f"{answer} ({form}; {self.hosts.n} tasks on {place})"

    def _repr_html_(self) -> str:
        summary = f"<p>Verdict: {escape(self._summary())}</p>"
        if self.hosts.is_stack:
            return summary
        names = [name for name in TERMS if self.terms[name].any()]
        head = "".join(f"<th>{name}</th>" for name in ("core", "deadline", "response", *names))
        rows = []
        order = np.argsort(self.hosts.priority, kind="stable")[:_SHOWN_ROWS]
        for i in order.tolist():
            known = self.response[i] >= 0
            cells = [
                str(int(self.hosts.core[i])) if self.hosts.core[i] >= 0 else "",
                f"{int(self.hosts.deadline[i]):,}",
                f"{int(self.response[i]):,}" if known else "–",
                *(f"{int(self.terms[name][i]):,}" for name in names),
            ]
            label = escape(clip(self.hosts.name[i], 60))
            rows.append(f"<th>{label}</th>" + "".join(f"<td>{cell}</td>" for cell in cells))
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        more = self.hosts.n - _SHOWN_ROWS
        note = f"<p>and {more} more tasks</p>" if more > 0 else ""
        reason = f"<p>{escape(self.why())}</p>"
        return f"{summary}<table><tr><th></th>{head}</tr>{body}</table>{note}{reason}"


def _name(hosts: HostTasks, i: int) -> str:
    return clip(hosts.name[i], 60)


def _answer(code: Any) -> bool | None:
    return None if code == -1 else bool(code)


def _label(hosts: HostTasks, i: int) -> str:
    core = int(hosts.core[i])
    return clip(hosts.name[i], 24) + (f", core {core}" if core >= 0 else "")


def _largest(parts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(((k, v) for k, v in parts.items() if v > 0), key=lambda item: -item[1])


def _unpickle(values: dict[str, Any]) -> Verdict:
    return Verdict(**values)
