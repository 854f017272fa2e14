"""Probing: what a device can do and how fast it is, tried in a child process."""
