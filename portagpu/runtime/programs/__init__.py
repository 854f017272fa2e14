"""Programs: built, bound and launched."""
