"""The four readings of "kernels start their blocks in FIFO order"."""

from __future__ import annotations

from typing import Literal

__all__ = ["ORDERS", "Order"]

Order = Literal["hardware", "release", "strict", "overlap"]

ORDERS: tuple[Order, ...] = ("hardware", "release", "strict", "overlap")
"""The readings of "FIFO", in the order of the core's numbers; in all of them only the kernel at the
head of the queue starts blocks. ``hardware``: a job joins the queue when it gets to its stream's
head (R1 and R2 of Yang and Anderson 2017). ``release``: of the jobs at their streams' heads, the
earliest release is first. ``strict``: all jobs by release, and one that is not at its stream's head
yet holds up everything behind it (P1 to the letter). ``overlap``: all jobs by release, each in a
stream of its own."""
