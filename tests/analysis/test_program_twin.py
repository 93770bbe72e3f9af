"""The twin of the tests of whole programs, against vectors and counterexamples."""

import pytest
from program_vectors import COUNTEREXAMPLES, DETAILS, PROGRAMS, VECTORS
from reference.program import bounds

pytestmark = pytest.mark.python


def names(cases):
    return [case.name.replace(" ", "-").replace(",", "") for case in cases]


def at_least(bound, response):
    return bound is None or bound >= response


# Vectors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(len(PROGRAMS)), ids=["H1", "H2", "H3"])
@pytest.mark.parametrize("vector", VECTORS, ids=names(VECTORS))
def test_the_bounds_of_a_vector(vector, n):
    machine, tasks = vector.system(n)
    found = bounds(vector.way, machine, tasks, vector.launches, vector.waiting, fits=False)
    assert found == vector.bounds[n]
    less = bounds(vector.way, machine, tasks, vector.launches, vector.waiting)
    assert all(a is None or (b is not None and b <= a) for a, b in zip(found, less, strict=True))
    assert all(map(at_least, less, vector.seen[n]))
    assert all(map(at_least, found, vector.seen[n]))


@pytest.mark.parametrize("vector", VECTORS, ids=names(VECTORS))
def test_waits_rounded_up_are_not_shorter(vector):
    for n in range(len(PROGRAMS)):
        options = vector.launches, vector.waiting
        up = bounds(vector.way, *vector.system(n), *options, whole_ticks=False, fits=False)
        assert all(map(at_least, up, vector.bounds[n]))


# Rules that are wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("case", [*COUNTEREXAMPLES, *DETAILS], ids=names(COUNTEREXAMPLES + DETAILS))
def test_the_bounds_of_a_case(case):
    found = bounds(case.way, case.machine, case.tasks, **case.options)
    assert {i: found[i] for i in case.bound} == case.bound
    assert all(at_least(found[i], response) for i, response in case.seen.items())


@pytest.mark.parametrize("case", COUNTEREXAMPLES, ids=names(COUNTEREXAMPLES))
def test_a_wrong_rule_claims_too_little(case):
    for i, claim in case.claimed.items():
        right = case.seen.get(i, case.bound[i])
        assert right is None or claim < right
    if case.tempting:
        found = bounds(*case.tempting, **case.options)
        assert {i: found[i] for i in case.claimed} == case.claimed
