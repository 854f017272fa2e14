"""PTX, the intermediate text of CUDA's compiler: its capabilities, additions to it, and faults of its assembler."""
