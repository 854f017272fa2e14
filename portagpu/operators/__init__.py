"""Custom operators of other libraries, as Python functions declare them: inputs, results, backward functions."""
