"""Benchmarks, campaigns and the claims of the papers; not installed."""
