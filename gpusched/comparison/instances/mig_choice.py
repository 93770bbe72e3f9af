"""``gs.mig``: which GPU instances (Multi-Instance GPU), and which task in which."""

from __future__ import annotations

from typing import Any, Literal

from gpusched._support.arguments import instance, one_of
from gpusched._support.budget import Budget
from gpusched._support.progress import Progress, reporter
from gpusched._support.stopping import raise_if_stopped
from gpusched.comparison.analyses import Request, instances_for
from gpusched.comparison.derived_models import DerivedModels, Gaps
from gpusched.comparison.instances.mig_allocation import MigAllocation
from gpusched.comparison.ways import OptionValue
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload

__all__ = ["mig"]

Within = Literal["streams", "edf_serial", "edf_parallel", "pbs", "mpcp", "fmlp_plus"]


def mig(
    workload: Workload,
    platform: Platform,
    within: Within = "streams",
    *,
    gaps: Gaps = "occupy",
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
    **options: OptionValue,
) -> MigAllocation:
    """Choose GPU instances (Multi-Instance GPU, MIG), and the instance of each task.

    An instance is a GPU of its own, with its SMs, copy engines and queues: tasks of different
    instances do not delay each other on the GPU, and those of one share it in the way ``within``,
    whose test has to accept the tasks of every instance.

    A task whose kernel fills the GPU for longer than others can wait: of the other ways of sharing
    the GPU only one that interrupts kernels guarantees the deadlines. In an instance of its own the
    kernel takes longer, and delays none of the others.

    >>> w = gs.Workload([
    ...     gs.Task("camera", "8ms", [gs.Kernel("1ms", blocks=32, threads=256)], deadline="4ms"),
    ...     gs.Task("radar", "16ms", [gs.Kernel("2ms", blocks=128, threads=256)], deadline="6ms"),
    ...     gs.Task("training", "80ms", [gs.Kernel("10ms", blocks=264, threads=1024)]),
    ... ], tick="us")
    >>> [row.label for row in gs.compare(w, gs.Platform("H100")) if row.schedulable]
    ['gcaps (suspend)', 'gcaps (busy)', 'mig']
    >>> answer = gs.mig(w, gs.Platform("H100"))
    >>> answer
    <MigAllocation: schedulable (2g.20gb, 2g.20gb, 3g.40gb, 3 tasks, streams in each)>
    >>> answer.starts, answer.instance.tolist(), answer.response.tolist()
    ((0, 2, 4), [0, 1, 2], [1000, 2000, 30000])
    >>> print(gs.mig(w, gs.Platform("H100", mig=["4g.40gb"])))
    undecided. No GPU instances serve camera, training together, by streams in each; all smaller \
sets of tasks have some.

    Parameters
    ----------
    workload
        Tasks with CPU work, copies and kernels. A kernel's time is that on the whole GPU; in an
        instance its blocks take as long and run in more waves. A profile (``sms=``) gives measured
        times in their place. A kernel without blocks and threads has no time in an instance.
    platform
        The machine, with a GPU that has MIG profiles (``GPU.mig_profiles``). Where it has a list of
        instances (``mig=``) these are used, else any of ``GPU.mig_configurations``.
    within
        How the tasks of an instance share it: "streams" (a stream for each), "edf_serial",
        "edf_parallel" or "pbs", which assume that CPU work is not delayed by other tasks; or
        "mpcp" or "fmlp_plus", for which every task needs a core: as their tests know the tasks of
        one instance alone, all tasks of a core are put in one instance.
    gaps
        As of ``gs.analyze``.
    budget
        A ``gs.Budget`` for the search: ``states`` are sets of tasks that are tested in an instance;
        and for each exact search of "pbs".
    progress
        A callable (done, None) in tested sets; or whether to show a progress bar, by default in a
        terminal or a notebook after a second.
    stop
        A writable buffer of one byte (``bytearray(1)``); setting it to 1 in another thread ends the
        call.
    options
        Options of the test of ``within``, such as ``mode="busy"``.

    Returns
    -------
    MigAllocation
        The first assignment found, in few instances. Up to 16 tasks with GPU segments (or cores)
        all assignments are covered, with no assumption on the test: where none is found and the
        budget was not spent, the test accepts none. With a sufficient test such a workload is
        undecided.

    Raises
    ------
    ValueError
        A GPU without MIG profiles, or none; a task that the model cannot express in any instance,
        with the reason; tasks without a core under "mpcp" and "fmlp_plus"; too much CPU work for
        the CPUs; more than 64 tasks with GPU segments; another way; an unknown option.
    OverflowError
        Times of 2**60 ticks or more.
    gpusched.Cancelled
        ``stop`` was set.

    Notes
    -----
    Instances are taken to be isolated, as NVIDIA documents them; that copies of several instances
    use one bus, and that an instance has a part of the memory bandwidth only, is not modelled, and
    stated in ``assumptions``.
    """
    instance(workload, Workload, "workload")
    instance(platform, Platform, "platform")
    one_of(gaps, ("refuse", "occupy"), "gaps")
    raise_if_stopped(stop)
    request = Request(options, gaps, budget, stop)
    with reporter(progress, None, "set", delay=1.0) as report:
        return instances_for(
            DerivedModels(workload, platform), request, {"within": within, **options}, report
        )
