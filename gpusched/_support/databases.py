"""Access to SQLite databases of unknown origin: limits, no trusted schema, Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

__all__ = ["MAGIC", "guard", "pass_interrupt_on"]

MAGIC = b"SQLite format 3\0"

_STEPS = 10_000  # of SQLite's machine between two looks at signals


def guard(connection: sqlite3.Connection, longest: int) -> None:
    """Make a connection safe for a file that anyone may have written.

    Values above ``longest`` bytes are errors, functions in the schema have no effects, and Ctrl-C
    ends a query, which then fails as interrupted.
    """
    import sqlite3

    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    connection.set_progress_handler(_look, _STEPS)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def _look() -> int:
    """Run Python code, so that handlers of signals are called; an exception ends the query."""
    return 0


def pass_interrupt_on(error: sqlite3.Error) -> None:
    """Raise KeyboardInterrupt where this ended a query: SQLite tells of an interrupt alone."""
    import sqlite3

    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
        raise KeyboardInterrupt from None
