"""Banded and packed matrices with vectors: their storage, products, triangular systems and rank updates."""
