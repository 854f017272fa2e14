"""Trials in child processes."""
