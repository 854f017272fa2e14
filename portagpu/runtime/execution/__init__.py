"""Contexts, streams, events, and how they wait for each other."""
