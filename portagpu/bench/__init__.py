"""Benchmarks: cells of device x problem x implementation, versioned result files, reports."""
