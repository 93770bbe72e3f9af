"""Command line ``python -m gpusched COMMAND``: parser and ``main``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gpusched._version import __version__
from gpusched.cli import (
    gpu_check_command,
    gpus_command,
    merge_command,
    store_command,
    sweep_command,
    trace_command,
)
from gpusched.cli.command_parts import Refusal
from gpusched.study.execution import SweepError
from gpusched.study.store import StoreError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 yes, 1 no or undecided, 2 an error."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        print("gpusched: interrupted", file=sys.stderr)
        return 130
    except (SweepError, StoreError) as error:
        print(f"gpusched {options.command}: {error}", file=sys.stderr)
        return 2
    except (Refusal, OSError, ValueError, TypeError, OverflowError, ImportError) as error:
        text = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            text = f"{error.filename}: {error.strerror}"
        print(f"gpusched {options.command}: {text}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gpusched",
        description="Real-time scheduling of GPU kernels: will they meet their deadlines?",
    )
    parser.add_argument("--version", action="version", version=f"gpusched {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (
        sweep_command,
        merge_command,
        store_command,
        trace_command,
        gpus_command,
        gpu_check_command,
    ):
        command.add(commands)
    return parser
