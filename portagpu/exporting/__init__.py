"""Kernels as source text for other people's projects, with programs that launch them."""
