"""The families of conversions, which announce themselves when they are imported."""

from __future__ import annotations

import functools
import importlib

FAMILIES = (
    "calls",
    "contractions",
    "control_flow",
    "indexing",
    "reductions",
    "scatter",
    "shapes",
    "sorting",
)


@functools.cache
def load_families() -> None:
    """Imports every family, so that `CONVERSIONS` is complete."""
    for family in FAMILIES:
        importlib.import_module(f"pyiree.compiler.input.{family}")
