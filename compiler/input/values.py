"""What a StableHLO value is while it is being converted: often less than a tensor.

Enters: shapes and sources. Leaves: the forms in which the converter keeps a value until something needs it as a
tensor. A constant splat, a counter of a loop, an iota, a broadcast or a transposed tensor then costs no op of its
own: an element-wise consumer reads it in place. `materialized` is the
tensor of a value that had to become one after all.

- `Tensor`    an SSA tensor
- `Uniform`   one scalar everywhere: a constant attribute, or an SSA scalar (a loop counter, a host integer)
- `Iota`      the index along one dimension
- `View`      a tensor read through a projected permutation: a broadcast, a transpose, or both
- `Elements` a few integers of the host, such as a shape
- `Token`     nothing: side effects happen in the order in which they are written
- `Group`     the parts of a tuple
"""

from __future__ import annotations

import math
from typing import Any

from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.sizes import is_static
from pyiree.compiler.ir.attributes import Attribute, IntegerAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.rewrite import constant_value
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


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


@dataclass(slots=True)
class Elements:
    """A small tensor of integers, in order, each a constant or an SSA scalar of the host."""

    shaped: Shaped
    scalars: list[Attribute | Value]


class Token:
    """What `stablehlo.token` stands for; it has no shape and is no tensor."""


@dataclass(slots=True)
class Group:
    """The values of a tuple."""

    parts: list[Any]


TOKEN = Token()

Lazy = Tensor | Uniform | Iota | View | Elements


def known_integers(value: Lazy) -> list[int] | None:
    """The elements of an integer tensor in order, if the program says what they are."""
    if isinstance(value, Uniform) and isinstance(value.attribute, IntegerAttr) and is_static(value.shaped.shape):
        return [value.attribute.value] * math.prod(value.shaped.shape)
    return _known_elements(value.value) if isinstance(value, Tensor) else None


def _known_elements(value: Value) -> list[int] | None:
    op = value.defining_op
    if op is None:
        return None
    if op.name == "arith.constant" and isinstance(op.value, DenseElementsAttr):  # type: ignore[attr-defined]
        return [int(n) for n in op.value.array().ravel()]  # type: ignore[attr-defined]
    if op.name == "linalg.fill":
        number = constant_value(op.operands[0])
        return [number.value] * value.type.num_elements if isinstance(number, IntegerAttr) else None  # type: ignore[attr-defined]
    if op.name in ("tensor.expand_shape", "tensor.collapse_shape"):
        return _known_elements(op.operands[0])
    if op.name == "tensor.concat" and len(value.type.shape) == 1:  # type: ignore[attr-defined]
        parts = [_known_elements(part) for part in op.operands]
        return None if None in parts else [n for part in parts for n in part]  # type: ignore[union-attr]
    return None
