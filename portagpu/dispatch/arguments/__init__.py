"""Arguments of kernels: their types, what is declared of them, and how values become them."""
