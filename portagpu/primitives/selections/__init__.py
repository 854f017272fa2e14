"""Selection: elements, or their places, by flags and predicates, in order."""
