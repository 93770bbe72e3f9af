"""Data on GPUs: limits by compute capability, and presets by name."""
