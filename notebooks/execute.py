"""Run notebooks from top to bottom and write their outputs, as they are committed.

    python notebooks/execute.py             # all of them
    python notebooks/execute.py 04 09       # some, by the beginnings of their names

Pictures are stored with a palette of 64 colours, which leaves about a third of their bytes, and
of widgets what they show without a running notebook. Needs the extra "notebook".
"""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from PIL import Image

HERE = Path(__file__).parent
WIDGET = "application/vnd.jupyter.widget-view+json"


def smaller(png: str) -> str:
    """The same picture with a palette, in base64."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    file = io.BytesIO()
    reduced = picture.quantize(64, dither=Image.Dither.NONE)
    reduced.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def stored(output: NotebookNode) -> bool:
    """Make an output smaller; False for one that only a running notebook can show."""
    data = output.get("data", {})
    if "image/png" in data:
        data["image/png"] = smaller(data["image/png"])
    return data.pop(WIDGET, None) is None or "text/html" in data


def execute(path: Path) -> None:
    """Run a notebook in its folder and replace its outputs."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(HERE)}},
        store_widget_state=False,
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the times of the run
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if stored(output)]
    nbformat.write(notebook, path)


def main(names: list[str]) -> None:
    """Run the notebooks whose names begin with one of these; all without any."""
    for path in sorted(HERE.glob("*.ipynb")):
        if not names or path.name.startswith(tuple(names)):
            execute(path)
            print(f"{path.name}: {path.stat().st_size // 1000} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
