"""Bandwidth of the memory of GPUs, and amounts of data and rates as text."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil

from gpusched._support.arguments import integer
from gpusched._support.text import shown

__all__ = ["as_bandwidth", "as_bytes", "bandwidth_of_gpu", "rate_text"]

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
