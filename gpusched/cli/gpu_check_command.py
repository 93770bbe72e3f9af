"""Command ``gpu-check``: probes, measurements and error checks on a CUDA device."""

from __future__ import annotations

import argparse

from gpusched.cli.command_parts import Refusal, natural


def add_gpu_check(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    command.description = (
        "Runs all probes of the scheduling rules on a CUDA device; measures "
        "calibration, batches, the overhead of the player and SM partitions; and checks the "
        "behaviour after errors. Prints a table of pass, fail and figure, and writes a report."
    )
    command.epilog = "Exit code: 0 when nothing failed, 1 when something did, 2 without a device."
    command.add_argument(
        "--device", type=natural, default=0, metavar="N", help="index of the device (default: 0)"
    )
    command.add_argument("--quick", action="store_true", help="run fewer cases")
    command.add_argument(
        "--processes",
        default="1,2,4",
        metavar="N,...",
        help="numbers of other processes that copy beside a kernel, in turn (default: 1,2,4; '' "
        "for none)",
    )
    command.add_argument(
        "--output",
        default="gpu-check.json",
        metavar="FILE",
        help="file of the report; logs of blocks go to a folder beside it (default: "
        "gpu-check.json)",
    )
    command.set_defaults(run=_gpu_check)


def _gpu_check(options: argparse.Namespace) -> int:
    from gpusched import cuda
    from gpusched.cuda import check

    if (reason := cuda.why_not()) is not None:
        raise Refusal(reason)
    try:
        processes = [int(part) for part in options.processes.split(",") if part.strip()]
    except ValueError:
        raise Refusal(f"--processes: got {options.processes!r}, expected numbers") from None
    if not all(1 <= count <= 64 for count in processes):
        raise Refusal(f"--processes: got {options.processes}, expected 1 to 64")
    try:
        findings = check.check(
            options.device, options.output, quick=options.quick, processes=processes, say=print
        )
    except cuda.CudaError as error:
        raise Refusal(str(error.args[0])) from error
    return int(any(found.status == "fail" for found in findings))
