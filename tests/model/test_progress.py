"""Progress reports: in a terminal, a pipe and a notebook, with and without tqdm."""

from __future__ import annotations

import os
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Any

import pytest

from gpusched._support.budget import reporter

pytestmark = pytest.mark.python

LOOP = """
from gpusched._support.budget import reporter
with reporter({progress}, 3, "set") as report:
    for done in range(4):
        report(done)
"""


def in_terminal(code: str) -> str:
    """Text that a process writes to a terminal that is its standard error."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (25, 100))
    with subprocess.Popen([sys.executable, "-c", code], stderr=slave) as process:
        os.close(slave)
        text = b""
        try:
            while part := os.read(master, 4096):
                text += part
        except OSError:  # the other end is closed
            pass
    os.close(master)
    assert process.returncode == 0, text
    return text.decode()


def test_a_terminal_shows_a_bar_with_rate_and_remaining_time() -> None:
    pytest.importorskip("tqdm")
    text = in_terminal(LOOP.format(progress=None))
    assert "3/3" in text and "100%" in text
    assert "set/s" in text or "s/set" in text
    assert "<" in text, "elapsed<remaining"
    assert "Warning" not in text
    assert in_terminal(LOOP.format(progress=False)) == ""


def test_a_pipe_shows_nothing_unless_asked() -> None:
    pytest.importorskip("tqdm")
    for progress, shown in ((None, False), (False, False), (True, True)):
        done = subprocess.run(
            [sys.executable, "-c", LOOP.format(progress=progress)], capture_output=True
        )
        assert done.returncode == 0 and done.stdout == b""
        assert (b"3/3" in done.stderr) is shown and bool(done.stderr) is shown


def test_without_tqdm_and_without_a_standard_error() -> None:
    code = "import sys; sys.modules['tqdm'] = sys.modules['tqdm.auto'] = None\n"
    assert in_terminal(code + LOOP.format(progress=None)) == ""
    code = "import sys; sys.stderr = None\n"
    assert in_terminal(code + LOOP.format(progress=None)) == ""


def test_bars_have_no_thread() -> None:
    pytest.importorskip("tqdm")
    before = threading.active_count()
    with reporter(True, 3, "set") as report:
        report(1)
        assert threading.active_count() == before


def test_a_callable_is_called_by_the_calling_thread() -> None:
    seen: list[Any] = []
    with reporter(lambda *at: seen.append((threading.current_thread(), at)), 3, "set") as report:
        report(2)
    assert seen == [(threading.current_thread(), (2, 3))]


@pytest.mark.parametrize("wrong", [1, 0, "yes", [], object()])
def test_what_is_no_progress(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^progress: got .*, expected True or False"):
        with reporter(wrong, 3, "set"):
            pass


@pytest.mark.long
@pytest.mark.parametrize("widgets", [True, False])
@pytest.mark.filterwarnings("default")  # of the Jupyter packages
def test_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, widgets: bool) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("tqdm")
    if widgets:
        pytest.importorskip("ipywidgets")
    for variable in ("IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    (tmp_path / "IPYTHONDIR").mkdir()
    without = "" if widgets else "import sys; sys.modules['ipywidgets'] = None\n"
    cell = nbformat.v4.new_code_cell(without + LOOP.format(progress=None))
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    assert not [o for o in outputs if o.output_type == "stream" and o.name == "stderr"]
    if widgets:
        kinds = {kind for output in outputs for kind in output.get("data", {})}
        assert "application/vnd.jupyter.widget-view+json" in kinds
    else:
        text = "".join(o.text for o in outputs if o.output_type == "stream")
        assert "3/3" in text and "Warning" not in text
