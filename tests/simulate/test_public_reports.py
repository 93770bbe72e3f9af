"""Measurements that were reported in public, played by the machine simulator."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs


def test_a_launch_beside_a_stream_of_large_kernels() -> None:
    """A short kernel waits until the last blocks of a large kernel have started.

    Reported of an RTX 6000 Ada, for kernels of 4,096 blocks of 512 threads that take 513 us and
    follow each other in one stream: on average 249 us, 461 at the 95th percentile, 587 at most.
    """
    large = gs.Task("large", "300us", [gs.Kernel("513us", blocks=4096, threads=512)])
    short = gs.Task("short", "1003us", [gs.Kernel("2us", blocks=1, threads=128)])
    platform = gs.Platform("RTX 6000 Ada Generation", cpus=2, slowdown=None)
    workload = gs.Workload([large, short], tick="ns")
    run = gs.observe(workload, platform, "streams", until="1s", timeline=False, seed=1, gap=0.5)
    waits = run.response[run.task == 1].compressed() - 2000
    assert len(waits) > 700 and run.late_count[0] > 1000  # the GPU always has a large kernel
    assert np.mean(waits) == pytest.approx(249_000, rel=0.25)
    assert np.percentile(waits, 95) == pytest.approx(461_000, rel=0.25)
    assert np.max(waits) == pytest.approx(587_000, rel=0.25)


@pytest.mark.parametrize(("processes", "reported"), [(2, 122.5), (3, 180.7)])
def test_processes_share_by_time(processes: int, reported: float) -> None:
    """Programs that take 58.5 s alone, started together in processes of their own."""
    kernel = gs.Kernel("4.5s", repeat=13)
    tasks = [gs.Task(f"p{i}", "1000s", [kernel], process=f"p{i}") for i in range(processes)]
    run = gs.observe(gs.Workload(tasks, tick="us"), gs.Platform("A100", cpus=4), "time_slices")
    assert max(run.worst) / 1e6 == pytest.approx(reported, rel=0.1)
    assert min(run.worst) > 0.9 * max(run.worst)  # they end at about the same time


def test_engines_of_one_process_share_the_gpu() -> None:
    """Two engines that take 4 s each take 8 s together, if each fills the GPU."""
    tasks = [gs.Task(name, "10s", [gs.Engine("4s", kernels=100)]) for name in "ab"]
    run = gs.observe(gs.Workload(tasks, tick="us"), gs.Platform("A100", cpus=2), "streams")
    assert max(run.worst) / 1e6 == pytest.approx(8, rel=0.02)
