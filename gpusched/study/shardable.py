"""Types of functions that compute a study, or with ``shard=`` a part of it in a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast, overload

if TYPE_CHECKING:
    from gpusched.study.stored_study import StoredStudy

__all__ = ["Shardable", "shardable"]

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Shardable(Protocol[P, R]):
    """Type of a study's function: with ``shard=`` it returns the store of the shard."""

    @overload
    def __call__(self, *args: Any, shard: tuple[int, int], **options: Any) -> StoredStudy: ...
    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> R: ...


def shardable(function: Callable[P, R | StoredStudy]) -> Shardable[P, R]:
    """Type a function so that it returns a ``StoredStudy`` with ``shard=`` only; unchanged."""
    return cast("Shardable[P, R]", function)
