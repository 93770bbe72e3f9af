"""Names of what belongs to libraries, whose versions then count, and of what does not."""

from __future__ import annotations

import sys
import types
from typing import Any

from gpusched.study.identity.module_origins import origin

__all__ = ["Libraries"]


class Libraries:
    """Libraries that objects refer to.

    Parameters
    ----------
    module
        Name of the module whose units are named without it.

    Attributes
    ----------
    versions
        The libraries that were asked for, by name.
    """

    def __init__(self, module: str) -> None:
        self.versions: dict[str, str] = {}
        self._module = module

    def holds(self, module: str) -> bool:
        """Whether a module belongs to a library, whose version then counts."""
        found = origin(module)
        if found is not None:
            self.versions[found.name] = found.version
        return found is not None

    def name_of(self, value: Any) -> bytes | None:
        """Module and name by which a library's object can be imported, None where there is none."""
        module = getattr(value, "__module__", None)
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if not isinstance(module, str) or not isinstance(name, str):
            return None
        found: Any = sys.modules.get(module)
        for step in name.split("."):
            found = getattr(found, step, None)
        if type(found) is types.MethodType and type(value) is types.FunctionType:
            found = found.__func__  # of a class method
        if found is not value or not self.holds(module):
            return None
        return f"{module}:{name}".encode()

    def unit_name(self, module: Any, name: str) -> str:
        """Name of a unit for reports, with its module unless that is the root's."""
        name = name.replace(".<locals>", "")
        return name if module in (self._module, None) else f"{module}.{name}"
