"""The bytes of a constant.

Enters: the value of a `vm.rodata`. Leaves: its bytes in memory order, without a copy where there are bytes already.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.util_types import CompositeAttr
from pyiree.compiler.ir.attributes import Attribute, DenseArrayAttr, FloatAttr, IntegerAttr, StringAttr
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.diagnostics import CompileError


def attribute_bytes(value: Attribute, location: Any) -> bytes | memoryview:
    """A constant as it stands in memory."""
    if isinstance(value, DenseElementsAttr):
        if value.is_splat:
            return value.data.tobytes() * value.type.num_elements
        return value.data.view("uint8").data
    if isinstance(value, StringAttr):
        return value.value.encode("utf-8", "surrogateescape")
    if isinstance(value, CompositeAttr):
        data = b"".join([bytes(attribute_bytes(part, location)) for part in value.values])
        if len(data) != value.total_length:
            raise CompileError(f"a composite of {value.total_length} bytes holds {len(data)}", location)
        return data
    if isinstance(value, IntegerAttr):
        width = max(value.type.width, 8)
        return (value.value & ((1 << width) - 1)).to_bytes(width // 8, "little")
    if isinstance(value, FloatAttr):
        return value.bits.to_bytes(value.type.width // 8, "little")
    if isinstance(value, DenseArrayAttr):
        parts = [v if isinstance(v, Attribute) else IntegerAttr(v, value.element_type) for v in value.value]
        return b"".join([bytes(attribute_bytes(part, location)) for part in parts])
    raise CompileError(f"a constant of this kind cannot be stored in a file: {type(value).__name__}", location)


def rodata_bytes(op: Any) -> bytes | memoryview:
    """The content of a segment."""
    return attribute_bytes(op.value, op.location)
