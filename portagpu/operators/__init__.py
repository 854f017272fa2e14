"""Operators of other libraries, as Python functions declare them: inputs, results, gradients."""
