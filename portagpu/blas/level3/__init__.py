"""BLAS 3, matrices with matrices: a family of routines a file, under the names of `scipy.linalg.blas`."""
