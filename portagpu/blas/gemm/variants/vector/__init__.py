"""The vector variant: products with few rows or columns on CPUs."""
