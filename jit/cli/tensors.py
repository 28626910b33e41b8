"""Arrays on the command line, spelled as IREE's tools do: `4xf32=1,2,3,4`, `2x2xi32=[1 2][3 4]`, `@file.npy`.

What enters: such text, or an array.  What leaves: the array, or the text.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from pyiree.cli.output import CommandError

_DTYPES: dict[str, Any] = {
    "i1": np.bool_,
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16,
    "complex<f32>": np.complex64, "complex<f64>": np.complex128,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    **{f"{prefix}{bits}": np.dtype(f"int{bits}") for prefix in ("i", "si") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_NAMES = {np.dtype(dtype): name for name, dtype in reversed(_DTYPES.items())}


def parse_tensor(text: str) -> np.ndarray:
    """The array that `text` stands for; a single value fills the shape, no value means zeros."""
    if text.startswith("@"):
        return _load(Path(text[1:]), text)
    kind, _, values = text.partition("=")
    match = re.fullmatch(r"((?:\d+x)*)(\S+)", kind)
    if match is None or match[2] not in _DTYPES:
        raise CommandError(f"--input={text}: expected SHAPExTYPE=VALUES such as 2x3xf32=0, or @file.npy")
    shape = tuple(int(extent) for extent in match[1].split("x") if extent)
    dtype = np.dtype(_DTYPES[match[2]])
    words = re.sub(r"[\[\],]", " ", values).split()
    if values.startswith("@"):
        flat = np.fromfile(Path(values[1:]), dtype)
    else:
        try:
            with np.errstate(over="ignore"):  # 1e99 is infinity in f32, as IREE's tools have it
                flat = np.array([_value(word, dtype, text) for word in words] or [0], dtype)
        except OverflowError as error:
            raise CommandError(f"--input={text}: {error}") from None
    count = math.prod(shape)
    if count * dtype.itemsize > sys.maxsize:
        raise CommandError(f"--input={text}: no memory holds {count} elements")
    if flat.size == 1:
        return np.full(shape, flat[0], dtype)
    if flat.size != count:
        raise CommandError(f"--input={text}: {flat.size} values for {count} elements")
    return flat.reshape(shape)


def _load(path: Path, text: str) -> np.ndarray:
    """The array in a .npy file."""
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError):
        raise CommandError(f"--input={text}: no .npy file of numbers") from None
    if not isinstance(array, np.ndarray):
        raise CommandError(f"--input={text}: an archive of arrays ({', '.join(array.files)}); save one as a .npy file")
    return array


def _value(word: str, dtype: np.dtype, text: str) -> Any:
    try:
        if dtype.kind == "b":
            return {"true": True, "false": False}[word] if word in ("true", "false") else bool(int(word))
        if dtype.kind in "iu":
            return int(word, 0)
        return complex(word) if dtype.kind == "c" else float(word)
    except ValueError:
        raise CommandError(f"--input={text}: {word!r} is no {dtype} value") from None


def format_tensor(array: np.ndarray, limit: int = 1024) -> str:
    """An array as IREE's tools print it, elided after `limit` elements."""
    element = _NAMES.get(array.dtype, str(array.dtype))
    kind = "".join(f"{extent}x" for extent in array.shape) + element
    return f"{kind}={_format_values(array, [limit])}"


def _format_values(array: np.ndarray, budget: list[int]) -> str:
    if array.ndim == 0:
        return _format_value(array[()])
    if array.ndim == 1:
        shown = array[: max(budget[0], 0)]
        budget[0] -= len(array)
        return " ".join([_format_value(value) for value in shown] + ["..."] * (len(shown) < len(array)))
    return "".join(f"[{_format_values(row, budget)}]" for row in array if budget[0] > 0)


def _format_value(value: Any) -> str:
    if isinstance(value, np.bool_):
        return str(int(value))
    if isinstance(value, np.integer):
        return str(value)
    if isinstance(value, np.complexfloating):
        return f"{value.real:g}{value.imag:+g}j"
    return f"{float(value):g}"
