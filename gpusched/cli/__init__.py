"""Command line: one module per command, and the parser in ``main``."""
