"""Random workloads: for hypothesis, and many quickly from a seed."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

import gpusched as gs

TICKS = ("ns", "us", "ms", "s", "10ns", "250us", "7ns")

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_NAMES = st.lists(_TEXT.filter(bool), min_size=1, max_size=4, unique=True)
_NUMBERS = st.one_of(st.integers(1, 99), st.integers(1, 2**40))
_PRIORITIES = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}


@st.composite
def times(draw: Any, tick: int = 1, least: int = 1) -> int | str:
    """A time as ticks, or as text that is a whole number of ticks of ``tick`` ns."""
    number: int = max(draw(_NUMBERS), least) if least else draw(st.integers(0, 2**40))
    if draw(st.booleans()):
        return number
    unit = draw(st.sampled_from(sorted(_UNITS)))
    whole, rest = divmod(number * tick, _UNITS[unit])
    digits = len(str(_UNITS[unit])) - 1
    return f"{whole}.{rest:0{digits}d}{unit}" if digits else f"{whole}{unit}"


@st.composite
def kernels(draw: Any, tick: int = 1, threads: int = 2048) -> gs.Kernel:
    given: dict[str, Any] = {"repeat": draw(st.integers(1, 3)), "name": draw(_TEXT)}
    shaped = draw(st.booleans())
    if shaped:
        given["blocks"] = draw(st.integers(1, 5000))
        given["threads"] = draw(st.integers(1, threads))
        given["regs"] = draw(st.sampled_from([0, 32, 255]))
        given["smem"] = draw(st.sampled_from([0, 1, 48 * 1024]))
    if shaped and draw(st.booleans()):
        given["block_time"] = draw(times(tick))
        if draw(st.booleans()):
            given["time"] = given["block_time"]
    if draw(st.booleans()):
        keys = sorted(draw(st.sets(st.integers(1, 200), min_size=1, max_size=4)))
        values = sorted(draw(st.lists(_NUMBERS, min_size=len(keys), max_size=len(keys))))
        given["sms"] = dict(zip(keys, reversed(values), strict=True))
    if "block_time" not in given and ("sms" not in given or draw(st.booleans())):
        given["time"] = draw(times(tick))
    if not shaped and "sms" not in given and draw(st.booleans()):
        given["sms"] = draw(st.sampled_from([0.5, "1/3", 1]))
    return gs.Kernel(**given)


@st.composite
def segments(draw: Any, tick: int = 1, waits: bool = True) -> Any:
    kind = draw(st.sampled_from([gs.CPU, gs.Sync, gs.CopyIn, gs.CopyOut, gs.DLA, gs.Kernel]))
    if kind is gs.Sync:
        return gs.Sync(name=draw(_TEXT))
    if kind is gs.Kernel:
        return draw(kernels(tick))
    given: dict[str, Any] = {"repeat": draw(st.integers(1, 3)), "name": draw(_TEXT)}
    if kind is gs.DLA:
        given["on"] = draw(st.integers(0, 3))
    elif kind is not gs.CPU:
        given["by"] = draw(st.sampled_from(["engine", "cpu"]))
        if waits and given["by"] == "engine":
            given["blocking"] = draw(st.booleans())
            given["staged"] = draw(st.none() | times(tick))
    return kind(draw(times(tick)), **given)


@st.composite
def tasks(draw: Any, name: str, tick: int) -> gs.Task:
    given: dict[str, Any] = {key: draw(_PRIORITIES) for key in ("priority", "stream_priority")}
    given["gpu_priority"] = draw(_PRIORITIES)
    given["core"] = draw(st.one_of(st.none(), st.integers(0, 2**31 - 1)))
    given["process"] = draw(st.one_of(st.none(), _TEXT.filter(bool)))
    given["launches"] = draw(st.sampled_from([None, "async", "sync", "graph"]))
    if draw(st.booleans()) and tick <= 250_000:
        given["rate"] = draw(st.sampled_from(["30Hz", "29.97 Hz", "1kHz", "0.5Hz", "40mHz"]))
    else:
        given["period"] = draw(times(tick))
    if draw(st.booleans()):
        given["deadline"] = draw(times(tick))
    for key in ("offset", "jitter"):
        given[key] = draw(times(tick, 0))
    one = segments(tick, given["launches"] != "graph")
    work = draw(st.lists(one, min_size=1, max_size=4))
    assume(not all(isinstance(part, gs.Sync) for part in work))
    return gs.Task(name, segments=work, **given)


@st.composite
def workloads(draw: Any) -> gs.Workload:
    tick = draw(st.sampled_from(TICKS))
    length = {"us": 10**3, "ms": 10**6, "s": 10**9, "10ns": 10, "250us": 250_000, "7ns": 7}
    names = draw(_NAMES)
    notes = draw(st.lists(_TEXT.filter(bool), max_size=2))
    made = [draw(tasks(name, length.get(tick, 1))) for name in names]
    return gs.Workload(made, tick, notes=notes)


def random_workload(seed: int) -> gs.Workload:
    """A workload with all kinds of segments and facts, in a hundredth of hypothesis's time."""
    random = Random(seed)
    tick = random.choice(TICKS)

    def time(least: int = 1) -> int:
        return random.randrange(least, 2 ** random.randrange(1, 41))

    def maybe(**facts: Any) -> dict[str, Any]:
        return {key: value for key, value in facts.items() if random.random() < 0.5}

    def label() -> str:
        return "".join(
            random.choices("ab \"'\\\n\t\x00\x7f\u2028é🙂#=[]{},.", k=random.randrange(6))
        )

    def segment(waits: bool) -> Any:
        common = maybe(repeat=random.randrange(1, 4), name=label())
        kind = random.choice((gs.CPU, gs.CopyIn, gs.CopyOut, gs.Kernel, gs.Kernel))
        if random.random() < 0.1:
            return gs.Sync(name=label())
        if random.random() < 0.1:
            return gs.DLA(time(), on=random.randrange(4), **common)
        if kind is gs.CPU:
            return gs.CPU(time(), **common)
        if kind is not gs.Kernel:
            by: Any = random.choice(("engine", "cpu"))
            if by == "engine" and waits:
                common |= maybe(blocking=True, staged=time())
            return kind(time(), by=by, **common)
        shape = maybe(regs=random.randrange(256), smem=random.randrange(49152), block_time=time())
        if shape or random.random() < 0.5:
            shape |= {"blocks": random.randrange(1, 5000), "threads": random.randrange(1, 1025)}
        counts = sorted(random.sample(range(1, 200), random.randrange(1, 5)))
        times = sorted((time() for _ in counts), reverse=True)
        profile = maybe(sms=dict(zip(counts, times, strict=True)))
        alone = None if "block_time" in shape else time()
        return gs.Kernel(alone, **shape, **profile, **common)

    def task(name: str) -> gs.Task:
        facts = maybe(
            **{key: random.randrange(-(2**63), 2**63) for key in ("priority", "stream_priority")},
            **{key: time(0) for key in ("offset", "jitter")},
            gpu_priority=random.randrange(9),
            deadline=time(),
            core=random.randrange(2**31),
            process=label() or "p",
            launches=random.choice(("async", "sync", "graph")),
        )
        waits = facts.get("launches") != "graph"
        segments = [segment(waits) for _ in range(random.randrange(1, 5))]
        if all(isinstance(part, gs.Sync) for part in segments):
            segments.append(gs.CPU(time()))
        if tick in ("ns", "us", "10ns", "7ns") and random.random() < 0.3:
            rate = random.choice(["30Hz", "29.97 Hz", "1kHz", "0.5Hz", "40mHz"])
            return gs.Task(name, rate=rate, segments=segments, **facts)
        return gs.Task(name, time(), segments, **facts)

    names = dict.fromkeys(label() or "x" for _ in range(random.randrange(1, 5)))
    return gs.Workload([task(name) for name in names], tick, notes=[label() or "n"])
