"""BLAS routines and factorisations timed beside SciPy, the vendor's libraries and CLBlast."""
