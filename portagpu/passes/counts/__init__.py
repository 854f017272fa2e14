"""Kernels whose threads count their work, and mark what they touch."""
