"""Fit of the bandwidth model to the numbers of [RTAS20], section V; results/bandwidth_fit.txt.

The text has three numbers (almost 3 and almost 8 for copies and settings of memory beside a kernel
of 50 MB, up to 10 within a GPC) and statements of order: more processes, larger footprints and a
nearer neighbour slow a kernel more. The fit has three weights; the footprint `half` at which the
curves rise is not determined by them, so the statements are checked for several values of it. Last,
points of a known model with noise: how well the fit finds the parameters where curves are measured.

    python benchmarks/bandwidth_fit.py [--save]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import gpusched as gs
from gpusched.experiments.olmedo_contention import PAPER_POINTS

RESULT = Path(__file__).parent / "results" / "bandwidth_fit.txt"
FOOTPRINTS = [512 * 1024, 2 * 10**6, 5 * 10**6, 20 * 10**6, 50 * 10**6, 500 * 10**6]


def statements(model: gs.experiments.Bandwidth) -> bool:
    """Whether the figures of this model have the shapes that the text describes."""
    seven = gs.experiments.olmedo_fig7(interference="bandwidth", model=model)
    eight = gs.experiments.olmedo_fig8(interference="bandwidth", model=model)
    nine = gs.experiments.olmedo_fig9(interference="bandwidth", model=model)
    curves = [t.where(by=by)["relative"] for t in (seven, eight) for by in ("memcpy", "memset")]
    # Times are whole ticks: equal factors may differ by a tick.
    holds = all((np.diff(curve) > -1e-3).all() and curve[-1] > curve[0] for curve in curves)
    near, far = (nine.where(by=by)["relative"] for by in ("same GPC", "other GPC"))
    return bool(holds and (near >= far).all() and near.max() > far.max() > 1)


def report() -> Iterator[str]:
    model = gs.experiments.Bandwidth.from_paper()
    yield "Fit to the numbers of the text (three weights, three numbers):"
    for (by, size, slowdown), error in zip(PAPER_POINTS, model.errors(PAPER_POINTS), strict=True):
        yield f"  {by:9} at {size:12g} bytes: {slowdown:4g}, model less text {error:8.1e}"
    weights = ", ".join(f"{by} {weight:.3f}" for by, weight in model.weights.items())
    yield f"  weights {weights} (other GPC: assumed, a fifth equal share); half {model.half} bytes"
    yield ""
    yield "Footprint `half`, which the text leaves open: shapes as described, factors at 512 KB"
    for half in (0, 10**4, 10**5, 512 * 1024, 5 * 10**6, 5 * 10**7, 5 * 10**8):
        fitted = gs.experiments.Bandwidth.fit(PAPER_POINTS, half=half)
        other = gs.experiments.Bandwidth({**fitted.weights, "other GPC": 0.25}, half)
        small = [other.factor(by, FOOTPRINTS[0]) for by in ("memcpy", "memset", "same GPC")]
        shapes = "yes" if statements(other) else "no"
        cells = "  ".join(f"{factor:5.2f}" for factor in small)
        yield f"  {half:10d}  {shapes:3}  {cells}"
    yield ""
    yield "Recovery from measured curves (6 footprints, 2 kinds, 200 draws): relative error"
    true = gs.experiments.Bandwidth({"memcpy": 2.0, "memset": 7.0}, 2e6)
    for noise in (0.0, 0.01, 0.05, 0.1):
        rng = np.random.default_rng(20)
        halves, weights = [], []
        for _ in range(200):
            points = [
                (by, size, max(1.0, true.factor(by, size) * (1 + noise * rng.standard_normal())))
                for by in true.weights
                for size in FOOTPRINTS
            ]
            found = gs.experiments.Bandwidth.fit(points)
            halves.append(abs(found.half / true.half - 1))
            weights.append(abs(found.weights["memset"] / 7 - 1))
        yield (
            f"  noise {100 * noise:3.0f} %: half {100 * np.median(halves):5.1f} %, weight of "
            f"memset {100 * np.median(weights):4.1f} % (medians)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"write results/{RESULT.name}, too")
    options = parser.parse_args()
    lines = []
    for line in report():
        lines.append(line)
        print(line, flush=True)
    if options.save:
        RESULT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
