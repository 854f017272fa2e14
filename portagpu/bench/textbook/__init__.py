"""Textbook kernels beside the same text in CUDA C: what the dialect costs on a GPU that has both."""
