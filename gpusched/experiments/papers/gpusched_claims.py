"""Claims of [RTNS24] up to its example in section 3.1, and the list of all its claims."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from gpusched.experiments.papers.claim import Claim, Finding, Size, found
from gpusched.experiments.papers.gpusched_graph_claims import GRAPH_CLAIMS
from gpusched.experiments.papers.gpusched_result_claims import RESULT_CLAIMS
from gpusched.experiments.papers.gpusched_states import SmallSet, example_sets
from gpusched.model.batch_table import BatchTable
from gpusched.model.gpu import GPU
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.launches import Launches
from gpusched.model.placement import place
from gpusched.model.schedule import Schedule

__all__ = ["CLAIMS"]

_TABLE = (0, 1, 3, 4, 3, 4, 4, 6)
_EXAMPLE = SmallSet((4, 5, 10), (4, 5, 10), _TABLE)
_TWO_SMS = GPU(sms=2, threads_per_sm=256, blocks_per_sm=32)


def _tasks() -> KernelTasks:
    return KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3])


def _sizes(size: Size) -> Finding:
    names = ("TX2", "Xavier", "Orin", "H100")
    sms = {name: GPU.preset(name).sms for name in names}
    holds = max(sms.values()) > 100 and min(sms.values()) < 16 <= sorted(sms.values())[-2]
    text = ", ".join(f"{name} {count}" for name, count in sms.items())
    return found(holds, f"SMs of presets: {text}.", sms)


def _streams(size: Size) -> Finding:
    from gpusched import simulate

    gpu = GPU(sms=2, threads_per_sm=256, blocks_per_sm=32)
    runs = {}
    for name, stream in (("one stream", [0, 0]), ("two streams", [0, 1])):
        launches = Launches([0, 0], [10, 10], stream=stream, blocks=[1, 1], threads=[64, 64])
        runs[name] = simulate.hierarchy(launches, gpu).first.tolist()
    holds = runs["one stream"] == [0, 10] and runs["two streams"] == [0, 0]
    text = f"Starts of two kernels of 10 ticks: {runs['one stream']} in one stream, "
    return found(holds, f"{text}{runs['two streams']} in two.", runs)


def _one_kernel(size: Size) -> Finding:
    sm = place("pbs2024", [16], [32]).sm.tolist()
    loads = [sm.count(k) for k in range(8)]
    holds = len(set(sm[:8])) == 8 and len(set(loads)) == 1
    return found(holds, f"16 blocks on 8 SMs go to SMs {sm}: each SM gets one in turn.", {"sm": sm})


def _jobs(size: Size) -> Finding:
    answer = _search()
    jobs = answer.schedule.jobs()
    period, deadline = np.array(_EXAMPLE.period), np.array(_EXAMPLE.deadline)
    holds = bool(
        np.all(jobs.release == jobs.job * period[jobs.task])
        and np.all(jobs.deadline == jobs.release + deadline[jobs.task])
        and _tasks().hyperperiod == math.lcm(*_EXAMPLE.period)
    )
    text = f"All {len(jobs)} jobs of the example arrive at k T and are due D later; H = 20."
    return found(holds, text, {"jobs": len(jobs), "hyperperiod": 20})


def _closed(size: Size) -> Finding:
    from gpusched.pbs import graph

    tasks, table = KernelTasks(period=[3], wcet=[2]), BatchTable(completion=[0, 2])
    closed, open_ = (
        graph.search(tasks, table, variant=variant).schedulable for variant in ("printed", "paper")
    )
    text = "One task with T = 3, C = 2: the closed interval makes its first job ready again at its "
    text += f"end, and the listing answers {closed}; with (t1, t2] it answers {open_}."
    return found(closed is True, text, {"closed": bool(closed), "half_open": bool(open_)})


def _example_2_1(size: Size) -> Finding:
    first = place(_TWO_SMS, [4, 1], [64, 192])
    second = place(_TWO_SMS, [1, 4], [192, 64])
    two, large, rest = first.sm[:4].tolist(), int(first.sm[4]), second.sm[1:].tolist()
    holds = two.count(0) == two.count(1) == 2 and large == -1 and second.all_placed
    text = f"J1 first: its blocks on SMs {two}, J2 does not fit. J2 first: its block on SM "
    text += f"{int(second.sm[0])}, the blocks of J1 on SMs {rest}; everything fits."
    reading = rest != [1, 1, 1, 1]
    values = {"first": first.sm.tolist(), "second": second.sm.tolist()}
    return found(bool(holds), text, values, reading=reading)


def _permutations(size: Size) -> Finding:
    tasks = KernelTasks(period=[10, 10], wcet=[1, 1], blocks=[4, 1], threads=[64, 192])
    table = BatchTable.from_gpu(tasks, _TWO_SMS, slowdown=1.5)
    fits = []
    for order in itertools.permutations(range(2)):
        rows = list(order)
        fits.append(
            bool(place(_TWO_SMS, tasks.blocks[rows], tasks.threads[rows]).all_placed)
        )
    holds = fits == [False, True] and table.completion[3] > 0
    text = f"Orders (1, 2) and (2, 1) of Example 2.1 fit: {fits}; the table has the batch as "
    return found(bool(holds), f"{text}eligible, since one order fits.", {"fits": fits})


def _search() -> object:
    from gpusched import pbs

    return pbs.search(_tasks(), BatchTable(completion=_TABLE))
