"""Eigenvalues and eigenvectors of general square matrices, by Schur forms."""
