"""Values of generated C: the subset of C that the printer emits, evaluated to bit-vectors with all undefined behaviour.

`run` executes the text of a function symbolically. Integers are promoted and converted as C does. A condition is noted
for each signed overflow, division by zero, quotient that does not fit, and shift by a count outside of the type; none
of them may hold for any input. Left shifts of negative numbers and conversions to narrower signed integers are two's
complement, as OpenCL C and C++20 define them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import z3

# bits and sign, in the order of conversion ranks
TYPES = {
    "bool": (8, False),
    "char": (8, True),
    "uchar": (8, False),
    "short": (16, True),
    "ushort": (16, False),
    "int": (32, True),
    "uint": (32, False),
    "long": (64, True),
    "ulong": (64, False),
}
_TOKEN = re.compile(
    r"\s*(?:(//[^\n]*)|(0x[\da-f]+(?:ul)?|\d+(?:UL|L|u)?)|([A-Za-z_][\w:]*)|(<<=|>>=|<<|>>|&&|\|\||[-+*/%&|^<>=!]=|\S))"
)
_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_ASSIGNMENTS = ("=", "+=", "-=", "*=", ">>=", "<<=")
_QUALIFIERS = ("const", "volatile", "static", "inline")


@dataclass(frozen=True)
class CValue:
    """A number and the name of its type."""

    type: str
    term: z3.BitVecRef

    @property
    def signed(self):
        return TYPES[self.type][1]

    @property
    def bits(self):
        return TYPES[self.type][0]


def extended(term, signed, bits):
    """A number in another width."""
    more = bits - term.size()
    if more <= 0:
        return term if more == 0 else z3.Extract(bits - 1, 0, term)
    return z3.SignExt(more, term) if signed else z3.ZeroExt(more, term)


def converted(value, kind):
    """A conversion, of which C takes the lower bits."""
    if kind == value.type:
        return value
    bits, _ = TYPES[kind]
    if kind == "bool":
        return CValue(kind, truth_number(value.term != 0, bits))
    return CValue(kind, extended(value.term, value.signed, bits))


def truth_number(condition, bits=32):
    """A condition as C's number."""
    return z3.If(condition, z3.BitVecVal(1, bits), z3.BitVecVal(0, bits))


def promoted(value):
    """Small integers are int."""
    return converted(value, "int") if value.bits < 32 else value


def usual(left, right):
    """The usual arithmetic conversions."""
    left, right = promoted(left), promoted(right)
    names = list(TYPES)
    kind = max(left.type, right.type, key=names.index)  # of one size, the unsigned one
    return converted(left, kind), converted(right, kind)


# text ---------------------------------------------------------------------------------------------------------------


def tokens(text):
    """The words of a text, without comments."""
    found, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        place = match.end()
        if not match.group(1):
            found.append(match.group(match.lastindex))
    return found


class Parser:
    """Syntax trees of the printer's C: nested tuples, whose first item says what they are."""

    def __init__(self, text):
        self.words, self.place = tokens(text), 0

    @property
    def word(self):
        return self.words[self.place] if self.place < len(self.words) else ""

    def peek(self, ahead):
        return self.words[self.place + ahead] if self.place + ahead < len(self.words) else ""

    def take(self, *expected):
        word = self.word
        assert not expected or word in expected, (word, expected, " ".join(self.words[max(0, self.place - 20) :][:40]))
        self.place += 1
        return word

    def expression(self):
        condition = self.level(0)
        if self.word != "?":
            return condition
        self.take()
        yes = self.expression()
        self.take(":")
        return "choice", condition, yes, self.expression()

    def level(self, number):
        if number == len(_LEVELS):
            return self.unary()
        left = self.level(number + 1)
        while self.word in _LEVELS[number]:
            left = ("binary", self.take(), left, self.level(number + 1))
        return left

    def unary(self):
        if self.word in ("-", "+", "~", "!"):
            return "unary", self.take(), self.unary()
        if self.word == "(" and self.peek(1) in TYPES and self.peek(2) == ")":
            self.take()
            kind = self.take()
            self.take(")")
            return "cast", kind, self.unary()
        return self.postfix()

    def postfix(self):
        word = self.take()
        if word == "(":
            tree = self.expression()
            self.take(")")
        elif word[0].isdigit():
            tree = ("literal", word)
        elif word == "sycl::bit_cast":
            self.take("<")
            kind = self.take()
            self.take(">")
            tree = ("call", f"as_{kind}", self.arguments())
        elif self.word == "(":
            tree = ("call", word, self.arguments())
        else:
            tree = ("name", word)
        while self.word == "[":
            self.take()
            tree = ("load", tree, self.expression())
            self.take("]")
        return tree

    def arguments(self):
        self.take("(")
        found = []
        while self.word != ")":
            found.append(self.expression())
            if self.word == ",":
                self.take()
        self.take(")")
        return found

    # statements

    def block(self):
        if self.word != "{":
            return [self.statement()]
        self.take("{")
        found = []
        while self.word != "}":
            found.append(self.statement())
        self.take("}")
        return found

    def statement(self):
        if self.word == "{":
            return "block", self.block()
        if self.word in ("if", "while"):
            word = self.take()
            self.take("(")
            condition = self.expression()
            self.take(")")
            body, other = self.block(), []
            if word == "if" and self.word == "else":
                self.take()
                other = self.block()
            return word, condition, body, other
        if self.word == "for":
            self.take()
            self.take("(")
            start = self.simple()
            self.take(";")
            condition = self.expression()
            self.take(";")
            step = self.simple()
            self.take(")")
            return "for", start, condition, step, self.block()
        tree = self.simple()
        self.take(";")
        return tree

    def simple(self):
        if self.word in ("return", "break", "continue"):
            word = self.take()
            return word, None if self.word == ";" else self.expression()
        while self.word in _QUALIFIERS:
            self.take()
        if self.word in TYPES and self.peek(1) != ")":
            kind, parts = self.take(), []
            while True:
                name, value = self.take(), None
                if self.word == "=":
                    self.take()
                    value = self.expression()
                parts.append((name, value))
                if self.word != ",":
                    return "declare", kind, parts
                self.take()
        target = self.postfix()
        if self.word in _ASSIGNMENTS:
            return "assign", target, self.take(), self.expression()
        return "evaluate", target


def functions(text):
    """The functions of a program's text: names to parameters and statements."""
    parser, found = Parser(text), {}
    for place in range(len(parser.words)):
        kind, name, bracket = parser.words[place : place + 3] if place + 3 <= len(parser.words) else ("", "", "")
        if bracket != "(" or (kind not in TYPES and kind != "void") or not name.isidentifier():
            continue
        parser.place = place + 2
        parser.take("(")
        parameters, last = [], []
        while parser.word != ")":
            word = parser.take()
            if word == ",":
                parameters.append(last)
                last = []
            else:
                last.append(word)
        parser.take(")")
        if parser.word == "{":
            parameters += [last] if last else []
            found[name] = ([(p[-2], p[-1]) for p in parameters if len(p) > 1], parser.block(), kind)
    return found


# evaluation ---------------------------------------------------------------------------------------------------------


@dataclass
class Machine:
    """Symbolic execution: variables, what was stored, and the conditions under which something is undefined."""

    functions: dict = field(default_factory=dict)
    names: dict = field(default_factory=dict)  # of the innermost call: values by name
    builtins: dict = field(default_factory=dict)  # of the language: functions of values
    faults: list = field(default_factory=list)  # (kind, condition)
    stores: list = field(default_factory=list)  # (condition, array, subscript, value)
    live: z3.BoolRef = field(default_factory=lambda: z3.BoolVal(True))
    result: CValue | None = None
    left: z3.BoolRef = field(default_factory=lambda: z3.BoolVal(False))  # whether the function has returned
    loop_limit: int = 70

    def fault(self, kind, condition):
        if not z3.is_false(z3.simplify(condition)):
            self.faults.append((kind, z3.And(self.live, condition)))

    def under(self, condition, action):
        before = self.live
        self.live = condition if z3.is_true(before) else z3.And(before, condition)
        found = action()
        self.live = before
        return found

    # expressions

    def value(self, tree):
        return getattr(self, f"_{tree[0]}")(*tree[1:])

    def truth(self, tree):
        term = self.value(tree).term
        if z3.is_app_of(term, z3.Z3_OP_ITE) and all(map(z3.is_bv_value, term.children()[1:])):
            test, yes, no = term.children()  # a comparison
            if yes.as_long() == 1 and no.as_long() == 0:
                return test
        return term != 0

    def _literal(self, word):
        digits = word.rstrip("ULul")
        suffix, number = word[len(digits) :].upper(), int(digits, 0)
        kind = {"UL": "ulong", "L": "long", "U": "uint", "": "int"}[suffix]
        bits, signed = TYPES[kind]
        assert number < 1 << (bits - signed), f"the literal {word} does not fit its type"
        return CValue(kind, z3.BitVecVal(number, bits))

    def _name(self, word):
        if word in ("true", "false"):
            return CValue("bool", z3.BitVecVal(word == "true", 8))
        return self.names[word]

    def _cast(self, kind, tree):
        return converted(self.value(tree), kind)

    def _choice(self, condition, yes, no):
        test = self.truth(condition)
        a = self.under(test, lambda: self.value(yes))
        b = self.under(z3.Not(test), lambda: self.value(no))
        if a.type != b.type:
            a, b = usual(a, b)
        elif a.type != "bool":
            a, b = promoted(a), promoted(b)
        return CValue(a.type, z3.If(test, a.term, b.term))

    def _unary(self, symbol, tree):
        if symbol == "!":
            return CValue("int", truth_number(self.value(tree).term == 0))
        value = promoted(self.value(tree))
        if symbol == "~":
            return CValue(value.type, ~value.term)
        if symbol == "-":
            if value.signed:
                self.fault("overflow of -", z3.Not(z3.BVSNegNoOverflow(value.term)))
            return CValue(value.type, -value.term)
        return value

    def _binary(self, symbol, left, right):
        if symbol in ("&&", "||"):
            first = self.truth(left)
            second = self.under(first if symbol == "&&" else z3.Not(first), lambda: self.truth(right))
            return CValue("int", truth_number((z3.And if symbol == "&&" else z3.Or)(first, second)))
        return self.arithmetic(symbol, self.value(left), self.value(right))

    def arithmetic(self, symbol, a, b):
        """An operator of two values."""
        if symbol in ("<<", ">>"):
            a, b = promoted(a), promoted(b)
            self.fault("count of a shift", z3.UGE(extended(b.term, b.signed, 64), a.bits))
            count = extended(b.term, False, a.bits)
            right = a.term >> count if a.signed else z3.LShR(a.term, count)
            return CValue(a.type, a.term << count if symbol == "<<" else right)
        a, b = usual(a, b)
        x, y, signed = a.term, b.term, a.signed
        if symbol in _COMPARISONS:
            return CValue("int", truth_number(_COMPARISONS[symbol](x, y, signed)))
        if signed and symbol in _OVERFLOWS:
            self.fault(f"overflow of {symbol}", z3.Not(z3.And(*(rule(x, y) for rule in _OVERFLOWS[symbol]))))
        if symbol in "/%":
            self.fault("division by zero", y == 0)
            if signed:
                self.fault("quotient that does not fit", z3.And(x == 1 << (a.bits - 1), y == -1))
        return CValue(a.type, _ARITHMETIC[symbol](x, y, signed))

    def _load(self, array, subscript):
        index = self.value(subscript)
        return load(self.names[array[1]], extended(index.term, index.signed, 64))

    def _call(self, name, arguments):
        values = [self.value(a) for a in arguments]
        if name in self.functions:
            return self.called(name, values)
        if name.startswith(("as_", "convert_")):
            kind = name.partition("_")[2]
            assert not name.startswith("as_") or TYPES[kind][0] == values[0].bits, (name, values)
            return converted(values[0], kind)
        if name in TYPES:
            return converted(values[0], name)
        return self.builtins[name](self, *values)

    def called(self, name, values):
        """A call of one of the text's functions."""
        parameters, body, kind = self.functions[name]
        outside = self.names, self.result, self.left
        self.names = {p: converted(v, kind) for (kind, p), v in zip(parameters, values, strict=True)}
        self.result, self.left = None, z3.BoolVal(False)
        self.execute(body)
        found = self.result
        self.names, self.result, self.left = outside
        return converted(found, kind)

    # statements

    def execute(self, body):
        for statement in body:
            before = self.live
            if not z3.is_false(self.left):
                self.live = z3.And(self.live, z3.Not(self.left))
            getattr(self, f"_do_{statement[0]}")(*statement[1:])
            self.live = before

    def _do_block(self, body):
        self.execute(body)

    def _do_declare(self, kind, parts):
        for name, tree in parts:
            value = CValue(kind, z3.FreshConst(z3.BitVecSort(TYPES[kind][0]))) if tree is None else self.value(tree)
            self.names[name] = converted(value, kind)

    def _do_assign(self, target, symbol, tree):
        value = self.value(tree)
        if target[0] == "load":
            index = self.value(target[2])
            array = self.names[target[1][1]]
            index = extended(index.term, index.signed, 64)
            self.stores.append((self.live, array.name, index, converted(value, array.type).term))
            return
        before = self.names[target[1]]
        if symbol != "=":
            value = self.arithmetic(symbol[:-1], before, value)
        after = converted(value, before.type)
        self.names[target[1]] = CValue(before.type, z3.If(self.live, after.term, before.term))

    def _do_evaluate(self, tree):
        self.value(tree)

    def _do_return(self, tree):
        if tree is not None:
            value = self.value(tree)
            if self.result is not None:
                a, b = (value, self.result) if value.type == self.result.type else usual(value, self.result)
                value = CValue(a.type, z3.If(self.live, a.term, b.term))
            self.result = value
        self.left = self.live if z3.is_false(self.left) else z3.Or(self.left, self.live)

    def _do_if(self, condition, then, other):
        test = self.truth(condition)
        self.under(test, lambda: self.execute(then))
        self.under(z3.Not(test), lambda: self.execute(other))

    def _do_while(self, condition, body, other):
        self._loop(condition, lambda: self.execute(body))

    def _do_for(self, start, condition, step, body):
        self.execute([start])
        self._loop(condition, lambda: (self.execute(body), self.execute([step])))

    def _loop(self, condition, turn):
        before = self.live
        for _ in range(self.loop_limit):
            test = self.truth(condition)
            self.live = z3.And(self.live, test)
            if not possible(self.live):
                break
            turn()
        else:
            raise AssertionError("a loop does not end")
        self.live = before


@dataclass(frozen=True)
class CArray:
    """An array: elements that nothing is known of."""

    name: str
    type: str


def load(array, index):
    """The element at a subscript of 64 bits: an unknown function of it."""
    bits, _ = TYPES[array.type]
    term = z3.Function(f"load {array.name} {bits}", z3.BitVecSort(64), z3.BitVecSort(bits))(index)
    return CValue(array.type, term)


def possible(condition):
    """Whether a condition can hold."""
    solver = z3.Solver()
    solver.add(condition)
    return solver.check() != z3.unsat


# division: solvers know too little of it, so that it is an unknown function with the facts that define it


def quotient(x, y, signed):
    """C's quotient, rounded towards zero."""
    sort = z3.BitVecSort(x.size())
    return z3.Function(f"quotient {'signed' if signed else 'unsigned'} {x.size()}", sort, sort, sort)(x, y)


def division_facts(terms):
    """Facts of each quotient in the terms: quotient * y + rest == x, with a rest smaller than y."""
    found, waiting, seen = [], list(terms), set()
    while waiting:
        term = waiting.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        waiting.extend(term.children())
        if z3.is_app(term) and term.decl().name().startswith("quotient "):
            found.append(quotient_fact(term, *term.children(), " signed " in term.decl().name()))
    return found


def quotient_fact(q, x, y, signed):
    """C's definition of a quotient; none of it where that is undefined."""
    zero, product = z3.BitVecVal(0, x.size()), q * y
    rest = x - product
    if not signed:
        fits = z3.And(z3.BVMulNoOverflow(q, y, False), z3.ULE(product, x), z3.ULE(q, x))
        return z3.Implies(y != 0, z3.And(fits, z3.ULT(rest, y), z3.Implies(y == 1, q == x)))
    lowest = z3.BitVecVal(1 << (x.size() - 1), x.size())
    half = x >> 1
    halves = z3.If(x >= 0, z3.And(q <= half, q >= -half), z3.And(q >= half, q <= -half))
    return z3.Implies(
        z3.And(y != 0, z3.Not(z3.And(x == lowest, y == -1))),
        z3.And(
            *(rule(q, y) for rule in _OVERFLOWS["*"]),
            *(rule(x, product) for rule in _OVERFLOWS["-"]),
            z3.If(x >= 0, z3.And(rest >= 0, product >= 0, product <= x), z3.And(rest <= 0, product <= 0, product >= x)),
            z3.If(y > 0, z3.And(rest < y, rest > -y), z3.And(rest > y, z3.Or(y == lowest, rest < -y))),
            z3.If(y == 1, q == x, z3.If(y == -1, q == -x, halves)),
            z3.If((x < 0) == (y < 0), q >= zero, q <= zero),
        ),
    )


_COMPARISONS = {
    "<": lambda x, y, signed: x < y if signed else z3.ULT(x, y),
    "<=": lambda x, y, signed: x <= y if signed else z3.ULE(x, y),
    ">": lambda x, y, signed: x > y if signed else z3.UGT(x, y),
    ">=": lambda x, y, signed: x >= y if signed else z3.UGE(x, y),
    "==": lambda x, y, signed: x == y,
    "!=": lambda x, y, signed: x != y,
}
_ARITHMETIC = {
    "+": lambda x, y, signed: x + y,
    "-": lambda x, y, signed: x - y,
    "*": lambda x, y, signed: x * y,
    "/": lambda x, y, signed: quotient(x, y, signed),
    "%": lambda x, y, signed: x - quotient(x, y, signed) * y,
    "&": lambda x, y, signed: x & y,
    "|": lambda x, y, signed: x | y,
    "^": lambda x, y, signed: x ^ y,
}


def _no_overflow(rule):
    return lambda x, y: rule(x, y, True)


_OVERFLOWS = {
    "+": (_no_overflow(z3.BVAddNoOverflow), z3.BVAddNoUnderflow),
    "-": (z3.BVSubNoOverflow, _no_overflow(z3.BVSubNoUnderflow)),
    "*": (_no_overflow(z3.BVMulNoOverflow), z3.BVMulNoUnderflow),
}


# functions of the language ------------------------------------------------------------------------------------------


def _same_type(function):
    """A function whose operands must have one type: others are ambiguous in OpenCL C."""

    def call(machine, *values):
        assert len({v.type for v in values}) == 1, [v.type for v in values]
        return CValue(values[0].type, function(values[0].signed, *(v.term for v in values)))

    return call


def ones(term):
    """The number of ones, in the width of the term."""
    bits = term.size()
    return sum((z3.ZeroExt(bits - 1, z3.Extract(n, n, term)) for n in range(bits)), z3.BitVecVal(0, bits))


def leading_zeros(term):
    """The number of zeros above the highest one."""
    bits = term.size()
    found = z3.BitVecVal(bits, bits)
    for place in range(bits):
        found = z3.If(z3.Extract(place, place, term) == 1, z3.BitVecVal(bits - 1 - place, bits), found)
    return found


def upper_half(signed, x, y):
    """The upper half of a product."""
    bits = x.size()
    wide = extended(x, signed, 2 * bits) * extended(y, signed, 2 * bits)
    return z3.Extract(2 * bits - 1, bits, wide)


def half_sum(signed, x, y, more=0):
    """(x + y + more) >> 1 without overflow."""
    bits = x.size()
    wide = extended(x, signed, bits + 2) + extended(y, signed, bits + 2) + more
    return z3.Extract(bits, 1, wide)


BUILTINS = {
    "min": _same_type(lambda signed, x, y: z3.If(y < x if signed else z3.ULT(y, x), y, x)),
    "max": _same_type(lambda signed, x, y: z3.If(x < y if signed else z3.ULT(x, y), y, x)),
    "popcount": _same_type(lambda signed, x: ones(x)),
    "clz": _same_type(lambda signed, x: leading_zeros(x)),
    "mul_hi": _same_type(upper_half),
    "hadd": _same_type(half_sum),
    "rhadd": _same_type(lambda signed, x, y: half_sum(signed, x, y, 1)),
}
