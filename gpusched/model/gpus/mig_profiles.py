"""Profiles of GPU instances (Multi-Instance GPU, MIG) by product; a new product is a table here.

Sources: NVIDIA's MIG User Guide, "Supported MIG Profiles" (names, fractions, copy engines, numbers
of instances), and public listings of ``nvidia-smi mig -lgip`` (SMs) and ``-lgipp`` (places).
Profiles with media engines ("+me") and without them ("-me") are left out; they have the SMs, copy
engines and places of the plain profiles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from gpusched._support.text import clip, shown

_GUIDE = "MIG User Guide; nvidia-smi mig -lgip, -lgipp"
_THIRD = "MIG User Guide (a third of the GPU); SMs: as seen by programs"
_BOUND = "MIG User Guide; SMs: a multiple of those of the smallest instance, no listing seen"


@dataclass(frozen=True)
class MigProfile:
    """A kind of GPU instance (MIG profile).

    Attributes
    ----------
    name
        Name of the profile, such as "3g.40gb".
    sms
        Number of SMs of an instance.
    copy_engines
        Number of copy engines of an instance; if the guide and a listing differ, the smaller
        number. That of the whole GPU as an instance can be larger than the number that its driver
        reports without instances (H100: 8 and 3).
    compute_slices, memory_slices
        Numbers of slices that an instance occupies.
    starts
        Possible first memory slices of an instance; it occupies ``memory_slices`` slices from
        there on.
    most
        Maximum number of instances of this profile on one GPU.
    source
        Source of the numbers.
    sms_known
        False if ``sms`` is only a lower bound.
    """

    name: str
    sms: int
    copy_engines: int
    compute_slices: int
    memory_slices: int
    starts: tuple[int, ...]
    most: int
    source: str = _GUIDE
    sms_known: bool = True


@dataclass(frozen=True)
class MigProduct:
    """A GPU that can be divided: its slices, its SMs without instances, and its profiles.

    ``profiles`` are in ascending order of compute slices, then of memory slices.
    """

    name: str
    sms: int
    compute_slices: int
    memory_slices: int
    profiles: tuple[MigProfile, ...]

    def profile(self, name: str) -> MigProfile | None:
        """The profile of this name; None if there is none."""
        return next((found for found in self.profiles if found.name == name), None)


# Compute slices, memory slices, starts and most instances of the six profiles of GPUs with seven
# compute and eight memory slices.
_PLACES = (
    (1, 1, (0, 1, 2, 3, 4, 5, 6), 7),
    (1, 2, (0, 2, 4, 6), 4),
    (2, 2, (0, 2, 4), 3),
    (3, 4, (0, 4), 2),
    (4, 4, (0,), 1),
    (7, 8, (0,), 1),
)


def _of_seven(
    name: str,
    whole: int,
    names: str,
    sms: tuple[int, ...],
    copy_engines: tuple[int, ...],
    bounds: tuple[str, ...] = (),
) -> MigProduct:
    """A product with the six profiles; ``bounds`` names those whose SMs are lower bounds."""
    rows = zip(names.split(), sms, copy_engines, _PLACES, strict=True)
    profiles = tuple(
        MigProfile(label, of, engines, *places, *((_BOUND, False) if label in bounds else ()))
        for label, of, engines, places in rows
    )
    return MigProduct(name, whole, 7, 8, profiles)


_ENGINES = (1, 1, 2, 3, 4, 7)
_A100 = (14, 14, 28, 42, 56, 98)
_HOPPER = (16, 26, 32, 60, 64, 132)
_HOPPER_ENGINES = (1, 1, 2, 3, 4, 8)

_PRODUCTS = {
    product.name: product
    for product in (
        _of_seven(
            "A100 80GB", 108, "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb", _A100, _ENGINES
        ),
        _of_seven(
            "A100 40GB", 108, "1g.5gb 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb", _A100, _ENGINES
        ),
        _of_seven(
            "H100", 132, "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb", _HOPPER, _HOPPER_ENGINES
        ),
        _of_seven(
            "H100 PCIe", 114, "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb",
            (14, 14, 30, 46, 62, 114), _HOPPER_ENGINES,
        ),
        _of_seven(
            "H200", 132, "1g.18gb 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb", _HOPPER,
            _HOPPER_ENGINES,
        ),
        # A listing shows 18, 30 and 36 SMs of the first three, and 4 copy engines of 2g.45gb.
        _of_seven(
            "B200", 148, "1g.23gb 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb",
            (18, 30, 36, 54, 72, 148), (2, 2, 3, 6, 8, 16), ("3g.90gb", "4g.90gb"),
        ),
        # A listing of the GPU with 144 GB shows the SMs and engines of its first three profiles,
        # which are those of the GPU with 96 GB.
        _of_seven(
            "GH200 96GB", 132, "1g.12gb 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb", _HOPPER,
            _HOPPER_ENGINES,
        ),
        _of_seven(
            "GH200 144GB", 132, "1g.18gb 1g.36gb 2g.36gb 3g.72gb 4g.72gb 7g.144gb",
            (16, 26, 32, 48, 64, 112), _HOPPER_ENGINES, ("3g.72gb", "4g.72gb", "7g.144gb"),
        ),
        _of_seven(
            "H100 NVL", 132, "1g.12gb 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb", _HOPPER,
            _HOPPER_ENGINES,
        ),
        # A listing shows the SMs and copy engines of the first three.
        _of_seven(
            "GB200", 152, "1g.24gb 1g.47gb 2g.47gb 3g.95gb 4g.95gb 7g.189gb",
            (18, 32, 38, 54, 72, 126), (2, 2, 4, 4, 4, 4), ("3g.95gb", "4g.95gb", "7g.189gb"),
        ),
        MigProduct("RTX PRO 6000", 188, 4, 4, (
            MigProfile("1g.24gb", 46, 1, 1, 1, (0, 1, 2, 3), 4),
            MigProfile("2g.48gb", 94, 2, 2, 2, (0, 2), 2),
            MigProfile("4g.96gb", 188, 4, 4, 4, (0,), 1),
        )),
        # JetPack 7 (driver R595). Of two instances one is for graphics too ("+gfx"). 1g has 8 SMs,
        # of which a report says that programs get 6.
        MigProduct("Thor", 20, 3, 3, (
            MigProfile("1g.0gb", 6, 1, 1, 1, (0,), 1, _THIRD, sms_known=False),
            MigProfile("2g.0gb", 12, 1, 2, 2, (1,), 1),
            MigProfile("3g.0gb", 20, 1, 3, 3, (0,), 1),
        )),
        MigProduct("A30", 56, 4, 4, (
            MigProfile("1g.6gb", 14, 1, 1, 1, (0, 1, 2, 3), 4),
            MigProfile("2g.12gb", 28, 2, 2, 2, (0, 2), 2),
            MigProfile("4g.24gb", 56, 4, 4, 4, (0,), 1),
        )),
    )
}  # fmt: skip

# Names of GPUs, in lower case without spaces and punctuation, and their products. GB200s with
# other drivers, and with 186 GB, have 1g.23gb and so on. Of B300, GB300 and H20 (1g.12gb, 1g.24gb,
# 3g.48gb) the names of profiles are known, and their SMs are not.
_NAMES = (
    (r"a100(sxm4?|pcie)?", ("A100 80GB", "A100 40GB")),
    (r"a100(sxm4?|pcie)?80gb(pcie)?", ("A100 80GB",)),
    (r"a100(sxm4?|pcie)?40gb(pcie)?", ("A100 40GB",)),
    (r"h100(sxm5?)?(80gb)?(hbm3)?", ("H100",)),
    (r"h100(80gb)?pcie", ("H100 PCIe",)),
    (r"h200(sxm5?)?(141gb)?(hbm3e)?", ("H200",)),
    (r"b200(sxm\d?)?(180gb)?(hbm3e)?", ("B200",)),
    (r"a30(24gb)?(pcie)?", ("A30",)),
    (r"gh200(480gb|120gb|96gb)?(hbm3)?", ("GH200 96GB", "GH200 144GB")),
    (r"gh200144g(b)?(hbm3e)?", ("GH200 144GB",)),
    (r"h100nvl(94gb)?", ("H100 NVL",)),
    (r"gb200", ("GB200",)),
    (r"rtxpro6000(blackwell)?((server|workstation|maxqworkstation)edition)?", ("RTX PRO 6000",)),
    (r"thor|jetsonthor|jetsonagxthor|agxthor", ("Thor",)),
)


def mig_products(name: str, sms: int) -> tuple[MigProduct, ...]:
    """Products that a GPU may be, according to its name and number of SMs; empty without MIG.

    An A100 whose name does not state its memory may be the 80 GB or the 40 GB version.

    >>> [product.name for product in mig_products("NVIDIA A100-SXM4-40GB", 108)]
    ['A100 40GB']
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("nvidia")
    for pattern, labels in _NAMES:
        if re.fullmatch(pattern, plain):
            found = (_PRODUCTS[label] for label in labels)
            return tuple(product for product in found if product.sms == sms)
    return ()


@dataclass(frozen=True)
class MigInstance:
    """A GPU instance: its profile, and its first memory slice."""

    profile: MigProfile
    start: int

    @property
    def slices(self) -> range:
        """Memory slices that the instance occupies."""
        return range(self.start, self.start + self.profile.memory_slices)

    def __str__(self) -> str:
        return f"{self.profile.name}@{self.start}"

    def __repr__(self) -> str:
        return f"<MigInstance: {self}, {self.profile.sms} SMs>"


def product_of(name: str, sms: int, profiles: Sequence[str] = ()) -> MigProduct:
    """The product with this name: the first one that has all the given profiles.

    Raises ValueError for a GPU without profiles, and for a profile that the GPU does not have.
    """
    products = mig_products(name, sms)
    if not products:
        what = f"{clip(name, 60)} of {sms} SMs" if name else f"{sms} SMs without a name"
        raise ValueError(
            f"gpu: got {what}, expected one that has instances; the GPU has no MIG profiles"
        )
    for product in products:
        if all(product.profile(label) is not None for label in profiles):
            return product
    known = [{profile.name for profile in product.profiles} for product in products]
    wrong = next((label for label in profiles if not any(label in of for of in known)), None)
    if wrong is None:  # of several products
        listed = ", ".join(profiles)
        labels = " or ".join(product.name for product in products)
        raise ValueError(f"profile: got {shown(listed)}, expected profiles of one GPU, {labels}")
    names = "; ".join(", ".join(of.name for of in product.profiles) for product in products)
    raise ValueError(f"profile: got {shown(wrong)}, expected one of {names}")


@cache
def placements(product: MigProduct) -> tuple[tuple[MigInstance, ...], ...]:
    """All maximal placements of instances, each ascending by start.

    They are ordered by their first instances, larger profiles first.
    """
    found = []
    for chosen in _grown(product, (), 0):
        if not any(_fits(product, chosen, more) for more in _instances(product)):
            found.append(chosen)
    return tuple(sorted(found, key=lambda row: [(one.start, -one.profile.sms) for one in row]))


def placed(product: MigProduct, names: Sequence[str]) -> tuple[MigInstance, ...]:
    """Instances of these profiles of the product, in their order, each with a start.

    All starts are tried, so that profiles are refused only if no placement exists. Raises
    ValueError for the first profile that does not fit with those before it, with the reason.
    """
    profiles: list[MigProfile] = []
    done: tuple[MigInstance, ...] = ()
    for i, name in enumerate(names):
        profile = product.profile(name)
        assert profile is not None
        profiles.append(profile)
        found = next(_placed(product, profiles, ()), None)
        if found is None:
            raise ValueError(
                f"profiles[{i}]: got {name!r}, expected instances that fit {product.name} "
                f"together; {_reason(product, done, profile)}"
            )
        done = found
    return done


def _placed(
    product: MigProduct, profiles: Sequence[MigProfile], before: tuple[MigInstance, ...]
) -> Iterator[tuple[MigInstance, ...]]:
    if not profiles:
        yield before
        return
    for start in profiles[0].starts:
        if _fits(product, before, one := MigInstance(profiles[0], start)):
            yield from _placed(product, profiles[1:], (*before, one))


def _reason(product: MigProduct, done: tuple[MigInstance, ...], profile: MigProfile) -> str:
    """The reason for which a profile does not fit a GPU with instances of those before it."""
    counts = Counter(one.profile.name for one in done)
    if counts[profile.name] >= profile.most:
        instances = "instance" if profile.most == 1 else "instances"
        return f"{product.name} has at most {profile.most} {instances} of {profile.name}"
    used = sum(one.profile.compute_slices for one in done)
    if used + profile.compute_slices > product.compute_slices:
        return (
            f"{profile.name} takes {profile.compute_slices} compute slices, and "
            f"{product.compute_slices - used} of {product.compute_slices} are left"
        )
    return f"no start slice is left for {profile.name}"


def _instances(product: MigProduct) -> Iterator[MigInstance]:
    for profile in reversed(product.profiles):
        for start in profile.starts:
            yield MigInstance(profile, start)


def _grown(
    product: MigProduct, before: tuple[MigInstance, ...], start: int
) -> Iterator[tuple[MigInstance, ...]]:
    """All placements whose instances from the first free slice on begin at ``start`` or later."""
    yield before
    for more in _instances(product):
        if more.start >= start and _fits(product, before, more):
            yield from _grown(product, (*before, more), more.slices.stop)


def _fits(product: MigProduct, before: Sequence[MigInstance], more: MigInstance) -> bool:
    """Whether an instance can be added."""
    if more.slices.stop > product.memory_slices:
        return False
    if any(set(one.slices) & set(more.slices) for one in before):
        return False
    same = sum(one.profile == more.profile for one in before)
    used = sum(one.profile.compute_slices for one in before)
    return same < more.profile.most and used + more.profile.compute_slices <= product.compute_slices
