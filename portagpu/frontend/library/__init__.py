"""Lowering of Python's builtins, `math`, `cmath`, NumPy functions and array methods."""
