"""Given releases and execution times for ``gs.simulate.host``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusched._support.arguments import Int64Array, int_array, is_sequence
from gpusched._support.registry import limit
from gpusched._support.text import shown
from gpusched.model.host_tasks import HostTasks
from gpusched.model.jobs import Jobs
from gpusched.simulate.arguments.run_arguments import execution_shares, gap_share
from gpusched.simulate.fifo_releases import read_releases

__all__ = ["read_given"]

_LATEST = limit("simulate.fifo_latest")  # no simulated job is released at or after it


def read_given(
    hosts: HostTasks, releases: Any, times: Any, until: Any, execution: Any, gap: Any
) -> dict[str, Any]:
    """The core's arguments for given jobs; empty without ``releases``.

    Raises ValueError, OverflowError and TypeError with row and value; also for options that
    contradict ``releases`` or ``times``, and if neither ``until`` nor ``releases`` is given.
    """
    if releases is None:
        if times is not None:
            raise ValueError("times: got times without releases, expected both or neither")
        if until is None:
            raise ValueError("until: got None, expected the end of the releases, or releases")
        return {}
    if until is not None:
        raise ValueError(f"until: got {until!r:.60}, expected none with releases")
    if gap_share(gap) != 0:
        raise ValueError(f"gap: got {gap!r:.60}, expected none with releases")
    tasks: Any = hosts  # of which the number and the periods are read
    rows = read_releases(releases, None, tasks, closer=None, latest=_LATEST)
    arguments = {"release_begin": rows.begin, "release": rows.release}
    if times is None:
        return arguments
    if execution_shares(execution, "worst case")[0] != 1:
        raise ValueError(f"execution: got {execution!r:.60}, expected none with times")
    if isinstance(releases, (Jobs, Mapping)) or hasattr(releases, "columns"):
        raise ValueError("times: got times, expected none unless releases are rows")
    return {**arguments, "time": _times(hosts, times, np.diff(rows.begin))}


def _times(hosts: HostTasks, times: Any, jobs: Int64Array) -> Int64Array:
    """A row for each job, as wide as the set's largest number of GPU segments needs."""
    if not is_sequence(times):
        raise TypeError(f"times: got {shown(times)}, expected an array of times per task")
    if len(times) != hosts.n:
        raise ValueError(f"times: got {len(times)} arrays, expected one per task ({hosts.n})")
    width = 4 * hosts.copy_in.shape[-1] + 1
    given = np.zeros((int(jobs.sum()), width), np.int64)
    row = 0
    for i, (own, count) in enumerate(zip(times, jobs.tolist(), strict=True)):
        array = int_array(own, f"times[{i}]")
        parts = 4 * int(hosts.segments[i]) + 1
        if count == 0 and array.size == 0:
            continue
        if array.ndim != 2 or len(array) != count or array.shape[1] not in (parts, width):
            raise ValueError(
                f"times[{i}]: got shape {array.shape}, expected ({count}, {parts}), a row of parts "
                "per release"
            )
        given[row : row + count, :parts] = array[:, :parts]
        row += count
    return given
