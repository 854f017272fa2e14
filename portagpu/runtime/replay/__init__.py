"""Launches recorded once and made again without Python's side of them."""
