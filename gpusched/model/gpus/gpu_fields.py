"""Fields of a `GPU`: checked numbers, carve-outs, orders of SMs, fields of profilers' traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
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
from gpusched.model.gpus.capabilities import carveouts_of, is_amd, limits_of
from gpusched.model.gpus.gpu_presets import preset_of_name

__all__ = [
    "CARVEOUT_RULES",
    "carveout_fields",
    "count_of",
    "gpcs_of",
    "gpcs_text",
    "order_name",
    "order_of",
    "traced_fields",
]

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
