"""Probes of a device's roofs: arithmetic, matrix units, memory by levels, latency."""
