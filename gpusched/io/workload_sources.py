"""Workloads of any file that holds one: TOML or JSON, job sets, task sets of SchedCAT."""

from __future__ import annotations

import os
from typing import Literal

from gpusched._support.file_limits import MAX_BYTES
from gpusched._support.input_files import opened
from gpusched._support.paths import own_descriptor, path_text
from gpusched.io import file_kinds
from gpusched.io.job_sets import read_job_set
from gpusched.io.schedcat_sets import read_schedcat
from gpusched.model.workload.workloads import Workload

__all__ = ["load_workload"]

_SUFFIXES = {".csv": "job_set", ".yaml": "job_set", ".yml": "job_set", ".xml": "schedcat"}
_HEAD = 1 << 16


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
        Path of the file. Standard input is a workload in TOML or JSON.
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
    reader = _reader(where)
    if resource is not None and reader != "job_set":
        raise ValueError(f"resource: got {resource!r}, expected it for a job set only")
    if reader == "job_set":
        return read_job_set(
            where, tick=tick or "ns", resource=resource or "cpu", max_bytes=max_bytes
        )
    if reader == "schedcat":
        return read_schedcat(where, tick=tick or "us", max_bytes=max_bytes)
    if tick is not None:
        raise ValueError(f"tick: got {tick!r}, expected it for a job set or SchedCAT only")
    return Workload.load(where, max_bytes=max_bytes)


def _reader(where: str) -> file_kinds.Reader:
    """The reader of a file; ``ValueError`` for a file of another kind."""
    if own_descriptor(where) is not None:
        return "workload"
    with opened(where) as file:
        head = file.read(_HEAD)
    kind = file_kinds.kind_of(head, where)
    if kind is not None and kind.reader in ("job_set", "schedcat"):
        return kind.reader
    file_kinds.refuse(where, head, "workload")
    return _SUFFIXES.get(os.path.splitext(where)[1].lower(), "workload")
