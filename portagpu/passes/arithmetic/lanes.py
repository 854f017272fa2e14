"""Functions of one number for each lane of a vector: copies of device functions that compute all lanes at once.

A parameter of such a copy is the same for all lanes, counts up from lane to lane, or is a vector. What becomes of
the others follows from that: a subscript that counts up is one load of a vector, a comparison a mask, and a branch
that lanes take differently is computed by all of them, its loads by those that take it. Scheme: R. Karrenberg,
S. Hack, "Whole-function vectorization", CGO 2011; here for functions without loops.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from portagpu.ir.nodes import Assign, If, Invert, Return, Stmt, Var
from portagpu.ir.program import Function
from portagpu.ir.walk import all_statements
from portagpu.passes.arithmetic.lane_expressions import Copy, Known, LaneExpressions
from portagpu.passes.arithmetic.lane_values import Lanes, NotElementwise, Shape, vector_of, vector_type

_BRANCHES = 8  # that end in a result: what follows one is computed for both of its sides


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies for vectors of so many lanes; ``made`` has them in the order in which they are to be defined."""

    functions: dict[str, Function]
    lanes: int
    known: dict[tuple[str, tuple[Shape, ...]], Copy | None] = field(default_factory=dict)
    made: list[Function] = field(default_factory=list)

    def of(self, name: str, shapes: tuple[Shape, ...]) -> Copy | None:
        """The copy of a function for arguments of these shapes; None where there cannot be one."""
        key = (name, shapes)
        if key not in self.known:
            function = self.functions[name]
            self.known[key] = None
            try:
                copy = _Copier(self, function).copied(shapes, f"{name}.x{self.lanes}.{len(self.known)}")
            except NotElementwise:
                return None
            self.known[key] = copy
            self.made.append(copy.function)
        return self.known[key]


class _Copier(LaneExpressions):
    """Makes one copy of a function."""

    def __init__(self, copies: Copies, function: Function) -> None:
        super().__init__(copies.lanes)
        self.copies = copies
        self.function = function
        self.branches = 0

    def copy_of(self, name: str, shapes: tuple[Shape, ...]) -> Copy | None:
        """As `Copies.of`."""
        return self.copies.of(name, shapes)

    def copied(self, shapes: tuple[Shape, ...], name: str) -> Copy:
        """The copy, by this name, for arguments of these shapes. Raises `NotElementwise`."""
        function = self.function
        if function.effect or function.locals:
            raise NotElementwise
        known: Known = {}
        parameters = []
        for parameter, shape in zip(function.parameters, shapes, strict=True):
            kind = vector_of(parameter.type, self.lanes) if shape is Shape.VECTOR else parameter.type
            parameters.append(replace(parameter, type=kind))
            known[parameter.name, parameter.type] = Lanes(shape, Var(parameter.name, kind, span=function.span))
        value = self.block(function.body, known)
        if value.shape is Shape.MASK:
            value = Lanes(Shape.VECTOR, self.vector(value))
        body = (*self.out, Return((value.expr,), span=function.span))
        result = function.result if value.shape is not Shape.VECTOR else vector_of(function.result, self.lanes)
        made = replace(function, name=name, parameters=tuple(parameters), result=result, body=body)
        return Copy(made, value.shape)

    # statements -------------------------------------------------------------------------------------------------------

    def block(self, statements: tuple[Stmt, ...], known: Known) -> Lanes:
        """What the function returns if it goes on here."""
        found = self.run(statements, known)
        if isinstance(found, dict):
            raise NotElementwise
        return found

    def run(self, statements: tuple[Stmt, ...], known: Known) -> Lanes | Known:
        """What the statements return, or what variables are after them."""
        known = dict(known)
        for n, statement in enumerate(statements):
            match statement:
                case Assign():
                    target = statement.target
                    known[target.name, target.type] = self.held(self.value(statement.value, known))
                case Return() if len(statement.values) == 1:
                    return self.value(statement.values[0], known)
                case If() if not any(isinstance(s, Return) for s in all_statements((statement,))):
                    known = self.joined(statement, known)
                case If():
                    rest = statements[n + 1 :]
                    return self.branch(statement, (*statement.then, *rest), (*statement.orelse, *rest), known)
                case _:
                    raise NotElementwise
        return known

    def joined(self, at: If, known: Known) -> Known:
        """Variables after a branch that returns nothing."""
        mask = self.held(self.mask(self.value(at.condition, known))).expr
        with self.where(mask):
            yes = self.run(at.then, known)
        with self.where(Invert(mask, vector_type(mask), span=at.span)):
            no = self.run(at.orelse, known)
        assert isinstance(yes, dict)
        assert isinstance(no, dict)
        both = yes.keys() & no.keys()  # others are set on one side alone, and nobody reads them
        return {
            key: known[key] if yes[key] is no[key] else self.held(self.chosen(mask, yes[key], no[key], at.span))
            for key in sorted(both, key=str)
        }

    def branch(self, at: If, then: tuple[Stmt, ...], orelse: tuple[Stmt, ...], known: Known) -> Lanes:
        """What the function returns where lanes go on in two ways."""
        self.branches += 1
        if self.branches > _BRANCHES:
            raise NotElementwise
        mask = self.held(self.mask(self.value(at.condition, known))).expr
        with self.where(mask):
            yes = self.block(then, known)
        with self.where(Invert(mask, vector_type(mask), span=at.span)):
            no = self.block(orelse, known)
        return self.chosen(mask, yes, no, at.span)
