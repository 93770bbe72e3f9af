"""Ways of sharing the GPU in files of version 0.1, which had their parameters one by one."""

from __future__ import annotations

from typing import Any, ClassVar

from gpusched._support.results import Saved
from gpusched.ways.way import as_way

__all__ = ["OldSharing", "way_of_old"]

_NAMES = {
    "overhead": "server_overhead",
    "slice": "timeslice",
    "switch": "context_switch",
    "update": "update_cost",
}
_PARTS = (
    "test",
    "protocol",
    "policy",
    "variant",
    "mode",
    "server",
    "sharing",
    *_NAMES,
    "server_period",
)
_LOCKS = ("fmlp", "omlp")  # names of the way srm then


class OldSharing(Saved):
    """Reader of the objects that held the parameters of a way; it makes a dict of them."""

    _KIND: ClassVar[str] = "Sharing"

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Any:
        return values


def way_of_old(values: dict[str, Any], name: str) -> dict[str, Any]:
    """The fields of an answer or a run, with a way in place of its parts.

    ``name``: the field that had the way's name. Fields of this version are returned as they are.
    """
    if "way" in values:
        return values
    kept = {key: value for key, value in values.items() if key not in _PARTS}
    given = {**values, **values.get("sharing", {})}
    called = given[name]
    parameters = {_NAMES.get(key, key): value for key, value in given.items()}
    if called in _LOCKS:
        called, parameters["lock"] = "srm", called
    if called in ("time_slices", "gcaps") and "sharing" not in values:  # of a run
        cost = "context_switch" if called == "time_slices" else "update_cost"
        parameters[cost] = parameters.pop("server_overhead", None)
    way = as_way(called)
    taken = {option.name for option in way.parameters}
    parameters = {key: value for key, value in parameters.items() if key in taken}
    if parameters.get("variant") == "sound":
        del parameters["variant"]
    return {**kept, "way": way.replace(**parameters)}
