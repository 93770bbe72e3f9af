"""A way of sharing the GPU is added as CONTRIBUTING.md says: a copy of FMLP+ reaches everything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from native import CSRC

ROOT = CSRC.parent
FILES = (
    *("csrc/ways/first_come.c", "csrc/ways/ways.c", "gpusched/analysis/partitioned.py"),
    "gpusched/comparison/machine_models.py",
)

pytestmark = [pytest.mark.source, pytest.mark.long]

ROW = """
static const gs_analysis_placed_method_t PLACED = {
    .method = &METHOD, .lock = first_come, .monotone = true};
static const gs_simulate_host_way_t *const HOST[] = {&gs_simulate_host_fmlp_plus, NULL};

const gs_ways_way_t gs_ways_first_come = {
    .name = "first_come",
    .title = "a lock on the GPU, once more first come, first served",
    .source = "Brandenburg 2014",
    .test = &METHOD,
    .placed = &PLACED,
    .host = HOST,
    .in_turns = true,
};
"""

PROGRAM = """
import gpusched as gs

hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5, (2, 9, 1), 1]], core=[0, 1])
old, new = gs.analysis.fmlp_plus(hosts), gs.analysis.first_come(hosts)
assert new.response.tolist() == old.response.tolist() == [25, 26] and new.test == "first_come"
assert gs.ways.FirstCome(mode="busy").modes == ("suspend", "busy")
assert gs.methods()["first_come"].claim == "sufficient"
tight = hosts.replace(deadline=[20, 20])
assert gs.analysis.first_come(tight).challenge(gs.Budget(states=10**4)).claim == "counterexample"
assert gs.analysis.breakdown(hosts, "first_come").factor == gs.analysis.breakdown(
    hosts, "fmlp_plus").factor
assert gs.analysis.partition(hosts, 2, "first_come").accepted
assert gs.simulate.host(hosts, 2, "first_come", until=600).worst.tolist() == gs.simulate.host(
    hosts, 2, "fmlp_plus", until=600).worst.tolist()
task = gs.Task("camera", 60, [gs.CPU(3), gs.Kernel(8), gs.CPU(2)])
w = gs.Workload([task, task.replace(name="planner", period=80)])
rows = gs.compare(w, gs.Platform(cpus=2))
for mode in ("suspend", "busy"):
    one, other = rows[f"first_come ({mode})"], rows[f"fmlp_plus ({mode})"]
    assert one.verdict == other.verdict == "guaranteed"
    assert one.run.worst.tolist() == other.run.worst.tolist()
assert gs.margin(w, gs.Platform(cpus=2), "first_come").exact
over = gs.compare(gs.Workload([t.replace(period=15) for t in w]), gs.Platform(cpus=2))
one, other = over["first_come (suspend)"], over["fmlp_plus (suspend)"]
assert one.verdict == other.verdict == "not schedulable" and one.why() == other.why()
w.save("w.toml")
"""


def written(root: Path) -> None:
    """The four files of the recipe."""
    test = (root / "csrc/analysis/partitioned/fmlp_plus.c").read_text(encoding="utf-8")
    test = test.replace(
        '#include "analysis/partitioned/fmlp_plus.h"',
        '#include "analysis/placed_method.h"\n#include "ways/way.h"',
    )
    test = test.replace("int gs_analysis_partitioned_fmlp_plus(", "static int first_come(")
    test = test.replace("const gs_method_t gs_analysis_partitioned_fmlp_plus_method",
                        "static const gs_method_t METHOD")  # fmt: skip
    test = test.replace('"fmlp_plus"', '"first_come"').replace("analysis.fmlp_plus",
                                                               "analysis.first_come")  # fmt: skip
    (root / FILES[0]).write_text(test + ROW, encoding="utf-8")
    table = (root / FILES[1]).read_text(encoding="utf-8")
    line = "extern const gs_ways_way_t gs_ways_gpu_server;\n"
    table = table.replace(line, line.replace("gpu_server", "first_come") + line)
    row = re.search(r" *&gs_ways_gpu_server,\s*", table)
    assert row is not None
    table = table.replace(row[0], row[0].replace("gpu_server", "first_come") + row[0])
    (root / FILES[1]).write_text(table, encoding="utf-8")
    module = (root / FILES[2]).read_text(encoding="utf-8")
    begin = module.index("def fmlp_plus(")
    function = module[begin : module.index("\n\n\n", begin)].replace("fmlp_plus", "first_come")
    module = module.replace('"fmlp_plus",', '"fmlp_plus", "first_come",', 1)
    (root / FILES[2]).write_text(f"{module}\n\n{function}\n", encoding="utf-8")
    models = (root / FILES[3]).read_text(encoding="utf-8")
    line = re.search(r' *"fmlp_plus": _Way\(.*\n', models)
    assert line is not None
    models = models.replace(line[0], line[0] + line[0].replace('"fmlp_plus":', '"first_come":'))
    (root / FILES[3]).write_text(models, encoding="utf-8")


def test_a_new_way_is_four_files(tmp_path: Path) -> None:
    recipe = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe = recipe.partition("### a way of sharing the GPU")[2].partition("\n###")[0]
    for number, file in enumerate(FILES, 1):
        assert f"{number}. `{file.replace('first_come', '<name>')}`" in recipe
    root = tmp_path / "clone"
    ignore = shutil.ignore_patterns("*.so", "__pycache__")
    for folder in ("csrc", "gpusched"):
        shutil.copytree(ROOT / folder, root / folder, ignore=ignore)
    if (ROOT / "build/objects").is_dir():  # so that only what is new is compiled
        shutil.copytree(ROOT / "build/objects", root / "build/objects")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, root)
    written(root)
    environment = {**os.environ, "PYTHONPATH": str(root), "GPUSCHED_CUDA": "0"}

    def run(*command: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=root, env=environment, capture_output=True, text=True
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    run("setup.py", "-q", "build_ext", "--inplace")
    run("-c", PROGRAM)
    assert "guaranteed" in run(
        "-m", "gpusched", "check", "w.toml", "--cpus", "2", "--way", "first_come"
    )
    assert "first_come" in run("-m", "gpusched", "methods")
