"""Largest factors by which times can grow: exact for monotone tests, in steps for others."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

_MOST = Fraction(64)
_ONE = Fraction(1)
_NEAR = Fraction(1, 256)
_STEP = Fraction(1, 100)
_GROWTH = Fraction(21, 20)


def largest_factor(
    accepts: Callable[[Fraction], bool], times: list[int], guess: Fraction | None = None
) -> Fraction | None:
    """The largest factor that a monotone test accepts; None if it accepts none above 0.

    Times t are scaled to ``ceil(factor t)``, which is constant for factors above (m - 1) / t up to
    m / t. Each tested factor therefore represents the range between two such fractions. The test
    must fail at some factor. A guess is tested first, and then factors beside it, at distances that
    double; if it is right, only the guess and the next fraction are tested.
    """
    least = Fraction(0)  # accepted, or 0
    most: Fraction | None = None  # what is above fails
    if guess is not None:
        guess, distance = _range_of(guess, times)[1], _NEAR
        if accepts(guess):
            least = guess
            above = min(Fraction(guess * time // 1 + 1, time) for time in times)
            if not accepts(above):
                return guess
            least, tried = above, above
            while most is None and (tried := tried * (1 + distance)) < _MOST:
                below, above = _range_of(tried, times)
                least, most = (above, None) if accepts(tried) else (least, below)
                distance *= 2
        else:
            most = _range_of(guess, times)[0]
            while least == 0 and distance < 1 and most > 0:
                tried = most * (1 - distance)
                below, above = _range_of(tried, times)
                least, most = (above, most) if accepts(tried) else (least, below)
                distance *= 2
    if most is None:
        most = max(_MOST, 2 * least)
        while accepts(most):
            most *= 1024
        most = _range_of(most, times)[0]
    while least < most:
        middle = _between(least, most)
        below, above = _range_of(middle, times)
        if accepts(middle):
            least = above
        else:
            most = below
    return least or None


def _range_of(factor: Fraction, times: list[int]) -> tuple[Fraction, Fraction]:
    """The range of the factors, above the first and up to the second, that give the same times."""
    below, above = (-1, 1), (grown_time(factor, times[0]), times[0])
    for time, grown in zip(times, grown_times(factor, times), strict=True):
        if (grown - 1) * below[1] > below[0] * time:
            below = (grown - 1, time)
        if grown * above[1] < above[0] * time:
            above = (grown, time)
    return Fraction(*below), Fraction(*above)


def _between(least: Fraction, most: Fraction) -> Fraction:
    """A short fraction above ``least`` and at most ``most``, near their middle."""
    middle = (least + most) / 2
    size = 2 * (most - least).denominator // max(1, (most - least).numerator) + 1
    near = middle.limit_denominator(4 * size)
    return near if least < near <= most else middle


def factor_in_steps(
    accepts: Callable[[Fraction], bool], accepted: Fraction | None = None
) -> tuple[Fraction | None, Fraction | None]:
    """An accepted factor, and the next step, at most 1 % or 0.01 larger, which failed.

    The factors are steps of 5 % from 1 on, up to 64, then steps of 1 % up to the one that failed,
    all in multiples of 0.01; downwards if 1 fails. Not all are tested: distances double, and are
    halved after a failure. ``accepted``: a factor that is known to be accepted, from which to go on
    upwards, up to 64 times as far.
    """
    if accepted is not None or accepts(_ONE):
        up = _steps_up(_ONE if accepted is None else accepted)
        at = _last(accepts, up)
        if at == len(up) - 1:
            return up[at], None
        good, bad = up[at], up[at + 1]
    else:
        down = _steps_down()
        at = _last(lambda factor: not accepts(factor), down)
        if at == len(down) - 1:
            return None, down[at]
        good, bad = down[at + 1], down[at]
    step = max(good // 1, 1) * _STEP
    fine = [good + i * step for i in range(-((good - bad) // step))]
    at = _last(accepts, fine)
    return fine[at], fine[at + 1] if at + 1 < len(fine) else bad


def _last(holds: Callable[[Fraction], bool], factors: list[Fraction]) -> int:
    """Index of a factor that holds, the last one or before one that does not; the first holds."""
    good, bad, distance = 0, len(factors), 1
    while good + 1 < bad:
        at = min(good + distance, bad - 1 if bad == len(factors) else (good + bad) // 2)
        if holds(factors[at]):
            good, distance = at, 2 * distance
        else:
            bad, distance = at, len(factors)
    return good


def _steps_up(factor: Fraction) -> list[Fraction]:
    """Steps of 5 % from a factor on, up to the first that is at least 64 times as large."""
    steps = [factor]
    while steps[-1] < _MOST * factor:
        steps.append(max(steps[-1] + _STEP, steps[-1] * _GROWTH // _STEP * _STEP))
    return steps


def _steps_down() -> list[Fraction]:
    """Steps of 5 % from 1 on down to 0.01."""
    steps = [_ONE]
    while steps[-1] > _STEP:
        steps.append(min(steps[-1] - _STEP, steps[-1] / _GROWTH // _STEP * _STEP))
    return steps


def factors_beyond(factor: Fraction | None, times: list[int] | None = None) -> list[Fraction]:
    """Factors one of which a test must accept for its largest factor to exceed a given one.

    With ``times``, first the least factor that `largest_factor` tells from the given one. The
    others are for `factor_in_steps`: the next one in its last step of 5 %, and the next such step.
    For a monotone test, one of them is a necessary condition from 1 on; below 1, the first is a
    likely one.
    """
    if factor is None:
        return [_ONE, _STEP]
    found = [] if times is None else [min(Fraction(factor * t // 1 + 1, t) for t in times)]
    found.append(factor // _STEP * _STEP + _STEP)
    step = _ONE
    while factor >= step:
        step = max(step + _STEP, step * _GROWTH // _STEP * _STEP)
    return list(dict.fromkeys([*found, step] if factor >= 1 else found))


def grown_time(factor: Fraction, time: int) -> int:
    """The time multiplied by the factor, rounded up."""
    return grown_times(factor, [time])[0]


def grown_times(factor: Fraction, times: list[int]) -> list[int]:
    """The times multiplied by the factor, rounded up."""
    numerator, denominator = factor.numerator, factor.denominator
    return [-(-numerator * time // denominator) for time in times]


def factor_text(factor: Fraction) -> str:
    """Four decimals, rounded down."""
    return f"{factor.numerator * 10**4 // factor.denominator / 10**4:.10g}"
