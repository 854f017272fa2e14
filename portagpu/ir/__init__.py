"""Typed intermediate representation: every node has a type and a source span."""
