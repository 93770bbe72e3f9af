"""Claims of [ECRTS17], in the order of its text."""
