"""Source text of functions, what they capture, and digests of both."""
