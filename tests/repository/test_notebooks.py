"""Every notebook runs from its first cell to its last and is committed with its output.

Studies (``count=`` of some dozens or more) run with a tenth of their sets: at full size a notebook
is run when it is committed.
"""

import re
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.python

nbformat = pytest.importorskip("nbformat")
NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
TRACE = Path(__file__).parents[1] / "data" / "perception.pt.trace.json.gz"  # notebook 10 reads it


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """Folders of our own, so that no other kernel of this name is found, and nothing is left.

    One for all notebooks, since each new one costs a list of the system's fonts.
    """
    folder = tmp_path_factory.mktemp("settings")
    names = ("IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR")
    (folder / "IPYTHONDIR").mkdir()
    return {name: str(folder / name) for name in names}


def smaller(source):
    """The cell with a tenth of the sets of its studies, but 5 at least, and smaller pictures."""
    source = source.replace('figure_formats = ["retina"]', 'figure_formats = ["png"]')
    return re.sub(r"\bcount=([\d_]+)", lambda found: f"count={max(5, int(found[1]) // 10)}", source)


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # of the Jupyter packages, not of ours
def test_notebook_runs(path, tmp_path, monkeypatch, settings):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    for name, folder in settings.items():
        monkeypatch.setenv(name, folder)
    # As in the repository: the notebooks' folder, and beside it that of the tests' data.
    work, data = tmp_path / "notebooks", tmp_path / "tests" / "data"
    work.mkdir()
    data.mkdir(parents=True)
    shutil.copy(TRACE, data)
    inputs = [Path(shutil.copy(file, work)) for file in path.parent.glob("*.toml")]
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        cell.source = smaller(cell.source)
    client = nbclient.NotebookClient(
        notebook,
        timeout=120,
        startup_timeout=300,  # on a busy machine
        kernel_name="python3",
        resources={"metadata": {"path": str(work)}},
    )
    client.execute()
    left = sorted([*work.iterdir(), *data.iterdir()])
    assert left == sorted([*inputs, data / TRACE.name]), "a notebook leaves no files behind"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_committed_executed_and_small(path):
    assert path.stat().st_size < 600_000
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [o for o in outputs if o.output_type == "stream" and o.name == "stderr"]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert kinds & {"image/svg+xml", "image/png"}, "told in pictures"
