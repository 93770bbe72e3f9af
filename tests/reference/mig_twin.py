"""Assignments of tasks to GPU instances: all of them, each instance as a GPU of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import gpusched as gs


def resident(gpu: gs.GPU, kernel: gs.Kernel) -> int:
    """Blocks of a kernel on an SM."""
    return int(gs.occupancy(gpu, kernel.threads or 0, kernel.regs, kernel.smem))


def time_of_block(gpu: gs.GPU, kernel: gs.Kernel) -> int:
    """Time of a block: that of the kernel on the whole GPU, divided by its waves there."""
    if kernel.block_time is not None:
        return kernel.block_time
    waves = -(-(kernel.blocks or 0) // (gpu.sms * resident(gpu, kernel)))
    return -(-kernel.time // waves)


def in_instance(w: gs.Workload, gpu: gs.GPU, names: Sequence[str]) -> gs.Workload:
    """Some of the tasks, with blocks that take as long as on the whole GPU."""
    tasks = []
    for task in w:
        if task.name in names:
            parts = [
                part
                if not isinstance(part, gs.Kernel)
                else part.replace(time=None, block_time=time_of_block(gpu, part))
                for part in task.segments
            ]
            tasks.append(task.replace(segments=parts))
    return w.replace(tasks=tasks)


def accepted(
    w: gs.Workload, platform: gs.Platform, profile: str, names: Sequence[str], **how: Any
) -> bool:
    """Whether the test accepts tasks in an instance."""
    gpu = platform.gpu
    assert gpu is not None
    part = platform.replace(gpu=gpu.instance(profile), mig=None)
    try:
        answer = gs.analyze(in_instance(w, gpu, names), part, **how)
        return answer.accepted or answer.conditional
    except ValueError:
        return False


def lists_of(platform: gs.Platform) -> Iterator[tuple[str, ...]]:
    """Profiles that can be had together."""
    gpu = platform.gpu
    assert gpu is not None
    if platform.mig is not None:
        yield platform.mig
        return
    rows = gpu.mig_configurations()
    yield from sorted({tuple(sorted(one.profile.name for one in row)) for row in rows})


def has_assignment(w: gs.Workload, platform: gs.Platform, **how: Any) -> bool:
    """Whether tasks, all with kernels, can be divided among instances that are all accepted."""
    known: dict[tuple[str, tuple[str, ...]], bool] = {}

    def serves(profile: str, names: tuple[str, ...]) -> bool:
        if names and (profile, names) not in known:
            known[profile, names] = accepted(w, platform, profile, names, **how)
        return not names or known[profile, names]

    for profiles in lists_of(platform):
        for places in itertools.product(range(len(profiles)), repeat=len(w)):
            parts = [
                tuple(name for name, at in zip(w.names, places, strict=True) if at == i)
                for i in range(len(profiles))
            ]
            if all(map(serves, profiles, parts)):
                return True
    return False
