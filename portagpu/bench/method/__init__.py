"""How one measures: warm-up, turns, when to stop, statistics."""
