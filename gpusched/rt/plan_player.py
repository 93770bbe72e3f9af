"""Player of a schedule whose kernels are functions of Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable

from gpusched import _core
from gpusched._support.arguments import flag, instance, integer, integer64, one_of
from gpusched._support.registry import enumeration
from gpusched._support.text import shown
from gpusched.model.schedule import Schedule
from gpusched.model.workload.time_units import Time
from gpusched.rt.job_log import Log, now, ns_of
from gpusched.rt.job_loop import Job

__all__ = ["Player"]

_OVERRUNS = enumeration("rt.overrun")
_STATUSES = enumeration("rt.status")
_NEVER = 2**63 - 1
_LEAD = 10_000_000  # ns, from the call of run to the first release


class Player:
    """Plays a schedule: its frames in their order, each when its jobs are ready.

    The thread that calls `run` dispatches the frames: it calls the function of each task in the
    batch, which enqueues GPU work, and waits until all of it has ended. It holds the GIL only while
    it calls functions. Tasks with CPU work before their GPU work have threads of their own, which
    say that a job is `ready` and wait until it is `done`. A play ends once; a player is not used
    again.

    >>> plan = gs.Schedule([0], [2], [1], gs.KernelTasks([4], wcet=[2], name=["a"])).with_tick("ms")
    >>> player = gs.rt.Player(plan)
    >>> ran = []
    >>> player.work("a", lambda job: ran.append(job.number))
    >>> player.run(cycles=3)
    True
    >>> ran, player.done("a", 2) in ("ok", "late")
    ([0, 1, 2], True)

    Parameters
    ----------
    schedule
        The schedule with the length of its tick (`Schedule.with_tick`), or the path of its file.
    cpu, fifo
        CPU and SCHED_FIFO priority of the thread that plays, from the call of `run` on. Default:
        both stay as they are.
    reclaim
        Whether a frame begins as soon as the one before has ended and its jobs are ready, in place
        of its planned start.
    spin
        Whether work is looked at without a pause.
    nap
        Time in ns, or text, between two looks at work, at most 50 ms.
    awake
        Time in ns, or text, before a planned start from which on the thread waits busily, at most
        50 ms.
    overrun
        What is done with a job that is not ready, or whose frame would end after its deadline:
        "continue" (it is waited for, and run late), "skip" (it is not run), or "abort".
    hang
        Time in ns, or text: work that ends, or gets ready, so much later than planned ends the
        play. Default: no limit.
    log
        A `Log` whose tasks are those of the schedule, in its order, and maybe more behind them.

    Raises
    ------
    ValueError
        The schedule is not one that can be played, or an option is out of its range.
    OSError
        The file cannot be read.
    """

    def __init__(
        self,
        schedule: Schedule | str | os.PathLike[str],
        *,
        cpu: int | None = None,
        fifo: int = 0,
        reclaim: bool = False,
        spin: bool = False,
        nap: Time = "50us",
        awake: Time = 0,
        overrun: str = "continue",
        hang: Time | None = None,
        log: Log | None = None,
    ) -> None:
        plan = schedule if isinstance(schedule, Schedule) else Schedule.load(schedule)
        if plan.tick is None:
            raise ValueError("schedule: got one without the length of its tick; see with_tick")
        one_of(overrun, _OVERRUNS, "overrun")
        self._tasks: tuple[str, ...] = plan.tasks.name
        if log is not None:
            instance(log, Log, "log")
            if log.tasks[: len(self._tasks)] != self._tasks:
                raise ValueError(
                    f"log: got one of {shown(log.tasks)}, expected the tasks of the schedule "
                    f"first, {shown(self._tasks)}"
                )
        if cpu is not None and integer(cpu, "cpu") < 0:
            raise ValueError(f"cpu: got {cpu}, expected the number of a CPU")
        self._overrun = overrun
        self._submit: dict[str, Callable[[Job], object]] = {}
        self._ended: dict[str, Callable[[Job], object] | None] = {}
        self._log = log
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "schedule.json")
            plan.save(path)
            self._core = _core.runtime_player_open(
                path,
                cpu=-1 if cpu is None else cpu,
                fifo=integer(fifo, "fifo"),
                reclaim=flag(reclaim, "reclaim"),
                spin=flag(spin, "spin"),
                awake=ns_of(awake, "awake", 0),
                overrun=_OVERRUNS.index(overrun),
                hang=0 if hang is None else ns_of(hang, "hang"),
                nap=0 if spin else ns_of(nap, "nap"),
                log=None if log is None else log._core,
            )

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks, in the order of the schedule."""
        return self._tasks

    def work(
        self,
        task: str,
        submit: Callable[[Job], object],
        ended: Callable[[Job], object] | None = None,
        *,
        handshake: bool = False,
        overrun: str | None = None,
    ) -> None:
        """Set what a task does on the GPU.

        Parameters
        ----------
        task
            Its name.
        submit
            Called with the `Job` and its kernel when it begins: it enqueues the work and returns.
        ended
            Called with the `Job` again and again until it says that the work has ended; it only
            looks, as ``torch.cuda.Event.query`` does. Default: the work has ended when ``submit``
            returns.
        handshake
            Whether jobs wait until another thread says that they are `ready`. Otherwise they are
            at their releases.
        overrun
            The policy of this task. Default: that of the player.

        Raises
        ------
        ValueError
            The task or the policy is unknown.
        RuntimeError
            The player plays, or has played.
        """
        one_of(task, self._tasks, "task")
        policy = self._overrun if overrun is None else overrun
        one_of(policy, _OVERRUNS, "overrun")
        for name, function in (("submit", submit), ("ended", ended)):
            if not callable(function) and (name == "submit" or function is not None):
                raise TypeError(f"{name}: got {shown(function)}, expected a function")
        self._core.work(
            self._tasks.index(task),
            handshake=flag(handshake, "handshake"),
            overrun=_OVERRUNS.index(policy),
        )
        self._submit[task], self._ended[task] = submit, ended

    def run(self, *, first: int | None = None, cycles: int | None = None) -> bool:
        """Play whole hyperperiods in the calling thread.

        Ctrl-C ends the play within a tenth of a second while it waits for a frame or for work, and
        behind a function that runs. An exception of a function ends it, too: other work of the
        frame may still be on the GPU then.

        Parameters
        ----------
        first
            Instant at which the schedule begins, of ``gs.rt.now``. Default: 10 ms from now.
        cycles
            Number of hyperperiods. Default: until `stop`.

        Returns
        -------
        bool
            Whether all were played; False when `stop` ended the play.

        Raises
        ------
        TimeoutError
            Work did not end, or a job did not get ready, within ``hang``.
        RuntimeError
            A job that must not be late would be, a task has no function, or the player has played.
        ValueError
            ``first`` or ``cycles`` is out of its range.
        OSError
            The system does not grant the CPU or the priority.
        """
        if missing := [task for task in self._tasks if task not in self._submit]:
            raise RuntimeError(f"task {shown(missing[0])}: got no function, expected work() of it")
        if cycles is not None and integer(cycles, "cycles") < 1:
            raise ValueError(f"cycles: got {cycles}, expected at least 1")
        begins = now() + _LEAD if first is None else integer64(first, "first")
        submit = tuple(_for_job(task, self._submit[task], self._log) for task in self._tasks)
        ended = tuple(_for_job(task, self._ended[task], self._log) for task in self._tasks)
        return self._core.run(submit, ended, first=begins, cycles=cycles or 0)

    def ready(self, task: str, job: int) -> bool:
        """Say that the CPU work of a job before its GPU work is done, in the order of jobs.

        False when the play has stopped. Raises RuntimeError for a task without handshake, and for
        a job that is not its next one.
        """
        one_of(task, self._tasks, "task")
        return self._core.ready(self._tasks.index(task), integer64(job, "job"))

    def done(self, task: str, job: int, *, timeout: Time | None = None) -> str:
        """Wait, without the GIL, until the GPU work of a job has ended.

        Parameters
        ----------
        task, job
            Name of the task, and number of the job: one of its last 64, or one to come.
        timeout
            Longest wait in ns, or text such as "5ms". Default: without a limit.

        Returns
        -------
        str
            "ok", "late" (done after its deadline), "skipped" (not run), "stopped" (the play has
            ended before) or "timeout".

        Raises
        ------
        RuntimeError
            The job is older.
        KeyboardInterrupt
            Within a tenth of a second.
        """
        one_of(task, self._tasks, "task")
        until = _NEVER if timeout is None else now() + ns_of(timeout, "timeout", 0)
        number = integer64(job, "job")
        return _STATUSES[self._core.done(self._tasks.index(task), number, until=until)]

    def stop(self) -> None:
        """End the play behind the frame that runs. Any thread may call it, also a function."""
        self._core.stop()

    def __repr__(self) -> str:
        return f"<Player: {shown(self._tasks)}>"


def _for_job(
    task: str, function: Callable[[Job], object] | None, log: Log | None
) -> Callable[[int, int, int, int], object] | None:
    """A function of the numbers that the core has of a job."""
    if function is None:
        return None
    call = function

    def called(kernel: int, number: int, release: int, deadline: int) -> object:
        return call(Job(task, number, release, deadline, kernel, log))

    return called
