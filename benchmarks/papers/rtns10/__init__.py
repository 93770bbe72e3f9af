"""Claims of [RTNS10], a module for each part of its text."""
