"""Limits of files that are read."""

MAX_BYTES = 4 << 30
"""Default of ``max_bytes``, the largest size of a file and of what it unpacks to: 4 GiB."""
