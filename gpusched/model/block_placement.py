"""Placement of blocks on SMs: the rules of [RTAS20], most room first, and round robin.

Sources: [RTAS20], section III-C, and the most-room rule of Gilman et al. (2020), which has the
definitions of that paper as special cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, frozen, int_array, one_of
from gpusched._support.registry import enumeration
from gpusched._support.results import Frozen, Saved
from gpusched._support.tabular import Tabular, frame_of, optional
from gpusched.model.gpu import GPU, as_gpu, kernel_columns

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

PLACEMENTS: dict[str, int] = {name: i for i, name in enumerate(enumeration("model.placement"))}
"""The rules of placement, with the core's numbers of them."""


@dataclass(frozen=True, eq=False, repr=False)
class Placement(Tabular, Saved, Frozen):
    """Assignment of the blocks of some kernels to SMs; made by `place`.

    All arrays are read-only int64. B is the number of blocks and K the number of kernels.

    >>> gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=16)
    >>> placed = gs.place(gpu, blocks=[2, 1], threads=[512, 256])
    >>> placed.kernel.tolist(), placed.sm.tolist()
    ([0, 0, 1], [0, 1, 0])

    Attributes
    ----------
    gpu, placement
        The GPU, and the name of the rule.
    kernel, block, sm
        Shape ``(B,)``, in dispatch order: index of the kernel (in the arguments of `place`), number
        of the block in its grid, and SM of the block, -1 if there was no room for it.
    before, after
        Shape ``(sms, 5)``: load of each SM before the first block is placed and after the last one:
        warps, blocks, registers, shared memory in bytes (including what the system reserves), and
        carve-out in bytes (-1: none). ``after`` can be passed to `place` as ``load``.
    warps
        Shape ``(K,)``: warps per block.
    """

    _KIND: ClassVar[str] = "Placement"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (GPU,)

    gpu: GPU
    placement: str
    kernel: Int64Array
    block: Int64Array
    sm: Int64Array
    before: Int64Array
    after: Int64Array
    warps: Int64Array

    @property
    def all_placed(self) -> bool:
        """Whether every block was placed on an SM."""
        return bool((self.sm >= 0).all())

    @property
    def placed(self) -> Int64Array:
        """Number of blocks of each kernel that were placed on an SM, shape ``(K,)``."""
        counts = np.bincount(self.kernel[self.sm >= 0], minlength=len(self.warps))
        return counts.astype(np.int64)

    def sms(self, kernel: int) -> Int64Array:
        """SMs of the blocks of one kernel, in block order; -1 for blocks without room."""
        if not 0 <= kernel < len(self.warps):
            most = len(self.warps) - 1
            raise IndexError(f"kernel: got {kernel}, expected an index from 0 to {most}")
        start, stop = np.searchsorted(self.kernel, [kernel, kernel + 1])
        return self.sm[start:stop]

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Placement:
        made = cls(**values)
        if not isinstance(made.gpu, GPU):
            raise TypeError(f"gpu: got {type(made.gpu).__name__}, expected GPU")
        one_of(made.placement, PLACEMENTS, "placement")
        size, sms = np.shape(made.kernel), made.gpu.sms
        shapes = {"kernel": size, "block": size, "sm": size, "before": (sms, 5), "after": (sms, 5)}
        for key, shape in (shapes | {"warps": np.shape(made.warps)[:1]}).items():
            array = getattr(made, key)
            if not isinstance(array, np.ndarray) or array.dtype != np.int64 or array.shape != shape:
                raise ValueError(f"{key}: got other values, expected int64 of shape {shape}")
        bounds = {"sm": (-1, sms), "kernel": (0, len(made.warps))}
        for key, (least, most) in bounds.items():
            array = getattr(made, key)
            if array.ndim != 1 or ((array < least) | (array >= most)).any():
                raise ValueError(f"{key}: got entries out of range, expected {least} to {most - 1}")
        return made

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per block: kernel, block, sm (missing if unplaced)."""
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "block": self.block, "sm": optional(self.sm)}

    def __repr__(self) -> str:
        placed = int((self.sm >= 0).sum())
        return (
            f"<Placement: {placed} of {len(self.sm)} blocks of {len(self.warps)} kernels "
            f"on {self.gpu.sms} SMs, {self.placement}>"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the SMs as columns, in which the blocks are stacked by their number of warps.

        At most 192 SMs and 4,000 boxes are drawn; neighbouring blocks of a kernel may be one box.
        ``ax`` is a Matplotlib axes (default: a new one), which is returned. A notebook shows a
        placement as the same picture, without Matplotlib.
        """
        from gpusched._draw.axes import axes

        ax = axes(ax)
        sms = min(self.gpu.sms, _MOST_COLUMNS)
        boxes = _Boxes(self, sms)
        ax.bar(np.arange(sms), self.before[:sms, 0], color=_RESIDENT)
        colors = [_COLORS[k % len(_COLORS)] for k in boxes.kernel[:_MOST_BOXES].tolist()]
        ax.bar(
            boxes.sm[:_MOST_BOXES],
            boxes.height[:_MOST_BOXES],
            bottom=boxes.bottom[:_MOST_BOXES],
            color=colors,
            edgecolor="white",
            linewidth=0.5,
        )
        label = "SM" if sms == self.gpu.sms else f"SM ({sms} to {self.gpu.sms - 1} not shown)"
        ax.set(xlabel=label, ylabel="warps", ylim=(0, self.gpu.warps_per_sm))
        return ax

    def _repr_svg_(self) -> str:
        return _svg(self)


def place(
    gpu: GPU | str,
    blocks: npt.ArrayLike,
    threads: npt.ArrayLike,
    regs: npt.ArrayLike = 0,
    smem: npt.ArrayLike = 0,
    placement: str = "most_room",
    load: npt.ArrayLike | None = None,
) -> Placement:
    """Assign the blocks of kernels to SMs one after the other, assuming that no block ends.

    The kernels are dispatched in the given order, each of them block by block. The first block
    that fits on no SM, and all blocks after it, are not placed (SM -1), because only the kernel at
    the head of the queue is dispatched (rules X1, R1 to R3 of Amert et al. 2017).

    Parameters
    ----------
    gpu
        A `GPU`, or the name of a preset. Its ``sm_order`` decides between SMs that are equal.
    blocks, threads, regs, smem
        Blocks of the grid, threads per block, registers per thread, and bytes of shared memory per
        block. One entry per kernel, shape ``(K,)``, or a number that applies to all kernels. At
        most 100,000,000 blocks in total.
    placement
        ``"most_room"``: the SM that can host the most further blocks of the kernel, limited by
        warps, block slots, registers and shared memory (Gilman et al. 2020); Definitions III.1 to
        III.3 of [RTAS20] are special cases.

        ``"olmedo"``: the rules of [RTAS20] as written, for a block of y warps. First, the SMs that
        hold a block of the previously dispatched kernel are examined in SM order: the first one for
        which Definition III.2 holds is chosen, where x is the number of warps of the block placed
        there last (of any kernel) and z that of the warps present before it. Otherwise, if all
        other SMs hold the same number z' of warps and the remaining one holds fewer, and holds a
        block of the previously dispatched kernel: that SM if Definition III.3 holds, where x is the
        number of all its warps. Otherwise the SM with the fewest warps, excluding the SM that III.3
        refused as long as another one has room.

        ``"round_robin"``: the next SM that has room, in cyclic order over all kernels.
    load
        Initial load of the SMs, shape ``(sms, 5)``: warps, blocks, registers, bytes of shared
        memory, and carve-out (-1: unknown, the SM accepts any block), such as ``after`` of another
        placement; the last column may be omitted. The rules use only these numbers, not the kernels
        that cause the load. Default: all SMs are empty.

    Returns
    -------
    Placement

    Raises
    ------
    ValueError, OverflowError, TypeError
        Kernels, rule or load are invalid; the message names the entry.

    >>> gs.place("pbs2024", blocks=[4, 4], threads=[128, 160], placement="most_room").sm.tolist()
    [0, 2, 4, 6, 1, 3, 5, 7]
    """
    one_of(placement, PLACEMENTS, "placement")
    gpu = as_gpu(gpu)
    columns = kernel_columns(blocks=blocks, threads=threads, regs=regs, smem=smem)
    if columns[0].ndim > 1:
        raise ValueError(f"blocks: got kernels of shape {columns[0].shape}, expected one row")
    grid, width, each_regs, each_smem = (column.ravel() for column in columns)
    before = np.zeros((gpu.sms, 4), dtype=np.int64) if load is None else int_array(load, "load")
    if before.shape not in ((gpu.sms, 4), (gpu.sms, 5)):
        raise ValueError(f"load: got shape {before.shape}, expected ({gpu.sms}, 5)")
    if before.shape[1] == 4:
        before = np.column_stack([before, np.full(gpu.sms, -1)])
    sm, after = _core.place(
        gpu._limits,
        gpu.sm_order,
        grid,
        width,
        each_regs,
        each_smem,
        policy=PLACEMENTS[placement],
        load=before,
    )
    kernel = np.repeat(np.arange(len(grid)), grid)
    first = np.cumsum(grid) - grid
    return Placement(
        gpu=gpu,
        placement=placement,
        kernel=frozen(kernel),
        block=frozen(np.arange(len(sm)) - first[kernel]),
        sm=frozen(sm.astype(np.int64)),
        before=frozen(before),
        after=frozen(after),
        warps=frozen(-(-width // 32)),
    )


# The picture

_COLORS = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#ccbb44",
    "#66ccee",
    "#aa3377",
    "#ee8866",
    "#44bb99",
    "#bbcc33",
    "#77aadd",
)
_RESIDENT = "#bbbbbb"
_MOST_COLUMNS = 192
_MOST_BOXES = 4000
_HEIGHT = 220


class _Boxes:
    """The placed blocks as boxes in the columns of the first SMs: sm, kernel, bottom and height
    in warps, blocks. Where there are too many, neighbours of one kernel are one box."""

    def __init__(self, placement: Placement, columns: int) -> None:
        shown = np.flatnonzero((placement.sm >= 0) & (placement.sm < columns))
        shown = shown[np.argsort(placement.sm[shown], kind="stable")]
        self.sm, self.kernel = placement.sm[shown], placement.kernel[shown]
        self.height = placement.warps[self.kernel]
        top = np.cumsum(self.height)
        new_column = np.flatnonzero(np.diff(self.sm, prepend=-1))
        under = (top - self.height)[new_column] - placement.before[self.sm[new_column], 0]
        runs = np.diff(np.append(new_column, len(shown)))
        self.bottom = top - self.height - np.repeat(under, runs)
        self.blocks: Int64Array = np.ones(len(shown), dtype=np.int64)
        if len(shown) > _MOST_BOXES // 2:
            starts = np.flatnonzero(
                (np.diff(self.sm, prepend=-1) != 0) | (np.diff(self.kernel, prepend=-1) != 0)
            )
            self.blocks = np.diff(np.append(starts, len(shown)))
            self.height = np.add.reduceat(self.height, starts)
            self.sm, self.kernel = self.sm[starts], self.kernel[starts]
            self.bottom = self.bottom[starts]


def _svg(placement: Placement) -> str:
    from gpusched._draw.svg import PAPER, RULE, document

    sms, most = placement.gpu.sms, placement.gpu.warps_per_sm
    columns = min(sms, _MOST_COLUMNS)
    pitch = max(5, min(48, 900 // columns))
    scale = _HEIGHT / most
    left, top = 44, 44
    width, base = left + columns * pitch + 12, top + _HEIGHT
    boxes = _Boxes(placement, columns)
    drawn = min(len(boxes.sm), _MOST_BOXES)
    paths: dict[str, list[str]] = {}
    labels: list[str] = []
    for i in range(drawn):
        x = left + int(boxes.sm[i]) * pitch
        high = float(boxes.height[i]) * scale
        y = base - float(boxes.bottom[i]) * scale - high
        k = int(boxes.kernel[i])
        shape = f"M{x + 1} {y:.1f}h{pitch - 2}v{high:.1f}h{2 - pitch}z"
        paths.setdefault(_COLORS[k % len(_COLORS)], []).append(shape)
        text = f"{k}" if boxes.blocks[i] == 1 else f"{k}×{boxes.blocks[i]}"
        if high >= 11 and 7 * len(text) <= pitch - 2 and len(labels) < 500:
            labels.append(_text(x + pitch / 2, y + high / 2 + 3.5, text))
    for s in np.flatnonzero(placement.before[:columns, 0]).tolist():
        high = int(placement.before[s, 0]) * scale
        shape = f"M{left + s * pitch + 1} {base - high:.1f}h{pitch - 2}v{high:.1f}h{2 - pitch}z"
        paths.setdefault(_RESIDENT, []).append(shape)
    every = -(-30 // pitch)
    axis = [_text(left + (s + 0.5) * pitch, base + 14, f"{s}") for s in range(0, columns, every)]
    axis.append(_text(left + columns * pitch / 2, base + 32, "SM"))
    for warps in sorted({0, most // 2, most}):
        y = base - warps * scale
        axis.append(f'<path stroke="{RULE}" d="M{left} {y:.1f}H{left + columns * pitch}"/>')
        axis.append(_text(left - 5, y + 3.5, f"{warps}", "end"))
    missing = int((placement.sm < 0).sum())
    notes = [f"{len(placement.sm) - missing} of {len(placement.sm)} blocks placed, by warps"]
    notes += [f"SMs {columns} to {sms - 1} not shown"] if columns < sms else []
    notes += [f"{len(boxes.sm) - drawn} boxes not shown"] if drawn < len(boxes.sm) else []
    legend = [_text(left, 14, "; ".join(notes), "start"), _text(left, 32, "kernel", "start")]
    kernels = len(placement.warps)
    for k, color in enumerate(_COLORS[:kernels]):
        legend.append(
            f'<rect x="{left + 46 + 30 * k}" y="23" width="10" height="10" fill="{color}"/>'
        )
        legend.append(_text(left + 60 + 30 * k, 32, f"{k}", "start"))
    if kernels > len(_COLORS):
        legend.append(_text(left + 350, 32, "and so on, colours repeat", "start"))
    width = max(width, left + 7 * len("; ".join(notes)), left + 380 + 150 * (kernels > 10))
    body = "".join(f'<path fill="{color}" d="{"".join(d)}"/>' for color, d in paths.items())
    parts = [
        *axis,
        *legend,
        f'<g stroke="{PAPER}" stroke-width="0.5">{body}</g><g fill="#fff">{"".join(labels)}</g>',
    ]
    return document(parts, width, base + 40, "Blocks on SMs")


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
