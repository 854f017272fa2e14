"""Calls of routines that are recorded once and made again."""
