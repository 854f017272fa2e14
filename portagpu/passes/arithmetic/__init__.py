"""Cheaper arithmetic: of subscripts, of the lanes of vectors, of sums with one."""
