"""The limit on the kernels that run at once: the GPU's field, simulation, analyses, logs."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import cases
from hierarchy_systems import opened, random_limits, random_system, simulated
from reference import hierarchy

import gpusched as gs
from gpusched._support.saved_files import save_arrays
from gpusched.io import BlockLog, check_rules
from gpusched.simulate.hierarchy_result import Hierarchy

SMALL = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8, sm_order="ascending")
XAVIER = gs.GPU.preset("Xavier").replace(channels=0)


# The GPU -----------------------------------------------------------------------------------------


def test_grids_of_capabilities() -> None:
    """CUDA C++ Programming Guide, technical specifications per compute capability."""
    table = {"3.0": 16, "3.5": 32, "5.0": 32, "5.2": 32, "5.3": 16, "6.0": 128, "6.1": 32}
    table |= {"6.2": 16, "7.0": 128, "7.2": 16, "7.5": 128, "8.0": 128, "8.7": 128, "9.0": 128}
    for cc, grids in (table | {"12.0": 128, "13.0": 128}).items():
        assert SMALL.replace(cc=cc, resident_grids=None).resident_grids == grids
    assert SMALL.cc is None and SMALL.resident_grids == 128
    few = {name for name in gs.GPU.presets() if gs.GPU.preset(name).resident_grids < 32}
    assert few == {"TX1", "TX2", "Xavier", "K5000"}
    assert gs.GPU.preset("H100").replace(resident_grids=9).instance("3g.40gb").resident_grids == 9


def test_the_field_of_a_gpu(tmp_path: Path) -> None:
    few = XAVIER.replace(resident_grids=3)
    assert few != XAVIER and hash(few) != hash(XAVIER)
    assert pickle.loads(pickle.dumps(few)) == few
    assert eval(repr(few), {"GPU": gs.GPU}) == few and "resident_grids=3" in repr(few)
    assert "resident_grids" not in repr(XAVIER)
    assert "<th>resident grids</th><td>16</td>" in XAVIER._repr_html_()
    few.save(tmp_path / "gpu")
    assert gs.GPU.load(tmp_path / "gpu") == few


def test_a_file_from_before_the_field(tmp_path: Path) -> None:
    for name in ("Xavier", "A100", "pbs2024"):
        gpu = gs.GPU.preset(name)
        fields = gpu._fields()
        del fields["resident_grids"]
        save_arrays(tmp_path / "gpu", "GPU", 1, fields)
        assert gs.GPU.load(tmp_path / "gpu") == gpu


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0, ValueError, "resident_grids: got 0, expected a positive number"),
        (-1, ValueError, "resident_grids: got -1"),
        (2**31, ValueError, "resident_grids: got 2147483648, expected at most 2147483647"),
        (2**70, (ValueError, OverflowError), "resident_grids: got "),
        (1.5, (ValueError, TypeError), "resident_grids: got 1.5"),
        ("many", TypeError, "resident_grids: got 'many'"),
        ([1, 2], TypeError, r"resident_grids: got shape \(2,\)"),
    ],
)
def test_refusals(value: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        SMALL.replace(resident_grids=value)


# The simulator -----------------------------------------------------------------------------------


def one_block_kernels(count: int, gpu: gs.GPU, **more: Any) -> Hierarchy:
    """A kernel of one block in each of so many streams, one a tick."""
    work = gs.Launches.build()
    for i in range(count):
        work.kernel(work.stream(), blocks=1, threads=32, duration=200 + i, at=i)
    return gs.simulate.hierarchy(work.done(), gpu, **more)


def test_the_seventeenth_kernel_on_xavier() -> None:
    run = one_block_kernels(17, XAVIER)
    assert run.first.tolist() == [*range(16), 200] and run.end[0] == 200
    said = "waited 16 .. 200 for a kernel to end: 16 run, as many as the GPU runs at once"
    assert run.why(16) == said
    assert run.waits.reason.tolist() == ["grids"] and run.waits.sm.tolist() == [-1]
    assert one_block_kernels(17, XAVIER.replace(resident_grids=17)).first.tolist() == [*range(17)]
    late = one_block_kernels(129, gs.GPU.preset("V100"), channels=0, blocks=False)
    assert late.first.tolist() == [*range(128), 200] and late.waits.launch.tolist() == [128]


def test_the_wait_is_drawn(tmp_path: Path) -> None:
    run = one_block_kernels(17, XAVIER)
    text = run.to_svg(by="stream")
    assert "as many as the GPU runs at once" in text and "wait: grids" in text
    run.save(tmp_path / "run")
    assert Hierarchy.load(tmp_path / "run").waits.reason.tolist() == ["grids"]


def test_queues_and_priorities() -> None:
    """A kernel without a place holds up its queue, and no less urgent one that runs; the more
    urgent one takes the place; one without room takes none."""
    work = gs.Launches.build()
    low, high, last = work.stream(), work.stream(priority=-1), work.stream()
    first = work.kernel(low, blocks=4, threads=1024, duration=100)  # in two waves
    urgent = work.kernel(high, blocks=1, threads=32, duration=50, at=10)
    behind = work.kernel(last, blocks=1, threads=32, duration=50, at=5)
    run = gs.simulate.hierarchy(work.done(), SMALL.replace(resident_grids=1))
    assert run.dispatched[first] == 100 and run.end[first] == 200
    assert (run.first[urgent], run.first[behind]) == (200, 250)
    assert gs.simulate.hierarchy(work.done(), SMALL).first.tolist() == [0, 100, 200]


def test_partitions_share_the_places_of_the_device() -> None:
    work = gs.Launches.build()
    for i in range(3):
        work.kernel(work.stream(), blocks=1, threads=1024 if i < 2 else 32, duration=90, at=i)
    launches = work.done().replace(stream_partition=[0, 0, 1], partition_sms=[[0], [1]])
    assert gs.simulate.hierarchy(launches, SMALL).first.tolist() == [0, 90, 2]
    few = SMALL.replace(resident_grids=1)
    # The second kernel of SM 0 is served before that of SM 1, which is of a later partition.
    assert gs.simulate.hierarchy(launches, few).first.tolist() == [0, 90, 180]
    assert gs.simulate.hierarchy(launches, SMALL.replace(resident_grids=2)).first[2] == 2


def test_a_kernel_without_room_takes_no_place() -> None:
    """Of two partitions the first has no room for its kernel, so the second takes the place."""
    work = gs.Launches.build()
    one, two, three = (work.stream() for _ in range(3))
    work.kernel(one, blocks=1, threads=1024, duration=100)
    work.kernel(three, blocks=1, threads=32, duration=10)
    work.kernel(two, blocks=1, threads=32, duration=50, at=1)  # on SM 0, which is full
    work.kernel(three, blocks=1, threads=32, duration=30, at=1)
    launches = work.done().replace(stream_partition=[0, 0, 1], partition_sms=[[0], [1]])
    run = gs.simulate.hierarchy(launches, SMALL.replace(resident_grids=2))
    assert run.first.tolist() == [0, 0, 100, 10]
    assert run.waits.reason[run.waits.launch == 2].tolist() == ["grids", "partition"]


def test_launches_of_all_kinds() -> None:
    """Secondaries, nodes of graphs and cooperative kernels are kernels; copies are none; each
    context has the places for itself."""
    few = SMALL.replace(resident_grids=1)
    work = gs.Launches.build()
    stream = work.stream()
    work.kernel(stream, blocks=1, threads=32, duration=100, trigger=20)
    work.kernel(stream, blocks=1, threads=32, duration=50, programmatic=True)
    assert gs.simulate.hierarchy(work.done(), SMALL).first.tolist() == [0, 20]
    assert gs.simulate.hierarchy(work.done(), few).first.tolist() == [0, 100]
    work = gs.Launches.build()
    one, other = work.stream(), work.stream()
    work.kernel(one, blocks=1, threads=32, duration=100)
    work.copy_in(other, duration=10)
    work.kernel(other, blocks=4, threads=512, duration=30, cooperative=True)
    assert gs.simulate.hierarchy(work.done(), few).first.tolist() == [0, 0, 100]
    work = gs.Launches([0, 0, 0], 40, stream=0, threads=32, graph=7)
    assert gs.simulate.hierarchy(work, SMALL).first.tolist() == [0, 0, 0]
    assert gs.simulate.hierarchy(work, few).first.tolist() == [0, 40, 80]
    work = gs.Launches([0, 0, 0], 15, stream=[0, 1, 2], threads=32, stream_context=[0, 1, 0])
    run = gs.simulate.hierarchy(work, few, timeslice=10)
    assert (run.first.tolist(), run.end.tolist()) == ([0, 10, 25], [25, 35, 45])


def test_the_core_refuses() -> None:
    system = random_system(random.Random(1))
    for value, error in ((-1, ValueError), (2**31, ValueError), (2**63, OverflowError)):
        with pytest.raises(error, match="resident_grids: got"):
            opened(system | {"resident_grids": value})


def crowded_system(seed: int) -> dict[str, Any]:
    """A random system with few places, and mostly several priorities or partitions."""
    rng = random.Random(seed)
    limits = random_limits(rng)
    limits[0] = rng.randint(4, 8)  # SMs: several kernels fit
    limits[10] = 0
    system = random_system(rng, 40, latest=rng.choice([5, 40]), longest=12, limits=limits)
    if rng.random() < 0.5:
        system["priority"] = [-rng.randrange(4) for _ in system["priority"]]
    return system | {"resident_grids": rng.choice([1, 1, 2, 3])}


@pytest.mark.numbers
@pytest.mark.long
@pytest.mark.parametrize("group", range(4))
def test_agreement_with_the_twin(group: int) -> None:
    for seed in range(group, cases(400), 4):
        system = crowded_system(seed)
        step = random.Random(seed).choice([1, 3, 2**40])
        assert simulated(system, step) == hierarchy.simulate(system), seed


@pytest.mark.numbers
def test_the_limit_binds_or_changes_nothing() -> None:
    """As many places as launches are no limit; with fewer, the same launches end."""
    binds = 0
    for seed in range(cases(150)):
        system = crowded_system(seed)
        free = simulated(system | {"resident_grids": 0})
        assert simulated(system | {"resident_grids": len(system["time"])}) == free
        few = simulated(system)
        assert [k for k, *_ in few["deadlock"]] == [k for k, *_ in free["deadlock"]]
        binds += few != free
    assert binds > cases(150) // 4


# Logs --------------------------------------------------------------------------------------------


def test_logs_of_too_many_kernels() -> None:
    blocks = one_block_kernels(17, XAVIER.replace(resident_grids=20)).blocks
    assert blocks is not None
    log = BlockLog(
        name=[f"k{i}" for i in range(17)],
        stream=range(17),
        launch=range(17),
        blocks=1,
        threads=32,
        regs=0,
        smem=0,
        kernel=blocks.kernel,
        block=blocks.block,
        sm=blocks.sm,
        start=blocks.start,
        end=blocks.end,
    )
    assert check_rules(log, XAVIER.replace(resident_grids=17)) == []
    [found] = check_rules(log, XAVIER)
    assert str(found) == (
        "grids: block 0 of k16 (kernel 16, stream 16) starts at 16 beside 16 kernels that run; "
        "the GPU runs 16 at once"
    )
    assert check_rules(log, XAVIER, tolerance=184) == []  # the first may have ended by then
    assert len(check_rules(log, XAVIER, tolerance=183)) == 1
    run = gs.simulate.hierarchy(log.launches().launches, XAVIER)
    [difference] = gs.io.agreement(run, log).differences
    assert (difference.kernel, difference.rule) == (16, "grids")


# Analyses ----------------------------------------------------------------------------------------


def many_tasks(count: int) -> gs.Workload:
    kernel = gs.Kernel("1ms", blocks=1, threads=32)
    return gs.Workload([gs.Task(f"t{i}", "40ms", [kernel]) for i in range(count)], tick="us")


@pytest.mark.parametrize("method", ["streams", "priority_streams", "mps", "green_contexts"])
def test_no_guarantee_where_kernels_wait_for_each_other(method: str) -> None:
    """Their bounds are of kernels that start when their blocks fit."""
    for count in (16, 17):
        green = None
        if method == "green_contexts":
            names = [f"t{i}" for i in range(count)]
            green = {tuple(names[:8]): 4, tuple(names[8:]): 4}
        machine = gs.Platform(XAVIER, cpus=1, slowdown=None, green_contexts=green)
        if count == 16:
            assert gs.analyze(many_tasks(16), machine, method).accepted
            continue
        with pytest.raises(ValueError, match="tasks: got 17 tasks with kernels, expected at most"):
            gs.analyze(many_tasks(17), machine, method)
        row = gs.compare(many_tasks(17), machine, ways=[method])
        assert row.schedulable is None and "resident_grids" in str(row)
        run = gs.observe(many_tasks(17), machine, method, until="40ms")
        assert run.worst.tolist() == [1000] * 16 + [2000]


def test_sms_of_their_own() -> None:
    """Kernels of STGM run side by side on at most as many SMs as there are."""
    four = gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=8, resident_grids=2)
    with pytest.raises(ValueError, match="tasks: got 3 tasks with kernels, expected at most 2"):
        gs.analyze(many_tasks(3), gs.Platform(four, cpus=2), "stgm")
    assert gs.analyze(many_tasks(2), gs.Platform(four, cpus=2), "stgm").accepted
    assert gs.analyze(many_tasks(17), gs.Platform(XAVIER, cpus=2), "stgm").accepted  # of 8 SMs
    assert gs.analyze(many_tasks(17), gs.Platform(XAVIER, cpus=2), "mpcp").accepted


def test_gpu_instances() -> None:
    """Each instance is a device; the test of many sets at once refuses what that of one does."""
    gpu = gs.GPU.preset("H100").replace(resident_grids=2, channels=0)
    found = gs.mig(many_tasks(7), gs.Platform(gpu, cpus=1, slowdown=None), way="streams")
    assert found.accepted
    assert max(len(part.tasks) for part in found.parts) == 2


def test_bounds_of_streams() -> None:
    said = "tasks: got 17 tasks, expected at most 16, the kernels that the GPU runs at once"
    tasks = gs.KernelTasks([40] * 17, block_time=[1] * 17, blocks=1, threads=32)
    chains = gs.KernelChains.from_tasks(tasks)
    with pytest.raises(ValueError, match=said):
        gs.analysis.fifo_bound(tasks, gpu=XAVIER)
    with pytest.raises(ValueError, match=said):
        gs.analysis.priority_streams(chains, gpu=XAVIER)
    more = XAVIER.replace(resident_grids=17)
    assert gs.analysis.fifo_bound(tasks, gpu=more).accepted
    assert gs.analysis.priority_streams(chains, gpu=more).accepted
    few = "No more kernels run at once than the GPU's limit of resident grids."
    assert few in gs.analysis.fifo_bound(tasks, gpu=more, order="overlap").assumptions
    assert few in gs.analysis.priority_streams(chains, gpu=more, overlap=True).assumptions
    assert few not in gs.analysis.fifo_bound(tasks, gpu=more).assumptions


def test_batches() -> None:
    """No batch of more kernels than run at once."""
    tasks = gs.KernelTasks([40] * 4, wcet=[1] * 4, blocks=1, threads=32)
    few, sizes = SMALL.replace(resident_grids=2), np.bitwise_count(np.arange(16))
    chains = gs.KernelChains([40] * 4, [[1]] * 4, blocks=1, threads=32)
    for given in (tasks, chains):
        free = gs.BatchTable.from_gpu(given, SMALL, slowdown=1.5)
        table = gs.BatchTable.from_gpu(given, few, slowdown=1.5)
        assert free.completion.all() == (sizes[0] > 0)
        assert table.completion.tolist() == np.where(sizes > 2, 0, free.completion).tolist()
    xavier = gs.BatchTable.from_gpu(
        gs.KernelTasks([40] * 17, wcet=[1] * 17, blocks=1, threads=32), "Xavier", slowdown=None
    )
    eligible = xavier.completion > 0
    assert np.bitwise_count(np.flatnonzero(eligible)).max() == 16
