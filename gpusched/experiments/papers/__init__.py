"""The five papers claim by claim: their statements, what the package computes, and the verdict.

Each paper has modules of claims, in the order of its text.
"""
