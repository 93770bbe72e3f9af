"""Slow, plain Python twins of the C core, for comparison on random inputs."""
