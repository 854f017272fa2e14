"""Control flow around barriers: what all threads of a block must reach, they reach together."""
