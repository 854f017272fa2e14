"""`vectorize` and `guvectorize`: NumPy-like functions from scalar kernels."""
