"""Prints statements: lines of C, each with the place in the user's text it came from."""

from __future__ import annotations

from portagpu.backends.c_family.analysis import Facts
from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.line import Line
from portagpu.backends.c_family.numbers.complex_numbers import is_complex
from portagpu.backends.c_family.numbers.overflow import may_pass_end
from portagpu.backends.c_family.precedence import EQUALITY, LOWEST, POSTFIX, RELATION, TERNARY, UNARY
from portagpu.backends.c_family.printer import Printer
from portagpu.backends.c_family.printf import print_call
from portagpu.dtypes import BOOL
from portagpu.ir.analysis.uniform import Marks
from portagpu.ir.nodes import (
    Assign,
    Break,
    Constant,
    Continue,
    Evaluate,
    For,
    If,
    Instruction,
    Print,
    Return,
    Select,
    Stmt,
    Store,
    Var,
    VectorStore,
    While,
)
from portagpu.ir.program import Function
from portagpu.ir.types import Pointer, Scalar, Struct, Type, Vector, element_size
from portagpu.ir.walk import all_expressions, all_statements, expressions, unreachable
from portagpu.source import Span


class Emitter:
    """Prints the body of one function; ``marks``: its barriers, where last turns of loops around them are hidden."""

    def __init__(self, function: Function, facts: Facts, printer: Printer, marks: Marks | None) -> None:
        self.function = function
        self.facts = facts
        self.printer = printer
        self._marks = marks
        self.lines: list[Line] = []
        self._declared: set[tuple[str, Type]] = {(p.name, p.type) for p in function.parameters}
        self._declared |= {(a.name, Pointer(a.element, a.space)) for a in function.locals}
        self._depth = 1
        self._commented: tuple[str, int] | None = None

    def run(self) -> list[Line]:
        """Print all statements."""
        self._block(self.function.body)
        return self.lines

    def _line(self, text: str, span: Span | None = None) -> None:
        self.lines.append(Line("    " * self._depth + text, span))

    def _comment(self, span: Span) -> None:
        """Show the Python line once before what it became."""
        key = (span.filename, span.line)
        if key != self._commented:
            self._commented = key
            text = span.text.strip().rstrip("\\").replace("??/", "?? /").encode("ascii", "replace").decode()
            self._line(f"// {span.line}: {text}", span)

    def _block(self, body: tuple[Stmt, ...]) -> None:
        self._declare_split(body)
        for statement in body:
            self._comment(statement.span)
            self._statement(statement)

    def _declare_split(self, body: tuple[Stmt, ...]) -> None:
        """Declare variables whose home is this block, but whose first use is deeper inside."""
        direct = {(s.target.name, s.target.type) for s in body if isinstance(s, Assign) and not self._reads_itself(s)}
        first_seen: set[tuple[str, Type]] = set()
        for statement in body:
            uses = self._slots_of(statement)
            for slot in uses:
                if self.facts.home.get(slot) != id(body) or slot in self._declared or slot in first_seen:
                    continue
                first_seen.add(slot)
                is_here = isinstance(statement, Assign) and (statement.target.name, statement.target.type) == slot
                if is_here and slot in direct:
                    continue
                self._declared.add(slot)
                # set on some paths only: CUDA-Python's programs read it on others, and C compilers draw conclusions
                self._line(f"{self._type(slot[1])} {self.printer.names(*slot)} = {self._zero(slot[1])};")

    def _reads_itself(self, statement: Assign) -> bool:
        return any(
            isinstance(e, Var) and (e.name, e.type) == (statement.target.name, statement.target.type)
            for e in all_expressions(statement.value)
        )

    def _slots_of(self, statement: Stmt) -> list[tuple[str, Type]]:
        found: dict[tuple[str, Type], None] = {}
        for inner in all_statements((statement,)):
            for top in expressions(inner):
                for expr in all_expressions(top):
                    if isinstance(expr, Var) and self._is_variable(expr):
                        found.setdefault((expr.name, expr.type))
            if isinstance(inner, Assign):
                found.setdefault((inner.target.name, inner.target.type))
        return list(found)

    def _is_variable(self, var: Var) -> bool:
        return var.name not in self.printer.fixed

    def _type(self, kind: Type) -> str:
        self.printer.helpers.note(kind)
        if isinstance(kind, Pointer):
            return self.printer.language.type(Pointer(kind.element, kind.space, kind.readonly))
        if self.printer.helpers.has_barriers and isinstance(kind, Scalar) and kind.dtype is BOOL:
            return "int"  # a CPU driver got a flag wrong: docs/driver-quirks.md
        return c_type(kind)

    def _zero(self, kind: Type) -> str:
        if isinstance(kind, Struct):
            return self.printer.language.empty_struct
        return f"({c_type(kind)})(0)" if isinstance(kind, Vector) or is_complex(kind) else "0"

    def _statement(self, statement: Stmt) -> None:
        text = self.printer.text
        match statement:
            case Assign():
                self._assign(statement)
            case Store():
                self._store(statement)
            case VectorStore():
                self._line(self._vector_store(statement), statement.span)
            case Instruction():
                self._line(self.printer.dialect.instruction(self.printer, statement), statement.span)
            case Evaluate():
                self._line(f"{text(statement.value)};", statement.span)
            case If():
                self._if(statement)
            case For():
                self._for(statement)
            case While():
                self._line(f"while ({text(statement.condition)}) {{", statement.span)
                self._inner(statement.body)
                self._line("}")
            case Break():
                self._line("break;", statement.span)
            case Continue():
                self._line("continue;", statement.span)
            case Return():
                self._return(statement)
            case Print():
                self._line(print_call(self.printer, statement), statement.span)
            case _:
                unreachable(statement)

    def _assign(self, statement: Assign) -> None:
        target = statement.target
        slot = (target.name, target.type)
        name = self.printer.names(target.name, target.type)
        value = self.printer.text(statement.value, LOWEST)
        if slot not in self._declared:
            self._declared.add(slot)
            self._line(f"{self._type(slot[1])} {name} = {value};", statement.span)
        else:
            self.printer.used.add(target.name)  # a parameter that is only written is still declared
            self._line(f"{name} = {value};", statement.span)

    def _store(self, statement: Store) -> None:
        printer = self.printer
        value = printer.text(statement.value)
        if isinstance(statement.base, Var) and statement.base.name in self.facts.split:
            self._line(f"{printer.split_name(statement.base, statement.index)} = {value};", statement.span)
            return
        kind = statement.value.type
        if statement.packed:
            assert isinstance(kind, Scalar | Vector)
            size, address = element_size(kind), printer.address(statement.base, statement.index)
            self._line(printer.language.packed_store(value, c_type(kind), size, address), statement.span)
            return
        if isinstance(kind, Scalar) and kind.dtype is BOOL:
            value = f"(uchar){printer.text(statement.value, UNARY)}"
        base, index = printer.text(statement.base, POSTFIX), printer.subscript(statement.index, base=statement.base)
        self._line(f"{base}[{index}] = {value};", statement.span)

    def _vector_store(self, statement: VectorStore) -> str:
        printer = self.printer
        vector = statement.value.type
        assert isinstance(statement.base.type, Pointer)
        assert isinstance(vector, Vector)
        address = printer.address(statement.base, statement.index)
        if statement.aligned and vector.lanes != 3:
            pointer = printer.language.pointer(c_type(vector), statement.base.type.space)
            return f"*({pointer})({address}) = {printer.text(statement.value)};"
        return printer.language.vector_store(vector, printer.text(statement.value), address)

    def _inner(self, body: tuple[Stmt, ...]) -> None:
        self._depth += 1
        self._block(body)
        self._depth -= 1

    def _if(self, statement: If) -> None:
        condition = statement.condition
        then, orelse = statement.then, statement.orelse
        text = self.printer.text(condition)
        if not then and orelse:
            then, orelse, text = orelse, (), f"!{self.printer.text(condition, UNARY)}"
        self._line(f"if ({text}) {{", statement.span)
        self._inner(then)
        while len(orelse) == 1 and isinstance(orelse[0], If) and orelse[0].then:
            nested = orelse[0]
            self._comment_inline(nested.span)
            self._line(f"}} else if ({self.printer.text(nested.condition)}) {{", nested.span)
            self._inner(nested.then)
            orelse = nested.orelse
        if orelse:
            self._line("} else {")
            self._inner(orelse)
        self._line("}")

    def _comment_inline(self, span: Span) -> None:
        self._depth += 1
        self._comment(span)
        self._depth -= 1

    def _for(self, loop: For) -> None:
        text = self.printer.text
        counter = self.printer.names(loop.counter.name, loop.counter.type)
        if loop.descending is None:
            step = text(loop.step, EQUALITY)
            stop = text(loop.stop, RELATION + 1)
            test = f"{step} > 0 ? {counter} < {stop} : {counter} > {stop}"
        else:
            test = self._end_test(loop, counter)
        if may_pass_end(self.facts, loop):
            advance = f"{counter} = {self._next(loop, counter)}"
        elif isinstance(loop.step, Constant) and loop.step.value < 0:
            advance = f"{counter} -= {-int(loop.step.value)}"
        else:
            advance = f"{counter} += {text(loop.step)}"
        head = f"for ({c_type(loop.counter.type)} {counter} = {text(loop.start)}; {test}; {advance}) {{"
        slot = (loop.counter.name, loop.counter.type)
        shadowed = slot in self._declared
        self._declared.add(slot)
        self._line(head, loop.span)
        self._inner(loop.body)
        self._line("}")
        if not shadowed:
            self._declared.discard(slot)

    def _end_test(self, loop: For, counter: str) -> str:
        """Whether a turn comes, of a loop whose direction is known.

        Around a barrier no compiler may know which turn is the last one where the driver takes its way out for another
        one's (docs/driver-quirks.md). That there is a first turn stays known: a way around barriers costs much there.
        """
        printer, relation = self.printer, ">" if loop.descending else "<"
        stop = printer.text(loop.stop, RELATION + 1)
        plain = f"{counter} {relation} {stop}"
        if self._marks is None or not self._marks.has_barrier(loop):
            return plain
        hidden = f"{counter} {relation} {printer.helpers.hidden_case(stop)}"
        match loop.start, loop.stop:
            case Constant(value=first), Constant(value=end):
                comes = first > end if loop.descending else first < end
                return f"{counter} == {printer.text(loop.start, EQUALITY + 1)} || {hidden}" if comes else plain
            case Constant(), Select(yes=Constant(), no=Constant()):  # of a gate
                return hidden
        return plain

    def _next(self, loop: For, counter: str) -> str:
        """The counter's next value, or the end where that would be beyond it: the type might not hold it."""
        printer, kind = self.printer, c_type(loop.counter.type)
        word = f"u{kind.removeprefix('u')}"
        stop, step = f"({word}){printer.text(loop.stop, UNARY)}", f"({word}){printer.text(loop.step, UNARY)}"
        up, down = (
            f"{distance} > {length} ? {printer.language.bits_as(kind, f'({word}){counter} + {step}')}"
            f" : {printer.text(loop.stop, TERNARY)}"
            for distance, length in (
                (f"{stop} - ({word}){counter}", step),
                (f"({word}){counter} - {stop}", f"0 - {step}"),
            )
        )
        if loop.descending is None:
            return f"{printer.text(loop.step, RELATION)} > 0 ? {up} : {down}"
        return down if loop.descending else up

    def _return(self, statement: Return) -> None:
        result = self.function.result
        if isinstance(result, Struct):
            items = ", ".join(self.printer.text(v) for v in statement.values)
            self._line(f"{{ {c_type(result)} result = {{ {items} }}; return result; }}", statement.span)
        elif statement.values:
            self._line(f"return {self.printer.text(statement.values[0])};", statement.span)
        else:
            self._line("return;", statement.span)
