"""The workload and the platform, in a report page."""

from __future__ import annotations

from itertools import islice

from gpusched._support.text import clip, xml
from gpusched.comparison.findings import Findings
from gpusched.model.gpus.gpu_fields import engines_text
from gpusched.model.gpus.mps_shares import share_text
from gpusched.model.workload.platforms import Platform, parts_text
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workload_document import (
    head_document,
    path_documents,
    task_documents,
)
from gpusched.model.workload.workload_files import toml_lines
from gpusched.model.workload.workloads import Workload

__all__ = ["platform_html", "workload_html"]

_LINES = 400  # of the workload's TOML
_LINE = 400  # characters of one


def workload_html(workload: Workload) -> str:
    """The tasks as a table and as TOML, limited to the first lines."""
    parts = workload._parts()
    lines = toml_lines(
        head_document(parts),
        task_documents(parts.tasks, parts.tick),
        path_documents(parts.paths, parts.tick),
    )
    shown = [clip(line.rstrip("\n"), _LINE) for line in islice(lines, _LINES + 1)]
    more = ""
    if len(shown) > _LINES:
        shown.pop()
        more = '<p class="note">The text goes on; the JSON document has all of it.</p>'
    text = "\n".join(map(xml, shown))
    return (
        f'<h2>Workload</h2>\n<div class="wide">{workload._repr_html_()}</div>\n'
        f"<details><summary>As TOML</summary><pre>{text}</pre>{more}</details>"
    )


def platform_html(found: Findings) -> str:
    """The hardware and its overheads."""
    platform, tick = found.platform, found.workload.tick_ns
    gpu = platform.gpu
    rows = []
    if gpu is None:
        rows.append(("GPU", "not known"))
    else:
        rows += [
            ("GPU", clip(gpu.name, 60) if gpu.name else "without a name"),
            ("SMs", f"{gpu.sms:,}"),
            ("threads, blocks of an SM", f"{gpu.threads_per_sm:,}, {gpu.blocks_per_sm:,}"),
            ("registers of an SM", f"{gpu.regs_per_sm:,}"),
            ("shared memory of an SM", f"{gpu.smem_per_sm:,} bytes"),
        ]
    static = platform.mps_partitions
    levels, update = platform.priority_levels, platform.update_cost
    shares = ", ".join(f"{process} {share_text(share)}" for process, share in platform.mps or ())
    rows += [
        ("copy engines", engines_text(platform.copy_engines)),
        ("GPU instances", _instances(platform)),
        ("shares of MPS clients", shares or "all SMs"),
        *([("static partitions of MPS", clip(parts_text(static), 200))] if static else []),
        *([] if platform.channels is None else [("channels", f"{platform.channels:,}")]),
        ("green contexts", clip(parts_text(platform.green_contexts or ()), 200) or "none"),
        *([("their channels", platform.workqueue)] if platform.green_contexts else []),
        ("CPUs", f"{platform.cpus:,}"),
        ("launch latency", time_with_unit(platform.launch_latency, tick)),
        *(
            (text, time_with_unit(time, tick))
            for text, time in (
                ("CPU time of a launch", platform.launch_cpu),
                ("CPU time of a graph's launch", platform.graph_launch_cpu),
                ("gap before a kernel", platform.kernel_gap),
                ("wake-up of a thread", platform.wake_latency),
            )
            if time
        ),
        ("context switch", time_with_unit(platform.context_switch, tick)),
        ("time slice", _timeslice(platform, tick)),
        *([("update of the run list", time_with_unit(update, tick))] if update else []),
        ("server overhead", time_with_unit(platform.server_overhead, tick)),
        ("stream priorities", "any number" if levels is None else f"{levels:,}"),
        ("slowdown of kernels together", "{:g} to {:g}".format(*platform.slowdown)),
    ]
    body = "".join(
        f'<tr><th scope="row">{name}</th><td>{xml(text)}</td></tr>' for name, text in rows
    )
    return f"<h2>Platform</h2>\n<table>{body}</table>"


def _instances(platform: Platform) -> str:
    if platform.mig is not None:
        return ", ".join(platform.mig)
    return "any" if platform.gpu is not None and platform.gpu.mig_profiles() else "none"


def _timeslice(platform: Platform, tick: int) -> str:
    try:
        return time_with_unit(platform.timeslice, tick)
    except ValueError:  # refused by the methods that need it
        return "not a whole number of ticks"
