"""Expressions of device arrays: elementwise functions that are put off, joined, and run as one kernel."""
