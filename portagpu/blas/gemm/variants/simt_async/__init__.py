"""The pipelined variant: no matrix units, tiles by asynchronous copies."""
