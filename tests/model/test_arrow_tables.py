"""Every table as Arrow data: the columns of its ``to_frame``, read by other libraries."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import arrow_consumer as consumer
import numpy as np
import pytest

import gpusched as gs
from gpusched._support.tabular import Tabular

DATA = Path(__file__).parents[1] / "data"


def classes() -> Iterator[type]:
    """The classes of the package that have tables."""
    for module in pkgutil.walk_packages(gs.__path__, "gpusched."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            own = isinstance(value, type) and value.__module__ == module.name
            if own and hasattr(value, "to_frame") and not getattr(value, "_is_protocol", False):
                yield value


def tables() -> Iterator[Any]:
    """A table of most classes, and stacks of sets."""
    kernels = gs.KernelTasks(period=[4, 6], wcet=[2, 3], name=["camera", "lidär"])
    table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 3, (0, 1): 4})
    yield kernels
    yield gs.KernelTasks.stack([kernels, kernels])
    yield gs.KernelChains(period=[60, 80], block_time=[[4, 2], [3]])
    hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]], core=[0, 1])
    one = gs.HostTasks.from_segments([60], [[3, (1, 6, 1), 2]], core=[0])
    yield hosts
    yield gs.HostTasks.stack([hosts, one])
    yield gs.analysis.mpcp(hosts, cpus=2)
    yield gs.analysis.mpcp(gs.HostTasks.stack([hosts, one]), cpus=2)
    yield gs.analysis.assign_priorities(hosts, "mpcp", cpus=2)
    yield gs.analysis.breakdown(gs.HostTasks.stack([hosts, one]), "mpcp", cpus=2)
    run = gs.simulate.host(hosts, cpus=2, way="mpcp", until=200, intervals=True)
    yield from (run, run.intervals)
    yield table
    yield gs.BatchTable([[0, 1, 3, 4], [0, 1, 3, 0]])
    found = gs.pbs.search(kernels, table, policy=True)
    yield from (found, found.schedule, found.policy)
    tree = gs.pbs.graph.search(kernels, table, graph=True)
    yield from (tree, tree.graph)
    yield gs.simulate.fifo(kernels, threads=1, until=24)
    gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=8)
    launches = gs.Launches([0, 0, 5], 50, stream=[0, 1, 1], threads=1024, carveout=[-1, 4096, -1])
    run = gs.simulate.hierarchy(launches, gpu, budget=gs.Budget(1))
    yield from (launches, run, run.kernels, run.waits)
    yield gs.place(gpu, blocks=[4, 9], threads=[128, 160])
    work = gs.Workload(
        [
            gs.Task("a", 90, [gs.CPU(2), gs.Kernel(3, blocks=4, threads=64)]),
            gs.Task("b", 70, [gs.CPU(2)], priority=1),
        ]
    )
    platform = gs.Platform(gpu=gpu, cpus=2)
    yield work
    compared = gs.compare(work, platform)
    yield compared
    yield from (row.answer for row in compared.rows if row.answer is not None)
    yield from (row.run for row in compared.rows if row.run is not None)
    yield gs.io.read_trace(DATA / "pipeline.pt.trace.json")
    yield gs.io.read_trace(DATA / "pipeline.pt.trace.json").kernels()


def frame_entries(frame: Any) -> dict[str, list[Any]]:
    """The columns of a pandas table as lists, None for missing entries."""
    found = {}
    for name in frame.columns:
        gone = frame[name].isna().tolist()
        values = frame[name].tolist()
        found[name] = [None if no else value for value, no in zip(values, gone, strict=True)]
    return found


def test_every_table_is_for_other_libraries() -> None:
    found = list(classes())
    assert len(found) > 40
    assert [kind.__name__ for kind in found if not issubclass(kind, Tabular)] == []


def test_arrow_has_the_columns_of_pandas() -> None:
    pytest.importorskip("pandas")
    seen = []
    for held in tables():
        seen.append(type(held).__name__)
        columns = consumer.table(held)
        expected = frame_entries(held.to_frame())
        assert list(columns) == list(expected), seen[-1]
        for name, column in columns.items():
            assert column == expected[name], (seen[-1], name)
    assert len(set(seen)) > 20


def test_pyarrow() -> None:
    arrow = pytest.importorskip("pyarrow")
    for held in tables():
        table = arrow.table(held)
        table.validate(full=True)
        assert table.to_pydict().keys() == consumer.table(held).keys()
        batch = arrow.record_batch(held)
        batch.validate(full=True)
        assert batch.schema == table.schema == arrow.schema(held)
        del held
        assert arrow.Table.from_batches([batch]).equals(table)


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    for held in tables():
        frame = polars.DataFrame(held)
        columns = consumer.table(held)
        assert frame.columns == list(columns)
        for name, column in columns.items():
            if frame.height and not isinstance(column[0], tuple):
                assert frame[name].to_list() == column
    tasks = gs.KernelTasks(period=np.arange(1, 1001), wcet=np.ones(1000, np.int64))
    frame = polars.DataFrame(tasks)
    assert frame["period"].to_numpy().ctypes.data == tasks.period.ctypes.data
    del tasks
    assert frame["period"].sum() == 500_500


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    tasks = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3], name=["a", "b", "c"])
    question = "select name, period - wcet from tasks where period > 4 order by period desc"
    assert duckdb.sql(question).fetchall() == [("c", 7), ("b", 2)]
    for held in tables():
        assert len(duckdb.sql("from held").fetchall()) == len(next(iter(held._table().values())))
    del tasks


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip("needs pandas 3")
    pytest.importorskip("pyarrow")
    tasks = gs.KernelTasks(period=[4, 5, 10], wcet=[1, 3, 3], name=["a", "b", "c"])
    frame = pandas.DataFrame.from_arrow(tasks)
    assert frame_entries(frame) == frame_entries(tasks.to_frame())
