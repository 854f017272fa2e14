"""What copies, comparisons of memory and exchange see of a device array."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np

from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream


class View(Protocol):
    """Elements in the memory of a device; ``offset`` and ``strides`` are bytes.

    Device arrays are views, as they are: a value of its own would be made for each copy and each product.
    """

    context: Context
    base: Any
    stream: Stream | Literal[0]
    offset: int
    ndim: int
    size: int
    itemsize: int
    layout: str
    readonly: bool
    allocation_key: int
    token: object | None

    @property
    def buffer(self) -> Any:
        """The driver's memory. Raises `ClosedError` where it was given back."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""

    @property
    def strides(self) -> tuple[int, ...]:
        """From one element to the next, for each axis."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""


class CopiedView(View, Protocol):
    """A view that goes to the host and comes from it."""

    def copy_to_host(self) -> np.ndarray[Any, Any]:
        """The elements on the host."""

    def copy_to_device(self, ary: Any, stream: Any = 0, /) -> None:
        """Take elements from the host."""
