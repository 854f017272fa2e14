"""Analyses of the IR: uniform values, ranges, races, memory order."""
