"""Comparisons with sliders, for notebooks (needs ipywidgets)."""
