"""Rules of GPUs that NVIDIA does not document or calls hints, and answers that rest on them.

Each rule has the text of the reading that is used, its source, what would settle it, the ways to
which it applies, and a function that tells whether a program rests on it. Where there are models of
other readings, an answer counts only if it is the same under all of them (see `judgement`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from gpusched.comparison.derived_models import DerivedModels
from gpusched.model.gpu import GPU, occupancy
from gpusched.model.gpus.gpu_fields import possible_directions
from gpusched.model.gpus.gpu_presets import allocation_units, preset_of_name
from gpusched.model.gpus.mps_shares import SMs
from gpusched.model.views.derived_view import uses_engine
from gpusched.model.workload.platforms import process_of_each
from gpusched.model.workload.segments import DLA, CopyIn, CopyOut

__all__ = ["Rule", "known_rules", "readings_of", "rules_of"]


@dataclass(frozen=True)
class Rule:
    """A rule of GPUs on which a verdict rests, and which is not documented.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task("a", "20ms", [kernel]), gs.Task("b", "40ms", [kernel])], "us")
    >>> [rule] = gs.compare(w, gs.Platform("A100"), ways=["priority_streams"])[0].rules
    >>> rule.name, rule.kind
    ('stream_priorities', 'hint')

    Attributes
    ----------
    name
        Name of the rule.
    kind
        "inferred" (from measurements or similar GPUs; NVIDIA states nothing), or "hint" (NVIDIA
        calls it a hint, and does not promise it).
    text
        The rule as it is used.
    settled_by
        What would settle it on a GPU.
    source
        Where it comes from.
    """

    name: str
    kind: str
    text: str
    settled_by: str
    source: str

    def __str__(self) -> str:
        return f"{self.text} ({self.kind}; settled by {self.settled_by})"


Reading = tuple[str, DerivedModels]
"""Another reading of a rule in words, and the models under it."""


Change = tuple[tuple[tuple[Rule, str], ...], DerivedModels]
"""Other readings of some rules in words, and the models under all of them."""


def _none(models: DerivedModels) -> Iterable[Reading]:
    return ()


@dataclass(frozen=True)
class _Entry:
    """A rule, the ways that use it, whether a program rests on it, and its other readings."""

    rule: Rule
    ways: tuple[str, ...]
    applies: Callable[[DerivedModels], bool]
    others: Callable[[DerivedModels], Iterable[Reading]] = _none
    only_runs: bool = False  # the tests refuse such programs


# Whether a program rests on a rule ----------------------------------------------------------------


def _mixed_carveouts(models: DerivedModels) -> bool:
    gpu = models.platform.gpu
    if gpu is None or gpu.carveout_rule == "ignore" or models.kernel_users() < 2:
        return False
    kernels = {
        (kernel.threads, kernel.regs, kernel.smem)
        for task in models.workload
        for kernel in task.kernels
        if kernel.threads is not None and kernel.has_shape
    }
    found = set()
    for threads, regs, smem in kernels:
        if not smem:
            found.add(gpu.carveouts[0])
            continue
        reserved, unit, _ = allocation_units(gpu.cc)
        of_block = -(-(smem + reserved) // unit) * unit
        most = occupancy(gpu, threads, regs, smem)
        fits = (size for size in gpu.carveouts if size // of_block >= most)
        found.add(next(fits, gpu.carveouts[-1]))
    return len(found) > 1


def _mixed_carveouts_in_slices(models: DerivedModels) -> bool:
    return models.shares_processes() and _mixed_carveouts(models)


def _other_carveout_rules(models: DerivedModels) -> Iterator[Reading]:
    platform = models.platform
    assert platform.gpu is not None
    said = {
        "at_least": "an SM takes blocks of kernels that need at most its carve-out",
        "ignore": "an SM takes blocks of all kernels, whatever their carve-outs",
        "match": "an SM takes blocks of kernels with its own carve-out only",
    }
    for rule, text in said.items():
        if rule != platform.gpu.carveout_rule:
            gpu = platform.gpu.replace(carveout_rule=rule)
            yield text, models._with(models.workload, platform.replace(gpu=gpu))


def _unknown_engines(models: DerivedModels) -> bool:
    return models.platform.copy_engines is None and _users_of_copies(models) > 1


def _more_engines(models: DerivedModels) -> Iterator[Reading]:
    platform = models.platform.replace(copy_engines=2)
    yield "the GPU has a copy engine for each direction", models._with(models.workload, platform)
    platform = models.platform.replace(copy_engines=("in", "out", "both"))
    text = "the GPU has three copy engines, with which copies of one direction overlap"
    yield text, models._with(models.workload, platform)


def _further_engines(models: DerivedModels) -> bool:
    engines, gpu = models.platform.copy_engines, models.platform.gpu
    if not isinstance(engines, int) or engines < 3:
        return False
    if gpu is not None and _is_one_of(gpu, _SERIAL):
        return False
    return any(_users_of_copies(models, kind) > 1 for kind in (CopyIn, CopyOut))


def _engines_of_both(models: DerivedModels) -> Iterator[Reading]:
    directions = possible_directions(models.platform.copy_engines)
    platform = models.platform.replace(copy_engines=directions)
    text = "copies of one direction overlap on the further engines"
    yield text, models._with(models.workload, platform)


def _users_of_copies(models: DerivedModels, kind: type = object) -> int:
    """Tasks with copies of a kind on engines, or those of one task in both directions as two."""
    users = 0
    for task in models.workload:
        kinds = {type(part) for part in task.segments if uses_engine(part)} - {DLA}
        users += len(kinds) if kind is object else kind in kinds
    return users


def _rounded_shares(models: DerivedModels) -> bool:
    platform = models.platform
    if platform.gpu is None or _is_one_of(platform.gpu, _MEASURED_SHARES):
        return False
    return any(
        isinstance(share, SMs) or share < 100 for _, share in platform.mps or ()
    ) and _limits(models, 1) != _limits(models, 2)


def _limits(models: DerivedModels, unit: int) -> dict[str, int]:
    try:
        return _rounded_to(models, unit).share_limits()
    except ValueError:  # which the way refuses
        return {}


def _rounded_to(models: DerivedModels, unit: int) -> DerivedModels:
    made = models._with(models.workload)
    made._share_unit = unit
    return made


def _units_of_two(models: DerivedModels) -> Iterator[Reading]:
    yield "shares of clients of MPS are rounded to units of 2 SMs", _rounded_to(models, 2)


def _several_clients(models: DerivedModels) -> bool:
    of_each = process_of_each(models.workload)
    return len({of_each[task.name] for task in models.workload if task.kernels}) > 1


def _several_green_contexts(models: DerivedModels) -> bool:
    homes = [
        i
        for i, (tasks, _) in enumerate(models.platform.green_contexts or ())
        if any(task.name in tasks and task.kernels for task in models.workload)
    ]
    return len(homes) > 1


def _several_static_partitions(models: DerivedModels) -> bool:
    try:
        return len(models.in_parts("mps_static").sms) > 1
    except ValueError:  # which the way refuses
        return False


def _priorities_differ(models: DerivedModels) -> bool:
    given = [task.stream_priority for task in models.workload if task.kernels]
    if len(given) < 2:
        return False
    if set(given) == {None}:  # then they follow the deadlines
        return len({task.deadline for task in models.workload if task.kernels}) > 1
    return len(set(given)) > 1


def _given_priorities_differ(models: DerivedModels) -> bool:
    given = {task.stream_priority for task in models.workload if task.kernels}
    return None not in given and len(given) > 1


def _unknown_channels(models: DerivedModels) -> bool:
    gpu, stated = models.platform.gpu, models.platform.channels
    if gpu is None or stated is not None or gpu.channels is not None:
        return False
    return len(models.gpu_users()) > _usual_channels(gpu)


def _unknown_channels_of_processes(models: DerivedModels) -> bool:
    of_each, gpu = process_of_each(models.workload), models.platform.gpu
    of_process = Counter(of_each[task.name] for task in models.gpu_users())
    if gpu is None or not _unknown_channels(models) or not models.shares_processes():
        return False
    return max(of_process.values()) > _usual_channels(gpu)


def _few_channels(models: DerivedModels) -> Iterator[Reading]:
    channels = _usual_channels(models.gpu())
    platform = models.platform.replace(channels=channels)
    yield f"the GPU has {channels} channels", models._with(models.workload, platform)


def _usual_channels(gpu: GPU) -> int:
    """Channels of GPUs like this one: 2 is the least seen on Tegra, and 8 elsewhere."""
    return 2 if gpu.cc in ((5, 3), (6, 2), (7, 2), (8, 7), (11, 0)) else 8


def _beyond_channels(models: DerivedModels) -> bool:
    return models.platform.gpu is not None and models.streams_beyond_channels() > 0


def _beyond_client_channels(models: DerivedModels) -> bool:
    if models.platform.gpu is None:
        return False
    return models.streams_beyond_channels("client") > 0


def _beyond_green_channels(models: DerivedModels) -> bool:
    try:
        green = models.in_parts("green_contexts")
    except ValueError:  # which the way refuses
        return False
    try:
        balanced = models.platform.workqueue == "balanced"
        green.refuse_shared_channels(models.channels(), balanced=balanced)
    except ValueError:
        return True
    return False


def _released_at_end(models: DerivedModels) -> Iterator[Reading]:
    made = models._with(models.workload)
    made.channel_release = "ended"
    yield "a kernel that shares a channel waits until those before it have ended", made


def _beyond_grids(models: DerivedModels) -> bool:
    return models.platform.gpu is not None and models.kernels_beyond_grids() > 0


def _is_one_of(gpu: GPU, presets: tuple[str, ...]) -> bool:
    """Whether a GPU, by its name, is one of these presets."""
    major, minor = gpu.cc or (None, None)
    return preset_of_name(gpu.name, gpu.sms, major, minor).get("name") in presets


_SERIAL = ("H100", "H200")
"""GPUs on which copies of one direction were seen to run one after the other."""
_MEASURED_SHARES = ("AGX Orin", "Thor")
"""GPUs on which the rounding of shares was seen."""

_SIDE_BY_SIDE = (
    *("streams", "priority_streams", "mps", "mps_static", "green_contexts", "edf_parallel", "pbs"),
)
_ON_ENGINES = (*_SIDE_BY_SIDE, "time_slices", "gcaps", "stgm")
_CHECK = "gpusched gpu-check, probe '{}'".format

_CHANNEL_RELEASE = Rule(
    "channel_release",
    "inferred",
    "a kernel that shares a channel waits until those before it are fully dispatched",
    _CHECK("channels"),
    "[RTAS24]; whether it waits for their end is not known",
)
_CARVEOUTS = Rule(
    "carveouts",
    "inferred",
    "which kernels share an SM depends on their carve-outs for shared memory, by the rule "
    "of the GPU (carveout_rule)",
    _CHECK("carve-outs"),
    "[RTAS20], section III-C2",
)
_CHANNELS = Rule(
    "channels",
    "inferred",
    "each stream has a hardware channel of its own, as far as is known",
    f"{_CHECK('channels')}; state them with channels=, --channels",
    "the channels of this GPU are not published; [RTAS24] measured 2 to 8 on others",
)
_ENTRIES = (
    _Entry(
        Rule(
            "stream_priorities",
            "hint",
            "blocks of more urgent streams start first",
            _CHECK("queues"),
            "CUDA programming guide: priorities of streams are hints, without guarantee of an "
            "order; [RTSS17] measured it",
        ),
        ("priority_streams",),
        _priorities_differ,
    ),
    _Entry(
        Rule(
            "green_context_priorities",
            "hint",
            "within a green context, blocks of more urgent streams start first",
            _CHECK("queues"),
            "CUDA programming guide: priorities of streams are hints",
        ),
        ("green_contexts",),
        _given_priorities_differ,
    ),
    _Entry(
        Rule(
            "green_context_concurrency",
            "hint",
            "kernels in different green contexts run at the same time",
            _CHECK("green contexts"),
            "CUDA programming guide, green contexts: concurrency is not guaranteed, even with SMs "
            "and work queues of their own",
        ),
        ("green_contexts",),
        _several_green_contexts,
    ),
    _Entry(
        Rule(
            "mps_queues",
            "inferred",
            "kernels of all clients of MPS join the same queues of blocks",
            f"{_CHECK('client queues')}, as a client of an MPS server",
            "NVIDIA Multi-Process Service guide (one server, no time slices); that the queues are "
            "those of one context is inferred",
        ),
        ("mps",),
        _several_clients,
    ),
    _Entry(
        Rule(
            "mps_static_queues",
            "inferred",
            "kernels in different static partitions of MPS start blocks beside each other, from "
            "queues of their own",
            "clients in two partitions, one with more blocks than its SMs hold, with the times of "
            "their blocks",
            "NVIDIA Multi-Process Service guide, static SM partitioning: SMs are reserved; that "
            "the queues are those of the partitions is inferred",
        ),
        ("mps_static",),
        _several_static_partitions,
    ),
    _Entry(
        Rule(
            "mps_rounding",
            "inferred",
            "shares of clients of MPS are rounded to single SMs",
            f"{_CHECK('MPS shares')}, as a client of an MPS server",
            "NVIDIA Multi-Process Service guide: percentages are rounded down to what the hardware "
            "supports; on AGX Orin 32 % are 5 of 16 SMs",
        ),
        ("mps",),
        _rounded_shares,
        _units_of_two,
    ),
    _Entry(
        _CARVEOUTS,
        _SIDE_BY_SIDE,
        _mixed_carveouts,
        _other_carveout_rules,
    ),
    _Entry(_CARVEOUTS, ("time_slices",), _mixed_carveouts_in_slices, _other_carveout_rules),
    _Entry(
        Rule(
            "copy_engines",
            "inferred",
            "copies in and copies out share a copy engine, as far as is known",
            "asyncEngineCount of the device (gs.cuda.gpu(), deviceQuery); state it with "
            "copy_engines=, --copy-engines",
            "no listing of this GPU is known",
        ),
        _ON_ENGINES,
        _unknown_engines,
        _more_engines,
    ),
    _Entry(
        Rule(
            "copy_directions",
            "inferred",
            "of three or more copy engines, one serves copies in and one copies out",
            _CHECK("copy directions"),
            "three copies to an H100, which has three engines, run one after the other",
        ),
        _ON_ENGINES,
        _further_engines,
        _engines_of_both,
    ),
    _Entry(
        _CHANNELS,
        ("streams", "priority_streams", "green_contexts"),
        _unknown_channels,
        _few_channels,
    ),
    _Entry(_CHANNELS, ("time_slices",), _unknown_channels_of_processes, _few_channels),
    _Entry(
        _CHANNEL_RELEASE,
        ("streams", "priority_streams"),
        _beyond_channels,
        _released_at_end,
    ),
    _Entry(
        _CHANNEL_RELEASE,
        ("mps", "mps_static"),
        _beyond_client_channels,
        _released_at_end,
    ),
    _Entry(
        _CHANNEL_RELEASE,
        ("green_contexts",),
        _beyond_green_channels,
        _released_at_end,
    ),
    _Entry(
        Rule(
            "resident_grids",
            "inferred",
            "a kernel beyond the number of kernels that run at once waits for one of them to end",
            _CHECK("resident grids"),
            "CUDA C++ Programming Guide (the number); what happens beyond it is inferred",
        ),
        ("streams", "priority_streams", "mps", "mps_static", "green_contexts"),
        _beyond_grids,
        only_runs=True,
    ),
)
"""All rules that are inferred or hints, in the order in which they are listed."""


def known_rules(way: str, *, run: bool = True) -> tuple[Rule, ...]:
    """All rules that are inferred or hints on which answers of a way can rest; ``run``: or runs.

    The way "mig" has none of its own: those of the way within its instances apply.
    """
    return tuple(
        entry.rule for entry in _ENTRIES if way in entry.ways and (run or not entry.only_runs)
    )


def _used(models: DerivedModels, way: str, *, run: bool) -> Iterator[_Entry]:
    """The rules on which a way's answer for a program rests; ``run``: on which its run does."""
    for entry in _ENTRIES:
        if way in entry.ways and (run or not entry.only_runs) and entry.applies(models):
            yield entry


def rules_of(models: DerivedModels, way: str, *, run: bool) -> tuple[Rule, ...]:
    """Rules that are inferred or hints on which the answer of a way rests; ``run``: its run.

    Those of the way "mig" are those of the answers for its instances.
    """
    return tuple(entry.rule for entry in _used(models, way, run=run))


def readings_of(models: DerivedModels, way: str, *, run: bool) -> Iterator[Change]:
    """All combinations of other readings of the rules that a way uses, with the models of each.

    Those with the fewest changes come first.
    """
    entries = [
        entry
        for entry in _ENTRIES
        if way in entry.ways and entry.others is not _none and (run or not entry.only_runs)
    ]
    found = list(_changes(entries, models.base, ()))[1:]  # without that of no change
    for changes, other in sorted(found, key=lambda change: len(change[0])):
        yield changes, models.placed_as(other)


def _changes(
    entries: Sequence[_Entry], models: DerivedModels, before: tuple[tuple[Rule, str], ...]
) -> Iterator[Change]:
    if not entries:
        yield before, models
        return
    first, *rest = entries
    yield from _changes(rest, models, before)
    if first.applies(models):
        for text, other in models.once(("readings", first), partial(_readings, first, models)):
            yield from _changes(rest, other, (*before, (first.rule, text)))


def _readings(entry: _Entry, models: DerivedModels) -> tuple[Reading, ...]:
    return tuple(entry.others(models))
