"""The C core as functions on arrays: private and positional; use the package gpusched.

Arrays come in as anything numpy can cast safely (no floats for integers) and go out as new
arrays. mypy.stubtest compares these lines with the module.
"""

from typing import Final

import numpy.typing as npt

MAX_TASKS: Final[int]
__version__: Final[str]

class Cancelled(Exception): ...

# Schedules (py_schedule.c)

def schedule_replay(
    period: npt.ArrayLike,
    deadline: npt.ArrayLike,
    offset: npt.ArrayLike,
    completion: npt.ArrayLike,
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    batch: npt.ArrayLike,
    idling: bool,
    /,
) -> tuple[int, int, int, int]: ...
