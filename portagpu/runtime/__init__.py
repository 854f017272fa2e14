"""Runtime: arrays, memory, streams, programs, launches."""
