"""Bounded tardiness under global EDF [RTNS10]: numbers, twins, simulation, errors."""

from __future__ import annotations

import pickle
import random
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from reference import gedf as ref
from reference import gedf_sim

import gpusched as gs
from gpusched import _core, analysis

pytestmark = pytest.mark.numbers

# Worked by hand from the equations: (p, e, s, cs); the first is the example of the paper.
C1 = gs.HostTasks.from_gpu_times(
    30, cpu=[5, 5, 3, 3, 3, 3, 3], gpu=[0, 0, 2, 2, 2, 2, 2], section=[0, 0, 4, 4, 4, 4, 4]
)
C2 = gs.HostTasks.from_gpu_times(
    [10, 20, 25, 40, 50, 60],
    cpu=[6, 9, 5, 6, 5, 6],
    gpu=[0, 0, 0, 4, 5, 6],
    section=[0, 0, 0, 5, 6, 7],
)


def fractions(*values: Any) -> list[F]:
    return [F(value) for value in values]


def test_example_of_the_paper() -> None:
    fmlp = analysis.srm(C1, 4, lock="fmlp")
    assert fmlp.accepted is True and fmlp.blocking.tolist() == [0, 0] + [16] * 5
    assert abs(fmlp.utilization - 23 / 6) < 1e-12
    omlp = analysis.srm(C1, 4, lock="omlp")
    assert omlp.accepted is True and omlp.blocking.tolist() == [0, 0] + [16] * 5
    printed = analysis.srm(C1, 4, lock="omlp", variant="paper")
    assert printed.accepted is False and printed.blocking.tolist() == [0, 0] + [24] * 5
    once = analysis.srm(C1, 4, lock="omlp", variant="paper, once")
    assert once.accepted is True and once.blocking.tolist() == [0, 0] + [16] * 5
    assert abs(printed.utilization - 31 / 6) < 1e-12 and not printed.bounded.any()
    assert printed.why() == "The tasks need 5.16667 of 4 CPUs."
    assert printed.response.tolist() == [None] * 7 and printed.exact == [None] * 7
    devi = analysis.srm(C1, 4, lock="fmlp", method="devi_anderson")
    assert [x - 30 for x in devi.exact][1:3] == [F(290, 13) + 5, F(290, 13) + 21]
    vector = analysis.srm(C1, 4, lock="fmlp", method="compliant")
    assert vector.exact == fractions(*["1111/19"] * 2, *["1339/19"] * 5)
    # Neither is the smaller one throughout.
    best = analysis.srm(C1, 4)
    assert best.lock == "fmlp"
    assert best.exact == [min(a, b) for a, b in zip(devi.exact, vector.exact, strict=True)]
    assert best.method.tolist() == ["devi_anderson"] * 2 + ["compliant"] * 5
    assert best.response.tolist() == [58, 58, 71, 71, 71, 71, 71]
    assert best.tardiness.tolist() == [28, 28, 41, 41, 41, 41, 41]


def test_container_of_the_example() -> None:
    for period, inside in ((30, 90), (10, 50), (1, 32)):
        found = analysis.container(C1, 4, server_period=period)
        assert found.accepted is True and found.server_period == period
        assert found.exact == fractions(5, 5, *[inside] * 5)
        assert found.method.tolist() == ["alone"] * 2 + ["fifo"] * 5
    assert analysis.container(C1, 4).exact[2] == 90  # the period of its tasks


def test_a_server_in_time_has_a_budget_of_whole_ticks() -> None:
    """Half of 7 ticks is 4 of them: more than the CPU has beside the other task, which is late."""
    hosts = gs.HostTasks.from_segments([100, 10], [[0, (0, 50, 0), 0], [5]])
    exact = analysis.container(hosts, 1, server_period=7)
    assert exact.exact == fractions(114, 10)
    way = gs.ways.Container(mode="busy", server_period=7)
    run = gs.simulate.host(hosts, 1, way, until=1000)
    assert run.worst.tolist() == [50, 13]
    whole = analysis.container(hosts, 1, server_period=7, whole_budget=True)
    assert whole.accepted and not whole.bounded.any()
    assert "no method here gives" in whole.why()
    # With room for it there is a bound, which is another one: w' = 1/3 in the place of 5/24.
    roomy = gs.HostTasks.from_segments([24, 10], [[0, (0, 5, 0), 0], [5]])
    assert analysis.container(roomy, 1, server_period=3).exact == fractions(30, "73/8")
    found = analysis.container(roomy, 1, server_period=3, whole_budget=True)
    assert found.exact == fractions(21, "19/2")
    # Where w P is whole the bounds are the same; and for a stack, each set has its own.
    for period in (2, 24):
        one = analysis.container(hosts, 1, server_period=period)
        same = analysis.container(hosts, 1, server_period=period, whole_budget=True)
        assert one.exact == same.exact and one.bounded.all()
    stack = gs.HostTasks(
        *([[100, 10], [24, 10]], [[0, 0], [5, 0]]),
        kernel=[[[[50]], [[0]]], [[[5]], [[0]]]], segments=[1, 0],
    )  # fmt: skip
    both = analysis.container(stack, 1, server_period=[7, 3], whole_budget=True)
    assert both.exact == [whole.exact, found.exact]


def test_second_vector() -> None:
    lock = analysis.srm(C2, 2, lock="fmlp")
    assert lock.blocking.tolist() == [0, 0, 0, 13, 12, 11]
    assert sum(fractions(*(f"{d}/{p}" for d, p in zip(lock.demand, C2.period, strict=True)))) == F(
        1589, 600
    )
    assert lock.accepted is False and lock.why() == "The tasks need 2.64833 of 2 CPUs."
    vector = analysis.container(C2, 2, server_period=10, method="compliant")
    assert vector.exact == fractions("1045/62", "879/31", "972/31", *["123053/1612"] * 3)
    devi = analysis.container(C2, 2, server_period=10, method="devi_anderson")
    assert devi.exact == fractions(18, 31, 32, *["2021/26"] * 3)
    plain = analysis.gedf_tardiness(C2, 2, method="compliant")
    assert plain.exact == fractions("166/9", "539/18", "593/18", "454/9", "544/9", "643/9")
    plain = analysis.gedf_tardiness(C2, 2, method="devi_anderson")
    assert plain.exact == [p + F(7, 2) + d for p, d in zip(C2.period, plain.demand, strict=True)]


@pytest.mark.parametrize("m", [2, 3, 4])
def test_omlp_witness(m: int) -> None:
    """m jobs fill the FIFO queue, m - 1 with higher priority and J come behind it: J waits for
    2m - 1 critical sections, one more than Eq. 2 allows."""
    low = [(10_000 + i, 0, 0, 10, 0) for i in range(m)]
    high = [(1000 + i, 0, 0, 10, 0) for i in range(m - 1)]
    tasks = [*low, *high, (5000, 0, 0, 10, 0)]
    jobs = gedf_sim.simulate(tasks, m, [[0]] * len(tasks), "omlp")
    assert jobs[-1].blocked == (2 * m - 1) * 10
    hosts = gs.HostTasks([t[0] for t in tasks], cpu=[[0, 0]] * len(tasks), kernel=10)
    printed = analysis.srm(hosts, m, lock="omlp", variant="paper").blocking
    sound = analysis.srm(hosts, m, lock="omlp").blocking
    assert printed.tolist() == [(2 * m - 2) * 10] * len(tasks)
    assert sound.tolist() == [(2 * m - 1) * 10] * len(tasks)


def test_forms_of_omlp() -> None:
    """Eq. 2 with two requests or one of each task, and its correction, against the twin."""
    rng = random.Random(12)
    differ = 0
    for _ in range(300):
        tasks, m = random_set(rng)
        period, cpu, gpu, section, _ = (list(column) for column in zip(*tasks, strict=True))
        hosts = gs.HostTasks.from_gpu_times(period, cpu, gpu, section)
        waits = []
        for variant, paper in (("sound", False), ("paper", True), ("paper, once", "once")):
            found = analysis.srm(hosts, m, lock="omlp", variant=variant)  # type: ignore[arg-type]
            assert found.blocking.tolist() == ref.blocking(tasks, m, "omlp", paper)
            waits.append(found.blocking)
        assert (waits[2] <= waits[1]).all()
        differ += bool((waits[2] < waits[1]).any())
    assert differ > 20
    hosts = gs.HostTasks.from_gpu_times([10, 10], cpu=1, gpu=1)
    with pytest.raises(ValueError, match=r"paper: got 3, expected 0 \(sound\), 1 \(paper\) or 2"):
        _core.srm_blocking(hosts._columns(), cpus=2, sms=1, lock=1, paper=3, stop=None)


def random_set(rng: random.Random) -> tuple[list[tuple[int, ...]], int]:
    m, n = rng.randint(1, 5), rng.randint(1, 9)
    tasks = []
    for _ in range(n):
        p = rng.choice([4, 5, 6, 8, 10, 12, 15, 20, 30, 60])
        e = rng.randint(1, max(1, min(p, 2 * p * m // n)))
        s = rng.randint(0, e) if rng.random() < 0.6 else 0
        cs = rng.randint(s, e) if s else 0
        tasks.append((p, e - s, s, min(cs, e), 1 if s else 0))
    return tasks, m


def as_hosts(tasks: list[tuple[int, ...]], **options: Any) -> gs.HostTasks:
    columns = [list(column) for column in zip(*tasks, strict=True)]
    return gs.HostTasks.from_gpu_times(columns[0], *columns[1:4], **options)


def test_agrees_with_the_twin() -> None:
    rng = random.Random(6)
    outcomes = set()
    for _ in range(300):
        tasks, m = random_set(rng)
        hosts = as_hosts(tasks)
        for lock in analysis.LOCKS:
            for variant in ("sound", "paper"):
                found = analysis.srm(hosts, m, lock=lock, variant=variant)  # type: ignore[arg-type]
                wait = ref.blocking(tasks, m, lock, variant == "paper")
                assert found.blocking.tolist() == wait
                expected = ref.srm(tasks, m, lock, variant == "paper")
                assert found.accepted == (expected is not None)
                assert found.exact == (expected or [None] * len(tasks))
                outcomes.add((lock, found.accepted))
        server = rng.choice([1, 3, 5, 10])
        found = analysis.container(hosts, m, server_period=server)
        assert found.exact == (ref.container(tasks, m, server) or [None] * len(tasks))
        whole = analysis.container(hosts, m, server_period=server, whole_budget=True)
        assert whole.accepted == found.accepted
        expected = ref.container(tasks, m, server, whole=True)
        assert whole.exact == (expected or [None] * len(tasks))
        printed = analysis.container(hosts, m, variant="paper", server_period=server)
        assert printed.accepted == ref.container_passes(tasks, m, paper=True)
        c = rng.choice([1, 2, F(3, 2), 4, 8])
        found = analysis.cpu_only(hosts, m, c)
        demand = ref.cpu_only(tasks, c)
        expected = ref.response(hosts.period.tolist(), demand, m)
        assert found.exact == (expected or [None] * len(tasks))
        assert analysis.gedf_tardiness(hosts, m).exact == (
            ref.response(hosts.period.tolist(), [t[1] + t[2] for t in tasks], m)
            or [None] * len(tasks)
        )
    assert len(outcomes) == 4


def test_any_deadlines() -> None:
    rng = random.Random(7)
    for _ in range(200):
        tasks, m = random_set(rng)
        deadline = [rng.randint(1, 2 * t[0]) for t in tasks]
        found = analysis.gedf_tardiness(as_hosts(tasks, deadline=deadline), m)
        demand = [t[1] + t[2] for t in tasks]
        expected = ref.response([t[0] for t in tasks], demand, m, deadline)
        assert found.exact == (expected or [None] * len(tasks))
    with pytest.raises(ValueError, match=r"deadline\[0\](: got| =) 29"):
        tasks = [(30, 5, 0, 0, 0)]
        analysis.gedf_tardiness(as_hosts(tasks, deadline=29), 1, method="devi_anderson")


def test_rounded_bounds_are_safe_and_close() -> None:
    """Periods without a short common multiple: never below the exact bound, and nearly equal."""
    rng = random.Random(8)
    for _ in range(60):
        n, m = rng.randint(5, 12), rng.randint(2, 4)
        p = [rng.randint(10**6, 10**8) for _ in range(n)]
        e = [max(1, int(x * min(1, rng.random() * 2 * m / n))) for x in p]
        found = analysis.gedf_tardiness(gs.HostTasks(p, e), m)
        expected = ref.response(p, e, m)
        assert found.accepted == (expected is not None)
        for ours, exact in zip(found.exact, expected or [], strict=False):
            assert exact <= ours <= exact + 2
        tasks = [(x, y // 2, y - y // 2, y - y // 2, 1) for x, y in zip(p, e, strict=True)]
        tasks[:3] = [(x, y, 0, 0, 0) for x, y in zip(p[:3], e[:3], strict=True)]
        box = analysis.container(as_hosts(tasks), m)
        exact_box = ref.container(tasks, m, int(box.server_period))
        assert box.accepted == (exact_box is not None)
        for ours, exact in zip(box.exact, exact_box or [], strict=False):
            assert exact <= ours <= exact * F(1001, 1000) + 2


def test_loads_at_the_bound_are_decided_exactly() -> None:
    # 1/3 + 1/7 + 11/21 = 1, and 64 more pairs that add up to a whole number.
    p, e = [3, 7, 21], [1, 1, 11]
    for k in range(5, 69):
        prime = 2**31 - 1 - 2 * k
        p += [prime, prime]
        e += [k, prime - k]
    assert analysis.gedf_tardiness(gs.HostTasks(p, e), 65).accepted is True
    assert analysis.gedf_tardiness(gs.HostTasks(p, e), 64).accepted is False
    more = [*e[:-1], e[-1] + 1]
    assert analysis.gedf_tardiness(gs.HostTasks(p, more), 65).accepted is False
    # Two fractions that differ from 1 by 1e-34.
    close = gs.HostTasks([10**17, 10**17 - 1], [1, 10**17 - 2])
    assert analysis.gedf_tardiness(close, 1).accepted is True
    over = gs.HostTasks([10**17 - 1, 10**17], [1, 10**17 - 1])
    assert analysis.gedf_tardiness(over, 1).accepted is False


def test_no_simulated_response_is_above_its_bound() -> None:
    rng = random.Random(9)
    checked = {"fmlp": 0, "omlp": 0}
    for _ in range(150):
        m, n = rng.randint(1, 3), rng.randint(2, 7)
        tasks = []
        for _ in range(n):
            p = rng.choice([6, 8, 10, 12, 15, 20, 30])
            parts = [rng.randint(0, 2), rng.randint(0, 1), rng.randint(1, 2), rng.randint(0, 1)]
            if rng.random() < 0.4:
                parts = [rng.randint(1, p // 2), 0, 0, 0]
            tasks.append((p, *parts))
        rows = [(p, b + c + a, k, c + k, int(c + k > 0)) for p, b, c, k, a in tasks]
        hosts = as_hosts(rows)
        for lock in analysis.LOCKS:
            found = analysis.srm(hosts, m, lock=lock)
            if not found.accepted:
                continue
            for jitter in (0, 0, 3):
                releases = []
                for p, *_ in tasks:
                    at, row = rng.randint(0, 5) if jitter else 0, []
                    while at < 240:
                        row.append(at)
                        at += p + rng.randint(0, jitter)
                    releases.append(row)
                for job in gedf_sim.simulate(tasks, m, releases, lock):
                    assert job.end - job.release <= found.exact[job.task]
                    assert job.blocked <= found.blocking[job.task]
                    checked[lock] += 1
    assert min(checked.values()) > 2000


def test_stacks_and_single_sets_agree() -> None:
    sets = [s for s in gs.generate.elliott("medium", count=300, seed=3) if s.n == 9][:12]
    assert len(sets) > 5
    stack = gs.HostTasks.from_gpu_times(
        np.stack([s.period for s in sets]),
        np.stack([s.cpu_time + s.copy_time for s in sets]),
        np.stack([s.kernel[..., 0].sum(-1) for s in sets]),
        np.stack([s.kernel[..., 0].sum(-1) + s.copy_time for s in sets]),
    )
    tests: list[Any] = [
        lambda t: analysis.srm(t, 4),
        lambda t: analysis.container(t, 4),
        lambda t: analysis.cpu_only(t, 4, 2.5),
        lambda t: analysis.gedf_tardiness(t, 4),
    ]
    for test in tests:
        together = test(stack)
        assert len(together) == len(sets) and pickle.loads(pickle.dumps(together)).exact
        for i, one in enumerate(sets):
            alone = test(one)
            assert together.accepted[i] == alone.accepted
            assert together.exact[i] == alone.exact
            assert together[i].why() == alone.why()
            assert together.blocking[i].tolist() == alone.blocking.tolist()
        assert len(together.to_frame()) == len(sets) * 9


def test_no_sets() -> None:
    none = gs.HostTasks.from_gpu_times(np.ones((0, 2), int), cpu=np.ones((0, 2), int))
    assert len(analysis.srm(none, 2)) == len(analysis.container(none, 2)) == 0
    assert len(analysis.cpu_only(none, 2, 4)) == len(analysis.gedf_tardiness(none, 2)) == 0


def test_container_with_periods_of_minutes() -> None:
    """Nanoseconds, and a server whose budget is no short fraction: there is room for its bound."""
    hour = 3_600_000_000_000
    p = [hour, hour // 7, hour // 13 + 1, hour // 11]
    uses = zip(p, (0, 0, 1, 1), strict=True)
    rows = [(x, x // 9, g * (x // 5), g * (x // 5), g) for x, g in uses]
    found = analysis.container(as_hosts(rows), 2, server_period=10**9)
    assert found.accepted is True and found.bounded.all()
    for ours, exact in zip(found.exact, ref.container(rows, 2, 10**9), strict=True):
        assert exact * F(999, 1000) <= ours <= exact * F(1001, 1000)


def test_several_requests() -> None:
    """A job waits once for each of its GPU segments, for the longest one of every other task."""
    hosts = gs.HostTasks.from_segments(
        [200, 200, 200], [[1, (1, 5, 1), 1, (0, 3, 0)], [2, (2, 9, 0), 1], [4, (0, 2, 1)]]
    )
    assert analysis.srm(hosts, 2, lock="fmlp").blocking.tolist() == [2 * (11 + 3), 7 + 3, 7 + 11]


def test_which_lock() -> None:
    # Many short requests and a long one: OMLP does not wait for all.
    many = gs.HostTasks.from_gpu_times([450] * 20, cpu=5, gpu=10)
    best = analysis.srm(many, 2)
    assert best.lock == "omlp" and best.accepted and best.blocking[0] == 30
    assert analysis.srm(many, 2, lock="fmlp").accepted is False
    assert "schedulable (srm, omlp; 20 tasks on 2 CPUs, soft deadlines)" in repr(best)
    long = gs.HostTasks.from_gpu_times([30, 100], cpu=[20, 1], gpu=[5, 20])
    found = analysis.srm(long, 4)
    assert found.failed == 0 and found.accepted is False
    takes = "up to 45 ticks, 20 of them waiting for the GPU, more than its period of 30 ticks."
    assert found.why() == f"A job of task 0 takes {takes}"
    box = gs.HostTasks.from_gpu_times([10, 10, 10], cpu=[1, 5, 5], gpu=[5, 0, 5])
    assert analysis.container(box, 4).why() == "The GPU-using tasks need 1.6 of one CPU."
    assert "<table>" in analysis.container(C1, 4)._repr_html_()


def test_one_gpu_task_and_none() -> None:
    one = gs.HostTasks.from_gpu_times([10, 20], cpu=[2, 9], gpu=[3, 0])
    assert analysis.srm(one, 2).blocking.tolist() == [0, 0]
    none = gs.HostTasks([10, 20], [2, 9])
    for test in (analysis.srm, analysis.container):
        found = test(none, 2)
        assert found.accepted is True and found.exact == [2, 9]


def test_refusals() -> None:
    for cpus in (0, -1, 2**31):
        for test in (analysis.srm, analysis.container, analysis.gedf_tardiness):
            with pytest.raises(ValueError, match=rf"cpus(: got| =) {cpus}"):
                test(C1, cpus)
    with pytest.raises(TypeError, match=r"cpus(: got| =) nan"):
        analysis.srm(C1, float("nan"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"lock(: got| =) 'mutex'"):
        analysis.srm(C1, 4, lock="mutex")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"variant(: got| =) 'printed'"):
        analysis.container(C1, 4, variant="printed")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"method(: got| =) 'x'"):
        analysis.gedf_tardiness(C1, 4, method="x")  # type: ignore[arg-type]
    for c in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"speed_up(: got| =) .*"):
            analysis.cpu_only(C1, 4, c)
    with pytest.raises(TypeError, match=r"speed_up(: got| =) 'fast'"):
        analysis.cpu_only(C1, 4, "fast")
    with pytest.raises(ValueError, match=r"speed_up(: got| =) 1e-09"):
        analysis.cpu_only(C1, 4, 1e-9)
    with pytest.raises(OverflowError, match="speed_up: got 1000000, expected jobs below"):
        analysis.cpu_only(gs.HostTasks.from_gpu_times(2**50, 1, 2**50 - 1), 4, 10**6)
    with pytest.raises(ValueError, match=r"blocking.*(: got| =) -1"):
        analysis.gedf_tardiness(C1, 4, blocking=-1)
    with pytest.raises(ValueError, match=r"server_period(: got| =) 0"):
        analysis.container(C1, 4, server_period=0)
    with pytest.raises(ValueError, match=r"section\[1\](: got| =) 9"):
        gs.HostTasks.from_gpu_times([30, 30], cpu=[5, 3], gpu=[0, 5], section=[0, 9])
    with pytest.raises(ValueError, match=r"section\[1\](: got| =) 4"):
        gs.HostTasks.from_gpu_times([30, 30], cpu=[5, 3], gpu=[0, 5], section=[0, 4])
    for name in ("cpu", "gpu", "section"):
        wrong = {"cpu": [5, 5], "gpu": [1, 1], "section": [2, 2], name: [3, -1]}
        with pytest.raises(ValueError, match=rf"{name}\[1\]: got -1, expected a non-negative"):
            gs.HostTasks.from_gpu_times([30, 30], **wrong)
    with pytest.raises(ValueError, match="cpu"):
        gs.HostTasks.from_gpu_times([30, 30], [5, float("nan")])
    for test in (analysis.srm, analysis.container, analysis.gedf_tardiness):
        with pytest.raises(TypeError, match="hosts: got list, expected HostTasks"):
            test([30, 30], 4)  # type: ignore[arg-type]
    # A load above one CPU is rejected; it is not an error.
    long = gs.HostTasks.from_gpu_times([10], cpu=[11])
    assert analysis.srm(long, 4).accepted is False


def test_the_module_refuses() -> None:
    row = np.array([[10, 20]])
    options: dict[str, Any] = {"sizes": None, "cpus": 2, "methods": 30}
    with pytest.raises(ValueError, match=r"demand\[1\](: got| =) -1"):
        _core.gedf_response(row, row, np.array([[1, -1]]), **options, stop=None)
    with pytest.raises(
        OverflowError, match=r"demand\[1\]: got 2305843009213693952, expected at most"
    ):
        _core.gedf_response(row, row, np.array([[1, 2**61]]), **options, stop=None)
    with pytest.raises(ValueError, match="demand: got length 1 on axis 1, expected 2"):
        _core.gedf_response(row, row, np.array([[1]]), **options, stop=None)
    stopped = bytearray(b"\1")
    many = np.full((20_000, 2), 10)
    with pytest.raises(gs.Cancelled):
        _core.gedf_response(many, many, many, **options, stop=stopped)
