"""The kernels that Triton's tutorials have, in Triton: of vectors, and a product of matrices.

Import it only where Triton is installed. Sizes of blocks are those of the tutorials, which have others to choose from;
products are of float32, as the kernels in the dialect are: tensor cores' TF32 would be other arithmetic.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN202

import triton
import triton.language as tl

_VECTOR = 1024
_ROWS, _COLUMNS, _DEPTH = 64, 64, 32


@triton.jit
def _saxpy(a, x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, a * tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def _matmul(a, b, c, m, n, depth, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(axis=0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(axis=1) * COLUMNS + tl.arange(0, COLUMNS)
    terms = tl.arange(0, DEPTH)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, depth, DEPTH):
        k = start + terms
        left = tl.load(
            a + rows[:, None] * depth + k[None, :], mask=(rows[:, None] < m) & (k[None, :] < depth), other=0.0
        )
        right = tl.load(
            b + k[:, None] * n + columns[None, :], mask=(k[:, None] < depth) & (columns[None, :] < n), other=0.0
        )
        total = tl.dot(left, right, total, input_precision="ieee")
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=inside)


def launch_saxpy(a, x, y):
    """Launch it on tensors."""
    n = x.numel()
    _saxpy[(triton.cdiv(n, _VECTOR),)](float(a), x, y, n, BLOCK=_VECTOR)


def launch_matmul(a, b, c):
    """Launch it on tensors."""
    (m, depth), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, _ROWS), triton.cdiv(n, _COLUMNS))
    _matmul[grid](a, b, c, m, n, depth, ROWS=_ROWS, COLUMNS=_COLUMNS, DEPTH=_DEPTH)


LAUNCHES = {
    "saxpy": launch_saxpy,
    "saxpy_strided": launch_saxpy,
    "matmul_naive": launch_matmul,
    "matmul_tiled": launch_matmul,
}
"""By the kernel's name; they take its arguments, torch's tensors."""
