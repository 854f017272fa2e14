"""Singular values and eigenvalues by rotations of pairs of columns, on device arrays."""
