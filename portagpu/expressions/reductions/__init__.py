"""Reductions of expressions: sums, extremes and their places along axes, in the kernel of what is reduced."""
