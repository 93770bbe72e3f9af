"""Search for late jobs, and its answer."""
