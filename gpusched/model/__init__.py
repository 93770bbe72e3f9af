"""Workloads and platforms: GPUs, kernel tasks, host tasks, launches, batch tables, schedules."""
