"""Slow, plain Python twins of what the C core computes, to compare it with on random inputs."""
