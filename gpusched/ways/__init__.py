"""Ways of sharing the GPU between tasks: immutable values, one class each.

``gs.ways.Mpcp(mode="busy")`` is a lock on the GPU whose holder keeps its core; ``"mpcp"`` stands
for ``gs.ways.Mpcp()``. Functions take either as ``way``: ``gs.analyze``, ``gs.observe``,
``gs.margin``, ``gs.mig``, ``gs.compare`` (``ways``), ``gs.simulate.host``, and, for those with a
test of tasks with cores, ``gs.analysis.partition``, ``breakdown`` and ``assign_priorities``.

>>> [way.name for way in gs.ways.WAYS if way.placed]
['time_slices', 'gcaps', 'mpcp', 'fmlp_plus', 'gpu_server', 'stgm']
>>> gs.ways.TimeSlices(timeslice="1ms").parameters[0].meaning
'most time of a context while others wait'
"""

from __future__ import annotations

from gpusched.ways.way import OUTSIDE, WAYS, Way, as_way

__all__ = ["OUTSIDE", "WAYS", "Way", "as_way"]

_CLASSES = {type(way).__name__: type(way) for way in WAYS}
__all__ += list(_CLASSES)


def __getattr__(name: str) -> type[Way]:
    if name in _CLASSES:
        return _CLASSES[name]
    raise AttributeError(f"module 'gpusched.ways' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
