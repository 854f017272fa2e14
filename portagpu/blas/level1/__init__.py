"""BLAS 1, vectors with vectors: a family of routines a file, under the names of `scipy.linalg.blas`.

What belongs here: routines of O(n) work. `axpy` (with scal, copy, swap), `dot` (with nrm2, asum, amax) and `rotations`
have the names; each routine is written once for its dtypes, with a `scipy_arguments.Routine` as its first parameter, of
which `in_dtype` makes the public functions. What they, and other levels, call on device arrays is in `elementwise` and
`reductions`. Kernels: `map_kernels` (one, which takes the operation), `sum_kernels`, `amax_kernels`; their variants
beside them, chosen by `selection`. Public names are made known in `blas/__init__.py`.
"""
