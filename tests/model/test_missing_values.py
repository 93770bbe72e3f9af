"""Tables with missing values: NA in pandas, a dash in text, an empty field in CSV, never -1."""

import numpy as np
import pytest

import gpusched as gs
from gpusched._support.results import Results
from gpusched._support.tabular import frame_of, optional

pytestmark = pytest.mark.python

pd = pytest.importorskip("pandas")


def test_optional_masks_what_is_negative_or_not_known() -> None:
    assert optional([3, -1, 0]).tolist() == [3, None, 0]
    assert optional([3, 7], [False, True]).tolist() == [None, 7]
    column = frame_of({"a": optional([3, -1])})["a"]
    assert column.dtype == "Int64" and column.isna().tolist() == [False, True]
    frame = frame_of({"a": np.arange(2), "b": optional([3, -1])})
    assert frame["a"].dtype == np.int64 and frame["b"].dtype == "Int64"


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.array([0.5, 1.5, 7.25]), "Float64"),
        (np.array([0.5, 1.5, 7.25], np.float32), "Float64"),
        (np.array([2**64 - 1, 2, 3], np.uint64), "UInt64"),
        (np.array([-(2**63), 2, 3]), "Int64"),
        (np.array([1, 2, 3], np.int8), "Int64"),
        (np.array([True, False, True]), "boolean"),
        (np.array(["a", "b", "c"]), "string"),
        (np.array(["a", None, "c"], object), "string"),
    ],
)
def test_masked_values_of_every_type_stay_what_they_are(values, dtype) -> None:
    mask = [False, True, False]
    column = frame_of({"a": np.ma.array(values, mask=mask)})["a"]
    assert column.dtype == dtype and column.isna().tolist() == mask
    assert column.dropna().tolist() == values[[0, 2]].tolist()


def test_results_keep_missing_values(tmp_path) -> None:
    table = Results({"name": np.array(["x", "y"]), "end": optional([4, -1])})
    assert str(table).split() == ["name", "end", "x", "4", "y", "–"]
    assert "<td>–</td>" in table._repr_html_() and "-1" not in table._repr_html_()
    assert table.to_frame()["end"].isna().tolist() == [False, True]
    table.save_csv(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text().splitlines() == ["name,end", "x,4", "y,"]
    same = Results({"name": np.array(["x", "y"]), "end": optional([4, -7])})
    assert table == same and table != Results({**same.columns, "end": np.array([4, -1])})
    for part in (table["end"].data, table["end"].mask):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 0
    assert table.where(name="y")["end"].tolist() == [None]


def test_what_has_not_happened_is_missing() -> None:
    gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=8)
    work = gs.Launches([0, 0], 50, stream=[0, 1], threads=1024)
    run = gs.simulate.hierarchy(work, gpu, budget=gs.Budget(1))
    assert run.outcome == "budget"
    frame = run.to_frame()
    assert frame["response"].isna().any() and frame["end"].dtype == "Int64"
    assert run.kernels["end"].mask.tolist() == (run.end < 0).tolist()
    assert run.waits.to_frame()[["blocker", "sm", "end"]].dtypes.eq("Int64").all()
    assert "-1" not in run.kernels._repr_html_()


def test_launches_without_a_setting() -> None:
    work = gs.Launches([0, 5], 3, carveout=[-1, 4096])
    frame = work.to_frame()
    assert frame["carveout"].isna().tolist() == [True, False]
    assert frame["graph"].isna().all() and frame["trigger"].isna().all()
    assert gs.Launches.from_frame(frame) == work


def test_runs_name_their_tasks() -> None:
    tasks = gs.KernelTasks([9, 9], [2, 3], name=["camera", "lidar"])
    frame = gs.simulate.fifo(tasks, threads=1, until=9).to_frame()
    assert list(frame.columns)[:3] == ["task", "name", "job"]
    assert sorted(frame["name"]) == ["camera", "lidar"]


def test_pictures_say_what_was_not_analysed() -> None:
    """The second task of a set whose first one fails has no bar, and a word in its place."""
    pytest.importorskip("matplotlib")
    hosts = gs.HostTasks([4, 9], [5, 1], core=[0, 0], name=["late", "other"])
    answer = gs.analysis.mpcp(hosts)
    assert answer.to_frame()["response"].isna().all()
    assert answer.to_frame()["own"].isna().tolist() == [False, True]
    words = [text.get_text() for text in answer.plot().texts]
    assert words == ["not analysed"]
    assert ">–</td>" in answer._repr_html_()


def test_parts_of_a_bound_that_there_is_not_are_missing() -> None:
    chains = gs.KernelChains(
        [10, 10], [[6], [10]], [[2], [1]], offset=[1, 0], priority=[0, 1], deadline=[10, 10_000]
    )
    frame = gs.analysis.priority_streams(chains, threads=2).to_frame()
    assert frame[["response", "denominator", "own", "residue"]].isna().all(axis=None)
    tasks = gs.KernelTasks([110, 100], block_time=[20, 90], blocks=[2, 1], threads=1)
    frame = gs.analysis.fifo_bound(tasks, threads=2).to_frame()
    assert frame["numerator"].tolist()[0] == 75 and frame["numerator"].isna().tolist()[1]
