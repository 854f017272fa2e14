"""Passes: IR to IR, for what a device asks."""
