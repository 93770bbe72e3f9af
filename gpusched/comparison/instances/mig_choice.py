"""``gs.mig``: choice of GPU instances (Multi-Instance GPU) and of the instance of each task."""

from __future__ import annotations

from typing import Any

from gpusched._support.arguments import instance, one_of
from gpusched._support.budget import (
    Budget,
    Progress,
    as_budget,
    raise_if_stopped,
    reporter,
    within_seconds,
)
from gpusched.comparison.analyses import Request, instances_for, with_costs
from gpusched.comparison.derived_models import DerivedModels, Gaps
from gpusched.comparison.instances.allocation_search import inner_way
from gpusched.comparison.instances.mig_allocation import MigAllocation
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import OptionValue, Way, as_way


def mig(
    workload: Workload,
    platform: Platform,
    way: Way | str = "streams",
    *,
    gaps: Gaps = "occupy",
    budget: Budget | None = None,
    progress: Progress = None,
    stop: Any = None,
    **options: OptionValue,
) -> MigAllocation:
    """Choose GPU instances (Multi-Instance GPU, MIG) and assign each task to one of them.

    An instance acts as a GPU of its own, with its own SMs, copy engines and queues. Tasks in
    different instances do not delay each other on the GPU. Tasks in one instance share it in the
    way ``way``, and the test of that way must accept the tasks of every instance.

    Instances help, for example, with a task whose kernel fills the GPU for longer than other tasks
    can wait. Without instances, only ways of sharing that preempt kernels can guarantee the
    deadlines. In an instance of its own the kernel takes longer but delays no other task.

    >>> w = gs.Workload([
    ...     gs.Task("camera", "8ms", [gs.Kernel("1ms", blocks=32, threads=256)], deadline="4ms"),
    ...     gs.Task("radar", "16ms", [gs.Kernel("2ms", blocks=128, threads=256)], deadline="6ms"),
    ...     gs.Task("training", "80ms", [gs.Kernel("10ms", blocks=264, threads=1024)]),
    ... ], tick="us")
    >>> [row.label for row in gs.compare(w, gs.Platform("H100")) if row.schedulable]
    ['gcaps (suspend)', 'gcaps (busy)', 'mig']
    >>> answer = gs.mig(w, gs.Platform("H100"))
    >>> answer
    <MigAllocation: guaranteed (2g.20gb, 2g.20gb, 3g.40gb, 3 tasks, streams in each)>
    >>> answer.starts, answer.instance.tolist(), answer.response.tolist()
    ((0, 2, 4), [0, 1, 2], [1000, 2000, 30000])
    >>> print(gs.mig(w, gs.Platform("H100", mig=["4g.40gb"])))
    undecided. For camera, training together the test of streams accepts no choice of GPU \
instances; every smaller set of tasks has one.

    Parameters
    ----------
    workload
        Tasks with CPU work, copies and kernels. The time of a kernel refers to the whole GPU; in
        an instance its blocks take equally long and run in more waves. A profile (``sms=``) gives
        measured times instead. Kernels without a shape (blocks and threads) or a profile are
        refused, because their time in an instance is unknown.
    platform
        A platform with a GPU that has MIG profiles (``GPU.mig_profiles``). If the platform lists
        instances (``mig=``), these are used; otherwise any of ``GPU.mig_configurations``.
    way
        Way in which the tasks of an instance share it (``gs.ways``), or its name: "streams" (one
        stream per task), "priority_streams", "one_stream" or "mps" (without shares of clients),
        whose tests count that tasks of all instances share the CPUs; "edf_serial", "edf_parallel"
        or "pbs", which assume that CPU work is not delayed by other tasks; or "mpcp" or
        "fmlp_plus", for which every task needs a core. As the tests of the latter see only the
        tasks of one instance, all tasks of a core are put into one instance.
    gaps
        As in ``gs.analyze``.
    budget
        A ``gs.Budget`` for the whole call, in which ``states`` limits the number of sets of tasks
        that are tested in an instance, and the states of each exact search of "pbs".
    progress
        A callable (done, None), in tested sets, or a bool that turns a progress bar on or off; by
        default a bar appears in a terminal or a notebook after one second.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.
    options
        Parameters that are added to the way, such as ``mode="busy"``.

    Returns
    -------
    MigAllocation
        The first assignment found, with few instances. For up to 16 tasks with GPU segments (or
        cores), all assignments are covered, without any assumption about the test: if none is
        found and the budget was not used up, the test accepts no assignment. If the test is only
        sufficient, the workload is then undecided. Where tasks share CPUs, whose cores are those of
        the tasks or of worst fit, all assignments of up to 6 tasks are covered: each instance has
        to keep its deadlines if all other tasks keep theirs, which then all do. The bounds follow
        from each other.

    Raises
    ------
    ValueError
        The platform has no GPU, or its GPU has no MIG profiles; the model cannot express a task in
        any instance (the message gives the reason); tasks have no core under "mpcp" or
        "fmlp_plus"; the CPU work exceeds the CPUs; more than 64 tasks have GPU segments; the way
        or an option is unknown.
    OverflowError
        A time is 2**60 ticks or more.
    gpusched.Cancelled
        ``stop`` was set.

    Notes
    -----
    Instances are assumed to be isolated, as documented by NVIDIA. It is not modelled that copies of
    several instances share a bus, and that an instance has only a part of the memory bandwidth;
    ``assumptions`` states this.
    """
    instance(workload, Workload, "workload")
    instance(platform, Platform, "platform")
    one_of(gaps, ("refuse", "occupy"), "gaps")
    raise_if_stopped(stop)
    stop = within_seconds(stop, as_budget(budget).seconds)
    memory = None if budget is None else as_budget(budget).bytes
    given: dict[str, Any] = dict(options)
    within = inner_way(as_way(way, **given), "way")
    models = DerivedModels(workload, with_costs(platform, within))
    request = Request({}, gaps, budget, stop, memory=memory)
    with reporter(progress, None, "set", delay=1.0) as report:
        return instances_for(models, request, within, report)
