"""The families of conversions, which announce themselves when they are imported."""

from __future__ import annotations

import functools
import importlib

FAMILIES = (
    "batch_norm",
    "bitcasts",
    "calls",
    "collectives",
    "contractions",
    "control_flow",
    "convolutions",
    "dynamic_shapes",
    "einsum",
    "fourier",
    "host_calls",
    "indexing",
    "random_bits",
    "reductions",
    "scatter",
    "select_and_scatter",
    "shapes",
    "sorting",
    "sparse",
    "triangular",
    "tridiagonal",
    "windows",
)


@functools.cache
def load_families() -> None:
    """Imports every family, so that `CONVERSIONS` is complete."""
    for family in FAMILIES:
        importlib.import_module(f"pyiree.compiler.input.{family}")
