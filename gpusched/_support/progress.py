"""Progress reports of long computations: a callable, or a tqdm bar in a terminal or a notebook."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from gpusched._support.arguments import flag

__all__ = ["Progress", "reporter"]

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
