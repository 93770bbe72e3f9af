"""Probes of a CUDA device: block order, queues, interference between kernels and copies."""
