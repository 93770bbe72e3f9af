"""Numbers of random cases, as GPUSCHED_HYPOTHESIS asks for them.

``benchmarks/twin_campaign.py`` runs the tests that ask here with ten times as many.
"""

from __future__ import annotations

import os

PROFILE = os.environ.get("GPUSCHED_HYPOTHESIS", "default")
QUICK = PROFILE == "quick"
"""Few cases, among which not everything occurs."""


def cases(usual: int) -> int:
    """The number of random cases of a test.

    Examples
    --------
    >>> cases(60) in (6, 60, 600)
    True
    """
    if QUICK:
        return max(usual // 10, 1)
    return 10 * usual if PROFILE == "campaign" else usual
