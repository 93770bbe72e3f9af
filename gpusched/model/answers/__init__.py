"""Answers to schedulability questions: their base class and the indexing of stacks."""
