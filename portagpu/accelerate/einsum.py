"""`numpy.einsum` of two operands as a product of matrices, or of a batch of them: which axes become which.

An axis of both operands that the result lacks is summed over (k), one of both that the result has counts products of a
batch, one of a single operand that the result has is a row or a column. What a single operand has and the result lacks
is summed before. The classification is the usual one of tensor contractions as "transpose, transpose, GEMM, transpose";
see P. Springer, P. Bientinesi, "Design of a High-Performance GEMM-like Tensor-Tensor Multiplication", ACM TOMS 44(3),
2018.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contraction:
    """Two operands' axes and the result's, by labels. Those that are summed within one operand are in no other group.

    left, right: labels of each operand's axes; batch, rows, columns, inner: what they become.
    """

    left: str
    right: str
    out: str
    batch: str
    rows: str
    columns: str
    inner: str

    def extents(self, sizes: Mapping[str, int]) -> tuple[int, int, int, int]:
        """(batch, m, n, k) of the product."""
        batch, m, n, k = (
            math.prod(sizes[label] for label in group) for group in (self.batch, self.rows, self.columns, self.inner)
        )
        return batch, m, n, k

    def apply(self, a: Array, b: Array, multiply: Callable[[Array, Array], Array]) -> Array:
        """The result, by ``multiply`` of arrays (m, k) and (k, n), or (batch, m, k) and (batch, k, n)."""
        sizes = sizes_of((self.left, self.right), (a, b))
        batch, m, n, k = self.extents(sizes)
        left = _arranged(a, self.left, self.batch, self.rows, self.inner).reshape(batch, m, k)
        right = _arranged(b, self.right, self.batch, self.inner, self.columns).reshape(batch, k, n)
        made = multiply(left, right) if self.batch else multiply(left[0], right[0])
        labels = self.batch + self.rows + self.columns
        made = made.reshape([sizes[label] for label in labels])
        return np.transpose(made, [labels.index(label) for label in self.out])


def contraction(left: str, right: str, out: str) -> Contraction | None:
    """The product that two operands' labels and the result's mean; None where it is none of matrices.

    That is so where an operand has a label twice (a diagonal), where nothing is summed over both, and where labels are
    wrong, about which NumPy has its own errors.
    """
    if any(len(set(labels)) != len(labels) for labels in (left, right, out)) or not set(out) <= {*left, *right}:
        return None
    both = [label for label in left if label in right]
    inner = "".join(label for label in both if label not in out)
    if not inner:
        return None
    return Contraction(
        left=left,
        right=right,
        out=out,
        batch="".join(label for label in out if label in both),
        rows="".join(label for label in out if label in left and label not in right),
        columns="".join(label for label in out if label in right and label not in left),
        inner=inner,
    )


def sizes_of(labels: Sequence[str], arrays: Sequence[Array]) -> dict[str, int]:
    """The size of each label; that of axes which broadcast to no other, since `numpy.einsum` lets sizes of 1."""
    sizes: dict[str, int] = {}
    for names, array in zip(labels, arrays, strict=True):
        for label, size in zip(names, array.shape, strict=True):
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    return sizes


def parse(subscripts: Any, operands: Sequence[Any]) -> tuple[str, str, str] | None:
    """The labels of two operands and of the result, from text or lists of integers, with ``...`` written out.

    ``operands`` are arrays; ``subscripts`` what `numpy.einsum` got beside them: a text, or for lists a tuple of two or
    three of them. None for what is not well formed, which NumPy has its own errors for.
    """
    text = subscripts if isinstance(subscripts, str) else _text_of(subscripts)
    if text is None:
        return None
    inputs, arrow, out = text.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if len(parts) != 2:
        return None
    axes = [_dotted(part, array.ndim) for part, array in zip(parts, operands, strict=True)]
    if None in axes:
        return None
    most = max(map(len, axes))  # type: ignore[arg-type]
    unused = [letter for letter in string.ascii_letters if letter not in text]
    if most > len(unused):
        return None
    dots = "".join(unused[:most])
    named = [
        part.replace("...", dots[most - len(mark) :])  # type: ignore[arg-type]
        for part, mark in zip(parts, axes, strict=True)
    ]
    if arrow:
        result = out.replace("...", dots)
        if out.count("...") > 1 or ("." in result):
            return None
    else:
        letters = "".join(part.replace("...", "") for part in parts)
        result = dots + "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    if not all(letter in string.ascii_letters for letter in "".join([*named, result])):
        return None
    if any(len(labels) != array.ndim for labels, array in zip(named, operands, strict=True)):
        return None
    return named[0], named[1], result


def _dotted(part: str, ndim: int) -> str | None:
    """A mark for each axis that an operand's ``...`` stands for; None where its labels are too many."""
    if "..." not in part:
        return ""
    rest = ndim - len(part.replace("...", ""))
    return "." * rest if rest >= 0 and part.count("...") == 1 else None


def _text_of(lists: Sequence[Any]) -> str | None:
    """Lists of integers, and of `Ellipsis`, as text."""
    if len(lists) not in (2, 3):
        return None
    texts = []
    for labels in lists:
        try:
            texts.append("".join("..." if label is Ellipsis else string.ascii_letters[label] for label in labels))
        except (TypeError, IndexError):
            return None
    return f"{texts[0]},{texts[1]}" + (f"->{texts[2]}" if len(texts) == 3 else "")


def _arranged(array: Array, labels: str, *groups: str) -> Array:
    """An operand with its axes in the order of the groups; others are summed."""
    wanted = "".join(groups)
    surplus = tuple(place for place, label in enumerate(labels) if label not in wanted)
    if surplus:
        array = np.sum(array, axis=surplus, dtype=array.dtype)
        labels = "".join(label for label in labels if label in wanted)
    return np.transpose(array, [labels.index(label) for label in wanted])
