"""Programs under benchmarks/ that damage, fail and kill studies, with a part of their runs."""

import importlib.util
import sys

import pytest
from test_falsification import run

pytestmark = [pytest.mark.python, pytest.mark.long]


def test_no_damaged_or_hostile_store_harms():
    options = ("--stores", "1000", "--seed", "2")
    assert run("store_damage.py", *options).endswith("\n0 wrong outcomes\n")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and LD_PRELOAD")
def test_no_fault_loses_more_than_it_may():
    assert run("store_faults.py", "--step", "37").endswith("0 runs lost more than they may\n")


def test_killed_shards_give_the_whole_table():
    options = ("--executors", "threads", "processes", "--shards", "7", "--runs", "1")
    assert run("sweep_kills.py", *options).endswith("0 tables that differ\n")


def test_large_sweeps_are_small():
    assert "MiB resident" in run("sweep_scale.py", "--sets", "10000000")


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("loky", "distributed", "mpi4py"))),
    reason="needs the extra cluster",
)
def test_workers_never_compute_another_function():
    assert run("worker_changes.py").endswith("\n0 mixtures or other outcomes\n")
