"""The IR as text, for those who debug a pass: a statement a line, blocks indented, operators as functions."""

from __future__ import annotations

from collections.abc import Iterator

from portagpu.ir.nodes import (
    Assign,
    Binary,
    Break,
    CallFunction,
    Cast,
    Compare,
    Constant,
    Continue,
    Evaluate,
    Expr,
    For,
    If,
    Index,
    Instruction,
    Invert,
    Lane,
    Load,
    Logical,
    MakeVector,
    Member,
    Negate,
    Not,
    Offset,
    Operation,
    Print,
    Return,
    Select,
    Stmt,
    Store,
    Var,
    VectorLoad,
    VectorStore,
    While,
)
from portagpu.ir.program import Function, Program
from portagpu.ir.walk import unreachable


def program_text(program: Program) -> str:
    """All functions of a program, callees first, with its shared arrays before them."""
    shared = [f"shared {a.name}: {a.element}{list(a.shape)}" for a in program.shared]
    return "\n".join([*shared, *map(function_text, (*program.functions, program.kernel))])


def function_text(function: Function) -> str:
    """One function: ``name(parameter: type, ...) -> result:`` and its statements."""
    parameters = ", ".join(f"{p.name}: {p.type}" for p in function.parameters)
    local = [f"    local {a.name}: {a.element}{list(a.shape)}" for a in function.locals]
    return "\n".join([f"{function.name}({parameters}) -> {function.result}:", *local, *_block(function.body, 1)])


def statements_text(body: tuple[Stmt, ...]) -> str:
    """Statements without indentation."""
    return "\n".join(_block(body, 0))


def _block(body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
    indent = "    " * depth
    for statement in body:
        match statement:
            case If():
                yield f"{indent}if {expression_text(statement.condition)}:"
                yield from _block(statement.then, depth + 1)
                if statement.orelse:
                    yield f"{indent}else:"
                    yield from _block(statement.orelse, depth + 1)
            case For():
                bounds = ", ".join(map(expression_text, (statement.start, statement.stop, statement.step)))
                yield f"{indent}for {statement.counter.name} in range({bounds}):"
                yield from _block(statement.body, depth + 1)
            case While():
                yield f"{indent}while {expression_text(statement.condition)}:"
                yield from _block(statement.body, depth + 1)
            case _:
                yield indent + _line(statement)


def _line(statement: Stmt) -> str:
    match statement:
        case Assign():
            return f"{statement.target.name} = {expression_text(statement.value)}"
        case Store():
            place = f"{expression_text(statement.base)}[{expression_text(statement.index)}]"
            return f"{place} = {expression_text(statement.value)}"
        case VectorStore():
            return _call("vector_store", statement.base, statement.index, statement.value)
        case Evaluate():
            return expression_text(statement.value)
        case Return():
            return " ".join(["return", ", ".join(map(expression_text, statement.values))]).rstrip()
        case Print():
            pieces = [repr(statement.texts[0])]
            for arg, text in zip(statement.args, statement.texts[1:], strict=True):
                pieces += [expression_text(arg), repr(text)]
            return f"print({', '.join(pieces)})"
        case Instruction():
            name = ".".join(map(str, (statement.name, *statement.attributes)))
            return _call(name, *statement.results, *statement.operands)
        case Break():
            return "break"
        case Continue():
            return "continue"
        case If() | For() | While():
            raise AssertionError(statement)
        case _:
            unreachable(statement)


def _call(name: str, *args: Expr) -> str:
    return f"{name}({', '.join(map(expression_text, args))})"


def expression_text(expr: Expr) -> str:
    """An expression, in which each operator is a call of its name."""
    match expr:
        case Constant():
            return repr(expr.value)
        case Var():
            return expr.name
        case Binary() | Compare() | Logical():
            return _call(expr.op.value, expr.left, expr.right)
        case Negate():
            return _call("negate", expr.operand)
        case Invert():
            return _call("invert", expr.operand)
        case Not():
            return _call("not", expr.operand)
        case Select():
            return _call("select", expr.condition, expr.yes, expr.no)
        case Cast():
            return _call(str(expr.type), expr.operand)
        case Index():
            return _call("wrap", expr.operand, expr.extent)
        case Load():
            return f"{expression_text(expr.base)}[{expression_text(expr.index)}]"
        case VectorLoad():
            return _call("vector_load", expr.base, expr.index)
        case Offset():
            return _call("offset", expr.base, expr.index)
        case MakeVector():
            return _call(str(expr.type), *expr.items)
        case Lane():
            return f"{expression_text(expr.operand)}.lane{expr.lane}"
        case Member():
            return f"{expression_text(expr.operand)}.item{expr.item}"
        case Operation():
            return _call(expr.name, *expr.args)
        case CallFunction():
            return _call(expr.function, *expr.args)
        case _:
            unreachable(expr)
