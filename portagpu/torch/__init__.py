"""Operators of PyTorch from kernels: ``@portagpu.torch.op("mylib::saxpy", outputs={"out": "x"})``.

They work under `torch.compile`, with fake tensors, in `torch.export`, and with autograd by backward functions that are
kernels, too. Without torch, importing this package raises `MissingPackageError`.
"""

from __future__ import annotations

import importlib.util

from portagpu.errors import MissingPackageError

if importlib.util.find_spec("torch") is None:
    raise MissingPackageError(
        "portagpu.torch makes operators of torch, which is not installed", hint="pip install torch"
    )

from portagpu.torch.operator import Op, op

__all__ = ["Op", "op"]
