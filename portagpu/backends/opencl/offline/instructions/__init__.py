"""What the instructions of a kernel are: one module for each assembly language."""
