"""Identity of a function and of values: digests of all that decides what a function computes."""
