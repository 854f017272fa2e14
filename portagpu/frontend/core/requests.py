"""Requests to lower a part of a kernel anew, with what was found out in it; no errors, and no user sees them.

What a variable's first value is, which parameters must be constants, whether a loop can be written out: that shows only
where names have their meanings and branches are decided, deep inside of what depends on it. There a request is raised,
if somebody will answer it; if nobody can, what is raised there is the error for the user.
"""

from __future__ import annotations

from portagpu.frontend.core.name_index import assigned_names
from portagpu.frontend.core.state import CallSite, FunctionState, OpenLoop
from portagpu.frontend.core.values import Const, Value, is_expr, leaves
from portagpu.ir.nodes import Var
from portagpu.ir.types import BOOLEAN


class Request(Exception):
    """Raised to be answered by one particular place further out."""


class PickItems(Request):
    """Take the items of a loop by number: a run-time condition leaves an iteration that was written out."""


# variables of loops ---------------------------------------------------------------------------------------------------


class SetBefore(Request):
    """Give a variable a (zero) value before a loop: its body reads what only an earlier iteration may have set."""

    def __init__(self, loop: OpenLoop, name: str, value: Value) -> None:
        self.loop, self.name, self.value = loop, name, value


def ask_for_value_before(ctx: FunctionState, name: str) -> None:
    """Raise `SetBefore` if a loop around the place sets the variable, and a variable can carry what it sets.

    What is set further down only has no type yet: a bool takes the type that it is found to have there.
    """
    value = ctx.last_bound.get(name, Var(name, BOOLEAN, span=ctx.span))
    if not all(is_expr(part) or isinstance(part, Const) for part in leaves(value)):
        return
    for loop in reversed(ctx.open_loops):
        if name not in loop.before and name in assigned_names([loop.node]):
            raise SetBefore(loop, name, value)


# parameters of device functions ---------------------------------------------------------------------------------------


class BindParameter(Request):
    """Make a parameter of a device function a compile-time constant: its body needs it as one."""

    def __init__(self, site: CallSite, name: str) -> None:
        self.site, self.name = site, name


def ask_for_constant(ctx: FunctionState, name: str) -> None:
    """Raise `BindParameter` if a call passes a constant for the parameter, or for the one of the caller passed on."""
    while ctx.call_site is not None:
        site = ctx.call_site
        if name not in site.arguments or name in site.bound:
            return
        value = site.arguments[name]
        if isinstance(value, Const):
            raise BindParameter(site, name)
        if not isinstance(value, Var) or value.name not in site.caller.source.parameters:
            return
        ctx, name = site.caller, value.name
