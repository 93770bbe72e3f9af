"""Command ``gpus``: the presets and their limits."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from gpusched.cli.command_parts import columns


def add(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = "Lists the known GPUs and their limits."
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from gpusched.model.gpu import GPU
    from gpusched.model.gpus.copy_engines import engines_text

    heads = (
        *("preset", "SMs", "threads/SM", "blocks/SM", "regs/SM", "smem/SM", "cc"),
        *("copy engines", "channels"),
    )
    rows: list[Sequence[str]] = [heads]
    for name in GPU.presets():
        gpu = GPU.preset(name)
        rows.append(
            (
                name,
                *map(str, (gpu.sms, gpu.threads_per_sm, gpu.blocks_per_sm, gpu.regs_per_sm)),
                f"{gpu.smem_per_sm // 1024} KiB",
                "-" if gpu.cc is None else ".".join(map(str, gpu.cc)),
                engines_text(gpu.copy_engines),
                "unknown" if gpu.channels is None else str(gpu.channels),
            )
        )
    print(columns(rows))
    return 0
