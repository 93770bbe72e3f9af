"""Comparison of a log of jobs with bounds and conditions: each rule yields findings."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise

from gpusched._support.text import clip, plural
from gpusched.io.run_log import EVENTS, NO_TASK, RunLog
from gpusched.model.workload.time_units import time_with_unit
from gpusched.rt.expectations import Expectations, Facts, Plan

RULES = {
    "response": "bound",
    "frame end": "bound",
    "path": "bound",
    "no job": "condition",
    "not completed": "condition",
    "release": "condition",
    "release jitter": "condition",
    "phase": "condition",
    "CPU time": "condition",
    "least time": "condition",
    "segment": "condition",
    "segments": "condition",
    "two holders": "condition",
    "order": "condition",
    "urgency": "condition",
    "holder died": "condition",
    "skipped": "condition",
    "stopped": "condition",
    "plan": "condition",
    "batch": "condition",
    "batch length": "condition",
    "dispatch": "condition",
    "readiness": "condition",
}
"""Rules, each of which is about a bound or a condition of the answer."""


@dataclass(frozen=True)
class Finding:
    """Evidence that a bound was exceeded or a condition was broken.

    >>> plan = gs.Schedule([0], [2], [1], gs.KernelTasks([4], wcet=[2], name=["a"])).with_tick("ms")
    >>> log = gs.io.RunLog(["a"], [0, 3_000_000], ["release", "complete"], 0, 0)
    >>> gs.kept(plan, log).exceeded[0].value
    3000000

    Attributes
    ----------
    rule
        Name of the rule, such as "response" or "segment".
    task, job
        The task, "" for frames, and the number of its job or of the frame; -1 for none. Of rule
        "path": the path, and the number of the last job.
    value, limit
        What was seen, and what was allowed, in ns; 0 where the rule is not about times.
    text
        A sentence with both.
    count
        How often the rule was broken for this task; the evidence is the worst case.
    """

    rule: str
    task: str
    job: int
    value: int
    limit: int
    text: str
    count: int = 1

    @property
    def is_bound(self) -> bool:
        """Whether a bound of the answer was exceeded, rather than a condition broken."""
        return RULES[self.rule] == "bound"

    def __str__(self) -> str:
        return self.text if self.count == 1 else f"{self.text} ({self.count} times)"


Job = tuple[str, int]

_BEFORE_ALL = -(2**63)


class JobTimes:
    """Arrivals, completions and other instants of the jobs of a log."""

    def __init__(self, log: RunLog, facts: Mapping[str, Facts]) -> None:
        self.release: dict[Job, int] = {}
        self.woken: dict[Job, int] = {}
        self.complete: dict[Job, int] = {}
        self.cpu: dict[Job, int] = {}
        self.ready: dict[Job, int] = {}
        self.skipped: dict[Job, int] = {}
        self.kernels: dict[Job, int] = {}
        self.last = int(log.time[-1]) if len(log) else 0
        for kind, task, job, time, value in rows_of_log(log):
            if task == NO_TASK:
                continue
            key = log.name[task], job
            if kind == "release":
                self.release[key], self.woken[key] = value or time, time
            elif kind == "cpu":
                self.cpu[key] = self.cpu.get(key, 0) + value
            elif kind == "gpu_end":
                self.kernels[key] = time
            elif kind in ("complete", "ready"):
                getattr(self, kind)[key] = time
            elif kind == "skip":
                self.skipped[key] = time
        shaken = {name for name, _ in self.ready}
        for key in self.release:
            lead = 0 if key[0] in shaken else facts[key[0]].lead
            self.release[key] -= lead
            self.woken[key] -= lead


def rows_of_log(log: RunLog) -> Iterator[tuple[str, int, int, int, int]]:
    """Kind, task, job, time and value of each event."""
    columns = [getattr(log, key).tolist() for key in ("kind", "task", "job", "time", "value")]
    for kind, *others in zip(*columns, strict=True):
        yield (EVENTS[kind], *others)


def findings(log: RunLog, expected: Expectations, tolerance: int) -> tuple[list[Finding], JobTimes]:
    """All findings, and the times of the jobs."""
    jobs = JobTimes(log, expected.facts)
    found = [*_marks(log), *_jobs(log, expected, jobs, tolerance)]
    if any(facts.segments for facts in expected.facts.values()):
        found += _segments(log, expected, tolerance)
    if expected.order is not None:
        found += _grants(log, expected, jobs, tolerance)
    if expected.plan is not None:
        found += _frames(log, expected.plan, jobs, tolerance)
    return found, jobs


def worst(found: list[Finding]) -> tuple[Finding, ...]:
    """For each rule and task the finding with the largest excess, and how many there were."""
    groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in found:
        groups[finding.rule, finding.task].append(finding)
    kept = []
    for group in groups.values():
        most = max(group, key=lambda finding: finding.value - finding.limit)
        kept.append(Finding(**{**vars(most), "count": len(group)}))
    return tuple(kept)


def ns(time: int) -> str:
    """A time in ns as text."""
    return f"-{time_with_unit(-time, 1)}" if time < 0 else time_with_unit(time, 1)


def _finding(rule: str, job: Job, value: int, limit: int, seen: str, expected: str) -> Finding:
    name, number = job
    who = f"{clip(name, 60)}, job {number}" if name else f"frame {number}"
    return Finding(rule, name, number, value, limit, f"{who}: {seen}, {expected}")


def _marks(log: RunLog) -> Iterator[Finding]:
    """Events that tell of a broken condition themselves."""
    texts = {
        "owner_died": ("holder died", "a holder of the lock died before it", "none does"),
        "skip": ("skipped", "was not run, or gave up waiting", "every job runs"),
        "abort": ("stopped", "the player stopped at it", "every job runs"),
    }
    for kind, task, job, _, value in rows_of_log(log):
        if kind in texts:
            rule, seen, expected = texts[kind]
            yield _finding(rule, (log.name[task], job), value, 0, seen, f"expected that {expected}")


def _jobs(log: RunLog, expected: Expectations, jobs: JobTimes, tol: int) -> Iterator[Finding]:
    """Responses, releases, CPU times, and jobs that never end."""
    of_task: dict[str, list[int]] = defaultdict(list)
    for name, job in jobs.release:
        of_task[name].append(job)
    ends = jobs.complete
    delayed = _Delays(log, expected, jobs)
    for name, facts in expected.facts.items():
        numbers = sorted(of_task[name])
        done = [job for job in numbers if (name, job) in ends]
        if not done and not (expected.plan and any(key[0] == name for key in jobs.kernels)):
            seen = "no job with its release and completion in the log"
            yield Finding("no job", name, -1, 0, 0, f"{clip(name, 60)}: {seen}, expected some")
        for job in numbers:
            key = name, job
            since = jobs.release[key]
            if key in ends:
                yield from _response(key, ends[key] - since, facts, tol)
            elif key not in jobs.skipped:
                if done and job < done[-1]:
                    seen = "was released and not completed, unlike later ones"
                    yield _finding("not completed", key, 0, 0, seen, "expected all in their order")
                else:
                    yield from _response(key, jobs.last - since, facts, tol, "at least ")
            late = jobs.woken[key] - since - facts.jitter
            if late > tol and not delayed.explains(key, tol):
                seen = f"released {ns(jobs.woken[key] - since)} after its arrival"
                limit = f"the workload says at most {ns(facts.jitter)}"
                yield _finding("release jitter", key, late, 0, seen, limit)
            if facts.cpu is not None and jobs.cpu.get(key, 0) > facts.cpu + tol:
                seen, limit = (
                    f"{ns(jobs.cpu[key])} of CPU time",
                    f"the workload says {ns(facts.cpu)}",
                )
                yield _finding("CPU time", key, jobs.cpu[key], facts.cpu, seen, limit)
            if key in ends and (took := ends[key] - jobs.woken[key]) < facts.best - tol:
                seen, limit = f"took {ns(took)}", f"the workload says at least {ns(facts.best)}"
                yield _finding("least time", key, -took, -facts.best, seen, limit)
        for before, job in pairwise(numbers):
            if jobs.woken[name, job] < jobs.woken[name, before]:
                seen = f"started before job {before}"
                yield _finding("release", (name, job), 0, 0, seen, "expected jobs in their order")
        if facts.period is not None:
            yield from _releases(name, numbers, jobs, facts.period, tol)
        if facts.after:
            yield from _released(name, numbers, jobs, facts, log.lost == 0, tol)


class _Delays:
    """Jobs by core, for threads that woke late because others of their core had it.

    Where events are lost, a task may have had its core until the first event that the log has of
    it. Tasks without a core move between CPUs, which their logs do not tell.
    """

    def __init__(self, log: RunLog, expected: Expectations, jobs: JobTimes) -> None:
        self.facts, self.jobs = expected.facts, jobs
        self.spans: dict[int, list[tuple[int, int, Job]]] = defaultdict(list)
        self.latest: dict[int, list[int]] = {}  # completion of the spans up to each
        for key, since in jobs.release.items():
            self._add(expected, key, since, jobs.complete.get(key, jobs.last))
        if log.lost:
            first = dict.fromkeys(expected.facts, jobs.last)
            for _, task, _, time, _ in reversed([*rows_of_log(log)]):
                if task != NO_TASK:
                    first[log.name[task]] = time
            for name, until in first.items():
                self._add(expected, (name, -1), _BEFORE_ALL, until)
        for core, spans in self.spans.items():
            spans.sort()
            self.latest[core] = list(accumulate((end for _, end, _ in spans), max))

    def _add(self, expected: Expectations, key: Job, since: int, until: int) -> None:
        facts = self.facts[key[0]]
        for core in {facts.core, expected.server if facts.segments else None}:
            if core is not None:
                self.spans[core].append((since, until, key))

    def explains(self, key: Job, tol: int) -> bool:
        """Whether other jobs on the core of a job may have been open until it woke."""
        facts, since, woken = self.facts[key[0]], self.jobs.release[key], self.jobs.woken[key]
        free = since + facts.jitter
        if facts.core is None:
            return True
        spans = self.spans[facts.core]
        at = bisect_left(spans, (woken,)) - 1
        open_then = []
        while at >= 0 and self.latest[facts.core][at] > free:
            begin, end, other = spans[at]
            if other != key:
                open_then.append((begin, end))
            at -= 1
        for begin, end in reversed(open_then):
            free = max(free, end) if begin <= free + tol else free
        return woken - free <= tol


def _response(job: Job, took: int, facts: Facts, tol: int, least: str = "") -> Iterator[Finding]:
    if facts.bound is not None and took > facts.bound + tol:
        seen, limit = f"response {least}{ns(took)}", f"the bound is {ns(facts.bound)}"
        yield _finding("response", job, took, facts.bound, seen, limit)


def _releases(
    name: str, numbers: list[int], jobs: JobTimes, period: int, tol: int
) -> Iterator[Finding]:
    for before, job in pairwise(numbers):
        apart = jobs.release[name, job] - jobs.release[name, before]
        least = period * (job - before)
        if apart < least - tol:
            seen = f"released {ns(apart)} after job {before}"
            yield _finding(
                "release",
                (name, job),
                -apart,
                -least,
                seen,
                f"the workload says at least {ns(least)}",
            )


def _released(
    name: str, numbers: list[int], jobs: JobTimes, facts: Facts, whole: bool, tol: int
) -> Iterator[Finding]:
    """Releases by the ends of others, at once; ``whole``: the log has all events."""
    for before, job in pairwise(numbers):
        if job > before + 1 and whole:
            seen = f"released behind job {before}"
            yield _finding("release", (name, job), 0, 0, seen, "expected jobs in their order")
    for job in numbers:
        keys = [(of, job * facts.every) for of in facts.after]
        if open_ := [key for key in keys if key not in jobs.complete]:
            if whole or open_[0] in jobs.release:
                seen = f"released before {_who(open_[0])} had ended"
                yield _finding("release", (name, job), 0, 0, seen, "expected after it")
            continue
        last = max(keys, key=jobs.complete.__getitem__)
        late = jobs.release[name, job] - jobs.complete[last]
        if abs(late) > tol:
            side = "after" if late > 0 else "before"
            seen = f"released {ns(abs(late))} {side} the end of {_who(last)}"
            yield _finding("release", (name, job), abs(late), 0, seen, "expected at its end")
    following = numbers[-1] + 1 if numbers else 0
    ends = [jobs.complete.get((of, following * facts.every)) for of in facts.after]
    if None not in ends and (numbers or whole):  # its release is not in the log yet
        since = max(end for end in ends if end is not None)
        yield from _response((name, following), jobs.last - since, facts, tol, "at least ")


def _segments(log: RunLog, expected: Expectations, tol: int) -> Iterator[Finding]:
    """Times for which jobs held the GPU, against those of their segments."""
    for begin, end in (("acquire", "release_lock"), ("gpu_begin", "gpu_end")):
        spans = log.spans(begin, end)
        counts: dict[Job, int] = defaultdict(int)
        for task, job, start, until, granted in zip(
            *(spans[key].tolist() for key in ("task", "job", "start", "end", "value")), strict=True
        ):
            key = log.name[task], job
            facts = expected.facts.get(key[0])
            number = counts[key]
            counts[key] += 1
            if facts is None or facts.segments is None:
                continue
            if number >= len(facts.segments):
                seen = f"{plural(number + 1, 'GPU segment')}"
                limit = f"the workload has {len(facts.segments)}"
                yield _finding("segments", key, number + 1, len(facts.segments), seen, limit)
                continue
            took = (log_end if (log_end := until) is not None else int(log.time[-1])) - (
                granted if begin == "acquire" else start
            )
            # An earlier segment of the job may be among the lost events.
            most = max(facts.segments[number:]) if log.lost else facts.segments[number]
            if took > most + tol:
                seen = f"GPU segment {number} took {ns(took)}"
                limit = f"the answer counts {ns(most)}"
                yield _finding("segment", key, took, most, seen, limit)


@dataclass
class _Request:
    """A request for the lock or the server."""

    job: Job
    asked: int
    urgency: int
    granted: int | None = None
    ended: int | None = None  # released, or withdrawn
    due: int | None = None

    def precedes(self, other: _Request, order: str, tol: int) -> bool:
        """Whether it has to be granted before another one that waits, too."""
        if order == "due":
            return self.due is not None and other.due is not None and self.due < other.due - tol
        if order == "priority" and self.urgency != other.urgency:
            return self.urgency > other.urgency
        return self.asked < other.asked


_NEXT = {
    "priority": "the most urgent request is next",
    "fifo": "the earliest is next",
    "due": "the request that is due first is next",
}


def _requests(log: RunLog) -> list[_Request]:
    found: list[_Request] = []
    open_: dict[Job, _Request] = {}
    for kind, task, job, time, value in rows_of_log(log):
        if kind not in ("request", "acquire", "release_lock", "skip"):
            continue
        key = log.name[task], job
        if kind == "request":
            open_[key] = _Request(key, time, value)
            found.append(open_[key])
        elif (request := open_.get(key)) is None:
            continue
        elif kind == "acquire":
            request.granted = value
        else:
            request.ended = time
            del open_[key]
    return found


def _grants(log: RunLog, expected: Expectations, jobs: JobTimes, tol: int) -> Iterator[Finding]:
    """One holder at a time, and grants in the order of the protocol."""
    requests = _requests(log)
    if expected.order == "due":
        for request in requests:
            since, due = jobs.release.get(request.job), expected.facts[request.job[0]].due
            request.due = None if since is None or due is None else since + due
    granted = sorted((r for r in requests if r.granted is not None), key=lambda r: r.granted or 0)
    until, holder = None, None
    for request in granted:
        assert request.granted is not None
        if until is not None and holder is not None and request.granted < until:
            seen = f"got the GPU {ns(until - request.granted)} before {_who(holder)} gave it back"
            value = until - request.granted
            yield _finding("two holders", request.job, value, 0, seen, "expected one holder")
        if request.ended is not None and (until is None or request.ended > until):
            until, holder = request.ended, request.job
    yield from _overtaken(requests, granted, str(expected.order), tol)
    yield from _urgencies(requests, expected)


def _who(job: Job) -> str:
    return f"{clip(job[0], 60)}, job {job[1]},"


def _overtaken(
    requests: list[_Request], granted: list[_Request], order: str, tol: int
) -> Iterator[Finding]:
    """Grants although another request came first by the protocol."""
    waiting: list[_Request] = []
    coming = sorted(requests, key=lambda r: r.asked)
    at = 0
    for request in granted:
        assert request.granted is not None
        while at < len(coming) and coming[at].asked < request.granted:
            waiting.append(coming[at])
            at += 1
        waiting = [
            other
            for other in waiting
            if (other.granted is None or other.granted >= request.granted)
            and (other.granted is not None or (other.ended or request.granted) > request.granted)
        ]
        for other in waiting:
            if other is request or other.granted is None:
                continue
            if other.precedes(request, order, tol):
                seen = f"got the GPU before {_who(other.job)} which waited"
                yield _finding("order", request.job, 0, 0, seen, f"expected that {_NEXT[order]}")
                break


def _urgencies(requests: list[_Request], expected: Expectations) -> Iterator[Finding]:
    """Urgencies of requests rank the tasks as the priorities of the answer do."""
    if expected.order != "priority":
        return
    urgency = {request.job[0]: request.urgency for request in requests}
    ranked = [
        (facts.priority, name)
        for name, facts in expected.facts.items()
        if facts.priority is not None and name in urgency
    ]
    ranked.sort()
    for (_, above), (_, below) in pairwise(ranked):
        if urgency[below] >= urgency[above]:
            text = (
                f"{clip(below, 60)}: urgency {urgency[below]}, expected less than that of "
                f"{clip(above, 60)}, {urgency[above]}, which has the higher priority"
            )
            yield Finding("urgency", below, -1, urgency[below], urgency[above], text)


def _frames(log: RunLog, plan: Plan, jobs: JobTimes, tol: int) -> Iterator[Finding]:
    """Batches whole, in the planned order, in time."""
    last, done, base = -1, None, None
    current: tuple[int, int] | None = None  # number and begin
    submitted: list[tuple[str, int, int]] = []
    for kind, task, job, time, value in rows_of_log(log):
        if kind == "frame":
            if current is not None:
                seen = f"began before frame {current[0]} had ended"
                yield _finding("batch", ("", job), 0, 0, seen, "expected one at a time")
            current, submitted = (job, time), []
            cycle, index = divmod(job, len(plan.frames))
            frame = plan.frames[index]
            start = value - cycle * plan.hyperperiod - frame.start
            if base is None:
                base, last = start, job - 1
            if start != base:
                seen = f"planned {ns(start - base)} from where the schedule has it"
                yield _finding("plan", ("", job), abs(start - base), 0, seen, "expected its plan")
            if job <= last:
                seen = f"ran behind frame {last}"
                yield _finding("batch", ("", job), 0, 0, seen, "expected the planned order")
            for missing in range(last + 1, job):
                if not _was_skipped(plan, missing, jobs):
                    seen = "did not run"
                    yield _finding("batch", ("", missing), 0, 0, seen, "expected all frames")
            last = job
            due = max(value, done if done is not None else value)
            for name, number, kernel in _entries(plan, job):
                ready = jobs.ready.get((name, number))
                if kernel == 0 and ready is not None:
                    if ready > time:
                        seen = f"frame {job} began {ns(ready - time)} before it was ready"
                        key = name, number
                        yield _finding("readiness", key, ready - time, 0, seen, "expected after it")
                    if ready > value + tol:
                        seen = f"ready {ns(ready - value)} after its frame was to begin"
                        key = name, number
                        yield _finding(
                            "readiness", key, ready - value, 0, seen, "expected before it"
                        )
                    due = max(due, ready)
                if kernel == 0 and ready is None:
                    offset, period = plan.release[name]
                    arrival = base + offset + number * period
                    if time < arrival - tol:
                        seen = f"began {ns(arrival - time)} before its release"
                        yield _finding(
                            "release", (name, number), arrival - time, 0, seen, "expected after it"
                        )
            if time > due + tol:
                seen = f"began {ns(time - due)} after it could"
                yield _finding("dispatch", ("", job), time - due, 0, seen, "expected at once")
        elif kind == "submit" and current is not None:
            submitted.append((log.name[task], job, value))
        elif kind == "frame_done" and current is not None and job == current[0]:
            yield from _batch(plan, current, submitted, jobs, time, value, tol)
            done, current = time, None


def _entries(plan: Plan, number: int) -> list[tuple[str, int, int]]:
    """Entries of a frame, with the numbers of the jobs counted over all cycles."""
    cycle, index = divmod(number, len(plan.frames))
    return [
        (name, cycle * plan.jobs[name] + job, kernel)
        for name, job, kernel in plan.frames[index].entries
    ]


def _was_skipped(plan: Plan, number: int, jobs: JobTimes) -> bool:
    return all((name, job) in jobs.skipped for name, job, _ in _entries(plan, number))


def _batch(
    plan: Plan,
    current: tuple[int, int],
    submitted: list[tuple[str, int, int]],
    jobs: JobTimes,
    time: int,
    planned: int,
    tol: int,
) -> Iterator[Finding]:
    """A frame that has ended: its entries, its length, its end."""
    number, begun = current
    entries = _entries(plan, number)
    wanted = [entry for entry in entries if entry[:2] not in jobs.skipped or entry in submitted]
    if submitted != wanted:
        texts = [
            " + ".join(f"{clip(name, 30)} #{job}" for name, job, _ in part) or "nothing"
            for part in (submitted, wanted)
        ]
        yield _finding("batch", ("", number), 0, 0, f"ran {texts[0]}", f"the plan says {texts[1]}")
    frame = plan.frames[number % len(plan.frames)]
    length = frame.end - frame.start
    if time - begun > length + tol:
        seen, limit = f"took {ns(time - begun)}", f"the plan says {ns(length)}"
        yield _finding("batch length", ("", number), time - begun, length, seen, limit)
    if time > planned + tol:
        seen = f"ended {ns(time - planned)} after its planned end"
        yield _finding("frame end", ("", number), time - planned, 0, seen, "expected before it")
