"""Vectors of BLAS routines as `scipy.linalg.blas` takes them: an array, an offset and an increment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from portagpu.blas.scipy_arguments import Routine, as_scipy, flat, integer
from portagpu.errors import ShapeError

_EXTENTS = {"x": "cols", "y": "rows"}  # of the matrix, in texts of SciPy


@dataclass(frozen=True, slots=True)
class Section:
    """Elements of an array that a routine works on: from ``offset`` on, each ``increment``-th, counted as by `flat`.

    With a negative increment the vector is read from its end, as BLAS has it: its first element is the last one of
    those in memory. ``name``: the argument's.
    """

    array: Any
    name: str
    offset: int
    increment: int

    @property
    def length(self) -> int:
        """The most elements that there are, ``(len(x) - 1 - offx) // abs(incx) + 1``: SciPy's usual ``n``."""
        size: int = self.array.size
        return (size - 1 - self.offset) // abs(self.increment) + 1 if size else 0

    @property
    def whole_steps(self) -> int:
        """``(len(x) - offx) // abs(incx)``, what SciPy has for ``n`` in BLAS 1, but for rot."""
        size: int = self.array.size
        return (size - self.offset) // abs(self.increment)

    def view(self, n: int, *, counted: bool = False) -> Any:
        """The vector of n elements, a view of the array. Raises `ShapeError` where the array has fewer.

        counted: n is an argument of the routine.
        """
        if n > self.length:
            how = "".join(f", {word} {value}" for word, value, usual in self._facts() if value != usual)
            error = ShapeError(
                f"{self.name} has {self.array.size} elements{how}: room for {self.length}, and {n} are asked for",
                hint=f"pass a longer {self.name}, or a smaller n",
            )
            x = self.name
            if counted:
                raise as_scipy(error, f"(len({x})-off{x}>(n-1)*abs(inc{x}))", "n", n)
            raise as_scipy(error, f"(len({x})>off{x}+({_EXTENTS[x]}-1)*abs(inc{x}))", x)
        step = abs(self.increment)
        array = flat(self.array)
        if n == 0:
            return array[:0]
        found = array[self.offset : self.offset + (n - 1) * step + 1 : step]
        return found[::-1] if self.increment < 0 else found

    def _facts(self) -> tuple[tuple[str, int, int], ...]:
        return ("offset", self.offset, 0), ("increment", self.increment, 1)


def section(array: Any, name: str, offset: Any, increment: Any) -> Section:
    """A section of a vector that `Routine.vector` or `Routine.written_vector` made.

    ``name``: "x", whose offset and increment are ``offx`` and ``incx``. Raises `ShapeError` for an increment of 0, and
    for an offset that is not in the array; `ArgumentTypeError`.
    """
    first, step = integer(offset, f"off{name}"), integer(increment, f"inc{name}")
    if step == 0:
        error = ShapeError(f"inc{name} is 0", hint="1 takes each element, -1 each from the end, 2 every other one")
        raise as_scipy(error, f"(inc{name}>0||inc{name}<0)", f"inc{name}", 0)
    size = array.size
    if not 0 <= first < max(size, 1):
        error = ShapeError(f"off{name} is {first}, and {name} has {size} elements", hint="0 is the first element")
        raise as_scipy(error, f"(off{name}>=0 && off{name}<len({name}))", f"off{name}", first)
    return Section(array, name, first, step)


def count(routine: Routine, n: Any, default: int, name: str = "n") -> int:
    """The argument ``n``, elements of vectors or rows of a matrix; ``default`` where it is not given.

    Raises `ShapeError` for a negative one, `ArgumentTypeError`.
    """
    if n is None:
        return default
    found = integer(n, name)
    if found < 0:
        raise ShapeError(f"{name} of {routine.name} is {found}", hint=f"{name} counts elements: 0 or more")
    return found


def vector_target(
    routine: Routine,
    given: Any,
    name: str,
    n: int,
    placing: tuple[Any, Any],
    *,
    like: Any,
    overwrite: bool,
    stream: Any,
) -> tuple[Any, Any]:
    """The array that a result of n elements is written into, and the vector in it.

    given: the argument ``y``, or None for a new array that is just long enough, beside ``like``: what is in the vector
    is then not to be read, and what lies beside it is zero. ``placing``: its offset and increment. The array is the
    argument itself or a copy, see `Routine.written_vector`; elements that are not the vector's keep what they are.
    Raises as `section` and `Section.view` do.
    """
    if given is None:
        offset, increment = integer(placing[0], f"off{name}"), integer(placing[1], f"inc{name}")
        size = max(0, offset) + (1 + (n - 1) * abs(increment) if n else 0)
        array = routine.new(like, (size,)) if size == n else routine.zeros(like, (size,), stream)
    else:
        array = routine.written_vector(given, name, overwrite=overwrite, stream=stream)
    return array, section(array, name, *placing).view(n)
