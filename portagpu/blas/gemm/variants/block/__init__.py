"""The block variant: Goto's scheme for CPU caches."""
