"""Kernels known by their time alone, under ways in which kernels share the SMs by their blocks.

Of a kernel without a shape nobody knows how many blocks it has and what they take. Two models stand
for it:

- `filled`: its blocks take a whole SM each, one on every SM that it fills (all, or its share), and
  are equally long. This is what a simulation plays. A guarantee of a test is conditional on it
  (`FILLS`): a kernel of several waves can be interrupted by a more urgent stream, and
  one that needs less may run beside others and be slowed by them.
- `in_turns`: all kernels, also those with a shape, take the whole GPU or their part of it one after
  the other, at the largest slowdown. For streams of one priority a guarantee then holds whatever
  the blocks are.

Proof of the second: kernels reach the queue of blocks in some order, and the GPU starts a block of
a kernel only when all blocks of the kernels before it have started. Consider the earliest kernel of
the queue that has not ended, from the instant at which all before it have. As long as some of its
blocks wait, no block of a later kernel has started. So its blocks find the SMs as empty as when it
runs alone, or with blocks of its own that run already, and it ends within its time alone, at the
largest slowdown. At every instant the earliest kernel that has not ended is thus served as by one
server in the order of the queue, for at most that time; and the bounds of streams whose kernels
take all SMs rest on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from gpusched._support.text import clip
from gpusched.comparison.derived_models import DerivedModels, StreamForm
from gpusched.comparison.tasks_in_parts import PART_SENTENCES, part_homes, shares_sms
from gpusched.comparison.verdicts.premises import Condition
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.gpu import WARP_THREADS
from gpusched.model.views.derived_view import listed
from gpusched.model.workload.kernel_waves import ON_FEWER_SMS, KernelTimes, of_whole_sms
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import green_sms
from gpusched.model.workload.segments import Kernel, Segment
from gpusched.model.workload.time_units import time_with_unit

SHARING = frozenset(("streams", "priority_streams", "mps", "mps_static", "green_contexts"))
"""Ways in which kernels share the SMs by their blocks."""

FILLS = "kernels_fill_sms"
"""Name of the premise of a guarantee for kernels that are assumed to fill their SMs."""

_IN_TURNS = (
    "kernels without blocks and threads delay others, and are delayed, as if all kernels ran one "
    "after the other, at the largest slowdown; whatever their equal blocks need, none ends later"
)


@dataclass(frozen=True)
class Shapes:
    """Kernels in place of those of a workload, and the conditions of a guarantee for them."""

    of: Callable[[DerivedModels], DerivedModels]
    conditions: tuple[Condition, ...] = ()


AS_GIVEN = Shapes(lambda models: models)
"""The kernels of the workload."""


def by_time_alone(models: DerivedModels) -> tuple[str, ...]:
    """Names of the tasks with kernels without a shape."""
    return tuple(
        task.name for task in models.workload if not all(k.has_shape for k in task.kernels)
    )


def filled(models: DerivedModels, way: str) -> Shapes:
    """Kernels whose blocks take whole SMs in place of those without a shape."""
    names = by_time_alone(models)
    alone = models.kernel_users() < 2
    return Shapes(lambda models: _filled(models, way), () if alone else (_fills(names),))


def in_turns(models: DerivedModels, way: str) -> Shapes | None:
    """All kernels one after the other; None where that bounds nothing.

    It needs one queue of blocks for the SMs of a part, without more urgent streams and limits of
    clients. Measured times on few SMs say that blocks are slower there.
    """
    tasks = [task for task in models.workload if task.kernels]
    if any(kernel.sms for task in tasks for kernel in task.kernels):
        return None
    if way == "mps" and _has_shares(models):
        return None
    home = dict.fromkeys((task.name for task in tasks), 0)
    if way in PART_SENTENCES:
        parts = part_homes(models.workload, models.platform, way)
        if parts is None or any(task.name not in parts[1] for task in tasks):
            return None
        if shares_sms(parts[0], models.gpu()):
            return None
        home = parts[1]
    levels: dict[int, set[int | None]] = {}
    streamed, _ = models._streamed(cast(StreamForm, way))
    for task in streamed:
        if task.kernels:
            levels.setdefault(home[task.name], set()).add(task.stream_priority)
    if any(len(found) > 1 for found in levels.values()):
        return None
    return Shapes(lambda models: _in_turns(models, way, home))


def fill_the_gpu(models: DerivedModels, way: str) -> bool:
    """Whether all kernels of a workload fill the GPU, so that no two of them run at once."""
    if way in PART_SENTENCES or (way == "mps" and _has_shares(models)):
        return False
    return all(
        of.filled == of.sms and not of.kernel.has_shape
        for row in models.workload.kernel_times(models.platform)
        for of in row
        if of is not None
    )


def _has_shares(models: DerivedModels) -> bool:
    """Whether a client of MPS may have less than all SMs."""
    return any(share != 100 for _, share in models.platform.mps or ())


def _filled(models: DerivedModels, way: str) -> DerivedModels:
    gpu = models.gpu()
    if fill_the_gpu(models, way):
        return _undivided(models, lambda task: gpu.sms, exclude=True)

    def shape(task: Task, of: KernelTimes) -> Kernel:
        if of.kernel.has_shape:
            return of.kernel
        if (found := of_whole_sms(of.kernel, gpu, of.filled)) is None:
            raise ValueError(
                f"gpu: got SMs of {gpu.warps_per_sm} warps and {gpu.blocks_per_sm} blocks, which "
                "no blocks fill, expected blocks and threads of all kernels"
            )
        return found

    return models.shaped(_with_kernels(models, shape))


def _in_turns(models: DerivedModels, way: str, home: dict[str, int]) -> DerivedModels:
    sms = [models.gpu().sms]
    if way in PART_SENTENCES:
        parts = part_homes(models.workload, models.platform, way)
        assert parts is not None
        sms = [len(part) for part in green_sms(parts[0], models.gpu())]
    return _undivided(models, lambda task: sms[home[task.name]], parts=len(set(home.values())))


def _undivided(
    models: DerivedModels, sms: Callable[[Task], int], *, parts: int = 1, exclude: bool = False
) -> DerivedModels:
    """Kernels with their times on so many SMs, as one block on one SM for each part of the GPU."""
    device = models.gpu().replace(
        sms=parts, sm_order="ascending", threads_per_sm=WARP_THREADS, blocks_per_sm=1
    )

    def shape(task: Task, of: KernelTimes) -> Kernel:
        time, kernel = of.on(sms(task)), of.kernel
        return Kernel(time, blocks=1, threads=WARP_THREADS, repeat=kernel.repeat, name=kernel.name)

    return models.shaped(_with_kernels(models, shape), device=device, exclude=exclude)


def _with_kernels(
    models: DerivedModels, kernel: Callable[[Task, KernelTimes], Kernel]
) -> Callable[[Task], Task]:
    rows = models.workload.kernel_times(models.platform)
    times = dict(zip(models.workload.names, rows, strict=True))

    def changed(task: Task) -> Task:
        segments: list[Segment] = [
            part if of is None else kernel(task, of)
            for part, of in zip(task.segments, times[task.name], strict=True)
        ]
        return task.replace(segments=segments)

    return changed


def _fills(names: tuple[str, ...]) -> Condition:
    return Condition(
        FILLS,
        "kernels without blocks and threads fill the SMs that they need (all, or their share) from "
        f"start to end, and no other kernel runs there or comes between: {listed(names)}",
        names,
        "their blocks and threads say what they share: Kernel(blocks=, threads=)",
    )


def of_either(
    models: DerivedModels, turns: WorkloadAnswer | None, filling: WorkloadAnswer | None
) -> WorkloadAnswer:
    """The answer for kernels in turns if it is a guarantee, else that for kernels that fill SMs.

    It says what the other one would be. No miss is shown for shapes that are assumed.
    """
    several = models.kernel_users() > 1
    if turns is not None and (turns.accepted or turns.impossible or filling is None):
        answer, other, if_other = turns, filling, _IF_FILLING
        said = (_IN_TURNS,) if several else ()
    else:
        assert filling is not None
        answer, other, if_other = filling, turns, _IF_BESIDE
        said = (f"{_fills(by_time_alone(models)).text}",) if several else ()
    if several:
        said = (*said, _bounds(answer, other, if_other))
    if answer.way in PART_SENTENCES or (answer.way == "mps" and _has_shares(models)):
        said = (*said, ON_FEWER_SMS)
    derivation = (*answer.derivation, *said)
    shown = answer.rejected and (answer.impossible or not several)
    return replace(answer, rejected=shown, derivation=derivation)


_IF_FILLING = "if they fill their SMs, and no other kernel runs there or comes between"
_IF_BESIDE = "if they need fewer SMs and run beside others, at the largest slowdown"


def _bounds(answer: WorkloadAnswer, other: WorkloadAnswer | None, if_other: str) -> str:
    """A sentence on the response bounds under the assumption that the answer does not make."""
    if other is None:
        return f"{if_other}, there is no bound"
    workload, shown = answer.workload, []
    known = other.bounded & ~np.ma.getmaskarray(other.response)
    for i, task in enumerate(workload):
        took = int(other.response[i]) if known[i] else None
        text = "no bound" if took is None else time_with_unit(took, workload.tick_ns)
        late = " (late)" if took is not None and took > task.deadline else ""
        shown.append(f"{clip(task.name, 60)} {text}{late}")
    return f"{if_other}, responses are at most: {clip(', '.join(shown), 300)}"


def open_shapes(models: DerivedModels) -> tuple[tuple[str, str], ...]:
    """That a simulation played shapes that are assumed; none where a task has the GPU alone."""
    names = by_time_alone(models)
    if not names or models.kernel_users() < 2:
        return ()
    text = "kernels without blocks and threads filled the SMs, and may need fewer"
    return (("assumed shapes", f"{text}: {listed(names)}"),)
