"""What back ends share whose text is of the C family: statements, expressions, names, programs."""
