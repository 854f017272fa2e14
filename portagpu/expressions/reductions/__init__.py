"""Reductions of expressions along axes: sums, extremes and their places, in one kernel."""
