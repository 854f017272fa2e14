"""What launches, first calls and new kernels cost: kernels, child processes, peers."""
