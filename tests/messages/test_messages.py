"""The message of each mistake, as golden text; ``PORTAGPU_UPDATE_GOLDEN=1 pytest tests/messages`` rewrites it."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import pytest

from portagpu import cuda
from portagpu.errors import KernelError, PortaGPUError

pytestmark = pytest.mark.one_device

HERE = Path(__file__).parent
GOLDEN = HERE / "messages.txt"
UPDATE = os.environ.get("PORTAGPU_UPDATE_GOLDEN") == "1"


def load(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KERNELS = load("wrong_kernels")
CALLS = load("wrong_calls")


def launch(function, arguments):
    cuda.jit(function)[1, 1](*arguments)


ALL = {f"kernel: {f.__name__}": (lambda f=f, a=a: launch(f, a)) for f, a in KERNELS.CASES}
ALL |= {f"call: {name}": call for name, call in CALLS.CASES.items()}


def message_of(name, device):
    """The error's class and text, without what depends on machine and Python version."""
    with pytest.raises(PortaGPUError) as caught:
        ALL[name]()
    error = caught.value
    assert type(error) is not PortaGPUError
    if name.startswith("kernel:"):
        assert isinstance(error, KernelError)
        assert error.span is not None
        assert "^" in str(error)
    text = f"{type(error).__name__}: {error}"
    text = text.replace(str(HERE) + "/", "").replace(device.name, "DEVICE")
    text = re.sub(r"0x[0-9a-f]+", "0x...", text)
    text = re.sub(r"(this device has|runs at most|has|at once \(|holds) ?\d+", r"\1 N", text)
    text = re.sub(r"(wrong_\w+\.py):\d+", r"\1", text)  # the excerpt says where; numbers move with each new case
    return re.sub(r"(?m)^  (\w+:)?\d+: .*$", "  INDEX: NAME", text)


def golden():
    """Messages of the golden file by name."""
    blocks = re.split(r"(?m)^## ", GOLDEN.read_text(encoding="utf-8"))[1:] if GOLDEN.exists() else []
    return {b.partition("\n")[0]: b.partition("\n")[2].strip("\n") for b in blocks}


def test_there_are_many():
    assert len(ALL) >= 40


@pytest.mark.parametrize("name", ALL)
def test_message(name, device):
    found = message_of(name, device)
    found = re.sub(r"(?m)^(  INDEX: NAME\n?)+", "  INDEX: NAME\n", found).strip("\n")
    known = golden()
    if UPDATE:
        assert "PYTEST_XDIST_WORKER" not in os.environ, "workers would overwrite each other's messages"
        known[name] = found
        ordered = [n for n in ALL if n in known]
        GOLDEN.write_text("".join(f"## {n}\n{known[n]}\n\n" for n in ordered), encoding="utf-8")
        return
    assert found == known.get(name), f"the message changed; PORTAGPU_UPDATE_GOLDEN=1 accepts it:\n{found}"
