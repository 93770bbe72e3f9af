"""The four readings of "kernels start their blocks in FIFO order"."""

from __future__ import annotations

from typing import Literal

__all__ = ["ORDERS", "Order"]

Order = Literal["hardware", "release", "strict", "overlap"]

ORDERS: tuple[Order, ...] = ("hardware", "release", "strict", "overlap")
"""The readings of "FIFO", in the order of the core's numbers. In all of them, only the kernel at
the head of the queue starts blocks. ``hardware``: a job joins the queue when it reaches the head of
its stream (R1 and R2 of [ECRTS17]). ``release``: among the jobs at the heads of their streams, the
one with the earliest release is first. ``strict``: all jobs are ordered by release, and a job that
has not reached the head of its stream blocks everything behind it (P1 taken literally).
``overlap``: all jobs are ordered by release, each in a stream of its own."""
