"""Random expressions over device arrays whose values are exact, so that NumPy and the device agree to the last bit.

Complex products and sums of floats are drawn where their values are small whole numbers. Results of minima, maxima and
sorts of floats get ``+ 0``, since which of two zeros they give is open.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from fuzz_array_data import DTYPES
from fuzz_array_run import execute, quiet
from fuzz_choices import Chooser

LARGEST = 3000  # elements of a result
UNARY = {
    "b": ("~{}", "np.logical_not({})", "np.positive({}.astype('i1'))", "np.isnan({})"),
    "iu": ("-{}", "~{}", "np.abs({})", "np.sign({})", "np.square({})", "np.bitwise_count({})", "np.invert({})"),
    "f": (
        *("-{}", "np.abs({})", "np.floor({})", "np.ceil({})", "np.trunc({})", "np.rint({})", "np.sign({})"),
        *("np.square({})", "np.reciprocal({})", "np.signbit(np.nan_to_num({}))"),  # signs of NaN differ
        *("np.isnan({})", "np.isinf({})", "np.isfinite({})"),
        *(
            "np.fabs({})",
            "{} ** 2",
            "np.round({})",
            "np.nan_to_num({})",
            "np.logical_not({})",
            "np.spacing(np.abs({}))",
        ),
    ),
    "c": ("-{}", "np.conj({})", "np.isfinite({})", "np.positive({})", "np.logical_not({})"),
}
_COMPARED = ("{} == {}", "{} != {}", "{} < {}", "{} <= {}", "{} > {}", "{} >= {}")
_LOGICAL = ("np.logical_and({}, {})", "np.logical_or({}, {})", "np.logical_xor({}, {})")
_WHOLE = ("{} + {}", "{} - {}", "{} * {}", "{} & {}", "{} | {}", "{} ^ {}", "{} // {}", "{} % {}", "{} / {}")
BINARY = {
    "b": ("{} & {}", "{} | {}", "{} ^ {}", "{} + {}", "{} * {}", "np.maximum({}, {})", "{} - {}"),
    "iu": (
        *_WHOLE,
        *("{} << {}", "{} >> {}", "np.maximum({}, {})", "np.minimum({}, {})", "np.gcd({}, {})", "np.fmod({}, {})"),
        *("np.floor_divide({}, {})", "np.divmod({}, {})[1]", "{} ** (np.abs({}) % 4).astype('u1')"),
    ),
    "f": (
        *("{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} + {}", "{} - {}", "{} * {}", "{} // {}", "{} % {}"),
        *("np.maximum({}, {}) + 0", "np.minimum({}, {}) + 0", "np.fmax({}, {}) + 0", "np.fmin({}, {}) + 0"),
        *(
            "np.copysign({}, np.nan_to_num({}))",
            "np.nextafter(np.abs({}), np.abs({}))",
            "np.heaviside({}, {})",
            "np.fmod({}, {})",
        ),
    ),
    "c": ("{} + {}", "{} - {}", "{} == {}", "{} != {}", "{} * {}"),
}
ROUGH = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "sinh", "cosh", "arcsin", "arccos")
ROUGH += ("arcsinh", "arccosh", "cbrt", "sqrt", "tan", "tanh", "arctan", "deg2rad", "rad2deg")


def group(kind: str) -> str:
    """The key of the tables above for a dtype's kind."""
    return "iu" if kind in "iu" else kind


class ArrayExpressions:
    """Texts of expressions over the names of a scope, in which they can be run with NumPy."""

    def __init__(self, choose: Chooser, scope: dict[str, Any]) -> None:
        self.choose, self.scope = choose, scope

    # names

    def arrays(self, letters: str = "vshmn") -> list[str]:
        """Names of values; those that begin with ``v`` first."""
        names = [n for n in self.scope if n[0] in letters and n[1:2].isdigit() and hasattr(self.scope[n], "dtype")]
        return sorted(names, key=lambda n: (n[0] != "v", self.scope_order(n)))

    def scope_order(self, name: str) -> int:
        return -list(self.scope).index(name)

    def device_array(self) -> str:
        return str(self.choose.pick(*self.arrays("v")))

    def written(self) -> str:
        names = self.arrays("v")
        with quiet():
            fitting = [n for n in names if self.scope[n].flags.writeable]
        return str(self.choose.pick(*(fitting or names)))

    def value(self, text: str) -> Any:
        value, error = execute(text, self.scope)
        return None if error is not None else value

    def literal(self, name: str) -> str:
        """A number of Python or NumPy that the array can hold."""
        dtype = self.scope[name].dtype
        pick = self.choose.pick
        if dtype.kind == "b":
            return str(pick("True", "False", "np.True_"))
        numbers: tuple[Any, ...] = (1, 2, 0, 3, 7, 100) + (() if dtype.kind == "u" else (-1, -3))
        number = pick(*numbers)
        if dtype.kind in "fc" and self.choose.chance(3):
            number = pick(0.5, -2.25, 1e3)
        return f"np.{dtype.type.__name__}({number})" if self.choose.chance(4) else str(number)

    def operand(self, name: str) -> str:
        """Something that broadcasts with an array."""
        shape = np.shape(self.scope[name])
        fitting = [n for n in self.arrays() if self.broadcasts(np.shape(self.scope[n]), shape)]
        alike = [n for n in fitting if np.shape(self.scope[n]) == shape]
        return str(self.choose.pick(*alike, *fitting, self.literal(name)))

    def broadcasts(self, one: Any, other: Any) -> bool:
        try:
            return int(np.prod(np.broadcast_shapes(one, other))) <= LARGEST
        except ValueError:
            return self.choose.chance(40)

    def converts(self, source: Any, target: Any) -> bool:
        """Whether each value of an array, or number, converts to what NumPy and C define."""
        if source.dtype.kind == "c" and target.dtype.kind != "c":
            return False
        return source.dtype.kind != "f" or target.dtype.kind in "fcb"

    def sortable(self, array: Any) -> bool:
        """Whether equal elements are the same bits."""
        return array.dtype.kind in "iub"

    # exact values

    def small(self, value: Any, terms: float = 1) -> bool:
        """Whether sums of so many elements are whole numbers that the dtype holds."""
        if value.dtype.kind in "biu":
            return True
        with np.errstate(all="ignore"):
            parts = [value.real, value.imag] if value.dtype.kind == "c" else [value]
            limit = 1 << (np.finfo(value.dtype).nmant - 1)
            return all(bool(np.all(np.isfinite(p) & (np.rint(p) == p) & (np.abs(p) * terms < limit))) for p in parts)

    def factor(self, value: Any) -> bool:
        """Whether products with numbers of the same size are whole numbers that the dtype holds."""
        value = np.asarray(value)
        with quiet():
            return self.small(value, float(np.max(np.abs(value), initial=1)))

    # expressions

    def leaf(self) -> str:
        name = self.device_array()
        if self.choose.chance(4) and self.scope[name].ndim:
            view = name + self.view_of(self.scope[name])
            return view if self.value(view) is not None else name
        if self.choose.chance(8) and (others := self.arrays("s")):
            return str(self.choose.pick(*others))
        return name

    def expression(self, depth: int) -> str:
        """A text of nested functions of elements."""
        if depth == 0:
            return self.leaf()
        a = self.expression(depth - 1)
        value = self.value(a)
        if value is None or np.size(value) > LARGEST:
            return a
        if " " in a:
            a = f"({a})"
        form = self.choose.below(8)
        if form < 2:
            return str(self.choose.pick(*UNARY[group(value.dtype.kind)]).format(a))
        if form == 2:
            return self.converted(a, value)
        if form == 3:
            return self.chosen(a, value)
        return self.binary(a, value, depth)

    def binary(self, a: str, x: Any, depth: int) -> str:
        b = self.second(x, depth)
        if (both := self.value(f"{a} + {b}")) is None:
            return f"{a} + {b}"
        kind = group(both.dtype.kind)
        forms = (*BINARY[kind], *_COMPARED, *_LOGICAL) if kind != "c" else BINARY[kind]
        form = str(self.choose.pick(*forms))
        if kind == "c" and "*" in form and not (self.factor(x) and self.factor(self.value(b))):
            form = "{} + {}"
        return form.format(a, b)

    def second(self, x: Any, depth: int) -> str:
        """Another operand: a name, a smaller expression or a number."""
        fitting = [n for n in self.arrays() if self.broadcasts(np.shape(self.scope[n]), np.shape(x))]
        alike = [n for n in fitting if np.shape(self.scope[n]) == np.shape(x)]
        number = str(self.choose.pick("2", "1", "3", "0", "True", "0.5", "np.int8(3)", "np.float32(1.5)", "-1", "100"))
        form = self.choose.below(6)
        if form == 0 or not fitting:
            return number
        if form == 1 and depth > 1:
            text = self.expression(depth - 2)
            y = self.value(text)
            if y is not None and self.broadcasts(np.shape(y), np.shape(x)):
                return f"({text})" if " " in text else text
        return str(self.choose.pick(*(alike or fitting), *fitting))

    def converted(self, a: str, x: Any) -> str:
        kind = str(self.choose.pick(*DTYPES))
        target = np.dtype(kind)
        if x.dtype.kind == "c" and target.kind != "c":
            return f"{a}.astype('c16')"
        if x.dtype.kind == "f" and target.kind == "i":
            a = f"np.where(np.abs({a}) < 100, {a}, 0)"
        elif x.dtype.kind == "f" and target.kind == "u":
            a = f"np.where(({a} >= 0) & ({a} < 200), {a}, 0)"
        return f"{a}.astype({kind!r})"

    def chosen(self, a: str, x: Any) -> str:
        if x.dtype.kind == "c":
            return f"np.where({a} == 0, {a}, 1)"
        other = self.second(x, 1)
        if x.dtype.kind in "bu" and other in ("-1", "100"):  # NumPy's where wraps numbers that the dtype cannot hold
            other = "1"
        condition = self.choose.pick(f"{a} > 0", f"{a} != {other}", f"{a} == {a}")
        if x.dtype.kind in "iuf" and self.choose.chance(4):
            zero = " + 0" if x.dtype.kind == "f" else ""
            return f"(np.clip({a}, 0, 3){zero})"
        return str(self.choose.pick(f"np.where({condition}, {a}, {other})", f"np.where({condition}, {other}, {a})"))

    # views and subscripts

    def view_of(self, array: Any) -> str:
        """A view as the text that follows a name."""
        forms = [".reshape(-1)", ".ravel()", "[None]", "[...]", ".T"]
        if array.ndim:
            forms += [
                "[::-1]",
                "[1:]",
                "[::2]",
                "[-2:]",
                "[..., ::-1]",
                "[..., None]",
                "[..., :3]",
                self.subscript(array),
            ]
        if array.ndim > 1:
            forms += [".T", "[:, ::-1]", "[:, 1]", "[::-1, 1:]", ".swapaxes(0, -1)", ".diagonal()", ".squeeze()"]
            forms += [f".transpose({', '.join(str(n) for n in (*range(1, array.ndim), 0))})", "[:, None]"]
            forms += [".ravel(order='F')", f".reshape({(*array.shape[1:], array.shape[0])})"]
        if array.dtype.kind == "c":
            forms += [".real", ".imag", ".real", ".imag"]
        if array.dtype.kind in "iu":
            forms.append(f".view('{'u' if array.dtype.kind == 'i' else 'i'}{array.itemsize}')")
        return str(self.choose.pick(*forms))

    def subscript(self, array: Any) -> str:
        """Slices, numbers, new axes and an ellipsis."""
        parts: list[str] = []
        for n in array.shape[: 1 + self.choose.below(max(array.ndim, 1))]:
            forms = [":", "::-1", "1:", "::2", ":-1", "-1:0:-2", "2:2", "7:", "-9:3"]
            if n and len(parts) < array.ndim - 1:
                forms += ["0", "-1", f"{n - 1}"]
            parts.append(str(self.choose.pick(*forms)))
        if self.choose.chance(6):
            parts.append("None")
        if self.choose.chance(5) or not parts:
            parts.insert(self.choose.below(len(parts) + 1), "...")
        return f"[{', '.join(parts)}]"

    def places(self, array: Any, count: int, once: bool = False) -> str:
        """Numbers of places along the first axis, negative ones too, perhaps each only once."""
        n = array.shape[0] if array.ndim else 1
        numbers = [self.choose.below(max(n, 1)) for _ in range(1 + self.choose.below(count))]
        if once:
            numbers = list(dict.fromkeys(numbers))
        shown = [k - n if k % 3 == 1 else k for k in numbers]
        text = f"[{', '.join(map(str, shown))}]"
        return self.choose.pick(text, f"np.array({text})", f"np.array({text}, 'i4')") if shown else text

    def fancy_once(self, array: Any) -> str:
        """Places, each once, or a mask."""
        if array.ndim == 0:
            return "[...]"
        if array.ndim > 1 and self.choose.chance(3):
            turned = array.swapaxes(0, 1)
            return f"[:, {self.places(turned, 3, once=True)}]"
        return f"[{self.places(array, 3, once=True)}]"

    def axis(self, array: Any, several: bool = False) -> str:
        """An axis, few of them out of range."""
        if array.ndim == 0:
            return "0" if not several else "None"
        if self.choose.chance(60):
            return str(array.ndim)
        forms = [str(n) for n in range(-array.ndim, array.ndim)]
        if several:
            forms += ["None", "None"]
            forms += ["(0, 1)", "(-1, 0)"] if array.ndim > 1 else []
        return str(self.choose.pick(*forms))

    # what others make of them

    def reduction(self) -> str:
        from fuzz_array_functions import reduction

        return reduction(self)

    def arrangement(self) -> str:
        from fuzz_array_functions import arrangement

        return arrangement(self)

    def function_into(self, target: str) -> str:
        from fuzz_array_functions import function_into

        return function_into(self, target)

    def rough(self) -> tuple[str, str]:
        from fuzz_array_functions import rough

        return rough(self)
