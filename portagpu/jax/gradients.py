"""Gradients of an operator of JAX: what is kept for its backward functions, and which of them are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from portagpu.operators.declaration import Declaration
from portagpu.operators.gradients import PREFIX, Backward, check_complete


@jax.tree_util.register_static
@dataclass(frozen=True, slots=True)
class Needed:
    """The inputs whose gradients are needed; JAX passes it along without making arrays of it."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The backward functions of an operator, and the operators that call them."""

    forward: Declaration
    parts: list[tuple[Backward, Callable[..., Any]]] = field(default_factory=list)

    def differentiable(self, call: Callable[..., Any], names: tuple[str, ...], static: Mapping[str, Any]) -> Any:
        """``call``, a function of the arrays ``names``, with gradients. ``static``: the other inputs' values."""

        def ahead(*primals: Any) -> tuple[Any, Any]:
            arrays = [p.value for p in primals]
            results = function(*arrays)  # itself: derivatives of derivatives come here, too
            values = {**dict(zip(names, arrays, strict=True)), **self._named(results)}
            kept = {n: values[n] for part, _ in self.parts for n in part.kept if n in values}
            return results, (Needed(tuple(n for n, p in zip(names, primals, strict=True) if p.perturbed)), kept)

        def back(residuals: Any, cotangents: Any) -> tuple[Any, ...]:
            needed, kept = residuals
            incoming = {PREFIX + n: _dense(c) for n, c in self._named(cotangents).items()}
            found = self._gradients(needed.names, {**static, **kept, **incoming})
            return tuple(found.get(n) for n in names)

        function = jax.custom_vjp(call)
        function.defvjp(ahead, back, symbolic_zeros=True)
        return function

    def _named(self, results: Any) -> dict[str, Any]:
        found = results if isinstance(results, tuple | list) else (results,)
        return dict(zip(self.forward.output_names, found, strict=True))

    def _gradients(self, needed: tuple[str, ...], values: Mapping[str, Any]) -> dict[str, Any]:
        check_complete(self.forward, needed, (part for part, _ in self.parts))
        found: dict[str, Any] = {}
        for part, operator in self.parts:
            if part.is_needed(needed):
                results = operator(**{n: values.get(n) for n in part.declaration.input_names})
                made = results if isinstance(results, tuple) else (results,)
                found.update((part.gives[n], r) for n, r in zip(part.declaration.output_names, made, strict=True))
        return {name: gradient for name, gradient in found.items() if name in needed}


def _dense(cotangent: Any) -> Any:
    """A cotangent as an array, where JAX knows that it is zero, too."""
    if isinstance(cotangent, jax.custom_derivatives.SymbolicZero):
        return jnp.zeros(cotangent.shape, cotangent.dtype)
    return cotangent
