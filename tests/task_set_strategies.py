"""Random sets and stacks of kernel tasks and host tasks, for hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import gpusched as gs

_TIMES = st.integers(1, 2**40)
_SMALL = st.integers(0, 9)
_LABELS = st.one_of(st.none(), st.lists(st.text(max_size=5), min_size=5, max_size=5, unique=True))


def _array(draw: Any, shape: tuple[int, ...], values: Any) -> Any:
    size = int(np.prod(shape))
    flat = draw(st.lists(values, min_size=size, max_size=size))
    return np.array(flat, dtype=np.int64).reshape(shape)


def _names(draw: Any, n: int) -> list[str] | None:
    labels = draw(_LABELS)
    return None if labels is None else labels[:n]


@st.composite
def kernel_tasks(draw: Any, stacks: bool = True) -> gs.KernelTasks:
    n = draw(st.integers(1, 4))
    shape = (draw(st.integers(1, 3)), n) if stacks and draw(st.booleans()) else (n,)
    given: dict[str, Any] = {"period": _array(draw, shape, _TIMES)}
    times = draw(st.sampled_from([("wcet",), ("block_time",), ("wcet", "block_time")]))
    for key in times:
        given[key] = _array(draw, shape, _TIMES)
    for key in ("deadline", "blocks", "threads", "regs", "smem", "priority", "offset"):
        if draw(st.booleans()):
            given[key] = _array(draw, shape, _TIMES)
    return gs.KernelTasks(**given, name=_names(draw, n))


@st.composite
def host_tasks(draw: Any, stacks: bool = True, named: bool = True) -> gs.HostTasks:
    n, width = draw(st.integers(1, 4)), draw(st.integers(0, 2))
    shape = (draw(st.integers(1, 3)), n) if stacks and draw(st.booleans()) else (n,)
    columns, sms = draw(st.integers(1, 3)), draw(st.integers(0, 4))
    segments = _array(draw, shape, st.integers(0, width))
    used = np.arange(width) < segments[..., None]
    cpu = _array(draw, (*shape, width + 1), _SMALL)
    cpu[..., 1:][~used] = 0
    cpu[..., 0] += 1
    kernel = np.sort(_array(draw, (*shape, width, columns), _SMALL), axis=-1)[..., ::-1]
    given: dict[str, Any] = {
        "period": _array(draw, shape, _TIMES),
        "cpu": cpu,
        "copy_in": _array(draw, (*shape, width), _SMALL) * used,
        "copy_out": _array(draw, (*shape, width), _SMALL) * used,
        "kernel": kernel * used[..., None],
    }
    if draw(st.booleans()) or not used.all():
        given["segments"] = segments
    if draw(st.booleans()):
        given["deadline"] = _array(draw, shape, _TIMES)
    if draw(st.booleans()):
        given["priority"] = _array(draw, shape, st.integers(-5, 5))
    if draw(st.booleans()):
        given["core"] = _array(draw, shape, st.integers(-1, 3))
    if sms:
        given["sm"] = _array(draw, (*shape, sms), st.integers(0, 1)).astype(bool)
    if len(shape) == 2 and draw(st.booleans()):
        sizes = _array(draw, shape[:1], st.integers(1, n))
        sizes[draw(st.integers(0, shape[0] - 1))] = n
        given["sizes"] = sizes
    return gs.HostTasks(**given, name=_names(draw, n) if named else None)
