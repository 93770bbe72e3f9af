"""How far a long computation is: a callable of the caller's, or a bar in the terminal."""

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
    """A function to call with what is done, out of ``total`` (None: nobody knows).

    ``progress``: a callable (done, total); or whether to show a bar, by default in a terminal
    (with tqdm; without it none is shown). ``delay``: seconds before a bar appears. ``initial``:
    what was done before, which says nothing about the time left.
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
