"""Recipes: the steps with which a program runs under a way of sharing the GPU, and their files.

``recipe.schema.json`` states their document, ``recipe.json``.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gpusched._support.input_files import content
from gpusched._support.text import named, path_text, shown
from gpusched._version import __version__

__all__ = ["KINDS", "Recipe", "Step"]

KINDS = ("shell", "file", "code", "check")
FORMAT, VERSION = "gpusched recipe", 1
_RECIPE = "recipe.json"
_MOST_BYTES = 1 << 24
_EXECUTABLE = (".sh",)


@dataclass(frozen=True)
class Step:
    """A step of a recipe.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task("camera", "10ms", [kernel])], tick="us")
    >>> step = gs.recipe(gs.analyze(w, gs.Platform("AGX Orin", cpus=2), "mpcp")).steps[1]
    >>> step.number, step.kind, step.root, step.title
    (2, 'shell', True, 'No throttling of real-time threads')

    Attributes
    ----------
    number, title
        From 1, and what it is for.
    kind
        "shell" (commands), "file" (a file of the recipe), "code" (what the program does), or
        "check" (what shows that a condition holds).
    text
        The commands, the name of the file, or the text of the others.
    root
        Whether root does it.
    undo
        Commands that take it back; "" if there is nothing to take back.
    why
        The condition of the guarantee that it is for.
    sources
        Where the commands and facts are stated; empty for what is to be checked.
    """

    number: int
    title: str
    kind: str
    text: str
    root: bool = False
    undo: str = ""
    why: str = ""
    sources: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"{self.number}. {'[root] ' if self.root else ''}{self.title}"
        lines = [head, *(f"     {line}" for line in self.text.splitlines())]
        if self.undo:
            lines += ["   undo:", *(f"     {line}" for line in self.undo.splitlines())]
        if not self.sources:
            lines.append("   (to be checked)")
        return "\n".join(lines)


@dataclass(frozen=True)
class Recipe:
    """Steps with which a program runs under a way of sharing the GPU; see ``gs.recipe``.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task("camera", "10ms", [gs.CPU("1ms"), kernel])], tick="us")
    >>> recipe = gs.recipe(gs.analyze(w, gs.Platform("AGX Orin", cpus=2), "mpcp"))
    >>> recipe.label, recipe.tasks[0]["fifo"], recipe.tasks[0]["ceiling"]
    ('mpcp (suspend)', 10, 11)
    >>> sorted(recipe.files)[:3]
    ['answer.npz', 'check.sh', 'gpu.h']

    Attributes
    ----------
    way, label, gpu
        The way, its label with options, and the name of the GPU.
    lead
        What the answer guarantees, and under which conditions.
    tasks
        For each task ``task``, ``process``, ``core``, ``fifo`` (its SCHED_FIFO priority),
        ``ceiling``, ``urgency``, ``stream_priority``, ``group``, ``sms``, ``instance``, and ``due``
        (ns from a release to the instant that orders GPU work under edf_serial; otherwise 0).
    steps
        The steps in their order, each a `Step`.
    files
        Contents of the files, by name, but for ``recipe.json``.
    """

    way: str
    label: str
    gpu: str
    lead: str
    tasks: tuple[Mapping[str, Any], ...]
    steps: tuple[Step, ...]
    files: Mapping[str, bytes] = field(repr=False)

    def document(self) -> dict[str, Any]:
        """Return the recipe as a document of dicts, lists, text and numbers, as for JSON.

        Keys: ``format`` ("gpusched recipe"), ``version`` (1), ``gpusched``, ``way``, ``label``,
        ``gpu``, ``lead``, ``tasks``, ``steps`` (the fields of `Step`) and ``files`` (names); the
        JSON Schema is ``recipe.schema.json``, which is installed beside this module.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "gpusched": __version__,
            "way": self.way,
            "label": self.label,
            "gpu": self.gpu,
            "lead": self.lead,
            "tasks": [dict(task) for task in self.tasks],
            "steps": [{**asdict(step), "sources": list(step.sources)} for step in self.steps],
            "files": sorted(self.files),
        }

    def save(self, folder: str | os.PathLike[str]) -> tuple[str, ...]:
        """Write all files and ``recipe.json`` into a folder: all of them, or none.

        >>> import tempfile
        >>> w = gs.Workload([gs.Task("a", "9ms", [gs.Kernel("1ms", blocks=4, threads=64)])], "us")
        >>> recipe = gs.recipe(gs.analyze(w, gs.Platform("A100", cpus=2), "streams"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paths = recipe.save(f"{folder}/deploy")
        ...     again = gs.Recipe.load(f"{folder}/deploy")
        >>> len(paths), again == recipe
        (10, True)

        Parameters
        ----------
        folder
            The folder; an existing one must be empty or have a recipe, which is replaced.

        Returns
        -------
        tuple of str
            Paths of the files, ``recipe.json`` last.

        Raises
        ------
        FileExistsError
            The folder has other files.
        OSError
            A file cannot be written.
        """
        target = os.path.abspath(path_text(folder, "folder"))
        if os.path.isdir(target) and os.listdir(target):
            if not os.path.isfile(os.path.join(target, _RECIPE)):
                raise FileExistsError(
                    f"{named(target)}: got a folder with other files, expected an empty one or "
                    "that of a recipe"
                )
        elif os.path.exists(target) and not os.path.isdir(target):
            raise FileExistsError(f"{named(target)}: got a file, expected a folder")
        parent = os.path.dirname(target)
        os.makedirs(parent, exist_ok=True)
        made = tempfile.mkdtemp(prefix=f".{os.path.basename(target)}-", dir=parent)
        text = json.dumps(self.document(), indent=1, ensure_ascii=False) + "\n"
        try:
            for name, data in {**self.files, _RECIPE: text.encode()}.items():
                path = os.path.join(made, name)
                with open(path, "xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.chmod(path, 0o755 if name.endswith(_EXECUTABLE) else 0o644)
            os.chmod(made, 0o755)
            _swapped(made, target)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
        return tuple(os.path.join(target, name) for name in (*sorted(self.files), _RECIPE))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Recipe:
        """Read the recipe of a folder that `save` has written.

        Raises ValueError for a document or a file that no recipe has, with the key; OSError for
        files that cannot be read.
        """
        where = Path(path_text(folder, "folder"))
        try:
            values = json.loads(content(str(where / _RECIPE), _MOST_BYTES).decode("utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"{_RECIPE}: got {type(error).__name__}, expected JSON") from None
        return _Reader(values).recipe(where)

    def __str__(self) -> str:
        keys = (
            *("task", "process", "core", "fifo", "ceiling", "urgency", "stream_priority", "sms"),
            *("instance", "due"),
        )
        used = [key for key in keys if any(task[key] not in (0, "") for task in self.tasks)]
        used = [key for key in used if key != "process" or len({t[key] for t in self.tasks}) > 1]
        rows: list[tuple[str, ...]] = [tuple(key.replace("_", " ") for key in used)]
        rows += [tuple(named(str(task[key])) for key in used) for task in self.tasks]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = [
            "  ".join(
                cell.ljust(width) if key in ("task", "process", "instance") else cell.rjust(width)
                for key, cell, width in zip(used, row, widths, strict=True)
            ).rstrip()
            for row in rows
        ]
        return "\n".join([self.lead, "", *table, "", *map(str, self.steps)])

    def __repr__(self) -> str:
        return f"<Recipe: {self.label}, {len(self.steps)} steps, {len(self.files) + 1} files>"


def _swapped(made: str, target: str) -> None:
    """Put a folder in the place of another one."""
    if not os.path.isdir(target):
        os.rename(made, target)
        return
    old = tempfile.mkdtemp(prefix=f".{os.path.basename(target)}-", dir=os.path.dirname(target))
    os.rename(target, os.path.join(old, "old"))
    try:
        os.rename(made, target)
    except BaseException:
        os.rename(os.path.join(old, "old"), target)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


_TASK_KEYS: dict[str, type] = {
    **dict.fromkeys(("task", "process", "instance"), str),
    **dict.fromkeys(("core", "fifo", "ceiling", "urgency", "stream_priority", "group"), int),
    **dict.fromkeys(("sms", "due"), int),
}
_STEP_KEYS: dict[str, type] = {
    **dict.fromkeys(("title", "kind", "text", "undo", "why"), str),
    "number": int,
    "root": bool,
    "sources": list,
}


class _Reader:
    """The document of a recipe, key by key."""

    def __init__(self, values: Any) -> None:
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise ValueError(f"format: got another document, expected {FORMAT!r}")
        if type(values.get("version")) is not int or values["version"] != VERSION:
            raise ValueError(f"version: got {shown(values.get('version'))}, expected {VERSION}")
        self.values = values

    def recipe(self, where: Path) -> Recipe:
        texts = {key: _typed(self.values, key, str, "") for key in ("way", "label", "gpu", "lead")}
        tasks = tuple(
            {key: _typed(row, key, kind, f"tasks[{i}].") for key, kind in _TASK_KEYS.items()}
            for i, row in enumerate(_typed(self.values, "tasks", list, ""))
        )
        steps = []
        for i, row in enumerate(_typed(self.values, "steps", list, "")):
            given = {
                key: _typed(row, key, kind, f"steps[{i}].") for key, kind in _STEP_KEYS.items()
            }
            if given["kind"] not in KINDS:
                raise ValueError(
                    f"steps[{i}].kind: got {shown(given['kind'])}, expected {', '.join(KINDS)}"
                )
            if not all(isinstance(one, str) for one in given["sources"]):
                raise ValueError(f"steps[{i}].sources: got another type, expected texts")
            steps.append(Step(**{**given, "sources": tuple(given["sources"])}))
        files = {}
        for i, name in enumerate(_typed(self.values, "files", list, "")):
            if not isinstance(name, str) or not name or os.path.basename(name) != name:
                raise ValueError(f"files[{i}]: got {shown(name)}, expected the name of a file")
            files[name] = content(str(where / name), _MOST_BYTES)
        return Recipe(**texts, tasks=tasks, steps=tuple(steps), files=files)


def _typed(values: Any, key: str, kind: type, where: str) -> Any:
    """A value of a key, checked for its type."""
    if not isinstance(values, dict) or type(values.get(key)) is not kind:
        found = values.get(key) if isinstance(values, dict) else values
        raise ValueError(f"{where}{key}: got {shown(found)}, expected {kind.__name__}")
    return values[key]
