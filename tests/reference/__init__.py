"""Slow, plain Python twins of what the C core computes, for tests on random inputs."""
