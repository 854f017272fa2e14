"""Portable BLAS, written in the dialect."""
