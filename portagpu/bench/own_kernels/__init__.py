"""Kernels of the user's: `portagpu.benchmark` in Python, ``portagpu bench FILE.py:KERNEL`` on the command line."""
