"""Claims of [RTCSA19], section V: platforms, kernel times, and Figures 4 and 5."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from benchmarks.papers.rtcsa19.stgm_example import listed
from gpusched import generate, simulate
from gpusched._support.results import Results
from gpusched.experiments.stgm_figures import (
    STGM_READINGS,
    StgmSchedulability,
    stgm_fig3,
    stgm_fig4,
    stgm_fig5,
)
from gpusched.model import profiles
from gpusched.model.gpu import GPU
from gpusched.model.host_tasks import HostTasks

__all__ = ["EVALUATION_CLAIMS"]

FIGURES = ("gs.experiments.stgm_fig4", "gs.experiments.STGM_READINGS")
FIFTH = ("gs.experiments.stgm_fig5", "gs.experiments.STGM_READINGS")
TESTS = ("STGM suspend", "STGM busy", "MPCP suspend", "MPCP busy", "MPCP spin", "FMLP+ suspend",
         "FMLP+ busy", "GPU server")  # fmt: skip
TABLE_1 = {
    "utilization": (0.05, 0.3), "GPU segments": (1, 3), "period (ms)": (100, 500),
    "C / G": (0.3, 0.7), "kernel / G": (0.7, 0.9),
}  # fmt: skip
READING = (
    "In the reading '13 SMs' a task's utilization and ratios (Table I) hold for its kernel on all "
    "13 SMs; STGM shares out 13 SMs (in Figure 5 the number on the x axis), a lock or the server "
    "runs each kernel on all 13."
)


@functools.cache
def fig4(size: Size, reading: str) -> StgmSchedulability:
    figure = stgm_fig4(
        None if size.full else [8, 9, 10, 12, 14, 16], size.count(600, 10_000), 1, tests=TESTS,
        workers=size.workers, progress=False, **STGM_READINGS[reading],
        store=size.store(f"stgm_fig4-{reading}"),
    )  # fmt: skip
    assert isinstance(figure, StgmSchedulability)
    return figure


@functools.cache
def fig5(size: Size, reading: str) -> StgmSchedulability:
    figure = stgm_fig5(
        range(1, 14) if size.full else [1, 4, 8, 13], size.count(135, 10_000), 1,
        tests=TESTS, workers=size.workers, progress=False, **STGM_READINGS[reading],
        store=size.store(f"stgm_fig5-{reading}"),
    )  # fmt: skip
    assert isinstance(figure, StgmSchedulability)
    return figure


def share(figure: Results, name: str) -> Any:
    return figure.where(test=name)["schedulable"]


def platforms(size: Size) -> Finding:
    gtx, xavier = GPU.preset("gtx970"), GPU.preset("xavier")
    numbers = [gtx.sms, gtx.copy_engines, xavier.sms]
    text = f"GTX 970: {gtx.sms} SMs, {gtx.copy_engines} copy engines; Xavier: {xavier.sms} SMs"
    return found(numbers == [13, 2, 8], text, {"numbers": numbers})


def plateaus(size: Size) -> Finding:
    flat = {}
    for gpu, sms in profiles.GPUS.items():
        flat[gpu] = sorted(
            name
            for name, profile in profiles.benchmarks(gpu).items()
            if profile.parts[sms - 1] > 0.98 * profile.parts[3]
        )
    holds = flat == {"gtx970": ["kmeans", "workzone"], "xavier": ["kmeans", "streamcluster"]}
    table = stgm_fig3()
    counts = [len(set(table.where(gpu=g)["benchmark"].tolist())) for g in set(table["gpu"])]
    text = (
        "By construction: less than 2 % are gained above 4 SMs by "
        f"{listed(flat['gtx970'])} on the GTX 970 and by {listed(flat['xavier'])} on the Xavier, "
        f"of {listed(counts)} benchmarks"
    )
    return found(holds and counts == [8, 8], text, flat, figure_svg(table.plot), reading=True)


def figure_3a(size: Size) -> Finding:
    """Profiles that explain the kernel times of a task on 1 to 13 SMs, up to a tick."""
    sets = generate.stgm(12, size.count(100, 1000), 1, ticks=10_000)
    rows = sets.kernel[sets.segments > 0]
    fits = []
    for profile in profiles.benchmarks("gtx970").values():
        distance = np.abs(profile.times(rows[..., 0]) - rows)
        fits.append((distance <= 1).all(axis=(-2, -1)))
    tasks = int(np.any(fits, axis=0).sum())
    used = int(np.any(fits, axis=1).sum())
    text = (
        f"the kernel times of {tasks} of {len(rows)} random tasks follow one of the profiles of "
        f"the GTX 970; {used} of {len(fits)} profiles occur"
    )
    holds = tasks == len(rows) and used == len(fits) == 8
    return found(holds, text, {"tasks": tasks, "profiles": used}, reading=True)


def table_1(size: Size) -> Finding:
    count = size.count(200, 10_000)
    parts: dict[str, list[Any]] = {name: [] for name in TABLE_1}
    users_fit = True
    for cpus in (2, 3, 4):
        for n in (2 * cpus, 4 * cpus):
            sets = generate.stgm(n, count, 1, cpus=cpus, ticks=100_000)
            gpu = sets.segments > 0
            users, whole = gpu.sum(axis=-1), sets.gpu_time(1)
            ends = [int(n * r / (1 + r) + 0.5) for r in (0.2, 2.0)]
            users_fit &= bool(users.min() >= ends[0] and users.max() <= ends[1])
            drawn = (
                (sets.cpu_time + whole) / sets.period,
                sets.segments[gpu],
                sets.period / 100_000,
                sets.cpu_time[gpu] / whole[gpu],
                (whole - sets.copy_time)[gpu] / whole[gpu],
            )
            for values, more in zip(parts.values(), drawn, strict=True):
                values.append(np.ravel(more))
    found_ends = {
        name: [round(float(end(np.concatenate(values))), 3) for end in (np.min, np.max)]
        for name, values in parts.items()
    }
    near = all(
        np.allclose(found_ends[name], ends, rtol=0.02, atol=0.005) for name, ends in TABLE_1.items()
    )
    text = "; ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in found_ends.items())
    text += f"; GPU-using tasks {'' if users_fit else 'not '}within ratios of 0.2 to 2"
    return found(near and users_fit, text, found_ends, reading=True)


def one_kernel(size: Size) -> Finding:
    jobs: list[list[Any]] = [[(1, 10, 1)], [(1, 10, 1)]]
    pair = HostTasks.from_segments([100, 100], jobs, core=[0, 1], sm=[[0], [1]])
    last = {}
    for way in ("stgm", "mpcp", "fmlp_plus", "gpu_server"):
        run = simulate.host(pair, 2, way, until=100)
        log = run.intervals
        assert log is not None
        kernels = log.what == 3
        start, end = log.start[kernels], log.end[kernels]
        last[way] = bool(np.sort(start)[1] < np.sort(end)[0])
    names = {"stgm": "STGM", "mpcp": "MPCP", "fmlp_plus": "FMLP+", "gpu_server": "the server"}
    text = "; ".join(
        f"{names[key]}: {'two kernels' if both else 'one kernel'} at a time"
        for key, both in last.items()
    )
    return found(
        last == {"stgm": True, "mpcp": False, "fmlp_plus": False, "gpu_server": False},
        text,
        dict(last),
    )


def fewer(size: Size) -> Finding:
    figure = fig4(size, "13 SMs")
    grows = [name for name in TESTS if (np.diff(share(figure, name)) > 0).any()]
    ends = [round(float(share(figure, "STGM suspend")[k]), 3) for k in (0, -1)]
    text = f"STGM suspend from {ends[0]:.1%} to {ends[1]:.1%}; growing: {listed(grows or ['none'])}"
    return found(not grows, text, {"growing": grows, "ends": ends}, figure_svg(figure.plot))


def ahead(size: Size) -> Finding:
    behind = {}
    for reading in STGM_READINGS:
        figure = fig4(size, reading)
        gaps = [
            float((share(figure, "STGM suspend") - share(figure, name)).min())
            for name in TESTS
            if name != "STGM suspend"
        ]
        behind[reading] = round(min(gaps), 3)
    text = "least lead over all others, by reading: " + ", ".join(
        f"{name} {gap:.1%}" for name, gap in behind.items()
    )
    return found(behind["13 SMs"] > 0, text, behind, reading=True)


def at_most_73(size: Size) -> Finding:
    gaps = {}
    for reading in STGM_READINGS:
        figure = fig4(size, reading)
        for mode in ("suspend", "busy", "spin"):
            gap = share(figure, "STGM suspend") - share(figure, f"MPCP {mode}")
            gaps[f"{reading}, {mode}"] = round(float(gap.max()), 3)
    best = abs(gaps["13 SMs, spin"] - 0.73) <= (0.03 if size.full else 0.06)
    text = "largest distance to MPCP by reading and MPCP's mode: " + ", ".join(
        f"{name} {gap:.1%}" for name, gap in gaps.items()
    )
    return found(best, text, gaps, reading=True)


def suspend_or_busy(size: Size) -> Finding:
    figure = fig4(size, "13 SMs")
    gain = {
        name: round(
            float((share(figure, f"{name} suspend") - share(figure, f"{name} busy")).min()), 4
        )
        for name in ("STGM", "MPCP", "FMLP+")
    }
    text = "least gain by suspending: " + ", ".join(f"{k} {v:+.1%}" for k, v in gain.items())
    return found(min(gain.values()) >= 0, text, gain)


def one_sm(size: Size) -> Finding:
    pairs = {}
    for reading in STGM_READINGS:
        figure = fig5(size, reading)
        pairs[reading] = [
            round(float(share(figure, name)[0]), 4) for name in ("STGM suspend", "GPU server")
        ]
    text = "STGM and server with one SM, by reading: " + ", ".join(
        f"{name} {a:.1%} and {b:.1%}" for name, (a, b) in pairs.items()
    )
    stgm, server = pairs["13 SMs"]
    return found(stgm < server, text, pairs, figure_svg(fig5(size, "13 SMs").plot), reading=True)


def more_sms(size: Size) -> Finding:
    figure = fig5(size, "13 SMs")
    stgm = share(figure, "STGM suspend")
    best = max(float(share(figure, n)[-1]) for n in TESTS if not n.startswith("STGM"))
    text = (
        f"from {stgm[0]:.1%} with one SM to {stgm[-1]:.1%} with 13; best of the others {best:.1%}"
    )
    holds = bool((np.diff(stgm) > 0).all()) and stgm[-1] > 2 * best
    return found(holds, text, {"stgm": stgm.tolist(), "others": best}, reading=True)


def steady(size: Size) -> Finding:
    ranges = {}
    for reading in STGM_READINGS:
        figure = fig5(size, reading)
        spread = [np.ptp(share(figure, n)) for n in TESTS if not n.startswith("STGM")]
        ranges[reading] = round(float(max(spread)), 3)
    text = "largest range of a lock or the server, by reading: " + ", ".join(
        f"{name} {value:.1%}" for name, value in ranges.items()
    )
    return found(ranges["13 SMs"] < 0.02, text, ranges, reading=True)


EVALUATION_CLAIMS = (
    Claim(
        "Section V-A", "platforms", "GTX 970: 13 SMs and 2 copy engines; AGX Xavier: 8 SMs.",
        ("gs.GPU",), "agrees", "", platforms,
    ),
    Claim(
        "Section V-A", "prototype",
        "STGM is implemented with CUDA streams on both platforms.",
        (), "needs hardware", "An implementation on two devices; Figure 3 was measured with it.",
    ),
    Claim(
        "Figure 3", "kernel times over SMs",
        "Times of eight benchmarks on 1 to 13 SMs of a GTX 970 and 1 to 8 of a Xavier, relative to "
        "one SM; kmeans and workzone, and kmeans and streamcluster, gain nothing above 4 SMs.",
        ("gs.experiments.stgm_fig3", "gs.profiles.benchmarks"), "agrees in this reading",
        "Only the shapes are described, and the package's profiles were made after that "
        "description, so they confirm nothing; that needs hardware.",
        plateaus,
    ),
    Claim(
        "Section V-B", "no exponential decrease",
        "Kernel times do not fall exponentially with the number of SMs.",
        (), "needs hardware",
        "Only the shapes are described, and the package's profiles were made after that "
        "description, so they confirm nothing.",
    ),
    Claim(
        "Section V-B", "partitioning",
        "A proper partitioning of the SMs is the key to a better utilization of the GPU.",
        (), "cannot be decided from the text",
        "It is a conclusion from Figure 3, without a figure of its own for the utilization.",
    ),
    Claim(
        "Table I", "parameters of task sets",
        "0.2 to 2 GPU-using tasks per CPU-only one, utilizations of 0.05 to 0.3, 1 to 3 GPU "
        "segments, periods of 100 to 500 ms, C / G of 0.3 to 0.7, kernels of 0.7 to 0.9 of G.",
        ("gs.generate.stgm",), "agrees in this reading",
        "The text does not say on how many SMs G is meant; here on one. Figures 4 and 5 come out "
        "as described with 13.",
        table_1,
    ),
    Claim(
        "Section V-C", "profile of the tasks",
        "Figure 3a is the profile of the kernel times of all tasks.",
        ("gs.generate.stgm", "gs.profiles.benchmarks"), "agrees in this reading",
        "The text does not say which tasks take which curve; here each task takes one of the "
        "eight at random. The values of the curves are the package's.",
        figure_3a,
    ),
    Claim(
        "Section V-C", "one kernel at a time",
        "MPCP, FMLP+ and the server run one kernel at a time.",
        ("gs.simulate.host",), "agrees", "", one_kernel,
    ),
    Claim(
        "Figure 4", "more tasks", "With more tasks in a set fewer sets are schedulable, by every "
        "approach.", FIGURES, "agrees", "", fewer,
    ),
    Claim(
        "Figure 4", "STGM ahead", "STGM suspend is ahead of all other approaches.",
        FIGURES, "agrees in this reading", READING, ahead,
    ),
    Claim(
        "Figure 4", "73 % more than MPCP",
        "STGM suspend schedules at most 73 % more sets than MPCP.",
        FIGURES, "agrees in this reading",
        READING + " MPCP's waiting tasks spin, and the 73 % are of all sets, to within 3 (to "
        "within 6 with 600 sets per point instead of 10,000).",
        at_most_73,
    ),
    Claim(
        "Figure 4", "suspending and spinning",
        "Suspending schedules more sets than busy-waiting, under STGM and the other approaches.",
        FIGURES, "differs",
        "it holds for STGM and MPCP; under FMLP+ a sound test of suspending tasks also counts the "
        "requests of more urgent tasks of the core, and so is not ahead",
        suspend_or_busy,
    ),
    Claim(
        "Figure 5", "one SM", "With one SM STGM schedules fewer sets than the server.",
        FIFTH, "agrees in this reading", READING, one_sm,
    ),
    Claim(
        "Figure 5", "more SMs",
        "With more SMs STGM schedules significantly more sets than the others.",
        FIFTH, "agrees in this reading", READING, more_sms,
    ),
    Claim(
        "Figure 5", "steady curves", "The locks and the server stay almost level.",
        FIFTH, "agrees in this reading", READING, steady,
    ),
)  # fmt: skip
"""Claims of section V, in the order of the text."""
