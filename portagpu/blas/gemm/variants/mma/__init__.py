"""Variants on `cuda.mma_sync`: 16-bit floats, 8-bit integers and TF32; float64."""
