"""Claims of [RTAS20], in the order of its text."""
