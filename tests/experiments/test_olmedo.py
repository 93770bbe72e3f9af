"""Tables and figures of [RTAS20], and schedules of [RTSS17]: contents and pictures."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import experiments

pytestmark = pytest.mark.numbers

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from legible import assert_legible  # noqa: E402

# By footprint: how many times slower. An input, not the paper's measurements.
FACTORS = {512 * 1024: (1.1, 1.3), 5 * 10**6: (1.6, 3.0), 5 * 10**8: (2.9, 7.8)}


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    from matplotlib import pyplot

    pyplot.close("all")


# [RTSS17]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        # kernel: first block, last block, end
        (
            1,
            {
                "K1": (0, 100, 200),
                "K2": (200, 200, 300),
                "K4": (100, 100, 200),
                "K5": (200, 200, 300),
            },
        ),
        (3, {"K1": (0, 450, 500), "K2": (50, 200, 250), "K3": (250, 400, 450)}),
        (
            5,
            {f"K{k + 1}": (10 * k, 10 * k, 10 * k + 100) for k in range(7)}
            | {"K8": (110, 110, 160), "K9": (110, 110, 210)},
        ),
    ],
)
def test_rtss_2017(number: int, expected: dict[str, tuple[int, int, int]]) -> None:
    table = experiments.rtss2017(number)
    columns = ("kernel", "first", "dispatched", "end")
    rows = zip(*(table[name].tolist() for name in columns), strict=True)
    assert {kernel: tuple(times) for kernel, *times in rows} == expected
    assert table.run.outcome == "done"
    assert_legible(table.plot().figure)
    assert "<svg" in table._repr_svg_()
    assert pickle.loads(pickle.dumps(table)) == table
    assert pickle.loads(pickle.dumps(table)).run == table.run


def test_rtss_2017_says_why() -> None:
    first = experiments.rtss2017(1).run
    assert first.why(2).splitlines() == ["waited 20 .. 100 behind K1 in the queue"]
    starved = experiments.rtss2017(3).run
    assert "waited 20 .. 200 for K2, which is more urgent" in starved.why(0)
    inverted = experiments.rtss2017(5).run
    assert inverted.why(8).splitlines() == ["waited 70 .. 110 for K8, which is more urgent"]
    assert inverted.blocks is not None
    assert inverted.blocks.sm[inverted.blocks.kernel >= 7].tolist() == [1, 0]
    with pytest.raises(ValueError, match="number: got 2, expected one of 1, 3, 5"):
        experiments.rtss2017(2)


def test_ecrts_2017() -> None:
    """The hierarchy's schedule of [ECRTS17]'s kernels is that of the threads-only model."""
    table, threads = experiments.ecrts2017(), experiments.yang_fig2()
    ours = dict(zip(table["kernel"].tolist(), range(len(table)), strict=True))
    at = [ours[kernel] for kernel in threads["kernel"].tolist()]
    assert table["first"][at].tolist() == threads["start"].tolist() == [0, 0, 60, 60, 120]
    assert table["dispatched"][at].tolist() == threads["dispatched"].tolist()
    assert table["end"][at].tolist() == threads["end"].tolist() == [38, 98, 120, 172, 158]
    assert_legible(table.plot().figure)


# Tables


@pytest.mark.long
@pytest.mark.parametrize("placement", ["most_room", "olmedo"])
def test_tables_2_and_3(placement: str) -> None:
    for table, mw in (
        (experiments.olmedo_table2(placement=placement), 64),
        (experiments.olmedo_table3(placement=placement), 32),
    ):
        assert len(table) == 1024
        x, y, same = table["x"], table["y"], table["same"]
        assert (table["left"] == mw - x).all()
        assert (same == (mw - x >= ((mw - y) // y + 1) * y)).all()
        assert (same == table["rule"]).all()
    # The paper's own example: 1 warp, then 3 warps, share an SM of 64.
    two = experiments.olmedo_table2()
    assert two.where(x=1, y=3)["same"].tolist() == [True]
    assert not two.where(x=2, y=2)["same"].any()
    assert_legible(two.plot().figure)
    naive = experiments.olmedo_table2(placement="round_robin", most=4)
    assert not naive["same"].any() and naive["rule"].any()


def test_table_4() -> None:
    table = experiments.olmedo_table4()
    same, rule = table["same"], table["rule"]
    # Definition III.2 does not foresee all blocks that share an SM (dark gray in the paper), nor
    # that ties go to the first SM in order.
    assert ((same & ~rule).sum(), (rule & ~same).sum()) == (11, 188)
    dark = same & ~rule
    assert table["x"][dark].max() <= 4 and table["y"][dark].max() <= 4
    assert set(table["left"].tolist()) <= set(range(26, 64))
    assert_legible(table.plot().figure)
    with pytest.raises(ValueError, match="most: got 33, expected 1 to 32 warps, the most of"):
        experiments.olmedo_table4(most=33)
    with pytest.raises(ValueError, match=r"most: got 32, expected blocks that fit \(not 1 and"):
        experiments.olmedo_table4("Pegasus", z=28)


# Figures


def test_figure_5() -> None:
    figure = experiments.olmedo_fig5()
    for panel, second in (("left", [1, 3, 5, 7]), ("right", [0, 2, 4, 6])):
        rows = figure.where(panel=panel)
        assert rows["sm"][rows["kernel"] == 0].tolist() == [0, 2, 4, 6]
        assert rows["sm"][rows["kernel"] == 1].tolist() == second
        assert set(rows["end"].tolist()) == {100}
    slow = experiments.olmedo_fig5(interference=(1.6, 1.2, 1.05, 1))
    assert set(slow.where(panel="left")["end"].tolist()) == {120}
    assert set(slow.where(panel="right")["end"].tolist()) == {160}
    axes = slow.plot()
    assert_legible(axes[0].figure)
    with pytest.raises(ValueError, match="axes: got 1, expected 2, for the diagrams"):
        slow.plot(axes[:1])
    assert pickle.loads(pickle.dumps(slow)).runs == slow.runs


def test_figure_6() -> None:
    figure = experiments.olmedo_fig6(1000)
    relative = dict(
        zip(
            zip(figure["architecture"].tolist(), figure["mix"].tolist(), strict=True),
            figure["relative"].tolist(),
            strict=True,
        )
    )
    assert relative["Pascal", "FP/I"] == pytest.approx(1.0, abs=0.01)
    assert relative["Volta", "FP/I"] == pytest.approx(0.5, abs=0.01)
    assert relative["Pascal", "FP"] == relative["Volta", "FP"] == 1.0
    assert_legible(figure.plot().figure)
    with pytest.raises(ValueError, match="warps: got 1, expected at least 2"):
        experiments.olmedo_fig6(10, warps=1)


def test_figure_7() -> None:
    figure = experiments.olmedo_fig7()
    for by, most in (("memcpy", 3), ("memset", 8)):
        relative = figure.where(by=by)["relative"]
        assert relative[0] == 1 and (np.diff(relative) >= 0).all()
        # Three processes of 100 ticks every 300 keep the copy engine busy all the time.
        assert relative[3:].tolist() == pytest.approx([most] * 2, abs=0.002)
        assert 1 < relative[1] < relative[2] < most
    none = experiments.olmedo_fig7({"idle": 1.0}, [0, 3])
    assert none["response"].tolist() == [1000, 1000]
    assert_legible(figure.plot().figure)
    with pytest.raises(ValueError, match="copy: got 0, expected a positive number"):
        experiments.olmedo_fig7(copy=0)
    with pytest.raises(ValueError, match="processes: got -1, expected a non-negative number"):
        experiments.olmedo_fig7(processes=[-1])


def test_figure_8() -> None:
    figure = experiments.olmedo_fig8(FACTORS)
    # Copies that follow each other without a gap slow all of the kernel.
    assert figure["relative"].tolist() == pytest.approx(figure["factor"].tolist(), rel=1e-3)
    assert figure["footprint"].tolist() == 2 * list(FACTORS)
    assert_legible(figure.plot().figure)
    with pytest.raises(ValueError, match="footprint: got 0, expected a positive number"):
        experiments.olmedo_fig8({0: (1, 1)})


def test_figure_9() -> None:
    factors = {k: (same + 1, 1.1) for k, (same, _) in FACTORS.items()}
    figure = experiments.olmedo_fig9(factors)
    assert set(figure.where(by="alone")["relative"].tolist()) == {1.0}
    for k, (same, other) in factors.items():
        near = figure.where(by="same GPC", footprint=k)
        assert near["relative"][0] == pytest.approx(same, rel=1e-3) and near["sm"][0] == 1
        far = figure.where(by="other GPC", footprint=k)
        assert 1 < far["relative"][0] <= other + 1e-3 and far["sm"][0] == 3
    assert_legible(figure.plot().figure)
    with pytest.raises(ValueError, match="gpu: got 2 SMs, expected at least four GPCs of two"):
        experiments.olmedo_fig9(factors, gpu="TX2")


def test_tables_are_results(tmp_path: Any) -> None:
    table = experiments.olmedo_table2(most=3)
    assert pickle.loads(pickle.dumps(table)) == table == experiments.olmedo_table2(most=3)
    table.save_csv(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text().startswith("x,y,left,same,rule\n1,1,63,False,False")
    assert isinstance(table, experiments.SharedSMs)
    assert isinstance(gs.experiments.olmedo_fig6(10), experiments.Figure6)


def test_factors_that_are_refused() -> None:
    with pytest.raises(ValueError, match=r"factors\['memcpy'\]: got inf, expected 1 to 1000"):
        experiments.olmedo_fig7({"memcpy": float("inf")})
    for figure in (experiments.olmedo_fig8, experiments.olmedo_fig9):
        with pytest.raises(ValueError, match="bandwidth: got 0, expected a positive number"):
            figure({100: (2, 2)}, bandwidth=0)
        with pytest.raises(TypeError, match=r"factors\[100\]: got 2, expected two numbers"):
            figure({100: 2})
        with pytest.raises(ValueError, match=r"factors\[100\]\[1\]: got 0\.5, expected 1 to 1000"):
            figure({100: (2, 0.5)})
    with pytest.raises(ValueError, match="copied: got 0, expected a positive number"):
        experiments.olmedo_fig8({100: (2, 2)}, copied=0)
    with pytest.raises(ValueError, match="instructions: got 0, expected a positive number"):
        experiments.olmedo_fig6(instructions=0)


def test_both_panels_of_figure_5_have_one_scale() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    left, right = experiments.olmedo_fig5().plot()
    assert left.get_ylabel() == right.get_ylabel() == "SM (16 of 64 warps)"
    heights = [{round(p.get_height(), 6) for p in ax.patches} for ax in (left, right)]
    assert heights[0] < heights[1]  # the blocks of 128 threads are as high


def test_no_factors_no_curve() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    assert experiments.olmedo_fig8({}).plot().get_legend() is None
