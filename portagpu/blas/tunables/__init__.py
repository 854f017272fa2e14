"""Tunable routines: `Variant`, the registry of a routine's variants, and the choice among them."""
