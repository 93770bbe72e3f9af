"""Waits of a job of a simulated workload, in words."""
