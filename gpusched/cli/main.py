"""Command line ``python -m gpusched COMMAND``: parser and ``main``."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from gpusched._support.text import named
from gpusched._version import __version__
from gpusched.cli import (
    assign_command,
    breakdown_command,
    check_command,
    choose_command,
    compare_command,
    config_command,
    doctor_command,
    execute_command,
    gpu_check_command,
    gpus_command,
    kept_command,
    merge_command,
    methods_command,
    recipe_command,
    simulate_command,
    store_command,
    sweep_command,
    trace_command,
)
from gpusched.cli.command_parts import Refusal, as_typed, error_line
from gpusched.study.execution import SweepError
from gpusched.study.store_files import StoreError

_LINE = 4000  # most characters of a line of an error
_CLOSED_PIPE = 141  # as a shell reports a program that SIGPIPE ended: 128 + 13


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 yes, 1 no, 2 an error, 3 undecided.

    Commands that do not distinguish undecided answers return 1 for them.
    """
    return run_parsed(_parser, arguments)


def run_parsed(
    parser: Callable[[], argparse.ArgumentParser], arguments: Sequence[str] | None
) -> int:
    """Run the command that the arguments select, errors as one line, and return its exit code.

    The parsed options have ``run``, a function of the options, and ``command``, the name in errors.

    The code is 130 after an interrupt. It is 141, without a message, if the reader of the output
    has ended, as in ``gpusched gpus | head -1``. Characters that the output cannot encode are
    replaced.
    """
    with contextlib.suppress(AttributeError):  # no stream, or one without an encoding
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        try:
            typed = sys.argv[1:] if arguments is None else arguments
            return _run(parser().parse_args(typed), typed)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where the error is handled, and not at exit
    except BrokenPipeError:
        _discard_output()
        return _CLOSED_PIPE
    except OSError as error:  # a full disk, for example
        _discard_output()
        with contextlib.suppress(OSError):
            print(f"gpusched: standard output: {error.strerror}", file=sys.stderr, flush=True)
        return 2


def _run(options: argparse.Namespace, typed: Sequence[str]) -> int:
    try:
        return int(options.run(options))
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        print("gpusched: interrupted", file=sys.stderr)
        return 130
    except (SweepError, StoreError) as error:
        lines = map(named, str(error).split("\n"), itertools.repeat(_LINE))
        print(f"gpusched {options.command}: " + "\n".join(lines), file=sys.stderr)
        return 2
    except MemoryError:
        text = "got too little memory for this command, expected more (or a smaller input)"
    except RecursionError:
        text = "got an input that is nested too deeply, expected less"
    except (Refusal, OSError, ValueError, TypeError, OverflowError, ImportError) as error:
        text = str(error) or type(error).__name__
        if isinstance(error, OSError) and error.strerror:
            at = "" if error.filename is None else f"{error.filename}: "
            text = at + error.strerror
        elif not isinstance(error, Refusal):
            given = vars(options)
            absent = [name for name, value in given.items() if value is None]
            text = as_typed(text, typed, given.get("option") or (), absent)
    print(f"gpusched {options.command}: {error_line(text)}", file=sys.stderr)
    return 2


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        super().error(error_line(message))


def _discard_output() -> None:
    """Connect the standard streams that cannot be written to with the null device.

    Else the interpreter would write what is left in their buffers, and report the same error.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except AttributeError:  # None, where the process has no such stream
            continue
        except OSError:
            with contextlib.suppress(OSError):
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, stream.fileno())
                os.close(null)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m gpusched",
        description="Real-time scheduling of GPU kernels: will they meet their deadlines?",
    )
    parser.add_argument("--version", action="version", version=f"gpusched {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (
        compare_command,
        check_command,
        recipe_command,
        doctor_command,
        execute_command,
        kept_command,
        breakdown_command,
        assign_command,
        choose_command,
        simulate_command,
        methods_command,
        sweep_command,
        merge_command,
        store_command,
        trace_command,
        gpus_command,
        gpu_check_command,
        config_command,
    ):
        command.add(commands)
    return parser
