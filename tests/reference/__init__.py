"""Slow, plain Python twins of what the C core computes; the tests compare the two on random inputs."""
