"""BLAS 1, vectors with vectors: a family of routines a file, under the names of `scipy.linalg.blas`.

What belongs here: routines of O(n) work, such as `axpy`, `scal`, `copy` and `swap` (one file), `dot`, `nrm2` and `asum`
(sums, another), `iamax`, `rot`. Each is written once for its dtypes, as `_gemm` of `level3/gemm.py` is: a function
whose first parameter is a `scipy_arguments.Routine`, of which `in_dtype` makes the public ones. `scipy_arguments`
converts and checks arguments as SciPy does. Kernels of a family are in the file beside it, or in a folder like a
variant's where there are several. Public names are made known in `blas/__init__.py`.
"""
