"""Lowering of `cuda.libdevice` and `cuda.fp16`."""
