"""Scans of device arrays: what all elements up to each one become, by any associative function."""
