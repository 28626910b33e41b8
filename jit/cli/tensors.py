"""Arrays on the command line, spelled as IREE's tools do: `4xf32=1,2,3,4`, `2x2xi32=[1 2][3 4]`, `@file.npy`.

What enters: such text, or an array.  What leaves: the array, or the text.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pyiree.cli.output import CommandError

#: Element types by the name of their dtype.
_DTYPES = {
    "i1": "bool", "f16": "float16", "f32": "float32", "f64": "float64",
    "complex<f32>": "complex64", "complex<f64>": "complex128",
    **{f"{prefix}{bits}": f"int{bits}" for prefix in ("i", "si") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip
#: Those of ml_dtypes, which takes as long to import as the rest of a run.
_ML_DTYPES = {
    "bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn", "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2": "float8_e5m2", "f8E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in reversed((_DTYPES | _ML_DTYPES).items())}


def _dtype(element: str) -> np.dtype | None:
    """The dtype of an element type; None if there is none."""
    if element in _DTYPES:
        return np.dtype(_DTYPES[element])
    if element in _ML_DTYPES:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _ML_DTYPES[element]))
    return None


def parse_tensor(text: str) -> np.ndarray:
    """The array that `text` stands for; a single value fills the shape, no value means zeros."""
    if text.startswith("@") and text != "@":
        return _load(Path(text[1:]), text)
    kind, _, values = text.partition("=")
    match = re.fullmatch(r"((?:\d+x)*)(\S+)", kind)
    dtype = None if match is None else _dtype(match[2])
    if match is None or dtype is None:
        raise CommandError(f"--input={text}: expected SHAPExTYPE=VALUES such as 2x3xf32=0, or @file.npy")
    shape = tuple(int(extent) for extent in match[1].split("x") if extent)
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
    element = _NAMES.get(array.dtype.name, str(array.dtype))
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
