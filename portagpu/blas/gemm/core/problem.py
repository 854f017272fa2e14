"""`Problem`: shape, dtypes, orders and scaling of a GEMM, as a value."""

from __future__ import annotations

from dataclasses import asdict, dataclass

ITEM_SIZES = {
    "int8": 1,
    "uint8": 1,
    "float16": 2,
    "bfloat16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "float64": 8,
    "uint64": 8,
    "complex64": 8,
    "complex128": 16,
}
"""Bytes of an element, by its dtype."""

_ACCUMULATORS = {"int8": "int32", "uint8": "int32", "uint16": "uint32", "float16": "float32", "bfloat16": "float32"}
_DEFAULT_OUTPUTS = {"int8": "int32", "uint8": "int32"}

DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "complex64", "complex128")
"""Dtypes of operands that benchmarks and the tuner know."""

UNSIGNED = {16: "uint16", 32: "uint32", 64: "uint64"}
"""By their bits, the dtypes as which kernels read other integers; see `portagpu.blas.gemm.integer_products`."""


def default_output(dtype: str) -> str:
    """The dtype of a product of operands of a dtype, unless another one is asked for."""
    return _DEFAULT_OUTPUTS.get(dtype, dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """``c (m, n) = alpha * a (m, k) @ b (k, n) + beta * c``, ``batch`` times.

    ``dtype`` is that of a and b, ``out`` that of c ("": the default, see `default_output`; the default by name becomes
    ""). ``precision`` is how products are formed: "" as the dtypes say, or a mode that some variant lists.

    ``a_order`` and ``b_order``: "C" where the elements of a row lie side by side, "F" where those of a column do, ""
    where neither; rows (columns) may have gaps between them. ``c_order`` is "C" or "". ``aligned`` says that a, b and c
    begin at multiples of 16 bytes and that the steps between their rows (columns, for "F") and batches are such
    multiples, and that c's rows end at such. ``scaled`` says that alpha is not 1 or beta is not 0.
    """

    m: int
    n: int
    k: int
    dtype: str
    out: str = ""
    precision: str = ""
    batch: int = 1
    a_order: str = "C"
    b_order: str = "C"
    c_order: str = "C"
    aligned: bool = True
    scaled: bool = False

    def __post_init__(self) -> None:
        """One value for each problem: the default output has one name."""
        if self.out == default_output(self.dtype):
            object.__setattr__(self, "out", "")

    @property
    def out_dtype(self) -> str:
        """Dtype of c."""
        return self.out or default_output(self.dtype)

    @property
    def accumulator(self) -> str:
        """Dtype in which sums are formed."""
        return _ACCUMULATORS.get(self.dtype, self.dtype)

    @property
    def itemsize(self) -> int:
        """Bytes of an element of a and b."""
        return ITEM_SIZES[self.dtype]

    @property
    def out_itemsize(self) -> int:
        """Bytes of an element of c."""
        return ITEM_SIZES[self.out_dtype]

    @property
    def accumulator_itemsize(self) -> int:
        """Bytes of a sum."""
        return ITEM_SIZES[self.accumulator]

    @property
    def is_complex(self) -> bool:
        """Whether the operands are complex."""
        return self.dtype.startswith("complex")

    @property
    def flops(self) -> int:
        """Operations: a multiplication and an addition for each of batch * m * n * k terms, four times that for complex
        ones."""
        return (8 if self.is_complex else 2) * self.m * self.n * self.k * self.batch

    @property
    def nbytes(self) -> int:
        """Bytes of the operands and the result, each counted once: what must move at the least."""
        read = (self.m * self.k + self.k * self.n) * self.itemsize
        return (read + self.m * self.n * self.out_itemsize) * self.batch

    @property
    def values(self) -> dict[str, int | float | str | bool]:
        """The problem as the tuner knows it."""
        return asdict(self)

    @property
    def words(self) -> str:
        """Sizes, arithmetic and layout, and what else is not the rule: "512 x 512 x 64 float32 NT, rows not aligned".

        The layout: for a and b, "N" where rows lie side by side, "T" where columns do, "-" where neither.
        """
        layout = "".join({"C": "N", "F": "T"}.get(order, "-") for order in (self.a_order, self.b_order))
        batch = f"{self.batch} of " if self.batch > 1 else ""
        remarks = {
            "neither rows nor columns of the result side by side": not self.c_order,
            "rows not aligned to 16 bytes": not self.aligned,
            "with alpha or beta": self.scaled,
        }
        said = [f"{batch}{self.m} x {self.n} x {self.k} {self.arithmetic} {layout}"]
        return ", ".join(said + [remark for remark, holds in remarks.items() if holds])

    @property
    def arithmetic(self) -> str:
        """What is computed, as a text: "float32", "float16>float32", "float32/tf32"; results are stored under it."""
        return f"{self.dtype}{'>' + self.out if self.out else ''}{'/' + self.precision if self.precision else ''}"
