"""Views of workloads: what they derive, what they refuse, and that all models agree."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from workload_strategies import random_workload

import gpusched as gs

pytestmark = pytest.mark.python

FOUR = gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=32, name="four")
PLATFORM = gs.Platform(FOUR, cpus=2)


def one(*segments: Any, **facts: Any) -> gs.Workload:
    return gs.Workload([gs.Task("a", 10**6, segments, **facts)])


def shaped(time: int = 40, **facts: Any) -> gs.Kernel:
    return gs.Kernel(time, **{"blocks": 8, "threads": 512, **facts})


# The same kernel in every model -----------------------------------------------------------------


def ends(kernel: gs.Kernel, gpu: gs.GPU) -> list[int]:
    """End of a kernel alone, by the batch table and by simulations."""
    w = gs.Workload([gs.Task("a", 2**50, [kernel], core=0, priority=0)])
    platform = gs.Platform(gpu)
    batches = w.batches(platform)
    launches = w.launches(platform, until=1).launches
    hosts = w.hosts(platform).tasks
    divided = hosts.replace(sm=[list(range(gpu.sms))])
    whole = w.hosts(platform, sms="all").tasks
    return [
        int(batches.tasks.wcet[0]),
        int(batches.table.completion[1]),
        int(gs.simulate.fifo(batches.tasks, gpu=gpu, until=1).worst[0]),
        int(gs.simulate.hierarchy(launches, gpu).end[0]),
        int(gs.simulate.host(divided, cpus=1, way="stgm", until=1).response[0]),
        int(gs.simulate.host(whole, cpus=1, way="mpcp", until=1).response[0]),
    ]


@pytest.mark.parametrize("name", gs.GPU.presets())
def test_a_kernel_alone_ends_at_one_time_in_every_model(name: str) -> None:
    gpu = gs.GPU.preset(name)
    for kernel in (
        gs.Kernel(10_007, blocks=1, threads=32),
        gs.Kernel(10_007, blocks=1000, threads=256, regs=64),
        gs.Kernel(block_time=13, blocks=777, threads=512, smem=4096),
    ):
        assert len(set(ends(kernel, gpu))) == 1, kernel


def random_kernel(random: Random) -> gs.Kernel:
    shape: dict[str, Any] = {
        "blocks": random.randrange(1, 2 ** random.randrange(1, 12)),
        "threads": random.randrange(1, 1025),
        "regs": random.choice((0, 16, 32, 63)),
        "smem": random.choice((0, 1, 1000, 48 * 1024)),
    }
    time = random.randrange(1, 2 ** random.randrange(1, 31))
    return (
        gs.Kernel(block_time=time, **shape) if random.random() < 0.3 else gs.Kernel(time, **shape)
    )


@pytest.mark.long
def test_random_kernels_alone_end_at_one_time_in_every_model() -> None:
    names = gs.GPU.presets()
    for seed in range(300):
        random = Random(seed)
        kernel, name = random_kernel(random), random.choice(names)
        if not gs.occupancy(name, kernel.threads, kernel.regs, kernel.smem):
            continue
        assert len(set(ends(kernel, gs.GPU.preset(name)))) == 1, (seed, kernel, name)


# Kernels and batches ----------------------------------------------------------------------------


def test_kernels_have_offsets_deadlines_and_blocks() -> None:
    w = one(
        gs.CPU(5, repeat=2),
        gs.CopyIn(1, by="cpu"),
        shaped(),
        gs.CPU(7),
        deadline=100,
        offset=3,
        stream_priority=-2,
    )
    view = w.kernels(PLATFORM)
    assert view.tasks == gs.KernelTasks(
        period=[10**6], wcet=[40], deadline=[82], block_time=[40], blocks=[8], threads=[512],
        offset=[14], priority=[-2], name=["a"],
    )  # fmt: skip
    assert len(view.assumptions) == 1
    assert view.assumptions[0].startswith("CPU work is not delayed")


def test_a_chain_is_one_unit() -> None:
    w = one(
        gs.CopyIn(3),
        shaped(40, regs=32, repeat=2),
        gs.CPU(4),
        gs.Kernel(10, blocks=40, threads=128, smem=100),
    )
    tasks = w.kernels(PLATFORM.replace(launch_latency=1), gaps="occupy").tasks
    # 3 + 2 * 41 + 4 + 11 = 100; blocks of 512 threads, 2 on an SM: 40 need 5 waves.
    assert (tasks.wcet.tolist(), tasks.block_time.tolist()) == ([100], [20])
    assert (tasks.blocks[0], tasks.threads[0], tasks.regs[0], tasks.smem[0]) == (40, 512, 32, 100)
    said = " ".join(w.kernels(PLATFORM, gaps="occupy").assumptions)
    for part in ("run as one unit", "copies on engines count", "CPU work between GPU segments"):
        assert part in said


@pytest.mark.parametrize("preset", gs.GPU.presets())
def test_a_chain_that_no_sm_holds_as_one_block_takes_the_whole_gpu(preset: str) -> None:
    gpu = gs.GPU.preset(preset)
    chain = [
        gs.Kernel(10, blocks=1, threads=1024, regs=32),
        gs.Kernel(10, blocks=3, threads=32, regs=255),
    ]
    other = gs.Task("b", 999, [gs.Kernel(5, blocks=1, threads=32)])
    view = gs.Workload([gs.Task("a", 999, chain), other]).batches(gs.Platform(gpu))
    assert view.tasks.wcet.tolist() == view.tasks.block_time.tolist() == [20, 5]
    assert view.table.completion.tolist() == [0, 20, 5, 0]
    assert "no SM holds the largest of each resource: the unit takes the whole GPU: a" in (
        view.assumptions
    )
    odd = gs.GPU(sms=1, threads_per_sm=61 * 32, blocks_per_sm=32)  # 61 warps are no 32 blocks
    with pytest.raises(ValueError, match="its kernels as one unit: got blocks of 1024 threads"):
        gs.Workload([gs.Task("a", 999, chain)]).kernels(gs.Platform(odd))


@pytest.mark.parametrize("blocks", [1, 3])
def test_jobs_of_one_kernel_have_their_copies_around_it(blocks: int) -> None:
    """Without fusion, copies are offsets and shorten deadlines, and chains are refused."""
    kernel = gs.Kernel(20, blocks=blocks, threads=512)
    w = one(gs.CPU(5), gs.CopyIn(3), kernel, gs.CopyOut(2), gs.CPU(1), deadline=100, offset=7)
    view = w.kernels(PLATFORM, chains="refuse")
    assert view.tasks == gs.KernelTasks(
        period=[10**6], wcet=[20], deadline=[89], block_time=[20], blocks=[blocks], threads=[512],
        offset=[15], name=["a"],
    )  # fmt: skip
    assert [text.split(":")[0] for text in view.assumptions] == [
        "CPU work is not delayed by other tasks",
        "copies on engines are not GPU time",
    ]
    for parts in ([kernel, kernel], [kernel.replace(repeat=2)]):
        with pytest.raises(ValueError, match="a: got 2 kernels in a job, expected one"):
            one(*parts).kernels(PLATFORM, chains="refuse")
    with pytest.raises(ValueError, match="chains: got 'fused', expected"):
        w.kernels(PLATFORM, chains="fused")  # type: ignore[arg-type]


@pytest.mark.parametrize(("engines", "waits"), [(1, (7, 8, 5)), (2, (5, 0, 3))])
def test_copies_wait_for_one_of_every_other_task_on_their_engine(
    engines: int, waits: tuple[int, int, int]
) -> None:
    """Waits before a kernel belong to its latency, those behind the last one to the deadline."""
    kernel = gs.Kernel(20, blocks=1, threads=512)
    w = gs.Workload(
        [
            gs.Task("a", 999, [gs.CopyIn(3), gs.CopyIn(2), kernel]),
            gs.Task("b", 999, [kernel, gs.CopyOut(2)]),
            gs.Task("c", 999, [gs.CPU(1), gs.CopyIn(5), kernel]),
            gs.Task("d", 999, [gs.CopyIn(4, by="cpu"), kernel]),
        ]
    )
    of_a, of_b, of_c = waits
    view = w.chains(PLATFORM.replace(copy_engines=engines))
    assert view.tasks.latency[:, 0].tolist() == [5 + 2 * of_a, 0, 6 + of_c, 4]
    assert view.tasks.deadline.tolist() == [999, 999 - 2 - of_b, 999, 999]
    names = "a, b, c" if engines == 1 else "a, c"
    said = f"each copy waits for one copy of every other task on its engine, at most: {names}"
    assert said in view.assumptions


def test_copies_wait_in_units_and_in_batches() -> None:
    kernel = gs.Kernel(20, blocks=1, threads=512)
    w = gs.Workload([
        gs.Task("a", 999, [gs.CopyIn(50), kernel]),
        gs.Task("b", 999, [gs.CopyIn(1), kernel, gs.CopyOut(2), kernel, gs.CopyOut(3)]),
    ])  # fmt: skip
    said = "each copy waits for one copy of every other task on its engine, at most: a, b"
    units = w.kernels(PLATFORM)
    assert units.tasks.wcet.tolist() == [53 + 20, 51 + 20 + 52 + 20 + 53]
    assert said in units.assumptions and said in w.batches(PLATFORM).assumptions
    kept = w.batches(PLATFORM, chains="keep")
    assert kept.tasks.offset.tolist() == [53, 51] and said in kept.assumptions
    assert kept.tasks.latency.tolist() == [[0, 0], [0, 52]]
    assert kept.tasks.deadline.tolist() == [999 - 53, 999 - 51 - 53]
    single = w[["a"]] + gs.Workload([gs.Task("c", 999, [gs.CopyIn(4), kernel])])
    view = single.kernels(PLATFORM, chains="refuse")
    assert view.tasks.offset.tolist() == [54, 54] and view.tasks.deadline.tolist() == [945, 945]
    for plain in (w.kernels(PLATFORM, waits=False), w.batches(PLATFORM, waits=False)):
        assert plain.tasks.wcet.tolist() == [70, 46]
        assert "copies on engines count as GPU time: a, b" in plain.assumptions
    plain_chains = w.batches(PLATFORM, chains="keep", waits=False)
    assert plain_chains.tasks.offset.tolist() == [50, 1]


def test_tasks_without_gpu_segments_are_left_out() -> None:
    w = gs.Workload([gs.Task("b", 9, [gs.CPU(1)]), gs.Task("a", 99, [shaped()])])
    view = w.kernels(PLATFORM)
    assert view.tasks.name == ("a",)
    assert view.assumptions == ("tasks without GPU segments are left out: b",)


def test_excess_of_waves_and_notes_of_the_workload_are_assumptions() -> None:
    w = gs.Workload([gs.Task("a", 999, [shaped(41, blocks=16)])], notes=["measured once"])
    first, second = w.kernels(PLATFORM).assumptions
    assert first == "measured once"
    assert "2 waves of 21ns take 42ns" in second


def test_batches_have_the_largest_slowdown() -> None:
    tasks = [gs.Task(name, 999, [shaped(40, blocks=2)]) for name in "ab"]
    view = gs.Workload(tasks).batches(PLATFORM.replace(slowdown=(1.1, 1.5)))
    assert view.table.completion.tolist() == [0, 40, 40, 60]
    assert "1.5 times" in view.assumptions[-1]


def test_kernels_without_a_shape_run_alone_in_batches() -> None:
    plain = gs.Task("a", 999, [gs.Kernel(40)])
    beside = [gs.Task(name, 999, [shaped(30, blocks=2)]) for name in "bc"]
    mixed = gs.Workload([plain, *beside])
    view = mixed.batches(PLATFORM.replace(slowdown=1.5))
    assert view.table.completion.tolist() == [0, 40, 30, 0, 30, 0, 45, 0]
    assert "in a batch of its own: a" in " ".join(view.assumptions)
    with pytest.raises(ValueError, match="platform: got no GPU"):
        mixed.batches(gs.Platform())
    several = gs.Task("d", 999, [gs.CopyIn(3), gs.Kernel(10, repeat=2), gs.Kernel(5)])
    unknown = gs.Workload([plain, several])
    for platform in (PLATFORM, gs.Platform()):
        assert unknown.batches(platform).table.completion.tolist() == [0, 40, 28, 0]
        kept = unknown.batches(platform, chains="keep")
        eligible = np.flatnonzero(kept.table.completion)
        assert eligible.tolist() == [1, 2, 4, 8]
        assert kept.table.completion[eligible].tolist() == [40, 10, 10, 5]
        with pytest.raises(ValueError, match=r"without blocks and threads|got no GPU"):
            unknown.kernels(platform)
    latency = gs.Workload([plain]).batches(gs.Platform(launch_latency=2))
    assert latency.table.completion.tolist() == [0, 42]


@pytest.mark.parametrize(
    ("workload", "platform", "text"),
    [
        (one(shaped(), jitter=1), PLATFORM, "a: got a jitter of 1ns"),
        (one(shaped(), gs.CPU(4), shaped()), PLATFORM, "a: got 4ns of CPU work between"),
        (one(gs.Kernel(4)), PLATFORM, "without blocks and threads"),
        (one(gs.CopyIn(4)), PLATFORM, "copies without a kernel"),
        (one(gs.CPU(4)), PLATFORM, "none with GPU segments"),
        (one(shaped()), gs.Platform(), "platform: got no GPU"),
        (one(gs.CPU(50), shaped(), gs.CPU(50), deadline=100), PLATFORM, "a: got a deadline of"),
        (one(shaped(threads=1025)), PLATFORM, "segments\\[0\\]: got blocks of 1025 threads"),
        (
            one(shaped()) + gs.Workload([gs.Task("b", 9, [shaped()], process="p")]),
            PLATFORM,
            "process: got none, 'p'",
        ),
        (
            one(shaped(), stream_priority=1) + gs.Workload([gs.Task("b", 9, [shaped()])]),
            PLATFORM,
            "b: got no stream_priority",
        ),
        (
            one(shaped(), stream_priority=1)
            + gs.Workload([gs.Task("b", 9, [shaped()], stream_priority=2)]),
            PLATFORM.replace(priority_levels=1),
            "stream_priority: got 2 different",
        ),
    ],
)
def test_kernels_refuse_what_they_cannot_express(
    workload: gs.Workload, platform: gs.Platform, text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        workload.kernels(platform)


# Hosts ------------------------------------------------------------------------------------------


def test_hosts_have_cpu_and_gpu_segments() -> None:
    w = one(
        gs.CPU(5),
        gs.CopyIn(2),
        shaped(40),
        shaped(10, repeat=2),
        gs.CopyOut(3, by="cpu"),
        gs.CopyIn(1),
        shaped(7),
        gs.CPU(6),
        gs.CopyIn(8),
        gs.CPU(3),
        gs.CopyOut(9, by="cpu"),
        deadline=500,
        offset=4,
        core=1,
    )
    view = w.hosts(PLATFORM.replace(launch_latency=1))
    assert view.tasks == gs.HostTasks(
        [10**6], cpu=[[5, 0, 6, 12]], copy_in=0, copy_out=[[3, 0, 0]],
        kernel=[[[245, 125, 125, 65], [30, 16, 16, 9], [9, 9, 9, 9]]],
        deadline=[500], offset=[4], core=[1], name=["a"],
    )  # fmt: skip
    said = " ".join(view.assumptions)
    for part in (
        "each kernel takes the launch latency of 1ns longer",
        "copies on engines are GPU time of their GPU segment: a",
        "next to no kernel are GPU segments of their own, with the launch latency: a",
        "copies by a CPU next to no other work of the GPU count as CPU work",
        "consecutive kernels are one GPU segment: a",
    ):
        assert part in said


IN, OUT = gs.CopyIn(2), gs.CopyOut(3)
CPU_IN, CPU_OUT = gs.CopyIn(20, by="cpu"), gs.CopyOut(30, by="cpu")


@pytest.mark.parametrize(
    ("segments", "cpu", "copy_in", "kernel", "copy_out"),
    [
        # One GPU segment, whatever the order of its copies and kernels.
        ((IN, shaped(), OUT, shaped(), OUT), [0, 0], [0], [88], [0]),
        ((OUT, shaped()), [0, 0], [0], [43], [0]),
        # A copy in behind a kernel begins another one.
        ((IN, shaped(), OUT, IN, shaped()), [0, 0, 0], [0, 0], [45, 42], [0, 0]),
        ((shaped(), IN), [0, 0, 0], [0, 0], [40, 2], [0, 0]),
        # Copies without a kernel.
        ((gs.CPU(7), IN, IN, OUT, gs.CPU(8)), [7, 8], [0], [7], [0]),
        # Copies by a CPU are at its ends.
        ((CPU_IN, IN, shaped(), OUT, CPU_OUT), [0, 0], [20], [45], [30]),
        ((CPU_IN, CPU_IN, OUT, CPU_OUT), [0, 0], [40], [3], [30]),
        ((shaped(), CPU_OUT, OUT), [0, 0, 0], [0, 0], [40, 3], [30, 0]),
        ((IN, CPU_IN, shaped()), [0, 0, 0], [0, 20], [2, 40], [0, 0]),
        ((CPU_OUT, shaped(), CPU_IN), [30, 20], [0], [40], [0]),
        ((CPU_IN, gs.CPU(1), shaped()), [21, 0], [0], [40], [0]),
    ],
)
def test_copies_are_parts_of_gpu_segments(
    segments: Any, cpu: Any, copy_in: Any, kernel: Any, copy_out: Any
) -> None:
    expected = gs.HostTasks(
        [10**6], cpu=[cpu], copy_in=[copy_in], kernel=[kernel], copy_out=[copy_out], name=["a"]
    )
    assert one(*segments).hosts(PLATFORM, sms="all").tasks == expected


def test_a_kernel_behind_a_copy_begins_a_gpu_segment_where_asked() -> None:
    w = one(IN, shaped(), shaped(), OUT, shaped(), OUT, CPU_OUT, OUT)
    hosts = w.hosts(PLATFORM, sms="all", split=True).tasks
    assert hosts.kernel[0, :, 0].tolist() == [85, 43, 3]
    assert hosts.copy_out[0].tolist() == [0, 30, 0]


def test_copies_of_gpu_segments_wait_for_those_of_others() -> None:
    """Each repetition for one copy of every other task; the waits are the same on any SMs."""
    w = gs.Workload([
        gs.Task("a", 999, [gs.CopyIn(1, repeat=2), shaped(40), gs.CopyOut(5)]),
        gs.Task("b", 999, [gs.CopyIn(3), gs.CopyIn(10), shaped(40)]),
    ])  # fmt: skip
    view = w.hosts(PLATFORM)
    # On one engine, a has 3 copies that wait 10 each, and b has 2 that wait 5 each.
    assert view.tasks.kernel[:, 0].tolist() == [
        [197, 117, 117, 77],
        [183, 103, 103, 63],
    ]
    said = "each copy waits for one copy of every other task on its engine, at most: a, b"
    assert said in view.assumptions
    apart = w.hosts(PLATFORM.replace(copy_engines=2), sms="all")
    assert apart.tasks.kernel[:, 0, 0].tolist() == [2 * 11 + 40 + 5, 4 + 11 + 40]
    alone = w.hosts(PLATFORM, sms="all", waits=False)
    assert alone.tasks.kernel[:, 0, 0].tolist() == [47, 53]
    assert not any("waits" in text for text in alone.assumptions)


def test_copies_on_engines_need_an_engine() -> None:
    platform = PLATFORM.replace(copy_engines=0)
    w = one(gs.CopyIn(2), shaped())
    for derive in (w.kernels, w.chains, w.batches, w.hosts):
        with pytest.raises(ValueError, match="a: got copies on engines with copy_engines=0"):
            derive(platform)
    with pytest.raises(ValueError, match="a: got copies on engines with copy_engines=0"):
        w.launches(platform, until=9)
    one(gs.CopyIn(2, by="cpu"), shaped()).hosts(platform)


def test_hosts_on_all_sms_need_no_shapes() -> None:
    w = one(gs.Kernel(40), gs.CopyOut(2), gs.Kernel(5))
    hosts = w.hosts(gs.Platform(), sms="all").tasks
    assert hosts.kernel[0, :, 0].tolist() == [47]
    with pytest.raises(ValueError, match="sms='all'"):
        w.hosts(gs.Platform())
    view = w.hosts(PLATFORM)  # 4 SMs
    assert view.tasks.kernel[0, 0].tolist() == [182, 92, 92, 47]
    assert "takes at most ceil(m / k) times its time" in " ".join(view.assumptions)


def test_hosts_take_profiles() -> None:
    w = one(gs.Kernel(sms={1: 90, 3: 50}))
    assert w.hosts(PLATFORM).tasks.kernel[0, 0].tolist() == [90, 90, 50, 50]


def test_hosts_of_several_processes_switch_contexts() -> None:
    w = gs.Workload([gs.Task(name, 999, [shaped()], process=name) for name in "ab"])
    platform = PLATFORM.replace(context_switch=3)
    view = w.hosts(platform, sms="all")
    assert view.tasks.kernel.ravel().tolist() == [43, 43]
    assert "context switch of 3ns" in " ".join(view.assumptions)
    with pytest.raises(ValueError, match="process: got 'a', 'b'"):
        w.hosts(platform)


def test_hosts_without_gpu_segments() -> None:
    hosts = one(gs.CPU(4)).hosts(PLATFORM).tasks
    assert (hosts.cpu_time.tolist(), hosts.segments.tolist()) == ([4], [0])


@pytest.mark.parametrize(
    ("facts", "text"),
    [({"jitter": 2}, "a: got a jitter"), ({"core": 2}, "a: got core 2, expected one of the 2")],
)
def test_hosts_refuse_what_they_cannot_express(facts: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        one(shaped(), **facts).hosts(PLATFORM, jitter=False)


def test_hosts_have_the_jitter_of_the_tasks() -> None:
    view = one(shaped(), jitter=2).hosts(PLATFORM)
    assert view.tasks.jitter.tolist() == [2]


# Launches ---------------------------------------------------------------------------------------


def test_launches_are_in_the_order_of_their_jobs() -> None:
    w = gs.Workload(
        [
            gs.Task("c", 50, [gs.CPU(1)]),
            gs.Task("a", 100, [gs.CPU(5), gs.CopyIn(2), shaped(40, repeat=2)], process="p"),
            gs.Task("b", 70, [shaped(10, name="edges"), gs.CopyOut(1)], offset=6, process="q"),
        ]
    )
    view = w.launches(PLATFORM.replace(launch_latency=1), "101ns")
    found = view.launches
    assert found.time.tolist() == [6, 6, 6, 7, 7, 77, 77, 106, 106, 106]
    assert view.task.tolist() == [1, 1, 1, 2, 2, 2, 2, 1, 1, 1]
    assert view.job.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert found.kind.tolist() == [1, 0, 0, 0, 2, 0, 2, 1, 0, 0]
    assert found.stream_context.tolist() == [0, 1] and found.stream_name == ("a", "b")
    assert found.name[3] == "b: edges"
    assert (gs.simulate.hierarchy(found, FOUR, timeslice=50).end > 0).all()
    with pytest.raises(ValueError, match="process: got 'p', 'q'"):
        w.launches(PLATFORM, 10, streams="one")


def test_launches_in_one_stream_run_in_turns() -> None:
    tasks = [gs.Task(name, 999, [shaped(40, blocks=1)]) for name in "ab"]
    found = gs.Workload(tasks).launches(PLATFORM, until=1, streams="one").launches
    assert gs.simulate.hierarchy(found, FOUR).end.tolist() == [40, 80]


def test_launches_before_0_are_none() -> None:
    view = one(shaped()).launches(PLATFORM, until=0)
    assert len(view.launches) == len(view.task) == 0


@pytest.mark.parametrize(
    ("workload", "until", "text"),
    [
        (one(shaped(), gs.CPU(4), shaped()), 9, "a: got 4ns of CPU work between"),
        (one(shaped(), jitter=1), 9, "a: got a jitter"),
        (one(gs.Kernel(4)), 9, "got no blocks and threads"),
        (one(gs.CPU(4)), 9, "none with GPU segments"),
        (one(shaped()), 10**14, "more than 10000000 launches"),
        (one(shaped()), "0.5ns", "until"),
    ],
)
def test_launches_refuse_what_they_cannot_express(
    workload: gs.Workload, until: int | str, text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        workload.launches(PLATFORM, until)


# Random workloads -------------------------------------------------------------------------------


def plain(seed: int) -> gs.Workload:
    """A random workload of which most facts can be expressed."""
    random, w = Random(seed), random_workload(seed)
    kept: dict[str, Any] = {"jitter": 0, "process": None, "priority": None, "core": None}
    tasks = []
    for task in w:
        stretched = 10 * sum(_length(part) * part.repeat for part in task.segments) + task.offset
        tasks.append(
            task.replace(
                **kept,
                period=stretched,
                deadline=stretched if random.random() < 0.9 else min(task.deadline, stretched),
                stream_priority=random.randrange(9) if seed % 2 else None,
            )
        )
    return gs.Workload(tasks, w.tick)


def _length(part: Any) -> int:
    if isinstance(part, gs.Kernel) and part.block_time is not None:
        return 6 * part.block_time
    return int(part.time)


def test_random_views_are_accepted_by_their_methods() -> None:
    platform = gs.Platform("A100", cpus=4, launch_latency=0)
    done = dict.fromkeys(("kernels", "hosts", "all", "launches"), 0)
    for seed in range(300):
        w = plain(seed)
        try:
            view = w.batches(platform, gaps="occupy")
        except ValueError:
            pass
        else:
            done["kernels"] += 1
            tasks = view.tasks
            assert view.table.completion[1] == tasks.wcet[0]
            if tasks.hyperperiod < 20 * tasks.period.max():
                gs.pbs.edf_serial(tasks, view.table)
            until = int(tasks.offset.max()) + 1
            if (until // tasks.period).sum() < 1000:
                gs.simulate.fifo(tasks, gpu=platform.gpu, until=until)
        for sms in ("divided", "all"):
            try:
                hosts = w.hosts(platform, sms=sms).tasks
            except ValueError:
                continue
            done["hosts" if sms == "divided" else "all"] += 1
            if sms == "divided":
                gs.analysis.stgm_allocate(hosts, cpus=4, sms=platform.sms or 0, mode="suspend")
            else:
                gs.analysis.srm(hosts, cpus=4)
        until = max(task.offset + task.period for task in w)
        if sum(until // task.period for task in w) > 1000:
            continue
        try:
            launches = w.launches(platform, until).launches
        except ValueError:
            continue
        done["launches"] += 1
        assert np.array_equal(launches.time, np.sort(launches.time))
        gs.simulate.hierarchy(launches, platform.gpu or "", budget=gs.Budget(states=10**5))
    assert min(done.values()) > 20, done


def test_a_view_in_place_of_what_it_has() -> None:
    w = gs.Workload([gs.Task("a", 1000, [gs.Kernel(10, blocks=4, threads=64)])])
    platform = gs.Platform("A100")
    assert platform.gpu is not None
    wrong: Any = w.launches(platform, until=2000)
    with pytest.raises(TypeError, match=r"got LaunchView, expected Launches \(its \.launches\)"):
        gs.simulate.hierarchy(wrong, platform.gpu)
    wrong = w.batches(platform)
    with pytest.raises(TypeError, match=r"tasks: got BatchView, .* \(its \.tasks\)"):
        gs.pbs.search(wrong, wrong.table)
    with pytest.raises(TypeError, match=r"table: got BatchView, expected BatchTable \(its \.table"):
        gs.pbs.search(wrong.tasks, wrong)


def test_host_tasks_without_kernels_need_no_gpu() -> None:
    w = gs.Workload([gs.Task("a", 10, [gs.CPU(2)]), gs.Task("b", 20, [gs.CPU(5)])])
    assert w.hosts(gs.Platform(cpus=2)).tasks.cpu_time.tolist() == [2, 5]
    kernel = gs.Workload([gs.Task("a", 10, [gs.Kernel(2, blocks=1, threads=32)])])
    with pytest.raises(ValueError, match=r"^platform: got no GPU, expected one whose SMs"):
        kernel.hosts(gs.Platform(cpus=2))
