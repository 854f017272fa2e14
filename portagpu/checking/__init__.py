"""Kernels checked for hardware that is not present: figures, requirements, advice, reports."""
