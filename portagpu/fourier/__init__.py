"""Discrete Fourier transforms on device arrays, of any length, along any axis."""
