"""The view of a comparison with sliders: values set by the program, and what is shown."""

import html
import sys
from xml.etree import ElementTree

import pytest

import gpusched as gs

pytestmark = pytest.mark.python

pytest.importorskip("ipywidgets")

WAYS = ("streams", "mpcp", "pbs")


def workload() -> gs.Workload:
    camera = [gs.CPU("2ms"), gs.Kernel("5ms", blocks=32, threads=256)]
    planner = [gs.CPU("9ms"), gs.Kernel("8ms", blocks=8, threads=128)]
    tasks = [
        gs.Task("camera", "40ms", camera, deadline="30ms"),
        gs.Task("planner <1>", "80ms", planner),
    ]
    return gs.Workload(tasks, tick="us")


def view(**options) -> gs.CompareSliders:
    return gs.compare_sliders(workload(), gs.Platform("AGX Orin", cpus=2), ways=WAYS, **options)


def shown(made: gs.CompareSliders) -> str:
    return made._repr_mimebundle_()["text/html"]


def test_it_begins_with_the_workload_as_given() -> None:
    made = view()
    assert made.workload == workload()
    platform = gs.Platform("AGX Orin", cpus=2)
    other = gs.compare(workload(), platform, ways=WAYS, simulate=False)
    for one, two in zip(made.comparison, other, strict=True):
        assert (one.label, one.verdict, one.why()) == (two.label, two.verdict, two.why())
    assert list(made.periods) == ["camera", "planner <1>"]
    assert made.periods["camera"].value == 40_000
    assert {kind: slider.value for kind, slider in made.times.items()} == {
        "kernels": 100,
        "cpu": 100,
        "copies": 100,
    }


def test_it_follows_the_sliders() -> None:
    made = view()
    before = shown(made)
    made.times["kernels"].value = 250
    assert made.workload == workload().scaled(kernels="2.5")
    made.times["cpu"].value = 50
    assert made.workload == workload().scaled(kernels="2.5", cpu="0.5")
    made.periods["camera"].value = 20_000
    task = made.workload["camera"]
    assert (task.period, task.deadline) == (20_000, 20_000)
    made.periods["camera"].value = 36_000
    assert made.workload["camera"].deadline == 30_000
    assert shown(made) != before
    for slider, value in (
        (made.periods["camera"], 40_000),
        *((t, 100) for t in made.times.values()),
    ):
        slider.value = value
    assert made.workload == workload() and shown(made) == before


def test_what_is_shown_is_well_formed_and_escaped() -> None:
    made = view(simulate=True)
    root = ElementTree.fromstring(shown(made))
    assert root.get("class") == "gpusched-view"
    text = "".join(root.itertext())
    assert "planner <1>" in text and "mpcp (busy)" in text
    assert "application/vnd.jupyter.widget-view+json" in made._repr_mimebundle_()
    assert repr(made).startswith("<CompareSliders: 2 periods; Comparison: 2 tasks")


def test_the_length_of_simulations_can_be_chosen() -> None:
    made = view(simulate=True, until="80ms", gaps="refuse")
    assert made.comparison["mpcp (suspend)"].run.until == 80_000
    made.times["kernels"].value = 110
    assert made.comparison["mpcp (suspend)"].run.until == 80_000


def test_a_refused_position_shows_the_refusal() -> None:
    task = gs.Task("slow", 2**59, [gs.Kernel(2**59, blocks=1, threads=32)])
    made = gs.compare_sliders(gs.Workload([task]), gs.Platform("Xavier"), ways=["mpcp"])
    with pytest.raises(OverflowError) as refusal:
        made.times["kernels"].value = 300
    assert shown(made) == f"<p>{html.escape(str(refusal.value))}</p>"
    made.times["kernels"].value = 100
    assert "mpcp" in shown(made)


def test_the_tasks_with_sliders_can_be_chosen() -> None:
    assert list(view(tasks=["camera"]).periods) == ["camera"]
    with pytest.raises(KeyError, match="lidar"):
        view(tasks=["lidar"])
    with pytest.raises(TypeError, match=r"^tasks: got 'camera', expected a list of names"):
        view(tasks="camera")
    with pytest.raises(TypeError, match=r"^workload: got int, expected Workload"):
        gs.compare_sliders(3, gs.Platform("AGX Orin"))


def test_without_ipywidgets_it_says_how_to_install_them(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match=r"pip install 'gpusched\[widgets\]'"):
        view()
