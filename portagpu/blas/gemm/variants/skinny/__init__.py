"""Skinny variants: products with few rows or columns on GPUs."""
