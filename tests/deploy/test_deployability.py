"""Needs of ways on GPUs: the table, its sources, the column of comparisons."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gpusched as gs
from gpusched.deploy.deployability import LEVELS, _table, fact_table, level_table
from gpusched.model.gpus.gpu_presets import PRESET_NAMES, partition_unit, static_partition_unit
from gpusched.model.gpus.mig_profiles import mig_products
from gpusched.model.gpus.mps_shares import has_shares

WAYS = [way.name for way in gs.ways.WAYS]
TABLE = _table()
SOURCES = Path(__file__).parents[2] / "notebooks" / "guide" / "sources.md"


def test_every_row_is_about_known_ways_and_gpus_and_names_a_source() -> None:
    for kind in ("level", "needs", "assumes", "costs"):
        for row in TABLE[kind]:
            ways = [row["way"]] if kind == "level" else row["ways"]
            assert set(ways) <= {*WAYS, "all"} and len(set(ways)) == len(ways)
            assert row.get("gpus") is None or row["gpus"] in TABLE["class"]
            assert row.get("source") is None or row["source"] in TABLE["source"]
            assert row["text"] and not row["text"].endswith(".")
    papers = re.findall(r"\[(\w+)\]", " ".join(TABLE["source"].values()))
    assert all(f"- [{key}]" in SOURCES.read_text("utf-8") for key in papers)


def test_classes_are_used() -> None:
    rows = [row for kind in ("level", "needs", "assumes", "costs") for row in TABLE[kind]]
    assert {row["gpus"] for row in rows if "gpus" in row} == set(TABLE["class"])


@pytest.mark.parametrize("way", WAYS)
def test_the_last_level_of_a_way_is_for_all_other_gpus(way: str) -> None:
    rows = [row for row in TABLE["level"] if row["way"] == way]
    assert [row for row in rows if "gpus" not in row] == rows[-1:]
    assert {row["level"] for row in rows} <= set(LEVELS)


@pytest.mark.parametrize("name", PRESET_NAMES)
def test_levels_agree_with_the_models_of_the_gpu(name: str) -> None:
    """No way is offered on a GPU whose model refuses it, and the other way round."""
    gpu = gs.GPU.preset(name)

    def exists(way: str) -> bool:
        return gs.deployable(way, gpu).level != "none"

    assert exists("mig") == bool(mig_products(gpu.name, gpu.sms))
    if gpu.cc is not None:
        assert exists("mps_static") == (static_partition_unit(gpu.cc) > 0)
        assert exists("green_contexts") == (gpu.cc >= (6, 0))
        assert not exists("mps") or gpu.cc >= (3, 5)
        assert exists("gcaps") == (gpu.cc in ((7, 2), (8, 7)))
        assert has_shares(gpu.cc) or "48 clients" not in gs.deployable("mps", gpu).text
    if partition_unit(gpu.cc) == 8:
        assert "multiples of 8" in gs.deployable("green_contexts", gpu).text


def test_values() -> None:
    found = gs.deployable("mps_static", "AGX Orin")
    assert (found.level, found.cuda) == ("root", "13.1")
    (open_,) = (fact for fact in found.needs if fact.source is None)
    assert str(open_) == "whether MPS on Orin has static partitions [to be checked]"
    assert "to be checked" in found.text and open_.text not in found.sources
    assert gs.deployable("mps", "Xavier").level == "none"
    assert gs.deployable(gs.ways.Mpcp(mode="busy"), "H100").way == "mpcp"
    assert gs.deployable("driver", "H100").level == "none"
    unknown = gs.deployable("green_contexts")
    assert unknown.level == "code" and unknown.needs[-1].source is None
    assert gs.deployable("mig").level == "none"
    assert gs.deployable("mps_static", "H100", driver="13.0").level == "none"
    assert gs.deployable("mps_static", "H100", driver="13.10").level == "root"
    ways = {row[0]: row[1:] for row in level_table(["AGX Orin", "H100"])}
    assert ways["mps_static"] == ("root (to be checked)", "root")
    assert ways["gcaps"] == ("patch", "none")
    assert all(len(row) == 5 for row in fact_table())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no", "H100"), "way: got 'no', expected one of"),
        (("mps", "no GPU"), "name: got 'no GPU', expected"),
        (("mps", 3), "gpu: got int, expected GPU"),
        (("mps", "H100", "new"), "driver: got 'new', expected a version of CUDA, such as '12.4'"),
        (("mps", "H100", 12.4), "driver: got 12.4, expected a version of CUDA"),
        (("mps", "H100", "1" * 9999 + ".0"), "driver: got '1111"),
    ],
)
def test_refusals(arguments: tuple[object, ...], message: str) -> None:
    way, gpu, *driver = arguments
    options = {"driver": driver[0]} if driver else {}
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        gs.deployable(way, gpu, **options)  # type: ignore[arg-type]


def program() -> gs.Workload:
    kernel = gs.Kernel("1ms", blocks=32, threads=256)
    tasks = [gs.Task("camera", "20ms", [gs.CPU("1ms"), kernel]), gs.Task("map", "40ms", [kernel])]
    return gs.Workload(tasks, tick="us")


def test_comparisons_have_a_column() -> None:
    pytest.importorskip("pandas")
    platform = gs.Platform("H100", cpus=2, mps_partitions={"camera": 64, "map": 32})
    ways = ["mps", "mps_static", "mpcp", "gcaps", "srm"]
    found = gs.compare(program(), platform, ways=ways, simulate=False)
    levels = [row.deploy for row in found]
    assert levels == [gs.deployable(row.way, platform.gpu).level for row in found]
    frame = found.to_frame()
    assert frame.groupby("way", sort=False)["deploy"].first().tolist() == levels
    document = found.document(margin=False)
    assert [row["deploy"] for row in document["rows"]] == levels  # type: ignore[attr-defined]
    page = found.to_html(margin=False)
    assert ">deploy</th>" in page and page.count("<td>root</td>") == 2
    head, *lines = str(found).splitlines()
    at = head.index("deploy")
    assert [line[at:].split()[0] for line in lines[: len(levels)]] == levels


def test_the_best_way_of_a_level() -> None:
    platform = gs.Platform("H100", cpus=2, mps_partitions={"camera": 64, "map": 64})
    found = gs.compare(program(), platform, ways=["mps_static", "mpcp"], simulate=False)
    best = {level: found.best(deploy=level) for level in ("code", "root", None)}
    assert best["code"] is not None and best["code"].way == "mpcp"
    assert best["root"] is not None and best["root"].factor == best[None].factor  # type: ignore[union-attr]
    assert best["root"].way == "mps_static"
    only = gs.compare(program(), platform, ways=["mps_static"], simulate=False)
    assert only.best(deploy="code") is None
    with pytest.raises(ValueError, match=r"deploy: got 'no', expected one of code, root, patch"):
        found.best(deploy="no")
