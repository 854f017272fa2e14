"""A run: what is measured, cell by cell, and kept."""
