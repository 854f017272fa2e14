"""Banded matrices with vectors: how bands lie in memory, products, triangular systems."""
