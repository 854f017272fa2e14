"""Device arrays: NumPy's views and names, copies, interchange."""
