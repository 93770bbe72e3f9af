"""Workloads of extreme size or shape: a bounded answer or a reason, in seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gpusched as gs

pytestmark = pytest.mark.python

XAVIER = gs.Platform("xavier", cpus=4)
PRIMES = (
    *(1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061, 1063, 1069, 1087, 1091),
    *(1093, 1097, 1103, 1109, 1117, 1123, 1129),
)
LONGEST = 2**60 - 1


def kernel(time: int = 5, **facts: Any) -> gs.Kernel:
    return gs.Kernel(time, **{"blocks": 4, "threads": 256, **facts})


def two(first: gs.Kernel, period: int = 10**8, **facts: Any) -> gs.Workload:
    """A task beside a short and frequent one."""
    return gs.Workload(
        [gs.Task("a", period, [gs.CPU(1), first], **facts), gs.Task("b", 10**5, [kernel(20)])]
    )


def many(n: int, *segments: Any) -> gs.Workload:
    return gs.Workload([gs.Task(f"t{i}", 10**6 * (1 + i % 7), segments) for i in range(n)])


WORKLOADS: dict[str, Callable[[], gs.Workload]] = {
    "2**59": lambda: two(kernel(2**58), 2**59),
    "longest": lambda: two(kernel(LONGEST - 1), LONGEST, offset=LONGEST),
    "long CPU work": lambda: gs.Workload(
        [gs.Task("a", LONGEST, [gs.CPU(2**59), kernel(2**58)]), gs.Task("b", 3, [kernel(1)])]
    ),
    "late deadlines": lambda: two(kernel(), deadline=LONGEST),
    "coprime": lambda: gs.Workload([gs.Task(f"t{p}", p, [kernel(20)]) for p in PRIMES[:8]]),
    "21 coprime": lambda: gs.Workload(
        [gs.Task(f"t{p}", p * 10**6 + 1, [gs.CPU(5), kernel(500)]) for p in PRIMES]
    ),
    "periods of 1": lambda: gs.Workload(
        [gs.Task("a", 1, [kernel(1)]), gs.Task("b", 1, [gs.CPU(1)])]
    ),
    "a late offset": lambda: gs.Workload(
        [gs.Task("a", 2, [kernel(1)]), gs.Task("b", 100, [kernel(10)], offset=10**12)]
    ),
    "a long job in a container": lambda: gs.Workload(
        [gs.Task("a", 1, [kernel(1)]), gs.Task("b", 2**50, [kernel(2**49)])]
    ),
    "20 tasks": lambda: many(20, gs.CPU(2), kernel(20)),
    "21 tasks": lambda: many(21, gs.CPU(2), kernel(20)),
    "100 tasks": lambda: many(100, gs.CPU(20), kernel(200), gs.CPU(3)),
    "2000 segments": lambda: gs.Workload(
        [gs.Task("a", 10**7, [gs.CPU(1), kernel(2)] * 1000), gs.Task("b", 10**5, [kernel(20)])]
    ),
    "10**6 repeats": lambda: two(kernel(2, repeat=10**6)),
    "2**40 blocks": lambda: two(kernel(2**45, blocks=2**40)),
    "2**60 blocks": lambda: two(kernel(100, blocks=LONGEST)),
    "extreme priorities": lambda: gs.Workload(
        [
            gs.Task("a", 99, [kernel()], priority=-(2**63), stream_priority=2**63 - 1),
            gs.Task("b", 99, [kernel()], priority=2**63 - 1, stream_priority=-(2**63)),
        ]
    ),
    "ticks of seconds": lambda: gs.Workload([gs.Task("a", 99, [kernel()])], "s"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_comparison_ends_with_answers_or_reasons(name: str) -> None:
    w = WORKLOADS[name]()
    c = gs.compare(w, XAVIER, budget=gs.Budget(states=2000, bytes=1 << 24))
    assert str(c) and c.why() is not None and c._repr_html_()
    for row in c:
        for why in (row.why_no_answer, row.why_no_run):
            known = (": got", "has no test", "The budget of bytes was spent")
            assert not why or any(text in why for text in known), (row.label, why)


@pytest.mark.parametrize(
    ("name", "method", "text"),
    [
        ("10**6 repeats", "one_stream", "repeat: got 1000001 in one job of each task"),
        ("2**40 blocks", "one_stream", "blocks: got 1099511627780 in one job of each task"),
        ("2**60 blocks", "streams", "blocks: got .* for a simulation without until="),
        ("a long job in a container", "container", "period: got 1 ticks for the shortest"),
    ],
)
def test_simulations_that_would_not_end_soon_are_refused(name: str, method: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        gs.observe(WORKLOADS[name](), XAVIER, method)


def test_a_late_offset_has_no_jobs() -> None:
    """Fewer jobs than periods before the offset; with until=, all of them."""
    w = WORKLOADS["a late offset"]()
    run = gs.observe(w, XAVIER, "streams", timeline=False)
    assert run.worst.mask.tolist() == [False, True]
    near = gs.Workload([w[0], w[1].replace(offset=10**4)])
    assert gs.observe(near, XAVIER, "streams").worst.count() == 2


def test_a_comparison_without_memory_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpusched.comparison import comparisons

    def none(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(comparisons, "observed", none)
    row = gs.compare(two(kernel()), XAVIER, ways=["mpcp"])["mpcp"]
    assert row.run is None and row.why_no_run.startswith("memory: got")


def test_stop_between_tests() -> None:
    """Tests that are short never look at the flag themselves."""
    w = two(kernel())
    with pytest.raises(gs.Cancelled):
        gs.margin(w, XAVIER, "mpcp", stop=bytearray(b"\1"))
    with pytest.raises(TypeError, match="stop: got b'', expected None or a writable buffer"):
        gs.compare(w, XAVIER, stop=b"")
