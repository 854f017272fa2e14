"""Reference entries of the dialect's names: what each does, its arguments and what it needs."""
