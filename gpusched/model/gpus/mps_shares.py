"""Shares of the SMs that clients of MPS may use, and limits of MPS by compute capability.

NVIDIA Multi-Process Service guide: active thread percentages and execution affinity, the number of
clients of a server, and what came with Volta.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpusched._support.arguments import integer
from gpusched._support.text import shown

CLIENT_CHANNELS = 2
"""Hardware channels of a client unless CUDA_DEVICE_MAX_CONNECTIONS is set."""

_VOLTA = (7, 0)
_MOST_SMS = 65536
_TEXT = re.compile(r"\s*(\d{1,6})\s*SMs?\s*", re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class SMs:
    """A number of SMs as the share of an MPS client (execution affinity), instead of a percentage.

    >>> gs.Platform("H100", mps={"camera": gs.SMs(16), "planner": 25}).mps
    (('camera', SMs(16)), ('planner', 25))

    Raises ValueError or TypeError for a count that is not a whole number from 1 to 65,536.
    """

    count: int

    def __post_init__(self) -> None:
        count = integer(self.count, "SMs")
        if not 1 <= count <= _MOST_SMS:
            raise ValueError(f"SMs: got {count}, expected 1 to {_MOST_SMS}")
        object.__setattr__(self, "count", count)

    def __repr__(self) -> str:
        return f"SMs({self.count})"


Share = int | SMs
"""A percentage of the SMs, or a number of them."""


def share_of(given: Any, name: str) -> Share:
    """A share: a percentage, `SMs`, or text such as "16 SMs"."""
    if isinstance(given, SMs):
        return given
    if isinstance(given, str):
        found = _TEXT.fullmatch(given)
        if found is None:
            raise ValueError(f"{name}: got {shown(given)}, expected a percentage, or '16 SMs'")
        if not 1 <= int(found[1]) <= _MOST_SMS:
            raise ValueError(f"{name}: got {shown(given)}, expected 1 to {_MOST_SMS} SMs")
        return SMs(int(found[1]))
    share = integer(given, name)
    if not 1 <= share <= 100:
        raise ValueError(f"{name}: got {share}, expected 1 to 100")
    return share


def share_text(share: Share) -> str:
    """A share in words."""
    return f"{share.count} SMs" if isinstance(share, SMs) else f"{share} %"


def share_values(shares: Iterable[tuple[str, Share]]) -> dict[str, int | str]:
    """Shares as numbers and text, from which they can be made again."""
    return {
        process: share if isinstance(share, int) else share_text(share) for process, share in shares
    }


def share_unit(cc: tuple[int, int] | None) -> int:
    """SMs to which shares are rounded: 2 on Thor, where that was seen, and otherwise 1."""
    return 2 if cc == (11, 0) else 1


def client_sms(share: Share, sms: int, unit: int = 1) -> int:
    """SMs that a client may use: a percentage is rounded down to units, a number of SMs up.

    At least one SM, and at most all; 100 % is no limit, and so all of them.
    """
    if isinstance(share, SMs):
        return min(-(-share.count // unit) * unit, sms)
    if share == 100:
        return sms
    most = max(sms * share // 100, 1)
    return most // unit * unit or most


def has_shares(cc: tuple[int, int] | None) -> bool:
    """Whether clients can be limited to a share of the SMs: from Volta on."""
    return cc is None or cc >= _VOLTA


def most_clients(cc: tuple[int, int] | None) -> tuple[int, int]:
    """Clients of a server with every driver that has MPS, and with that of CUDA 13.1 or later."""
    return (48, 60) if has_shares(cc) else (16, 16)
