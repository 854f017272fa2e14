"""The emulated variant: float32 products as products of 16-bit terms."""
