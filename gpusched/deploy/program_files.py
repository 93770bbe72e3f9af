"""Files of a program under a way of sharing the GPU: its numbers in C++, its sources, its start."""

from __future__ import annotations

from pathlib import Path

from gpusched._support.text import named
from gpusched._version import __version__
from gpusched.deploy.deployment import Deployment, Place

__all__ = ["PLANS", "locks_of", "program_files", "refuse_links", "refuse_program"]

PLANS = ("edf_serial", "edf_parallel", "pbs")
_FOLDER = Path(__file__).with_name("program")
_WORDS = ("all", "create", "remove")  # in place of a process
_NAME_BYTES = 64  # of a log, with the end of the text

_VARIABLES = "CUDA_MODULE_LOADING=EAGER CUDA_MODULE_DATA_LOADING=EAGER"


def refuse_program(plan: Deployment) -> None:
    """Raise ValueError for names that no log has, and for jobs that no generated program runs."""
    for place in plan.places:
        if place.process in _WORDS:
            raise ValueError(
                f"{named(place.name)}: got process {named(place.process)}, expected another name: "
                "the program has it for itself"
            )
        size = len(place.name.encode("utf-8", "replace"))
        if size >= _NAME_BYTES or "\0" in place.name:
            raise ValueError(
                f"{named(place.name)}: got a name of {size} bytes, expected at most "
                f"{_NAME_BYTES - 1}, as logs have them"
            )
        kinds = "".join(phase.kind[0] for phase in place.phases).strip("c")
        if plan.played and "c" in kinds:
            raise ValueError(
                f"{named(place.name)}: got CPU work between two GPU segments, expected none: its "
                "GPU work is one part"
            )


def refuse_links(plan: Deployment) -> None:
    """Raise ValueError for tasks that tasks of other processes release."""
    process = {place.name: place.process for place in plan.places}
    apart = plan.way == "time_slices"
    more = " (mpcp, fmlp_plus and gpu_server run all tasks in one)" if apart else ""
    for place in plan.places:
        for name in place.after:
            if process[name] != place.process:
                raise ValueError(
                    f"{named(place.name)}: got a task that {named(name)} of another process "
                    f"releases, expected tasks of one process{more}"
                )


def program_files(plan: Deployment, planned: tuple[str, ...] = ()) -> dict[str, str]:
    """Names and texts of the sources and of ``run.sh``; ``planned``: tasks of the schedule."""
    main = "player.cpp" if plan.played else "threads.cpp"
    sources = {"main.cpp": main, "gpu.h": "gpu.h", "work.h": "work.h"}
    texts = {name: (_FOLDER / file).read_text("utf-8") for name, file in sources.items()}
    return {**texts, "tasks.h": _tasks(plan, planned), "run.sh": _run(plan)}


def literal(text: str) -> str:
    """A string literal of C++ for a text: bytes other than plain ASCII as octal escapes."""
    plain = [
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "replace")
    ]
    return f'"{"".join(plain)}"'


def locks_of(plan: Deployment) -> dict[str, int]:
    """The lock of each task that takes one: that of the GPU, or that of its green context."""
    users = [place for place in plan.places if place.urgency]
    if plan.way in ("mpcp", "fmlp_plus"):
        return {place.name: 0 for place in users}
    if plan.way != "stgm":
        return {}
    shared = [k for k, (names, _) in enumerate(plan.parts) if len(names) > 1]
    return {place.name: shared.index(place.group) for place in users if place.group in shared}


def _tasks(plan: Deployment, planned: tuple[str, ...]) -> str:
    """The header with all numbers."""
    locks = locks_of(plan)
    places = sorted(
        plan.places,
        key=lambda one: planned.index(one.name) if one.name in planned else len(planned),
    )
    boosted = str(plan.way == "stgm").lower()
    spins = str(plan.mode == "spin" or (plan.way == "stgm" and plan.mode == "busy")).lower()
    order = "PRIORITY" if plan.way == "mpcp" else "FIFO"
    phases: list[str] = []
    rows: list[str] = []
    after: list[str] = []
    index = {place.name: k for k, place in enumerate(places)}
    for place in places:
        uses = any(phase.kind == "gpu" for phase in place.phases)
        links = (place.every, len(after), len(place.after))
        rows.append(_row(place, len(phases), uses, locks.get(place.name, -1), links))
        after += [str(index[name]) for name in place.after]
        phases += [
            f"    {{{str(phase.kind == 'gpu').lower()}, {phase.time}}}," for phase in place.phases
        ]
    greens = plan.parts if plan.way in ("green_contexts", "stgm") else ()
    counts = ", ".join(str(count) for _, count in greens) or "0"
    spare = -1 if plan.spare is None else plan.spare
    highest = max(place.fifo for place in places)
    together = "false" if plan.apart else "true"
    sharing = "ONE_STREAM" if plan.way == "one_stream" else "OWN_STREAMS"
    sharing = "SERVER" if plan.is_served else sharing
    return f"""// Numbers of the program under {plan.label}: written by gpusched {__version__}.
#pragma once
#include <gpusched/rt.h>

#include <cstdint>

enum Sharing {{ OWN_STREAMS, ONE_STREAM, SERVER }};

// CPU work, or a GPU segment, of a job, and its time in ns.
struct Phase {{
    bool gpu;
    int64_t ns;
}};

// Times in ns. ceiling: the SCHED_FIFO priority from a request to its release. A larger urgency,
// and a smaller stream_priority, is more urgent. group: the green context of its stream, -1 for
// none; lock: the lock around its GPU segments, -1 for none. due: from a release to the
// instant by which requests of the server are ordered, with BY_DUE. Where others release a task
// (`afters` of them, in AFTER), job j waits for job j * every of each.
struct Task {{
    const char *name, *process;
    int64_t period, offset, deadline;
    int cpu, fifo, ceiling, urgency, stream_priority, group, lock;
    int64_t due;
    bool uses_gpu;
    int first_phase, phases;
    int every, first_after, afters;
}};

static constexpr Sharing SHARING = {sharing};
static constexpr bool BOOSTED = {boosted}; // GPU segments at the ceiling, also without a lock
static constexpr bool SPIN_LOCK = {spins};
static constexpr bool SPIN_GPU = {str(plan.mode != "suspend").lower()};
static constexpr int LOCKS = {len(set(locks.values()))};
static constexpr int LOCK_ORDER = GS_RT_ORDER_{order};
static constexpr int SERVER_CPU = {spare}, SERVER_FIFO = {highest + 1};
static constexpr bool BY_DUE = {str(plan.by_due).lower()}; // else requests have their urgency
static constexpr int DISPATCHER_CPU = {spare}, DISPATCHER_FIFO = {plan.dispatcher};
static constexpr int GROUPS = {len(greens)}; // green contexts
static constexpr unsigned GROUP_SMS[] = {{{counts}}};
static constexpr bool CO_SCHEDULED = {together}; // SMs of green contexts
static constexpr bool BALANCED = {str(plan.balanced).lower()}; // work queues of their own

static constexpr Phase PHASES[] = {{
{chr(10).join(phases)}
}};

static constexpr int AFTER[] = {{{", ".join(after) or "-1"}}}; // indices of tasks

static constexpr Task TASKS[] = {{
{chr(10).join(rows)}
}};
static constexpr int TASK_COUNT = {len(places)};

// So many jobs of a task, if `first` is the release without its offset; what they do is left open.
static inline gs_rt_jobs_t jobs_of(int index, int64_t first, int64_t jobs, gs_rt_log_t *log)
{{
    const Task &task = TASKS[index];
    gs_rt_jobs_t found{{}};
    found.task = index;
    found.first = first + task.offset;
    found.period = task.period;
    found.deadline = task.deadline;
    found.jobs = jobs;
    found.log = log;
    return found;
}}
"""


def _row(place: Place, first: int, uses: bool, lock: int, links: tuple[int, int, int]) -> str:
    numbers = (
        place.period, place.offset, place.deadline, place.core, place.fifo, place.ceiling,
        place.urgency, place.stream_priority, place.group if uses else -1, lock, place.due,
        str(uses).lower(),
        first, len(place.phases), *links,
    )  # fmt: skip
    return (
        f"    {{{literal(place.name)}, {literal(place.process)}, {', '.join(map(str, numbers))}}},"
    )


def shell_word(text: str) -> str:
    """A text as one word of a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def environment(plan: Deployment, process: str) -> str:
    """Variables of a process, as assignments before a command."""
    found = [_VARIABLES]
    if plan.connections:
        found.append(f"CUDA_DEVICE_MAX_CONNECTIONS={plan.connections}")
    if process in plan.shares:
        found.append(f"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE={plan.shares[process]}")
    if plan.way == "mps_static":
        part = next((k for k, (names, _) in enumerate(plan.parts) if process in names), None)
        if part is not None:
            found.append(f'CUDA_MPS_SM_PARTITION="$(cat "$state/partition{part}")"')
    if plan.way == "mig" and process != "cpu":
        number = int(process.removeprefix("instance"))
        profile = plan.instances[number].profile.name
        before = [one.profile.name for one in plan.instances[:number]].count(profile)
        found.append(f'CUDA_VISIBLE_DEVICES="$(mig_uuid {shell_word(profile)} {before + 1})"')
    return " ".join(found)


def _run(plan: Deployment) -> str:
    """The script that builds and starts all processes, with their environments."""
    lines = [
        "#!/bin/sh",
        f"# Builds and runs the program under {plan.label}: run.sh JOBS [dry]",
        "set -eu",
        'cd "$(dirname "$0")"',
        'state="${GPUSCHED_STATE:-/var/lib/gpusched}"',
        'jobs="${1:?number of jobs of each task (with a plan: of hyperperiods)}"',
        'how="${2:-}"',
        'cuda="${CUDA_HOME:-/usr/local/cuda}"',
        "build() {",
        "    # shellcheck disable=SC2046 # options are words",
        '    g++ -std=c++17 -O2 main.cpp -o main $(gpusched config --cflags --libs) "$@"',
        "}",
        'if [ -f "$cuda/include/cuda.h" ]; then',
        '    build -DGPUSCHED_CUDA "-I$cuda/include" "-L$cuda/lib64/stubs" -lcuda',
        "    status=0",
        "    ./main 2> /dev/null || status=$?",
        '    if [ "$status" -eq 127 ] && [ "$how" = dry ]; then',
        '        echo "no driver for CUDA here: streams are timers" >&2',
        "        build",
        "    fi",
        "else",
        "    build",
        "fi",
    ]
    if plan.way == "mig":
        lines += [
            "# The UUID of an instance: the n-th of its profile, as nvidia-smi lists them.",
            "mig_uuid() {",
            '    nvidia-smi -i "${GPU:-0}" -L |',
            '        sed -n "s/^ *MIG $1 .*(UUID: \\(MIG-[^)]*\\)).*/\\1/p" | sed -n "$2p"',
            "}",
        ]
    lines += [
        "pids=",
        "finish() {",
        '    for pid in $pids; do kill "$pid" 2> /dev/null || :; done',
        *(["    ./main run.gslog remove 0 0 || :"] if locks_of(plan) else []),
        "}",
        "trap finish EXIT",
        "# The shell lets its background processes ignore Ctrl-C.",
        "trap 'exit 130' INT TERM",
    ]
    start, names = "0", [(plan.processes[0], "all")]
    if len(plan.processes) > 1:
        start, names = '"$start"', [(one, shell_word(one)) for one in plan.processes]
        lines.append('start="$(./main run.gslog create 0 0)"')
    for process, name in names:
        lines += [
            f'{environment(plan, process)} ./main run.gslog {name} "$jobs" {start} "$how" &',
            'pids="$pids $!"',
        ]
    lines += ["status=0", 'for pid in $pids; do wait "$pid" || status=$?; done']
    lines += ["pids=", 'exit "$status"']
    return "\n".join(lines) + "\n"
