"""Choice of what a program leaves open, so that a test guarantees it (``gs.choose``)."""
