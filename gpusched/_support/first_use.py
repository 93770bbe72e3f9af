"""First uses of names whose modules are imported on demand."""

from __future__ import annotations

from importlib import import_module
from threading import RLock
from types import ModuleType

# Threads that first use different names would import one module from two ends, and get parts of
# it. No module of the package uses names of the package itself while it is imported, so that no
# thread waits for the lock inside of an import that the owner of the lock waits for.
_LOCK = RLock()


def module_on_demand(name: str) -> ModuleType:
    """The module of the package with a name, such as "pbs.graph"."""
    with _LOCK:
        return import_module(f"gpusched.{name}")
