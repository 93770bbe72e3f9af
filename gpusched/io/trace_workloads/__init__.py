"""Workloads from traces: occurrences of tasks, their jobs, sequences and periods."""
