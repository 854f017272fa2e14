"""A run on several machines, through Dask."""
