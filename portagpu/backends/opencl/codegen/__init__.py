"""IR to OpenCL C: printing, lowering of operations, and the views that templates fill in."""
