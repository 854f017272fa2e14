"""Histograms and counts."""
