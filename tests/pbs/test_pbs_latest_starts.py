"""Latest starts of 5 to 7 tasks: agreement with brute force, with inserted idle time.

With idling and ``thorough`` the search decides by the latest starts of all classes alone.
"""

from __future__ import annotations

import numpy as np
import pytest
from reference import pbs_brute
from test_search import as_objects, random_set

import gpusched as gs


@pytest.mark.parametrize("kind", ["implicit", "constrained", "offsets"])
def test_latest_starts_agree_with_brute_force(kind: str) -> None:
    rng = np.random.default_rng([len(kind), 31])
    answers = []
    for i in range(60):
        period, deadline, offset, completion = random_set(rng, 5 + i % 3, kind)
        if i % 4:  # shorter batches, so that some of the sets can be scheduled
            completion = [-(-c // 2) for c in completion]
        tasks, table = as_objects(period, deadline, offset, completion)
        found = gs.pbs.search(tasks, table, idling=True, thorough=True)
        expected = pbs_brute.search(period, deadline, completion, offset, idling=True)
        assert found.stage == "latest_start"
        assert found.schedulable is (expected is not None), (period, deadline, offset, completion)
        if found.schedulable:
            found.schedule.validate()
        answers.append(found.schedulable)
    assert set(answers) == {True, False}
