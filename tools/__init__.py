"""Programs that make parts of the documents: ``python -m tools.documents``."""
