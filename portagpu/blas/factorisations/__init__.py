"""Factorisations and solvers on device arrays: Cholesky, LU, QR, inverses, refinement"""
