"""Meaning of answers: premises and conditions, rules of GPUs, necessary conditions, judgement."""
