"""Programs in Python that use the runtime: the lock, jobs, logs, the server and the player, their
order, deaths of holders, interrupts, exceptions and refusals. What is compared are orders and
verdicts, no times.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs
from gpusched import _core
from gpusched.rt.real_runs import _may_have_priorities

LOOSE = 10**12  # ns, of verdicts that are about orders
SPAWN = multiprocessing.get_context("spawn")
SECONDS = 600  # of a test that hangs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the lock is for Linux")


@pytest.fixture
def name() -> Iterator[str]:
    found = f"/gpusched-test-{os.getpid()}"
    gs.rt.Lock.remove(found)
    yield found
    gs.rt.Lock.remove(found)


def plan(**facts: Any) -> gs.Schedule:
    """One task with a frame of 2 ms every 4 ms."""
    tasks = gs.KernelTasks([4], wcet=[2], name=["camera"], **facts)
    return gs.Schedule([0], [2], [1], tasks).with_tick("ms")


def small_log(folder: Path, tasks: list[str]) -> gs.rt.Log:
    """A log that is read in no time."""
    return gs.rt.Log(folder / "log", tasks, events=256)


def started(*calls: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    return threads


def joined(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()


def wait_for(log: gs.rt.Log, kind: str, count: int) -> None:
    """Until a log has so many events of a kind."""
    for _ in range(SECONDS * 500):
        if len(log.read().of(kind)) >= count:
            return
        time.sleep(0.002)
    pytest.fail(f"no {count} events {kind}")


class Boom(Exception):
    pass


def boom(job: gs.rt.Job) -> None:
    raise Boom(job.number)


class NoTruth:
    def __bool__(self) -> bool:
        raise Boom


# Lock ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["priority", "fifo"])
@pytest.mark.parametrize("spin", [False, True])
def test_the_order_of_requests(order: str, spin: bool, name: str, tmp_path: Path) -> None:
    tasks = ["holder", "low", "high", "middle", "equal"]
    urgency = {"holder": 0, "low": 1, "high": 3, "middle": 2, "equal": 2}
    log = small_log(tmp_path, tasks)
    lock = gs.rt.Lock(name, order, log=log)
    granted: list[str] = []

    def ask(task: str) -> None:
        with lock.join(urgency[task]) as slot:
            for job in gs.rt.jobs(task, 1, count=1):
                with slot.section(job, spin=spin) as owner_died:
                    assert not owner_died
                    granted.append(task)

    threads = []
    with lock.join(0) as slot, slot.section():
        for count, task in enumerate(tasks[1:], 1):
            threads += started(lambda task=task: ask(task))
            wait_for(log, "request", count)
        assert granted == []
    joined(threads)
    expected = tasks[1:] if order == "fifo" else ["high", "middle", "equal", "low"]
    assert granted == expected
    seen = log.read()
    grants = seen.of("acquire")
    assert [seen.name[task] for task in grants.task.tolist()] == expected
    assert len(seen.of("release_lock")) == len(expected)


def hold(lock: gs.rt.Lock, told: Any, forever: bool) -> None:
    with lock.join(1) as slot:
        job = gs.rt.Job("dead", 0, 0, 0)
        with slot.section(job):
            told.set()
            while forever:
                time.sleep(1)


@pytest.mark.parametrize("order", ["priority", "fifo"])
def test_the_death_of_a_holder_in_another_process(order: str, name: str, tmp_path: Path) -> None:
    log = small_log(tmp_path, ["dead", "next", "last"])
    lock = gs.rt.Lock(name, order, log=log)
    told = SPAWN.Event()
    process = SPAWN.Process(target=hold, args=(lock, told, True), daemon=True)
    process.start()
    assert told.wait(SECONDS)
    found: dict[str, bool] = {}

    def ask(task: str, urgency: int) -> None:
        with lock.join(urgency) as slot, slot.section(gs.rt.Job(task, 0, 0, 0)) as owner_died:
            found[task] = owner_died

    threads = started(lambda: ask("next", 3))
    wait_for(log, "request", 2)
    threads += started(lambda: ask("last", 2))
    wait_for(log, "request", 3)
    assert found == {}
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    joined(threads)
    assert found == {"next": True, "last": False}
    seen = log.read()
    assert [seen.name[task] for task in seen.of("owner_died").task.tolist()] == ["next"]
    assert len(seen.of("acquire")) == 3 and len(seen.of("release_lock")) == 2


def take_turns(lock: gs.rt.Lock, log: gs.rt.Log, task: str, urgency: int, first: int) -> None:
    with lock.join(urgency) as slot:
        for job in gs.rt.jobs(task, "60ms", first=first, count=3, log=log):
            with slot.section(job), job.segment():
                time.sleep(0.002)


@pytest.mark.parametrize("way", ["mpcp", "fmlp_plus"])
def test_processes_and_a_verdict(way: str, name: str, tmp_path: Path) -> None:
    kernel = gs.Kernel("20ms", blocks=8, threads=256)
    tasks = [gs.Task(name, "60ms", [gs.CPU("1ms"), kernel]) for name in ("camera", "lidar")]
    answer = gs.analyze(gs.Workload(tasks, tick="us"), gs.Platform("Xavier", cpus=2), way)
    log = small_log(tmp_path, ["camera", "lidar"])
    lock = gs.rt.Lock(name, "priority" if way == "mpcp" else "fifo", log=log)
    given = [(lock, log, "camera", 2), (lock, log, "lidar", 1)]
    first = gs.rt.now() + 10**9
    processes = [SPAWN.Process(target=take_turns, args=(*one, first)) for one in given]
    for process in processes:
        process.start()
    for process in processes:
        process.join(SECONDS)
        assert process.exitcode == 0
    found = gs.kept(answer, log.read(), tolerance=LOOSE)
    assert found.kept and found.jobs.tolist() == [3, 3], found
    assert len(log.read().of("gpu_end")) == 6
    rows = log.read().of("acquire", "release_lock").kind.tolist()
    assert rows == [rows[0], rows[1]] * 6  # one holder at a time


def test_two_holders_are_found(tmp_path: Path, name: str) -> None:
    """Sections of two locks in place of one: the verdict names the condition."""
    kernel = gs.Kernel("20ms", blocks=8, threads=256)
    tasks = [gs.Task(name, "60ms", [kernel]) for name in ("camera", "lidar")]
    answer = gs.analyze(gs.Workload(tasks, tick="us"), gs.Platform("Xavier", cpus=2), "mpcp")
    log = small_log(tmp_path, ["camera", "lidar"])
    locks = [gs.rt.Lock(name + more, "priority", log=log) for more in ("", "b")]
    first, second = (next(gs.rt.jobs(task, "60ms", log=log)) for task in log.tasks)
    with locks[0].join(2) as one, locks[1].join(1) as two, one.section(first), two.section(second):
        pass
    gs.rt.Lock.remove(name + "b")
    found = gs.kept(answer, log.read(), tolerance=LOOSE)
    assert "two holders" in {finding.rule for finding in found.broken}


def test_a_timeout_withdraws_the_request(name: str, tmp_path: Path) -> None:
    log = small_log(tmp_path, ["a"])
    lock = gs.rt.Lock(name, "fifo", log=log)
    job = gs.rt.Job("a", 7, 0, 0)
    with lock.join(1) as slot, lock.join(2) as other:
        with slot.section(job):
            for timeout in (0, "1ms"):
                with pytest.raises(TimeoutError, match="lock"), other.section(job, timeout=timeout):
                    pytest.fail("two holders")
        with other.section(timeout=0):  # nobody asks, so that it needs no wait
            pass
    assert len(log.read().of("skip")) == 2


def test_a_stop_flag_ends_a_wait(name: str, tmp_path: Path) -> None:
    log = small_log(tmp_path, ["a"])
    lock = gs.rt.Lock(name, "priority", check="10s", log=log)
    stop, ends = bytearray(1), []

    def ask() -> None:
        with lock.join(9) as slot:
            try:
                with slot.section(gs.rt.Job("a", 0, 0, 0), stop=stop):
                    ends.append("held")
            except gs.Cancelled:
                ends.append("cancelled")

    with lock.join(1) as slot, slot.section():
        threads = started(ask)
        wait_for(log, "request", 1)
        stop[0] = 1
        joined(threads)
    assert ends == ["cancelled"]
    assert len(log.read().of("skip")) == 1
    with lock.join(1) as slot, slot.section(timeout=0):
        pass


def interrupted(call: Callable[[], object], begun: Callable[[], object]) -> None:
    """A call of the main thread that another one interrupts once something has begun."""

    def interrupt() -> None:
        begun()
        time.sleep(0.05)  # as a rule, the call waits then
        os.kill(os.getpid(), signal.SIGINT)

    threads: list[threading.Thread] = []
    with pytest.raises(KeyboardInterrupt):
        threads += started(interrupt)
        call()
    joined(threads)


def test_ctrl_c_in_each_wait(name: str, tmp_path: Path) -> None:
    log = small_log(tmp_path, ["camera"])
    lock = gs.rt.Lock(name, "priority", check="10s", log=log)
    job = gs.rt.Job("camera", 0, 0, 0)
    with lock.join(1) as slot, lock.join(2) as other, slot.section():

        def ask() -> None:
            with other.section(job):
                pytest.fail("two holders")

        interrupted(ask, lambda: wait_for(log, "request", 1))
    with lock.join(1) as slot, slot.section(timeout=0):
        pass
    far = gs.rt.now() + 10**12
    interrupted(lambda: next(gs.rt.jobs("camera", "1s", first=far)), lambda: None)
    player = gs.rt.Player(plan())
    interrupted(lambda: player.done("camera", 0), lambda: None)
    player.work("camera", lambda job: None)
    interrupted(lambda: player.run(first=far), lambda: None)
    assert player.done("camera", 0) == "stopped"
    log = small_log(tmp_path, ["camera"])
    player = gs.rt.Player(plan(), log=log)
    player.work("camera", lambda job: None, lambda job: False)  # work that does not end
    interrupted(player.run, lambda: wait_for(log, "submit", 1))


def test_misuse_of_slots(name: str) -> None:
    lock = gs.rt.Lock(name, "fifo")
    slot = lock.join(1)
    section = slot.section()
    with pytest.raises(RuntimeError, match="not entered"):
        section.__exit__(None, None, None)
    errors: list[Exception] = []

    def from_another_thread() -> None:
        for call in (slot.section().__enter__, slot.leave):
            try:
                call()
            except RuntimeError as error:
                errors.append(error)

    with section:
        with pytest.raises(RuntimeError, match="neither holds the lock nor waits"):
            slot.section().__enter__()
        joined(started(from_another_thread))
    assert len(errors) == 2 and all("this thread" in str(error) for error in errors)
    with section:  # again
        pass
    with pytest.raises(ZeroDivisionError), slot.section():
        raise ZeroDivisionError
    with slot.section(timeout=0):
        pass
    child = os.fork()
    if child == 0:  # the slot is that of the other process
        try:
            slot.section().__enter__()
        except ValueError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    slot.leave()
    slot.leave()
    with pytest.raises(RuntimeError, match="given back"):
        slot.section()
    with pytest.raises(RuntimeError, match="this thread"):
        section.__enter__()


def test_slots_run_out_and_come_back(name: str) -> None:
    lock = gs.rt.Lock(name, "fifo")
    slots = [lock.join(1) for _ in range(64)]
    with pytest.raises(RuntimeError, match="at most 64"):
        lock.join(1)
    slots.pop().leave()
    slots.append(lock.join(1))
    process = SPAWN.Process(target=hold, args=(gs.rt.Lock(name, "fifo"), SPAWN.Event(), False))
    process.start()
    process.join(SECONDS)
    assert process.exitcode == 1  # no slot


def test_ceilings(name: str) -> None:
    if not _may_have_priorities():
        pytest.skip("needs SCHED_FIFO")
    lock = gs.rt.Lock(name, "priority")
    seen: list[int] = []

    def priority() -> int:
        return os.sched_getparam(0).sched_priority

    def work() -> None:
        gs.rt.thread(fifo=2)
        with lock.join(1, ceiling=4) as slot:
            for spin in (False, True):
                with slot.section(spin=spin):
                    seen.append(priority())
                    with pytest.raises(RuntimeError):
                        slot.section(spin=spin).__enter__()
                    seen.append(priority())
                seen.append(priority())
            with pytest.raises(ValueError, match="ceiling"):
                lock.join(1, ceiling=1)

    joined(started(work))
    assert seen == [4, 4, 2] * 2


# Jobs and logs ------------------------------------------------------------------------------------


def test_jobs_and_their_log(tmp_path: Path) -> None:
    log = gs.rt.Log(tmp_path / "log", ["camera"], about="a test")
    first = gs.rt.now()
    found = []
    for job in gs.rt.jobs("camera", "2ms", first=first, deadline=1, count=3, log=log):
        assert gs.rt.now() >= job.release
        found.append(job)
        with job.segment(), job.segment(1):
            pass
    ms = 10**6
    assert [(job.number, job.release - first) for job in found] == [
        (0, 0),
        (1, 2 * ms),
        (2, 4 * ms),
    ]
    assert all(job.deadline == job.release + 1 for job in found)
    seen = log.read()
    assert seen.about == "a test" and seen.name == ("camera",)
    kinds = ("release", "submit", "gpu_end", "miss", "cpu", "complete")
    assert [len(seen.of(kind)) for kind in kinds] == [3, 6, 6, 3, 3, 3]
    assert seen.of("release").value.tolist() == [job.release for job in found]
    assert seen.of("cpu").value.min() >= 0


def test_jobs_that_are_left(tmp_path: Path) -> None:
    """A body that does not end leaves its job without an end; so does a segment."""
    log = small_log(tmp_path, ["camera"])
    for job in gs.rt.jobs("camera", 1, log=log):
        if job.number == 2:
            break
    gc.collect()
    with pytest.raises(ZeroDivisionError):
        for job in gs.rt.jobs("camera", 1, log=log):
            with job.segment():
                raise ZeroDivisionError
    gc.collect()
    seen = log.read()
    assert [len(seen.of(kind)) for kind in ("release", "complete", "gpu_end")] == [4, 2, 0]
    stop = bytearray(1)
    numbers = []
    for job in gs.rt.jobs("camera", 1, stop=stop):
        numbers.append(job.number)
        stop[0] = job.number == 3
    assert numbers == [0, 1, 2, 3]


def test_a_loop_stays_in_its_thread() -> None:
    loop = gs.rt.jobs("camera", 1)
    next(loop)
    errors: list[Exception] = []

    def go_on() -> None:
        try:
            next(loop)
        except RuntimeError as error:
            errors.append(error)

    joined(started(go_on))
    assert "another thread" in str(errors[0])


def test_jobs_that_others_release(tmp_path: Path) -> None:
    """A pipeline: its releases are ends of others, and the verdict knows them."""
    part = gs.Kernel("4ms", blocks=8, threads=256)
    tasks = [
        gs.Task("frame", "20ms", [part]),
        gs.Task("net", segments=[part], after="frame"),
        gs.Task("log", segments=[gs.CPU("1ms")], after=["frame", "net"], every=2),
    ]
    path = gs.Path("frame to log", ["frame", "net", "log"])
    workload = gs.Workload(tasks, tick="us", paths=[path])
    answer = gs.analyze(workload, gs.Platform("AGX Orin", cpus=2), "gpu_server")
    log = small_log(tmp_path, list(workload.names))
    ends = {name: gs.rt.Ends() for name in ("frame", "net")}
    first = gs.rt.now() + 10**7

    def run(task: gs.Task, urgency: int) -> None:
        deadline, more = int(task.deadline * workload.tick_ns), dict[str, Any]()
        if task.after:
            more = {"after": [ends[name] for name in task.after], "every": task.every}
        else:
            more = {"period": "20ms", "first": first, "count": 5}
        for job in gs.rt.jobs(
            task.name, deadline=deadline, ends=ends.get(task.name), log=log, **more
        ):
            if task.kernels:
                server.run(job, lambda job: time.sleep(0.001), urgency=urgency)

    with gs.rt.Server(log=log) as server:
        joined(started(*(partial(run, task, 3 - k) for k, task in enumerate(workload))))
    seen = log.read()
    found = gs.kept(answer, seen, tolerance=LOOSE)
    assert found.kept and found.jobs.tolist() == [5, 5, 3], found
    assert found.paths[0].jobs.tolist() == [[0, 0, 0], [2, 2, 1], [4, 4, 2]]

    def column(kind: str, task: str, key: str) -> list[int]:
        events = seen.of(kind)
        mine = events.task == seen.name.index(task)
        instants: list[int] = getattr(events, key)[mine].tolist()
        return instants

    assert column("release", "net", "value") == column("complete", "frame", "time")
    assert column("release", "log", "value") == column("complete", "net", "time")[::2]


@pytest.mark.parametrize("fails", [False, True])
def test_the_end_of_a_loop_ends_those_behind_it(fails: bool) -> None:
    ends, numbers = gs.rt.Ends(), list[int]()

    def follow() -> None:
        numbers.extend(job.number for job in gs.rt.jobs("net", after=ends, deadline=1))

    threads = started(follow)
    with contextlib.suppress(Boom):
        for job in gs.rt.jobs("camera", 1, ends=ends):
            if job.number == 3:
                if fails:
                    boom(job)
                break
    gc.collect()
    joined(threads)
    assert numbers == [0, 1, 2]


def test_misuse_of_ends() -> None:
    ends, far = gs.rt.Ends(), gs.rt.Ends()
    loop = gs.rt.jobs("camera", 1, ends=ends)
    next(loop)
    with pytest.raises(RuntimeError, match="another loop"):
        next(gs.rt.jobs("other", 1, ends=ends))
    assert [job.number for job in gs.rt.jobs("camera", 1, count=70, ends=far)][-1] == 69
    with pytest.raises(RuntimeError, match="at most 64 ended jobs"):
        next(gs.rt.jobs("net", after=[far], deadline=1))
    interrupted(lambda: next(gs.rt.jobs("net", after=gs.rt.Ends(), deadline=1)), lambda: None)
    stop = bytearray(b"\1")
    assert list(gs.rt.jobs("net", after=gs.rt.Ends(), deadline=1, stop=stop)) == []
    child = os.fork()
    if child == 0:
        try:
            gs.rt.jobs("net", after=ends, deadline=1)
        except ValueError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_logs_in_other_processes(tmp_path: Path) -> None:
    log = gs.rt.Log(tmp_path / "log", ["a", "b"], threads=2, events=4)
    same = pickle.loads(pickle.dumps(log))
    assert same.tasks == ("a", "b") and same.path == log.path
    for job in range(6):
        log.event("release", "a", job, time=job)
    same.event("complete", "b", 0, 5, time=9)
    seen = log.read()
    assert seen.lost > 0 and seen.of("complete").value.tolist() == [5]
    other = gs.rt.Log(tmp_path / "log", ["c"])
    same.event("release", "a", 1)  # goes to the file that was replaced
    assert len(other.read()) == 0
    (tmp_path / "short").write_bytes(b"GSRTLOG1")
    with pytest.raises(ValueError, match="short"):
        gs.rt.Log.join(tmp_path / "short")


# Server -------------------------------------------------------------------------------------------


class Gate:
    """GPU work that ends when it is told to."""

    def __init__(self) -> None:
        self.begun, self.open = threading.Event(), False

    def submit(self, job: gs.rt.Job) -> None:
        self.begun.set()

    def ended(self, job: gs.rt.Job) -> bool:
        return self.open


def job_of(task: str, number: int = 0, deadline: int = 2**62) -> gs.rt.Job:
    return gs.rt.Job(task, number, 0, deadline)


def held(server: gs.rt.Server, task: str) -> tuple[Gate, list[threading.Thread]]:
    """A segment that occupies the server."""
    gate = Gate()
    threads = started(lambda: server.run(job_of(task), gate.submit, gate.ended, urgency=0))
    assert gate.begun.wait(SECONDS)
    return gate, threads


@pytest.mark.parametrize("spin", [False, True])
def test_the_order_of_a_server(spin: bool, tmp_path: Path) -> None:
    tasks = ["holder", "low", "high", "middle", "equal"]
    urgency = {"low": 1, "high": 3, "middle": 2, "equal": 2}
    log = small_log(tmp_path, tasks)
    ran: list[str] = []
    ends: dict[str, str] = {}
    with gs.rt.Server(spin=spin, log=log) as server:
        gate, threads = held(server, "holder")

        def ask(task: str) -> None:
            ends[task] = server.run(
                job_of(task), lambda job: ran.append(job.task), urgency=urgency[task], index=1
            )

        for count, task in enumerate(tasks[1:], 2):
            threads += started(lambda task=task: ask(task))
            wait_for(log, "request", count)
        assert ran == []
        gate.open = True
        joined(threads)
    assert ran == ["high", "middle", "equal", "low"]
    assert ends == dict.fromkeys(tasks[1:], "ok")
    seen = log.read()
    assert [seen.name[task] for task in seen.of("acquire").task.tolist()] == ["holder", *ran]
    assert seen.of("gpu_end").value.tolist() == [0, 1, 1, 1, 1]
    pairs = seen.of("acquire", "release_lock").kind.tolist()
    assert pairs == pairs[:2] * 5  # one segment at a time


def test_a_server_and_a_verdict(tmp_path: Path) -> None:
    kernel = gs.Kernel("20ms", blocks=8, threads=256)
    tasks = [gs.Task(name, "60ms", [gs.CPU("1ms"), kernel]) for name in ("camera", "lidar")]
    answer = gs.analyze(gs.Workload(tasks, tick="us"), gs.Platform("Xavier", cpus=2), "gpu_server")
    log = small_log(tmp_path, ["camera", "lidar"])
    first = gs.rt.now() + 10**7

    ends: dict[str, int] = {}

    def submit(job: gs.rt.Job) -> None:
        ends[job.task] = gs.rt.now() + 2 * 10**6

    def ended(job: gs.rt.Job) -> bool:
        return gs.rt.now() >= ends[job.task]

    def task(name: str, urgency: int) -> None:
        for job in gs.rt.jobs(name, "60ms", first=first, count=3, log=log):
            assert server.run(job, submit, ended, urgency=urgency) in ("ok", "late")

    with gs.rt.Server(log=log) as server:
        joined(started(lambda: task("camera", 2), lambda: task("lidar", 1)))
    found = gs.kept(answer, log.read(), tolerance=LOOSE)
    assert found.kept and found.jobs.tolist() == [3, 3], found
    spans = log.read().spans("submit", "gpu_end")
    assert len(spans["task"]) == 6 and (spans["end"] - spans["start"]).min() >= 2 * 10**6


def test_late_and_skipped_segments(tmp_path: Path) -> None:
    log = small_log(tmp_path, ["a"])
    with gs.rt.Server(log=log) as server:
        assert server.run(job_of("a", 0, 1), lambda job: None, urgency=1) == "late"
    with gs.rt.Server(overrun="skip", log=log) as server:
        refused = server.run(job_of("a", 1, 1), lambda job: pytest.fail("late"), urgency=1)
        assert refused == "skipped"
    seen = log.read()
    assert seen.of("miss").job.tolist() == [0] and seen.of("skip").job.tolist() == [1]


def test_exceptions_of_segments() -> None:
    wrong: Any = lambda: None  # noqa: E731
    with gs.rt.Server() as server:
        for functions in ((boom, None), (print, boom), (print, lambda job: NoTruth())):
            with pytest.raises(Boom):
                server.run(job_of("a"), *functions, urgency=1)
        with pytest.raises(TypeError, match="argument"):
            server.run(job_of("a"), wrong, urgency=1)
        assert server.run(job_of("a"), print, urgency=1) == "ok"


def test_segments_that_hang() -> None:
    server = gs.rt.Server(hang="1ms")
    for _ in range(2):  # the server has ended
        with pytest.raises(TimeoutError, match="a: got a segment that did not end"):
            server.run(job_of("a"), lambda job: None, lambda job: False, urgency=1)
    server.close()


def cancelled(server: gs.rt.Server, stop: bytearray, gate: Gate, urgency: int) -> str:
    try:
        return server.run(job_of("a"), gate.submit, gate.ended, urgency=urgency, stop=stop)
    except gs.Cancelled:
        return "cancelled"


def test_stop_flags_of_segments(tmp_path: Path) -> None:
    """One that waits is withdrawn; one that has begun is left, and still holds up the others."""
    log = small_log(tmp_path, ["a", "b"])
    stop, ends = bytearray(1), list[str]()
    begun, waits, last = Gate(), Gate(), Gate()
    last.open = True
    with gs.rt.Server(log=log) as server:
        threads = started(lambda: ends.append(cancelled(server, stop, begun, 1)))
        assert begun.begun.wait(SECONDS)
        threads += started(lambda: ends.append(cancelled(server, stop, waits, 2)))
        wait_for(log, "request", 2)
        threads += started(
            lambda: ends.append(server.run(job_of("b"), last.submit, last.ended, urgency=1))
        )
        wait_for(log, "request", 3)
        stop[0] = 1
        joined(threads[:2])
        assert ends == ["cancelled"] * 2 and not waits.begun.is_set() and not last.begun.is_set()
        begun.open = True
        joined(threads)
    assert ends[2] == "ok" and not waits.begun.is_set()
    seen = log.read()
    assert len(seen.of("skip")) == 1 and len(seen.of("gpu_end")) == 2


def test_an_exception_that_nobody_is_left_for(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: told.append(what.exc_type))
    stop, gate, ends = bytearray(1), Gate(), list[str]()
    monkeypatch.setattr(gate, "ended", lambda job: 1 / 0 if gate.open else False)
    with gs.rt.Server() as server:
        threads = started(lambda: ends.append(cancelled(server, stop, gate, 1)))
        assert gate.begun.wait(SECONDS)
        stop[0] = 1
        joined(threads)
        gate.open = True
    assert ends == ["cancelled"] and told == [ZeroDivisionError]


def test_ctrl_c_in_segments(tmp_path: Path) -> None:
    log = small_log(tmp_path, ["a", "b"])
    with gs.rt.Server(log=log) as server:
        gate = Gate()
        interrupted(
            lambda: server.run(job_of("a"), gate.submit, gate.ended, urgency=1),
            lambda: gate.begun.wait(SECONDS),
        )
        interrupted(
            lambda: server.run(job_of("b"), lambda job: pytest.fail("withdrawn"), urgency=1),
            lambda: wait_for(log, "request", 2),
        )
        gate.open = True
        assert server.run(job_of("b"), lambda job: None, urgency=1) == "ok"
    assert len(log.read().of("gpu_end")) == 2


def test_a_server_that_closes(tmp_path: Path) -> None:
    log = small_log(tmp_path, ["a", "b"])
    server = gs.rt.Server(log=log)
    gate, threads = held(server, "a")
    ends: list[str] = []
    threads += started(
        lambda: ends.append(server.run(job_of("b"), lambda job: pytest.fail("closed"), urgency=1))
    )
    wait_for(log, "request", 2)
    closing = started(server.close)
    while "open" in repr(server):
        time.sleep(0.001)
    assert ends == []
    gate.open = True
    joined([*threads, *closing])
    assert ends == ["stopped"]
    server.close()
    assert server.run(job_of("b"), lambda job: pytest.fail("closed"), urgency=1) == "stopped"


def test_misuse_of_a_server() -> None:
    errors: list[str] = []

    def inside(job: gs.rt.Job) -> None:
        for call in (lambda: server.run(job, print, urgency=1), server.close):
            try:
                call()
            except RuntimeError as error:
                errors.append(str(error))

    with gs.rt.Server() as server:
        assert server.run(job_of("a"), inside, urgency=1) == "ok"
        child = os.fork()
        if child == 0:  # where no thread serves
            try:
                server.run(job_of("a"), print, urgency=1)
            except ValueError:
                server.close()
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(RuntimeError, match="expected another one"):
            server._core.serve()
        with pytest.raises(TypeError):
            pickle.dumps(server)
    assert len(errors) == 2 and "other threads than the server's" in errors[0]
    assert "server's thread" in errors[1]


def test_a_server_and_its_functions_are_freed() -> None:
    class Big:
        pass

    gone = []

    def make() -> threading.Thread:
        server, big = gs.rt.Server(), Big()
        server.run(job_of("a"), lambda job: (big, server), urgency=1)
        gone.extend([weakref.ref(big), weakref.ref(server)])
        return server._thread

    thread = make()
    gc.collect()
    joined([thread])  # ends with its server
    assert [ref() for ref in gone] == [None, None]


@pytest.mark.parametrize("work", ["lambda job: True", "lambda job: False"])
def test_a_server_that_nobody_closes(work: str) -> None:
    """The program ends, also while a segment runs."""
    code = f"""
import threading, time
import gpusched as gs
server, begun = gs.rt.Server(nap="1ms"), threading.Event()
job = gs.rt.Job("a", 0, 0, 0)
call = lambda: server.run(job, lambda job: begun.set(), {work}, urgency=1)
threading.Thread(target=call, daemon=True).start()
begun.wait()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=SECONDS, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_the_priority_of_a_server() -> None:
    if not _may_have_priorities():
        with pytest.raises(OSError, match="permitted"):
            gs.rt.Server(fifo=2)
        return
    seen: list[int] = []
    with gs.rt.Server(fifo=2) as server:
        server.run(
            job_of("a"), lambda job: seen.append(os.sched_getparam(0).sched_priority), urgency=1
        )
    assert seen == [2]


# Player -------------------------------------------------------------------------------------------


def test_a_player_with_callbacks(tmp_path: Path) -> None:
    tasks = gs.KernelTasks([8, 16], wcet=[2, 3], name=["camera", "lidar"])
    table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 3})
    made = gs.pbs.search(tasks, table).schedule
    assert made is not None
    schedule = made.with_tick("10ms")
    schedule.save(tmp_path / "plan.json")
    log = small_log(tmp_path, ["camera", "lidar"])
    player = gs.rt.Player(tmp_path / "plan.json", log=log)
    ran: list[tuple[str, int]] = []
    ends: dict[str, int] = {}
    first = gs.rt.now() + 10**7

    def submit(job: gs.rt.Job) -> None:
        assert job.kernel == 0
        ran.append((job.task, job.number))
        ends[job.task] = gs.rt.now() + 10**7

    for task in player.tasks:
        player.work(task, submit, lambda job: gs.rt.now() >= ends[job.task])
    assert player.run(first=first, cycles=2)
    assert sorted(ran) == [("camera", job) for job in range(4)] + [("lidar", 0), ("lidar", 1)]
    assert player.done("lidar", 1) in ("ok", "late") and player.done("lidar", 2) == "stopped"
    found = gs.kept(schedule, log.read(), tolerance=LOOSE)
    assert found.kept and found.jobs.tolist() == [4, 2], found
    assert log.read().of("release").value.min() == first


def test_jobs_that_get_ready(tmp_path: Path) -> None:
    log = small_log(tmp_path, ["camera"])
    player = gs.rt.Player(plan(), reclaim=True, log=log)
    player.work("camera", lambda job: ran.append(job.number), handshake=True)
    ran: list[int] = []
    ends: list[str] = []
    first = gs.rt.now() + 10**7

    def task() -> None:
        for job in gs.rt.jobs("camera", "4ms", first=first, count=4, log=log):
            assert player.ready("camera", job.number)
            ends.append(player.done("camera", job.number))

    threads = started(task)
    assert player.run(first=first, cycles=4)
    joined(threads)
    assert ran == [0, 1, 2, 3] and set(ends) <= {"ok", "late"}
    assert log.read().of("ready").job.tolist() == ran
    assert not player.ready("camera", 4)
    with pytest.raises(RuntimeError, match="changed, expected another"):
        player.work("camera", print)
    with pytest.raises(RuntimeError, match="has played"):
        player.run()


def test_policies() -> None:
    """Jobs that never get ready: skipped, refused, or waited for."""
    player = gs.rt.Player(plan(), overrun="skip")
    player.work("camera", lambda job: pytest.fail("not ready"), handshake=True)
    assert player.run(cycles=2)
    assert [player.done("camera", job) for job in range(2)] == ["skipped", "skipped"]
    player = gs.rt.Player(plan(), overrun="skip")
    player.work("camera", print, handshake=True, overrun="abort")
    with pytest.raises(RuntimeError, match="to be ready"):
        player.run(cycles=1)
    player = gs.rt.Player(plan(), hang="1ms")
    player.work("camera", print, handshake=True)
    with pytest.raises(TimeoutError, match="readiness"):
        player.run(cycles=1)
    player = gs.rt.Player(plan(), hang="1ms")
    player.work("camera", lambda job: None, lambda job: False)
    with pytest.raises(TimeoutError, match="work of task"):
        player.run(cycles=1)
    player = gs.rt.Player(plan(), spin=True, awake="1ms")
    player.work("camera", lambda job: player.stop() if job.number == 2 else None)
    assert not player.run()
    assert player.done("camera", 2, timeout=0) in ("ok", "late")
    assert player.done("camera", 3, timeout=0) == "stopped"


@pytest.mark.parametrize(
    "functions",
    [(boom, None), (print, boom), (lambda job: None, lambda job: NoTruth()), (lambda: None, None)],
    ids=["submit", "ended", "truth", "signature"],
)
def test_exceptions_of_functions(functions: Any) -> None:
    player = gs.rt.Player(plan())
    player.work("camera", *functions)
    ends: list[str] = []
    threads = started(lambda: ends.append(player.done("camera", 0)))
    with pytest.raises((Boom, TypeError)):
        player.run()
    joined(threads)
    assert ends == ["stopped"]
    with pytest.raises(RuntimeError, match="has played"):
        player.run()


def test_a_player_and_its_functions_are_freed() -> None:
    class Big:
        pass

    kept = Big()
    gone = []

    def make() -> None:
        player = gs.rt.Player(plan())
        big = Big()
        player.work("camera", lambda job: (player, big))
        player.run(cycles=1)
        gone.append(weakref.ref(big))

    make()
    gc.collect()
    assert gone[0]() is None and kept is not None


# Refusals -----------------------------------------------------------------------------------------


def test_refusals(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = gs.rt.Log(path, ["camera"])
    lock = gs.rt.Lock(name, "fifo", log=log)
    player = gs.rt.Player(plan(), log=log)
    slot = lock.join(1)
    server = gs.rt.Server(log=log)
    job, other, ends = job_of("camera"), job_of("lidar"), gs.rt.Ends()
    bare = gs.Schedule([0], [2], [1], gs.KernelTasks([4], wcet=[2], name=["camera"]))
    refused: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (TypeError, "tasks", lambda: gs.rt.Log(path, "camera")),
        (TypeError, "tasks", lambda: gs.rt.Log(path, [])),
        (ValueError, r"tasks\[1\]", lambda: gs.rt.Log(path, ["a", "a"])),
        (ValueError, "names", lambda: gs.rt.Log(path, ["a" * 64])),
        (ValueError, r"names\[0\]", lambda: gs.rt.Log(path, ["a\0"])),
        (ValueError, "names", lambda: gs.rt.Log(path, [""])),
        (ValueError, "threads", lambda: gs.rt.Log(path, ["a"], threads=0)),
        (ValueError, "threads", lambda: gs.rt.Log(path, ["a"], threads=1025)),
        (ValueError, "events", lambda: gs.rt.Log(path, ["a"], events=3)),
        (ValueError, "about", lambda: gs.rt.Log(path, ["a"], about="a" * 64)),
        (OSError, "log", lambda: gs.rt.Log(tmp_path / "no" / "log", ["a"])),
        (OSError, "no", lambda: gs.rt.Log.join(tmp_path / "no")),
        (ValueError, "kind", lambda: log.event("end", "camera", 0)),
        (ValueError, "task", lambda: log.event("release", "lidar", 0)),
        (OverflowError, "value", lambda: log.event("release", "camera", 0, 2**63)),
        (ValueError, "task", lambda: log.segment("lidar", 0)),
        (ValueError, "name", lambda: gs.rt.Lock("camera", "fifo")),
        (ValueError, "name", lambda: gs.rt.Lock("/a/b", "fifo")),
        (ValueError, "name", lambda: gs.rt.Lock.remove("")),
        (ValueError, "order", lambda: gs.rt.Lock(name, "lifo")),
        (ValueError, "order: got 0", lambda: gs.rt.Lock(name, "priority")),
        (ValueError, "check", lambda: gs.rt.Lock(name, "fifo", check=0)),
        (TypeError, "log", lambda: gs.rt.Lock(name, "fifo", log=log.read())),  # type: ignore[arg-type]
        (OverflowError, "urgency", lambda: lock.join(2**31)),
        (ValueError, "ceiling", lambda: lock.join(1, ceiling=100)),
        (ValueError, "task", lambda: slot.section(other)),
        (TypeError, "job", lambda: slot.section(3)),  # type: ignore[arg-type]
        (ValueError, "timeout", lambda: slot.section(timeout=-1)),
        (TypeError, "stop", lambda: slot.section(stop=3).__enter__()),
        (ValueError, "period", lambda: gs.rt.jobs("camera", 0)),
        (OverflowError, "period", lambda: gs.rt.jobs("camera", 2**61)),
        (ValueError, "first", lambda: gs.rt.jobs("camera", 1, first=-1)),
        (ValueError, "deadline", lambda: gs.rt.jobs("camera", 1, deadline="0s")),
        (ValueError, "count", lambda: gs.rt.jobs("camera", 1, count=0)),
        (ValueError, "task", lambda: gs.rt.jobs("lidar", 1, log=log)),
        (TypeError, "task", lambda: gs.rt.jobs(3, 1)),  # type: ignore[arg-type]
        (ValueError, "period", lambda: gs.rt.jobs("camera")),
        (ValueError, "a deadline alone", lambda: gs.rt.jobs("camera", 1, after=ends, deadline=1)),
        (ValueError, "a deadline alone", lambda: gs.rt.jobs("camera", after=ends)),
        (ValueError, "every=1", lambda: gs.rt.jobs("camera", 1, every=2)),
        (ValueError, "every", lambda: gs.rt.jobs("camera", after=ends, deadline=1, every=0)),
        (ValueError, "ends", lambda: gs.rt.jobs("camera", after=ends, deadline=1, ends=ends)),
        (TypeError, r"after\[0\]", lambda: gs.rt.jobs("camera", after=[3], deadline=1)),  # type: ignore[list-item]
        (TypeError, "ends", lambda: gs.rt.jobs("camera", 1, ends=3)),  # type: ignore[arg-type]
        (ValueError, "schedule", lambda: gs.rt.Player(bare)),
        (OSError, "no", lambda: gs.rt.Player(tmp_path / "no")),
        (ValueError, "overrun", lambda: gs.rt.Player(plan(), overrun="late")),
        (ValueError, "awake", lambda: gs.rt.Player(plan(), awake="51ms")),
        (ValueError, "nap", lambda: gs.rt.Player(plan(), nap="51ms")),
        (ValueError, "cpu", lambda: gs.rt.Player(plan(), cpu=-1)),
        (ValueError, "tasks of the", lambda: gs.rt.Player(plan(), log=other_log)),
        (ValueError, "task", lambda: player.work("lidar", print)),
        (TypeError, "submit", lambda: player.work("camera", None)),  # type: ignore[arg-type]
        (TypeError, "ended", lambda: player.work("camera", print, 3)),  # type: ignore[arg-type]
        (RuntimeError, "camera", player.run),
        (RuntimeError, "handshake", lambda: player.ready("camera", 0)),
        (RuntimeError, "last 64", lambda: player.done("camera", -1)),
        (ValueError, "cpu", lambda: gs.rt.Server(cpu=-1)),
        (ValueError, "fifo", lambda: gs.rt.Server(fifo=-1)),
        (ValueError, "overrun", lambda: gs.rt.Server(overrun="abort")),
        (ValueError, "hang", lambda: gs.rt.Server(hang=0)),
        (ValueError, "nap", lambda: gs.rt.Server(nap="51ms")),
        (TypeError, "log", lambda: gs.rt.Server(log=3)),  # type: ignore[arg-type]
        (TypeError, "job", lambda: server.run(3, print, urgency=1)),  # type: ignore[arg-type]
        (TypeError, "submit", lambda: server.run(job, None, urgency=1)),  # type: ignore[arg-type]
        (TypeError, "ended", lambda: server.run(job, print, 3, urgency=1)),  # type: ignore[arg-type]
        (ValueError, "task", lambda: server.run(other, print, urgency=1)),
        (OverflowError, "urgency", lambda: server.run(job, print, urgency=2**63)),
        (ValueError, "index", lambda: server.run(job, print, urgency=1, index=-1)),
        (TypeError, "stop", lambda: server.run(job, print, urgency=1, stop=3)),
        (ValueError, "cpu", lambda: gs.rt.thread(-1)),
        (ValueError, "fifo", lambda: gs.rt.thread(fifo=-1)),
        ((OSError, ValueError), "cpu", lambda: gs.rt.thread(10**6)),  # type: ignore[list-item]
    ]
    other_log = gs.rt.Log(tmp_path / "other", ["lidar"])
    for kind, text, call in refused:
        with pytest.raises(kind, match=text):
            call()
    assert log.read().name == ("camera",)  # no refused log has replaced it
    player.work("camera", print)
    for options in ({"cycles": 0}, {"first": -1}, {"cycles": 2**62}):
        with pytest.raises(ValueError, match="cycles"):
            player.run(**options)
    slot.leave()
    server.close()


BAD: list[Any] = [
    *(None, True, -1, 0, 65536, 2**31, 2**63 - 1, -(2**63), 2**64, 1.5, float("nan"), "", "a\0b"),
    *("\ud800", b"a", [], (), (1,), ("\ud800",), (None,), {}, object(), bytearray(1), print, int),
]


def test_hostile_arguments_of_the_core(name: str, tmp_path: Path) -> None:
    """Every bad value at every place of every function: exceptions, and nothing else."""
    path = str(tmp_path / "plan.json")
    plan().save(path)
    log = _core.runtime_log_create(
        str(tmp_path / "log"), ("camera",), threads=4, events=64, about=""
    )
    lock = _core.runtime_lock_open(name, order=0, check=10**6, log=log)
    slot = lock.join(1, ceiling=0)
    options = {"cpu": -1, "fifo": 0, "reclaim": 0, "spin": 0, "awake": 0, "overrun": 0, "hang": 0}
    player = _core.runtime_player_open(path, **options, nap=0, log=log)
    player.work(0, handshake=True, overrun=0)
    player.stop()  # so that no instant is waited for
    loop = {"task": 0, "first": 0, "period": 1, "deadline": 1, "jobs": 2, "every": 1}
    ends = _core.runtime_ends_open()
    stopped = bytearray(b"\1")
    section = {"task": 0, "job": 0, "spin": False, "timeout": 0, "stop": stopped}
    serving = {"spin": 0, "overrun": 0, "hang": 0, "nap": 0, "log": log}
    server = _core.runtime_server_open(**serving)
    server.stop()  # so that no segment is waited for
    asked = {"job": 0, "release": 0, "deadline": 0, "kernel": 0, "urgency": 0, "stop": stopped}
    calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (log.event, (1, 0, 0, 0), {"time": 0}),
        (lock.join, (1,), {"ceiling": 0}),
        (lock.leave, (slot,), {}),
        (lock.section, (slot,), section),
        (_core.runtime_lock_open, (name,), {"order": 0, "check": 1, "log": log}),
        (_core.runtime_jobs_open, (log, None, (ends,)), loop),
        (_core.runtime_jobs_open(log, ends, (), **loop).next, (), {"stop": stopped}),
        (_core.runtime_player_open, (path,), {**options, "nap": 0, "log": log}),
        (_core.runtime_server_open, (), serving),
        (server.run, (0, print, None), asked),
        (player.work, (0,), {"handshake": True, "overrun": 0}),
        (player.ready, (0, 0), {}),
        (player.done, (0, 0), {"until": 0}),
        (player.run, ((print,), (None,)), {"first": 0, "cycles": 1}),
    ]
    refused = 0
    for function, inputs, named in calls:
        for bad in BAD:
            changed = [
                *(((*inputs[:at], bad, *inputs[at + 1 :]), named) for at in range(len(inputs))),
                *((inputs, {**named, key: bad}) for key in named),
            ]
            for positional, keywords in changed:
                try:
                    made = function(*positional, **keywords)
                    if hasattr(made, "__enter__"):
                        made.__enter__()
                        made.__exit__(None, None, None)
                except (TypeError, ValueError, OverflowError, RuntimeError, OSError, gs.Cancelled):
                    refused += 1
    assert refused > 300
