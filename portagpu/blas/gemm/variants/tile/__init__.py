"""The tile variant: tiles in on-chip local memory and in registers."""
