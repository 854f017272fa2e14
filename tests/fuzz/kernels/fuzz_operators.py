"""Subject "operators": nests of two and three operators over one dtype, many a kernel, each of operands of its own.

Drivers fuse neighbouring operators (minima of three, sums that are shifted, widened negations), so each operand has
memory of its own: what two expressions share would be computed apart. The reference is that of kernels.
"""

from __future__ import annotations

from random import Random

from fuzz_kernel import Argument, Kernel
from fuzz_kernels import check, smaller

__all__ = ["check", "drawn", "smaller"]

NESTS = 8  # of a kernel
THREADS = 32
NAMES = {"i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "f4": "float32", "f8": "float64"}
NAMES |= {f"u{size}": f"uint{8 * size}" for size in (1, 2, 4, 8)}
COMMON = (
    "min({}, {})",
    "max({}, {})",
    "(-{})",
    "abs({})",
    "({} + {})",
    "({} - {})",
    "({} * {})",
    "({} if {} < {} else {})",
    "({} if {} == {} else {})",
    "T({} < {})",
    "T({} <= {})",
    "T({} != {})",
    "max({}, T(0))",
    "min({}, T(7))",
    "(T(0) - {})",
    "(T(1) - {})",
    "({} - T(1))",
)
WHOLE = (
    "(~{})",
    "({} & {})",
    "({} | {})",
    "({} ^ {})",
    "({} << ({} & M))",
    "({} >> ({} & M))",
    "({} << 3)",
    "({} >> 3)",
    "({} % T(4))",
    "({} // T(4))",
    "({} // T(3))",
    "T(min(W({}), W({})))",
    "({} if W({}) < W({}) else {})",
    "T(W({}))",
    "T(np.float32({} & T(31)))",
)
REAL = ("cuda.fma({}, {}, {})", "T(np.int32({}))", "T(np.int64({}))", "np.floor({})", "np.rint({})")


class _Nests:
    """Expressions of one dtype over rows of ``x``, each read once."""

    def __init__(self, random: Random, kind: str) -> None:
        self.random, self.kind, self.rows = random, kind, 0
        self.operators = COMMON + (REAL if kind[0] == "f" else WHOLE)

    def operand(self) -> str:
        text = f"x[{self.rows}, i]"
        self.rows += 1
        return f"(-{text})" if self.random.random() < 0.4 else text

    def nest(self, depth: int) -> str:
        """An expression with ``depth`` operators above each other along one path, and perhaps along others."""
        if depth == 0:
            return self.operand()
        operator = self.random.choice(self.operators)
        count = operator.count("{}")
        deep = self.random.randrange(count)
        parts = [
            self.nest(depth - 1 if n == deep or (depth == 3 and self.random.random() < 0.3) else 0)
            for n in range(count)
        ]
        wide = self.random.choice([name for name in NAMES.values() if name[0] != "f"])
        bits = str(8 * int(self.kind[1]) - 1)
        return self._named(operator, {"T(": f"np.{NAMES[self.kind]}(", "W(": f"np.{wide}(", "M)": f"{bits})"}).format(
            *parts
        )

    @staticmethod
    def _named(operator: str, names: dict[str, str]) -> str:
        for short, name in names.items():
            operator = operator.replace(short, name)
        return operator


def drawn(random: Random) -> list[Kernel]:
    """A kernel of `NESTS` expressions; results are exact."""
    kind = random.choice([*NAMES, "i4", "u2", "i2"])
    nests = _Nests(random, kind)
    lines = [f"    o[{n}, i] = {nests.nest(random.choice((2, 3)))}\n" for n in range(NESTS)]
    source = "@cuda.jit\ndef kernel(x, o):\n    i = cuda.grid(1)\n" + "".join(lines)
    arguments = (
        Argument("x", kind, (nests.rows, THREADS), "C"),
        Argument("o", kind, (NESTS, THREADS), "C", True),
    )
    return [Kernel(source, arguments, (1,), (THREADS,), random.randrange(2**32))]
