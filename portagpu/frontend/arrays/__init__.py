"""Lowering of arrays: addressing, subscripts, slices, records."""
