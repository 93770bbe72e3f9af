"""Folder of results of a run, and the archive of it that a step replaces when it ends."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

NAME = "gpu.tgz"
MOST_BYTES = 60 << 20
"""Largest archive: what comes back from a borrowed machine is limited."""


class Archive:
    """The results in ``work``, and ``gpu.tgz`` in ``output`` with all of them.

    An archive that is there already is unpacked first: a run adds to it.
    """

    def __init__(self, output: Path, work: Path) -> None:
        output.mkdir(parents=True, exist_ok=True)
        self.path, self.work = output / NAME, work
        self._part = output / f".{NAME}.part"
        self._part.unlink(missing_ok=True)  # of a run that was killed
        self._kept: dict[str, tuple[int, int]] | None = None
        if self.path.exists():
            with tarfile.open(self.path) as tar:
                tar.extractall(work, filter="data")

    def write(self) -> None:
        """Replace the archive if anything has changed; if full, without the largest raw files."""
        files = self._files()
        if files == self._kept:
            return
        raw = sorted((path for path in files if path.endswith(".npz")), key=lambda p: files[p][0])
        left: list[str] = []
        while True:
            with tarfile.open(self._part, "w:gz", compresslevel=1) as tar:
                for path in sorted(files):
                    if path not in left:
                        tar.add(self.work / path, path, filter=_anonymous)
            size = self._part.stat().st_size
            if size <= MOST_BYTES or not raw:
                break
            left.append(raw.pop())
            (self.work / "left_out.txt").write_text("\n".join([*left, ""]))
            files = self._files()
        with open(self._part, "rb") as file:
            os.fsync(file.fileno())
        self._part.replace(self.path)
        self._kept = files

    def _files(self) -> dict[str, tuple[int, int]]:
        """Size and time of every file; steps replace files atomically, or add to the end."""
        found = {}
        for path in self.work.rglob("*"):
            if path.is_file() and not path.name.endswith(".part"):
                stat = path.stat()
                found[str(path.relative_to(self.work))] = (stat.st_size, stat.st_mtime_ns)
        return found


def _anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info
