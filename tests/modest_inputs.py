"""Small inputs with large numbers or contents, with little memory: python modest_inputs.py CASE.

Run by test_modest_input.py, in a process for each case.
"""

from __future__ import annotations

import gzip
import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked
import matplotlib as mpl

import gpusched as gs

LIMIT = 300 << 20  # bytes beside those in use
HUGE = 10**8
LONG = "n" * 10**6


def run_on(sms: int, name: str = "a") -> Any:
    hosts = gs.HostTasks.from_segments([100], [[2, (1, 4, 1), 2]], core=0, name=[name])
    return gs.simulate.host(hosts, 1, "mpcp", sms=sms, until=10**4)


def picture() -> str:
    text = run_on(HUGE).to_svg()
    assert len(text) < 10**7
    assert "99,999,936 of 100,000,000 SMs not shown" in text
    return "shown"


def trace() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.json")
        run_on(HUGE).to_chrome_trace(path)
        text = path.read_text()
    assert "99,998,976 of 100,000,000 SMs not shown" in text
    assert '"SM 1023"' in text and '"SM 1024"' not in text
    return "shown"


def cores() -> str:
    n = 3000
    hosts = gs.HostTasks([100] * n, cpu=[[1]] * n, core=range(n))
    text = gs.simulate.host(hosts, n, "mpcp", until=300).to_svg()
    assert "2,744 of 3,000 CPUs not shown" in text and ">core 255<" in text
    assert ">core 256<" not in text
    return "shown"


def table_of_24_tasks() -> str:
    """16 million sets of which some thousands fit the GPU at once."""
    shapes = [12 + 2 * (i % 4) for i in range(24)]
    tasks = gs.KernelTasks([6000] * 24, wcet=range(30, 54), blocks=shapes, threads=256)
    table = gs.BatchTable.from_gpu(tasks, "xavier", slowdown=1.4)
    assert 10**4 < (table.completion > 0).sum() < 10**5
    assert gs.pbs.search(tasks, table).schedulable
    return "shown"


def table_from_a_dict() -> str:
    table = gs.BatchTable.from_dict(24, {1 << i: 5 for i in range(24)} | {(3, 1): 9})
    assert table.submission_order(10) == (3, 1) and table.submission_order(4) == (2,)
    return "shown"


def placement() -> str:
    mpl.use("Agg")
    placed = gs.place(gs.GPU(65536, 2048, 32), blocks=[10**6] * 3, threads=32)
    axes = placed.plot()
    assert len(axes.patches) < 5000
    assert axes.get_xlabel() == "SM (192 to 65535 not shown)"
    return "shown"


def names() -> str:
    """A megabyte in every name, which is not repeated in pictures, tables and traces."""
    job = [gs.CPU("1ms", name=LONG), gs.Kernel("1ms", blocks=4, threads=32, name=LONG)]
    tasks = [gs.Task(f"{LONG}{i}", "10ms", job, process=LONG) for i in range(2)]
    workload, platform = gs.Workload(tasks, tick="us"), gs.Platform("xavier", cpus=2)
    found, seen = gs.compare(workload, platform), gs.observe(workload, platform, "streams")
    for text in (str(found), found._repr_html_(), found.to_html(), seen.to_svg()):
        assert len(text) < 10**6
    run = run_on(1, LONG)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.json")
        run.to_chrome_trace(path)
        assert path.stat().st_size < 10**7  # of 100 jobs
    return "shown"


def unpacked(head: bytes, unit: bytes, tail: bytes) -> str:
    """The error for a gzip in which 512 MiB of a unit stand between head and tail."""
    piece = gzip.compress(unit * ((4 << 20) // len(unit)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.json.gz")
        parts = [gzip.compress(head), *[piece] * 128, gzip.compress(tail)]
        path.write_bytes(b"".join(parts))
        assert path.stat().st_size < 1 << 20
        try:
            gs.io.read_trace(path)
        except ValueError as error:
            return str(error).removeprefix(f"{path}: ")
    return "read"


def limited(head: bytes, unit: bytes, tail: bytes) -> str:
    """The same with a smaller limit of what is kept."""
    from gpusched.io.traces import kineto_document

    kineto_document._MOST_HELD = 1 << 24
    return unpacked(head, unit, tail)


CASES: dict[str, tuple[Callable[[], str], str]] = {
    "picture": (picture, "shown"),
    "trace": (trace, "shown"),
    "cores": (cores, "shown"),
    "placement": (placement, "shown"),
    "names": (names, "shown"),
    "table of 24 tasks": (table_of_24_tasks, "shown"),
    "table from a dict": (table_from_a_dict, "shown"),
    "blanks": (lambda: unpacked(b"", b" ", b""), "got nothing but blanks, expected a trace"),
    "lines": (lambda: unpacked(b"\n", b"\r\n", b"\t"), "got nothing but blanks, expected a trace"),
    "blanks before": (
        lambda: unpacked(b"", b" ", b'{"traceEvents": [] x'),
        "expected JSON in the gzip: Expecting ',' delimiter: line 1 column 536870932 (char "
        "536870931)",
    ),
    "blanks between events": (
        lambda: unpacked(b'{"traceEvents": [', b" \n", b"]}"),
        "got no kernels among 0 events, expected at least one",
    ),
    "long name": (
        lambda: limited(b'{"traceEvents": [{"name": "', b"n", b'"}]}'),
        "expected JSON in the gzip: got a part of more than 16 MiB, expected less",
    ),
    "text": (
        lambda: limited(b"", b"GrdY,", b""),
        "expected JSON in the gzip of the PyTorch profiler, or a trace of Nsight Systems: got a "
        "part of more than 16 MiB, expected less",
    ),
}


def main(name: str) -> None:
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + LIMIT, used + LIMIT))
    print(CASES[name][0](), end="")


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        forked.serve(main)
    else:
        main(*sys.argv[1:])
