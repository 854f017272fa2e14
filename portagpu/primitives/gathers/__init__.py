"""Gathers and scatters of elements at places, joins and sequences."""
