"""Run notebooks from top to bottom and write their outputs, as they are committed.

    python notebooks/execute.py             # all of them
    python notebooks/execute.py 04 09       # some, by the beginnings of their names

Pictures are stored with a palette of 256 colours, which leaves about a third of their bytes, and
progress bars are not shown. Needs the extra "notebook".
"""

from __future__ import annotations

import base64
import io
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

HERE = Path(__file__).parent


def smaller(png: str) -> str:
    """The same picture with a palette, in base64."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    file = io.BytesIO()
    reduced = picture.quantize(256, dither=Image.Dither.NONE)
    reduced.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def execute(path: Path) -> None:
    """Run a notebook in its folder and replace its outputs."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.pop("widgets", None)
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the times of the run
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                data["image/png"] = smaller(data["image/png"])
    nbformat.write(notebook, path)


def main(names: list[str]) -> None:
    """Run the notebooks whose names begin with one of these; all without any."""
    os.environ["TQDM_DISABLE"] = "1"
    for path in sorted(HERE.glob("*.ipynb")):
        if not names or path.name.startswith(tuple(names)):
            execute(path)
            print(f"{path.name}: {path.stat().st_size // 1000} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
