"""Judgements about times, on a machine that others may use: only while control threads, which do
nothing but sleep, wake in time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import pytest

QUIET = 500_000  # ns, how late control threads of a machine wake that is not busy
ATTEMPTS = 5
ENOUGH = 2  # attempts on a quiet machine, of which one may meet a delay that no control thread sees


class Controls:
    """A thread on each CPU that sleeps 1 ms again and again; ``late``: its longest delay in ns."""

    def __enter__(self) -> Controls:
        self.late, self._over = 0, threading.Event()
        cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
        self._threads = [threading.Thread(target=self._sleep, args=(cpu,)) for cpu in cpus]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _sleep(self, cpu: int) -> None:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {cpu})
        while not self._over.is_set():
            before = time.monotonic_ns()
            time.sleep(0.001)
            self.late = max(self.late, time.monotonic_ns() - before - 1_000_000)


def judge(attempt: Callable[[int], object]) -> None:
    """Repeat an attempt, given its number, until it returns nothing to object to (a false value).

    An objection counts if no control thread was late meanwhile; the test fails at the second one
    that counts, and is skipped if too few do. What holds on any machine, an attempt asserts itself.
    """
    counted = 0
    for number in range(ATTEMPTS):
        with Controls() as controls:
            objection = attempt(number)
        if not objection:
            return
        counted += controls.late <= QUIET
        if counted == ENOUGH:
            pytest.fail(str(objection), pytrace=False)
    pytest.skip(f"this machine was busy: {objection}")
