"""Studies over many task sets: sweeps, stores of finished chunks, workers."""
