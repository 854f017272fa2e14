"""Numbers as C text: literals, and arithmetic where C's own is another one: overflow, negations, complex numbers."""
