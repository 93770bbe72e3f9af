"""Needs, assumptions and costs of each way of sharing the GPU, from the table ways.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpusched._support.arguments import instance, one_of
from gpusched._support.text import clip, shown
from gpusched.model.gpu import GPU
from gpusched.model.gpus.gpu_presets import PRESET_NAMES, as_capability
from gpusched.model.gpus.mig_profiles import mig_products
from gpusched.ways.way import WAYS, Way, as_way

__all__ = ["LEVELS", "Deployable", "Fact", "deployable", "fact_table", "level_table"]
__all__ += ["source_text", "within_level"]

LEVELS = ("code", "root", "patch", "none")
"""Changes of the program only; root sets up the machine; a patched kernel, driver or kernels; not
on this GPU."""

_OPEN = "to be checked"
_KINDS = ("needs", "assumes", "costs")
_TABLE = Path(__file__).with_name("ways.toml")
_VERSION = re.compile(r"\d{1,3}\.\d{1,2}")


@dataclass(frozen=True)
class Fact:
    """A fact about a way of sharing the GPU, and its source.

    >>> print(gs.deployable("mps", "H100").needs[0])
    Linux or QNX, and a process per task or per group of tasks, all of one user [NVIDIA, \
Multi-Process Service]

    Attributes
    ----------
    text
        The fact in words.
    source
        Where it is stated; None for one that is to be checked.
    check
        Name of the check of ``gpusched doctor`` that shows whether it holds; "" without one.
    """

    text: str
    source: str | None
    check: str = ""

    def __str__(self) -> str:
        return f"{self.text} [{self.source or _OPEN}]"


@dataclass(frozen=True)
class Deployable:
    """Set-up of a way of sharing the GPU on a GPU; see ``gs.deployable``.

    >>> found = gs.deployable("mig", "H100")
    >>> found.way, found.gpu, found.level
    ('mig', 'H100', 'root')

    Attributes
    ----------
    way, gpu
        Names of the way and of the GPU; the latter is "" for one that is not known.
    level
        "code" (changes of the program only; real-time priorities need limits that root sets once),
        "root" (root sets up the machine), "patch" (a patched kernel or driver, or changed kernels),
        or "none" (not on this GPU).
    how
        What sets it up, or why it does not exist.
    needs, assumes, costs
        What must be there, what the guarantee takes for granted, and what to add to the times of
        the platform.
    cuda
        First version of CUDA whose driver has what the way needs; "" if the table has none.
    """

    way: str
    gpu: str
    level: str
    how: Fact
    needs: tuple[Fact, ...]
    assumes: tuple[Fact, ...]
    costs: tuple[Fact, ...]
    cuda: str

    @property
    def sources(self) -> tuple[str, ...]:
        """Sources of all facts, each once."""
        facts = (self.how, *self.needs, *self.assumes, *self.costs)
        return tuple(dict.fromkeys(fact.source for fact in facts if fact.source is not None))

    @property
    def text(self) -> str:
        """All facts, one in a line."""
        on = f" on {clip(self.gpu, 60)}" if self.gpu else ""
        lines = [f"{self.way}{on}: {self.level}; {self.how}"]
        for kind in _KINDS:
            lines += [f"{kind}: {fact}" for fact in getattr(self, kind)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text


def deployable(
    way: Way | str, gpu: GPU | str | None = None, *, driver: str | None = None
) -> Deployable:
    """Look up how a way of sharing the GPU is set up on a GPU, and what its guarantee assumes.

    >>> gs.deployable("mig", "H100").level, gs.deployable("mig", "AGX Orin").level
    ('root', 'none')
    >>> gs.deployable("green_contexts", "H100", driver="12.2").how.text
    'the driver has CUDA 12.2, and the way needs 12.5'
    >>> gs.deployable("mpcp", "AGX Orin").assumes[0].text
    'no other program uses the GPU, the display server included'

    Parameters
    ----------
    way
        A way of sharing the GPU (``gs.ways``), or its name.
    gpu
        A `GPU` or the name of a preset. None, or a GPU without a compute capability: one of today.
    driver
        Version of CUDA that the driver supports, such as "12.4", as ``nvidia-smi`` shows it.
        Default: one that is new enough.

    Returns
    -------
    Deployable
        The level, and the facts with their sources. A fact without a source is to be checked.

    Raises
    ------
    ValueError, TypeError
        The way, the GPU or the version is not known or not valid.
    """
    name = as_way(way).name
    device = GPU.preset(gpu) if isinstance(gpu, str) else gpu
    if device is not None:
        instance(device, GPU, "gpu")
    table = _table()
    level = next(
        row for row in table["level"] if row["way"] == name and _has(table, row.get("gpus"), device)
    )
    how = _fact(table, level)
    degree: str = level["level"]
    needed: str = level.get("cuda", "")
    if driver is not None and needed and _version(driver) < _version(needed):
        degree = "none"
        text = f"the driver has CUDA {driver}, and the way needs {needed}"
        how = Fact(text, how.source)
    facts = {
        kind: tuple(
            _fact(table, row)
            for row in table[kind]
            if (name in row["ways"] or "all" in row["ways"])
            and _has(table, row.get("gpus"), device)
        )
        for kind in _KINDS
    }
    if "open" in level and degree != "none":
        facts["needs"] += (Fact(level["open"], None),)
    if needed:
        facts["needs"] += (Fact(f"a driver for CUDA {needed} or later", how.source),)
    if device is None or device.cc is None:
        unknown = "whether the GPU has it: its compute capability is not known"
        facts["needs"] += (Fact(unknown, None),)
    label = "" if device is None else device.name
    return Deployable(name, label, degree, how, **facts, cuda=needed)


def within_level(level: str, most: str) -> bool:
    """Whether a level asks for no more than another one; ValueError for an unknown level."""
    one_of(most, LEVELS, "deploy")
    return LEVELS.index(level) <= LEVELS.index(most)


def level_table(names: Sequence[str] = PRESET_NAMES) -> list[tuple[str, ...]]:
    """Rows of the levels of all ways on some GPUs, under a head."""
    devices = [GPU.preset(name) for name in names]
    rows = [("way", *names)]
    for way in WAYS:
        found = [deployable(way, gpu) for gpu in devices]
        cells = [
            f"{one.level} (to be checked)"
            if any(f.source is None for f in one.needs)
            else one.level
            for one in found
        ]
        rows.append((way.name, *cells))
    return rows


def fact_table() -> list[tuple[str, ...]]:
    """Rows of all facts of the table, with their ways, GPUs and sources, under a head."""
    table = _table()
    rows: list[tuple[str, ...]] = [("kind", "ways", "GPUs", "fact", "source")]
    for row in table["level"]:
        rows.append((row["level"], f"`{row['way']}`", _class_text(table, row), *_cells(table, row)))
        if "open" in row:
            rows.append(("needs", f"`{row['way']}`", _class_text(table, row), row["open"], _OPEN))
    for kind in _KINDS:
        for row in table[kind]:
            ways = ", ".join(f"`{name}`" if name != "all" else name for name in row["ways"])
            rows.append((kind, ways, _class_text(table, row), *_cells(table, row)))
    return rows


def _cells(table: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[str, str]:
    since = f" (CUDA {row['cuda']})" if row.get("cuda", "11.0") != "11.0" else ""
    return f"{row['text']}{since}", _fact(table, row).source or _OPEN


def _class_text(table: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """A class of GPUs in words."""
    rule = table["class"][row["gpus"]] if "gpus" in row else {}
    if rule.get("instances"):
        return "with instances"
    if "is" in rule:
        return f"cc {', '.join(rule['is'])}"
    return f"cc {rule['from']} and later" if rule else "all others" if "level" in row else "all"


def source_text(key: str) -> str:
    """The title of a source of the table; KeyError for an unknown one."""
    found: str = _table()["source"][key]
    return found


@cache
def _table() -> Mapping[str, Any]:
    found: dict[str, Any] = tomllib.loads(_TABLE.read_text("utf-8"))
    return found


def _fact(table: Mapping[str, Any], row: Mapping[str, Any]) -> Fact:
    source = row.get("source")
    return Fact(
        row["text"], None if source is None else table["source"][source], row.get("check", "")
    )


def _has(table: Mapping[str, Any], name: str | None, gpu: GPU | None) -> bool:
    """Whether a class of GPUs has this one; without a compute capability, one of today."""
    if name is None:
        return True
    rule = table["class"][name]
    if rule.get("instances"):
        return gpu is not None and bool(mig_products(gpu.name, gpu.sms))
    cc = None if gpu is None else gpu.cc
    if "is" in rule:
        return cc is not None and cc in [as_capability(one) for one in rule["is"]]
    return cc is None or cc >= (as_capability(rule["from"]) or cc)


def _version(text: str) -> tuple[int, ...]:
    if not isinstance(text, str) or _VERSION.fullmatch(text) is None:
        raise ValueError(f"driver: got {shown(text)}, expected a version of CUDA, such as '12.4'")
    return tuple(map(int, text.split(".")))
