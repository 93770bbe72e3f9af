"""Every function that writes a file, on disks that are full, broken or read-only.

Run by test_disk_faults.py. By hand: disk_faults.py KIND FOLDER WRITER..., where KIND is ``change``
(each change of a file fails, through the preloaded library ../benchmarks/fail_at.c), ``size`` (no
file may have more than some bytes) or ``folder`` (the folder cannot be written to).
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked
import numpy as np

import gpusched as gs
from gpusched._support.results import Results

TASKS = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3])
TABLE = gs.BatchTable([0, 1, 3, 4, 3, 4, 4, 6])
FOUND = gs.pbs.search(TASKS, TABLE)
SEGMENTS = [gs.CPU(20), gs.Kernel(300, blocks=4, threads=256), gs.CPU(5)]
WORKLOAD = gs.Workload([gs.Task("a", 3000, SEGMENTS)])
JOBS = gs.Workload([gs.Task("a", 3000, [gs.CPU(20)])])
RUN = gs.simulate.fifo(gs.KernelTasks([40], block_time=[5], blocks=2, threads=32), 64, until=80)
COMPARED = gs.compare(WORKLOAD, gs.Platform("xavier", cpus=2))
NOBODY = 65534
STORE = "store.gpusched"
REPORT = "report"  # a folder
OLD = b"old content"


def share(*, load: float, count: int, first: int, seed: Any) -> dict[str, Any]:
    return {"share": np.full(count, load)}


def stored(path: Path) -> None:
    options = {"count": 4, "seed": 1, "workers": 1, "progress": False, "key": "share"}
    gs.sweep(share, {"load": [0.5]}, store=path, **options)


# The store, which refuses to replace what is not its own, and the folder begin with nothing.
WRITERS: dict[str, Callable[[Path], Any]] = {
    "table.npz": TABLE.save,
    "table.json": TABLE.to_file,
    "table.csv": TABLE.to_file,
    "tasks.npz": TASKS.save,
    "found.npz": FOUND.save,
    "run.npz": RUN.save,
    "compared.npz": COMPARED.save,
    "schedule.json": FOUND.schedule.save,
    "played.json": FOUND.schedule.with_tick("us").save,
    "plan.h": FOUND.schedule.with_tick("us").save_header,
    "run.gslog": gs.io.RunLog(["a"], [0], ["release"], 0, 0).save,
    "schedule.trace.json": FOUND.schedule.to_chrome_trace,
    "schedule.trace.json.gz": FOUND.schedule.to_chrome_trace,
    "run.trace.json": RUN.to_chrome_trace,
    "workload.toml": WORKLOAD.save,
    "workload.json": WORKLOAD.save,
    "jobs.csv": lambda path: gs.io.write_job_set(JOBS, path),
    "results.csv": Results({"a": np.arange(3)}).save_csv,
    REPORT: COMPARED.save_report,
    STORE: stored,
}


def after(kind: str, path: Path, status: int, good: bytes) -> str:
    """Find what is wrong after a fault; empty when nothing is."""
    left = sorted(file.name for file in path.parent.iterdir())
    if status == 2:
        return "ended with an exception that is not an OSError"
    if status not in (0, 3):
        return f"ended with {status}"
    content = path.read_bytes() if path.exists() else None
    if status == 3 and content != OLD:
        return f"an error, and the old file is {content!r:.60}"
    if status == 0 and content != good:
        return f"no error, and the file is {content!r:.60}"
    # Where all later changes fail, the temporary file cannot be removed either.
    if left != [path.name] and kind != "fail":
        return f"left behind: {left}"
    return ""


def attempt(write: Callable[[Path], Any], path: Path, before: Callable[[], None]) -> int:
    """Write in a process of its own: 0 written, 3 an OSError, 2 another exception."""
    child = os.fork()
    if child == 0:
        status = 2
        try:
            before()
            write(path)
            status = 0
        except OSError as error:
            status = 3 if error.strerror else 2
        except gs.StoreError:
            status = 3
        except BaseException as error:
            print(f"{path.name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fault(at: int, how: str, folder: Path) -> Callable[[], None]:
    def before() -> None:
        os.environ |= {"FAULT_FOLDER": str(folder), "FAULT_AT": str(at), "FAULT_HOW": how}

    return before


def small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))


def another_user() -> None:
    if os.getuid() == 0:  # who may write everywhere
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def prepared(folder: Path, name: str) -> Path:
    folder.mkdir()
    path = folder / name
    if name not in (STORE, REPORT):
        path.write_bytes(OLD)
    return path


class Faults:
    """Faults of one writer, and what was wrong after them."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder, self.name = Path(folder), name
        self.write = WRITERS[name]
        self.made = self.errors = 0
        self.wrong: list[str] = []
        place = self.folder / f"good-{name}"
        place.mkdir()
        self.write(place / name)
        self.names = {file.name for file in place.rglob("*")}
        self.good = (place / name).read_bytes() if (place / name).is_file() else b""

    def judge(self, how: str, before: Callable[[], None], at: int = 0, mode: int = 0o755) -> bool:
        """Whether the fault changed anything."""
        path = prepared(self.place(how, at), self.name)
        old = path.exists()
        path.parent.chmod(mode)
        status = attempt(self.write, path, before)
        path.parent.chmod(0o755)
        self.made += 1
        self.errors += status == 3
        problem = ""
        if old:
            problem = after(how, path, status, self.good)
            if how == "fail" and status == 3:
                self.write(path)
                left = sorted(file.name for file in path.parent.iterdir())
                problem += f"the next save left {left}" if left != [self.name] else ""
        elif status not in (0, 3):
            problem = f"ended with {status}"
        elif status == 3:
            left = {file.name for file in path.rglob("*")} - self.names
            problem = f"left behind: {left}" if left else ""
            self.write(path)  # a store goes on where it was
        if problem:
            self.wrong.append(f"{how} at {at}: {self.name}: {problem}")
        return status != 0

    def place(self, how: str, at: int) -> Path:
        return self.folder / f"{how}-{at}-{self.name}"

    def changes(self) -> None:
        """Every change of a file fails, with all later ones or alone."""
        for how in ("fail", "once"):
            at, quiet = 1, 0
            while quiet < 2:  # the last change of a folder may fail unnoticed
                noticed = self.judge(how, fault(at, how, self.place(how, at)), at)
                quiet = 0 if noticed else quiet + 1
                at += 1


def main(kind: str, folder: str, *writers: str) -> None:
    faulthandler.enable()
    done = [Faults(folder, name) for name in writers]
    for one in done:
        if kind == "change":
            one.changes()
        elif kind == "size":
            one.judge("size", small_files)
        else:
            one.judge("folder", another_user, mode=0o555)
    found = {"faults": sum(one.made for one in done), "errors": sum(one.errors for one in done)}
    print(json.dumps(found | {"wrong": [text for one in done for text in one.wrong]}))


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        forked.serve(main)
    else:
        main(*sys.argv[1:])
