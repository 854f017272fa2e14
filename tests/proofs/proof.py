"""Proofs that the text of expressions means what the IR says: for all values, by z3.

A proof applies the package's own code (a pass, the printer with its helpers) to expressions with unknown variables,
and asks z3 for values that meet all promises and for which the text is undefined or another number. None may exist.
"""

from __future__ import annotations

import z3
from c_values import BUILTINS, CArray, CValue, Machine, division_facts, functions
from ir_values import Evaluation, bits, is_bool, wide

from portagpu.backends.c_family.c_types import c_type, storage
from portagpu.backends.c_family.names import identifier
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.device.ideal_device import PORTABLE
from portagpu.ir import nodes as ir
from portagpu.ir.analysis.indices import index_slots
from portagpu.ir.program import Function, Parameter, ParameterRole, Program
from portagpu.ir.types import INT, VOID, Pointer, Space
from portagpu.source import Span

SPAN = Span(filename="proof", line=1, column=0, end_column=1, text="")
TIMEOUT = 120_000


class RefutedError(AssertionError):
    """Values for which a rule is wrong."""


def prove(goal, assumptions=(), about=""):
    """Raise `RefutedError` unless the goal holds wherever the assumptions do."""
    if not z3.is_true(z3.simplify(goal)):
        refute([*assumptions, z3.Not(goal)], about)


def refute(terms, about):
    """Raise `RefutedError` if all terms can be true at once."""
    facts = division_facts(terms)
    terms = [*terms, *facts]
    for constants in (True, False) if facts else (False,):  # z3 multiplies no quotients with their divisors
        memory = {}
        without = [_without_products(term, memory, constants) for term in terms]
        if "product" in memory and _answer(without, 2_000)[0] == z3.unsat:
            return
    answer, solver = _answer(terms, TIMEOUT)
    if answer == z3.sat:
        raise RefutedError(f"{about}: wrong for {solver.model()}")
    assert answer == z3.unsat, f"{about}: z3 does not know ({solver.reason_unknown()})"


def _answer(terms, timeout):
    solver = z3.Solver()
    solver.set("timeout", timeout)
    solver.add(*terms)
    return solver.check(), solver


def _without_products(term, memory, constants):
    """The term with unknown functions in place of products: what holds of these holds of products.

    ``constants``: those with a constant, too.
    """
    key = term.get_id()
    if key in memory:
        return memory[key][1]
    parts = [_without_products(child, memory, constants) for child in term.children()]
    decl = term.decl()
    if decl.kind() in _PRODUCTS and (constants or not any(map(z3.is_bv_value, parts))):
        memory["product"] = True
        sorts = [p.sort() for p in parts]
        made = z3.Function(f"{decl.name()} {len(parts)} {sorts[0].size()}", *sorts, term.sort())(*parts)
    elif all(new is old for new, old in zip(parts, term.children(), strict=True)) or not parts:
        made = term
    else:
        made = decl(*parts)
    memory[key] = (term, made)  # the term too, so that its id stays its own
    return made


_PRODUCTS = (z3.Z3_OP_BMUL, z3.Z3_OP_BSMUL_NO_OVFL, z3.Z3_OP_BUMUL_NO_OVFL, z3.Z3_OP_BSMUL_NO_UDFL)


def var(name, kind):
    return ir.Var(name, kind, span=SPAN)


def const(value, kind):
    return ir.Constant(value, kind, span=SPAN)


def parameter(name, kind, role=ParameterRole.SCALAR):
    return Parameter(name=name, type=kind, role=role)


def variables(exprs):
    """The variables and arrays that expressions name."""
    from portagpu.ir.walk import all_expressions

    found = {}
    for expr in exprs:
        for each in all_expressions(expr):
            if isinstance(each, ir.Var):
                found.setdefault((each.name, each.type))
    return list(found)


def function_of(body, reads=(), roles=None, name="k"):
    """A kernel of statements; ``reads`` are its parameters."""
    pointers = [(n, t) for n, t in reads if isinstance(t, Pointer)]
    scalars = [(n, t) for n, t in reads if not isinstance(t, Pointer)]
    parameters = [parameter(n, t, ParameterRole.POINTER) for n, t in pointers]
    parameters += [parameter(n, t, (roles or {}).get(n, ParameterRole.SCALAR)) for n, t in scalars]
    return Function(name=name, parameters=tuple(parameters), result=VOID, body=tuple(body), locals=(), span=SPAN)


def program_of(function):
    return Program(
        kernel=function,
        functions=(),
        shared=(),
        constants=(),
        structs=(),
        wide_index=False,
        block_dim=None,
        dynamic_shared=False,
    )


def stores_of(exprs):
    """A statement for each expression that stores it, into an array of its type."""
    return [
        ir.Store(var(f"out{n}", Pointer(e.type, Space.GLOBAL)), const(0, INT), e, span=SPAN)
        for n, e in enumerate(exprs)
    ]


def executed(function, caps=PORTABLE, builtins=None, generated=generate):
    """The text of a kernel, executed: the machine, and the values of its parameters by (name, type)."""
    text = generated(program_of(function), caps).source
    found = functions(text)
    machine = Machine(functions=found, builtins={**BUILTINS, **(builtins or {})})
    values = {}
    for p in function.parameters:
        if isinstance(p.type, Pointer):
            machine.names[identifier(p.name)] = CArray(p.name, storage(p.type.element))
        else:
            term = z3.BitVec(p.name, bits(p.type))
            values[p.name, p.type] = term != 0 if is_bool(p.type) else term
            if is_bool(p.type):
                term = z3.If(term != 0, z3.BitVecVal(1, 8), z3.BitVecVal(0, 8))
            machine.names[identifier(p.name)] = CValue(c_type(p.type), term)
    machine.execute(found[function.name][1])
    return machine, values, text


def as_bits(term):
    """A value as it is stored."""
    return z3.If(term, z3.BitVecVal(1, 8), z3.BitVecVal(0, 8)) if z3.is_bool(term) else term


def prove_text(exprs, *, roles=None, caps=PORTABLE, assume=None, builtins=None, generated=generate):
    """Prove the text of each expression: defined and equal wherever promises and needs are met. Returns how many."""
    function = function_of(stores_of(exprs), _stored(exprs), roles)
    machine, values, text = executed(function, caps, (builtins or {}).get("c"), generated)
    assert len(machine.stores) == len(exprs), text
    slots = index_slots(function)
    for n, expr in enumerate(exprs):
        evaluation = Evaluation(slots=slots, values=dict(values), builtins=(builtins or {}).get("ir", {}))
        meant = as_bits(evaluation.value(expr))
        assumptions = [*evaluation.promises, *evaluation.needs, *(assume(values) if assume else ())]
        stored = machine.stores[n][3]
        # faults of one statement: those noted while it was executed
        prove(meant == stored, assumptions, f"{_shown(expr)} as {_line(text, n)}")
    if machine.faults:
        _prove_defined(exprs, roles, caps, assume, builtins, generated)
    return len(exprs)


def _stored(exprs):
    return [(f"out{n}", Pointer(e.type, Space.GLOBAL)) for n, e in enumerate(exprs)] + variables(exprs)


def _prove_defined(exprs, roles, caps, assume, builtins, generated):
    """Each expression by itself, so that its faults are its own."""
    for expr in exprs:
        function = function_of(stores_of([expr]), _stored([expr]), roles)
        machine, values, text = executed(function, caps, (builtins or {}).get("c"), generated)
        if not machine.faults:
            continue
        evaluation = Evaluation(
            slots=index_slots(function), values=dict(values), builtins=(builtins or {}).get("ir", {})
        )
        evaluation.value(expr)
        assumptions = [*evaluation.promises, *evaluation.needs, *(assume(values) if assume else ())]
        for kind, condition in machine.faults:
            prove(z3.Not(condition), assumptions, f"{kind} of {_shown(expr)} as {_line(text, 0)}")


def _shown(expr):
    from portagpu.ir.text import expression_text

    return f"{expression_text(expr)}: {expr.type}"


def _line(text, number):
    return next((line.strip() for line in text.splitlines() if f"out{number}_[" in line), "")


def prove_rewrite(before, after, *, assume=(), **options):
    """Prove that an expression that a rule gives is the one before: it relies on no more, and has the same value."""
    first = Evaluation(**options)
    meant = first.value(before)
    second = Evaluation(**options)
    second.values = first.values
    found = second.value(after)
    known = [*assume, *first.promises, *first.needs]
    about = f"{_shown(before)} -> {_shown(after)}"
    for condition in (*second.promises, *second.needs):
        prove(condition, known, f"{about}, which needs more")
    prove(as_bits(meant) == as_bits(wide_to(found, after.type, before.type)), known, about)


def wide_to(term, kind, target):
    """A value as one of another type."""
    return term if kind.dtype is target.dtype or is_bool(kind) else wide(term, kind, bits(target))


def prove_bodies(before, after, **options):
    """Prove that two bodies store the same numbers at the same subscripts, in the same order."""
    slots = options.pop("slots", (frozenset(), frozenset()))
    first, second = (Evaluation(slots=own, **options) for own in slots)
    first.run(before)
    second.values = dict(first.inputs)
    second.run(after)
    known = [*first.promises, *first.needs]
    assert len(first.stores) == len(second.stores)
    for (path, array, index, value), (other_path, other_array, other_index, other) in zip(
        first.stores, second.stores, strict=True
    ):
        assert array == other_array
        prove(path == other_path, known, f"path to {array}")
        same = as_bits(value) == as_bits(other)
        prove(
            z3.Implies(path, same if index is None else z3.And(index == other_index, same)), known, f"store to {array}"
        )


def executed_heads(function):
    """The three parts of the first loop's head in a kernel's text."""
    text = generate(program_of(function), PORTABLE).source
    line = next(line.strip() for line in text.splitlines() if line.strip().startswith("for ("))
    return tuple(part.strip() for part in line.removeprefix("for (").removesuffix(") {").split(";"))
