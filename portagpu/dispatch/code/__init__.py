"""From a function with its options to the code of a device, new or kept."""
