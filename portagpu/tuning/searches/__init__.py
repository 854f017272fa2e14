"""Searches: strategies, budgets, ranking, run-off."""
