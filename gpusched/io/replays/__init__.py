"""Launches of logs, traces and configurations, and the comparison of their simulation with a log."""
