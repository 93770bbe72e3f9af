"""Clusters, cooperative kernels and interference in the machine, against the twin of the GPU."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amounts import cases
from reference import hierarchy

import gpusched as gs
from gpusched.simulate.machine_run import NEVER, MachineModel, run_machine

pytestmark = pytest.mark.numbers

GPU = gs.GPU.preset("xavier")
# Factors whose inverses are whole thousandths, so that nothing is rounded at instants between.
FACTORS = (1000, 1250, 1600, 2000)
BEGIN, CALL, WAIT, END, STOP = 1, 2, 3, 4, 5


def random_kernels(rng: random.Random) -> dict[str, Any]:
    """Kernels and copies with a stream and a time each, on four GPCs of unequal sizes."""
    n = rng.randint(2, 7)
    cluster = [rng.choice((1, 1, 2, 4)) for _ in range(n)]
    cuts = sorted(rng.sample(range(1, GPU.sms), 3))
    return {
        "kind": [rng.choice((0, 0, 0, 0, 1, 2)) for _ in range(n)],
        "time": [rng.randrange(60) for _ in range(n)],
        "duration": [1000 * rng.randrange(1, 30) for _ in range(n)],
        "priority": [rng.randrange(2) for _ in range(n)],
        "cluster": cluster,
        "blocks": [k * rng.randrange(1, 100) for k in cluster],
        "threads": [32 * rng.randrange(1, 33) for _ in range(n)],
        "cooperative": [int(rng.random() < 0.2) for _ in range(n)],
        "interference": [[rng.choice(FACTORS) for _ in range(4)] for _ in range(n)],
        "sms_per_gpc": np.diff([0, *cuts, GPU.sms]).tolist(),
    }


def by_twin(system: dict[str, Any]) -> dict[str, Any]:
    n = len(system["time"])
    return hierarchy.simulate(
        {
            "limits": list(GPU._limits),
            "sm_order": list(GPU.sm_order),
            "policy": "most_room",
            "copy_engines": [1, 2],
            "channels": 0,
            "context_switch": 0,
            "timeslice": [1000],
            "runlist": None,
            "context": [0] * n,
            "stream_kind": [hierarchy.NON_BLOCKING] * n,
            "stream": list(range(n)),
            "regs": [0] * n,
            "smem": [0] * n,
            "carveout": None,
            "after": None,
            "resident_grids": 0,
            **system,
        }
    )


def machine_of(system: dict[str, Any]) -> MachineModel:
    """A task with one job for each operation, which needs no CPU."""
    n = len(system["time"])
    zeros, ones, index = np.zeros(n, np.int64), np.ones(n, np.int64), np.arange(n)
    kind = np.array(system["kind"])
    columns: dict[str, Any] = {
        "period": ones * 10**9,
        "deadline": ones * 10**9,
        "offset": np.array(system["time"]),
        "priority": index,
        "gpu_priority": index,
        "item_begin": np.arange(n + 1),
        "item_kind": np.where(kind == 0, 2, 1),
        "item_engine": np.where(kind == 2, 1, 0),
        "item_time": np.array(system["duration"]),
        "item_least": np.array(system["duration"]),
        "item_blocks": np.array(system["blocks"]),
        "item_threads": np.array(system["threads"]),
        "item_cluster": np.array(system["cluster"]),
        "item_cooperative": np.array(system["cooperative"]),
        "item_interference": np.array(system["interference"]).ravel(),
        "gpc_begin": np.array([0, len(system["sms_per_gpc"])]),
        "gpc_sms": np.array(system["sms_per_gpc"]),
        "step_begin": np.arange(0, 5 * n + 1, 5),
        "step_kind": np.tile((BEGIN, CALL, WAIT, END, STOP), n),
        "step_item": np.tile((-1, 0, -1, -1, -1), n),
        "core": index,
        "stream": index,
        "level": np.array(system["priority"]),
        "channel": index,
        "client": index,
        "set_begin": np.zeros(n + 1, np.int64),
        "set": np.zeros(0, np.int64),
        "grids": np.zeros(1, np.int64),
        "engines": np.array([1 | 2 << 2]),
        "gap": np.array([0, 1]),
        "drawn_as": index,
        "entry_begin": np.zeros(1, np.int64),
        **dict.fromkeys(("jitter", "item_regs", "item_smem", "item_whole", "device"), zeros),
        **dict.fromkeys(("context", "group", "limit", "tail"), zeros),
        **dict.fromkeys(("frame_start", "entry_task", "entry_job", "entry_kernel"), zeros[:0]),
        **dict.fromkeys(("release_begin", "arrival", "release", "given_begin", "given")),
        **dict.fromkeys(("after_begin", "after", "every")),
        **dict.fromkeys(("knot_begin", "knot_rank", "knot_time", "item_drawn")),
    }
    names = "policy rule mode ring latency kernel_gap wake_latency context_switch update_cost stall"
    numbers = dict.fromkeys([*names.split(), "server_overhead", "until_end", "draw"], 0)
    numbers |= {"cpus": n, "timeslice": 1, "server_core": n, "frame_period": 1, "grain": 1}
    numbers |= {"server_period": 1, "server_budget": 1, "until": 10**6, "last": NEVER}
    numbers |= {"victim": -1, "drawn_ties": 0}
    return MachineModel(gpus=(GPU,), columns=columns, numbers=numbers)


def refused(system: dict[str, Any]) -> bool:
    """Whether a cluster or a cooperative grid does not fit the empty GPU."""
    try:
        run_machine(machine_of(system))
    except ValueError as error:
        assert "cluster" in str(error) or "cooperative" in str(error)
        return True
    return False


@pytest.mark.parametrize("seed", range(cases(60)))
def test_kernels_run_as_in_the_twin_of_the_gpu(seed: int) -> None:
    system = random_kernels(random.Random(seed))
    while refused(system):  # grids that fit
        system["cooperative"] = [0] * len(system["time"])
        system["cluster"] = [1] * len(system["time"])
    found = run_machine(machine_of(system), log=("jobs", "operations", "blocks"))
    expected = by_twin(system)
    task = found.operations["task"]
    for key in ("head", "joined", "first", "dispatched", "end"):
        mine = dict(zip(task.tolist(), found.operations[key].tolist(), strict=True))
        assert [mine[i] for i in range(len(task))] == expected[key], key
    columns = [task[found.blocks["operation"]]]
    columns += [found.blocks[key] for key in ("block", "sm", "start", "end")]
    assert sorted(zip(*(c.tolist() for c in columns), strict=True)) == expected["blocks"]
