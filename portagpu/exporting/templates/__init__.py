"""Mako templates of exported files."""
