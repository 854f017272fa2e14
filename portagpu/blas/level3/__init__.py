"""BLAS 3 under the names of `scipy.linalg.blas`."""
