"""Kernels that come with the dialect."""
