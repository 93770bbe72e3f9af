"""Fields of a `GPU`: carve-outs, orders of SMs, fields of traces, copy engines, bandwidth.

One engine serves copies of both directions. Of several, one serves copies from the host and one
copies to it: the further engines of today's GPUs do not make copies of one direction overlap (three
copies to an H100, which has three engines, run one after the other).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import asdict
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from gpusched._support.arguments import (
    Int64Array,
    at_least,
    frozen,
    int_array,
    integer,
    is_sequence,
    one_of,
)
from gpusched._support.registry import enumeration, limit
from gpusched._support.text import shown
from gpusched.model.gpus.gpu_presets import carveouts_of, is_amd, limits_of, preset_of_name

CARVEOUT_RULES = enumeration("model.carveout_rule")
"""Rules for blocks of kernels with different carve-outs; see ``GPU``."""

_MOST_CARVEOUTS = limit("model.carveouts")
_INT32_MAX = 2**31 - 1
_ORDERS = ("evens_then_odds", "ascending", "descending")


def count_of(value: Any, name: str, least: int, most: int = _INT32_MAX) -> int:
    """One whole number within limits."""
    array = int_array(value, name)
    if array.ndim:
        raise TypeError(f"{name}: got shape {array.shape}, expected one number")
    at_least(array, least, name)
    if array > most:
        raise ValueError(f"{name}: got {array}, expected at most {most}")
    return int(array)


def carveout_fields(cc: tuple[int, int] | None, rule: Any, given: Any) -> dict[str, Any]:
    """The fields ``carveout_rule`` and ``carveouts``."""
    sizes = carveouts_of(cc)
    if given is not None:
        sizes = tuple(count_of(size, f"carveouts[{i}]", 0) for i, size in enumerate(given))
        if len(sizes) > _MOST_CARVEOUTS or list(sizes) != sorted(set(sizes)):
            raise ValueError(
                f"carveouts: got {shown(sizes)}, expected at most {_MOST_CARVEOUTS} sizes in "
                "ascending order"
            )
    if rule is None:
        rule = "match" if sizes else "ignore"
    one_of(rule, CARVEOUT_RULES, "carveout_rule")
    if rule != "ignore" and not sizes:
        raise ValueError(f"carveouts: got none, expected some with carveout_rule={rule!r}")
    return {"carveout_rule": rule, "carveouts": sizes}


def gpcs_of(given: Any, sms: int) -> int | tuple[int, ...] | None:
    """The field ``sms_per_gpc``: a number, the SMs of each GPC, or None."""
    if given is None:
        return None
    if not is_sequence(given):
        return _gpc_of(given, "sms_per_gpc")
    sizes = tuple(_gpc_of(size, f"sms_per_gpc[{i}]") for i, size in enumerate(given))
    if sum(sizes) != sms:
        raise ValueError(
            f"sms_per_gpc: got {shown(sizes)}, {sum(sizes)} SMs in all, expected the {sms} of sms"
        )
    return sizes


def _gpc_of(given: Any, name: str) -> int:
    size = integer(given, name)
    if not 1 <= size <= _INT32_MAX:
        raise ValueError(f"{name}: got {size}, expected 1 to {_INT32_MAX}")
    return size


def gpcs_text(sizes: int | tuple[int, ...] | None) -> str:
    """The SMs of GPCs in words."""
    if sizes is None:
        return "unknown"
    return ", ".join(f"{size:,}" for size in (sizes if isinstance(sizes, tuple) else (sizes,)))


def _named_order(name: str, sms: int) -> Int64Array:
    ids = np.arange(sms, dtype=np.int64)
    if name == "evens_then_odds":
        return np.concatenate([ids[::2], ids[1::2]])
    return ids if name == "ascending" else ids[::-1].copy()


def order_name(order: Int64Array) -> str:
    """Name of the order, "" when it has none."""
    names = (name for name in _ORDERS if np.array_equal(order, _named_order(name, len(order))))
    return next(names, "")


def order_of(order: Any, sms: int) -> Int64Array:
    """The SM ids in the order given by a name or a list; None: the default order."""
    if order is None:
        order = "evens_then_odds"
    if isinstance(order, str):
        if order not in _ORDERS:
            names = ", ".join(_ORDERS)
            raise ValueError(
                f"sm_order: got {shown(order)}, expected one of {names}, or the SM ids"
            )
        ids = _named_order(order, sms)
    else:
        ids = int_array(order, "sm_order")
        if ids.shape != (sms,):
            raise ValueError(f"sm_order: got shape {ids.shape}, expected ({sms},)")
        first = np.unique(ids, return_index=True)[1]
        wrong = (ids < 0) | (ids >= sms)
        wrong[np.delete(np.arange(sms), first)] = True
        if wrong.any():
            at = int(np.argmax(wrong))
            inside = 0 <= ids[at] < sms
            what = "each SM once" if inside else f"an SM from 0 to {sms - 1}"
            raise ValueError(f"sm_order[{at}]: got {ids[at]}, expected {what}")
    return frozen(ids)


def traced_fields(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `GPU` by an entry of ``deviceProperties`` in a trace.

    Missing ones are those of the preset of that name, unless it contradicts the entry, else those
    of the compute capability.
    """
    named = {
        "sms": "numSms",
        "threads_per_sm": "maxThreadsPerMultiprocessor",
        "regs_per_sm": "regsPerMultiprocessor",
        "regs_per_block": "regsPerBlock",
        "smem_per_sm": "sharedMemPerMultiprocessor",
        "smem_per_block": "sharedMemPerBlockOptin",
    }
    if not isinstance(properties, Mapping):
        raise TypeError(f"properties: got {type(properties).__name__}, expected a mapping")
    if is_amd(properties):
        raise ValueError(
            f"deviceProperties: got {shown(properties.get('name'))} with warpSize "
            f"{shown(properties.get('warpSize'))}, expected a GPU of NVIDIA (AMD GPUs are not "
            "supported)"
        )
    name = str(properties.get("name", ""))
    values = {
        ours: count_of(properties[theirs], theirs, 0)
        for ours, theirs in named.items()
        if theirs in properties
    }
    parts = [
        count_of(properties[key], key, 0) if key in properties else None
        for key in ("computeMajor", "computeMinor")
    ]
    preset = preset_of_name(name, values.get("sms"), *parts)
    cc = preset.get("cc", tuple(parts))
    sms = values.get("sms", preset.get("sms"))
    if sms is None or None in cc:
        keys = ("numSms", "computeMajor", "computeMinor")
        missing = ", ".join(key for key in keys if key not in properties)
        raise ValueError(
            f"deviceProperties: got no {missing}, expected all of them, or the name of a preset "
            "that has these values"
        )
    if {"regs_per_block", "regs_per_sm"} <= values.keys():
        values["regs_per_block"] = min(values["regs_per_block"], values["regs_per_sm"])
    # An SM of any of these capabilities has the default number of registers.
    usual = preset or asdict(limits_of(cc))
    return {**usual, **values, "sms": sms, "cc": cc, "name": name}


DIRECTIONS = ("in", "out", "both")
"""Copies from the host to the device, to the host, and of both directions."""

CopyEngines = int | tuple[str, ...] | None
"""A number of engines, the direction of each, or None if unknown."""

_MOST = 64


def copy_engines_of(given: Any, *, complete: bool = True) -> CopyEngines:
    """The argument ``copy_engines``: a number of engines, the direction of each, or None.

    ``complete``: directions must include both.
    """
    if given is None:
        return None
    if isinstance(given, str):
        raise TypeError(
            f"copy_engines: got {shown(given)}, expected a number, or a sequence of "
            f"{', '.join(DIRECTIONS)}"
        )
    if isinstance(given, (Set, Mapping)):
        raise TypeError(f"copy_engines: got {shown(given)}, expected a number or a sequence")
    if not is_sequence(given):
        count = integer(given, "copy_engines")
        if not 0 <= count < 2**31:
            raise ValueError(f"copy_engines: got {count}, expected 0 to {2**31 - 1}")
        return count
    found = tuple(given)
    if not 1 <= len(found) <= _MOST:
        raise ValueError(f"copy_engines: got {len(found)} engines, expected 1 to {_MOST}")
    for i, direction in enumerate(found):
        one_of(direction, DIRECTIONS, f"copy_engines[{i}]")
    found = tuple(map(str, found))
    missing = [one for one in ("in", "out") if one not in found and "both" not in found]
    if missing and complete:
        raise ValueError(
            f"copy_engines: got {shown(found)}, expected an engine for copies {missing[0]}"
        )
    return found


def engine_directions(engines: CopyEngines) -> tuple[str, ...]:
    """The direction of each engine; of an unknown number, those of one engine."""
    if isinstance(engines, tuple):
        return engines
    count = 1 if engines is None else engines
    return () if count == 0 else ("both",) if count == 1 else ("in", "out")


def possible_directions(engines: CopyEngines) -> tuple[str, ...]:
    """Directions of engines with which as many copies overlap as the GPU may allow.

    An unknown number of engines may be any, and engines beyond two may serve both directions: only
    reports on single GPUs tell that they do not.
    """
    count = _MOST if engines is None else engines
    if isinstance(count, int) and count > 2:
        return ("in", "out", *("both" for _ in range(min(count, _MOST) - 2)))
    return engine_directions(count)


def share_an_engine(engines: CopyEngines) -> bool:
    """Whether copies in and copies out may wait for each other; so too if it is unknown.

    They do not if each direction has an engine of its own. Then a copy waits for no more than those
    of its direction that joined before it, also if they can use further engines: its own engine
    serves them in this order, and is busy all the time.
    """
    directions = engine_directions(engines)
    return not ("in" in directions and "out" in directions)


def fewer_engines(stated: CopyEngines, of_instance: CopyEngines) -> CopyEngines:
    """Engines of a GPU instance where a platform states those of its GPU: the fewer of both."""
    if stated is None or of_instance is None:
        return of_instance if stated is None else stated
    count, most = (e if isinstance(e, int) else len(e) for e in (stated, of_instance))
    return stated if count <= most else of_instance


def engines_text(engines: CopyEngines) -> str:
    """The engines in words."""
    if engines is None:
        return "unknown"
    return f"{engines:,}" if isinstance(engines, int) else f"{len(engines)}: {', '.join(engines)}"


MOST_BANDWIDTH = 2**50  # bytes per second
_MOST_BYTES = 2**60

# GB/s (10**9 bytes per second) of NVIDIA's data sheets and product pages; of products with the same
# name and SMs the least: A100 with 40 GB (80 GB: 1,935 and 2,039), GH200 with HBM3 (HBM3e: 4,900).
# Jetson modules at their largest memory clock. It is a peak that kernels do not reach: what a copy
# kernel measures is the better number. Not stated for GPUs without such a page.
_DATA_SHEETS: dict[str, str] = {
    "TX1": "25.6",
    "TX2": "59.7",
    "Xavier": "136.5",
    "AGX Orin": "204.8",
    "Orin NX": "102.4",
    "Orin Nano": "68",
    "Thor": "273",
    "GTX 970": "224",
    "Titan V": "652.8",
    "RTX 2080": "448",
    "RTX 2080 Ti": "616",
    "RTX 3060": "360",
    "RTX 3070": "448",
    "RTX 3080": "760",
    "RTX 3090": "936",
    "RTX A6000": "768",
    "RTX 4070": "504",
    "RTX 4080": "716.8",
    "RTX 4090": "1008",
    "RTX 6000 Ada Generation": "960",
    "RTX 5090": "1792",
    "RTX PRO 6000": "1792",
    "T4": "320",
    "A10": "600",
    "A10G": "600",
    "A40": "696",
    "L4": "300",
    "L40": "864",
    "L40S": "864",
    "V100": "900",
    "A100": "1555",
    "A30": "933",
    "H100": "3350",
    "H100 PCIe": "2000",
    "H100 NVL": "3900",
    "H200": "4800",
    "H20": "4000",
    "GH200": "4000",
    "B200": "8000",
    "GB200": "8000",
    "K5000": "173",
}

_AMOUNT = re.compile(r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([KMGT]?)(i?)B(/s)?\s*", re.ASCII)
_POWERS = " KMGT"


def as_bytes(given: int | str, name: str) -> int:
    """Bytes as a number, or as text such as "120MB" (10**6 bytes) or "4MiB" (2**20), rounded up."""
    return _amount(given, name, 0, _MOST_BYTES, "", "bytes, such as '120MB'")


def as_bandwidth(given: int | str, name: str, least: int = 1) -> int:
    """Bytes per second as a number, or as text such as "400GB/s", rounded up."""
    what = "bytes per second, such as '400GB/s'"
    return _amount(given, name, least, MOST_BANDWIDTH, "/s", what)


def bandwidth_of_gpu(name: str) -> int | None:
    """Bytes per second of a preset's memory, by its data sheet; None if unknown."""
    found = _DATA_SHEETS.get(name)
    return None if found is None else int(Fraction(found) * 10**9)


def rate_text(rate: int) -> str:
    """A rate in a sentence, in GB/s, to four digits."""
    return f"{rate / 10**9:.4g}GB/s"


def _amount(given: int | str, name: str, least: int, most: int, per: str, what: str) -> int:
    amount: int
    if isinstance(given, str):
        found = _AMOUNT.fullmatch(given)
        if found is None or (found[4] or "") != per or (found[3] and not found[2]):
            raise ValueError(f"{name}: got {shown(given)}, expected {what}")
        power = _POWERS.index(found[2] or " ")
        unit = Fraction(1024 if found[3] else 1000) ** power
        amount = ceil(Fraction(found[1]) * unit)
    else:
        amount = integer(given, name)
    if not least <= amount <= most:
        raise ValueError(f"{name}: got {shown(given)}, expected {least} to {most} {what}")
    return amount
