"""Random well-typed expressions whose values are exact, so that two implementations agree to the last bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fuzz_choices import Chooser
from fuzz_typed import (
    INTEGERS,
    NAMES,
    STORED,
    STRONG,
    ArrayName,
    Typed,
    bits,
    bounds,
    cast,
    exact,
    is_zero,
    joined,
    met,
    reduced,
    small,
    stored,
    total_magnitude,
    variable,
)


class Expressions:
    """Expressions of the names that a program has at a place."""

    def __init__(self, chooser: Chooser) -> None:
        self.choose = chooser
        self.variables: dict[str, str] = {}  # kinds by name; what a program may assign
        self.fixed: list[Typed] = []  # parameters, indices, counters, constants
        self.arrays: list[ArrayName] = []
        self.functions: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []  # name, parameters' and results' kinds
        self.records: list[Any] = []
        self.own_records: list[Any] = []

    def record_element(self, depth: int) -> Typed:
        """A field of a record, see fuzz_records."""
        raise NotImplementedError

    # leaves

    def literal(self) -> Typed:
        value = self.choose.pick(1, 0, 2, 3, 7, 10, 100, -1, -3, 127)
        return Typed(f"({value})" if value < 0 else str(value), "pi", 7, literal=True, maybe_constant=True)

    def real(self) -> Typed:
        return Typed(self.choose.pick("0.5", "1.0", "2.0", "0.25", "1.5", "3.75"), "pf", 2, 2)

    def leaf(self, arrays: bool = True) -> Typed:
        known = [*self.fixed, *(variable(n, k) for n, k in self.variables.items())]
        if arrays and (self.records or self.own_records) and self.choose.chance(4):
            return self.record_element(0)
        if arrays and self.arrays and self.choose.chance(3):
            return self.element(0)
        if not known or self.choose.chance(8):
            return self.choose.pick(self.literal, self.real)() if self.choose.chance(2) else self.scalar()
        return self.choose.pick(*known)

    def scalar(self) -> Typed:
        kind = self.choose.pick(*STRONG)
        if kind in INTEGERS and self.choose.chance(3):
            low, high = bounds(kind)
            return Typed(
                f"{NAMES[kind]}({self.choose.pick(high, low, high - 1, low + 1, high // 2 + 1)})", kind, bits(kind)
            )
        value = self.choose.pick("3", "1", "50", "0") if kind == "f2" else self.choose.pick("3", "1", "100", "0")
        return Typed(f"{NAMES[kind]}({value})", kind, 6 if kind == "f2" else 7)

    def index(self, length: str | int, depth: int) -> str:
        """A subscript that is in bounds; negative ones, too."""
        i = self.integer(depth)
        if not isinstance(length, int):
            i = cast(i, "pi") if i.kind != "pi" else i
        if i.literal:
            text = f"{abs(int(i.text.strip('()'))) % length}" if isinstance(length, int) else "0"
        else:
            text = f"{i.text} % {length}"
        if i.kind == "pi" and self.choose.chance(4):
            return f"-1 - {text}"
        return text

    def element(self, depth: int) -> Typed:
        if not self.arrays:
            return self.leaf()
        array = self.choose.pick(*self.arrays)
        lengths: list[str | int] = list(array.shape)
        if len(lengths) == 1 and self.choose.chance(3):
            lengths = [f"len({array.text})"]
        # subscripts of subscripts would grow without end
        deeper = depth if self.choose.chance(3) else -1
        places = [self.index(n, deeper) for n in lengths]
        inside = ("][" if len(lengths) == 2 and self.choose.chance(6) else ", ").join(places)
        return variable(f"{array.text}[{inside}]", array.kind)

    # numbers

    def number(self, depth: int) -> Typed:
        """Any number or bool."""
        if depth <= 0:
            return self.leaf(depth == 0)
        made = self.choose.pick(
            self.leaf,
            self._sum,
            self._bits,
            self._shift,
            self._floor,
            self._unary,
            self._extreme,
            self._cast,
            self._ternary,
            self._power,
            self._call,
            self._function,
            self._tuple_item,
            self._quotient,
            self._exact_function,
            self._bit_function,
            lambda d: self.element(d),
            lambda d: self.condition(d),
        )
        result = made(depth - 1) if made != self.leaf else self.leaf()
        return result if exact(result) else reduced(result)

    def integer(self, depth: int) -> Typed:
        e = self.number(depth)
        if e.kind == "b" or e.floating:
            return cast(e, self.choose.pick("i4", "pi", "i8", "u1"))
        return e

    def of(self, kind: str, depth: int) -> Typed:
        return cast(self.number(depth), kind)

    def _sum(self, depth: int) -> Typed:
        a, b = self.number(depth), self.operand(depth)
        if self.choose.chance(4):
            a, b = b, a
        for operator in (self.choose.pick("+", "-", "*"), "+"):
            found = joined(operator, a, b)
            if found is not None:
                return found
        return a

    def operand(self, depth: int) -> Typed:
        return self.literal() if self.choose.chance(4) else self.number(depth)

    def _two_integers(self, depth: int) -> tuple[Typed, Typed, str]:
        a, b = self.integer(depth), self.integer(depth)
        if self.choose.chance(4):
            b = self.literal()
            b = replace(b, text=b.text.strip("(-)"))
        return met(a, b)

    def _bits(self, depth: int) -> Typed:
        a, b, kind = self._two_integers(depth)
        constant = a.maybe_constant or b.maybe_constant
        magnitude = bits(kind) if kind != "pi" else max(a.magnitude, b.magnitude)
        return Typed(f"({a.text} {self.choose.pick('&', '|', '^')} {b.text})", kind, magnitude, maybe_constant=constant)

    def _shift(self, depth: int) -> Typed:
        a = self.integer(depth)
        operator = self.choose.pick("<<", ">>")
        if a.kind == "pi":
            count = self.choose.below(5)
            magnitude = a.magnitude + (count if operator == "<<" else 0)
            return Typed(f"({a.text} {operator} {count})", "pi", magnitude, maybe_constant=a.maybe_constant)
        count = self.choose.pick("1", "0", "5", f"{bits(a.kind) - 1}", f"{bits(a.kind)}", "v", "v")
        if count == "v":
            b = cast(self.integer(depth), a.kind)
            count = f"({b.text} & {self.choose.pick(7, 63, 15)})"
        return Typed(f"({a.text} {operator} {count})", a.kind, bits(a.kind))

    def _floor(self, depth: int) -> Typed:
        operator = self.choose.pick("%", "//")
        if self.choose.chance(3):
            a = self.number(depth)
            if a.floating:
                divisor = self.choose.pick("0.5", "2.0", "3.0", "0.75", "(-1.5)", "4", "(-3)")
                if operator == "%":
                    return Typed(f"({a.text} % {divisor})", a.kind, 3, max(a.fraction, 2))
                return Typed(f"({a.text} // {divisor})", a.kind, a.magnitude + 1)
        a, b, kind = self._two_integers(depth)
        constant = a.maybe_constant or b.maybe_constant
        if is_zero(b) or (kind == "pi" and not (b.literal and b.text != "0")):
            unsigned = "u" in (a.kind[0], kind[0])
            b = Typed(self.choose.pick("3", "4", "7", "5" if unsigned else "(-5)"), "pi", 3, literal=True)
            kind = a.kind  # which a literal adopts
        if b.literal and kind == "u8" and a.maybe_constant:
            a = cast(a, "u8")
        magnitude = bits(kind) if kind != "pi" else max(a.magnitude, b.magnitude) + 1
        return Typed(f"({a.text} {operator} {b.text})", kind, magnitude, maybe_constant=constant)

    def _unary(self, depth: int) -> Typed:
        a = self.number(depth)
        if a.literal:
            return a
        if a.kind == "b":
            return Typed(f"(not {a.text})", "b", 1)
        magnitude = bits(a.kind) if a.kind[0] == "u" else a.magnitude + 1
        if a.floating or self.choose.chance(2):
            return replace(a, text=f"(-{a.text})", magnitude=a.magnitude if a.floating else magnitude)
        return replace(a, text=f"(~{a.text})", magnitude=magnitude)

    def _extreme(self, depth: int) -> Typed:
        a, b, kind = met(self.number(depth), self.operand(depth))
        name = self.choose.pick("min", "max")
        if a.kind == "b" or b.kind == "b" or (a.literal and b.literal):
            return a
        if kind in STRONG and self.choose.chance(3) and a.kind == b.kind:
            name = f"np.{name}imum"
        constant = a.maybe_constant or b.maybe_constant
        magnitude = bits(kind) if kind in INTEGERS else max(total_magnitude(a), total_magnitude(b))
        result = Typed(f"{name}({a.text}, {b.text})", kind, magnitude, max(a.fraction, b.fraction), False, constant)
        return result if exact(result) else a

    def _cast(self, depth: int) -> Typed:
        e = self.number(depth)
        return cast(e, self.choose.pick(*STORED))

    def _ternary(self, depth: int) -> Typed:
        a, b = self.number(depth), self.number(depth)
        test = self.condition(depth)
        if self.choose.chance(6):
            b = a
            if self.choose.chance(2) and not a.literal:
                a = replace(a, text=f"({a.text} if {self._chain(0).text} else {b.text})")
        if a.literal or b.literal:
            a, b = (cast(x, "i4") if x.literal else x for x in (a, b))
        if a.kind != b.kind:
            if not (a.kind in STRONG and b.kind in STRONG):
                b = cast(b, a.kind)
            else:
                a, b, kind = met(a, b)
                whole = Typed(
                    f"({a.text} if {test.text} else {b.text})",
                    kind,
                    max(total_magnitude(a), total_magnitude(b)),
                    max(a.fraction, b.fraction),
                )
                # Python keeps the chosen operand's own type
                return replace(whole, text=f"{NAMES[kind]}{whole.text}") if exact(whole) else cast(a, kind)
        return Typed(
            f"({a.text} if {test.text} else {b.text})",
            a.kind,
            max(total_magnitude(a), total_magnitude(b)),
            max(a.fraction, b.fraction),
            False,
            a.maybe_constant or b.maybe_constant,
        )

    def _power(self, depth: int) -> Typed:
        a = self.number(depth)
        if a.integer:
            exponent = self.choose.pick(
                "2", "3", "1", "0", "5", f"({NAMES[a.kind]}(3) & {cast(self.integer(depth), a.kind).text})"
            )
            return Typed(f"({a.text} ** {exponent})", a.kind, bits(a.kind))
        n = self.choose.pick(2, 3)
        if a.kind == "b" or a.literal:
            return a
        result = replace(a, text=f"({a.text} ** {n})", magnitude=a.magnitude * n, fraction=a.fraction * n)
        return result if exact(result) else a

    def _call(self, depth: int) -> Typed:
        """A function of one number."""
        a = self.number(depth)
        if a.literal or a.kind == "b":
            return a
        if a.floating:
            if a.magnitude > 20:
                a = reduced(a)
            name = self.choose.pick("abs", "np.floor", "math.floor", "math.ceil", "round", "np.sign", "np.trunc", "int")
            if name in ("math.floor", "math.ceil", "round", "int"):
                return Typed(f"{name}({a.text})", "pi", a.magnitude + 1, maybe_constant=True)
            if name == "abs":
                return replace(a, text=f"abs({a.text})")
            return (
                Typed(f"{name}({cast(a, 'f4').text})", "f4", a.magnitude + 1)
                if a.kind == "pf" and exact(replace(a, kind="f4"))
                else Typed(f"{name}({cast(a, 'f8').text})", "f8", a.magnitude + 1)
                if a.kind == "pf"
                else Typed(f"{name}({a.text})", a.kind, a.magnitude + 1)
            )
        return replace(a, text=f"abs({a.text})")

    def _function(self, depth: int) -> Typed:
        """A call of a device function with one result."""
        single = [f for f in self.functions if len(f[2]) == 1]
        if not single:
            return self._sum(depth)
        name, parameters, results = self.choose.pick(*single)
        return variable(f"{name}({self.arguments(parameters, depth)})", results[0])

    def arguments(self, kinds: tuple[str, ...], depth: int) -> str:
        return ", ".join(stored(self.number(depth), kind).text for kind in kinds)

    def _tuple_item(self, depth: int) -> Typed:
        a = self.number(depth)
        a = cast(a, "i4") if a.literal else a
        b = cast(self.number(depth), a.kind)
        i = cast(self.integer(depth), "pi")
        return Typed(
            f"({a.text}, {b.text})[{i.text} % 2]",
            a.kind,
            max(total_magnitude(a), total_magnitude(b)),
            max(a.fraction, b.fraction),
            False,
            a.maybe_constant or b.maybe_constant,
        )

    def _quotient(self, depth: int) -> Typed:
        """A quotient by a power of two."""
        a = self.number(depth)
        a = small(a) if a.integer else a
        if a.kind == "b" or a.literal:
            return a
        n = self.choose.pick(1, 2)
        kind = a.kind if a.floating else "pf"
        result = Typed(f"({a.text} / {2**n})", kind, total_magnitude(a), a.fraction + n)
        return result if exact(result) else a

    def _exact_function(self, depth: int) -> Typed:
        """A function of floats whose results are exact, or a difference of conversions."""
        a = self.number(depth)
        if not a.floating or a.kind == "pf":
            return self._widened(a)
        name = self.choose.pick("np.rint", "np.fabs", "np.ceil", "np.copysign", "cuda.fma", "np.maximum", "cuda.selp")
        if name in ("np.copysign", "np.maximum", "cuda.selp"):
            b = stored(self.number(depth), a.kind)
            first = f"{self.condition(0).text}, " if name == "cuda.selp" else ""
            text = f"{name}({first}{a.text}, {b.text})"
            return replace(a, text=text, magnitude=max(a.magnitude, b.magnitude), fraction=max(a.fraction, b.fraction))
        if name == "cuda.fma":
            a, b, c = (stored(x, a.kind) for x in (a, self.number(depth), self.number(depth)))
            size = max(a.magnitude + b.magnitude, c.magnitude) + 1
            result = Typed(
                f"cuda.fma({a.text}, {b.text}, {c.text})", a.kind, size, max(a.fraction + b.fraction, c.fraction)
            )
            return result if exact(result) else a
        return replace(
            a, text=f"{name}({a.text})", magnitude=a.magnitude + 1 if exact(replace(a, fraction=0)) else a.magnitude
        )

    def _widened(self, a: Typed) -> Typed:
        """A sum that wraps around, converted to a wider type."""
        b = self.number(0)
        if not (a.integer and b.integer) or "u8" in (a.kind, b.kind):
            return a
        whole = joined(self.choose.pick("+", "-", "*"), a, b)
        return a if whole is None or whole.kind not in INTEGERS else cast(whole, "i8")

    def _bit_function(self, depth: int) -> Typed:
        a = self.integer(depth)
        if a.kind not in ("i4", "u4", "i8", "u8"):
            a = cast(a, self.choose.pick("i4", "u4", "i8", "u8"))
        if a.literal:
            a = cast(a, "i4")
        name = self.choose.pick("popc", "clz", "ffs", "brev")
        return Typed(
            f"cuda.{name}({a.text})", a.kind if name == "brev" else "i4", bits(a.kind) if name == "brev" else 7
        )

    # conditions

    def condition(self, depth: int) -> Typed:
        """A bool."""
        if depth <= 0:
            return self._comparison(0)
        made = self.choose.pick(
            self._comparison,
            self._comparison,
            self._chain,
            self._both,
            self._inverse,
            self._contained,
            self._limited,
            self._truth,
        )
        return made(depth - 1)

    def _comparable(self, depth: int) -> tuple[Typed, Typed]:
        a, b = self.number(depth), self.number(depth)
        if a.literal and b.literal:
            a = cast(a, "i2")
        for x in (a, b):
            if x.kind == "b":
                return cast(a, "b"), cast(b, "b")
        if a.floating or b.floating:
            a, b = small(a), small(b)
            if a.kind == "u8" or b.kind == "u8":
                a, b = (cast(x, "i8") if x.kind == "u8" else x for x in (a, b))
        return a, b

    def _comparison(self, depth: int) -> Typed:
        a, b = self._comparable(depth)
        if a.integer and b.integer and self.choose.chance(4):
            b = self._widened(b)
        operator = self.choose.pick("<", "<=", ">", ">=", "==", "!=")
        if a.kind == "b":
            operator = self.choose.pick("==", "!=")
        return Typed(f"({a.text} {operator} {b.text})", "b", 1)

    def _chain(self, depth: int) -> Typed:
        parts = [self.number(depth) for _ in range(3)]
        if not all(p.kind in INTEGERS or p.kind == "pi" for p in parts) or all(p.literal for p in parts):
            parts = [cast(p, "i8") for p in parts]
        signs = [self.choose.pick("<", "<=", ">", "!=") for _ in range(2)]
        return Typed(f"({parts[0].text} {signs[0]} {parts[1].text} {signs[1]} {parts[2].text})", "b", 1)

    def _both(self, depth: int) -> Typed:
        a, b = self.condition(depth), self.condition(depth)
        return Typed(f"({a.text} {self.choose.pick('and', 'or', '^', '&', '|')} {b.text})", "b", 1)

    def _inverse(self, depth: int) -> Typed:
        return Typed(f"(not {self.condition(depth).text})", "b", 1)

    def _limited(self, depth: int) -> Typed:
        """Whether a number inside its limits is one of them, or as it was; in its type or in another one."""
        a = self.number(depth)
        kind = a.kind if a.kind in STRONG else self.choose.pick(*INTEGERS)
        a = stored(a, kind)
        ends = [
            Typed(f"{NAMES[kind]}({self.choose.pick(0, 0, 1, 3, 7, 50)})", kind, 6)
            if self.choose.chance(2)
            else stored(self.number(0), kind)
            for _ in range(2)
        ]
        names = self.choose.pick(("min", "max"), ("max", "min"), ("max", "max"), ("min", "min"))
        text = f"{names[1]}({names[0]}({a.text}, {ends[0].text}), {ends[1].text})"
        size, fraction = (max(getattr(x, part) for x in (a, *ends)) for part in ("magnitude", "fraction"))
        inside, other = Typed(text, kind, size, fraction), self.choose.pick(a, *ends)
        if kind in INTEGERS and self.choose.chance(2):
            wanted = self.choose.pick(*INTEGERS)
            inside, other = cast(inside, wanted), cast(other, wanted)
        return Typed(f"({inside.text} {self.choose.pick('==', '==', '!=', '<', '>=')} {other.text})", "b", 1)

    def _contained(self, depth: int) -> Typed:
        e = self.integer(depth)
        e = cast(e, "i4") if e.literal else e
        other = cast(self.integer(depth), e.kind)
        return Typed(f"({e.text} {self.choose.pick('in', 'not in')} (1, 5, {other.text}))", "b", 1)

    def _truth(self, depth: int) -> Typed:
        return cast(self.number(depth), "b")
