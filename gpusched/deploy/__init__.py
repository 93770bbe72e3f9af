"""Needs of ways of sharing the GPU, recipes for programs, checks of a machine."""
