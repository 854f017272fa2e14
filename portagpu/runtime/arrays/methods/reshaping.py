"""Methods of device arrays that give views of the same memory, and copies where NumPy's do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from portagpu.errors import NotContiguousError, ShapeError
from portagpu.runtime.arrays import views
from portagpu.runtime.arrays.checks import is_default
from portagpu.runtime.arrays.facts import are_plain, key_of
from portagpu.runtime.arrays.layout import check_order, checked_dtype, order_k
from portagpu.runtime.arrays.methods.base import ArrayBase
from portagpu.runtime.execution.stream import Stream

if TYPE_CHECKING:
    from typing_extensions import Self


class ArrayReshaping(ArrayBase):
    """Methods of `DeviceNDArray` that show the elements in another shape, order or dtype, as `numpy.ndarray` does."""

    __slots__ = ()

    def _view(self, key: Any) -> Self:
        return self._seen(key_of(key), lambda shadow: views.indexed(shadow, key), moves=True)

    def _is_part(self, key: Any, array: Any) -> bool:
        """Whether an array was made as ``self[key]``; False, too, where nobody remembers."""
        return self._has_view(key_of(key), array)

    def broadcast_to(self, shape: Any) -> Self:
        """Read-only view of a broadcast shape. Raises `ShapeError`."""
        return self._broadcast(shape, readonly=True)

    def _broadcast(self, shape: Any, *, readonly: bool = False) -> Self:
        asked = ("broadcast", shape) if are_plain(shape) else None
        return self._seen(asked, lambda shadow: views.broadcast(shadow, shape), readonly=readonly)

    def reshape(self, *newshape: Any, order: str = "C", copy: bool | None = None) -> Self:
        """The elements in another shape: a view where there is one, else, or with ``copy``, a copy, as NumPy's.

        Raises `ShapeError`, and `NotContiguousError` where ``copy`` is False and there is no view.
        """
        if copy:
            return self._copied(order)._reshaped(newshape, order)
        try:
            return self._reshaped(newshape, order)
        except NotContiguousError:
            if copy is False:
                raise
            return self._copied(order)._reshaped(newshape, order)

    def _reshaped(self, newshape: tuple[Any, ...], order: str) -> Self:
        shape = newshape[0] if len(newshape) == 1 and type(newshape[0]) is tuple else newshape
        asked = ("reshape", shape, order) if are_plain(shape) and type(order) is str else None
        return self._seen(asked, lambda shadow: views.reshaped(shadow, newshape, order))

    def _copied(self, order: str) -> Self:
        """A copy whose elements in an order lie side by side."""
        return self.copy(("F" if self.is_f_contiguous() else "C") if order == "A" else order)

    def ravel(self, order: str = "C", stream: Stream | int = 0) -> Self:
        """The elements with one axis: a view where they lie side by side in the order, else a copy.

        ``order``: "C", "F", "A" (F where they lie so, else C) or "K", that of the array's memory.
        """
        check_order(order, "CFAK")
        if order == "K":
            axes = order_k(self.shape, self.strides)
            return (self if axes is None else self.transpose(axes)).ravel("C", stream)
        if order == "A":
            order = "F" if self.is_f_contiguous() and not self.is_c_contiguous() else "C"
        source = self._on(stream)
        if not (self.is_f_contiguous() if order == "F" else self.is_c_contiguous()):
            source = source.copy(order)
        return source._reshaped((self.size,), order)

    def transpose(self, *order: Any, axes: Any = None) -> Self:
        """View with permuted axes: ``transpose(1, 0)``, ``transpose((1, 0))`` or ``transpose(axes=(1, 0))``."""
        if axes is not None and order:
            raise ShapeError("transpose takes the axes once", hint="write transpose(axes=(1, 0)) or transpose(1, 0)")
        given = order if axes is None else (axes,)
        if len(given) == 1 and given[0] is None:
            given = ()
        named = given[0] if len(given) == 1 and type(given[0]) is tuple else given
        asked = ("transpose", named, len(given) == 0) if are_plain(named) else None
        return self._seen(asked, lambda shadow: views.transposed(shadow, given))

    def squeeze(self, axis: Any = None, stream: Stream | int = 0) -> Self:
        """View without axes of length one, or without those named. Raises `ShapeError` for a longer one."""
        asked = ("squeeze", axis) if axis is None or type(axis) is int or are_plain(axis) else None
        return self._on(stream)._seen(asked, lambda shadow: views.squeezed(shadow, axis))

    def _on(self, stream: Stream | int) -> Self:
        return self if is_default(stream) else self.bind(stream)

    def view(self, dtype: Any = None) -> Self:
        """View of the same bytes, by default of the same dtype.

        Raises `DTypeError`, or `ShapeError` where the bytes do not fit.
        """
        kind = self.dtype if dtype is None else checked_dtype(dtype)
        return self._seen(("view", kind) if kind.names is None else None, lambda shadow: views.viewed(shadow, kind))

    def split(self, section: int, stream: Stream | int = 0) -> Iterator[Self]:
        """Views of ``section`` elements each of a 1-D array, the last perhaps shorter. Raises `ShapeError`."""
        source = self._on(stream)
        return (source._view(piece) for piece in views.pieces(self._shadow(), section))
