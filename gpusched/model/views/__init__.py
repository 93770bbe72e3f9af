"""Models of the methods, derived from a workload and a platform, with their assumptions."""
