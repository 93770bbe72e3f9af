"""Green contexts as a property of a platform, and the way "green_contexts"."""

import json
import pickle

import numpy as np
import pytest

import gpusched as gs
from gpusched.cli.main import main
from gpusched.model.gpus.gpu_presets import partition_unit
from gpusched.model.workload.platforms import green_sms

pytestmark = pytest.mark.python

GREEN = {"camera": 16, ("planner", "map"): 24}


def workload(priorities=(None, None, None)):
    camera = [
        gs.CPU(20),
        gs.Kernel(50, blocks=528, threads=1024),
        gs.Kernel(9, blocks=9, threads=64),
    ]
    return gs.Workload(
        [
            gs.Task("camera", 4000, camera, stream_priority=priorities[0]),
            gs.Task(
                "planner",
                6000,
                [gs.Kernel(80, blocks=264, threads=1024)],
                stream_priority=priorities[1],
            ),
            gs.Task(
                "map", 9000, [gs.Kernel(30, blocks=40, threads=64)], stream_priority=priorities[2]
            ),
        ]
    )


# The platform -------------------------------------------------------------------------------------


def test_the_platform_keeps_green_contexts():
    platform = gs.Platform("H100", green_contexts=GREEN)
    assert platform.green_contexts == ((("camera",), 16), (("planner", "map"), 24))
    again = eval(repr(platform), {"Platform": gs.Platform, "gs": gs})
    assert again == platform and hash(again) == hash(platform)
    assert pickle.loads(pickle.dumps(platform)) == platform
    assert gs.Platform("H100", green_contexts=platform.green_contexts) == platform
    assert platform.replace(green_contexts=None).green_contexts is None
    assert platform.replace(cpus=4).green_contexts == platform.green_contexts
    assert "camera 16 SMs, planner + map 24 SMs" in platform._repr_html_()
    with pytest.raises(
        ValueError, match=r"green_contexts\['camera'\]: got 16 SMs, expected 1 to 8"
    ):
        platform.replace(gpu="Xavier")


def test_numbers_take_the_first_free_sms():
    gpu = gs.GPU(10, 1024, 32)
    given = {"a": 2, "b": [1, 0], "c": 3}
    platform = gs.Platform(gpu, green_contexts=given)
    assert green_sms(platform.green_contexts, gpu) == [(2, 3), (1, 0), (4, 5, 6)]


@pytest.mark.parametrize(
    ("cc", "unit"),
    [(None, 1), ("6.1", 1), ("7.5", 2), ("8.6", 2), ("8.7", 2), ("9.0", 8), ("11.0", 2)],
)
def test_units_of_the_compute_capability(cc, unit):
    gpu = gs.GPU(33, 1024, 32, cc=cc)
    assert partition_unit(gpu.cc) == unit
    assert partition_unit(gpu.cc, together=False) == min(unit, 2)
    good = [n for n in range(1, 33) if n % unit == 0]
    for count in range(1, 33):
        if count in good:
            gs.Platform(gpu, green_contexts={"a": count})
            rest = 33 - count
            gs.Platform(gpu, green_contexts={"a": count, "b": rest})  # of all SMs
        else:
            with pytest.raises(ValueError, match=r"green_contexts\['a'\]: got"):
                gs.Platform(gpu, green_contexts={"a": count})
    gs.Platform(gpu, green_contexts={"a": 33})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "green_contexts: got none"),
        ({"a": 0}, r"green_contexts\['a'\]: got 0 SMs, expected 1 to 132"),
        ({"a": 12}, r"green_contexts\['a'\]: got 12 SMs, expected a multiple of 8"),
        (
            {"a": 12, "b": 12},
            r"expected a multiple of 8 \(or of 2 with .*\), or for one green context",
        ),
        ({"a": 64, "b": 72}, r"green_contexts\['b'\]: got 72 SMs, expected at most 68"),
        ({"a": 8.5}, r"green_contexts\['a'\]"),
        ({"a": []}, "got no SMs"),
        ({"a": [132]}, "got SM 132, expected SMs from 0 to 131"),
        ({"a": [*range(7), 3]}, "got SM 3 twice"),
        (
            {"a": range(8), "b": range(7, 15), "c": 120},
            r"\['c'\]: got 120 SMs, expected at most 117",
        ),
        ({"a": range(8), "b": range(7, 14)}, r"\['b'\]: got 7 SMs, expected a multiple of 8"),
        ({"a": 8, ("b", "a"): 8}, "green_contexts: got 'a' twice"),
        ({"": 8}, "green_contexts: got ''"),
        ({3: 8}, "green_contexts: got 3"),
        ([("a", 8, 9)], "expected a pair"),
        (["ab"], "expected a pair"),
        (5, "green_contexts: got 5"),
    ],
)
def test_green_contexts_that_are_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        gs.Platform("H100", green_contexts=given)


def test_a_gpu_is_needed():
    with pytest.raises(ValueError, match=r"green_contexts: got .* without a GPU"):
        gs.Platform(green_contexts={"a": 8})


# The way ------------------------------------------------------------------------------------------


def test_each_green_context_is_a_gpu_of_its_own():
    """Alone on as many SMs a task has the same bound."""
    platform = gs.Platform("H100", cpus=3, green_contexts=GREEN, slowdown=None)
    answer = gs.analyze(workload(), platform, "green_contexts")
    assert answer.schedulable and answer.detail.sharing == "own"
    assert answer.detail.partition.tolist() == [0, 1, 1]
    assert answer.detail.partition_sms == (16, 24)
    part = gs.GPU.preset("H100").replace(sms=16, sm_order="ascending")
    times = workload().kernel_times(platform)[0]
    chain = gs.KernelChains(
        [4000],
        [[of.block_time for of in times if of is not None]],
        [[528, 9]],
        [[1024, 64]],
        [[20, 0]],
    )
    alone = gs.analysis.priority_streams(chain, gpu=part)
    assert alone.response[0] == answer.response[0]
    assert any("SMs of a green context are its own" in text for text in answer.assumptions)


def test_shared_queues_have_larger_bounds():
    platform = gs.Platform("H100", cpus=3, green_contexts=GREEN)
    own, shared = (
        gs.analyze(workload(), platform, "green_contexts", queues=queues).response
        for queues in ("own", "shared")
    )
    assert (shared > own).all()


def test_blocks_stay_on_their_sms():
    platform = gs.Platform(
        "H100", cpus=3, green_contexts={"camera": range(100, 108), **{("planner", "map"): 24}}
    )
    run = gs.observe(workload(), platform, "green_contexts", until=9000)
    blocks = run.detail.blocks
    task = run.detail.operations.task[blocks.operation]
    assert set(blocks.sm[task == 0].tolist()) == set(range(100, 108))
    assert set(blocks.sm[task > 0].tolist()) <= set(range(24))
    assert any("queues of their own" in text for text in run.assumptions)
    shared = gs.observe(workload(), platform, "green_contexts", until=9000, queues="shared")
    assert any("share their queues" in text for text in shared.assumptions)


def test_streams_have_the_priorities_of_the_workload():
    platform = gs.Platform("H100", cpus=3, green_contexts=GREEN)
    plain = gs.analyze(workload(), platform, "green_contexts").detail
    assert plain.tasks.priority.tolist() == [0, 0, 0]
    ranked = gs.analyze(workload((1, 2, 0)), platform, "green_contexts").detail
    assert ranked.tasks.priority.tolist() == [1, 2, 0]
    with pytest.raises(ValueError, match="got no stream_priority"):
        gs.analyze(workload((1, None, 0)), platform, "green_contexts")


def test_a_profile_gives_the_time_on_as_many_sms():
    kernel = gs.Kernel(10, blocks=132, threads=1024, sms={8: 400, 16: 200})
    w = gs.Workload([gs.Task("a", 4000, [kernel])])
    found = [
        int(
            gs.analyze(
                w, gs.Platform("H100", green_contexts={"a": sms}), "green_contexts"
            ).response[0]
        )
        for sms in (8, 16)
    ]
    assert found[0] >= 400 and 200 <= found[1] < 400


def test_a_platform_without_green_contexts_is_refused():
    platform = gs.Platform("H100", cpus=3)
    for call in (gs.analyze, gs.observe):
        with pytest.raises(ValueError, match="green_contexts: got None, expected the SMs of green"):
            call(workload(), platform, "green_contexts")


# SMs of several contexts --------------------------------------------------------------------------

FOUR = gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=16, copy_engines=2)


def camera_and_logger():
    return gs.Workload(
        [
            gs.Task("camera", 100, [gs.Kernel(blocks=2, threads=1024, block_time=5)], offset=1),
            gs.Task("logger", 100, [gs.Kernel(blocks=8, threads=1024, block_time=10)]),
        ],
        "us",
    )


@pytest.mark.parametrize(
    ("green", "worst"),
    [
        ({"camera": [0, 1], "logger": [2, 3]}, [5, 40]),
        # On all SMs four blocks of the logger run until 10; camera until 15; then two are left.
        ({"camera": [0, 1]}, [14, 25]),
        ({"camera": 2}, [14, 25]),
        # Of camera's blocks one runs from 1, the other one from 6 on the SM that is its alone.
        ({"camera": [0, 1], "logger": [1, 2, 3]}, [10, 30]),
    ],
)
def test_blocks_of_contexts_that_share_sms(green, worst):
    platform = gs.Platform(FOUR, cpus=2, green_contexts=green, slowdown=None)
    run = gs.observe(camera_and_logger(), platform, "green_contexts", until=100)
    assert run.worst.tolist() == worst
    common = "several contexts, of which the one with the more urgent stream" in str(
        run.assumptions
    )
    assert common == (worst != [5, 40])
    one = gs.observe(
        camera_and_logger(), platform, "green_contexts", until=100, seed=1, low=0.5, count=3
    )
    assert (one.worst <= max(worst)).all()


@pytest.mark.parametrize(
    ("green", "message"),
    [
        ({"camera": 2}, "logger: got 2 SMs that the context of camera has, too"),
        ({"logger": [1, 2], "camera": [2, 3]}, "logger: got 1 SM that the context of camera has"),
    ],
)
@pytest.mark.parametrize("shape", [True, False])
def test_tests_need_sms_of_one_context(green, message, shape):
    """Kernels that are known by their time alone are no exception."""
    w = camera_and_logger()
    if not shape:
        w = w.replace(tasks=[task.replace(segments=[gs.Kernel(5)]) for task in w])
    platform = gs.Platform(FOUR, cpus=2, green_contexts=green, slowdown=None)
    with pytest.raises(gs.NotApplicable, match=message):
        gs.analyze(w, platform, "green_contexts")
    row = gs.compare(w, platform, ways=["green_contexts"])[0]
    assert row.schedulable is None and message in row.why()
    chosen = gs.choose(w, platform, "green_contexts", what=["sms"])
    assert chosen.before is None and message in chosen.refused and chosen.accepted
    parts = [set(sms) for sms in green_sms(chosen.platform.green_contexts, FOUR)]
    assert len(set().union(*parts)) == sum(map(len, parts))


def test_copies_outside_are_in_the_primary_context():
    """With kernels there or without; and a late job is one in the simulation, too."""
    copier = gs.Task("copier", 100, [gs.CopyIn(5)])
    w = camera_and_logger().with_task(copier)
    for green in ({"camera": 2}, {"camera": 2, "logger": 2}):
        for workqueue in ("shared", "balanced"):
            platform = gs.Platform(
                FOUR, cpus=3, green_contexts=green, slowdown=None, workqueue=workqueue
            )
            run = gs.observe(w, platform, "green_contexts", until=100)
            assert run.worst.tolist()[2] == 5
    late = w.with_task(w["camera"].replace(deadline=13))
    platform = gs.Platform(FOUR, cpus=3, green_contexts={"camera": 2}, slowdown=None)
    [row] = gs.compare(late, platform, ways=["green_contexts"])
    assert row.schedulable is False and "camera: job 0" in row.why()


@pytest.mark.parametrize("way", ["green_contexts", "priority_streams", "mps"])
def test_copies_that_are_counted_are_not_denied(way):
    kernel = gs.Kernel(50, blocks=8, threads=256)
    platform = gs.Platform("H100", cpus=2, green_contexts={"a": 8, "b": 8}, mps={"a": 50})
    for parts, absent in (
        ([kernel], "; there are no copies, and no NULL stream."),
        ([gs.CopyIn(5, by="cpu"), kernel], "; there are no copies, and no NULL stream."),
        ([gs.CopyIn(5), kernel], "; there is no NULL stream."),
    ):
        tasks = [gs.Task(name, 1000, parts) for name in "ab"]
        if way == "mps":
            tasks = [task.replace(process=task.name) for task in tasks]
        answer = gs.analyze(gs.Workload(tasks), platform, way)
        [said] = [text for text in answer.assumptions if "NULL stream" in text]
        assert said.endswith(absent)
        waits = any("each copy waits" in text for text in answer.assumptions)
        assert waits == ("no copies" not in said)


def test_the_reason_is_given_once_with_what_to_give():
    found = gs.compare(workload(), gs.Platform("H100", cpus=3), ways=["green_contexts"])
    said = (
        "green_contexts: got None, expected the SMs of green contexts "
        "(gs.Platform(green_contexts=), --green-contexts)"
    )
    assert found.why() == found["green_contexts"].why() == said
    assert said in str(found).splitlines()


def test_processes_and_options_that_are_refused():
    platform = gs.Platform("H100", cpus=3, green_contexts=GREEN)
    apart = workload().replace(tasks=[task.replace(process=task.name) for task in workload()])
    with pytest.raises(ValueError, match="process: got 3 processes"):
        gs.analyze(apart, platform, "green_contexts")
    for call in (gs.analyze, gs.observe):
        with pytest.raises(ValueError, match="mode: got an unknown option of green_contexts"):
            call(workload(), platform, "green_contexts", mode="busy")
        with pytest.raises(ValueError, match="queues: got 'many'"):
            call(workload(), platform, "green_contexts", queues="many")
    with pytest.raises(ValueError, match="queues: got an unknown option of priority_streams"):
        gs.analyze(workload(), platform, "priority_streams", queues="own")


def test_streams_that_share_channels_wait_for_each_other():
    """Xavier has two channels, for all green contexts or, balanced, for each."""
    kernel = gs.Kernel(10, blocks=1, threads=32)
    w = gs.Workload([gs.Task(f"t{i}", 1000, [kernel]) for i in range(3)])
    apart = gs.Platform("Xavier", green_contexts={("t0", "t1"): 4, "t2": 4})
    shared = gs.analyze(w, apart, "green_contexts")
    assert shared.accepted and shared.method == "holistic"
    balanced = gs.analyze(w, apart.replace(workqueue="balanced", cpus=3), "green_contexts")
    assert balanced.accepted and balanced.response[2] == 14 < shared.response[2]
    together = gs.Platform("Xavier", green_contexts={("t0", "t1", "t2"): 8})
    assert gs.analyze(w, together.replace(workqueue="balanced"), "green_contexts").accepted
    assert gs.observe(w, together, "green_contexts").worst.all()


def test_tasks_without_kernels_need_no_green_context():
    w = workload() + gs.Workload([gs.Task("host", 1000, [gs.CPU(5)])])
    platform = gs.Platform("H100", cpus=4, green_contexts=GREEN)
    assert gs.analyze(w, platform, "green_contexts").schedulable
    assert gs.observe(w, platform, "green_contexts", until=9000).worst[:3].all()


@pytest.mark.parametrize("queues", ["own", "shared"])
def test_no_response_exceeds_the_bound(queues):
    rng = np.random.default_rng(4)
    checked = 0
    for _ in range(40):
        ranked = rng.random() < 0.5
        tasks = [
            gs.Task(
                f"t{i}",
                int(rng.integers(400, 1500)),
                [
                    gs.Kernel(
                        int(rng.integers(5, 60)),
                        blocks=int(rng.integers(1, 80)),
                        threads=32 * int(rng.integers(1, 20)),
                        repeat=int(rng.integers(1, 3)),
                    )
                ],
                stream_priority=int(rng.integers(0, 3)) if ranked else None,
            )
            for i in range(4)
        ]
        green = {("t0", "t1"): 2 * int(rng.integers(1, 4)), ("t2", "t3"): 2}
        w, platform = (
            gs.Workload(tasks),
            gs.Platform("Xavier", cpus=4, green_contexts=green, channels=4),
        )
        answer = gs.analyze(w, platform, "green_contexts", queues=queues)
        run = gs.observe(w, platform, "green_contexts", until=20_000, queues=queues)
        known = ~np.ma.getmaskarray(answer.response) & answer.bounded
        assert (run.worst[known] <= answer.response.filled(0)[known]).all()
        checked += int(known.sum())
    assert checked > 60


# Comparisons and commands -------------------------------------------------------------------------


def test_a_row_of_a_comparison():
    platform = gs.Platform("H100", cpus=3, green_contexts=GREEN)
    c = gs.compare(workload(), platform, ways=["streams", "green_contexts"], until=9000)
    row = c["green_contexts"]
    assert row.schedulable and row.run is not None and row.answer is not None
    assert row.answer.method == "priority_streams"
    document = c.document(margin=False)
    assert json.loads(json.dumps(document)) == document
    given = document["platform"]["green_contexts"]
    assert given == [[["camera"], 16], [["planner", "map"], 24]]
    assert gs.Platform("H100", cpus=3, green_contexts=given) == platform
    assert "camera 16 SMs" in c.to_html(margin=False)
    assert gs.margin(workload(), platform, "green_contexts").factor is not None
    without = gs.compare(workload(), gs.Platform("H100"), ways=["green_contexts"])
    assert "--green-contexts" in without["green_contexts"].why()


@pytest.mark.long
def test_commands(tmp_path, capsys):
    path = tmp_path / "w.toml"
    workload().save(path)
    given = [str(path), "--gpu", "H100", "--cpus", "3", "--green-contexts"]
    method = ["--way", "green_contexts"]
    assert main(["check", *given, "camera=64,planner+map=68", *method]) == 0
    assert (
        main(["check", *given, "camera+planner+map=64", *method, "--option", "queues=shared"]) == 0
    )
    assert main(["simulate", *given, "camera=8,planner+map=8", *method, "--until", "9us"]) in (
        0,
        3,
    )
    assert main(["compare", *given, "camera=8,planner+map=8"]) == 0
    assert "green_contexts" in capsys.readouterr().out
    assert main(["check", *given, "camera=7", *method]) == 2
    assert "--green-contexts" in capsys.readouterr().err
