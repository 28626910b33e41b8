"""What a StableHLO value is while it is being converted: often less than a tensor.

Enters: shapes and sources. Leaves: the forms in which the converter keeps a value until something needs it as a
tensor. A constant splat, a counter of a loop, an iota, a broadcast or a transposed tensor then costs no op of its
own: an element-wise consumer reads it in place. `materialized` is the
tensor of a value that had to become one after all.

- `Tensor`    an SSA tensor
- `Uniform`   one scalar everywhere: a constant attribute, or an SSA scalar (a loop counter, a host integer)
- `Iota`      the index along one dimension
- `View`      a tensor read through a projected permutation: a broadcast, a transpose, or both
"""

from __future__ import annotations

from dataclasses import dataclass

from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.core import Value


@dataclass(slots=True)
class Tensor:
    """An SSA tensor."""

    shaped: Shaped
    value: Value


@dataclass(slots=True)
class Uniform:
    """The same scalar at every place; exactly one of `attribute` and `scalar` is set."""

    shaped: Shaped
    attribute: Attribute | None = None
    scalar: Value | None = None
    materialized: Value | None = None


@dataclass(slots=True)
class Iota:
    """The index along `dimension`, converted to the element type."""

    shaped: Shaped
    dimension: int
    materialized: Value | None = None


@dataclass(slots=True)
class View:
    """`source` read at `dims`: dimension `i` of the source is indexed by dimension `dims[i]` of the view."""

    shaped: Shaped
    source: Value
    dims: tuple[int, ...]
    materialized: Value | None = None


Lazy = Tensor | Uniform | Iota | View
