"""Templates of helper functions that read alike in all languages of the family."""
