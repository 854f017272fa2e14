"""Operators of JAX from kernels: ``@portagpu.jax.op(outputs={"out": "x"})``.

They work in `jax.jit`, `jax.vmap`, and with `jax.grad` by backward functions that are kernels, too. Without JAX,
importing this package raises `MissingPackageError`.
"""

from __future__ import annotations

import importlib.util

from portagpu.errors import MissingPackageError

if importlib.util.find_spec("jax") is None or importlib.util.find_spec("jax.ffi") is None:
    raise MissingPackageError(
        "portagpu.jax makes operators of JAX with its foreign function interface, which is not installed",
        hint="pip install 'jax>=0.5'",
    )

from portagpu.jax.operator import Op, op

__all__ = ["Op", "op"]
