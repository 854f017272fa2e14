"""`numpy.einsum` of device arrays: contractions of pairs as products of matrices, all else as one fused kernel."""

from __future__ import annotations

import string
from typing import Any, NamedTuple

import numpy as np

from portagpu.blas import matmul as products
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.layout import checked_dtype
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.xp.conversion import arrays_of, into
from portagpu.xp.products import reshaped, whole


class _Term(NamedTuple):
    """An array whose axes have names, each once."""

    array: DeviceNDArray
    names: str


def _einsum(
    *operands: Any, out: Any = None, dtype: Any = None, casting: Any = "safe", optimize: Any = False, **order: Any
) -> Any:
    """Sums of products over named axes. Pairs are contracted one after the other, the cheapest first.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`.
    """
    inputs, output, given = _parsed(operands)
    arrays = arrays_of(given)
    kind = np.result_type(*(x.dtype for x in arrays)) if dtype is None else checked_dtype(dtype)
    for x in arrays:
        if not np.can_cast(x.dtype, kind, casting):
            raise DTypeError(f"{x.dtype} does not become {kind} with casting={casting!r}")
    inputs, output = _without_dots(inputs, output, arrays)
    _check_extents(inputs, arrays)
    terms = [_diagonals(x.astype(kind, copy=False), names) for x, names in zip(arrays, inputs, strict=True)]
    while len(terms) > 2:
        one, two = _cheapest(terms, output)
        rest = [term for n, term in enumerate(terms) if n not in (one, two)]
        kept = set(output).union(*(term.names for term in rest))
        terms = [*rest, _contracted(terms[one], terms[two], kept)]
    found = _contracted(terms[0], terms[1], set(output)) if len(terms) == 2 else _summed(terms[0], set(output))
    result = found.array.transpose([found.names.index(name) for name in output])
    return into(result, out)


def _parsed(operands: tuple[Any, ...]) -> tuple[list[str], str | None, list[Any]]:
    """The names of each operand's axes, those of the result or None, and the operands."""
    if not operands:
        raise ArgumentTypeError("einsum takes subscripts and arrays")
    if isinstance(operands[0], str):
        text, given = operands[0].replace(" ", ""), list(operands[1:])
    else:  # arrays and lists of numbers in turn
        given, lists = list(operands[: len(operands) // 2 * 2 : 2]), list(operands[1::2])
        numbers = sorted({n for each in (*lists, *operands[len(given) * 2 :]) for n in each if n is not Ellipsis})
        if len(numbers) > len(string.ascii_letters):
            raise ShapeError(f"einsum has names for {len(string.ascii_letters)} axes, not for {len(numbers)}")
        letters = {n: string.ascii_letters[k] for k, n in enumerate(numbers)}

        def named(each: Any) -> str:
            return "".join("..." if n is Ellipsis else letters[n] for n in each)

        text = ",".join(map(named, lists))
        if len(operands) % 2:
            text += "->" + named(operands[-1])
    inputs, arrow, output = text.partition("->")
    parts = inputs.split(",")
    bare = text.replace("...", "").replace("->", "").replace(",", "")
    if not all(c in string.ascii_letters for c in bare) or any(p.count("...") > 1 for p in (*parts, output)):
        raise ShapeError(f"the subscripts {text!r} are not those of einsum", hint='letters, as in "ij,jk->ik"')
    if len(parts) != len(given):
        raise ShapeError(f"{len(parts)} operands are named in {text!r}, and {len(given)} are given")
    return parts, output if arrow else None, given


def _without_dots(inputs: list[str], output: str | None, arrays: list[DeviceNDArray]) -> tuple[list[str], str]:
    """Letters of their own in place of each ellipsis, and the result's names where none are given."""
    used = set("".join(inputs) + (output or ""))
    spare = [c for c in string.ascii_letters if c not in used]
    dots, found = 0, []
    for names, x in zip(inputs, arrays, strict=True):
        rest = x.ndim - len(names.replace("...", ""))
        if rest < 0 or (rest and "..." not in names):
            raise ShapeError(f"{names!r} are not the axes of an array with {x.ndim}")
        if rest > len(spare):
            raise ShapeError("einsum has no names for so many axes")
        dots = max(dots, rest) if "..." in names else dots
        found.append((names, rest))
    letters = "".join(spare[:dots])
    named = [names.replace("...", letters[dots - rest :] if rest else "") for names, rest in found]
    if output is None:
        whole_text = "".join(names.replace("...", "") for names in inputs)
        output = letters + "".join(sorted(c for c in set(whole_text) if whole_text.count(c) == 1))
    else:
        if "..." not in output and dots and any("..." in names for names in inputs):
            raise ShapeError("the result of einsum has an ellipsis where operands have one", hint="write it: '...ij'")
        output = output.replace("...", letters)
    if len(set(output)) < len(output) or not set(output) <= set("".join(named)):
        raise ShapeError(f"the result's axes {output!r} are some of the operands', each once")
    return named, output


def _check_extents(inputs: list[str], arrays: list[DeviceNDArray]) -> None:
    extents: dict[str, int] = {}
    for names, x in zip(inputs, arrays, strict=True):
        for name, extent in zip(names, x.shape, strict=True):
            known = extents.setdefault(name, extent)
            if known == 1:
                extents[name] = extent
            elif extent not in (1, known):
                raise ShapeError(f"axis {name!r} of einsum has {known} and {extent} elements")


def _diagonals(x: DeviceNDArray, names: str) -> _Term:
    """A view whose axes have different names: of those with the same, the diagonal."""
    shadow = x._shadow()
    while len(set(names)) < len(names):
        twice = next(c for c in names if names.count(c) > 1)
        first = names.index(twice)
        second = names.index(twice, first + 1)
        if shadow.shape[first] != shadow.shape[second]:
            raise ShapeError(f"axis {twice!r} of einsum has {shadow.shape[first]} and {shadow.shape[second]} elements")
        shadow = shadow.diagonal(0, first, second)
        names = names[:first] + names[first + 1 : second] + names[second + 1 :] + twice
    return _Term(x if shadow.shape == x.shape else x._derive(shadow), names)


def _cheapest(terms: list[_Term], output: str) -> tuple[int, int]:
    """The pair whose result is the smallest beside what it is made of: the greedy choice of `numpy.einsum_path`."""
    best, found = None, (0, 1)
    for one in range(len(terms)):
        for two in range(one + 1, len(terms)):
            kept = set(output).union(*(term.names for n, term in enumerate(terms) if n not in (one, two)))
            extents = _extents(terms[one], terms[two])
            result = _size(set(extents) & kept, extents)
            removed = terms[one].array.size + terms[two].array.size - result
            cost = (-removed, _size(set(extents), extents))
            if best is None or cost < best:
                best, found = cost, (one, two)
    return found


def _extents(*terms: _Term) -> dict[str, int]:
    found: dict[str, int] = {}
    for term in terms:
        for name, extent in zip(term.names, term.array.shape, strict=True):
            found[name] = max(found.get(name, 1), extent) if extent else 0
    return found


def _size(names: Any, extents: dict[str, int]) -> int:
    total = 1
    for name in names:
        total *= extents[name]
    return total


def _summed(term: _Term, kept: set[str]) -> _Term:
    """An array without the axes that nobody needs."""
    axes = tuple(n for n, name in enumerate(term.names) if name not in kept)
    if not axes:
        return term
    ufunc = np.logical_or if term.array.dtype.kind == "b" else np.add
    kind = None if term.array.dtype.kind == "b" else term.array.dtype
    return _Term(functions.reduce(ufunc, term.array, axes, kind), "".join(c for c in term.names if c in kept))


def _contracted(left: _Term, right: _Term, kept: set[str]) -> _Term:
    """The product of two arrays, summed over the axes that nobody needs."""
    left, right = _summed(left, kept | set(right.names)), _summed(right, kept | set(left.names))
    extents = _extents(left, right)
    if any(n == 1 < extents[c] for t in (left, right) for c, n in zip(t.names, t.array.shape, strict=True)):
        return _multiplied(left, right, kept)  # what is broadcast
    shared = [c for c in left.names if c in right.names]
    inner, batch = [c for c in shared if c not in kept], [c for c in shared if c in kept]
    rows, columns = ([c for c in t.names if c not in shared] for t in (left, right))
    if not inner or left.array.dtype.kind not in "fc" or not (_size(rows, extents) > 1 or _size(columns, extents) > 1):
        return _multiplied(left, right, kept)
    if not all(extents.values()):
        return _multiplied(left, right, kept)
    outer = tuple(extents[c] for c in batch)
    sizes = [_size(names, extents) for names in (rows, inner, columns)]
    a = reshaped(_ordered(left, [*batch, *rows, *inner]), (*outer, sizes[0], sizes[1]))
    b = reshaped(_ordered(right, [*batch, *inner, *columns]), (*outer, sizes[1], sizes[2]))
    found = whole(products.matmul(a, b), a)
    names = (*batch, *rows, *columns)
    return _Term(found.reshape(tuple(extents[c] for c in names)), "".join(names))


def _ordered(term: _Term, names: list[str]) -> DeviceNDArray:
    return term.array.transpose([term.names.index(c) for c in names])


def _multiplied(left: _Term, right: _Term, kept: set[str]) -> _Term:
    """The same by one kernel that multiplies and adds."""
    names = "".join(dict.fromkeys(left.names + right.names))
    spread = []
    for term in (left, right):
        order = [c for c in names if c in term.names]
        key = tuple(slice(None) if c in term.names else None for c in names)
        spread.append(_ordered(term, order)._view((*key, Ellipsis)))
    product = apply(np.logical_and if left.array.dtype.kind == "b" else np.multiply, *spread)
    return _summed(_Term(product, names), kept)


def _einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """NumPy's own, of arrays without memory: it looks at shapes only."""
    shapes = [np.broadcast_to(np.empty((), x.dtype), x.shape) if isinstance(x, DeviceNDArray) else x for x in operands]
    return np.einsum_path(*shapes, optimize=optimize)


register("einsum", _einsum, frozenset({"out", "dtype", "casting", "optimize", "order"}))
register("einsum_path", _einsum_path, frozenset({"optimize"}))
