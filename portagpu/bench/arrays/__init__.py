"""Device arrays that calculate, beside CuPy or NumPy: ``python -m portagpu.bench.arrays``."""
