"""The panel variant: packed panels and vector registers of a CPU."""
