"""Launches of logs, traces and configurations, and comparison of their simulations with logs."""
