"""gpusched._core.schedule_replay at the lowest level: answers and errors."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from native import positional
from reference import pbs_brute

from gpusched import _core

OK, OVERLAP, INELIGIBLE, LENGTH, NOT_READY, MISS, IDLE, UNFINISHED = range(8)

PERIOD = [4, 5, 10]
COMPLETION = [0, 1, 3, 4, 3, 4, 4, 6]
# Figure 2d of [RTNS24]: start, end, batch.
FIGURE_2D = [
    [0, 1, 5, 6, 9, 10, 14, 15, 18],
    [1, 5, 6, 9, 10, 14, 15, 18, 19],
    [1, 6, 1, 2, 1, 6, 1, 2, 1],
]

NONE = np.array([], np.int64)

NAMES = ["period", "deadline", "offset", "completion", "start", "end", "batch", "idling"]


def arguments(**changes: Any) -> list[Any]:
    start, end, batch = FIGURE_2D
    values = {
        "period": [PERIOD],
        "deadline": [PERIOD],
        "offset": [[0, 0, 0]],
        "completion": [COMPLETION],
        "start": start,
        "end": end,
        "batch": batch,
        "idling": False,
    }
    assert changes.keys() <= values.keys()
    return list((values | changes).values())


def replay(**changes: Any) -> tuple[int, int, int, int]:
    return positional(_core.schedule_replay)(*arguments(**changes))  # type: ignore[no-any-return]


def test_paper() -> None:
    result = replay()
    assert result == (OK, 9, -1, 19)
    assert [type(value) for value in result] == [int] * 4
    assert replay(idling=True) == (OK, 9, -1, 19)
    # J2 and J7 together, as the text tells figure 2c: past the deadline 8 of J2.
    assert replay(start=[0, 1, 5], end=[1, 5, 9], batch=[1, 6, 3]) == (MISS, 2, 0, 8)


@pytest.mark.parametrize(
    "convert",
    [
        np.array,
        lambda values: np.array(values, np.int8),
        lambda values: np.array(values, np.uint32),
        lambda values: np.array(values, ">i8"),
        lambda values: np.asfortranarray(np.array(values)),
        lambda values: np.repeat(np.array(values), 3, axis=-1)[..., ::3],
        lambda values: np.array(values)[..., ::-1].copy()[..., ::-1],
        lambda values: np.frombuffer(b"x" + np.array(values).tobytes(), np.int64, offset=1).reshape(
            np.shape(values)
        ),
    ],
    ids=["int64", "int8", "uint32", "swapped", "Fortran", "strided", "backwards", "unaligned"],
)
def test_any_layout(convert: Any) -> None:
    values = [convert(value) for value in arguments()[:-1]]
    for value in values:
        value.flags.writeable = False
    copies = [value.copy() for value in values]
    assert positional(_core.schedule_replay)(*values, False) == (OK, 9, -1, 19)
    for value, before in zip(values, copies, strict=True):
        np.testing.assert_array_equal(value, before)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"start": NONE, "end": NONE, "batch": NONE}, (UNFINISHED, 0, 0, 0)),
        ({"start": [-1], "end": [0], "batch": [1]}, (OVERLAP, 0, -1, -1)),
        ({"start": [-(2**63)], "end": [0], "batch": [1]}, (OVERLAP, 0, -1, -(2**63))),
        ({"start": [2**63 - 1], "end": [0], "batch": [1]}, (LENGTH, 0, -1, 0)),
        ({"start": [2**62], "end": [2**62 + 1], "batch": [1]}, (LENGTH, 0, -1, 2**62 + 1)),
        ({"start": [0], "end": [2**63 - 1], "batch": [1]}, (LENGTH, 0, -1, 2**63 - 1)),
        ({"start": [0], "end": [-(2**63)], "batch": [1]}, (LENGTH, 0, -1, -(2**63))),
        ({"start": [1], "end": [2], "batch": [1]}, (IDLE, 0, 0, 0)),
        ({"start": [1], "end": [2], "batch": [1], "idling": True}, (UNFINISHED, 1, 0, 4)),
        ({"offset": [[1, 0, 0]], "start": [0], "end": [1], "batch": [1]}, (NOT_READY, 0, 0, 0)),
    ],
)
def test_verdicts(changes: dict[str, Any], expected: tuple[int, int, int, int]) -> None:
    assert replay(**changes) == expected


@pytest.mark.parametrize(
    "mask", [0, 8, -1, -6, 6 + 2**31, 6 + 2**32, 6 + 2**40, 2**63 - 1, -(2**63), -(2**32) + 6]
)
def test_masks_are_not_cut(mask: int) -> None:
    batch = [1, mask, *FIGURE_2D[2][2:]]
    assert replay(batch=batch) == (INELIGIBLE, 1, -1, 1)


# Refusals


NOT_INTEGERS = {
    "None": (None, TypeError),
    "text": ("4", (TypeError, ValueError)),
    "float": (np.array([[4.0, 5.0, 10.0]]), TypeError),
    "NaN": (np.array([[np.nan, 5, 10]]), TypeError),
    "list of floats": ([[4.5, 5.0, 10.0]], TypeError),
    "list with NaN": ([[np.nan, 5, 10]], TypeError),
    "fractions": ([[Fraction(9, 2), 5, 10]], TypeError),
    "large integers": ([[2**64, 5, 10]], TypeError),
    "2**63": ([[2**63, 2**64 - 1, 2**63]], TypeError),
    "an empty list": ([[]], TypeError),  # of floats
    "complex": ([[4j, 5, 10]], TypeError),
    "uint64": (np.array([[4, 5, 10]], np.uint64), TypeError),
    "objects": (np.array([[4, "x", None]], object), (TypeError, ValueError)),
    "dates": (np.array([["2020-01-01"]], "M8[D]"), TypeError),
    "record": (np.zeros(3, "i8,i8"), TypeError),
    "set": ({1, 2}, TypeError),
    "type": (int, TypeError),
}


@pytest.mark.parametrize("name", NAMES[:-1])
@pytest.mark.parametrize("kind", NOT_INTEGERS)
def test_not_integers(name: str, kind: str) -> None:
    value, error = NOT_INTEGERS[kind]
    with pytest.raises(error, match=f"^{name}: "):
        replay(**{name: value})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"period": PERIOD}, "period: got 1 dimension(s), expected 2"),
        ({"period": 4}, "period: got 0 dimension(s), expected 2"),
        ({"period": [[PERIOD]]}, "period: got 3 dimension(s), expected 2"),
        ({"deadline": PERIOD}, "deadline: got 1 dimension(s), expected 2"),
        ({"offset": 0}, "offset: got 0 dimension(s), expected 2"),
        ({"completion": COMPLETION}, "completion: got 1 dimension(s), expected 2"),
        ({"start": [FIGURE_2D[0]]}, "start: got 2 dimension(s), expected 1"),
        ({"end": 5}, "end: got 0 dimension(s), expected 1"),
        ({"batch": [[1]]}, "batch: got 2 dimension(s), expected 1"),
        ({"period": [[4, 5]]}, "deadline: got length 3 on axis 1, expected 2"),
        ({"deadline": [[4, 5]]}, "deadline: got length 2 on axis 1, expected 3"),
        ({"offset": [[0, 0, 0, 0]]}, "offset: got length 4 on axis 1, expected 3"),
        ({"completion": [COMPLETION[:7]]}, "completion: got length 7 on axis 1, expected 8"),
        ({"completion": NONE[None]}, "completion: got length 0 on axis 1, expected 8"),
        ({"completion": [COMPLETION] * 2}, "completion: got length 2 on axis 0, expected 1"),
        ({"end": FIGURE_2D[1][:8]}, "end: got length 8 on axis 0, expected 9"),
        ({"batch": NONE}, "batch: got length 0 on axis 0, expected 9"),
        ({"period": NONE[None]}, "period: expected 1 to 24 tasks, got 0"),
        ({"period": np.ones((1, 25), int)}, "period: expected 1 to 24 tasks, got 25"),
        ({"period": np.ones((1, 64), int)}, "period: expected 1 to 24 tasks, got 64"),
        ({"period": np.ones((0, 3), int)}, "deadline: got length 1 on axis 0, expected 0"),
        ({"period": [[4, 0, 10]]}, "period[1]: got 0, expected a positive number"),
        ({"period": [[4, 5, -(2**63)]]}, f"period[2]: got {-(2**63)}, expected a pos"),
        ({"deadline": [[0, 5, 10]]}, "deadline[0]: got 0, expected a positive number"),
        ({"offset": [[0, -1, 0]]}, "offset[1]: got -1, expected a number of at least 0"),
        ({"completion": [[0, 1, 3, -4, 3, 4, 4, 6]]}, "completion[3]: got -4, expected a number"),
        ({"completion": [[1, 1, 3, 4, 3, 4, 4, 6]]}, "completion[0]: got 1, expected 0 for"),
        ({"completion": [[0, 1, 0, 4, 3, 4, 4, 6]]}, "task[1]: got 0, expected a positive"),
    ],
)
def test_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as caught:
        replay(**changes)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"completion": [[0, 1, 3, 4, 3, 4, 4, 2**61]]}, f"completion[7]: got {2**61}, expected"),
        ({"deadline": [[4, 2**63 - 1, 10]]}, f"deadline[1]: got {2**63 - 1}, expected a sum"),
        ({"offset": [[2**63 - 1, 0, 0]]}, "deadline[0]: got 4, expected a sum of offset and"),
        ({"period": [[2**31 - 1, 2**61 - 1, 3]]}, f"period[1]: got {2**61 - 1}, expected a period"),
        ({"period": [[2**63 - 1, 1, 1]]}, f"period[0]: got {2**63 - 1}, expected a period"),
    ],
)
def test_overflow(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(OverflowError) as caught:
        replay(**changes)
    assert str(caught.value).startswith(text)


def test_a_stack_is_refused() -> None:
    two = {
        name: np.repeat(value, 2, axis=0)
        for name, value in zip(NAMES, arguments()[:4], strict=False)
    }
    with pytest.raises(ValueError, match=r"^period: got length 2 on axis 0, expected 1"):
        replay(**two)
    none = {name: value[:0] for name, value in two.items()}
    with pytest.raises(ValueError, match=r"^period: got length 0 on axis 0, expected 1"):
        replay(**none)


@pytest.mark.parametrize("count", [0, 7, 12])
def test_number_of_arguments(count: int) -> None:
    with pytest.raises(TypeError, match=r"^schedule_replay: (missing argument|got 12 positional)"):
        positional(_core.schedule_replay)(*(arguments() * 2)[:count])


def test_arguments_by_name() -> None:
    named = dict(zip(NAMES, arguments(), strict=True))
    assert _core.schedule_replay(**named) == (OK, 9, -1, 19)
    with pytest.raises(TypeError, match=r"^schedule_replay: unknown parameter 'frames'"):
        _core.schedule_replay(**named, frames=1)
    with pytest.raises(TypeError, match=r"^schedule_replay: got period twice"):
        _core.schedule_replay(named["period"], **named)
    with pytest.raises(OverflowError, match=r"^cycle_from: got 9223372036854775808, expected a wh"):
        _core.schedule_replay(**named, cycle_from=2**63)
    with pytest.raises(TypeError, match=r"^cycle_from: got 1.5, expected a whole number"):
        _core.schedule_replay(**named, cycle_from=1.5)


def test_idling_may_raise() -> None:
    class Undecided:
        def __bool__(self) -> bool:
            raise KeyError("neither")

    with pytest.raises(KeyError, match="neither"):
        replay(idling=Undecided())


def test_most_tasks() -> None:
    n = _core.LIMITS["pbs.tasks"]
    assert n == 24
    completion = np.ones((1, 2**n), np.int64)
    completion[0, 0] = 0
    ones = np.ones((1, n), np.int64)
    everything = [[0], [1], [2**n - 1]]
    assert positional(_core.schedule_replay)(
        ones, ones, 0 * ones, completion, *everything, False
    ) == (
        OK,
        1,
        -1,
        1,
    )


# Agreement with the twin


@st.composite
def small_sets(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], list[int]]:
    n = draw(st.integers(1, 3))
    period = draw(st.lists(st.sampled_from([3, 4, 5, 6, 8, 12]), min_size=n, max_size=n))
    deadline = [draw(st.integers(1, 2 * p)) for p in period]
    offset = [draw(st.integers(0, p + 2)) for p in period]
    completion = [0] + [draw(st.integers(0, 4)) for _ in range(2**n - 1)]
    for i in range(n):
        completion[1 << i] = max(completion[1 << i], 1)
    return period, deadline, offset, completion


def disturbed(schedule: list[list[int]], n: int, chance: random.Random) -> list[list[int]]:
    """The schedule with one of the mistakes a scheduler could make, or none."""
    frames = [list(frame) for frame in schedule]
    if frames:
        at = chance.randrange(len(frames))
        match chance.randrange(8):
            case 0:
                del frames[at]
            case 1:
                frames.insert(at, list(frames[at]))
            case 2:
                frames[at][chance.randrange(2)] += chance.choice([-1, 1])
            case 3:
                frames[at][2] ^= 1 << chance.randrange(n + 1)
            case 4:
                for frame in frames[at:]:
                    frame[0] += 1
                    frame[1] += 1
            case 5:
                frames.append([frames[-1][1], frames[-1][1] + 1, 1])
    return frames


@given(small_sets(), st.booleans(), st.randoms(use_true_random=False))
def test_agrees_with_the_twin(
    sets: tuple[list[int], list[int], list[int], list[int]], idling: bool, chance: random.Random
) -> None:
    period, deadline, offset, completion = sets
    schedule = pbs_brute.search(period, deadline, completion, offset, idling)
    if schedule is None:  # any sequence of batches, a wrong one
        schedule = []
        now = 0
        for _ in range(chance.randrange(1, 6)):
            mask = chance.randrange(1, len(completion))
            schedule.append((now, now + completion[mask], mask))
            now += completion[mask]
    else:
        frames = [list(frame) for frame in schedule]
        result = replay_frames(sets, frames, idling)
        assert result[0] == OK
        assert pbs_brute.replay(frames, period, deadline, completion, offset, idling) == []
    for _ in range(5):
        frames = disturbed([list(frame) for frame in schedule], len(period), chance)
        wrong = pbs_brute.replay(frames, period, deadline, completion, offset, idling)
        result = replay_frames(sets, frames, idling)
        assert (result[0] == OK) == (wrong == []), (frames, result, wrong)
        if result[0] not in (OK, UNFINISHED):
            assert 0 <= result[1] < len(frames)


def replay_frames(
    sets: tuple[list[int], list[int], list[int], list[int]], frames: list[list[int]], idling: bool
) -> tuple[int, int, int, int]:
    period, deadline, offset, completion = sets
    columns = np.array(frames, np.int64).reshape(-1, 3).T
    return replay(
        period=[period],
        deadline=[deadline],
        offset=[offset],
        completion=[completion],
        start=columns[0],
        end=columns[1],
        batch=columns[2],
        idling=idling,
    )
