"""Rules of GPUs as NVIDIA documents them, and public reports: a number for each, as measured."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest

import gpusched as gs
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.machine_models import machine_model
from gpusched.comparison.verdicts.gpu_rules import readings_of
from gpusched.cuda.device import from_limits
from gpusched.model.gpus.mps_shares import client_sms


def one_per_sm(gpu: gs.GPU | str, blocks: int, **more: Any) -> dict[str, Any]:
    """A kernel of which an SM holds one block."""
    device = gs.GPU.preset(gpu) if isinstance(gpu, str) else gpu
    return {"blocks": blocks, "threads": 1024, "smem": device.smem_per_sm * 2 // 3, **more}


# Registers of a block -----------------------------------------------------------------------------


def test_registers_of_a_block() -> None:
    """TX1, TX2: 32,768 registers of a block, and 65,536 of an SM."""
    tx2 = gs.GPU.preset("TX2")
    assert (tx2.regs_per_block, tx2.regs_per_sm) == (32768, 65536)
    assert [gs.occupancy(tx2, threads, regs=35) for threads in (1024, 512)] == [0, 3]
    assert gs.occupancy(tx2.replace(regs_per_block=65536), 1024, regs=35) == 1
    assert gs.occupancy("Xavier", 1024, regs=35) == 1
    few = {name for name in gs.GPU.presets() if gs.GPU.preset(name).regs_per_block < 65536}
    assert few == {"TX1", "TX2"}
    launches = gs.Launches.build()
    launches.kernel(launches.stream(), blocks=1, threads=1024, regs=35, duration=10)
    with pytest.raises(ValueError, match=r"regs\[0\]: got 35"):
        gs.simulate.hierarchy(launches.done(), tx2)
    kernel = gs.Kernel("1ms", blocks=4, threads=1024, regs=35)
    w = gs.Workload([gs.Task("a", "10ms", [kernel])], "us")
    with pytest.raises(gs.NotApplicable, match="a"):
        gs.analyze(w, gs.Platform("TX2"), "streams")
    assert gs.analyze(w, gs.Platform("Xavier"), "streams").schedulable


def test_occupancy_of_public_reports() -> None:
    """V100: 37 registers, 128 and 384 threads; A100: 224 threads and 92; H100: 12 KB."""
    assert [gs.occupancy("V100", threads, regs=37) for threads in (128, 384)] == [12, 4]
    assert gs.occupancy("A100", 224, regs=92) == 2
    assert gs.occupancy("H100", 32, smem=12 * 1024) == 17


def test_tiles_of_an_a100() -> None:
    """108 tiles of a matrix are one wave, 109 are two."""
    for tiles, waves in ((108, 1), (109, 2), (216, 2)):
        w = gs.Workload(
            [gs.Task("gemm", 1000, [gs.Kernel(block_time=10, **one_per_sm("A100", tiles))])]
        )
        platform = gs.Platform("A100")
        assert gs.observe(w, platform, "streams").worst.tolist() == [10 * waves]
        assert gs.analyze(w, platform, "streams").response.tolist() == [10 * waves]


# MPS ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "share", "sms"),
    [
        ("A100", 2, 2),
        ("AGX Orin", 32, 5),
        ("H100", 25, 33),
        ("H100", 100, 132),
        ("Xavier", 1, 1),
        ("Thor", 35, 6),  # 7 SMs, rounded down to units of 2
        ("H100", gs.SMs(16), 16),
        ("Thor", gs.SMs(5), 6),
    ],
)
def test_shares_are_rounded_down(gpu: str, share: Any, sms: int) -> None:
    w = gs.Workload([gs.Task("a", "1s", [gs.Kernel("1ms", blocks=4000, threads=1024)])], "us")
    platform = gs.Platform(gpu, mps={"a": share})
    run = gs.observe(w, platform, "mps", until="1s").detail
    assert len(set(run.blocks.sm.tolist())) == sms


def test_a_share_of_two_percent() -> None:
    """Two SMs of an A100: 30 blocks of 10 ms, one per SM, take 150 ms."""
    kernel = gs.Kernel(block_time="10ms", **one_per_sm("A100", 30))
    w = gs.Workload([gs.Task("a", "1s", [kernel])], "us")
    platform = gs.Platform("A100", mps={"a": 2})
    assert gs.observe(w, platform, "mps").worst.tolist() == [150_000]
    assert gs.analyze(w, platform, "mps").response.tolist() == [150_000]


def test_units_of_shares() -> None:
    """Percentages are rounded down to units, and numbers of SMs up."""
    assert [client_sms(25, 132, unit) for unit in (1, 2)] == [33, 32]
    assert [client_sms(gs.SMs(15), 132, unit) for unit in (1, 2)] == [15, 16]
    assert client_sms(100, 13, 2) == 13
    assert client_sms(1, 16, 2) == 1 and client_sms(gs.SMs(132), 132, 8) == 132


def test_runs_round_shares_as_the_reading_says() -> None:
    kernel = gs.Kernel(block_time="10ms", **one_per_sm("H100", 33))
    w = gs.Workload([gs.Task("a", "100ms", [kernel])], "us")
    models = DerivedModels(w, gs.Platform("H100", mps={"a": 25}))
    found = [models, *(other for _, other in readings_of(models, "mps", run=True))]
    limits = [machine_model(each, "mps", until=1).columns["limit"] for each in found]
    assert [of.tolist() for of in limits if of is not None] == [[33], [32]]


def test_a_verdict_that_depends_on_the_unit_is_conditional() -> None:
    """33 SMs with units of one, 32 with units of two: 33 blocks take one wave or two."""
    kernel = gs.Kernel(block_time="10ms", **one_per_sm("H100", 33))
    tasks = [gs.Task("a", "100ms", [kernel], deadline="15ms")]
    platform = gs.Platform("H100", mps={"a": 25})
    answer = gs.analyze(gs.Workload(tasks, "us"), platform, "mps")
    assert answer.verdict == "conditional" and answer.schedulable is None
    assert [condition.premise for condition in answer.conditions] == ["mps_rounding"]
    assert "single SMs" in str(answer.conditions[0])
    assert [rule.name for rule in answer.rules] == ["mps_rounding"]
    later = gs.Workload([tasks[0].replace(deadline="30ms")], "us")
    assert gs.analyze(later, platform, "mps").schedulable  # under both readings
    assert gs.analyze(later, platform.replace(mps={"a": 50}), "mps").rules == ()


def test_clients_share_two_channels() -> None:
    """Three streams in one client of an H100 share its channels."""
    kernel = gs.Kernel("1ms", blocks=8, threads=256)
    tasks = [gs.Task(f"t{i}", "50ms", [kernel], process="p") for i in range(3)]
    w, platform = gs.Workload(tasks, "us"), gs.Platform("H100", cpus=3)
    shared = gs.analyze(w, platform, "mps")
    assert shared.method == "holistic"
    assert any("have 2 channels in turn" in text for text in shared.assumptions)
    assert "channel_release" in [rule.name for rule in gs.observe(w, platform, "mps").rules]
    assert gs.analyze(w, platform.replace(channels=3), "mps").schedulable
    assert gs.analyze(w.replace(tasks=tasks[:2]), platform, "mps").schedulable
    alone = w.replace(tasks=[task.replace(process=None) for task in tasks])
    assert gs.analyze(alone, platform, "mps").schedulable  # a client for each task


@pytest.mark.parametrize(("clients", "verdict"), [(48, "guaranteed"), (60, "conditional")])
def test_number_of_clients(clients: int, verdict: str) -> None:
    kernel = gs.Kernel("10us", blocks=1, threads=32)
    tasks = [gs.Task(f"t{i}", "900ms", [kernel]) for i in range(clients + 1)]
    platform = gs.Platform("H100", cpus=128, slowdown=None)
    answer = gs.analyze(gs.Workload(tasks[:clients], "us"), platform, "mps")
    assert answer.verdict == verdict
    if clients == 60:
        assert [one.premise for one in answer.conditions] == ["mps_clients"]
        with pytest.raises(gs.NotApplicable, match="got 61 processes, expected at most 60"):
            gs.analyze(gs.Workload(tasks, "us"), platform, "mps")


def test_clients_with_more_channels() -> None:
    """A server has fewer clients if each has more than two channels."""
    kernel = gs.Kernel("10us", blocks=1, threads=32)
    w = gs.Workload([gs.Task(f"t{i}", "900ms", [kernel]) for i in range(20)], "us")
    platform = gs.Platform("H100", cpus=32, slowdown=None, channels=4)
    assert gs.analyze(w, platform, "mps").schedulable
    [condition] = gs.analyze(w, platform.replace(channels=8), "mps").conditions
    assert condition.premise == "mps_clients" and "20 clients with 8 channels" in condition.text


def test_before_volta() -> None:
    kernel = gs.Kernel("10us", blocks=1, threads=32)
    tasks = [gs.Task(f"t{i}", "900ms", [kernel]) for i in range(17)]
    for gpu in ("TX2", "GTX 970"):
        with pytest.raises(ValueError, match=r"mps\['a'\]: got 50 %, expected no share"):
            gs.Platform(gpu, mps={"a": 50})
        with pytest.raises(ValueError, match="got 16 SMs, expected no share"):
            gs.Platform(gpu, mps={"a": "16 SMs"})
        platform = gs.Platform(gpu, cpus=20, slowdown=None)
        with pytest.raises(gs.NotApplicable, match="got 17 processes, expected at most 16"):
            gs.analyze(gs.Workload(tasks, "us"), platform, "mps")
    assert gs.Platform("TX2", mps={"a": 100}).mps == (("a", 100),)


# Green contexts -----------------------------------------------------------------------------------


def twelve() -> tuple[gs.Workload, dict[tuple[str, ...], int]]:
    """Twelve streams in three green contexts."""
    kernel = gs.Kernel("1ms", blocks=8, threads=256)
    w = gs.Workload([gs.Task(f"t{i}", "500ms", [kernel]) for i in range(12)], "us")
    return w, {tuple(f"t{i}" for i in range(a, a + 4)): 40 for a in (0, 4, 8)}


def test_green_contexts_share_channels() -> None:
    """Twelve streams, and the 8 channels of an H100, unless work queues are balanced."""
    w, parts = twelve()
    platform = gs.Platform("H100", cpus=12, green_contexts=parts)
    answer = gs.analyze(w, platform, "green_contexts")
    assert answer.method == "holistic"
    assert any("have 8 channels in turn" in text for text in answer.assumptions)
    balanced = platform.replace(workqueue="balanced")
    assert gs.analyze(w, balanced, "green_contexts").schedulable
    assert gs.analyze(w, platform.replace(channels=12), "green_contexts").schedulable
    shared, own = (gs.observe(w, p, "green_contexts").worst for p in (platform, balanced))
    assert (shared >= own).all()


def test_a_kernel_in_another_green_context_holds_a_channel() -> None:
    """A kernel of several waves in one green context delays one in another, unless balanced."""
    long = gs.Kernel(block_time=100, blocks=30, threads=1024)
    short = gs.Kernel(block_time=1, blocks=1, threads=32)
    w = gs.Workload([gs.Task("long", 10**4, [long]), gs.Task("short", 10**4, [short])])
    gpu = gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=8, channels=1)
    shared = gs.Platform(gpu, cpus=2, slowdown=None, green_contexts={"long": 2, "short": 2})
    found = [
        gs.observe(w, p, "green_contexts").worst.tolist()
        for p in (shared, shared.replace(workqueue="balanced"))
    ]
    assert found == [[1500, 1401], [1500, 1]]


def test_units_of_green_contexts() -> None:
    """GH200: 6 of 12 SMs with the flag; 6 of 11 become 16 each, with 36 SMs left."""
    gh200 = gs.GPU.preset("GH200")
    assert gh200.split_sms(6, 11) == ((16,) * 6, 36)
    assert gh200.split_sms(6, 11, coscheduling=False) == ((12,) * 6, 60)
    assert gs.GPU.preset("Thor").split_sms(2, 5) == ((6, 6), 8)
    assert gs.GPU.preset("AGX Orin").split_sms(3, 3) == ((4, 4, 4), 4)
    tasks = {f"t{i}": 12 for i in range(6)}
    with pytest.raises(ValueError, match="got 12 SMs, expected a multiple of 8 "):
        gs.Platform("GH200", green_contexts=tasks)
    assert gs.Platform("GH200", green_contexts=tasks, sm_coscheduling=False)
    assert gs.Platform("Thor", green_contexts={"a": 2, "b": 6})
    rest = gs.Platform("GH200", green_contexts={**{f"t{i}": 16 for i in range(6)}, "rest": 36})
    assert rest.green_contexts is not None and rest.green_contexts[-1] == (("rest",), 36)


# Copy engines -------------------------------------------------------------------------------------


def chunks(gpu: str, engines: int | None = None) -> int:
    """Time in us of 4 chunks in streams of their own: in, kernel, out; 0.65, 0.22, 0.65 ms."""
    work = gs.Launches.build()
    for _ in range(4):
        stream = work.stream()
        work.copy_in(stream, duration=162_500)
        work.kernel(stream, blocks=8, threads=256, duration=55_000)
        work.copy_out(stream, duration=162_500)
    run = gs.simulate.hierarchy(work.done(), gpu, copy_engines=engines)
    return int(run.end.max()) // 1000


def test_chunks_on_an_rtx_3090() -> None:
    """0.97 to 0.98 ms were measured with two engines; one would take 1.3 ms and more."""
    assert gs.GPU.preset("RTX 3090").copy_engines == 2
    assert chunks("RTX 3090") == 867  # without gaps between launches
    assert chunks("RTX 3090", 1) >= 1300


def test_copies_of_one_direction_serialise() -> None:
    """Three copies to an H100, which has 3 engines, run one after the other."""
    work = gs.Launches.build()
    for _ in range(3):
        work.copy_in(work.stream(), duration=100)
    run = gs.simulate.hierarchy(work.done(), "H100")
    assert gs.GPU.preset("H100").copy_engines == 3 and run.end.tolist() == [100, 200, 300]


def test_copy_engines_of_presets() -> None:
    known = {name: gs.GPU.preset(name).copy_engines for name in gs.GPU.presets()}
    two = ("RTX 3090", "RTX 4090", "RTX 5090", "GH200", "AGX Orin", "Orin NX")
    assert {known[name] for name in two} == {2}
    assert [known[name] for name in ("V100", "H100", "H200", "A100")] == [6, 3, 3, 5]
    assert known["B200"] is known["Thor"] is known["pbs2024"] is None
    assert "unknown" in gs.GPU.preset("B200")._repr_html_()


def test_unknown_copy_engines_are_said() -> None:
    """With one engine a copy out waits for one in; with two it does not."""
    kernel = gs.Kernel("1ms", blocks=8, threads=256)
    tasks = [
        gs.Task("a", "20ms", [gs.CopyIn("3ms"), kernel], deadline="6ms"),
        gs.Task("b", "20ms", [kernel, gs.CopyOut("3ms")], deadline="6ms"),
    ]
    w, platform = gs.Workload(tasks, "us"), gs.Platform("B200", cpus=2, slowdown=None)
    assert gs.analyze(w, platform, "mpcp").rules == ()  # no two copies at once
    streams = gs.analyze(w, platform, "priority_streams")
    assert gs.analyze(w, platform.replace(copy_engines=2), "priority_streams").schedulable
    assert not gs.analyze(w, platform.replace(copy_engines=1), "priority_streams").accepted
    assert streams.verdict == "conditional"
    assert [condition.premise for condition in streams.conditions] == ["copy_engines"]
    late = w.replace(tasks=[task.replace(deadline="4ms") for task in tasks])
    run = gs.observe(late, platform.replace(copy_engines=1), "streams")
    assert run.late_count[1] > 0 and run.schedulable is False
    run = gs.observe(late, platform, "streams")
    assert run.schedulable is None and run.limits[0][0] == "rule copy_engines"


@pytest.mark.parametrize("engines", [["in", "out", "both"], ["in", "in", "out"], ["both", "in"]])
def test_waits_with_further_engines(engines: list[str]) -> None:
    """Simulated waits of copies stay within the bounds; some are those of one engine for each."""
    rng = Random(str(engines))
    gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8)
    reached = 0
    for _ in range(60):
        tasks = []
        for name in "abcd":
            parts: list[Any] = [gs.Kernel(rng.randint(1, 4), blocks=1, threads=32)]
            if rng.random() < 0.8:
                parts.insert(0, gs.CopyIn(rng.randint(1, 9)))
            if rng.random() < 0.8:
                parts.append(gs.CopyOut(rng.randint(1, 9)))
            offset = rng.randint(0, 9)
            tasks.append(gs.Task(name, 400, parts, deadline=300, offset=offset))
        w = gs.Workload(tasks)
        platform = gs.Platform(gpu, cpus=4, slowdown=None, copy_engines=engines)
        answer = gs.analyze(w, platform, "priority_streams")
        worst = gs.observe(w, platform, "priority_streams", until=400).worst
        assert answer.bounded.all() and (worst <= answer.response).all()
        reached += int((worst == answer.response).any())
    assert reached >= 1


def test_engines_with_directions() -> None:
    gpu = gs.GPU.preset("B200").replace(copy_engines=["in", "in", "out"])
    assert gpu.copy_engines == ("in", "in", "out") and eval(repr(gpu), vars(gs)) == gpu
    work = gs.Launches.build()
    for _ in range(3):
        work.copy_in(work.stream(), duration=100)
    assert gs.simulate.hierarchy(work.done(), gpu).end.tolist() == [100, 100, 200]
    for given, text in (
        (["in", "in"], "copy_engines: got .* expected an engine for copies out"),
        (["up"], r"copy_engines\[0\]: got 'up', expected"),
        ([], "copy_engines: got 0 engines, expected 1 to 64"),
        (-1, "copy_engines: got -1"),
    ):
        with pytest.raises(ValueError, match=text):
            gs.GPU.preset("B200").replace(copy_engines=given)


# Clusters and GPCs --------------------------------------------------------------------------------


def clusters_at_once(gpu: gs.GPU, size: int) -> int:
    """Blocks of clusters that start at once, one per SM."""
    work = gs.Launches.build()
    kernel = one_per_sm(gpu, 60 * size)
    work.kernel(work.stream(), duration=100, cluster=size, **kernel)
    run = gs.simulate.hierarchy(work.done(), gpu)
    assert run.blocks is not None
    return int((run.blocks.start == 0).sum())


def test_clusters_of_an_h100() -> None:
    """120 blocks of clusters of 8 ran at once, one per SM."""
    h100 = gs.GPU.preset("H100")
    assert isinstance(h100.sms_per_gpc, tuple) and sum(h100.sms_per_gpc) == 132
    assert clusters_at_once(h100, 8) == 120
    assert clusters_at_once(h100.replace(sms_per_gpc=18), 8) == 112


def test_clusters_of_blackwell() -> None:
    for size in (4, 8, 16):
        assert clusters_at_once(gs.GPU.preset("B200"), size) > 0
    gb200 = gs.GPU.preset("GB200")
    measured = {3: 46, 4: 36, 5: 28, 6: 23, 8: 15}
    assert {size: clusters_at_once(gb200, size) // size for size in measured} == measured


def test_unknown_gpcs_are_said() -> None:
    """Clusters of up to 8 blocks are portable; larger ones need the sizes of GPCs."""
    unknown = gs.GPU.preset("RTX 5090")
    assert unknown.sms_per_gpc is None
    work = gs.Launches.build()
    work.kernel(work.stream(), duration=100, cluster=8, blocks=8, threads=256)
    run = gs.simulate.hierarchy(work.done(), unknown)
    assert any("GPC" in text for text in run.assumptions)
    work = gs.Launches.build()
    work.kernel(work.stream(), duration=100, cluster=16, blocks=16, threads=256)
    with pytest.raises(ValueError, match="sms_per_gpc"):
        gs.simulate.hierarchy(work.done(), unknown)
    with pytest.raises(ValueError, match=r"sms_per_gpc: got \(8, 8\), 16 SMs in all, expected the"):
        unknown.replace(sms_per_gpc=[8, 8])


# Devices and instances ----------------------------------------------------------------------------


def reported(gpu: gs.GPU) -> dict[str, int]:
    """Attributes that the driver of a GPU reports."""
    assert gpu.cc is not None
    names = ("sms", "threads_per_sm", "blocks_per_sm", "regs_per_sm", "regs_per_block")
    return {
        **{name: getattr(gpu, name) for name in (*names, "smem_per_sm", "smem_per_block")},
        "cc_major": gpu.cc[0],
        "cc_minor": gpu.cc[1],
        "copy_engines": 3,
    }


def test_a_device_is_its_preset() -> None:
    """But for what was measured."""
    for name, device in (("H100", "NVIDIA H100 80GB HBM3"), ("GH200", "NVIDIA GH200 480GB")):
        preset = gs.GPU.preset(name)
        found = from_limits(device, reported(preset))
        assert found == preset.replace(name=device, copy_engines=3)
        assert found.channels == 8 and found.sms_per_gpc == preset.sms_per_gpc
    other = from_limits("NVIDIA X1", reported(gs.GPU.preset("H100")))
    assert other.channels is None and other.sms_per_gpc is None and other.copy_engines == 3


def test_presets_of_one_chip_agree() -> None:
    gpus = {name: gs.GPU.preset(name) for name in gs.GPU.presets()}
    for a, b in pairwise(("H100", "H200", "GH200")):
        changes = {"name": gpus[b].name, "copy_engines": gpus[b].copy_engines}
        assert gpus[a].replace(**changes) == gpus[b]
    for gpu in gpus.values():
        assert gpu.mig_profiles() == () or gpu.mig_profiles()[-1].sms <= gpu.sms


@pytest.mark.parametrize(
    ("gpu", "profile", "sms", "engines"),
    [
        ("GH200", "1g.12gb", 16, 1),
        ("GH200", "3g.48gb", 60, 3),
        ("NVIDIA GH200 144G HBM3e", "2g.36gb", 32, 2),
        ("H100 NVL", "3g.47gb", 60, 3),
        ("GB200", "1g.24gb", 18, 2),
        ("GB200", "2g.47gb", 38, 4),
        ("RTX PRO 6000", "1g.24gb", 46, 1),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "4g.96gb", 188, 4),
        ("Thor", "1g.0gb", 6, 1),
        ("Thor", "2g.0gb", 12, 1),
    ],
)
def test_instances(gpu: str, profile: str, sms: int, engines: int) -> None:
    part = gs.GPU.preset(gpu).replace(name=gpu).instance(profile)
    assert (part.sms, part.copy_engines, part.sms_per_gpc) == (sms, engines, None)


def test_instances_of_thor() -> None:
    thor = gs.GPU.preset("Thor")
    assert [str(one) for one in thor.mig_instances(["1g.0gb", "2g.0gb"])] == [
        "1g.0gb@0",
        "2g.0gb@1",
    ]
    with pytest.raises(ValueError, match="has at most 1 instance"):
        thor.mig_instances(["1g.0gb", "1g.0gb"])
    assert gs.GPU.preset("H20").mig_profiles() == ()


# Priorities and the NULL stream -------------------------------------------------------------------


def test_an_urgent_kernel_behind_a_long_one() -> None:
    """Three waves of 1,000 ticks; at 100 comes a kernel of another stream, or on SMs of its own."""
    gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=8)

    def waited(priority: int, *, apart: bool) -> int:
        work = gs.Launches.build()
        first = work.partition(sms=[0]) if apart else None
        second = work.partition(sms=[1]) if apart else None
        long = work.stream(partition=first)
        urgent = work.stream(priority=priority, partition=second)
        work.kernel(long, blocks=3 if apart else 6, threads=1024, duration=1000)
        kernel = work.kernel(urgent, blocks=1, threads=1024, duration=10, at=100)
        return int(gs.simulate.hierarchy(work.done(), gpu).first[kernel]) - 100

    assert waited(0, apart=False) == 2900
    assert waited(-1, apart=False) == 900
    assert waited(0, apart=True) == 0


def test_readings_within_instances() -> None:
    """Two kernels of an instance with different carve-outs: together under one reading only."""
    wide = {"blocks": 16, "threads": 1024}
    tasks = [
        gs.Task("a", "20ms", [gs.Kernel("4ms", **wide)], deadline="9ms"),
        gs.Task("b", "20ms", [gs.Kernel("4ms", **wide, smem=60_000)], deadline="9ms"),
    ]
    w = gs.Workload(tasks, "us")
    platform = gs.Platform("H100", cpus=2, slowdown=None, mig=["1g.10gb"])
    answer = gs.mig(w, platform, "priority_streams")
    assert [rule.name for rule in answer.rules] == ["carveouts"]
    assert [one.premise for one in answer.conditions] == ["carveouts"] and answer.conditional
    settled = gs.GPU.preset("H100").replace(carveout_rule="ignore")
    assert gs.mig(w, platform.replace(gpu=settled), "priority_streams").accepted
    assert gs.mig(w, platform, "pbs").accepted  # under all readings


def test_the_null_stream_serialises() -> None:
    """Kernels of a blocking stream and of the legacy NULL stream run one after the other."""
    work = gs.Launches.build()
    blocking, null, other = work.stream(), work.stream(kind="null"), work.stream()
    for stream in (blocking, null, other):
        work.kernel(stream, blocks=1, threads=32, duration=100)
    assert gs.simulate.hierarchy(work.done(), "A100").first.tolist() == [0, 100, 200]


def test_rules_are_marked_and_listed() -> None:
    kernel = gs.Kernel("2ms", blocks=8, threads=256)
    w = gs.Workload([gs.Task("a", "20ms", [kernel]), gs.Task("b", "40ms", [kernel])], "us")
    platform = gs.Platform("A100", cpus=2, green_contexts={"a": 20, "b": 20})
    ways = gs.compare(w, platform, ways=["streams", "priority_streams", "green_contexts"])
    assert [[rule.kind for rule in row.rules] for row in ways] == [[], ["hint"], ["hint"]]
    text = str(ways)
    assert "guaranteed [1]" in text and "guaranteed [2]" in text
    assert "[1] blocks of more urgent streams start first (hint; settled by" in text
    document = ways.document(margin=False)
    names = ["stream_priorities", "green_context_concurrency"]
    assert [rule["name"] for rule in document["rules"]] == names  # type: ignore[attr-defined]
    assert [row["rules"] for row in document["rows"]] == [[], *([name] for name in names)]  # type: ignore[attr-defined]
    page = ways.to_html(margin=False)
    assert "Rules of GPUs that are not documented" in page and "[2] kernels in different" in page
    assert "[1]" in ways._repr_html_()


# Readings -----------------------------------------------------------------------------------------


def small(cc: str | None = "7.5", **more: Any) -> gs.GPU:
    return gs.GPU(4, 1024, 8, regs_per_sm=65536, smem_per_sm=65536, cc=cc, **more)


def test_unknown_channels_are_said() -> None:
    """Twenty streams on GPUs whose channels nobody has published; TX2 and Xavier are Tegra."""
    kernel = gs.Kernel(1, blocks=1, threads=64)
    w = gs.Workload([gs.Task(f"t{i}", 1000, [kernel]) for i in range(20)])
    for gpu in (gs.GPU.preset("Thor"), gs.GPU.preset("Pegasus"), small()):
        platform = gs.Platform(gpu, cpus=20, slowdown=None)
        answer = gs.analyze(w, platform, "streams")
        assert answer.accepted and "channels" in [rule.name for rule in answer.rules]
        assert gs.analyze(w, platform.replace(channels=20), "streams").schedulable
        assert gs.analyze(w, platform.replace(channels=0), "streams").schedulable
    few = w.replace(tasks=w.tasks[:8])
    assert gs.analyze(few, gs.Platform(small(), cpus=8, slowdown=None), "streams").schedulable
    assert gs.analyze(few, gs.Platform("Thor", cpus=8, slowdown=None), "streams").accepted


def test_instances_have_the_channels_of_their_gpu() -> None:
    h100 = gs.GPU.preset("H100")
    for profile in ("1g.10gb", "7g.80gb"):
        found = from_limits(
            f"NVIDIA H100 80GB HBM3 MIG {profile}", reported(h100.instance(profile))
        )
        assert found.channels == 8 and found.sms_per_gpc is None


def test_unknown_engines_reject_nothing() -> None:
    """Copies of one direction may overlap on a GPU whose engines are not known."""
    kernel = gs.Kernel(1, blocks=1, threads=256)
    tasks = [gs.Task(name, 10, [gs.CopyIn(6), kernel]) for name in "ab"]
    for gpu in ("RTX 4080", "B200", small()):
        ways = gs.compare(gs.Workload(tasks), gs.Platform(gpu, cpus=2), ways=["streams"])
        assert not ways.impossible and ways[0].schedulable is None
    stated = gs.Platform("RTX 4080", cpus=2, copy_engines=2)
    assert gs.compare(gs.Workload(tasks), stated, ways=["streams"]).impossible
    only_out = [gs.Task(name, 10, [kernel, gs.CopyOut(6)]) for name in "ab"]
    platform = gs.Platform("RTX 4090", cpus=2, copy_engines=("both", "in"))
    [text] = gs.compare(gs.Workload(only_out), platform, ways=["streams"]).impossible
    assert text == "copies from the GPU need 1.2 copy engines, there is 1"


def test_readings_of_several_rules_together() -> None:
    """Late with one engine or with carve-outs that keep kernels apart, and on time without both."""
    kernels = [
        gs.Kernel(4, blocks=4, threads=256, regs=16),
        gs.Kernel(1, blocks=1, threads=256, regs=16),
        gs.Kernel(2, blocks=4, threads=256, regs=16, smem=40_000),
    ]
    w = gs.Workload(
        [
            gs.Task("a", 40, [kernels[0]]),
            gs.Task("c", 40, [kernels[1], gs.CopyOut(2)]),
            gs.Task("b", 40, [gs.CopyIn(1), kernels[2]], deadline=3, offset=1),
        ]
    )
    platform = gs.Platform(small(channels=8), cpus=4, slowdown=None)
    late = {
        (rule, engines): bool(
            gs.observe(
                w,
                gs.Platform(
                    small(channels=8, carveout_rule=rule, copy_engines=engines),
                    cpus=4,
                    slowdown=None,
                ),
                "streams",
            ).late.any()
        )
        for rule in ("match", "ignore")
        for engines in (1, 2)
    }
    assert sorted(late.values()) == [False, True, True, True] and not late["ignore", 2]
    [row] = gs.compare(w, platform, ways=["streams"])
    assert row.verdict == "undecided" and row.run is not None
    assert row.run.limits[0][0] == "rule carveouts, copy_engines"


def test_conditions_of_several_rules() -> None:
    w = gs.Workload(
        [
            gs.Task(
                "a", 40, [gs.CopyIn(1), gs.Kernel(5, blocks=27, threads=1024)],
                deadline=11, process="a",
            ),
            gs.Task("b", 40, [gs.Kernel(1, blocks=1, threads=32), gs.CopyOut(6)], process="b"),
        ]
    )  # fmt: skip
    platform = gs.Platform("RTX 4080", cpus=2, slowdown=None, mps={"a": 36})
    names = [one.premise for one in gs.analyze(w, platform, "mps").conditions]
    assert names == ["copy_engines", "mps_rounding"]
    stated = gs.analyze(w, platform.replace(copy_engines=2), "mps")
    assert [one.premise for one in stated.conditions] == ["mps_rounding"]


def test_too_many_clients_are_not_simulated() -> None:
    kernel = gs.Kernel(10, blocks=264, threads=1024)
    tasks = [gs.Task(f"t{i}", 10000, [kernel], deadline=9000) for i in range(60)]
    w = gs.Workload([*tasks, gs.Task("late", 10000, [kernel], deadline=300, offset=1)])
    [row] = gs.compare(w, gs.Platform("H100", cpus=64, slowdown=None), ways=["mps"])
    assert row.verdict == "not applicable" and row.run is None


def test_registers_of_a_block_follow_those_of_an_sm() -> None:
    a100 = gs.GPU.preset("A100")
    assert a100.replace(regs_per_sm=32768).regs_per_block == 32768
    assert a100.replace(regs_per_sm=32768).replace(regs_per_sm=65536) == a100
    assert gs.GPU.preset("TX2").replace(cc="8.0", smem_per_block=None).regs_per_block == 65536
    assert a100.replace(regs_per_block=4096).replace(name="b").regs_per_block == 4096
    with pytest.raises(ValueError, match="regs_per_block: got 65537, expected at most"):
        a100.replace(regs_per_block=65537)


def test_hostile_shares_and_engines() -> None:
    for shares, text in (
        ({"{x}": 50}, "compute capability 7.0"),
        ({"{}": gs.SMs(2)}, "compute capability 7.0"),
        ({"a": "0 SMs"}, r"mps\['a'\]: got '0 SMs', expected 1 to"),
        ({"a": "half"}, r"mps\['a'\]: got 'half', expected a percentage"),
    ):
        with pytest.raises(ValueError, match=text):
            gs.Platform("GTX 970", mps=shares)
    for engines in ({"in", "out"}, {"in": 1}, "in"):
        with pytest.raises(TypeError, match="copy_engines: got"):
            gs.Platform("A100", copy_engines=engines)  # type: ignore[arg-type]
