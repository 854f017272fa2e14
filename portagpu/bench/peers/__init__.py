"""Other libraries that compute the same, where they are importable or findable."""
