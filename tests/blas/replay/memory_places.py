"""Where the memory of device arrays lies, whatever the back end."""

from __future__ import annotations


def place_of(array):
    """A number that no other memory has as long as this exists."""
    buffer = array.buffer
    return buffer.int_ptr if hasattr(buffer, "int_ptr") else buffer.address
