"""Lowering of Python's statements and expressions."""
