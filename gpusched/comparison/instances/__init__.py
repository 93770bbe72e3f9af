"""GPU instances (Multi-Instance GPU) for the tasks of a workload."""
