"""Reductions of expressions: sums, extremes and their places, in the kernel of what is reduced."""
