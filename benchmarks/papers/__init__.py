"""The five papers claim by claim: their statements, what the package computes, and the verdict.

Each paper has a folder of modules with its claims; ``paper_list`` puts them in the order of its
text. ``python -m benchmarks.papers`` checks them.
"""
