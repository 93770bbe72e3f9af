"""Processes that copy or set memory beside a kernel."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gpusched.cuda.device import Device, Operation

LIMIT_S = 60
"""Time limit for a process to start or to end."""

_CODE = "from gpusched.cuda.noise import make_noise; make_noise({index}, {kind!r}, {size})"


def make_noise(index: int, kind: str, size: int) -> None:
    """Copy or set memory until the standard input ends; print "ready" after the start."""
    import select

    with Device(index) as device:
        ops = [Operation(kind=kind, bytes=size) for _ in range(8)]
        device.run(ops)
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], 0)[0]:
            device.run(ops, repeats=4)


@contextmanager
def noisy(index: int, kind: str, count: int) -> Iterator[None]:
    """Run ``count`` processes that copy or set memory during the block."""
    code = _CODE.format(index=index, kind=kind, size=50 << 20)
    running: list[subprocess.Popen[str]] = []
    try:
        for _ in range(count):
            running.append(
                subprocess.Popen(
                    [sys.executable, "-c", code],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        until = time.monotonic() + LIMIT_S
        for process in running:
            _wait_until_ready(process, until)
        yield
    finally:
        for process in running:
            assert process.stdin is not None
            process.stdin.close()  # ends the process
        for process in running:
            try:
                process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
            process.__exit__(None, None, None)


def _wait_until_ready(process: subprocess.Popen[str], until: float) -> None:
    import select

    assert process.stdout is not None
    left = max(0.0, until - time.monotonic())
    if not select.select([process.stdout], [], [], left)[0]:
        raise RuntimeError(
            f"noise: got no answer of a copying process within {LIMIT_S} s, expected 'ready'"
        )
    if process.stdout.readline().strip() != "ready":
        raise RuntimeError("noise: got a copying process that did not start, expected 'ready'")
