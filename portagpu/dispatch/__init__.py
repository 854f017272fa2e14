"""The compiler's driver: dispatchers, specialisations, launches, kept code."""
