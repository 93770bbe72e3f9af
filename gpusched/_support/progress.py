"""Progress reports of long computations: a callable or a tqdm bar."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Progress", "reporter"]

Progress = bool | Callable[[int, int], object] | None


@contextlib.contextmanager
def reporter(
    progress: Progress, total: int | None, unit: str, delay: float = 0.0, initial: int = 0
) -> Iterator[Callable[[int], object]]:
    """Yield a function to call with the number of units done so far.

    Parameters
    ----------
    progress
        A callable ``(done, total)``; True or False to show or hide a tqdm bar; None for a bar when
        the standard error is a terminal. Without tqdm no bar is shown.
    total
        Number of units; None when it is unknown.
    unit
        Name of a unit in the bar.
    delay
        Seconds before a bar appears.
    initial
        Units done before; the bar's estimate of the remaining time leaves them out.
    """
    if callable(progress):
        call: Callable[..., object] = progress
        yield lambda done: call(done, total)
        return
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    tqdm: Any = None
    if progress:
        with contextlib.suppress(ImportError):
            tqdm = importlib.import_module("tqdm")
    if tqdm is None:
        yield lambda done: None
        return
    large = total is None or total >= 10**6
    shown = {"total": total, "unit": unit, "unit_scale": large, "delay": delay, "initial": initial}
    with tqdm.tqdm(**shown, file=sys.stderr) as bar:
        yield lambda done: bar.update(done - bar.n)
