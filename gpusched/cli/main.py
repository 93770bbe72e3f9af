"""Command line ``python -m gpusched COMMAND``: parser and ``main``."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from gpusched._support.text import named
from gpusched._version import __version__
from gpusched.cli.command_parts import Refusal, as_typed, error_line

# Names and one line of help; add_<name> in the command's module has the rest.
_COMMANDS = {
    "compare": "compare all ways of sharing the GPU for a workload, by tests and simulations",
    "check": "test a workload under one way of sharing the GPU",
    "recipe": "print the steps with which a program runs under a way of sharing the GPU",
    "doctor": "check which conditions of a way of sharing the GPU hold on this machine",
    "execute": "run a program by threads under a way of sharing the GPU, on a stand-in for the GPU",
    "kept": "compare the log of a run with the guarantee of an answer or a schedule",
    "breakdown": "find the largest factors on times with which a test accepts a workload",
    "assign": "choose priorities with which a test accepts a workload",
    "choose": "choose cores, priorities, levels and SMs with which a test guarantees a workload",
    "simulate": "simulate a workload under one way of sharing the GPU",
    "methods": "list the ways of sharing the GPU and the methods of the package",
    "sweep": "compute shares of schedulable random task sets (Figure 4 of the GPUSched paper)",
    "merge": "join the stores of the shards of a sweep",
    "store": "show the contents of the store of a sweep",
    "trace": "schedule the kernels of a PyTorch profiler or Nsight Systems trace, or make a "
    "workload from it",
    "gpus": "list the known GPUs",
    "gpu-check": "run every probe, measurement and error check on a CUDA device",
    "config": "print compiler options for programs that use the runtime library",
}
# The first words of the names of modules that have several commands.
_MODULES = {
    **dict.fromkeys(("breakdown", "assign"), "sensitivity"),
    **dict.fromkeys(("sweep", "merge", "store"), "study"),
    **dict.fromkeys(("methods", "gpus", "config"), "list"),
}
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
    except RuntimeError as error:
        from gpusched.study.execution import SweepError
        from gpusched.study.store_files import StoreError

        if not isinstance(error, (SweepError, StoreError)):
            raise
        lines = map(named, str(error).split("\n"), itertools.repeat(_LINE))
        print(f"gpusched {options.command}: " + "\n".join(lines), file=sys.stderr)
        return 2
    print(f"gpusched {options.command}: {error_line(text)}", file=sys.stderr)
    return 2


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        super().error(error_line(message))


class _CommandParser(Parser):
    """The parser of one command, whose module is imported when the command is the one named."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.get_default("run") is None:
            name = self.prog.split()[-1].replace("-", "_")
            module = import_module(f"gpusched.cli.{_MODULES.get(name, name)}_command")
            getattr(module, f"add_{name}")(self)
        return super().parse_known_args(args, namespace)


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
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=_CommandParser
    )
    for name, text in _COMMANDS.items():
        commands.add_parser(name, help=text)
    return parser
