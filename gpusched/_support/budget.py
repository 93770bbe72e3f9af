"""Limits on a computation (states, memory, time, the byte ``stop``); reports of its progress."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from time import CLOCK_MONOTONIC, clock_gettime_ns
from typing import Any, NamedTuple, TypeAlias

from gpusched._core import BudgetSpent as BudgetSpent  # imported from here where it is raised
from gpusched._core import Cancelled
from gpusched._support.arguments import flag, instance, integer64, real
from gpusched._support.text import shown


@dataclass(frozen=True)
class Budget:
    """Limits on the resources of a call; None means no limit.

    A call that exceeds a limit ends without an answer for what is left, and says so. ``bytes`` and
    ``seconds`` hold for the whole call: for all sets of a stack, all ways of a comparison, all
    readings of the rules of GPUs, and all tests of a margin together. Each of these gets an equal
    part of the time that is left, so that the first ones do not use up that of the others.

    >>> tasks = gs.KernelTasks([4, 6], wcet=[1, 3])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 3, (0, 1): 4})
    >>> gs.pbs.search(tasks, table, budget=gs.Budget(states=10**6)).schedulable
    True

    Parameters
    ----------
    states
        Number of states that each search visits, of jobs that each simulation releases, or of
        blocks that ``gs.simulate.hierarchy`` starts. Only this limit gives the same answers on
        every machine.
    bytes
        Most memory held at once, in bytes, besides the arguments. Default: 2 GiB.
    seconds
        Wall-clock time in seconds.

    Raises
    ------
    ValueError
        A limit is not positive.
    TypeError
        A limit is not a number, or states or bytes are not whole numbers.
    OverflowError
        A number of states or bytes does not fit 64 bits, or seconds do not fit a double.
    """

    states: int | None = None
    bytes: int | None = 2 << 30
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("states", "bytes", "seconds"):
            if (value := getattr(self, name)) is None:
                continue
            what = f"budget.{name}"
            limit = real(value, what) if name == "seconds" else integer64(value, what)
            if not limit > 0:
                raise ValueError(f"{what}: got {shown(value)}, expected a positive number or None")
            object.__setattr__(self, name, limit)


def as_budget(budget: Budget | None) -> Budget:
    """The argument ``budget``; ``Budget()`` for None, ``TypeError`` for another type."""
    if budget is None:
        return Budget()
    instance(budget, Budget, "budget", "for example gs.Budget(seconds=1)")
    return budget


def spent_text(which: str, states: int, used: int, cause: str = "") -> str:
    """Describe a search whose budget was used up: which limit, its states and its bytes.

    ``cause``: the end of the sentence, and what to do, if they are known.
    """
    amount = f"{states:,} states and {used / 1e6:,.1f} MB"
    if cause:
        return f"The budget of {which} was spent, after {amount}, {cause}"
    return f"The budget of {which} was spent, after {amount}; a larger one may decide it."


def spent(which: str) -> BudgetSpent:
    """The exception of a budget of "seconds" or "bytes"; for seconds, that of the core."""
    return BudgetSpent(f"The budget of {which} was spent; a larger one may decide it.")


class Deadline(NamedTuple):
    """A ``stop`` that also ends a call at an instant, in nanoseconds of the core's clock.

    Every function that takes ``stop`` takes it. A function with a budget of seconds reports that
    it was spent; the others raise `BudgetSpent`, which is a `Cancelled`.
    """

    stop: Any
    ns: int


Stop: TypeAlias = bytearray | memoryview | Deadline | None
"""The argument ``stop`` of public functions."""


def within_seconds(stop: Any, seconds: float | None) -> Any:
    """A ``stop`` that also ends a call after some seconds from now; None: ``stop`` itself."""
    if seconds is None or seconds > 1e9:
        return stop
    flag, end = stop if isinstance(stop, Deadline) else (stop, None)
    ns = _now() + int(seconds * 1e9)
    return Deadline(flag, ns if end is None else min(ns, end))


def share_of(stop: Any, parts: int) -> Any:
    """A ``stop`` for the first of so many parts of a call, which share the time that is left."""
    if not isinstance(stop, Deadline) or parts < 2:
        return stop
    now = _now()
    return Deadline(stop.stop, min(stop.ns, now + (stop.ns - now) // parts))


def seconds_left(stop: Any) -> float:
    """Seconds up to the deadline of ``stop``; infinite without one."""
    return (stop.ns - _now()) / 1e9 if isinstance(stop, Deadline) else inf


def is_late(stop: Any) -> bool:
    """Whether ``stop`` has a deadline that has passed, and its byte is not set."""
    if not isinstance(stop, Deadline) or _now() < stop.ns:
        return False
    return stop.stop is None or not _is_set(stop.stop)


def raise_if_stopped(stop: Any) -> None:
    """Raise `Cancelled` if the byte is set, and `BudgetSpent` if the deadline has passed.

    Long calls of the core check it themselves; a loop over short calls checks it between them.
    Raises TypeError for anything but None, a writable buffer of one byte or a `Deadline`.
    """
    if is_late(stop):
        raise spent("seconds")
    flag = stop.stop if isinstance(stop, Deadline) else stop
    if flag is not None and _is_set(flag):
        raise Cancelled("stopped")


def _is_set(stop: Any) -> bool:
    try:
        view = memoryview(stop)
    except (TypeError, ValueError):  # no buffer, or of a type that has none
        view = memoryview(b"")
    if view.readonly or view.nbytes != 1 or view.ndim != 1:
        raise TypeError(
            f"stop: got {shown(stop)}, expected None or a writable buffer of one byte, such as "
            "bytearray(1)"
        )
    return bool(view.cast("B")[0])


def _now() -> int:
    return clock_gettime_ns(CLOCK_MONOTONIC)  # that of gs_python_now


Progress = bool | Callable[[int, int], object] | None

_importing = threading.Lock()


@contextlib.contextmanager
def reporter(
    progress: Progress, total: int | None, unit: str, delay: float = 0.0, initial: int = 0
) -> Iterator[Callable[[int], object]]:
    """Yield a function to call with the number of units done so far.

    The bar shows the rate and an estimate of the remaining time. In a notebook it is a widget, or
    text in the cell's output if ipywidgets is not installed; in a terminal it is text on standard
    error. It is updated only by calls of the function, in the thread that calls it.

    Parameters
    ----------
    progress
        A callable ``(done, total)``; True or False to show or hide a tqdm bar; None for a bar in a
        notebook, and if standard error is a terminal. Without tqdm no bar is shown.
    total
        Number of units; None if it is unknown, in which case there is no estimate.
    unit
        Name of a unit in the bar.
    delay
        Seconds before a bar appears.
    initial
        Number of units done before; ignored by the estimate of the remaining time.
    """
    if callable(progress):
        call: Callable[..., object] = progress
        yield lambda done: call(done, total)
        return
    if progress is not None:
        flag(progress, "progress")
    notebook = _in_notebook()
    if progress is None:
        progress = notebook or (sys.stderr is not None and sys.stderr.isatty())
    kind = _bar_class() if progress else None
    if kind is None:
        yield lambda done: None
        return
    shown: dict[str, Any] = {"total": total, "unit": unit, "delay": delay, "initial": initial}
    shown["unit_scale"] = total is None or total >= 10**6
    shown["miniters"] = 1  # no guess of how many calls to skip, which a slower rate would outdate
    # A notebook displays standard error like an error message.
    with kind(**shown, file=sys.stdout if notebook else sys.stderr) as bar:
        yield lambda done: bar.update(done - bar.n)


def _in_notebook() -> bool:
    """True in the kernel of a notebook, which only an imported IPython can be."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if get is None else get()
    return shell is not None and "IPKernelApp" in shell.config


def _bar_class() -> Any:
    """The class of bars that suits the place; None without tqdm."""
    # catch_warnings changes the filters of the process: two threads in it at once would leave those
    # of one of them in place. It is needed for the first import alone.
    with _importing, contextlib.ExitStack() as quiet:
        if "tqdm.auto" not in sys.modules:
            quiet.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")  # of a notebook without ipywidgets
        try:
            automatic = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            return None
    # The class's monitor is a thread that refreshes bars.
    return type("Bar", (automatic,), {"monitor_interval": 0})
