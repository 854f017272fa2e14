"""What CLBlast's own tuners found: the best parameters of their JSON files, for a device and a dtype."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from portagpu.bench.peers.clblast_library import PRECISIONS, Kernels
from portagpu.device import DeviceRecord
from portagpu.errors import UnsupportedError

_KERNELS = {
    "xaxpy": "Xaxpy",
    "xdot": "Xdot",
    "xgemv": "Xgemv",
    "xgemv_fast": "XgemvFast",
    "xgemv_fast_rot": "XgemvFastRot",
    "xger": "Xger",
    "xgemm": "Xgemm",
    "xgemm_direct": "XgemmDirect",
    "copy": "Copy",
    "pad": "Pad",
    "transpose": "Transpose",
    "padtranspose": "Padtranspose",
    "invert": "Invert",
    "gemm_routine": "GemmRoutine",
    "trsv_routine": "TrsvRoutine",
}
"""The library's names of kernels, by the tuners' names of families (which a number of the search may follow)."""
_MOST_BYTES = 1 << 26  # of a file


def kernels(folder: Path, device: DeviceRecord, dtype: str) -> Kernels:
    """The best parameters by kernel. Raises `UnsupportedError` where the files have none of the device and dtype."""
    found: list[tuple[float, str, dict[str, int]]] = []
    for path in sorted(folder.glob("*.json")):
        told = _read(path)
        if told is not None and _is_of(told, device, dtype):
            found += _best(told)
    if not found:
        raise UnsupportedError(f"no file of CLBlast's tuners in {folder.name} is of {device.name} and {dtype}")
    merged: dict[str, dict[str, int]] = {}
    for _, kernel, parameters in sorted(found, key=lambda one: -one[0]):  # of several searches the best one's come last
        merged.setdefault(kernel, {}).update(parameters)
    return merged


def _read(path: Path) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        told = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _is_of(told: dict[str, Any], device: DeviceRecord, dtype: str) -> bool:
    names = {str(told.get(field, "")).strip() for field in ("device", "device_name", "clblast_device_name")}
    return device.name.strip() in names and str(told.get("precision")) == str(PRECISIONS.get(dtype))


def _best(told: dict[str, Any]) -> Iterator[tuple[float, str, dict[str, int]]]:
    """Milliseconds, kernel and parameters of a file's fastest result."""
    family = re.sub(r"_\d+$", "", str(told.get("kernel_family", "")))
    results = told.get("results")
    if family not in _KERNELS or not isinstance(results, list):
        return
    known = []
    for result in results:
        if isinstance(result, dict) and isinstance(result.get("time"), int | float) and result["time"] > 0:
            parameters = _numbers(result.get("parameters"))
            if parameters:
                known.append((float(result["time"]), parameters))
    if known:
        seconds, parameters = min(known, key=lambda one: one[0])
        yield seconds, _KERNELS[family], parameters


def _numbers(parameters: Any) -> dict[str, int]:
    """Parameters that are small whole numbers; the precision, which tuners write beside them, is none."""
    if not isinstance(parameters, dict):
        return {}
    return {
        name: value
        for name, value in parameters.items()
        if name != "PRECISION" and isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31
    }


__all__ = ["kernels"]
