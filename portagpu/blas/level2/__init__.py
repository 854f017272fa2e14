"""BLAS 2, matrices with vectors: a family of routines a file, under the names of `scipy.linalg.blas`."""
