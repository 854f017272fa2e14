"""Source capture: a Python function's text, its syntax tree, and the names that it uses."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

from portagpu.dialect.names import ConstExpr
from portagpu.errors import SourceUnavailableError, UnsupportedSyntaxError
from portagpu.frontend.source.lambdas import NAME, lambda_tree
from portagpu.frontend.source.text import source_lines
from portagpu.source import Span, parsed, parsed_expression


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FunctionSource:
    """A Python function with its syntax tree and the means to resolve names and places."""

    function: Callable[..., Any]
    tree: ast.FunctionDef
    filename: str
    first_line: int  # of the text in the file
    indent: int  # characters removed from each line
    lines: tuple[str, ...]  # as in the file
    constexpr: frozenset[str]  # names of parameters bound at specialisation
    closure: dict[str, Any] = field(default_factory=dict)
    arrays: tuple[Any, ...] = ()  # device arrays that the kernel captures: the items of its last parameter
    spans: dict[ast.AST, Span] = field(default_factory=dict)  # known places
    parameters: tuple[str, ...] = field(init=False)  # names in order, that of ``*args`` last

    def __post_init__(self) -> None:
        """Launches ask for the names each time."""
        args = self.tree.args
        rest = [args.vararg] if args.vararg is not None else []
        object.__setattr__(self, "parameters", tuple(a.arg for a in args.posonlyargs + args.args + rest))

    @property
    def name(self) -> str:
        """The function's name."""
        return self.tree.name

    @property
    def takes_rest(self) -> bool:
        """Whether the last parameter is ``*args``: a tuple of the further positional arguments."""
        return self.tree.args.vararg is not None

    def with_parameters(self, names: Iterable[str], constexpr: Iterable[str] = ()) -> FunctionSource:
        """The same function with further parameters at the end, after that of ``*args``, which is a tuple's then."""
        args = self.tree.args
        extra = [ast.copy_location(ast.arg(arg=name), self.tree) for name in names]
        made = ast.arguments(
            posonlyargs=args.posonlyargs,
            args=[*args.args, *([args.vararg] if args.vararg is not None else ()), *extra],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        )
        tree = ast.copy_location(
            ast.FunctionDef(name=self.tree.name, args=made, body=self.tree.body, decorator_list=[]), self.tree
        )
        return replace(self, tree=tree, constexpr=self.constexpr | set(constexpr))

    def span(self, node: ast.AST) -> Span:
        """The place of a node in the user's file."""
        found = self.spans.get(node)
        if found is None:
            found = self.spans[node] = self._span(node)
        return found

    def _span(self, node: ast.AST) -> Span:
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        start = self._column(line, getattr(node, "col_offset", 0))
        end_line = getattr(node, "end_lineno", line)
        end = self._column(line, getattr(node, "end_col_offset", 0)) if end_line == line else len(text.rstrip())
        return Span(
            filename=self.filename,
            line=self.first_line + line - 1,
            column=start,
            end_column=max(end, start + 1),
            text=text,
        )

    def _column(self, line: int, utf8: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if text.isascii():
            return min(self.indent + utf8, max(len(text), self.indent))
        dedented = text[self.indent :]
        return self.indent + len(dedented.encode()[:utf8].decode(errors="ignore"))

    def refresh(self) -> None:
        """Read the variables of outer functions again."""
        self.closure.update(closure_now(self.function))

    def lookup(self, name: str) -> tuple[bool, Any]:
        """Resolve a name that is not a local: closure, globals, builtins. Returns (found, value)."""
        if name in self.closure:
            return True, self.closure[name]
        code = self.function.__code__
        if name in code.co_freevars:  # set after the function was read, as is the name of the function itself
            cell = (self.function.__closure__ or ())[code.co_freevars.index(name)]
            if _filled(cell):
                self.closure[name] = cell.cell_contents
                return True, self.closure[name]
        return global_value(self.function, name)


def closure_now(function: Callable[..., Any]) -> dict[str, Any]:
    """The variables of outer functions that have a value now."""
    cells = function.__closure__ or ()
    return {n: c.cell_contents for n, c in zip(function.__code__.co_freevars, cells, strict=True) if _filled(c)}


def global_value(function: Callable[..., Any], name: str) -> tuple[bool, Any]:
    """What a name that is neither local nor of an outer function means. Returns (found, value)."""
    scope = function.__globals__
    if name in scope:
        return True, scope[name]
    if hasattr(builtins, name):
        return True, getattr(builtins, name)
    return False, None


def capture(function: Callable[..., Any], source: str | None = None) -> FunctionSource:
    """Parse a function's text, ``source`` if it is given.

    Raises `SourceUnavailableError` where Python cannot find the text, `UnsupportedSyntaxError` for generators,
    ``async`` functions and parameters that kernels cannot have.
    """
    if not isinstance(function, FunctionType):
        raise UnsupportedSyntaxError(f"{function!r} is no Python function", hint="decorate a function made with `def`")
    if function.__code__.co_name == NAME:
        anonymous, lines = lambda_tree(function, source)
        return _captured(function, anonymous, first=1, indent=0, lines=tuple(line.rstrip("\n") for line in lines))
    try:
        lines, first, tree = _given_lines(source) if source is not None else source_lines(function)
    except OSError:
        raise SourceUnavailableError(
            f"the text of {function.__qualname__} cannot be found ({function.__code__.co_filename})",
            hint="define the kernel in a file, a notebook cell, IPython or the prompt of Python 3.13,"
            " or give its text: cuda.jit(source=text)",
        ) from None
    indent = len(lines[0]) - len(lines[0].lstrip())
    try:
        tree = tree or parsed(textwrap.dedent("".join(lines)))
    except SyntaxError as error:
        raise SourceUnavailableError(
            f"the text of {function.__qualname__} cannot be parsed alone: {error.msg}",
            hint="define the kernel with `def` on lines of its own",
        ) from error
    found = _definitions(tree.body, function) or _definitions(ast.walk(tree), function)
    shown = tuple(line.rstrip("\n") for line in lines)
    if not found:
        raise UnsupportedSyntaxError(
            f"{function.__qualname__} is not made with `def`",
            span=Span(
                filename=function.__code__.co_filename,
                line=first,
                column=indent,
                end_column=len(shown[0].rstrip()),
                text=shown[0],
            ),
            hint="write a `def` function",
        )
    return _captured(function, found[0], first=first, indent=indent, lines=shown)


def _captured(
    function: FunctionType, tree: ast.FunctionDef, *, first: int, indent: int, lines: tuple[str, ...]
) -> FunctionSource:
    captured = FunctionSource(
        function=function,
        tree=tree,
        filename=function.__code__.co_filename,
        first_line=first,
        indent=indent,
        lines=lines,
        constexpr=_constexpr_parameters(function, tree),
        closure=closure_now(function),
    )
    check_parameters(captured)
    return captured


def _definitions(nodes: Iterable[ast.AST], function: FunctionType) -> list[ast.FunctionDef]:
    return [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == function.__code__.co_name]


def _given_lines(text: str) -> tuple[list[str], int, None]:
    return textwrap.dedent(text).splitlines(keepends=True), 1, None


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty cell raises
    except ValueError:
        return False
    return True


def _constexpr_parameters(function: FunctionType, tree: ast.FunctionDef) -> frozenset[str]:
    """Parameters annotated `cuda.constexpr`, also where ``from __future__ import annotations`` makes them strings."""
    names = {n for n, a in function.__annotations__.items() if isinstance(a, ConstExpr)}
    for argument in tree.args.posonlyargs + tree.args.args + tree.args.kwonlyargs:
        annotation = argument.annotation
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = parsed_expression(annotation.value)
        leaf = annotation.attr if isinstance(annotation, ast.Attribute) else getattr(annotation, "id", None)
        if leaf == "constexpr":
            names.add(argument.arg)
    return frozenset(names)


def check_parameters(source: FunctionSource) -> None:
    """Raise `UnsupportedSyntaxError` for parameters that kernels cannot have."""
    args = source.tree.args
    if args.kwarg is not None:
        raise UnsupportedSyntaxError(
            "kernels cannot take **kwargs",
            span=source.span(args.kwarg),
            hint="name each parameter; a tuple, or *args, can carry several values",
        )
    if args.kwonlyargs:
        raise UnsupportedSyntaxError(
            "kernels cannot have keyword-only parameters",
            span=source.span(args.kwonlyargs[0]),
            hint="remove the `*` from the parameter list",
        )


_signatures: weakref.WeakKeyDictionary[Callable[..., Any], tuple[object, object, inspect.Signature]] = (
    weakref.WeakKeyDictionary()
)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """`inspect.signature`, once for a function unless it changes: kernels call device functions hundreds of times."""
    code, defaults = getattr(function, "__code__", None), getattr(function, "__defaults__", None)
    if code is None or getattr(function, "__kwdefaults__", None):  # a dict, which may change in place
        return inspect.signature(function, follow_wrapped=False)
    known = _signatures.get(function)
    if known is None or known[0] is not code or known[1] is not defaults:
        known = _signatures[function] = code, defaults, inspect.signature(function, follow_wrapped=False)
    return known[2]
