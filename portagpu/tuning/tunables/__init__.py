"""Tunables: search spaces, problems, models, checks."""
