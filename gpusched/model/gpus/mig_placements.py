"""Placements of GPU instances (MIG): which profiles fit a GPU together, and where each begins.

An instance occupies consecutive memory slices from one of the start slices of its profile. The
instances of a GPU share no memory slice, have together at most as many compute slices as the GPU,
and are at most as many of each profile as it allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from gpusched._support.text import clip, shown
from gpusched.model.gpus.mig_profiles import MigProduct, MigProfile, mig_products

__all__ = ["MigInstance", "placed", "placements", "product_of"]


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
