"""Parts of the package against their twins, ten times the tests' cases; results/twin_campaign.txt.

The tests that take their number of cases from tests/amounts.py run with
GPUSCHED_HYPOTHESIS=campaign: the simulation of hierarchies, bounds of priority streams and of
partitions, checks of logs, files of workloads. Three minutes of one core; the tests run a tenth.

    python benchmarks/twin_campaign.py [--save]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from machine import describe

HERE = Path(__file__).parent
TESTS = (
    "test_hierarchy_twin.py::test_agreement_with_more_sms",
    "test_hierarchy_twin.py::test_agreement_on_larger_systems",
    "test_reference_priority_streams.py::test_the_package_agrees_on_random_sets",
    "test_rules.py::test_arbitrary_logs_as_the_twin",
    "test_rules.py::test_simulated_and_damaged_logs_as_the_twin",
    "test_stream_partitions.py::test_no_response_above_its_bound",
    "test_stream_partitions.py::test_the_package_agrees_with_the_slow_bounds",
    "test_stream_partitions.py::test_the_simulations_would_show_bounds_that_are_too_low",
    "test_workload_files.py::test_frames_round_trip",
    "test_workload_files.py::test_many_round_trips_are_exact",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="keep the table in benchmarks/results")
    args = parser.parse_args()
    lines = [f"Agreement with twins, ten times the cases of the tests, {describe()}"]
    failed = []
    for name in TESTS:
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"tests/{name}"],
            cwd=HERE.parent,
            env=os.environ | {"GPUSCHED_HYPOTHESIS": "campaign"},
            capture_output=True,
            text=True,
        )
        last = done.stdout.splitlines()[-1].split(" in ")[0]
        lines.append(f"{name:86s} {last}, {time.perf_counter() - began:.0f} s")
        print(lines[-1], flush=True)
        if done.returncode:
            failed.append(name)
            print(done.stdout + done.stderr)
    if args.save and not failed:
        (HERE / "results" / "twin_campaign.txt").write_text("\n".join(lines) + "\n")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
