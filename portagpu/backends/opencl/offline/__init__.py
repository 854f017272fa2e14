"""Offline compilers: kernels compiled for devices that are not present."""
