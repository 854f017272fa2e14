"""BLAS 3, matrices with matrices: a family of routines a file, under the names of `scipy.linalg.blas`.

What belongs here: routines of O(n^3) work, `gemm`, `symm`, `syrk`, `trmm` and their like, and what moves whole matrices
(`geam`). They are written, and take their arguments, as those of `level1` do, and rest on `blas/gemm/engine.py`.
"""
