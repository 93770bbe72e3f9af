"""The steps of a recipe: fixed texts with the numbers of a deployment, and the scripts of them.

``setup.sh`` keeps what it changes in a folder, from which ``undo.sh`` puts it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpusched.deploy.deployability import deployable, source_text
from gpusched.deploy.deployment import HIGHEST, Deployment
from gpusched.deploy.program_files import PLANS, environment
from gpusched.deploy.recipe import Step
from gpusched.model.gpu import GPU

__all__ = ["check_script", "setup_script", "steps_of", "table_of", "undo_script"]

_EXAMPLES = "https://github.com/gpusched/gpusched/tree/main/notebooks/examples"
_LOCKED = ("mpcp", "fmlp_plus", "stgm")
_ONE_PROCESS = (
    *("one_stream", "streams", "priority_streams", "green_contexts", "gpu_server", "stgm"),
    *PLANS,
)


def steps_of(plan: Deployment, gpu: GPU | None) -> tuple[Step, ...]:
    """All steps in their order, with numbers."""
    found: list[dict[str, Any]] = []
    for rule in _RULES:
        found += rule(plan)
    found += _checks(plan, gpu)
    return tuple(
        Step(**{**step, "number": k, "sources": tuple(map(source_text, step.get("sources", ())))})
        for k, step in enumerate(found, 1)
    )


def _limits(plan: Deployment) -> Iterator[dict[str, Any]]:
    yield {
        "title": "Real-time priorities and locked memory for the user of the program",
        "kind": "shell",
        "root": True,
        "text": 'mkdir -p "$root/etc/security/limits.d"\n'
        f'printf \'%s - rtprio {HIGHEST + 1}\\n%s - memlock unlimited\\n\' "$user" "$user" > '
        '"$root/etc/security/limits.d/gpusched.conf"',
        "undo": 'rm -f "$root/etc/security/limits.d/gpusched.conf"',
        "why": "threads have fixed preemptive priorities, and memory is locked",
        "sources": ("limits", "sched", "memory"),
    }


def _throttling(plan: Deployment) -> Iterator[dict[str, Any]]:
    yield {
        "title": "No throttling of real-time threads",
        "kind": "shell",
        "root": True,
        "text": 'sysctl -n kernel.sched_rt_runtime_us > "$state/sched_rt_runtime_us"\n'
        "sysctl -w kernel.sched_rt_runtime_us=-1",
        "undo": 'sysctl -w kernel.sched_rt_runtime_us="$(cat "$state/sched_rt_runtime_us")"',
        "why": "the kernel takes 5 % of each second from real-time threads otherwise",
        "sources": ("throttling",),
    }


def _display(plan: Deployment) -> Iterator[dict[str, Any]]:
    yield {
        "title": "No display server on the GPU",
        "kind": "shell",
        "root": True,
        "text": 'systemctl get-default > "$state/target"\nsystemctl isolate multi-user.target',
        "undo": 'systemctl isolate "$(cat "$state/target")"',
        "why": "no other program uses the GPU",
        "sources": ("systemd",),
    }


def _clocks(plan: Deployment) -> Iterator[dict[str, Any]]:
    why = "measured times are bounds only at the clocks at which they were measured"
    if plan.is_tegra:
        yield {
            "title": "Constant clocks, in the power mode in which the times were measured",
            "kind": "shell",
            "root": True,
            "text": 'jetson_clocks --store "$state/jetson_clocks"\njetson_clocks',
            "undo": 'jetson_clocks --restore "$state/jetson_clocks"',
            "why": why,
            "sources": ("jetson",),
        }
        return
    yield {
        "title": "Constant clocks: GPU_MHZ and MEMORY_MHZ, at which the times were measured",
        "kind": "shell",
        "root": True,
        "text": 'nvidia-smi -i "$gpu" --query-gpu=persistence_mode --format=csv,noheader > '
        '"$state/persistence"\n'
        'nvidia-smi -i "$gpu" -pm 1\n'
        'nvidia-smi -i "$gpu" -lgc "${GPU_MHZ:?}","${GPU_MHZ:?}"\n'
        'nvidia-smi -i "$gpu" -lmc "${MEMORY_MHZ:?}","${MEMORY_MHZ:?}"',
        "undo": 'nvidia-smi -i "$gpu" -rmc\nnvidia-smi -i "$gpu" -rgc\n'
        'if [ "$(cat "$state/persistence")" = Disabled ]; then nvidia-smi -i "$gpu" -pm 0; fi',
        "why": why,
        "sources": ("smi",),
    }


def _exclusive(plan: Deployment) -> Iterator[dict[str, Any]]:
    if plan.is_tegra or plan.way not in (*_ONE_PROCESS, "mps", "mps_static"):
        return
    yield {
        "title": "The GPU for one process, or one MPS server, alone",
        "kind": "shell",
        "root": True,
        "text": 'nvidia-smi -i "$gpu" --query-gpu=compute_mode --format=csv,noheader > '
        '"$state/compute_mode"\nnvidia-smi -i "$gpu" -c EXCLUSIVE_PROCESS',
        "undo": "mode=\"$(tr '[:lower:]' '[:upper:]' < \"$state/compute_mode\")\"\n"
        'nvidia-smi -i "$gpu" -c "$mode"',
        "why": "no other program uses the GPU",
        "sources": ("smi",),
    }


def _mps(plan: Deployment) -> Iterator[dict[str, Any]]:
    if plan.way == "mps":
        yield {
            "title": "The MPS daemon",
            "kind": "shell",
            "root": True,
            "text": "nvidia-cuda-mps-control -d",
            "undo": "echo quit | nvidia-cuda-mps-control",
            "why": "processes share the GPU without time slices",
            "sources": ("mps",),
        }
    if plan.way != "mps_static":
        return
    lines = ["nvidia-cuda-mps-control -d -S"]
    lines.append('uuid="$(nvidia-smi -i "$gpu" --query-gpu=uuid --format=csv,noheader)"')
    for k, (_, chunks) in enumerate(plan.parts):
        lines.append(
            f'echo "sm_partition add $uuid {chunks}" | nvidia-cuda-mps-control | '
            f"sed -n 's/^Partition \\(.*\\) created$/\\1/p' > \"$state/partition{k}\""
        )
    yield {
        "title": "The MPS daemon with a static partition per group of processes",
        "kind": "shell",
        "root": True,
        "text": "\n".join(lines),
        "undo": "echo quit | nvidia-cuda-mps-control",
        "why": "each process has its own SMs; a client without a partition fails",
        "sources": ("mps",),
    }


def _mig(plan: Deployment) -> Iterator[dict[str, Any]]:
    if plan.way != "mig":
        return
    wanted = ",".join(f"{one.profile.name}:{one.start}" for one in plan.instances)
    yield {
        "title": "GPU instances at their places",
        "kind": "shell",
        "root": True,
        "text": 'query="--query-gpu=mig.mode.current --format=csv,noheader"\n'
        'mode="$(nvidia-smi -i "$gpu" $query)"\n'
        'test "$mode" = Disabled\nnvidia-smi -i "$gpu" -mig 1\n'
        f'nvidia-smi mig -i "$gpu" -cgi {wanted} -C',
        "undo": 'nvidia-smi mig -i "$gpu" -dci\nnvidia-smi mig -i "$gpu" -dgi\n'
        'nvidia-smi -i "$gpu" -mig 0',
        "why": "each process has its own instance",
        "sources": ("jetson_mig" if plan.cc == (11, 0) else "mig",),
    }


def _variables(plan: Deployment) -> Iterator[dict[str, Any]]:
    lines = []
    for process in plan.processes:
        prefix = f"{process}: " if len(plan.processes) > 1 else ""
        lines.append(f"{prefix}{environment(plan, process)}")
    yield {
        "title": "Environment of each process (run.sh sets it)",
        "kind": "file",
        "text": "\n".join(lines),
        "why": "kernels are loaded before the first job; streams have their channels",
        "sources": ("variables", *(("mps",) if plan.way in ("mps", "mps_static") else ())),
    }


_RUN = {
    "mpcp": "gs_rt_lock_acquire(lock, slot, &job, {spin}, INT64_MAX); enqueue; wait; "
    "gs_rt_lock_release(lock, slot, &job): the most urgent request is next",
    "fmlp_plus": "gs_rt_lock_acquire(lock, slot, &job, {spin}, INT64_MAX); enqueue; wait; "
    "gs_rt_lock_release(lock, slot, &job): the earliest request is next",
    "stgm": "enqueue in a stream of the green context of its SMs, and wait; tasks that share SMs "
    "take the FIFO lock of their group around it",
    "edf_serial": "gs_rt_server_run(server, urgency, &work, &job): the earlier a job is due, the "
    "more urgent it is",
    "gpu_server": "gs_rt_server_run(server, urgency, &work, &job)",
    "one_stream": "enqueue in the one stream, under a mutex, and wait for an event behind it",
    "streams": "enqueue in the task's own non-blocking stream, and wait for it",
    "priority_streams": "enqueue in the task's own non-blocking stream with its priority, and wait "
    "for it; of CUDA graphs the launch stream's priority counts "
    "(cudaGraphInstantiateFlagUseNodePriority is off), of TensorRT setMaxAuxStreams(0)",
    "green_contexts": "enqueue in a stream of the task's green context, and wait for it",
    "mps": "enqueue in the task's own non-blocking stream, and wait for it",
    "mps_static": "enqueue in the task's own non-blocking stream, and wait for it",
    "time_slices": "enqueue in the task's own non-blocking stream, and wait for it",
    "mig": "enqueue in the task's own non-blocking stream, and wait for it",
}


def _code(plan: Deployment) -> Iterator[dict[str, Any]]:
    yield {
        "title": "In each task (main.cpp): its core, its priority, its releases",
        "kind": "code",
        "text": "gs_rt_thread(cpu, fifo); gs_rt_timer_start(&timer, first, period); "
        "gs_rt_timer_wait(&timer, 0, 0)"
        + (
            "\ngs_rt_lock_join(lock, urgency, ceiling, &slot): from a request to the release the "
            "thread has its ceiling"
            if plan.way in _LOCKED
            else ""
        ),
        "why": "threads have fixed preemptive priorities on their cores",
        "sources": ("runtime",),
    }
    if plan.played:
        text = (
            f"the player (core {plan.spare}, priority {plan.dispatcher}) starts the frames of "
            "schedule.json; a task with CPU work calls gs_rt_player_ready behind what comes before "
            "the GPU, and gs_rt_player_done"
        )
    else:
        text = _RUN[plan.way].format(spin=int(plan.mode == "spin"))
    launches = [f"launches of {one}" for one in plan.launches]
    said = list(plan.copies) or ["the answer has no copies"]
    examples = f"examples with TensorRT, ROS 2 and PyTorch: {_EXAMPLES}"
    yield {
        "title": "Around each GPU segment (main.cpp; your work stands in work.h)",
        "kind": "code",
        "text": "\n".join([text, *(f"copies: {one}" for one in said), *launches, examples]),
        "why": "the GPU is shared as the answer assumes; what has begun on a GPU cannot be stopped",
        "sources": ("runtime",),
    }
    if plan.way in ("green_contexts", "stgm"):
        parts = "; ".join(f"{' + '.join(names)}: {sms} SMs" for names, sms in plan.parts)
        yield {
            "title": "Green contexts (gpu.h), each from the SMs that the ones before leave",
            "kind": "code",
            "text": f"{parts}\ncuDevSmResourceSplitByCount, cuGreenCtxCreate, "
            "cuGreenCtxStreamCreate; a number of SMs other than asked for is an error",
            "why": "each group of tasks has its own SMs",
            "sources": ("green",),
        }
    yield {
        "title": "Build and run",
        "kind": "shell",
        "text": "./run.sh 1000",
        "why": "a log of the run: run.gslog",
        "sources": ("runtime",),
    }


_RULES: tuple[Callable[[Deployment], Iterator[dict[str, Any]]], ...] = (
    _limits, _throttling, _display, _clocks, _exclusive, _mps, _mig, _variables, _code,
)  # fmt: skip


def _checks(plan: Deployment, gpu: GPU | None) -> Iterator[dict[str, Any]]:
    """Steps that show whether the conditions hold."""
    yield {
        "title": "The conditions on this machine",
        "kind": "check",
        "text": f"gpusched doctor --way {plan.way}",
        "why": "the guarantee assumes them",
        "sources": ("runtime",),
    }
    if plan.way == "mps":
        yield {
            "title": "Clients of the daemon, while the program runs",
            "kind": "check",
            "text": "echo ps | nvidia-cuda-mps-control",
            "why": "processes are clients",
            "sources": ("mps",),
        }
    if plan.way == "mps_static":
        yield {
            "title": "Partitions and their SMs",
            "kind": "check",
            "text": "echo lspart | nvidia-cuda-mps-control",
            "why": "each process has its own SMs",
            "sources": ("mps",),
        }
    if plan.way == "mig":
        yield {
            "title": "Instances and their UUIDs",
            "kind": "check",
            "text": 'nvidia-smi -i "$gpu" -L',
            "why": "each process has its own instance",
            "sources": ("mig",),
        }
    for fact in deployable(plan.way, gpu).needs:
        if fact.source is None:
            yield {"title": "To be checked", "kind": "code", "text": fact.text, "why": ""}
    yield {
        "title": "The record of a run, against the answer",
        "kind": "check",
        "text": "gpusched kept answer.npz run.gslog",
        "why": "times are upper bounds, releases are a period apart, the order is the protocol's",
        "sources": ("runtime",),
    }


# Scripts ------------------------------------------------------------------------------------------

_HEAD = """#!/bin/sh
# {what} {label}.
set -eu
root="${{GPUSCHED_ROOT:-}}"
state="${{GPUSCHED_STATE:-/var/lib/gpusched}}"
gpu="${{GPU:-0}}"
"""


def _script(what: str, plan: Deployment, more: str, blocks: Iterator[tuple[str, str]]) -> str:
    head = _HEAD.format(what=what, label=plan.label) + more
    return head + "".join(f"\n# {title}\n{text}\n" for title, text in blocks)


def setup_script(plan: Deployment, steps: tuple[Step, ...]) -> str:
    """The script for root: what it changes is kept, so that `undo_script` takes it back."""
    blocks = (
        (step.title, f': > "$state/begun{step.number}"\n{step.text}') for step in steps if step.root
    )
    more = (
        'user="${1:?name of the user who runs the program}"\n'
        'if [ -e "$state" ]; then echo "set up already: run undo.sh first" >&2; exit 1; fi\n'
        'mkdir -p "$state"\n'
    )
    return _script("For root: sets the machine up for", plan, more, blocks)


def undo_script(plan: Deployment, steps: tuple[Step, ...]) -> str:
    """The script that takes back what `setup_script` did or began, the last first."""
    blocks = (
        (
            step.title,
            f'if [ -e "$state/begun{step.number}" ]; then\n(\nset -e\n{step.undo}\n)\n'
            f'[ $? -eq 0 ] || {{ status=1; echo "not taken back: step {step.number}" >&2; }}\nfi',
        )
        for step in reversed(steps)
        if step.root and step.undo
    )
    script = _script("For root: takes back the set-up for", plan, "set +e\nstatus=0\n", blocks)
    return script + '\n[ "$status" -ne 0 ] || rm -rf "$state"\nexit "$status"\n'


def check_script(plan: Deployment, steps: tuple[Step, ...]) -> str:
    """The script with all checks; its status is that of the first that fails."""
    blocks = ((step.title, step.text) for step in steps if step.kind == "check")
    return _script("Checks the conditions of", plan, 'cd "$(dirname "$0")"\n', blocks)


def table_of(plan: Deployment) -> tuple[Mapping[str, Any], ...]:
    """The rows of the tasks."""
    return tuple(
        {
            "task": one.name,
            "process": one.process,
            "core": one.core,
            "fifo": one.fifo,
            "ceiling": one.ceiling,
            "urgency": one.urgency,
            "stream_priority": one.stream_priority,
            "group": one.group,
            "sms": one.sms,
            "instance": one.instance,
            "due": one.due if plan.by_due else 0,
        }
        for one in plan.places
    )
