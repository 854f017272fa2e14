"""Reductions of a product's rows and columns: sums, largest elements, largest magnitudes."""
