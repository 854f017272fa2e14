"""BLAS 2, matrices with vectors: a family of routines a file, under the names of `scipy.linalg.blas`.

What belongs here: routines of O(n^2) work: `gemv`; `ger`; `symv` and `hemv`; `trmv` and `trsv`; their packed and banded
forms. They are written, and take their arguments, as those of `level1` do. A product of a matrix with a vector that
`blas/gemm/engine.py` does well (its variant "skinny") rests on it.
"""
