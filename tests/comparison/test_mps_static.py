"""Static partitions of MPS as a property of a platform, and the way "mps_static"."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from native import CSRC

import gpusched as gs
from gpusched.cli.main import main
from gpusched.comparison.derived_models import DerivedModels
from gpusched.model.gpus.gpu_presets import static_partition_unit

sys.path.append(str(CSRC.parent))
from tests.reference.machine_ways import play

pytestmark = [pytest.mark.python, pytest.mark.numbers]

PARTS: dict[str | tuple[str, ...], int] = {"perception": 64, ("planner", "logger"): 32}


def kernel(time: str = "2ms", blocks: int = 64) -> gs.Kernel:
    return gs.Kernel(time, blocks=blocks, threads=256)


def workload(processes: Sequence[str | None] = ("perception", "planner", "logger")) -> gs.Workload:
    times = ("10ms", "40ms", "60ms")
    return gs.Workload(
        [
            gs.Task(f"t{i}", time, [gs.CPU("1ms"), kernel()], process=process)
            for i, (time, process) in enumerate(zip(times, processes, strict=True))
        ],
        tick="us",
    )


# The platform -------------------------------------------------------------------------------------


def test_the_platform_keeps_static_partitions(tmp_path: Path) -> None:
    platform = gs.Platform("H100", cpus=3, mps_partitions=PARTS)
    assert platform.mps_partitions == ((("perception",), 64), (("planner", "logger"), 32))
    assert eval(repr(platform), {"Platform": gs.Platform}) == platform
    assert pickle.loads(pickle.dumps(platform)) == platform != platform.replace(mps_partitions=None)
    assert "perception 64 SMs, planner + logger 32 SMs" in platform._repr_html_()
    answer = gs.analyze(workload(), platform, "mps_static")
    answer.save(tmp_path / "answer")
    assert gs.WorkloadAnswer.load(tmp_path / "answer").platform == platform.at("us")
    with pytest.raises(ValueError, match=r"mps_partitions\['perception'\]: got 64 SMs, expect"):
        platform.replace(gpu="A30")


@pytest.mark.parametrize(
    ("cc", "unit"),
    [
        (None, 1),
        ("8.0", 4),
        ("8.6", 4),
        ("8.7", 2),
        ("8.9", 4),
        ("9.0", 8),
        ("11.0", 2),
        ("12.0", 8),
    ],
)
def test_chunks_of_the_compute_capability(cc: str | None, unit: int) -> None:
    gpu = gs.GPU(33, 1024, 32, cc=cc)
    assert static_partition_unit(gpu.cc) == unit
    for count in range(1, 34):
        if count % unit == 0:
            gs.Platform(gpu, mps_partitions={"a": count})
        else:
            with pytest.raises(ValueError, match=f"expected a positive multiple of {unit},"):
                gs.Platform(gpu, mps_partitions={"a": count})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "mps_partitions: got none"),
        ({"a": 0}, r"mps_partitions\['a'\]: got 0 SMs, expected a positive multiple of 8"),
        ({"a": -8}, r"mps_partitions\['a'\]: got -8 SMs"),
        ({"a": 64, "b": 72}, r"mps_partitions\['b'\]: got 72 SMs, expected at most 68"),
        ({"a": 8.5}, r"mps_partitions\['a'\]"),
        ({"a": [1, 2]}, r"mps_partitions\['a'\]: got"),
        ({"a": 2**70}, r"mps_partitions\['a'\]"),
        ({"a": 8, ("b", "a"): 8}, "mps_partitions: got 'a' twice, expected each process in one"),
        ({"": 8}, "mps_partitions: got ''"),
        ([("a", 8, 9)], "expected a pair of processes and SMs"),
        (5, "mps_partitions: got 5, expected SMs by process"),
    ],
)
def test_static_partitions_that_are_refused(given: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError), match=message):
        gs.Platform("H100", mps_partitions=given)


def test_gpus_without_static_partitions() -> None:
    with pytest.raises(ValueError, match=r"mps_partitions: got .* without a GPU"):
        gs.Platform(mps_partitions={"a": 8})
    with pytest.raises(ValueError, match=r"static partitions from compute capability 8\.0 on, and"):
        gs.Platform("TX2", mps_partitions={"a": 2})


# The way ------------------------------------------------------------------------------------------


def test_a_static_partition_is_as_a_green_context_of_a_process() -> None:
    """With a client in each, the bounds and runs are those of green contexts with own channels."""
    random, seen = Random(5), 0
    for _ in range(60):
        gpu = gs.GPU(random.randrange(2, 7), 2048, 8)
        users = random.randrange(1, 4)
        sms = {f"t{i}": random.randrange(1, 3) for i in range(users)}
        if sum(sms.values()) > gpu.sms:
            continue
        tasks = [
            gs.Task(
                name,
                random.randrange(60, 200),
                [
                    gs.CPU(random.randrange(1, 5)),
                    *(
                        gs.Kernel(block_time=random.randrange(1, 9), threads=512,
                                  blocks=random.randrange(1, 20))
                        for _ in range(random.randrange(1, 3))
                    ),
                ],
            )
            for name in sms
        ]  # fmt: skip
        w = gs.Workload(tasks)
        platform = gs.Platform(
            gpu, cpus=users, mps_partitions=sms, green_contexts=sms, workqueue="balanced"
        )
        static = gs.analyze(w, platform, "mps_static")
        green = gs.analyze(w, platform, "green_contexts")
        assert static.verdict == green.verdict
        assert static.response.tolist() == green.response.tolist()
        runs = [gs.observe(w, platform, way) for way in ("mps_static", "green_contexts")]
        assert runs[0].end.tolist() == runs[1].end.tolist()
        seen += static.verdict == "guaranteed"
    assert seen > 20


def test_clients_of_one_partition_wait_for_each_other() -> None:
    platform = gs.Platform("H100", cpus=3, mps_partitions=PARTS, slowdown=None)
    answer = gs.analyze(workload(), platform, "mps_static")
    assert answer.verdict == "guaranteed" and answer.detail.partition.tolist() == [0, 1, 1]
    assert answer.detail.partition_sms == (64, 32)
    apart = platform.replace(mps_partitions={"perception": 64, "planner": 32, "logger": 32})
    alone = gs.analyze(workload(), apart, "mps_static")
    assert (alone.response <= answer.response).all() and alone.response[1] < answer.response[1]
    with pytest.raises(gs.NotApplicable, match="expected one; kernels of different contexts"):
        gs.analyze(
            workload(), platform.replace(green_contexts={("t0", "t1", "t2"): 64}), "green_contexts"
        )


def test_what_an_answer_rests_on() -> None:
    platform = gs.Platform("H100", cpus=3, mps_partitions=PARTS)
    answer = gs.analyze(workload(), platform, "mps_static")
    assert [rule.name for rule in answer.rules] == ["mps_static_queues"]
    assert any("CUDA 13.1 or later, with static partitions" in text for text in answer.assumptions)
    one = platform.replace(mps_partitions={("perception", "planner", "logger"): 96})
    assert gs.analyze(workload(), one, "mps_static").rules == ()
    [row] = gs.compare(workload(), platform, ways=["mps_static"])
    assert row.verdict == "guaranteed" and "mps_static" in str(gs.compare(workload(), platform))
    assert "static partitions of MPS have queues of their own" in row.run.assumptions
    shared = gs.compare(workload(), platform.replace(cpus=1), ways=["mps_static"])[0]
    assert shared.verdict == "guaranteed" and shared.answer.method == "holistic"


def test_workloads_that_are_refused() -> None:
    platform = gs.Platform("H100", cpus=3, mps_partitions=PARTS)
    for at, w, message in (
        (gs.Platform("H100"), workload(), r"mps_partitions: got None, .*--mps-partitions\)"),
        (
            platform,
            workload(("perception", "planner", "x")),
            "got 'logger', expected one of the",
        ),
        (
            platform.replace(mps_partitions={"perception": 64, "planner": 32}),
            workload(),
            "t2: got no static partition, expected one for every process with kernels",
        ),
        (platform, gs.Workload([gs.Task("a", 9, [gs.CPU(1)])]), "mps_partitions: got 'perception'"),
    ):
        with pytest.raises(gs.NotApplicable, match=message):
            gs.analyze(w, at, "mps_static")
        with pytest.raises(ValueError, match=message):
            gs.observe(w, at, "mps_static")
    assert "priorities of streams are not used" in (
        gs.analyze(
            gs.Workload([task.replace(stream_priority=0) for task in workload()], "us"),
            platform,
            "mps_static",
        ).assumptions
    )


def test_channels_are_those_of_the_clients() -> None:
    """A client has two; also in a partition of several clients."""
    tasks = [gs.Task(f"t{i}", "50ms", [kernel()], process="p" if i < 3 else "q") for i in range(4)]
    w = gs.Workload(tasks, "us")
    platform = gs.Platform("H100", cpus=4, mps_partitions={"p": 64, "q": 32})
    shared = gs.analyze(w, platform, "mps_static")
    assert shared.method == "holistic"
    assert any("2 channels in turn" in text for text in shared.assumptions)
    run = gs.observe(w, platform, "mps_static")
    assert "channel_release" in [rule.name for rule in run.rules]
    assert gs.analyze(w, platform.replace(channels=3), "mps_static").verdict == "guaranteed"
    together = platform.replace(mps_partitions={("p", "q"): 64})
    assert gs.observe(w, together, "mps_static").late_count.tolist() == [0] * 4
    assert gs.observe(w, together.replace(channels=3), "mps_static").late_count.tolist() == [0] * 4


def test_more_clients_than_a_server_takes() -> None:
    tasks = [gs.Task(f"t{i}", "900ms", [kernel("10us", 1)]) for i in range(61)]
    parts = {tuple(task.name for task in tasks): 64}
    platform = gs.Platform("H100", cpus=128, mps_partitions=parts)
    with pytest.raises(gs.NotApplicable, match="got 61 processes, expected at most 60"):
        gs.analyze(gs.Workload(tasks, "us"), platform, "mps_static")


@pytest.mark.parametrize("with_kernels", [False, True])
def test_copies_use_the_channels_of_their_own_process(with_kernels: bool) -> None:
    def one(time: int) -> gs.Kernel:
        return gs.Kernel(block_time=time, blocks=1, threads=32)

    gpu = gs.GPU(sms=16, threads_per_sm=1024, blocks_per_sm=4, cc=(9, 0), copy_engines=2)
    tasks = [
        gs.Task("a", 100, [one(10), one(10)], process="P"),
        gs.Task("x", 100, [gs.CopyIn(1)], process="Q", offset=60),
        gs.Task("b", 100, [one(1)], process="P", deadline=5, offset=1),
        gs.Task("c", 100, [one(1)], process="P", offset=50),
    ]
    parts = {"P": 8}
    if with_kernels:
        tasks.append(gs.Task("d", 100, [one(1)], process="Q", offset=70))
        parts["Q"] = 8
    w, platform = gs.Workload(tasks), gs.Platform(gpu, cpus=5, mps_partitions=parts)
    run = gs.observe(w, platform, "mps_static")
    twin = play(w, platform, "mps_static", until=300, cores=list(range(len(tasks))))
    assert run.worst.tolist() == twin.worst == [20, 1, 1, 1, 1][: len(tasks)]
    assert gs.compare(w, platform, ways=["mps_static"])[0].verdict != "not schedulable"


def test_copies_outside_of_all_green_contexts_take_none_of_their_channels() -> None:
    tasks = [
        gs.Task(name, 100, [gs.Kernel(block_time=9, blocks=1, threads=32)] * 2) for name in "ab"
    ]
    tasks += [gs.Task(f"c{i}", 100, [gs.CopyIn(1)]) for i in range(2)]
    gpu = gs.GPU(16, 1024, 4, cc=(9, 0), copy_engines=2, channels=2)
    platform = gs.Platform(gpu, cpus=4, green_contexts={("a", "b"): 8}, workqueue="balanced")
    w = gs.Workload(tasks)
    models = DerivedModels(w, platform)
    models.in_parts("green_contexts").refuse_shared_channels(2, balanced=True)
    with pytest.raises(ValueError, match="got 4 streams in green contexts, expected at most 2"):
        models.in_parts("green_contexts").refuse_shared_channels(2, balanced=False)
    more = w.replace(tasks=[*w, gs.Task("c2", 100, [gs.CopyIn(1)])])
    parts = DerivedModels(more, platform.replace(cpus=5)).in_parts("green_contexts")
    with pytest.raises(
        ValueError, match="got 3 streams outside of all of them, expected at most 2"
    ):
        parts.refuse_shared_channels(2, balanced=True)


def test_processes_are_those_of_the_tasks_with_kernels() -> None:
    tasks = [gs.Task(f"t{i}", "1ms", [kernel("10us", 1)]) for i in range(3)]
    copies = gs.Task("copies", "1ms", [gs.CopyIn("1us")], process="R")
    w = gs.Workload([*tasks, copies], "us")
    platform = gs.Platform("H100", cpus=4, mps_partitions={("t0", "t1", "t2"): 64})
    models = DerivedModels(w, platform)
    assert models.streams_beyond_channels("client") == 0  # not 3 streams in one client
    models.refuse_shared_channels("client")
    assert gs.observe(w, platform, "mps_static").late_count.sum() == 0
    alone = gs.Workload([copies], "us")
    for given, what in (({"R": 64}, "got none with kernels"), ({"S": 64}, "processes: R")):
        with pytest.raises(ValueError, match=what):
            gs.observe(alone, platform.replace(mps_partitions=given), "mps_static")


def test_no_response_on_the_whole_machine_exceeds_a_bound() -> None:
    random, guaranteed = Random(11), 0
    for _ in range(70):
        gpu = gs.GPU(random.randrange(2, 6), 1024, 4)
        n = random.randrange(2, 5)
        names = [f"t{i}" for i in range(n)]
        groups = [names[: n // 2], names[n // 2 :]]
        first = random.randrange(1, gpu.sms)
        parts = {
            tuple(groups[0]): first,
            tuple(groups[1]): random.randrange(1, gpu.sms - first + 1),
        }
        tasks = [
            gs.Task(
                name,
                random.randrange(30, 120),
                [
                    gs.CPU(random.randrange(1, 4)),
                    gs.Kernel(block_time=random.randrange(1, 6), threads=random.choice((256, 1024)),
                              blocks=random.randrange(1, 9)),
                    *([gs.CopyOut(random.randrange(1, 4))] if random.random() < 0.3 else []),
                ],
            )
            for name in names
        ]  # fmt: skip
        w = gs.Workload(tasks)
        platform = gs.Platform(gpu, cpus=n, mps_partitions=parts, slowdown=None)
        answer = gs.analyze(w, platform, "mps_static")
        if answer.verdict != "guaranteed":
            continue
        guaranteed += 1
        bounds = answer.response.tolist()
        run = gs.observe(w, platform, "mps_static", until=1500)
        assert (run.worst <= bounds).all()
        twin = play(w, platform, "mps_static", until=1500, cores=list(range(n)))
        assert all(seen <= bound for seen, bound in zip(twin.worst, bounds, strict=True))
    assert guaranteed > 14


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload().save(tmp_path / "w.toml")
    given = ["--gpu", "H100", "--cpus", "3", "--mps-partitions", "perception=64,planner+logger=32"]
    assert main(["check", str(tmp_path / "w.toml"), *given, "--way", "mps_static", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "guaranteed"
    assert document["platform"]["mps_partitions"] == [
        [["perception"], 64],
        [["planner", "logger"], 32],
    ]
    folder = tmp_path / "report"
    main(["compare", str(tmp_path / "w.toml"), *given, "--output", str(folder)])
    assert "static partitions of MPS" in (folder / "compare.html").read_text(encoding="utf-8")
    capsys.readouterr()
    for wrong, message in (
        ("perception", "expected NAME=SMS,... or NAME+NAME=SMS"),
        ("perception=63", "--mps-partitions perception: got 63 SMs, expected a positive multiple"),
        ("camera=64", "--mps-partitions: got 'camera', expected one of the workload's processes"),
    ):
        command = ["check", str(tmp_path / "w.toml"), "--gpu", "H100", "--mps-partitions", wrong]
        with pytest.raises(SystemExit) if "NAME" in message else nullcontext():
            assert main([*command, "--way", "mps_static"]) == 2
        assert message in capsys.readouterr().err


def test_no_slower_with_more_sms() -> None:
    """The bounds fall, or stay, as partitions grow."""
    last = np.array([10**9] * 3)
    for sms in (8, 16, 32, 64):
        platform = gs.Platform("H100", cpus=3, mps_partitions={"perception": sms, **{
            ("planner", "logger"): 64}})  # fmt: skip
        answer = gs.analyze(workload(), platform, "mps_static")
        now = answer.response.filled(10**9)
        assert (now <= last).all()
        last = now
