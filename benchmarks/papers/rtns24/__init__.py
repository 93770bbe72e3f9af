"""Claims of [RTNS24], in the order of its text."""
