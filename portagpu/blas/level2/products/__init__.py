"""Products of a matrix, or of a triangle of one, with a vector: each element is read once, whatever it is used for."""
