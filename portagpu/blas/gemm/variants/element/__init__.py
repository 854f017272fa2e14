"""The element variant: a thread for each element of C."""
