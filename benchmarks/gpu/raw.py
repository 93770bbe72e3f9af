"""Raw times of all runs of a step, in pieces that are complete when they are written."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from gpusched.cuda import Device, Run

PIECE_S = 2.0
MOST_BLOCKS = 2_000_000
"""Blocks of a run whose times are kept."""
ARRAYS = ("begin", "end", "called", "returned", "block_start", "block_end", "block_sm")
FIELDS = ("kind", "stream", "blocks", "threads", "regs", "smem", "ns", "iterations", "bytes", "at")
FIELDS += ("cluster", "trigger", "programmatic", "name")


class Recorder:
    """Keeps every run of the devices of this process, and writes them every two seconds.

    Piece k is ``NAME.k.npz``: ``index`` (JSON) has the operations and streams of each run, and the
    arrays of run i are ``i_begin``, ``i_end`` and so on. Device times are differences along a run.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._runs: list[Run] = []
        self._pieces = 0
        self._written = time.monotonic()
        plain = Device.run

        def run(device: Device, *arguments: Any, **options: Any) -> Run:
            made = plain(device, *arguments, **options)
            if made.block_sm.size <= MOST_BLOCKS:
                self._runs.append(made)
            if time.monotonic() - self._written > PIECE_S:
                self.write()
            return made

        Device.run = run  # type: ignore[method-assign]

    def write(self) -> None:
        """Write the runs since the last piece."""
        self._written = time.monotonic()
        if not self._runs:
            return
        index, arrays = [], {}
        for i, run in enumerate(self._runs):
            index.append(
                {
                    "operations": [[getattr(op, key) for key in FIELDS] for op in run.operations],
                    "streams": [[s.priority, s.kind, s.partition] for s in run.streams],
                    "sms": run.sms,
                }
            )
            for key in ARRAYS:
                values = getattr(run, key)
                if key in ("block_start", "block_end"):
                    values = np.diff(values.ravel(), prepend=0)
                arrays[f"{i}_{key}"] = values
        arrays["index"] = np.array(json.dumps(index))
        part = self._folder / f"{self._name}.{self._pieces}.npz.part"
        with part.open("wb") as file:
            np.savez_compressed(file, **arrays)
        part.replace(part.with_suffix(""))
        self._pieces += 1
        self._runs.clear()


def read(path: Path) -> list[dict[str, Any]]:
    """The runs of a piece: operations and streams as dictionaries, arrays with device times."""
    runs = []
    with np.load(path) as file:
        for i, row in enumerate(json.loads(str(file["index"]))):
            run = {key: file[f"{i}_{key}"] for key in ARRAYS}
            for key in ("block_start", "block_end"):
                run[key] = np.cumsum(run[key]).reshape(run["block_sm"].shape)
            run["operations"] = [dict(zip(FIELDS, op, strict=True)) for op in row["operations"]]
            runs.append(run | {"streams": row["streams"], "sms": row["sms"]})
    return runs
