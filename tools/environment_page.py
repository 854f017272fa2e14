"""The text of docs/environment.md, made from what `portagpu.settings.Settings` says of its fields."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from portagpu import settings
from tools.docstrings import escaped, table

HEAD = """\
# Environment variables

Every variable that PortaGPU reads. This page is made from `portagpu/settings.py`: `python -m tools.documents` writes
it, and a test fails when it is stale. Variables are read once, when the first device is used. Switches are `1`, `true`,
`yes` and `on`, or `0`, `false`, `no`, `off` and nothing; anything else is a `SettingsError`.

"""

TAIL = """\
## Where files are kept

Without `PORTAGPU_CACHE_DIR` and `PORTAGPU_DATA_DIR` the folders are those that the system has for such files: on Linux
`~/.cache/portagpu` and `~/.local/share/portagpu`, or below `XDG_CACHE_HOME` and `XDG_DATA_HOME` where these are set.
The cache can be deleted at any time; the data folder has the results of your searches ([tuning.md](tuning.md#results)).
A user without a home folder has both in `/tmp/portagpu-UID`.

Drivers keep compiled programs, too, and run them without a look at their owner. Where other users could write such a
folder, or one on the way to it, PortaGPU sets the driver's variable to a folder below `PORTAGPU_CACHE_DIR` before the
driver starts; a variable of yours that names such a folder is replaced with a warning. That concerns the variables below
and those of the SYCL run time, `SYCL_CACHE_DIR`, and of GPUs' drivers: `NEO_CACHE_DIR`, `AMD_COMGR_CACHE_DIR`,
`MESA_SHADER_CACHE_DIR`.

## Variables of others

| Variable | What it does here |
| --- | --- |
| `OCL_ICD_VENDORS` | the folder in which OpenCL's loader looks for drivers; if you set it, PortaGPU respects it and registers none itself ([devices.md](devices.md)) |
| `OPENBLAS_CORETYPE` | the kernels of NumPy's OpenBLAS, with which `portagpu bench` compares ([benchmarks.md](benchmarks.md#openblass-core-types)) |
| `POCL_CACHE_DIR` | the cache of the driver PoCL; without it `pocl/kcache` below `XDG_CACHE_HOME` or `~/.cache`; for a user without a home, below PortaGPU's cache |
| `CUDA_CACHE_PATH` | the cache of NVIDIA's driver; without it `~/.nv/ComputeCache` |
"""  # noqa: E501 - a row is a line


def fields() -> dict[str, str]:
    """What the docstring says of each variable. Raises `LookupError` for one that it leaves out."""
    prose = " ".join((inspect.getdoc(settings.Settings) or "").split())
    found: dict[str, str] = {}
    for entry in re.split(r"(?=``[a-z_]+``: )", prose)[1:]:
        meaning = entry.partition(": ")[2].strip()
        for name in re.findall(r"PORTAGPU_\w+", entry):
            found[name] = _sentence(meaning)
    read = set(re.findall(r"\"(PORTAGPU_\w+)\"", Path(settings.__file__).read_text(encoding="utf-8")))
    if read != set(found):
        raise LookupError(f"variables without a line in the docstring of Settings: {sorted(read ^ set(found))}")
    return found


def _sentence(text: str) -> str:
    text = re.sub(r"``PORTAGPU_\w+``(?:, )?", "", text).replace("()", "").replace("``", "`")
    text = re.sub(r"\s+([,.;:)])", r"\1", re.sub(r"\(\s+", "(", " ".join(text.split()))).removesuffix(", or None.")
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def text() -> str:
    """The whole document."""
    rows = [(f"`{name}`", escaped(meaning)) for name, meaning in fields().items()]
    return HEAD + table("Variable | Meaning", rows) + "\n" + TAIL
