"""Subgroup variants: block loads and broadcasts; matrix units of subgroups."""
