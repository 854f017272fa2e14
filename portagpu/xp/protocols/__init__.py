"""NumPy's functions and operators on device arrays, under NumPy's names and with its arguments."""
