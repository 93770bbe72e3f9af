"""Traces of real programs: the classes, and readers of the formats."""
