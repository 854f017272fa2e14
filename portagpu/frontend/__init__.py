"""From a Python function to typed IR: source capture, parsing, all type inference."""
