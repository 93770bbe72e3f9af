"""Tests of one workload under every way of sharing the GPU: analyze, observe, compare, margin."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import gpusched as gs
from gpusched.model.workload.time_units import time_with_unit
from gpusched.ways import OUTSIDE, WAYS

ORIN = gs.Platform("AGX Orin", cpus=2)


def pipeline() -> gs.Workload:
    """Three tasks: a camera with a copy, a planner with CPU work around a kernel, a chain."""
    return gs.Workload(
        [
            gs.Task("camera", "40ms", [
                gs.CPU("2ms"), gs.CopyIn("300us"), gs.Kernel("5ms", blocks=32, threads=256)]),
            gs.Task("planner", "80ms", [
                gs.CPU("9ms"), gs.Kernel("8ms", blocks=8, threads=128), gs.CPU("1ms")]),
            gs.Task("net", "50ms", [
                gs.CPU("1ms"), gs.Kernel("2ms", blocks=60, threads=128),
                gs.Kernel("3ms", blocks=160, threads=128), gs.CPU("1ms")]),
        ],
        tick="us",
    )  # fmt: skip


def single(**facts: object) -> gs.Workload:
    """Two tasks of one kernel each, without copies."""
    return gs.Workload(
        [
            gs.Task("a", 40, [gs.CPU(2), gs.Kernel(10, blocks=4, threads=256)], **facts),  # type: ignore[arg-type]
            gs.Task("b", 80, [gs.Kernel(20, blocks=4, threads=256), gs.CPU(3)], **facts),  # type: ignore[arg-type]
        ]
    )


# Ways -------------------------------------------------------------------------------------------


def test_every_method_is_a_way_or_has_a_reason_not_to_be_one() -> None:
    tests = {way.test for way in WAYS} - {None}
    assert {method.name for method in gs.methods()} == tests | OUTSIDE.keys()
    assert not tests & OUTSIDE.keys()


@pytest.mark.parametrize("name", [*OUTSIDE, "mpc", "", 3, None])
def test_unknown_methods_are_refused(name: object) -> None:
    for function in (gs.analyze, gs.observe, gs.margin):
        with pytest.raises(ValueError, match=r"^way: got .*expected"):
            function(pipeline(), ORIN, name)  # type: ignore[operator]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_unknown_options_are_refused(way: object) -> None:
    name = way.name  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"way: got .*no test|sped: got an unknown option"):
        gs.analyze(single(), ORIN, name, sped=1)
    with pytest.raises(ValueError, match="sped: got an unknown option"):
        gs.observe(single(), ORIN, name, sped=1)


# Answers ----------------------------------------------------------------------------------------


def test_responses_are_of_whole_jobs() -> None:
    """The bound of a kernel that never waits is its time, that of its job the sum of its parts."""
    w = single()
    answer = gs.analyze(w, ORIN.replace(slowdown=None), "streams")
    assert answer.detail.response.tolist() == [10, 20]
    assert answer.response.tolist() == [12, 23]
    assert gs.analyze(w[["b"]], ORIN, "fifo_bound").response.tolist() == [23]
    assert gs.analyze(w[["b"]], ORIN, "pbs").response.tolist() == [23]
    assert gs.analyze(w[["b"]], ORIN, "mpcp").response.tolist() == [23]


def test_answers_are_those_of_the_methods() -> None:
    w, platform = pipeline(), ORIN.replace(server_overhead="10us")
    hosts = w.hosts(platform, sms="all").tasks
    for name in ("mpcp", "fmlp_plus", "gpu_server"):
        more = {"server_overhead": 10} if name == "gpu_server" else {}
        direct = gs.analysis.partition(hosts, 2, name, **more)
        answer = gs.analyze(w, platform, name)
        assert answer.response.tolist() == direct.response.tolist()
        assert answer.schedulable is direct.schedulable
    divided = w.scaled(kernels="1.4").hosts(platform).tasks
    direct = gs.analysis.stgm_allocate(divided, 2, 16, apart=True)
    assert gs.analyze(w, platform, "stgm").response.tolist() == direct.response.tolist()
    direct = gs.analysis.stgm_allocate(divided, 2, 16)
    assert (
        gs.analyze(w, platform, "stgm", apart=False).response.tolist() == direct.response.tolist()
    )
    answer = gs.analyze(w, platform, "srm", lock="omlp")
    assert answer.response.tolist() == gs.analysis.srm(hosts, 2, lock="omlp").response.tolist()
    view = w.batches(platform, chains="keep")
    found = gs.analyze(w, platform.replace(cpus=3), "pbs")
    assert found.schedule is not None
    assert (
        found.schedule.batch.tolist()
        == gs.pbs.search(view.tasks, view.table).schedule.batch.tolist()
    )


def test_global_edf_is_accepted_where_no_deadline_is_missed() -> None:
    """Bounded tardiness alone is no guarantee of deadlines."""
    w = gs.Workload([gs.Task(name, 30, [gs.CPU(20)]) for name in "abc"])
    answer = gs.analyze(w, gs.Platform(cpus=2), "srm")
    assert answer.detail.accepted and not answer.accepted
    assert answer.schedulable is None
    assert answer.slack.tolist() == [-20, -20, -20]
    assert answer.why() == "a, with 50ns for a deadline of 30ns, may be late."


def test_reasons_of_derived_models_say_times_in_units() -> None:
    parts = [gs.CPU("10ms"), gs.Kernel("4ms")]
    w = gs.Workload([gs.Task(n, "30ms", parts, deadline="25ms") for n in "ab"], tick="us")
    said = gs.analyze(w, gs.Platform(cpus=1), "mpcp").why()
    assert said.startswith("b may miss its deadline of 25ms: its response bound comes to ")
    assert "ms or more" in said
    assert (
        "misses its deadline at 30,"
        in gs.pbs.edf_serial(
            gs.KernelTasks(period=[30_000, 30_000], wcet=[20_000, 20_000]),
            gs.BatchTable.from_dict(2, {(0,): 20_000, (1,): 20_000, (0, 1): 50_000}),
        ).why()
    )


def test_tasks_that_a_model_leaves_out_have_a_response() -> None:
    """On a CPU that no other task uses, or with a bound that counts who shares its CPU."""
    w = single() + gs.Workload([gs.Task("cpu", 50, [gs.CPU(1)])])
    answer = gs.analyze(w, ORIN.replace(cpus=3), "streams")
    assert answer.accepted and answer.response[2] == 1 and answer.bounded.all()
    answer = gs.analyze(w, ORIN, "streams")
    assert answer.accepted and answer.method == "holistic" and answer.bounded.all()
    assert 1 <= answer.response[2] <= 50
    answer = gs.analyze(w, ORIN, "pbs")
    assert answer.accepted and answer.response[2] >= 1 and answer.bounded.all()
    answer = gs.analyze(w, ORIN, "edf_parallel")
    assert answer.verdict == "conditional" and answer.response[2] == 1 and answer.bounded.all()
    assert "under the conditions" in answer.why("cpu")
    assert any("left out" in text for text in answer.assumptions)
    run = gs.observe(w, ORIN.replace(cpus=3), "streams")
    assert run.worst[2] == 1 and run.why("cpu").startswith("cpu: job 0, ")
    run = gs.observe(w, ORIN, "streams")  # its CPU is not its own
    assert run.worst[2] >= 1


def test_given_cores_are_kept() -> None:
    w = gs.Workload([
        gs.Task(name, 100, [gs.CPU(5), gs.Kernel(7, blocks=1, threads=32)], core=core)
        for name, core in (("a", 1), ("b", 1), ("c", 0))
    ])  # fmt: skip
    answer = gs.analyze(w, ORIN, "mpcp")
    assert answer.detail.hosts.core.tolist() == [1, 1, 0]  # type: ignore[attr-defined]
    assert not any("worst fit" in text for text in answer.assumptions)
    for name in ("stgm", "srm", "container", "driver"):
        with pytest.raises(ValueError, match="a: got core 1, expected none"):
            (gs.observe if name == "driver" else gs.analyze)(w, ORIN, name)
    half = w.replace(tasks=[w[0], w[1], w[2].replace(core=None)])
    with pytest.raises(ValueError, match="c: got no core, expected one as of other tasks"):
        gs.analyze(half, ORIN, "mpcp")


# Runs -------------------------------------------------------------------------------------------


def test_a_run_has_whole_jobs() -> None:
    w = single()
    for way in ("one_stream", "streams", "priority_streams", "mpcp", "srm", "driver"):
        run = gs.observe(w[["b"]], ORIN, way, until=200)
        assert run.release.tolist() == [0, 80, 160], way
        assert run.end.tolist() == [23, 103, 183], way
        assert run.worst.tolist() == [23], way
        assert run.schedulable is None


def test_a_missed_deadline_is_seen() -> None:
    w = gs.Workload([gs.Task(n, 40, [gs.Kernel(44, blocks=9999, threads=1024)]) for n in "ab"])
    c = gs.compare(w, ORIN)
    for way in ("one_stream", "streams", "mpcp", "driver", "edf_serial", "edf_parallel", "pbs"):
        assert c[way].schedulable is False, way
    assert c.schedulable is False
    assert c.best() is None
    run = c["one_stream"].run
    assert run is not None
    assert "later than" not in run.why() and "more than its deadline" in run.why("b")
    assert run.late_count[1] == (run.task == 1).sum()


def test_time_slices_and_priorities_are_played() -> None:
    w = gs.Workload([
        gs.Task("long", 1000, [gs.Kernel(300, blocks=9999, threads=1024)]),
        gs.Task("short", 100, [gs.Kernel(10, blocks=16, threads=1024)], offset=5),
    ])  # fmt: skip
    platform = ORIN.replace(timeslice=20)
    one = gs.observe(w, platform, "one_stream", until=1000)
    sliced = gs.observe(w, platform, "time_slices", until=1000)
    assert one.worst[1] > 290 > 60 > sliced.worst[1]
    assert any("process of its own" in text for text in sliced.assumptions)
    given = w.replace(tasks=[w[0].replace(process="p"), w[1].replace(process="q")])
    assert gs.observe(given, platform, "time_slices", until=1000).worst.tolist() == (
        sliced.worst.tolist()
    )
    with pytest.raises(ValueError, match="process: got 2 processes"):
        gs.observe(given, platform, "priority_streams")


def test_dispatchers_are_played_on_the_machine() -> None:
    for name in ("edf_serial", "edf_parallel", "pbs"):
        run = gs.observe(single(), ORIN, name)
        assert run.worst.tolist() == [30, 23]
        assert not run.late.any()
    late = gs.Workload([gs.Task(n, 40, [gs.Kernel(30, blocks=1, threads=32)]) for n in "ab"])
    with pytest.raises(gs.NotApplicable, match="has not found a plan"):
        gs.observe(late, ORIN.replace(slowdown=9), "pbs")


# Comparisons ------------------------------------------------------------------------------------


def test_a_comparison_has_a_row_for_every_way_and_mode() -> None:
    c = gs.compare(pipeline(), ORIN)
    labels = [row.label for row in c]
    assert len(labels) == len(set(labels)) == sum(max(1, len(way.modes)) for way in WAYS)
    assert {row.way.name for row in c} == {way.name for way in WAYS}
    for row in c:
        assert c[row.label] is row
        assert row.why()
    assert c["mpcp"].label == "mpcp (suspend)"
    assert c["streams"].answer.method == "holistic"  # tasks share CPUs
    alone = gs.compare(pipeline(), ORIN.replace(cpus=3), ways=["streams"])[0]
    assert alone.answer.method == "priority_streams"  # a job has two kernels
    with pytest.raises(KeyError, match="expected one of one_stream"):
        c["gedf"]
    assert "mpcp (busy)" in str(c) and "mpcp (busy)" in c._repr_html_()
    w = c.workload
    head, *lines = str(c).splitlines()[: len(c) + 1]
    titles = "way claim verdict deploy tightest task slack late P99 worst observed"
    assert head.split() == titles.split() and len(head) < 116
    for line, row in zip(lines, c, strict=True):
        cells = re.split("  +", line)
        if row.run is None or row.tightest is None:
            assert cells[-3:] == ["–"] * 3
        else:
            share = row.run.share_late[row.tightest]
            assert cells[-2] == time_with_unit(row.run.percentile(99, row.tightest), w.tick_ns)
            assert (cells[-3] == "0 %") == (share == 0)
    frame = c.to_frame()
    assert len(frame) == 3 * len(c)
    assert frame.response.isna().sum() == 3 * sum(row.answer is None for row in c)
    for column in ("p99", "share_late"):
        assert frame[column].isna().sum() == 3 * sum(row.run is None for row in c)
    assert (frame.p99 <= frame.observed).dropna().all()


def test_a_comparison_without_any_model() -> None:
    """A workload that no test takes has reasons, and no answer."""
    w = gs.Workload([gs.Task("a", 40, [gs.Kernel(3)], jitter=2)])
    # Kernels one by one need no SMs.
    whole = {"one_stream", "time_slices", "edf_serial", "gcaps", "mpcp", "fmlp_plus", "gpu_server"}
    c = gs.compare(w, gs.Platform())
    assert {row.way.name for row in c if row.verdict == "guaranteed"} == whole
    c = gs.compare(w, gs.Platform(), ways=[way.name for way in WAYS if way.name not in whole])
    assert c.schedulable is None and c.best() is None
    for row in c:
        assert row.answer is None and row.verdict in ("not applicable", "undecided")
        if row.way.test is not None:
            assert "jitter" in row.why_no_answer or "got no GPU" in row.why_no_answer


def test_observed_responses_are_within_bounds() -> None:
    for w in (pipeline(), single(), pipeline()[:2]):
        for row in gs.compare(w, ORIN):
            if row.answer is not None and row.run is not None:
                if "cpu_alone" in {each.premise for each in row.answer.conditions}:
                    continue  # the run delays CPU work
                both = row.answer.bounded & ~np.ma.getmaskarray(row.run.worst)
                assert (row.run.worst <= row.answer.response)[both].all(), row.label


@pytest.mark.parametrize(
    ("name", "costs"),
    [
        ("time_slices", {"timeslice": "4ms", "context_switch": "1ms", "ring": "cyclic"}),
        ("gcaps", {"update_cost": "1ms", "context_switch": "200us"}),
        ("gpu_server", {"server_overhead": "300us"}),
    ],
)
def test_costs_of_a_way_are_those_of_its_rows(
    name: str, costs: dict[str, str], tmp_path: Path
) -> None:
    """A row of a way with costs is that of a platform with them, saved, grown or played again."""
    w = pipeline()
    way = gs.ways.as_way(name, **costs)
    stated = gs.compare(w, ORIN, ways=[way], until="1s")
    platform = gs.compare(w, ORIN.replace(**costs), ways=[name], until="1s")
    plain = gs.compare(w, ORIN, ways=[name], until="1s")
    stated.save(tmp_path / "stated.gs")
    for found in (stated, gs.Comparison.load(tmp_path / "stated.gs")):
        for row, expected, without in zip(found, platform, plain, strict=True):
            assert row.answer is not None and row.run is not None
            assert expected.answer is not None and expected.run is not None
            assert row.platform == expected.platform
            assert row.answer.response.tolist() == expected.answer.response.tolist()
            assert row.run.response.tolist() == expected.run.response.tolist()
            assert row.margin().factor == expected.margin().factor != without.margin().factor
            assert row.label == row.margin().label != without.label
            assert all(f"{name}={value}" in row.label for name, value in costs.items())
        wrote = found.save_report(tmp_path / "stated")
        other = platform.save_report(tmp_path / "platform")
        traces = ({Path(path).read_text() for path in paths if "trace" in path}
                  for paths in (wrote, other))  # fmt: skip
        assert next(traces) == next(traces)


def test_rows_of_one_way_are_told_apart(tmp_path: Path) -> None:
    ways = [
        "gcaps",
        gs.ways.Gcaps(mode="busy"),
        gs.ways.Gcaps(mode="busy", update_cost="1ms"),
        gs.ways.Gcaps(mode="busy", update_cost="2ms"),
        gs.ways.Mpcp(mode="busy", fixed_point="one_pass"),
        "mpcp",
    ]
    found = gs.compare(pipeline(), ORIN, ways=ways)
    assert [row.label for row in found] == [
        "gcaps (suspend)", "gcaps (busy)", "gcaps (busy, update_cost=1ms)",
        "gcaps (busy, update_cost=2ms)", "mpcp (busy, fixed_point=one_pass)",
        "mpcp (suspend)", "mpcp (busy)", "mpcp (spin)",
    ]  # fmt: skip
    for row in found:
        assert found[row.label] is row
    wrote = found.save_report(tmp_path)
    assert sum("trace" in path for path in wrote) == len(found)


def test_advice_is_about_the_costs_of_the_way() -> None:
    """Changes that would help are sought with the costs that the way states."""
    w, slow = single(), {"update_cost": 5}
    stated = gs.compare(w, ORIN, ways=[gs.ways.Gcaps(mode="busy", **slow)]).advice()
    platform = gs.compare(w, ORIN.replace(**slow), ways=[gs.ways.Gcaps(mode="busy")]).advice()
    free = gs.compare(w, ORIN, ways=[gs.ways.Gcaps(mode="busy")]).advice()
    assert str(stated).replace(", update_cost=5", "") == str(platform) != str(free)


def test_chosen_methods_come_in_their_order() -> None:
    c = gs.compare(single(), ORIN, ways=["pbs", "search", "streams"], simulate=False)
    assert [row.label for row in c] == ["pbs", "streams"]
    assert all(row.run is None for row in c)
    with pytest.raises(TypeError, match="ways: got 'pbs'"):
        gs.compare(single(), ORIN, ways="pbs")


def test_progress_counts_rows() -> None:
    seen: list[tuple[int, int]] = []
    c = gs.compare(single(), ORIN, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i, len(c)) for i in range(1, len(c) + 1)]


def test_a_stopped_comparison_raises() -> None:
    with pytest.raises(gs.Cancelled):
        gs.compare(pipeline(), ORIN, stop=bytearray(b"\1"))


def test_pictures() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    c = gs.compare(pipeline(), ORIN)
    axes = c.plot()
    assert len(axes) == 3
    assert [ax.get_title(loc="left") for ax in axes] == ["camera", "planner", "net"]
    [one] = c.plot(tasks=["net"])
    # Without mig, mps_static and green_contexts, whose parts the platform lacks.
    assert len(one.get_yticklabels()) == len(c) - 3
    with pytest.raises(KeyError):
        c.plot(tasks=["nobody"])
    plt.close("all")


def test_answers_pickle() -> None:
    c = gs.compare(pipeline(), ORIN)
    again = pickle.loads(pickle.dumps(c))
    assert str(again) == str(c)


# Margins ----------------------------------------------------------------------------------------


def twin(w: gs.Workload, what: str, factor: Fraction) -> gs.Workload:
    if what == "kernels":
        return w.scaled(kernels=factor)
    whole = w.scaled(kernels=factor, cpu=factor, copies=factor)
    if what == "all":
        return whole
    return w.replace(tasks=[whole[t.name] if t.name == what else t for t in w])


@pytest.mark.parametrize("what", ["all", "kernels", "net"])
@pytest.mark.parametrize("method", ["mpcp", "fmlp_plus", "gpu_server"])
def test_exact_margins_are_exact(method: str, what: str) -> None:
    """With the cores kept, the factor is accepted, and the next larger times are not."""
    w = pipeline()
    chosen = gs.analyze(w, ORIN, method).detail.hosts.core.tolist()  # type: ignore[attr-defined]
    w = w.replace(tasks=[t.replace(core=core) for t, core in zip(w, chosen, strict=True)])
    found = gs.margin(w, ORIN, method, what)
    assert found.exact and found.factor is not None and found.failed is None
    assert gs.analyze(twin(w, what, found.factor), ORIN, method).accepted
    assert not gs.analyze(twin(w, what, found.factor + Fraction(1, 10**9)), ORIN, method).accepted


def test_an_exact_margin_is_that_of_a_scan() -> None:
    """All factors that change a time, from the least to the first that fails."""
    w = gs.Workload([
        gs.Task("a", 30, [gs.CPU(2), gs.Kernel(3)], core=0),
        gs.Task("b", 50, [gs.CPU(4), gs.Kernel(5)], core=0),
    ])  # fmt: skip
    factors = sorted({Fraction(m, t) for t in (2, 3, 4, 5) for m in range(1, 200)})
    good = None
    for factor in factors:
        if not gs.analyze(twin(w, "all", factor), ORIN, "mpcp").accepted:
            break
        good = factor
    assert gs.margin(w, ORIN, "mpcp").factor == good


def test_margins_of_other_methods_name_the_first_factor_that_failed() -> None:
    w = single()
    for method in ("streams", "srm", "pbs", "edf_serial"):
        found = gs.margin(w, ORIN, method)
        assert not found.exact and found.factor is not None and found.failed is not None
        step = max(found.factor // 1, 1) * Fraction(1, 100)
        assert found.factor < found.failed <= found.factor + step
        assert not found.conditional
        good = gs.analyze(twin(w, "all", found.factor), ORIN, method)
        lost = gs.analyze(twin(w, "all", found.failed), ORIN, method)
        assert good.conditional if found.conditional else good.accepted
        assert not lost.accepted  # edf_serial has a test for exact times besides
        assert "tested" in str(found)


def test_a_margin_below_one_says_how_much_must_go() -> None:
    w = single().scaled(kernels=4, cpu=4)
    found = gs.margin(w, ORIN, "pbs")
    assert found.factor is not None and found.factor < 1
    assert gs.analyze(twin(w, "all", found.factor), ORIN, "pbs").accepted


def test_margins_refuse_what_does_not_exist() -> None:
    with pytest.raises(ValueError, match="what: got 'nobody', expected 'all', 'kernels' or one"):
        gs.margin(single(), ORIN, "mpcp", "nobody")
    with pytest.raises(TypeError, match="what: got 3"):
        gs.margin(single(), ORIN, "mpcp", 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected times that can grow"):
        gs.margin(gs.Workload([gs.Task("a", 9, [gs.CPU(1)])]), ORIN, "mpcp", "kernels")
    with pytest.raises(ValueError, match="jitter"):
        gs.margin(single(jitter=1), ORIN, "srm")


@pytest.mark.long
def test_the_best_row_has_the_largest_margin() -> None:
    c = gs.compare(pipeline(), ORIN)
    best = c.best()
    assert best is not None and best.factor is not None
    for row in c:
        if row.answer is not None and row.answer.accepted:
            assert (row.margin().factor or 0) <= best.factor


# Plain reasons ----------------------------------------------------------------------------------


def test_workloads_that_nothing_can_keep() -> None:
    """A job longer than its deadline and too much CPU work are said once, and are a no."""
    w = gs.Workload([
        gs.Task("long", 100, [gs.CPU(30), gs.Kernel(80, blocks=1, threads=32)]),
        gs.Task("busy", 100, [gs.CPU(90)]),
    ])  # fmt: skip
    c = gs.compare(w, gs.Platform("Xavier", cpus=1), ways=["mpcp", "one_stream"])
    assert c.impossible == (
        "long: a job alone takes 110ns, more than its deadline of 100ns",
        "CPU work needs 1.2 CPUs, the platform has 1",
    )
    assert c.schedulable is False
    assert "No way keeps all deadlines: long: a job alone" in str(c)
    cores = [t.replace(core=0) for t in w]
    placed = gs.compare(w.replace(tasks=cores), gs.Platform("Xavier", cpus=2), ways=["mpcp"])
    assert "core 0 is 1" in placed.impossible[1]
    assert gs.compare(single(), ORIN, ways=["pbs"]).impossible == ()


def test_rates_that_fit_each_other_badly_are_named() -> None:
    def text(*rates: str) -> str:
        tasks = [
            gs.Task(rate, rate=rate, segments=[gs.Kernel("1ms", blocks=1, threads=32)])
            for rate in rates
        ]
        return str(gs.compare(gs.Workload(tasks, tick="us"), ORIN, ways=["one_stream"]))

    assert "60Hz to 16.666ms, 15Hz to 66.666ms" in text("60Hz", "15Hz")
    assert "Rates are rounded" not in text("50Hz", "20Hz")
    assert "Rates are rounded" not in text("60Hz")


def test_the_setup_names_cores_sms_and_the_server() -> None:
    w = pipeline()
    answer = gs.analyze(w, ORIN, "stgm")
    hosts = answer.detail.hosts  # type: ignore[attr-defined]
    for i, text in enumerate(answer.setup):
        assert text.startswith(f"{w.names[i]}: core {hosts.core[i]}, priority {hosts.priority[i]}")
        first = int(hosts.sm[i].argmax())
        assert f"SMs {first}" in text
    assert gs.analyze(w, ORIN, "gpu_server").setup[-1].startswith("GPU server: core ")
    assert gs.analyze(w, ORIN, "pbs").setup == ()


@pytest.mark.parametrize("engines", [1, 2])
def test_copies_of_several_tasks_wait_for_each_other(engines: int) -> None:
    """A copy waits for one copy of every other task on its engine, and a simulation shows it."""
    kernel = gs.Kernel(2, blocks=1, threads=64)
    w = gs.Workload(
        [
            gs.Task("a", 100, [gs.CopyIn(3), kernel, gs.CopyOut(1)]),
            gs.Task("b", 100, [gs.CopyIn(5), kernel]),
            gs.Task("c", 100, [gs.CPU(1), kernel, gs.CopyOut(7)]),
        ]
    )
    gpu = gs.GPU(sms=3, threads_per_sm=1024, blocks_per_sm=16, copy_engines=engines)
    chains = w.chains(gs.Platform(gpu, cpus=3)).tasks
    assert chains.latency[:, 0].tolist() == (
        [3 + 5 + 7, 5 + 3 + 7, 1] if engines == 1 else [3 + 5, 5 + 3, 1]
    )
    for way in ("streams", "mps", "priority_streams"):
        [row] = gs.compare(w, gs.Platform(gpu, cpus=3), ways=[way])
        assert isinstance(row.answer.detail, gs.analysis.PriorityStreamsBound)
        assert (row.run.worst <= row.answer.response).all()
    apart = gs.Workload([w["a"], gs.Task("d", 100, [gs.CPU(1), kernel])])
    row = gs.compare(apart, gs.Platform(gpu, cpus=3), ways=["streams"])[0]
    assert isinstance(row.answer.detail, gs.analysis.FifoBound)


def test_the_bound_of_a_task_alone_is_the_sum_of_its_waves() -> None:
    """The simulation reaches it; two kernels, one of them in three waves."""
    kernels = [gs.Kernel(300, blocks=600, threads=512), gs.Kernel(200, blocks=9, threads=64)]
    w = gs.Workload([gs.Task("a", 2000, [gs.CPU(30), *kernels, gs.CopyOut(50)])])
    platform = gs.Platform("A100")
    for way in ("streams", "priority_streams", "mps"):
        [row] = gs.compare(w, platform, ways=[way])
        assert row.answer.response.tolist() == row.run.worst.tolist() == [30 + 300 + 200 + 50]
    late = gs.analyze(w.replace(tasks=[w[0].replace(period=500)]), platform, "priority_streams")
    assert late.impossible and "a job alone takes 580ns" in late.why()
    assert "takes longer than its period" in late.detail.why()


@pytest.mark.parametrize("latency", [0, 1, 3])
def test_a_launch_latency_is_no_part_of_the_blocks_of_a_task_alone(latency: int) -> None:
    """Two waves of two ticks, after the latency: the simulation takes as long as the bound."""
    gpu = gs.GPU(sms=4, threads_per_sm=1024, blocks_per_sm=8)
    w = gs.Workload(
        [gs.Task("a", 20, [gs.Kernel(4, blocks=7, threads=1024)], deadline=4 + latency)]
    )
    platform = gs.Platform(gpu, launch_latency=latency)
    [row] = gs.compare(w, platform, ways=["streams"])
    assert row.answer.response.tolist() == row.run.worst.tolist() == [4 + latency]
    assert row.answer.schedulable and row.run.schedulable is not False
