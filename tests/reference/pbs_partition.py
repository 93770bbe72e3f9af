"""Partitioned parallel batch scheduling by enumeration of all assignments, slow and obvious.

Source: partitioned scheduling as usual (every job of a task on the processor of the task), each GPU
decided by the enumeration in ``pbs_brute``. No symmetry, no bound, no order.
"""

from itertools import product

from reference import pbs_brute


def restricted(completion, tasks):
    """The times of the batches of some tasks, numbered by their positions in the list."""
    times = []
    for batch in range(1 << len(tasks)):
        mask = sum(1 << task for k, task in enumerate(tasks) if batch >> k & 1)
        times.append(completion[mask])
    return times


def part_is_schedulable(case, completion, tasks, idling=False):
    """Whether one GPU, with this table, meets every deadline of some of the tasks."""
    if not tasks:
        return True
    period, deadline, offset = ([column[i] for i in tasks] for column in case)
    times = restricted(completion, tasks)
    return pbs_brute.search(period, deadline, times, offset, idling) is not None


def assignments(period, deadline, offset, tables, idling=False):
    """All assignments, as tuples of GPUs, that meet every deadline; a table for each GPU."""
    known = {}
    found = []
    for gpus in product(range(len(tables)), repeat=len(period)):
        fits = True
        for g, table in enumerate(tables):
            tasks = [i for i, gpu in enumerate(gpus) if gpu == g]
            key = (tuple(tasks), tuple(table))
            if key not in known:
                case = (period, deadline, offset)
                known[key] = part_is_schedulable(case, table, tasks, idling)
            fits = fits and known[key]
        if fits:
            found.append(gpus)
    return found
