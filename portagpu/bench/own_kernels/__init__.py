"""Kernels of users: `portagpu.benchmark`, and ``portagpu bench FILE.py:KERNEL``."""
