"""The kernel language's vocabulary: objects that kernels name, and their reference entries."""
