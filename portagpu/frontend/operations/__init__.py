"""Lowering of names, calls, comparisons and complex arithmetic."""
