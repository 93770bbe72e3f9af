"""Traces of the PyTorch profiler: Kineto's JSON, plain or compressed with gzip.

Microseconds, whole or fractional, are converted to nanoseconds exactly: numbers are read as
decimals, never as floats. The file is read piece by piece, and only needed events are decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gpusched._support.text import plural, shown
from gpusched.io.traces.kineto_document import (
    NotJson,
    Selection,
    Taken,
    decoded,
    read_document,
    whole,
)
from gpusched.io.traces.kineto_events import (
    BACKWARD,
    CALL_CATEGORIES,
    CALL_FIELDS,
    HIP_LAUNCHES,
    KERNEL_CATEGORIES,
    KERNEL_FIELDS,
    OPERATOR_FIELDS,
    OTHERS,
    BesideKernels,
    Kernels,
)
from gpusched.io.traces.trace import Trace
from gpusched.io.traces.trace_tables import NO_CALL, TraceEvents, column
from gpusched.model.gpus.gpu_presets import is_amd
from gpusched.model.workload.time_units import time_with_unit

if TYPE_CHECKING:
    from gpusched.model.gpu import GPU

_WHOLE, _KERNELS, _CALLS, _OPERATORS = range(4)  # groups of the selection


def _selection() -> Selection:
    wanted = (
        *((category, "", _KERNELS) for category in KERNEL_CATEGORIES),
        *((category, name, _WHOLE) for category, name in HIP_LAUNCHES),
        *((category, "", _CALLS) for category in CALL_CATEGORIES),
        *((category, name, _OPERATORS) for category, name in BACKWARD),
        *((category, name, _WHOLE) for category, name in OTHERS),
    )
    texts = tuple((category.encode(), name.encode(), group) for category, name, group in wanted)
    return Selection(texts, ((), KERNEL_FIELDS, CALL_FIELDS, OPERATOR_FIELDS))


_SELECTION = _selection()


class NoKernels(ValueError):
    """Refusal of a trace without kernels; ``hint`` is the rest of the message, on its origin."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class File:
    """Content of such a file; ``ValueError`` with the path for another format.

    Parameters
    ----------
    source
        The path, for messages.
    pieces
        The uncompressed bytes.
    packed, like
        For messages: the file was compressed; it begins as JSON does.
    hint
        Gives the end of the message about a file without kernels.
    """

    def __init__(
        self,
        source: str,
        pieces: Iterable[bytes],
        packed: bool,
        like: bool,
        hint: Callable[[], str] = str,
    ) -> None:
        self.source, self.hint = source, hint
        self.content = _Content(source)
        try:
            document, self.count = read_document(pieces, _SELECTION, self.content)
        except NotJson as error:
            inside = "expected JSON in the gzip" if packed else "expected JSON"
            if not like:
                inside += " of the PyTorch profiler, or a trace of Nsight Systems"
            raise ValueError(f"{source}: {inside}: {error}") from error
        self.content.end()
        parts = document if isinstance(document, dict) else {}
        events = parts.get("traceEvents")
        if isinstance(parts.get("times"), list) and events is None:
            raise ValueError(
                f"{source}: got a log of cuda_scheduling_examiner, expected a trace (read it with "
                "gs.io.read_examiner)"
            )
        if not isinstance(events, list):
            raise ValueError(
                f"{source}: got JSON without a list of traceEvents, expected a trace of the "
                "PyTorch profiler"
            )
        self.properties = parts.get("deviceProperties")

    def launches(self) -> Trace:
        """The launches of all devices, in the order of the file."""
        content = self.content
        if content.error is not None:
            raise ValueError(content.error[1])
        if not content.kernels:
            raise NoKernels(
                f"{self.source}: got no kernels among {self.count} events, expected at least one",
                self.hint(),
            )
        *columns, launched = content.kernels.table()
        beside = content.beside
        if beside.error is None:
            self.events, calls = beside.result(launched, content.kernels.priorities())
            call = calls.of(launched)
        else:
            self.events = TraceEvents(missing=beside.error[1])
            call = np.full(len(launched), NO_CALL)
        return replace(Trace(*[*columns, column(call)]), notes=self._notes())

    def beside_kernels(self) -> TraceEvents:
        """The events beside the kernels, once these are read; the reason where there are none."""
        return self.events

    def gpu(self, device: int) -> GPU | None:
        """The GPU that the file describes as this device; None without one that is supported."""
        return _described_gpu(self.source, self.properties, device)

    def _notes(self) -> tuple[str, ...]:
        kernels = self.content.kernels
        notes = []
        if lacking := kernels.without_grid:
            index, name, _ = min(lacking)
            time = time_with_unit(sum(duration for *_, duration in lacking), 1)
            notes.append(
                f"{plural(len(lacking), 'kernel')} without grid and block ({time} in all), of "
                f"which only the time is known, the first traceEvents[{index}], {shown(name)}"
            )
        seen = [shown(kernels.amd)] if kernels.amd else []
        if isinstance(self.properties, list):
            seen += [
                f"{shown(p.get('name'))} with warpSize {shown(p.get('warpSize'))}"
                for p in self.properties
                if isinstance(p, dict) and is_amd(p)
            ]
        if seen:
            notes.append(
                f"AMD GPUs are not supported: got {', '.join(seen[:4])}; the GPU is unknown, and "
                "registers, shared memory and contexts that the file lacks are 0; times, streams "
                "and workloads can be used, and answers with a preset of NVIDIA or a gs.GPU(...) "
                "of your own (gpu=, --gpu) are about that GPU"
            )
        return tuple(notes)


class _Content:
    """Events of the list that was opened last; ``error`` is the first damaged kernel's."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.opened()

    def opened(self) -> None:
        self.kernels, self.beside = Kernels(self.source), BesideKernels(self.source)
        self.error: tuple[int, str] | None = None

    def take(self, taken: Taken) -> None:
        """Take events, by their fields or whole."""
        _, kernels, calls, operators = taken.groups
        self.beside.add_operators(*operators, taken.texts)
        self.kernels.add_columns(*kernels, taken.texts)
        self.beside.add_calls(*calls, taken.texts)
        for index, event in zip(taken.whole[2].tolist(), decoded(taken), strict=True):
            self._add(index, event)

    def end(self) -> None:
        """All events were taken: kernels whose grid is in their launch call are added."""
        for index, event in self.kernels.shapeless:
            try:
                self.kernels.add_shapeless(index, event)
            except ValueError as error:
                self._fail(index, str(error))

    def _add(self, index: int, event: Any) -> None:
        if not isinstance(event, dict):
            where = f"{self.source}: traceEvents[{index}]"
            self._fail(index, f"{where}: got {shown(event)}, expected an object")
        elif event.get("cat") not in KERNEL_CATEGORIES:
            self.kernels.launches.add(event)
            self.beside.add(index, event)
        elif event.get("ph") == "X":
            try:
                self.kernels.add(index, event)
            except ValueError as error:
                self._fail(index, str(error))

    def _fail(self, index: int, message: str) -> None:
        if self.error is None or index < self.error[0]:
            self.error = index, message


def like_json(data: bytes) -> bool:
    """True when the bytes start as JSON does."""
    return data[:100].lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))


def _described_gpu(source: str, properties: Any, device: int) -> GPU | None:
    """The GPU that the file describes as ``device``; None without one that is supported."""
    from gpusched.model.gpu import GPU

    if not properties:
        return None
    if not isinstance(properties, list) or not all(isinstance(p, dict) for p in properties):
        raise ValueError(
            f"{source}: deviceProperties: got {shown(properties)}, expected a list of objects "
            "(or give gpu=, --gpu)"
        )
    ids = [whole(p.get("id", position)) for position, p in enumerate(properties)]
    if all(map(is_amd, properties)):
        return None  # kernels may have physical numbers, and descriptions those of the process
    if device not in ids:
        raise ValueError(
            f"{source}: deviceProperties: got devices {shown(ids)}, expected device {device} "
            "(or give gpu=, --gpu)"
        )
    described = cast(dict[str, Any], properties[ids.index(device)])
    if is_amd(described):
        return None
    try:
        return GPU.from_properties(described)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{source}: device {device}: {error} (or give gpu=, --gpu)") from error
