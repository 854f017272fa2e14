"""What a benchmark run leaves: devices, cells, and the files that hold them."""
