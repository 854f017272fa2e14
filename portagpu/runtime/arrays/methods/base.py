"""What methods of device arrays need of the array."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream

if TYPE_CHECKING:
    from typing_extensions import Self


class ArrayBase:
    """What `DeviceNDArray` and classes of methods beside each other bring; nothing here is ever called."""

    __slots__ = ()

    context: Context
    stream: Stream | Literal[0]
    base: Any
    deferred: Any
    offset: int
    ndim: int
    size: int
    itemsize: int
    layout: str
    readonly: bool
    allocation_key: int
    token: object | None

    is_c_contiguous: Callable[[], bool]
    is_f_contiguous: Callable[[], bool]
    copy_to_host: Callable[..., np.ndarray[Any, Any]]
    copy_to_device: Callable[..., None]
    _shape: tuple[int, ...]
    _dtype: np.dtype[Any]
    _shadow: Callable[[], np.ndarray[Any, Any]]
    _stream: Callable[[Stream | int], Stream]
    _only: Callable[[str], Any]

    @property
    def buffer(self) -> Any:
        """The driver's memory."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        raise NotImplementedError

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, for each axis."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        raise NotImplementedError

    # views and copies

    def bind(self, stream: Stream | int = 0) -> Self:
        """The same array whose copies use ``stream`` by default."""
        raise NotImplementedError

    def ravel(self, order: str = "C", stream: Stream | int = 0) -> Self:
        """The elements with one axis."""
        raise NotImplementedError

    def copy(self, order: str = "C") -> Self:
        """A contiguous copy on the device."""
        raise NotImplementedError

    def _view(self, key: Any) -> Self:
        """The view at subscripts."""
        raise NotImplementedError

    def _is_part(self, key: Any, array: Any) -> bool:
        """Whether an array was made as the view at subscripts."""
        raise NotImplementedError

    def _broadcast(self, shape: Any, *, readonly: bool = False) -> Self:
        """The view of a broadcast shape."""
        raise NotImplementedError

    def _contiguous(self, stream: Stream, order: str = "C") -> Self:
        """A copy in an order, made in a stream."""
        raise NotImplementedError

    def _constant(self, host: np.ndarray[Any, Any]) -> Self:
        """A host array's elements in new memory of this array's context."""
        raise NotImplementedError

    def _empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], order: str = "C") -> Self:
        """New memory of this array's context."""
        raise NotImplementedError

    def _derive(
        self,
        shadow: np.ndarray[Any, Any],
        origin: np.ndarray[Any, Any] | None = None,
        stream: Stream | None = None,
        *,
        readonly: bool = False,
    ) -> Self:
        """The view that lies as a shadow does, which NumPy made of ``origin``, this array's own."""
        raise NotImplementedError

    def _seen(
        self,
        asked: Any,
        make: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
        *,
        moves: bool = False,
        readonly: bool = False,
    ) -> Self:
        """The view whose shadow NumPy makes of this array's, looked up by what is asked."""
        raise NotImplementedError

    def _has_view(self, asked: Any, view: Any) -> bool:
        """Whether an array is a view of this one that was looked up so."""
        raise NotImplementedError
