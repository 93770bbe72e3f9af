"""Sets of kernels that run fully in parallel, and the orders of submission that allow it.

Source: "GPUSched", section 2.3 (Definition 2.3 and Example 2.1): a set is eligible when, for some
order of submission, every block of every kernel is resident at once.  All orders are tried.  A
kernel alone is always eligible, also when its grid needs several waves.
"""

from itertools import permutations

from .place import place


def eligible_order(sms, limits, sm_order, kernels, members, rule="ignore", wanted=None):
    """The first order (tuple of task indices, lexicographic) that fits on the idle GPU, or None."""
    if len(members) == 1:
        return tuple(members)
    for order in permutations(sorted(members)):
        batch = [kernels[i] for i in order]
        sizes = [wanted[i] for i in order] if wanted else None
        where = place(sms, limits, sm_order, batch, "most_room", rule=rule, wanted=sizes)
        if all(sm >= 0 for ids in where for sm in ids):
            return order
    return None


def eligible_orders(sms, limits, sm_order, kernels, rule="ignore", wanted=None):
    """A list by bit mask: an order for each eligible set, None for the others and for mask 0.

    rule, wanted: see place().
    """
    n = len(kernels)
    return [
        eligible_order(
            sms, limits, sm_order, kernels, [i for i in range(n) if m >> i & 1], rule, wanted
        )
        if m
        else None
        for m in range(1 << n)
    ]
