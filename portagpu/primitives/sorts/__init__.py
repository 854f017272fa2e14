"""Sorts, and what is found by sorting: radix and merge sorts, top-k, distinct elements, searches."""
