"""Methods of device arrays that NumPy's have; what computes is registered by higher layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from portagpu.errors import DTypeError, OutOfBoundsError, ShapeError
from portagpu.runtime.arrays import numpy_dispatch
from portagpu.runtime.arrays.checks import assignable
from portagpu.runtime.arrays.layout import checked_dtype, order_k
from portagpu.runtime.arrays.methods.base import ArrayBase

if TYPE_CHECKING:
    from typing_extensions import Self


class ArrayElements(ArrayBase):
    """Methods of `DeviceNDArray` that convert, select, copy and change elements, as those of `numpy.ndarray`."""

    __slots__ = ()

    def astype(self, dtype: Any, order: str = "K", casting: Any = "unsafe", copy: bool = True) -> Self:
        """The elements as another dtype, a new array; with ``copy=False`` the array itself if it has the dtype.

        Raises `DTypeError` where ``casting`` does not allow it, and for complex numbers to become real.
        """
        kind = checked_dtype(dtype)
        if order == "A":
            order = "F" if self.is_f_contiguous() and not self.is_c_contiguous() else "C"
        found: Self
        if kind == self.dtype:
            found = self.copy(order) if copy or not _is_in(self, order) else self
            return found
        if not np.can_cast(self.dtype, kind, casting):
            raise DTypeError(f"{self.dtype} does not become {kind} with casting={casting!r}")
        found = numpy_dispatch.call("astype", self, kind)
        return found if _is_in(found, order) else found.copy(order)

    def fill(self, value: Any) -> None:
        """Set all elements to a number, which must fit as in ``x[...] = value``."""
        if isinstance(value, np.generic):
            value = assignable(value, self.dtype, (), to_elements=True)[()]
        numpy_dispatch.call("assign", self, value)

    def flatten(self, order: str = "C") -> Self:
        """A one-dimensional copy on the device."""
        if order == "K":
            axes = order_k(self.shape, self.strides)
            return (self if axes is None else self.transpose(axes)).flatten()  # type: ignore[attr-defined]
        found: Self = self.copy(order).ravel(order)
        return found

    def item(self, *place: Any) -> Any:
        """One element as a Python number, at subscripts or at a number in C order; without any, the only one.

        Raises `ShapeError`, `OutOfBoundsError`.
        """
        if not place:
            return self._only("item()")
        try:
            at = place[0] if len(place) == 1 and isinstance(place[0], tuple) else place
            if len(at) == 1 and self.ndim != 1:
                (number,) = at
                if not -self.size <= number < self.size:
                    raise OutOfBoundsError(f"there is no element {number} among {self.size}")
                at = np.unravel_index(number % self.size, self.shape)
            if len(at) != self.ndim:
                raise ShapeError(f"an array of shape {self.shape} has no item{place}")
            shadow, key = self._shadow(), (*at, Ellipsis)
            return self._derive(shadow[key], shadow)._only("item()")
        except (IndexError, ValueError, TypeError) as error:
            kind = OutOfBoundsError if isinstance(error, IndexError) else ShapeError
            raise kind(f"an array of shape {self.shape} has no item{place}: {error}") from None

    def tolist(self) -> Any:
        """The elements on the host, as nested lists of Python numbers."""
        return self.copy_to_host().tolist()

    def nonzero(self) -> tuple[Self, ...]:
        """For each axis the subscripts of the elements that are not 0, in C order."""
        found: tuple[Self, ...] = numpy_dispatch.call("nonzero", self)
        return found

    def take(self, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Self:
        """The parts along an axis at integers; of the flat array with axis None. See `numpy.take`."""
        found: Self = numpy_dispatch.call("take", self, indices, axis=axis, out=out, mode=mode)
        return found

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Write values to the elements at numbers in C order. See `numpy.put`."""
        numpy_dispatch.call("put", self, indices, values, mode=mode)

    def sort(
        self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None
    ) -> None:
        """Sort along an axis, in place; NaN is last in both orders. See `numpy.ndarray.sort`."""
        keywords = {"axis": axis, "kind": kind, "order": order, "stable": stable, "descending": descending}
        numpy_dispatch.call("assign", self, numpy_dispatch.call("sort", self, **keywords))

    def argsort(
        self, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None
    ) -> Self:
        """The places of the elements in their order along an axis, int64."""
        keywords = {"axis": axis, "kind": kind, "order": order, "stable": stable, "descending": descending}
        found: Self = numpy_dispatch.call("argsort", self, **keywords)
        return found

    def partition(
        self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None, *, descending: Any = None
    ) -> None:
        """Sort along an axis, in place: what is sorted is partitioned at each place."""
        keywords = {"axis": axis, "kind": kind, "order": order, "descending": descending}
        numpy_dispatch.call("assign", self, numpy_dispatch.call("partition", self, kth, **keywords))

    def argpartition(
        self, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None, *, descending: Any = None
    ) -> Self:
        """The places of the elements in an order that is partitioned at ``kth``: the whole order."""
        keywords = {"axis": axis, "kind": kind, "order": order, "descending": descending}
        found: Self = numpy_dispatch.call("argpartition", self, kth, **keywords)
        return found

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Self:
        """Where values would stand in this sorted array, int64."""
        found: Self = numpy_dispatch.call("searchsorted", self, v, side=side, sorter=sorter)
        return found

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Self:
        """The parts along an axis for which a condition is true. See `numpy.compress`."""
        found: Self = numpy_dispatch.call("compress", condition, self, axis=axis, out=out)
        return found

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Self:
        """For each number n the element of the n-th of several arrays. See `numpy.choose`."""
        found: Self = numpy_dispatch.call("choose", self, choices, out=out, mode=mode)
        return found

    def dot(self, b: Any, out: Any = None) -> Self:
        """The product of `numpy.dot`."""
        found: Self = numpy_dispatch.call("dot", self, b, out=out)
        return found

    def repeat(self, repeats: Any, axis: int | None = None) -> Self:
        """Each element, or part along an axis, several times."""
        found: Self = numpy_dispatch.call("repeat", self, repeats, axis=axis)
        return found

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """A read-only view of a diagonal of two axes. Raises `ShapeError`."""
        found: Self = numpy_dispatch.call("diagonal", self, offset=offset, axis1=axis1, axis2=axis2)
        return found

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Self:
        """The sum of a diagonal."""
        found: Self = numpy_dispatch.call("trace", self, offset, axis1, axis2, dtype=dtype, out=out)
        return found

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Self:
        """The elements, those below ``min`` or above ``max`` replaced by these; ``options``: dtype=, casting=."""
        found: Self = numpy_dispatch.call("clip", self, min, max, out=out, **options)
        return found

    def round(self, decimals: int = 0, out: Any = None) -> Self:
        """The elements rounded to a number of decimals, halves to the even neighbour."""
        found: Self = numpy_dispatch.call("round", self, decimals, out=out)
        return found

    def conj(self) -> Self:
        """The complex conjugates; a real array itself."""
        if self.dtype.kind != "c":
            return self
        found: Self = numpy_dispatch.call("conjugate", self)
        return found

    conjugate = conj

    @property
    def real(self) -> Self:
        """A view of the real parts, which can be assigned to; a real array itself."""
        if self.dtype.kind != "c":
            return self
        shadow = self._shadow()
        found: Self = self._derive(shadow.real, shadow)
        return found

    @real.setter
    def real(self, value: Any) -> None:
        if value is not self:  # as after `x.real += y` of a real array
            self.real[...] = value  # type: ignore[index]

    @property
    def imag(self) -> Self:
        """A view of the imaginary parts, which can be assigned to; zeros for a real array, which cannot."""
        found: Self
        if self.dtype.kind != "c":
            found = numpy_dispatch.call("zeros_like", self, order="A").as_readonly()
            return found
        shadow = self._shadow()
        found = self._derive(shadow.imag, shadow)
        return found

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise DTypeError(f"an array of {self.dtype} has no imaginary parts", hint="convert it with astype")
        self.imag[...] = value  # type: ignore[index]


def _is_in(x: Any, order: str) -> bool:
    """Whether an array is in an order that a conversion keeps, or asks for."""
    return bool(order == "K" or (x.is_f_contiguous() if order == "F" else x.is_c_contiguous()))
