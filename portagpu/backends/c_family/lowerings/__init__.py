"""Lowerings of operations that read alike in all languages of the family; `shared.py` beside it names them."""
