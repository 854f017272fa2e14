"""Copies between host and device, within a device, and streams that hide them behind kernels."""
