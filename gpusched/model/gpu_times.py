"""Tasks of Elliott and Anderson 2010, as segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array, at_least, int_array

__all__ = ["to_segments"]


def to_segments(period: Any, cpu: Any, gpu: Any, section: Any) -> dict[str, Any]:
    """Arguments of ``HostTasks`` for jobs that use the GPU once or not at all."""
    e, s = int_array(cpu, "cpu"), int_array(gpu, "gpu")
    cs = s if section is None else int_array(section, "section")
    try:
        shape = np.broadcast_shapes(int_array(period, "period").shape, e.shape, s.shape, cs.shape)
    except ValueError as error:
        raise ValueError(f"period, cpu, gpu, section: {error}") from None
    e, s, cs = (np.broadcast_to(array, shape or (1,)) for array in (e, s, cs))
    for name, array in (("cpu", e), ("gpu", s), ("section", cs)):
        at_least(array, 0, name)
    _refuse(cs < s, cs, "is shorter than the kernel in it")
    _refuse(cs - s > e, cs, "is longer than the job: its copies are part of the CPU time")
    return {
        "cpu": np.stack([e - (cs - s), np.zeros_like(e)], axis=-1),
        "copy_in": (cs - s)[..., None],
        "kernel": s[..., None, None],
        "copy_out": np.zeros_like(e)[..., None],
        "segments": (cs > 0).astype(np.int64),
    }


def _refuse(bad: Any, section: Int64Array, why: str) -> None:
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f"[{', '.join(map(str, at))}]" if at else ""
        raise ValueError(f"section{where} = {section[at]}: {why}")
