"""Workloads of any file that holds one: TOML or JSON, job sets, task sets of SchedCAT."""

from __future__ import annotations

import os
from typing import Literal

from gpusched._support import file_kinds
from gpusched._support.arguments import MAX_BYTES
from gpusched._support.input_files import content
from gpusched._support.text import path_text
from gpusched.io.job_sets import job_set_in
from gpusched.io.schedcat_sets import task_set_in
from gpusched.model.workload.workload_files import workload_in
from gpusched.model.workload.workloads import Workload

__all__ = ["load_workload"]

_SUFFIXES = {".csv": "job_set", ".yaml": "job_set", ".yml": "job_set", ".xml": "schedcat"}


def load_workload(
    path: str | os.PathLike[str],
    *,
    tick: str | None = None,
    resource: Literal["cpu", "kernel"] | None = None,
    max_bytes: int = MAX_BYTES,
) -> Workload:
    """Read a workload, or a file that another tool wrote; its content or its suffix says which.

    Parameters
    ----------
    path
        Path of the file. Standard input has no suffix: its content alone says what it is.
    tick
        Length of the unit of time of a job set (default: 1 ns) or of SchedCAT (1 us).
    resource
        Whether the jobs of a job set are CPU work (default) or kernels.
    max_bytes
        Size in bytes of the largest file that is read.

    Raises
    ------
    ValueError, ImportError
        As by the reader of the format; the file is one of another kind (the message says which);
        or ``tick`` or ``resource`` is given for a file that states it.
    OSError
        The file cannot be read.
    """
    where = path_text(path)
    data = content(where, max_bytes)
    kind = file_kinds.kind_of(data, where)
    reader = _SUFFIXES.get(os.path.splitext(where)[1].lower(), "") if kind is None else kind.reader
    if reader not in ("job_set", "schedcat"):
        file_kinds.refuse(where, data, "workload")
    if resource is not None and reader != "job_set":
        raise ValueError(f"resource: got {resource!r}, expected it for a job set only")
    if reader == "job_set":
        return job_set_in(where, data, tick or "ns", resource or "cpu")
    if reader == "schedcat":
        return task_set_in(where, data, tick or "us")
    if tick is not None:
        raise ValueError(f"tick: got {tick!r}, expected it for a job set or SchedCAT only")
    return Workload._made(*workload_in(where, data))
