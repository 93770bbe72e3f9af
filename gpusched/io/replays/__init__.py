"""Launches of logs, traces and configurations, and their simulations held against logs."""
