"""Checks of the conditions of a way of sharing the GPU on this machine; nothing is changed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusched._support.text import clip, named
from gpusched.deploy.deployability import deployable
from gpusched.deploy.deployment import HIGHEST
from gpusched.model.gpu import GPU
from gpusched.ways.way import Way

__all__ = ["RESULTS", "Check", "Wanted", "examined", "status_of_checks"]

RESULTS = ("holds", "does not hold", "not visible here")

_NICE, _LOCK = 23, 14  # capabilities CAP_SYS_NICE and CAP_IPC_LOCK
_MOST = 65536  # bytes of a file of the kernel
_DEVICE = re.compile(r"/dev/(nvidia\d+|nvhost-gpu|nvgpu/.*)")
_OWN = ("nvidia-persiste", "nvidia-cuda-mps")  # names of processes, as far as the kernel keeps them


@dataclass(frozen=True)
class Check:
    """A condition on this machine.

    Attributes
    ----------
    name, condition
        Its name, and what the guarantee assumes.
    result
        "holds", "does not hold" or "not visible here".
    seen
        What was seen, or what would show it.
    """

    name: str
    condition: str
    result: str
    seen: str

    def __str__(self) -> str:
        return f"{self.result}: {self.condition} ({self.seen})"


@dataclass(frozen=True)
class Wanted:
    """Needs of a program: its highest priority, its cores, its channels.

    ``cores``: None where they are not known. ``connections``: 0 where the driver's will do, None
    where they are not known.
    """

    priority: int = HIGHEST
    cores: tuple[int, ...] | None = None
    connections: int | None = None


def examined(
    way: Way | str,
    gpu: GPU | None,
    wanted: Wanted,
    *,
    root: str | os.PathLike[str] = "/",
    environment: Mapping[str, str] = os.environ,
) -> tuple[Check, ...]:
    """Check each condition of a way that this machine shows.

    ``root``: folder with ``proc`` and ``sys``. Raises ValueError for an unknown way.
    """
    machine = _Machine(Path(root), environment, wanted)
    found = []
    for fact in deployable(way, gpu).assumes:
        look = _CHECKS.get(fact.check)
        good, seen = (None, _unseen(fact.check)) if look is None else look(machine)
        result = RESULTS[2 if good is None else int(not good)]
        found.append(Check(fact.check, fact.text, result, seen))
    return tuple(found)


def _unseen(check: str) -> str:
    return "a log of a run shows it: gpusched kept" if check == "log" else "no file shows it"


Seen = tuple[bool | None, str]
"""Whether a condition holds (None: not visible), and what was seen."""


class _Machine:
    """The files of the kernel that show settings and processes."""

    def __init__(self, root: Path, environment: Mapping[str, str], wanted: Wanted) -> None:
        self.root, self.environment, self.wanted = root, environment, wanted

    def text(self, path: str) -> str | None:
        """The text of a file of the kernel; None if it cannot be read."""
        try:
            with open(self.root / path, "rb") as file:
                return file.read(_MOST).decode("utf-8", "replace").strip()
        except OSError:
            return None

    def processes(self) -> Iterator[str]:
        """Numbers of the processes."""
        try:
            names = sorted(os.listdir(self.root / "proc"))
        except OSError:
            return
        yield from (name for name in names if name.isdigit())

    def may(self, capability: int) -> bool:
        """Whether this process has a capability."""
        found = re.search(r"^CapEff:\s*([0-9a-f]+)$", self.text("proc/self/status") or "", re.M)
        return found is not None and int(found[1], 16) >> capability & 1 == 1

    def limit(self, name: str) -> str | None:
        """The soft limit of a resource of this process."""
        text = self.text("proc/self/limits") or ""
        found = re.search(rf"^{re.escape(name)}\s+(\S+)", text, re.M)
        return None if found is None else found[1]


def _rtprio(machine: _Machine) -> Seen:
    if machine.may(_NICE):
        return True, "this process may set real-time priorities"
    limit = machine.limit("Max realtime priority")
    if limit is None or not (limit.isdigit() or limit == "unlimited"):
        return None, "proc/self/limits has no limit of them"
    need = machine.wanted.priority
    good = limit == "unlimited" or int(limit) >= need
    return good, f"the limit of priorities is {limit}, the program needs {need}"


def _memlock(machine: _Machine) -> Seen:
    if machine.may(_LOCK):
        return True, "this process may lock memory"
    limit = machine.limit("Max locked memory")
    if limit is None:
        return None, "proc/self/limits has no limit of it"
    return limit == "unlimited", f"the limit of locked memory is {clip(limit, 30)}"


def _throttling(machine: _Machine) -> Seen:
    text = machine.text("proc/sys/kernel/sched_rt_runtime_us")
    if text is None or not re.fullmatch(r"-?\d{1,18}", text):
        return None, "proc/sys/kernel/sched_rt_runtime_us cannot be read"
    return int(text) == -1, f"sched_rt_runtime_us is {text}"


def _interrupts(machine: _Machine) -> Seen:
    if machine.text("proc/self/status") is None:
        return None, "proc cannot be read"
    threaded = machine.text("sys/kernel/realtime") == "1"
    if not threaded:
        return True, "interrupts run before all threads, as the kernel is not PREEMPT_RT"
    need = machine.wanted.priority
    return need < 50, f"the kernel is PREEMPT_RT, the program needs priority {need}"


def _numbers(text: str) -> set[int]:
    """The numbers of a list of CPUs, such as 2-5,7."""
    found: set[int] = set()
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,5})(?:-(\d{1,5}))?\s*", part)
        if ends is not None:
            found |= set(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return found


def _cores(machine: _Machine) -> Seen:
    text = machine.text("sys/devices/system/cpu/isolated")
    if text is None:
        return None, "sys/devices/system/cpu/isolated cannot be read"
    isolated, cores = _numbers(text), machine.wanted.cores
    wanted = isolated if cores is None else set(cores)
    if not wanted or not wanted <= isolated:
        missing = _listed(wanted - isolated) if wanted else "any"
        return False, f"isolated CPUs are {_listed(isolated) or 'none'}, expected {missing}"
    governors = {
        core: machine.text(f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor")
        for core in sorted(wanted)
    }
    for core, governor in governors.items():
        if governor is not None and governor != "performance":
            return False, f"the governor of CPU {core} is {clip(governor, 30)}"
    if None in governors.values():
        return None, f"CPUs {_listed(wanted)} are isolated; no file shows their frequencies"
    return True, f"CPUs {_listed(wanted)} are isolated and run at a constant frequency"


def _listed(cores: set[int]) -> str:
    return clip(", ".join(map(str, sorted(cores))), 60)


def _connections(machine: _Machine) -> Seen:
    given, need = machine.environment.get("CUDA_DEVICE_MAX_CONNECTIONS"), machine.wanted.connections
    shown = "not set" if given is None else clip(given, 20)
    if need is None:
        return None, f"CUDA_DEVICE_MAX_CONNECTIONS is {shown}; a program says what it needs"
    if need == 0:
        return True, "the answer assumes no number of channels"
    return given == str(need), f"CUDA_DEVICE_MAX_CONNECTIONS is {shown}, the answer assumes {need}"


def _eager_loading(machine: _Machine) -> Seen:
    given = machine.environment.get("CUDA_MODULE_LOADING")
    shown = "not set" if given is None else clip(given, 20)
    return given == "EAGER", f"CUDA_MODULE_LOADING is {shown}"


def _gpu_clients(machine: _Machine) -> Seen:
    clients, hidden, own = [], 0, str(os.getpid())
    for process in machine.processes():
        name = machine.text(f"proc/{process}/comm") or process
        if process == own or name.startswith(_OWN):
            continue
        folder = machine.root / "proc" / process / "fd"
        try:
            links = [os.readlink(folder / entry) for entry in os.listdir(folder)]
        except PermissionError:
            hidden += 1
            continue
        except OSError:  # it has ended
            continue
        if any(_DEVICE.fullmatch(link) for link in links):
            clients.append(named(name, 20))
    if clients:
        return False, f"{clip(', '.join(clients), 80)} have a device of the GPU open"
    if hidden:
        return None, f"the files of {hidden} processes cannot be read; root sees them"
    if not any(machine.processes()):
        return None, "proc cannot be read"
    return True, "no process has a device of the GPU open"


def _clocks(machine: _Machine) -> Seen:
    """Of the GPU of a Jetson; on others, the driver's library would show them."""
    folder = machine.root / "sys/class/devfreq"
    try:
        gpus = [name for name in sorted(os.listdir(folder)) if re.search(r"gpu|ga10b|gv11b", name)]
    except OSError:
        gpus = []
    for name in gpus:
        path = f"sys/class/devfreq/{name}"
        least, most = machine.text(f"{path}/min_freq"), machine.text(f"{path}/max_freq")
        if least is not None and most is not None:
            seen = f"{clip(name, 30)} runs at {clip(least, 20)} to {clip(most, 20)} Hz"
            return least == most, seen
    return None, "nvidia-smi -q -d CLOCK,PERFORMANCE shows it"


def _daemon(machine: _Machine) -> Seen:
    if not any(machine.processes()):
        return None, "proc cannot be read"
    running = any(
        (machine.text(f"proc/{process}/comm") or "").startswith("nvidia-cuda-mps")
        for process in machine.processes()
    )
    return running, "the MPS daemon runs" if running else "no MPS daemon runs"


def _no_daemon(machine: _Machine) -> Seen:
    running, seen = _daemon(machine)
    return (None if running is None else not running), seen


_CHECKS: Mapping[str, Callable[[_Machine], Seen]] = {
    "rtprio": _rtprio,
    "memlock": _memlock,
    "throttling": _throttling,
    "interrupts": _interrupts,
    "cores": _cores,
    "connections": _connections,
    "eager_loading": _eager_loading,
    "gpu_clients": _gpu_clients,
    "clocks": _clocks,
    "mps": _daemon,
    "no_mps": _no_daemon,
}


def status_of_checks(found: Sequence[Check]) -> int:
    """0 if all hold, 1 if one does not, 3 if some are not visible."""
    results = {check.result for check in found}
    return 1 if RESULTS[1] in results else 3 if RESULTS[2] in results else 0
