"""The batch variant: small matrices whose sizes are compiled in, several to a work-group of one item."""
